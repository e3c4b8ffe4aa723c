# SPDX-License-Identifier: Apache-2.0
"""A maglev-router that is upgraded, from process to process, and clients that report every failure."""
import contextlib
import http.client
import os
import select
import signal
import threading

from lab.router import Router
from lab.wait import PATIENCE, until


class Upgradable(Router):
    """The program is a link in its own folder, so that a test can replace it. pid, and what is measured, is that of the
    newest process."""

    def __init__(self, folder, document, *args, **how):
        super().__init__(folder, document, *args, **how)
        where = next(i for i, word in enumerate(self.command) if word.endswith('/maglev-router'))
        self.original = self.command[where]
        self.command[where] = self.program = os.path.join(self.folder, 'maglev-router')
        self.later = {}  # pid: pidfd of the processes that were started by upgrades
        self.newest = None
        self.install()

    def install(self, script=None):
        """The program on the disk: the original, or a script, in which {} is its path."""
        new = self.program + '.new'
        if script is None:
            os.symlink(self.original, new)
        else:
            with open(new, 'w', encoding='utf-8') as file:
                file.write('#!/bin/sh\n' + script.replace('{}', self.original) + '\n')
            os.chmod(new, 0o755)
        os.replace(new, self.program)

    # ---- upgrades ----

    def begin_upgrade(self):
        """Returns the pid of the new process, which is being started."""
        since = self.mark()
        self.signal(signal.SIGUSR2)
        return self.know(self.wait('upgrade-started', since)['pid'])

    def know(self, pid):
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            self.later[pid] = os.pidfd_open(pid)
        return pid

    def upgrade(self):
        """Returns the pid of the process before."""
        before, since = self.pid, self.mark()
        pid = self.begin_upgrade()
        assert self.wait('upgrade-done', since)['pid'] == pid
        self.wait('taken-over', since)
        self.newest = pid
        return before

    def gone(self, pid, timeout=PATIENCE):
        """Waits for the end of a process."""
        if pid == self.process.pid:
            assert self.process.wait(timeout) in (0, -signal.SIGKILL), self.said()
        elif pid in self.later:
            assert select.select([self.later[pid]], [], [], timeout)[0], f'process {pid} has not ended'

    # ---- a process ----

    @property
    def pid(self):
        return self.newest or self.process.pid

    def signal(self, number):
        os.kill(self.pid, number)

    def stop(self):
        """The newest process must end when it is told to, and all before it must end, too."""
        if self.newest is None:
            super().stop()
            return
        try:
            with contextlib.suppress(ProcessLookupError):
                self.signal(signal.SIGTERM)
            for pid in [self.process.pid, *self.later]:
                self.gone(pid)
        finally:
            for descriptor in self.later.values():
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                os.close(descriptor)
            if self.is_running():
                self.process.kill()
                self.process.wait()
        self.check_words()


class Load:
    """Threads that ask again and again, each in its own way, until the end. A failure is anything but the answer that
    check(path, status, body) accepts."""

    def __init__(self, port, check):
        self.port, self.check = port, check
        self.over, self.failures, self.counts, self.threads = threading.Event(), [], {}, []

    def start(self, kept=2, fresh=2, path=lambda n: f'/{n * 37 % 20000}'):
        for i in range(kept + fresh):
            thread = threading.Thread(target=self._run, args=(i, i < kept, path), daemon=True)
            self.threads.append(thread)
            thread.start()
        return self

    def _run(self, number, kept, path):
        client = http.client.HTTPConnection('127.0.0.1', self.port, timeout=PATIENCE)
        n = number * 1000
        while not self.over.is_set():
            n += 1
            try:
                client.request('GET', path(n), headers={} if kept else {'Connection': 'close'})
                answer = client.getresponse()
                body = answer.read()
                if not self.check(path(n), answer.status, body):
                    self.failures.append((path(n), answer.status, body[:200]))
            except (OSError, http.client.HTTPException) as error:
                self.failures.append((path(n), kept, repr(error)))
                client.close()
            self.counts[number] = self.counts.get(number, 0) + 1
        client.close()

    def goes_on(self, requests=5):
        """Waits until each client has got further answers."""
        before = dict(self.counts)
        until(lambda: self.failures or all(self.counts.get(i, 0) >= before.get(i, 0) + requests
                                           for i in range(len(self.threads))))
        assert not self.failures, self.failures[:5]

    def end(self):
        """Returns the number of requests."""
        self.over.set()
        for thread in self.threads:
            thread.join(PATIENCE)
        assert not self.failures, (len(self.failures), self.failures[:5])
        return sum(self.counts.values())
