# SPDX-License-Identifier: Apache-2.0
"""The clients of the soak. Each failure is kept with its time, its kind and its cause.

Kinds: `new` (a request on a connection of its own through a VIP to a web server), `shop` (the same through a VIP to a
maglev-router), `open` (a connection that stays open and carries data), `gateway` (a request through the routers of the gateway, on a
kept connection; if that breaks, it is sent once more, as clients do with GET).
"""
import collections
import dataclasses
import http.client
import selectors
import threading
import time

from lab import flows
from lab.wait import PATIENCE

PAUSE = 0.04  # s between two requests of a thread


@dataclasses.dataclass
class Failure:
    kind: str
    began: float  # s since the epoch, as at
    at: float
    how: str
    server: str = ''

    @property
    def took(self):
        return self.at - self.began


class Load:
    """count: requests by kind, and what was slow."""

    def __init__(self):
        self.count, self.slowest, self.failures = collections.Counter(), collections.Counter(), []
        self.over, self.lock, self.threads = threading.Event(), threading.Lock(), []

    def add(self, kind, client, threads=1, pause=PAUSE):
        """client: a function that makes one request; what it raises is a failure."""
        for _ in range(threads):
            self.threads.append(threading.Thread(target=self._run, args=(kind, client(), pause), daemon=True))
            self.threads[-1].start()

    def _run(self, kind, ask, pause):
        while not self.over.wait(pause):
            began, how = time.time(), None
            try:
                ask()
            except (OSError, AssertionError, http.client.HTTPException) as error:
                how = repr(error)[:200]
            self.note(kind, began, how)

    def note(self, kind, began, how=None, server=''):
        now = time.time()
        with self.lock:
            self.count[kind] += 1
            self.slowest[kind] = max(self.slowest[kind], now - began)
            if how:
                self.failures.append(Failure(kind, began, now, how, server))

    def end(self, patience):
        self.over.set()
        for thread in self.threads:
            thread.join(patience)


def new(namespace, vip):
    """A client that makes connections."""
    return lambda: lambda: flows.ask(namespace, vip)


def shop(namespace, vip, host='shop.example'):
    request = f'GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n'
    return lambda: lambda: flows.Flow(namespace, vip).send(request).body()


class Kept:
    """A client that keeps its connection, and repeats a request once if that breaks. broken: how often it did."""
    broken = 0

    def __init__(self, world, address, host):
        self.world, self.address, self.host, self.connection = world, address, host, None

    def __call__(self):
        try:
            self._ask()
        except (OSError, http.client.HTTPException):
            self.close()
            Kept.broken += 1
            self._ask()

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def _ask(self):
        self.connection = self.connection or self.world.connect(self.address)
        self.connection.request('GET', '/', headers={'Host': self.host})
        answer = self.connection.getresponse()
        answer.read()
        if answer.headers.get('connection') == 'close':
            self.close()
        assert answer.status == 200, answer.status


class Talk(flows.Talk):
    def __init__(self, namespace, vip):
        super().__init__(namespace, vip)
        self.vip = vip


class Open:
    """Connections that stay open. A lost one is a failure, and is replaced by refill(), which is called while all servers are there: a
    connection keeps its server when it moves to another balancer only if the servers are those with which it began."""

    def __init__(self, load, namespace, *vips, n=50):
        self.load, self.namespace = load, namespace
        self.lost, self.fresh = collections.deque(), collections.deque()
        self.talks = [Talk(namespace, vips[i % len(vips)]) for i in range(n)]
        self.fresh.extend(self.talks)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        with selectors.DefaultSelector() as selector:
            while not self.load.over.is_set():
                while self.fresh:
                    talk = self.fresh.popleft()
                    selector.register(talk.socket, selectors.EVENT_READ, talk)
                ready = {key.data for key, _ in selector.select(0.02)}
                for key in list(selector.get_map().values()):
                    self._turn(selector, key.data, key.data in ready)

    def _turn(self, selector, talk, ready):
        now = time.monotonic()
        try:
            if ready:
                talk.hear(now)
                if not talk.expected:
                    self.load.note('open', time.time() - (now - talk.sent_at))
            talk.say(now)
            if talk.expected and now > talk.sent_at + PATIENCE:
                raise TimeoutError(f'no answer for {PATIENCE} s')
        except (OSError, AssertionError) as error:
            self.load.note('open', time.time() - (now - talk.sent_at), repr(error), talk.server)
            selector.unregister(talk.socket)
            self.lost.append(talk.vip)
            talk.close()

    def refill(self):
        while self.lost:
            talk = Talk(self.namespace, self.lost.popleft())
            self.talks.append(talk)
            self.fresh.append(talk)

    def close(self):
        self.thread.join(PATIENCE)
        for talk in self.talks:
            talk.close()
