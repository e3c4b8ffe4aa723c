# SPDX-License-Identifier: Apache-2.0
"""The log of a daemon: JSON lines that are parsed, kept and waited for."""
import datetime
import json
import re
import threading
import time

from lab.wait import PATIENCE

LEVELS = ('DEBUG', 'INFO', 'WARN', 'ERROR')


def parse_time(text):
    """Seconds since the epoch of the time stamp of a line: RFC 3339 in UTC, down to nanoseconds."""
    match = re.fullmatch(r'(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d+)Z', text)
    whole = datetime.datetime.fromisoformat(match[1]).replace(tzinfo=datetime.timezone.utc).timestamp()
    return whole + float(f'0.{match[2]}')


class Line(dict):
    """One line of the log; at is its time in seconds, raw the bytes of it."""

    def __init__(self, raw):
        super().__init__(json.loads(raw.decode('utf-8')))
        self.raw = raw
        self.at = parse_time(self['time'])
        assert self['level'] in LEVELS and isinstance(self['msg'], str), self

    def matches(self, msg, fields):
        return self['msg'] == msg and all(self.get(k) == v for k, v in fields.items())


class Log:
    """The lines of one or more pipes, each read by a thread; a process that is started again continues the same log.

    lines has all lines so far, broken those that are not JSON: (bytes, error). over: all pipes have ended.
    """

    def __init__(self):
        self.lines, self.broken = [], []
        self.changed = threading.Condition()
        self._reader, self.over = None, False

    def follow(self, pipe):
        self.over = False
        self._reader = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._reader.start()

    def _read(self, pipe):
        for raw in pipe:
            try:
                line = Line(raw)
            except (ValueError, KeyError, TypeError, AssertionError) as error:
                line = None
                self.broken.append((raw, repr(error)))
            with self.changed:
                if line is not None:
                    self.lines.append(line)
                self.changed.notify_all()
        with self.changed:
            self.over = True
            self.changed.notify_all()

    def join(self, timeout=PATIENCE):
        """Waits until all output has been read; the writers must have ended."""
        self._reader.join(timeout)

    def mark(self):
        """The current position in the log, to look only at later lines."""
        with self.changed:
            return len(self.lines)

    def all(self, msg, since=0, **fields):
        with self.changed:
            return [line for line in self.lines[since:] if line.matches(msg, fields)]

    def wait(self, msg, since=0, timeout=PATIENCE, count=1, state=lambda: '', **fields):
        """The count-th such line after since. Fails at the deadline, or as soon as all pipes have ended."""
        end = time.monotonic() + timeout
        with self.changed:
            while True:
                found = [line for line in self.lines[since:] if line.matches(msg, fields)]
                if len(found) >= count:
                    return found[count - 1]
                left = end - time.monotonic()
                if left <= 0 or self.over:
                    last = '\n'.join(line.raw.decode()[:300].rstrip() for line in self.lines[-30:])
                    raise AssertionError(f'no {count}. line {msg} {fields} in {timeout:.1f} s ({state()}); '
                                         f'the last ones:\n{last}')
                self.changed.wait(left)
