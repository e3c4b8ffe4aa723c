# SPDX-License-Identifier: Apache-2.0
"""A proxy before an API server that sees each write of a program, so that a story can act exactly between two of them.

    gate = Gate(kube, after=lambda method, path: program.kill())
    Mux(folder, world.kubeconfig(server=gate.url), ...)

It speaks plain HTTP to the program and TLS to the server, one request for each connection.
"""
import contextlib
import socket
import ssl
import threading

from lab.kube import SECURE

WRITES = ('POST', 'PUT', 'PATCH', 'DELETE')
PIECE = 1 << 16


class Gate:
    """before: whether a write is passed on; after: called when the server has answered, before the program hears of it. Both
    get (method, path) and may be called in several threads, one at a time. Writes with a word of passed in their path are not
    shown to them."""

    def __init__(self, kube, before=None, after=None, passed=('/leases', '/events')):
        self.kube, self.before, self.after, self.passed = kube, before, after, passed
        self.lock, self.closed = threading.Lock(), False
        self.context = ssl.create_default_context(cafile=kube.ca)
        self.listener = kube.netns.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(('127.0.0.1', 0))
        self.listener.listen(64)
        self.url = f'http://127.0.0.1:{self.listener.getsockname()[1]}'
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while not self.closed:
            with contextlib.suppress(OSError):
                client, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with contextlib.suppress(OSError, ValueError), client:
            head, body = self._request(client)
            method, path = head.split(' ', 2)[:2]
            is_write = method in WRITES and not any(word in path for word in self.passed)
            if is_write and self.before:
                with self.lock:
                    if not self.before(method, path):
                        return
            self._pass(client, head, body, (method, path) if is_write and self.after else None)

    @staticmethod
    def _request(client):
        data = b''
        while b'\r\n\r\n' not in data:
            piece = client.recv(PIECE)
            if not piece:
                raise ValueError('no request')
            data += piece
        head, body = data.split(b'\r\n\r\n', 1)
        lines = [line for line in head.decode().split('\r\n') if not line.lower().startswith('connection:')]
        length = next((int(line.split(':')[1]) for line in lines if line.lower().startswith('content-length:')), 0)
        while len(body) < length:
            body += client.recv(PIECE)
        return '\r\n'.join([*lines, 'Connection: close']), body

    def _pass(self, client, head, body, write):
        server = self.kube.netns.socket()
        server.connect(('127.0.0.1', SECURE))
        with self.context.wrap_socket(server, server_hostname='127.0.0.1') as server:
            server.sendall(head.encode() + b'\r\n\r\n' + body)
            first = server.recv(PIECE)
            if write:
                with self.lock:
                    self.after(*write)
            while first:
                client.sendall(first)
                first = server.recv(PIECE)

    def close(self):
        self.closed = True
        self.listener.shutdown(socket.SHUT_RDWR)  # close() alone does not end accept()
        self.listener.close()


class Door:
    """A port beside the API server that leads to it, byte by byte. While it is shut, connections are accepted and nothing passes."""

    def __init__(self, kube):
        self.kube, self.opened, self.sockets = kube, threading.Event(), []
        self.opened.set()
        self.listener = kube.netns.socket()
        self.listener.bind(('127.0.0.1', 0))
        self.listener.listen(64)
        self.url = f'https://127.0.0.1:{self.listener.getsockname()[1]}'
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self.listener.accept()[0],), daemon=True).start()

    def _serve(self, client):
        self.sockets.append(client)
        self.opened.wait()
        server = self.kube.netns.socket()
        self.sockets.append(server)
        with contextlib.suppress(OSError):
            server.connect(('127.0.0.1', SECURE))
            threading.Thread(target=self._pump, args=(server, client), daemon=True).start()
            self._pump(client, server)

    @staticmethod
    def _pump(one, other):
        with contextlib.suppress(OSError):
            while data := one.recv(PIECE):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)

    def shut(self):
        """Also cuts what is open."""
        self.opened.clear()
        for one in self.sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def open(self):
        self.opened.set()

    def close(self):
        self.shut()
        self.opened.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        for one in (self.listener, *self.sockets):
            one.close()
