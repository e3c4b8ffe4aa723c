# SPDX-License-Identifier: Apache-2.0
"""A child process: started, optionally in a namespace, signalled, measured, and always ended.

When it is stopped, its standard error, where sanitizers report, must be empty.
"""
import contextlib
import os
import signal
import subprocess
import time

from lab.wait import PATIENCE

# done by a program: Python code between fork and exec is not safe while grpcio has threads
DIE_WITH_PARENT = ['setpriv', '--pdeathsig', 'KILL']


class Process:
    """command: may be changed until start(). namespace: where it runs; None: ours."""

    def __init__(self, folder, name, command, env=None, namespace=None):
        self.folder, self.name, self.namespace = str(folder), name, namespace
        self.command = [*(namespace.command() if namespace else ()), *command]
        self.env = {**os.environ, **(env or {})}
        self.stderr = os.path.join(self.folder, f'{name}.stderr')
        self.process = None

    # ---- life ----

    def start(self, stdout=None):
        """stdout: see Popen; None: the same as standard error."""
        with open(self.stderr, 'a', encoding='utf-8') as errors:
            self.started = time.time()
            self.process = subprocess.Popen([*DIE_WITH_PARENT, *self.command], stdin=subprocess.DEVNULL,
                                            stdout=errors if stdout is None else stdout, stderr=errors, env=self.env)
        return self

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """Ends it with SIGKILL."""
        self.process.kill()
        return self.end()

    def end(self, timeout=PATIENCE):
        """Waits for the end and returns the exit status."""
        return self.process.wait(timeout)

    def stop(self):
        """Sends SIGTERM if it runs; it must end with 0 and empty standard error. Otherwise it is killed."""
        if self.process is None:  # it was never started
            return
        try:
            if self.is_running():
                self.signal(signal.SIGTERM)
                status = self.end()
                assert status == 0, f'{self.name} ended with {status}: {self.said()}'
        finally:
            if self.is_running():
                self.kill()
        self.check_words()

    def check_words(self):
        errors = self.said()
        assert not errors, f'{self.name} wrote to standard error:\n{errors}'

    def said(self):
        """Its output on standard error."""
        with open(self.stderr, encoding='utf-8', errors='replace') as file:
            return file.read()

    def forgive(self):
        """Accepts the output so far: it was expected."""
        os.truncate(self.stderr, 0)

    # ---- what it uses ----

    @property
    def pid(self):
        return self.process.pid

    def proc(self, name):
        """A file of /proc/PID as text."""
        with open(f'/proc/{self.pid}/{name}', encoding='ascii', errors='replace') as file:
            return file.read()

    def rss(self):
        """Bytes of resident memory, counted exactly (smaps), not estimated."""
        lines = self.proc('smaps_rollup').splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith('Rss:')) << 10

    def peak(self):
        """The most bytes of resident memory so far."""
        lines = self.proc('status').splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith('VmHWM:')) << 10

    def cpu(self):
        """Seconds of processor time so far."""
        fields = self.proc('stat').rsplit(') ', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def fds(self):
        """{number: what it is} of its open descriptors."""
        folder, found = f'/proc/{self.pid}/fd', {}
        for fd in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
                found[int(fd)] = os.readlink(os.path.join(folder, fd))
        return found


class Running:
    """The processes of a test. At the end all are stopped, the last one first, even if one of them fails."""

    def __init__(self):
        self.processes = []

    def add(self, process):
        self.processes.append(process)
        return process

    def stop(self):
        failures = []
        for process in reversed(self.processes):
            try:
                process.stop()
            except Exception as failure:  # pylint: disable=broad-except
                failures.append(failure)
        if failures:
            raise failures[0]
