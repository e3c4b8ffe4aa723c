# SPDX-License-Identifier: Apache-2.0
"""maglevd as a child process: its log as it comes, its metrics, its signals, its end.

Every line it ever writes must be UTF-8 and a JSON object with time, level and msg; it must end
with 0 when told to, and have nothing to say on standard error (where sanitizers report).
"""
import datetime
import fcntl
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

from lab.metrics import Metrics
from lab.wait import PATIENCE, until

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '../../..'))
BUILD = os.path.abspath(os.environ.get('MAGLEV_BUILD', os.path.join(ROOT, 'build-asan')))
RELEASE = os.path.join(ROOT, 'build')
PROGRAMS = {'maglevd': 'src/maglevd/maglevd', 'maglevc': 'src/maglevc/maglevc', 'maglevt': 'src/maglevt/maglevt',
            'maglevd-fake': 'tests/support/fake/maglevd-fake', 'vpp-standin': 'tests/support/vpp/vpp-standin',
            'maglevd-brisk': 'tests/support/vpp/maglevd-brisk', 'maglevd-frontend': 'src/frontend/maglevd-frontend',
            'decap': 'bpf/decap.bpf.o', 'proxy-peer': 'tests/support/proxy/proxy-peer'}
PIPE = 1 << 20
LEVELS = ('DEBUG', 'INFO', 'WARN', 'ERROR')


def program(name='maglevd', build=BUILD):
    """Where it is. Whoever runs the stories may want to know what they used: a line for each."""
    path = os.path.join(build, PROGRAMS[name])
    if 'MAGLEV_PROGRAMS_USED' in os.environ:
        with open(os.environ['MAGLEV_PROGRAMS_USED'], 'a', encoding='utf-8') as note:
            note.write(os.path.relpath(path, ROOT) + '\n')
    return path


# by a program: code of ours between fork and exec is none where grpcio has threads
DIE_WITH_PARENT = ['setpriv', '--pdeathsig', 'KILL']


def parse_time(text):
    """Seconds since the epoch of the time stamp of a line: RFC 3339 in UTC, down to nanoseconds."""
    match = re.fullmatch(r'(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d+)Z', text)
    whole = datetime.datetime.fromisoformat(match[1]).replace(tzinfo=datetime.timezone.utc).timestamp()
    return whole + float(f'0.{match[2]}')


class Line(dict):
    """One line of the log; at is its time in seconds, raw what was written."""

    def __init__(self, raw):
        super().__init__(json.loads(raw.decode('utf-8')))
        self.raw = raw
        self.at = parse_time(self['time'])
        assert self['level'] in LEVELS and isinstance(self['msg'], str), self

    def matches(self, msg, fields):
        return self['msg'] == msg and all(self.get(k) == v for k, v in fields.items())


def runner(name, measured):
    """What starts it. measured: as it is shipped, and before all others, since a promise in milliseconds is not that of
    sanitizers or of who else has the processors."""
    return ['chrt', '--fifo', '1', program(name, RELEASE)] if measured else [program(name)]


