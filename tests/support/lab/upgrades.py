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


class Upgrades:
    """Of a class of routers. The program is a link in its own folder, so that a test can replace it. pid, and what is measured, is
    that of the newest process."""

    def __init__(self, *args, **how):
        super().__init__(*args, **how)
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

    def is_running(self):
        return super().is_running() if self.newest is None else self.newest in self.later and \
            not select.select([self.later[self.newest]], [], [], 0)[0]

    def kill(self):
        """Ends the newest process with SIGKILL; start() starts a first one again."""
        self.signal(signal.SIGKILL)
        self.gone(self.pid)
        self.newest = None

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
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        self.check_words()


class Upgradable(Upgrades, Router):
    """One with a file."""


def get(n):
    """A request of lab.router.large."""
    return 'GET', f'/{n * 37 % 20000}', b''


def whole(asked, status, body):
    """The check of its answers."""
    return status == 200 and len(body) == int(asked[1].strip('/'))


class Load:
    """Threads that ask again and again until the end, on kept connections or on new ones. A failure is anything but an
    answer that check(request(n), status, body) accepts; request(n) is (method, path, body)."""

    def __init__(self, port, check, request=get):
        self.port, self.check, self.request = port, check, request
        self.over, self.failures, self.counts, self.threads = threading.Event(), [], {}, []

    def start(self, kept=2, fresh=2):
        for i in range(kept + fresh):
            self.counts[i] = 0
            self.threads.append(threading.Thread(target=self._run, args=(i, i < kept), daemon=True))
        for thread in self.threads:
            thread.start()
        return self

    def _run(self, number, kept):
        client = http.client.HTTPConnection('127.0.0.1', self.port, timeout=PATIENCE)
        n = number * 100000
        while not self.over.is_set():
            n += 1
            asked = self.request(n)
            try:
                client.request(*asked, headers={} if kept else {'Connection': 'close'})
                answer = client.getresponse()
                body = answer.read()
                if not self.check(asked, answer.status, body):
                    self.failures.append((asked[:2], kept, answer.status, answer.headers.items(), body[:200]))
            except (OSError, http.client.HTTPException) as error:
                self.failures.append((asked[:2], kept, repr(error)))
                client.close()
            self.counts[number] += 1
        client.close()

    def goes_on(self, requests=5):
        """Waits until each client has got further answers, or the end has come."""
        before = dict(self.counts)
        until(lambda: self.failures or self.over.is_set() or
              all(self.counts[i] >= before[i] + requests for i in before), 2 * PATIENCE)
        assert not self.failures, self.failures[:5]

    def end(self):
        """Returns the number of requests."""
        self.over.set()
        for thread in self.threads:
            thread.join(PATIENCE)
        assert not self.failures, (len(self.failures), self.failures[:5])
        return sum(self.counts.values())
