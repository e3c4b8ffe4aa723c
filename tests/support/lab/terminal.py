# SPDX-License-Identifier: Apache-2.0
"""A program on its own terminal, and a user who types."""
import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
import time

from lab.screen import Screen
from lab.wait import PATIENCE

KEYS = {'Tab': '\t', 'Enter': '\r', 'Up': '\x1b[A', 'Down': '\x1b[B', 'Escape': '\x1b',
        'Backspace': '\x7f', 'PageDown': '\x1b[6~', 'End': '\x1bOF'}


class Terminal:
    def __init__(self, command, columns=80, rows=24, env=None, cwd=None):
        self.screen, self._changed, self.closed = Screen(columns, rows), threading.Condition(), False
        self.errors = None
        self.master, slave = pty.openpty()
        self._size(columns, rows)
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=cwd, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                        env={'PATH': os.environ['PATH'], 'TERM': 'xterm', 'LANG': 'C.UTF-8',
                                             'HOME': '/nonexistent', **(env or {})})
        self.slave = slave  # kept, so that the mode can be read when the program has ended
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _size(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def _read(self):
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                data = b''
            with self._changed:
                try:
                    if data:
                        self.screen.feed(data)
                except Exception as error:  # pylint: disable=broad-except
                    self.errors = error
                self.closed = not data or self.errors is not None
                self._changed.notify_all()
                if self.closed:
                    return

    # ---- the screen ----

    def wait(self, condition, what=None, timeout=PATIENCE):
        """Waits until condition(screen) is true and returns its value."""
        end = time.monotonic() + timeout
        with self._changed:
            while not (result := condition(self.screen)):
                left = end - time.monotonic()
                assert left > 0 and not self.closed, \
                    f'{what or "it"} is not on the screen{f" ({self.errors!r})" if self.errors else ""}:\n{self.screen.text}'
                self._changed.wait(left)
            return result

    def wait_text(self, text, timeout=PATIENCE):
        return self.wait(lambda screen: text in screen.text, repr(text), timeout)

    def wait_last(self, text, timeout=PATIENCE):
        """The last line that is not empty."""
        return self.wait(lambda screen: screen.text.rsplit('\n', 1)[-1] == text, f'{text!r} as the last line', timeout)

    @property
    def text(self):
        with self._changed:
            assert not self.errors, self.errors
            return self.screen.text

    def style_of(self, text):
        with self._changed:
            return self.screen.style_of(text)

    @property
    def makes_signals(self):
        """Whether Ctrl-C is a signal (ISIG) and not read as a key."""
        return bool(termios.tcgetattr(self.slave)[3] & termios.ISIG)

    @property
    def echoes(self):
        """Whether the terminal echoes input itself, so no program has taken it over."""
        return bool(termios.tcgetattr(self.slave)[3] & termios.ECHO)

    # ---- input ----

    def type(self, *keys):
        """Types texts and named keys; ^C is Ctrl-C."""
        for key in keys:
            if len(key) == 2 and key[0] == '^':
                key = chr(ord(key[1]) & 31)
            text = KEYS.get(key, key)
            if key in ('Up', 'Down') and self.screen.application:
                text = text.replace('[', 'O')
            os.write(self.master, text.encode())

    def write(self, text):
        """Writes to the terminal like another program."""
        os.write(self.slave, text.encode())

    def resize(self, columns, rows):
        with self._changed:
            self.screen.resize(columns, rows)
        self._size(columns, rows)

    def end(self, timeout=PATIENCE):
        """Waits for the end; returns the status. The terminal must have its settings from before."""
        status = self.process.wait(timeout)
        after = termios.tcgetattr(self.slave)
        assert after[:4] == self.before[:4], 'the terminal was left in another mode'
        return status

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.slave)  # the reader finds the end
        self.reader.join(PATIENCE)
        os.close(self.master)
