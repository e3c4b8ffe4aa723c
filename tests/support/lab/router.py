# SPDX-License-Identifier: Apache-2.0
"""maglev-router with a configuration, servers that do exactly what a test says, and a client that sees every byte."""
import contextlib
import json
import os
import socket
import threading

from lab.daemon import Daemon
from lab.wait import PATIENCE

OK = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'


class Router(Daemon):
    """A document (see docs/reference/router.md) as its file, with a listener on any free port unless it has some."""
    listener = 'admin'

    def __init__(self, folder, document, *args, threads=2, **how):
        self.path = os.path.join(str(folder), 'router.json')
        self.write(document)
        super().__init__(folder, 'maglev-router', '--config', self.path, '--listen', '127.0.0.1:0', '--threads',
                         str(threads), '--admin-addr', '127.0.0.1:0', '--grpc-addr', '127.0.0.1:0', *args, metrics=None, **how)

    def write(self, document):
        with open(self.path + '.new', 'w', encoding='utf-8') as file:
            file.write(document if isinstance(document, str) else json.dumps(document))
        os.replace(self.path + '.new', self.path)

    def client(self, listener='default'):
        return Wire(self.port_of(listener))

    def request(self, method='GET', path='/', body=None, headers=None, listener='default'):
        """On a connection of its own."""
        return self.ask(method, path, headers, body, port=self.port_of(listener))

    def update(self, document, path='/routes/update'):
        return self.ask('POST', path, body=json.dumps(document))


def document(*servers, rule=None, pool=None, **more):
    """One route to one pool of these servers."""
    return {'routes': [{'name': 'all', 'pool': 'pool', **(rule or {})}],
            'pools': [{'name': 'pool', 'servers': [f'127.0.0.1:{server.port}' for server in servers], **(pool or {})}],
            **more}


class Head:
    def __init__(self, text):
        start, *lines = text.decode('latin-1').split('\r\n')
        self.start, self.text = start, text
        self.fields = [tuple(part.strip() for part in line.split(':', 1)) for line in lines if line]

    @property
    def status(self):
        return int(self.start.split()[1])

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def get(self, name):
        return next(iter(self.all(name)), None)


class Wire:
    """A connection on which every byte is seen."""

    def __init__(self, port=None, sock=None):
        self.sock = sock or socket.create_connection(('127.0.0.1', port), PATIENCE)
        self.sock.settimeout(PATIENCE)
        self.held = b''

    def send(self, data):
        self.sock.sendall(data if isinstance(data, bytes) else data.encode('latin-1'))
        return self

    def _more(self):
        data = self.sock.recv(65536)
        if not data:
            raise EOFError(f'the connection ended after {self.held!r}')
        self.held += data

    def until(self, end):
        while end not in self.held:
            self._more()
        found, self.held = self.held.split(end, 1)
        return found

    def exactly(self, n):
        while len(self.held) < n:
            self._more()
        found, self.held = self.held[:n], self.held[n:]
        return found

    def rest(self):
        """All until the other side ends."""
        with contextlib.suppress(EOFError):
            while True:
                self._more()
        found, self.held = self.held, b''
        return found

    def head(self):
        return Head(self.until(b'\r\n\r\n'))

    def chunks(self):
        body = b''
        while size := int(self.until(b'\r\n'), 16):
            body += self.exactly(size)
            assert self.exactly(2) == b'\r\n'
        while self.until(b'\r\n'):
            pass  # trailers
        return body

    def message(self, bodiless=False):
        """(head, body)"""
        head = self.head()
        if head.get('transfer-encoding') == 'chunked':
            return head, self.chunks()
        if bodiless or (head.start.startswith('HTTP/') and head.status in (204, 304)):
            return head, b''
        length = head.get('content-length')
        if length is None:
            return head, self.rest() if head.start.startswith('HTTP/') else b''
        return head, self.exactly(int(length))

    def get(self, path='/', host='www.example.com'):
        return self.send(f'GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n').message()

    def shutdown(self):
        self.sock.shutdown(socket.SHUT_WR)

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()


class Server:
    """Calls serve(wire) for each connection, in a thread of its own; an end of the connection ends it quietly."""

    def __init__(self, serve, backlog=1024, address='127.0.0.1', port=0):
        self.serve, self.connections, self.requests = serve, 0, []
        self.listener = socket.create_server((address, port), backlog=backlog)
        self.port = self.listener.getsockname()[1]
        self.open = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self.listener.accept()
                self.connections += 1
                threading.Thread(target=self._run, args=(Wire(sock=sock),), daemon=True).start()

    def _run(self, wire):
        self.open.add(wire)
        with wire, contextlib.suppress(EOFError, OSError):
            wire.server = self
            self.serve(wire)
        self.open.discard(wire)

    def close(self):
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()


def echo(wire):
    """Answers every request with what it got: the head, and the length of the body."""
    while True:
        head, body = wire.message()
        wire.server.requests.append(head)
        text = head.text + b'\r\n\r\n' + str(len(body)).encode()
        wire.send(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-Port: %d\r\n\r\n' % (len(text), wire.server.port))
        if not head.start.startswith('HEAD'):
            wire.send(text)


def answering(*answers):
    """Answers the requests of each connection with these bytes in turn, the last one for all further ones; None closes."""
    def serve(wire):
        turn = iter(answers)
        answer = None
        while True:
            head, _ = wire.message()
            wire.server.requests.append(head)
            answer = next(turn, answer)
            if answer is None:
                return
            wire.send(answer)
    return serve


def large(wire):
    """Answers /SIZE, with a length; /chunked/SIZE; /close/SIZE, until the end."""
    while True:
        head, _ = wire.message()
        *kind, size = head.start.split()[1].strip('/').split('/')
        body = b'z' * int(size)
        if kind == ['chunked']:
            wire.send(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
            wire.send(b''.join(b'%x\r\n%s\r\n' % (len(part), part)
                               for part in (body[i:i + 999] for i in range(0, len(body), 999))) + b'0\r\n\r\n')
        elif kind == ['close']:
            wire.send(b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n' + body)
            return
        else:
            wire.send(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(body) + body)
