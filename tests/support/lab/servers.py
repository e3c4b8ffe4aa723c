# SPDX-License-Identifier: Apache-2.0
"""Servers in a namespace and the requests they got: the other end of server.py."""
import itertools
import json
import os
import subprocess
import threading
import time

from lab.wait import PATIENCE

_PROGRAM = os.path.join(os.path.dirname(__file__), 'server.py')


class Server:
    """One server. Each method that changes its behaviour returns the time of the change."""

    def __init__(self, servers, name, address, certificate=None, port=0):
        self.servers, self.name, self.address = servers, name, address
        self.requests, self.connections, self.errors = [], [], []
        servers.by_name[name] = self
        self.port = servers.order('open', name, address=address, certificate=certificate, port=port)['port']

    def behave(self, mode, **how):
        return self.servers.order('behave', self.name, how={'mode': mode, **how})['at']

    def answer(self, status=200, body='ok', **how):
        return self.behave('answer', status=status, body=body, **how)

    def certificate(self, pair):
        return self.servers.order('certificate', self.name, certificate=pair)['at']

    def refuse(self):
        return self.servers.order('refuse', self.name)['at']

    def listen(self):
        return self.servers.order('listen', self.name)['at']

    def wait_requests(self, n, timeout=PATIENCE):
        """Waits until there are n requests and returns them."""
        self.servers.wait(lambda: len(self.requests) >= n, timeout, f'{n} requests to {self.name}')
        return self.requests

    def catch_up(self):
        """Waits for a request that arrives after now: then all earlier ones to any server are known."""
        now = time.time()
        self.servers.wait(lambda: self.requests and self.requests[-1]['at'] > now, PATIENCE, f'news of {self.name}')

    def wait_more(self, n, timeout=PATIENCE):
        """Waits for the next n requests."""
        have = len(self.requests)
        return self.wait_requests(have + n, timeout)[have:have + n]


class Servers:
    """One process with any number of servers."""

    def __init__(self, net):
        self.net, self.by_name, self.replies = net, {}, {}
        self._ids = itertools.count(1)
        self._changed = threading.Condition()
        self.process = subprocess.Popen(net.servers.command('/usr/bin/python3', _PROGRAM), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.ready = False
        threading.Thread(target=self._read, daemon=True).start()
        self.wait(lambda: self.ready, PATIENCE, 'the start of the servers')

    def _read(self):
        for line in self.process.stdout:
            said = json.loads(line)
            with self._changed:
                self._take(said)
                self._changed.notify_all()

    def _take(self, said):
        if 'id' in said:
            self.replies[said['id']] = said
        elif said['event'] == 'ready':
            self.ready = True
        else:
            server = self.by_name[said['name']]
            {'request': server.requests, 'connection': server.connections, 'error': server.errors}[said['event']] \
                .append(said)

    def wait(self, condition, timeout, what):
        end = time.monotonic() + timeout
        with self._changed:
            while not condition():
                left = end - time.monotonic()
                assert left > 0, f'{what} did not happen within {timeout:.1f} s'
                self._changed.wait(left)

    def order(self, order, name, **more):
        number = next(self._ids)
        self.process.stdin.write(json.dumps({'id': number, 'order': order, 'name': name, **more}) + '\n')
        self.process.stdin.flush()
        self.wait(lambda: number in self.replies, PATIENCE, f'{order} {name}')
        return self.replies.pop(number)

    def open(self, name=None, family=4, certificate=None, address=None, port=0):
        """Adds a server on its own address, by default on any free port."""
        name = name or f'server{len(self.by_name)}'
        return Server(self, name, address or self.net.address(family), certificate, port)

    def kill(self):
        """Ends the processes with SIGKILL; the kernel answers for them."""
        at = time.time()
        self.process.kill()
        self.process.wait()
        return at

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(PATIENCE)
