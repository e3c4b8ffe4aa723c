# SPDX-License-Identifier: Apache-2.0
"""A BGP peer that says what a test wants it to say (RFC 4271): messages as bytes, and a listener that sends them."""
import contextlib
import ipaddress
import socket
import struct
import threading

OPEN, UPDATE, NOTIFICATION, KEEPALIVE = 1, 2, 3, 4
MARKER, HEAD = b'\xff' * 16, 19
ROOM = 4096 - 256  # bytes of prefixes in one UPDATE


def message(kind, body=b''):
    return MARKER + struct.pack('!HB', HEAD + len(body), kind) + body


def open_message(asn, address, hold=30, version=4):
    """With capabilities for IPv4 unicast and numbers of AS with four bytes."""
    capabilities = struct.pack('!BBHBB', 1, 4, 1, 0, 1) + struct.pack('!BBI', 65, 4, asn)
    options = struct.pack('!BB', 2, len(capabilities)) + capabilities
    return message(OPEN, struct.pack('!BHH4sB', version, asn, hold, socket.inet_aton(address), len(options)) + options)


def attribute(kind, value, flags=0x40):
    return struct.pack('!BBB', flags, kind, len(value)) + value


def attributes(asn, address):
    """ORIGIN, AS_PATH, NEXT_HOP"""
    return attribute(1, b'\0') + attribute(2, struct.pack('!BBI', 2, 1, asn)) + attribute(3, socket.inet_aton(address))


def prefix(text):
    network = ipaddress.ip_network(text)
    return bytes([network.prefixlen]) + network.network_address.packed[:(network.prefixlen + 7) // 8]


def updates(asn, address, prefixes):
    """Announces them, in as many messages as are needed."""
    body = b''
    for one in map(prefix, prefixes):
        if len(body) + len(one) > ROOM:
            yield update(attributes(asn, address), body)
            body = b''
        body += one
    yield update(attributes(asn, address), body)


def update(attrs, prefixes):
    return message(UPDATE, struct.pack('!HH', 0, len(attrs)) + attrs + prefixes)


class BgpPeer:
    """Waits for connections to its address, and runs play(self) with each, one after the other.

    play uses .asn, .address, send(), read() and pause(); it ends when the other side closes the connection.
    """

    def __init__(self, namespace, address, asn, play):
        self.address, self.asn, self.play = address, asn, play
        self.sessions, self.heard = 0, []
        self.connection, self.closed = None, threading.Event()
        self.listener = namespace.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((address, 179))
        self.listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while not self.closed.is_set():
            with contextlib.suppress(OSError):
                self.connection = self.listener.accept()[0]
                with self.connection:
                    self.play(self)

    # ---- for play ----

    def send(self, *messages):
        for one in messages:
            self.connection.sendall(one)

    def _exactly(self, n):
        data = b''
        while len(data) < n:
            piece = self.connection.recv(n - len(data))
            if not piece:
                raise ConnectionError
            data += piece
        return data

    def read(self):
        """The next message, as (kind, body)."""
        head = self._exactly(HEAD)
        length, kind = struct.unpack('!HB', head[16:])
        body = self._exactly(length - HEAD)
        self.heard.append((kind, body))
        return kind, body

    def establish(self, hold=30):
        """Exchanges OPEN and KEEPALIVE; returns when the other side has sent its KEEPALIVE."""
        self.send(open_message(self.asn, self.address, hold), message(KEEPALIVE))
        while self.read()[0] != KEEPALIVE:
            pass
        self.sessions += 1

    def stay(self):
        """Answers each KEEPALIVE with one, until the connection ends."""
        while True:
            if self.read()[0] == KEEPALIVE:
                self.send(message(KEEPALIVE))

    def pause(self, seconds):
        self.closed.wait(seconds)

    def reset(self):
        """Ends the connection with a TCP reset."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.connection.close()

    def close(self):
        self.closed.set()
        for one in (self.listener, self.connection):
            with contextlib.suppress(OSError, AttributeError):
                one.shutdown(socket.SHUT_RDWR)
        self.listener.close()
