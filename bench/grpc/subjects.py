# SPDX-License-Identifier: Apache-2.0
"""The measured servers, each alone on the first core, and their figures from the kernel."""
import ctypes
import json
import os
import selectors
import signal
import subprocess

from lab import Maglevd, config, frontend, pool
from lab.api import Api, as_json
from lab.grpc_js import installed
from lab.h2 import HEADERS, Connection, request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BACKENDS = 1000
NAMES = [f'backend-{n:04}' for n in range(BACKENDS)]
TICK = os.sysconf('SC_CLK_TCK')
_libc = ctypes.CDLL(None)


class Subject:
    """A server: name, port and process id."""

    def __init__(self, name, port, pid):
        self.name, self.port, self.pid = name, port, pid
        for thread in os.listdir(f'/proc/{pid}/task'):
            os.sched_setaffinity(int(thread), {0})

    def cpu(self):
        """Seconds so far, of all its threads."""
        with open(f'/proc/{self.pid}/stat', encoding='ascii') as file:
            fields = file.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def waited(self):
        """Seconds for which it was runnable but waited for the processor."""
        total = 0
        for thread in os.listdir(f'/proc/{self.pid}/task'):
            with open(f'/proc/{self.pid}/task/{thread}/schedstat', encoding='ascii') as file:
                total += int(file.read().split()[1])
        return total / 1e9

    def rss(self):
        with open(f'/proc/{self.pid}/smaps_rollup', encoding='ascii') as file:
            return next(int(line.split()[1]) for line in file if line.startswith('Rss:')) * 1024

    def watchers(self, n, per_connection):
        """Bytes of memory per subscriber, with n of them: idle, after the replay of the backends."""
        everything = b'\x18\x01'
        before, made = self.rss(), []
        for first in range(0, n, per_connection):
            made.append(Connection(self.port))
            for stream in range(min(per_connection, n - first)):
                made[-1].send(request('/maglev.Maglev/WatchEvents', everything, 2 * stream + 1))
            made[-1].wait(HEADERS)
        drain(made)
        cost = (self.rss() - before) / n
        for one in made:
            one.close()
        return cost


def drain(connections):
    """Reads until nothing has arrived for a while."""
    with selectors.DefaultSelector() as selector:
        for one in connections:
            selector.register(one.socket, selectors.EVENT_READ)
        while ready := selector.select(0.5):
            for key, _ in ready:
                key.fileobj.recv(1 << 20)


def _die_with_parent():
    _libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Subjects:
    """Context manager: maglevd, and the other servers with the same rows."""

    def __init__(self, folder):
        self.folder, self.others = folder, []

    def _other(self, name, command, **more):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=_die_with_parent,
                                   env={**os.environ, **more})
        self.others.append(process)
        return Subject(name, int(process.stdout.readline()), process.pid)

    def __enter__(self):
        vips = {f'frontend-{n:03}': frontend(f'198.51.100.{n}', pool('all', *NAMES[n * 10:(n + 1) * 10]))
                for n in range(BACKENDS // 10)}
        backends = {name: f'10.1.{n // 250}.{n % 250 + 1}' for n, name in enumerate(NAMES)}
        self.daemon = Maglevd(self.folder, config(backends=backends, frontends=vips), level='info').start()
        api = Api(self.daemon.grpc_port())
        rows = os.path.join(self.folder, 'backends.json')
        with open(rows, 'w', encoding='utf-8') as file:
            json.dump(as_json(api.call('ListBackends')), file)
        api.close()
        return [Subject('maglevd', self.daemon.grpc_port(), self.daemon.process.pid),
                self._other('grpc-js', ['node', f'{HERE}/server.js', f'{ROOT}/proto/maglev.proto', rows],
                            NODE_PATH=os.path.join(installed(), 'node_modules')),
                self._other('grpcio', ['/usr/bin/python3', f'{HERE}/server.py', rows])]

    def __exit__(self, *_):
        for process in self.others:
            process.kill()
            process.wait()
            process.stdout.close()
        self.daemon.stop()
