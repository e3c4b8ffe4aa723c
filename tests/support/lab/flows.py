# SPDX-License-Identifier: Apache-2.0
"""The client's side of a Fabric: requests, downloads, uploads and conversations, with every byte checked."""
import contextlib
import hashlib
import re
import selectors
import socket
import threading
import time

from lab.wait import PATIENCE
from lab.web import pattern

CHUNK = 65536


def family(address):
    return socket.AF_INET6 if ':' in address else socket.AF_INET


class Flow:
    """One TCP connection from a namespace. source: (address, port); ('', 0) leaves both open."""

    def __init__(self, namespace, vip, source=None, receive_buffer=None):
        self.started = time.time()
        self.socket = namespace.socket(family(vip))
        self.socket.settimeout(PATIENCE)
        try:
            if receive_buffer:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            if source:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                self.socket.bind(source)
            self.socket.connect((vip, 80))
        except OSError:
            self.close()
            raise

    def close(self):
        self.socket.close()

    def send(self, text):
        self.socket.sendall(text.encode())
        return self

    def head(self):
        """Reads the head of an answer, which must be 200; returns the bytes after it."""
        got = b''
        while b'\r\n\r\n' not in got:
            got += self.receive()
        head, rest = got.split(b'\r\n\r\n', 1)
        assert head.startswith(b'HTTP/1.1 200 '), head
        self.server = b''.join(re.findall(rb'\r\nServer: (\w+)', head)).decode()
        return rest

    def receive(self):
        chunk = self.socket.recv(CHUNK)
        if not chunk:
            raise ConnectionAbortedError('the answer ended early')
        return chunk

    def body(self):
        """Reads a short answer to its end."""
        got = self.head()
        while chunk := self.socket.recv(CHUNK):
            got += chunk
        self.close()
        return got.decode()


class Download(Flow):
    """A download that is read only on demand, which keeps the flow alive. The server's name is .server."""

    def __init__(self, namespace, vip, size, **how):
        super().__init__(namespace, vip, receive_buffer=CHUNK, **how)
        self.size, self.at = size, 0
        self.send(f'GET /bytes/{size} HTTP/1.1\r\nHost: lab\r\n\r\n')
        self._check(self.head())

    def _check(self, chunk):
        assert chunk == pattern(self.at, len(chunk)), f'other bytes than were sent, behind {self.at}'
        self.at += len(chunk)

    def read(self, size):
        """Reads at least that many more bytes."""
        end = min(self.size, self.at + size)
        while self.at < end:
            self._check(self.receive())

    def finish(self):
        self.read(self.size)
        assert not self.socket.recv(1)
        self.close()


def ask(namespace, vip, **how):
    """The name of the server that answers."""
    return Flow(namespace, vip, **how).send('GET / HTTP/1.1\r\nHost: lab\r\n\r\n').body().split()[0]


def upload(namespace, vip, size, **how):
    """Sends size bytes; returns the name of the server."""
    data = pattern(0, size)
    flow = Flow(namespace, vip, **how)
    flow.send(f'PUT / HTTP/1.1\r\nHost: lab\r\nContent-Length: {size}\r\n\r\n')
    flow.socket.sendall(data)
    name, digest = flow.body().split()
    assert digest == hashlib.sha256(data).hexdigest()
    return name


class Talk(Flow):
    """A connection that stays open: a message is sent, comes back, and after a pause the next one is sent."""
    PAUSE = 0.2

    def __init__(self, namespace, vip, **how):
        super().__init__(namespace, vip, **how)
        self.send('GET /echo HTTP/1.1\r\nHost: lab\r\n\r\n')
        assert not self.head()
        self.number, self.expected, self.sent_at, self.longest = 0, b'', time.monotonic(), 0

    def say(self, now):
        """Sends the next message if it is time for it."""
        if not self.expected and now >= self.sent_at + self.PAUSE:
            self.number, self.sent_at = self.number + 1, now
            self.expected = f'message {self.number}\n'.encode()
            self.socket.sendall(self.expected)

    def hear(self, now):
        got = self.receive()
        assert self.expected.startswith(got), f'{got} is not {self.expected}'
        self.expected = self.expected[len(got):]
        self.longest = max(self.longest, now - self.sent_at)


class Talks:
    """Many of them at once. .lost: what ended early, as errors."""

    def __init__(self, namespace, *vips, n=200):
        self.talks = [Talk(namespace, vips[i % len(vips)]) for i in range(n)]
        self.lost, self.over, self._changed = [], threading.Event(), threading.Condition()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        with selectors.DefaultSelector() as selector:
            for talk in self.talks:
                selector.register(talk.socket, selectors.EVENT_READ, talk)
            while not self.over.is_set():
                ready = {key.data for key, _ in selector.select(0.02)}
                for talk in list(selector.get_map().values()):
                    self._turn(selector, talk.data, talk.data in ready)
                with self._changed:
                    self._changed.notify_all()

    def _turn(self, selector, talk, ready):
        try:
            now = time.monotonic()
            if ready:
                talk.hear(now)
            talk.say(now)
        except (OSError, AssertionError) as error:
            self.lost.append((time.time(), talk.socket.getsockname(), error))
            selector.unregister(talk.socket)

    def wait_round(self):
        """Waits until a message that each connection sends from now on has come back, or connections are lost."""
        with self._changed:
            goal = [talk.number + 2 for talk in self.talks]
            assert self._changed.wait_for(lambda: self.lost or all(talk.number >= n for talk, n in zip(self.talks, goal)),
                                          2 * PATIENCE), 'a connection stands still'

    def longest(self):
        """The longest time that a message has taken there and back; starts to measure again."""
        longest = max(talk.longest for talk in self.talks)
        for talk in self.talks:
            talk.longest = 0
        return longest

    def close(self):
        self.over.set()
        self.thread.join(PATIENCE)
        for talk in self.talks:
            talk.close()


class Traffic:
    """Makes requests until it is stopped. .seen: (start time, name of the server or error)."""

    def __init__(self, namespace, *vips):
        self.namespace, self.vips, self.seen, self.over = namespace, vips, [], threading.Event()
        self._changed = threading.Condition()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self.over.is_set():
            for vip in self.vips:
                at = time.time()
                try:
                    who = ask(self.namespace, vip)
                except OSError as error:
                    who = error
                with self._changed:
                    self.seen.append((at, who))
                    self._changed.notify_all()

    def wait_more(self, n):
        """Waits for the next n answers."""
        with self._changed:
            have = len(self.seen)
            assert self._changed.wait_for(lambda: len(self.seen) >= have + n, PATIENCE), 'the traffic stands still'
            return self.seen[have:]

    def errors(self):
        return [(at, who) for at, who in self.seen if isinstance(who, Exception)]

    def longest(self, since=0):
        """The longest time that a request has taken: with one VIP each starts at the end of the one before."""
        return max((later - at for (at, _), (later, _) in zip(self.seen, self.seen[1:]) if at >= since), default=0)

    def after(self, time_stamp):
        """The servers that answered requests made since then."""
        return {who for at, who in self.seen if at > time_stamp}


@contextlib.contextmanager
def traffic(namespace, *vips):
    """Context manager: traffic that has begun."""
    it = Traffic(namespace, *vips)
    it.thread.start()
    try:
        it.wait_more(1)
        yield it
    finally:
        it.over.set()
        it.thread.join(PATIENCE)
