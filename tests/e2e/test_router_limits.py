# SPDX-License-Identifier: Apache-2.0
"""What maglev-router grants a request and a pool: time, connections, places in the queue, further tries."""
import contextlib
import select
import socket
import threading
import time

from lab import PATIENCE
from lab.router import document


# ---- time ----

class Reluctant(contextlib.ExitStack):
    """A server with a full queue: after begin(), a connection is accepted when the kernel repeats its SYN. It never answers."""

    def __init__(self):
        super().__init__()
        self.listener = self.enter_context(socket.create_server(('127.0.0.1', 0), backlog=0))
        self.port = self.listener.getsockname()[1]
        for _ in range(2):
            sock = self.enter_context(socket.socket())
            sock.setblocking(False)
            sock.connect_ex(('127.0.0.1', self.port))
        select.select([], [sock], [], .1)
        self.callback(self.listener.shutdown, socket.SHUT_RDWR)

    def begin(self):
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                self.enter_context(self.listener.accept()[0])


def test_connecting_is_a_part_of_the_time_of_a_try(route):
    with Reluctant() as server:
        rule = {'timeouts': {'backend': '2s'}, 'retry': {'attempts': 0}}
        router = route(document(server, rule=rule))
        with router.client() as client:
            begin = time.monotonic()
            client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
            assert not select.select([client.sock], [], [], .3)[0]  # the first attempt of the kernel has failed
            server.begin()
            assert client.message()[0].status == 504
            assert 2 <= time.monotonic() - begin < 2.95


def test_the_time_of_a_connection_attempt_is_a_limit_of_its_own(route):
    with Reluctant() as server:
        rule = {'timeouts': {'backend': '1h'}, 'retry': {'attempts': 0}}
        router = route(document(server, rule=rule, pool={'connect_timeout': '300ms'}))
        begin = time.monotonic()
        assert router.request().status == 503
        assert time.monotonic() - begin < PATIENCE
