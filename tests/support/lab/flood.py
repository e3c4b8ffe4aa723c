# SPDX-License-Identifier: Apache-2.0
"""Floods of HTTP/2 frames over one connection, and a bystander on another who wants to be served."""
import contextlib
import os
import socket
import statistics
import threading
import time

from lab.h2 import DATA, GOAWAY, PREFACE, RST_STREAM, SETTINGS, frame
from lab.http2 import Http2
from lab.turns import waited
from lab.wait import PATIENCE

CALM = 11  # ENHANCE_YOUR_CALM
GET = b'\x82\x86\x84\x41\x01a'  # :method GET, :scheme http, :path /, :authority a
POST = b'\x83\x86\x84\x41\x01a'


class Flood:
    """Sends the pieces, an iterable of bytes, in a thread until they or the connection end. Reads what comes, unless deaf."""

    def __init__(self, port, pieces, deaf=False, settings=b'', accepted=None):
        """accepted: a socket on which it is the server."""
        self.sock = accepted or socket.create_connection(('127.0.0.1', port), PATIENCE)
        self.sock.settimeout(PATIENCE)
        self.sent, self.code, self.closed, self.held = 0, None, False, b''
        self.resets, self.data = [], 0
        self.pieces = pieces
        self.sock.sendall((b'' if accepted else PREFACE) + frame(SETTINGS, payload=settings))
        self.threads = [threading.Thread(target=run, daemon=True) for run in ([self._write] if deaf else
                                                                              [self._write, self._read])]
        for thread in self.threads:
            thread.start()

    def _write(self):
        with contextlib.suppress(OSError):
            for piece in self.pieces:
                self.sock.sendall(piece)
                self.sent += len(piece)

    def _read(self):
        with contextlib.suppress(OSError):
            while data := self.sock.recv(65536):
                self.held += data
                self._frames()
            self.closed = True

    def _frames(self):
        while len(self.held) >= 9 and len(self.held) >= 9 + (size := int.from_bytes(self.held[:3], 'big')):
            kind, payload = self.held[3], self.held[9:9 + size]
            self.held = self.held[9 + size:]
            if kind == GOAWAY:
                self.code = int.from_bytes(payload[4:8], 'big')
            elif kind == RST_STREAM:
                self.resets.append(int.from_bytes(payload, 'big'))
            elif kind == DATA:
                self.data += size

    @property
    def running(self):
        return any(thread.is_alive() for thread in self.threads)

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(PATIENCE)
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()


class Bystander:
    """Asks again and again on a connection of its own while something goes on. waits: seconds for each answer, without those in
    which the router, or this process, had no processor."""

    def __init__(self, router):
        self.client, self.waits, self.pids = Http2(router.port_of('default')), [], (router.pid, os.getpid())

    def ask(self):
        began, late = time.monotonic(), waited(*self.pids)
        assert self.client.get('/bystander').status == 200
        # the time of a thread that has ended meanwhile is gone from the sum
        self.waits.append(max(0, time.monotonic() - began - max(0, waited(*self.pids) - late)))

    def while_running(self, flood, seconds):
        """Until the flood has ended, or for that time (None: for that time); at least some requests."""
        until = time.monotonic() + seconds
        while len(self.waits) < 20 or ((not flood or flood.running) and time.monotonic() < until):
            self.ask()

    @property
    def worst(self):
        return max(self.waits)

    @property
    def usual(self):
        return statistics.median(self.waits)