class Maglevd:
    turns = 'maglev_loop_lag_seconds'  # the metric of its loop

    def __init__(self, folder, config, name='maglevd', level='debug', metrics='127.0.0.1:0', grpc='127.0.0.1:0',
                 env=None, args=(), prefix=(), namespace=None, measured=False):
        """namespace: where it lives; None: where we do."""
        self.folder, self.name, self.namespace = str(folder), name, namespace
        prefix = namespace.command() if namespace else prefix
        self.path = os.path.join(self.folder, 'maglev.yaml')
        self.write(config)
        self.command = [*prefix, *runner(name, measured), '--config', self.path, '--log-level', level, '--metrics-addr', metrics,
                        '--grpc-addr', grpc, *args]
        self.env = {**os.environ, **(env or {})}
        self.lines, self.broken, self.port = [], [], None
        self._changed = threading.Condition()

    # ---- life ----

    def write(self, config):
        """Puts the file in place, whole: a dict, or text as it is."""
        text = config if isinstance(config, str) else json.dumps(config, indent=1, ensure_ascii=False)
        with open(self.path + '.new', 'w', encoding='utf-8') as file:
            file.write(text)
        os.rename(self.path + '.new', self.path)

    def start(self, ready=True):
        self.errors = open(os.path.join(self.folder, 'stderr'), 'w+', encoding='utf-8', errors='replace')
        self.started = time.time()
        self.process = subprocess.Popen([*DIE_WITH_PARENT, *self.command], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self.errors, env=self.env)
        fcntl.fcntl(self.process.stdout, fcntl.F_SETPIPE_SZ, PIPE)  # it drops lines rather than wait for us
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if ready:
            self.port = int(self.wait('listening', **{'for': 'metrics'})['addr'].rsplit(':', 1)[1])
        return self

    def said(self):
        """The end of what it wrote on standard error."""
        with open(self.errors.name, encoding='utf-8', errors='replace') as file:
            return file.read()[-2000:]

    def _read(self):
        for raw in self.process.stdout:
            try:
                line = Line(raw)
            except (ValueError, KeyError, TypeError, AssertionError) as error:
                line = None
                self.broken.append((raw, repr(error)))
            with self._changed:
                if line is not None:
                    self.lines.append(line)
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """No chance to say or do anything more."""
        self.process.kill()
        self.process.wait()
        self.reader.join()

    def end(self, timeout=PATIENCE):
        """Waits for the end and returns the exit status, with everything read that was written."""
        status = self.process.wait(timeout)
        self.reader.join(timeout)
        return status

    def stop(self):
        """SIGTERM, and whatever must be true of every maglevd that ends."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
            assert self.end() == 0
        self.reader.join(PATIENCE)
        self.check_words()

    def check_words(self):
        self.errors.seek(0)
        errors = self.errors.read()
        assert not errors, f'{self.name} wrote to standard error:\n{errors}'
        assert not self.broken, f'{self.name} wrote broken lines: {self.broken[:3]}'

    # ---- what it says ----

    def unread(self):
        """As a context: nobody reads the log, and the pipe fills up."""
        return self._changed

    def mark(self):
        """A place in the log, to look only at what comes after."""
        with self._changed:
            return len(self.lines)

    def all(self, msg, since=0, **fields):
        with self._changed:
            return [line for line in self.lines[since:] if line.matches(msg, fields)]

    def wait(self, msg, since=0, timeout=PATIENCE, count=1, **fields):
        """The count-th such line after since."""
        end = time.monotonic() + timeout
        with self._changed:
            while True:
                found = [line for line in self.lines[since:] if line.matches(msg, fields)]
                if len(found) >= count:
                    return found[count - 1]
                left = end - time.monotonic()
                if left <= 0 or (not self.reader.is_alive() and self.process.poll() is not None):
                    raise AssertionError(f'no {count}. line {msg} {fields} in {timeout:.1f} s (exit status '
                                         f'{self.process.poll()}, said {self.said()!r}); the last ones:\n' +
                                         '\n'.join(line.raw.decode()[:300].rstrip() for line in self.lines[-30:]))
                self._changed.wait(left)

    def grpc_port(self):
        return int(self.wait('listening', **{'for': 'grpc'})['addr'].rsplit(':', 1)[1])

    def wait_state(self, backend, state, since=0, timeout=PATIENCE):
        return self.wait('backend-transition', since, timeout, backend=backend, to=state)

    # ---- what it serves ----

    def get(self, path, timeout=PATIENCE):
        """(status, body as text)"""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=timeout)
        if self.namespace:
            connection.sock = self.namespace.inside(socket.create_connection, ('127.0.0.1', self.port), timeout)
        try:
            connection.request('GET', path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def metrics(self):
        status, text = self.get('/metrics')
        assert status == 200
        return Metrics(text)

    def wait_metric(self, name, expected, timeout=PATIENCE, **labels):
        return until(lambda: self.metrics().one(name, **labels) == expected, timeout,
                     f'{name}{labels} becoming {expected}')

    def wait_settled(self, backend, check, timeout=PATIENCE):
        """Up, and with nothing held against it."""
        self.wait_metric('maglev_backend_health', check.top, timeout, backend=backend)

    def state(self, backend):
        """The one state that the metrics show."""
        found = [labels['state'] for labels, value in self.metrics().of('maglev_backend_state', backend=backend)
                 if value == 1]
        assert len(found) == 1, found
        return found[0]
