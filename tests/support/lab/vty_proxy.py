# SPDX-License-Identifier: Apache-2.0
"""Sockets in front of those of FRR's daemons. Commands and answers pass, and a test may change the answers."""
import contextlib
import os
import socket
import socketserver
import threading

from lab.frr import END


def _answer(connection):
    answer = b''
    while answer[-4:-1] != END:
        piece = connection.recv(1 << 16)
        if not piece:
            raise ConnectionError
        answer += piece
    return answer


class _Handler(socketserver.BaseRequestHandler):
    def handle(self):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as daemon:
            daemon.connect(self.server.behind)
            self._pass(daemon)

    def _pass(self, daemon):
        rest = b''
        while True:
            while b'\0' not in rest:
                piece = self.request.recv(1 << 16)
                if not piece:
                    return
                rest += piece
            command, rest = rest.split(b'\0', 1)
            answer = self._answer(daemon, command)
            for piece in [answer] if isinstance(answer, bytes) else answer:
                self.request.sendall(piece)
            if not isinstance(answer, bytes):
                return

    def _answer(self, daemon, command):
        def ask():
            daemon.sendall(command + b'\0')
            return _answer(daemon)

        change = self.server.proxy.change
        return change(self.server.name, command.decode(), ask) if change else ask()


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


class VtyProxy:
    """change(daemon, command, ask): returns what the client gets as an answer, or an iterable of pieces after which the
    connection is closed. ask() passes the command on and returns what the daemon says. None: nothing is changed."""

    def __init__(self, folder, frr, daemons=('bgpd', 'bfdd')):
        self.folder, self.change = folder, None
        self.servers = []
        for name in daemons:
            server = _Server(os.path.join(folder, f'{name}.vty'), _Handler)
            server.name, server.behind, server.proxy = name, f'{frr.run}/{name}.vty', self
            threading.Thread(target=server.serve_forever, args=(.05,), daemon=True).start()
            self.servers.append(server)

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()
