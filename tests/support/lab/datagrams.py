# SPDX-License-Identifier: Apache-2.0
"""UDP servers that answer as a test says, and clients, for stories of maglev-router."""
import contextlib
import select
import socket
import threading

from lab.wait import PATIENCE


class Echo:
    """Answers every datagram with its own name, a colon and the datagram; or with what answer(name, data) returns: a list
    of datagrams."""

    def __init__(self, name='echo', address='127.0.0.1', answer=None, port=0, inside=None):
        family = socket.AF_INET6 if ':' in address else socket.AF_INET
        self.name, self.sources, self.received = name, set(), []
        self.answer = answer or (lambda name, data: [name.encode() + b':' + data])
        make = inside.socket if inside else socket.socket
        self.sock, self.wake = make(family, socket.SOCK_DGRAM), make(family, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.sock.bind((address, port))
        self.port = self.sock.getsockname()[1]
        self.at = f'[{address}]:{self.port}' if ':' in address else f'{address}:{self.port}'
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        with contextlib.suppress(OSError):
            while True:
                data, source = self.sock.recvfrom(65536)
                if data == b'\0end':
                    return
                self.sources.add(source)
                self.received.append(data)
                for part in self.answer(self.name, data):
                    self.sock.sendto(part, source)

    def close(self):
        """The port is closed when this returns."""
        if self.sock.fileno() < 0:
            return
        self.wake.sendto(b'\0end', self.sock.getsockname()[:2])
        self.wake.close()
        self.thread.join(PATIENCE)
        self.sock.close()


class Source:
    """A client with a port of its own, which takes datagrams only from the address that it asks."""

    def __init__(self, port, address='127.0.0.1', source=None, inside=None):
        family = socket.AF_INET6 if ':' in address else socket.AF_INET
        self.sock = inside.socket(family, socket.SOCK_DGRAM) if inside else socket.socket(family, socket.SOCK_DGRAM)
        self.sock.settimeout(PATIENCE)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        if source:
            self.sock.bind(source)
        self.sock.connect((address, port))

    @property
    def name(self):
        return self.sock.getsockname()[:2]

    def send(self, data):
        self.sock.send(data)
        return self

    def take(self):
        return self.sock.recv(65536)

    def ask(self, data):
        return self.send(data).take()

    def nothing(self):
        """Whether no datagram waits."""
        return not select.select([self.sock], [], [], 0)[0]

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()


def streaming(*servers, stream=None, pool=None, address='127.0.0.1:0', **more):
    """A document with one listener of datagrams and one pool of these servers."""
    return {'listeners': [{'name': 'udp', 'address': address, 'protocol': 'udp'}],
            'streams': [{'name': 'all', 'listeners': ['udp'], 'pool': 'pool', **(stream or {})}],
            'pools': [{'name': 'pool', 'servers': [server.at for server in servers], **(pool or {})}], **more}
