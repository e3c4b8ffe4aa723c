# SPDX-License-Identifier: Apache-2.0
"""A minimal HTTP/2 client, for tests that need a misbehaving client or very many connections.

Headers of answers are not decompressed: frames are recognised by type, messages by length.
"""
import socket
import struct

from lab.wait import PATIENCE

PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4
WIDE = 0x7fff0000


def frame(kind, flags=0, stream=0, payload=b''):
    return struct.pack('>I', len(payload))[1:] + struct.pack('>BBI', kind, flags, stream) + payload


def field(name, value):
    """A literal header field without indexing and Huffman coding (RFC 7541, section 6.2.2)."""
    return b'\0' + b''.join(_integer(len(part)) + part for part in (name.encode(), value.encode()))


def _integer(n):
    if n < 127:
        return bytes([n])
    out, n = b'\x7f', n - 127
    while n >= 128:
        out, n = out + bytes([n % 128 | 128]), n // 128
    return out + bytes([n])


def request(path, message=b'', stream=1, **more):
    """The frames of a unary or streaming call."""
    fields = {':method': 'POST', ':scheme': 'http', ':path': path, ':authority': 'test',
              'content-type': 'application/grpc', 'te': 'trailers', **{k.replace('_', '-'): v for k, v in more.items()}}
    block = b''.join(field(name, value) for name, value in fields.items())
    return frame(HEADERS, END_HEADERS, stream, block) + \
        frame(DATA, END_STREAM, stream, struct.pack('>BI', 0, len(message)) + message)


def messages(data):
    """The complete messages of a stream so far, and the rest."""
    found, at = [], 0
    while len(data) - at >= 5 and len(data) - at - 5 >= (n := int.from_bytes(data[at + 1:at + 5], 'big')):
        found.append(data[at + 5:at + 5 + n])
        at += 5 + n
    return found, data[at:]


class Connection:
    def __init__(self, port, preface=True, wide=True, connected=None):
        """wide: opens large windows; otherwise the windows are the defaults of HTTP/2. connected: a socket to use."""
        self.socket = connected or socket.create_connection(('127.0.0.1', port), PATIENCE)
        self.received, self.buffer = [], b''
        if preface:
            self.send(PREFACE + frame(SETTINGS, payload=struct.pack('>HI', 4, WIDE) if wide else b''))
        if preface and wide:
            self.send(frame(WINDOW_UPDATE, payload=struct.pack('>I', WIDE - 65535)))

    def send(self, data):
        self.socket.sendall(data)

    def take(self, data):
        """(kind, flags, stream, payload) of the frames that are complete so far."""
        self.buffer += data
        at = 0
        while len(self.buffer) - at >= 9:
            n = int.from_bytes(self.buffer[at:at + 3], 'big')
            if len(self.buffer) - at < 9 + n:
                break
            kind, flags, stream = struct.unpack_from('>BBI', self.buffer, at + 3)
            yield kind, flags, stream & 0x7fffffff, self.buffer[at + 9:at + 9 + n]
            at += 9 + n
        self.buffer = self.buffer[at:]

    def wait(self, kind, timeout=PATIENCE):
        """The payload of the next frame of that kind; None if the connection ends before."""
        self.socket.settimeout(timeout)
        while True:
            for index, one in enumerate(self.received):
                if one[0] == kind:
                    del self.received[:index + 1]
                    return one[3]
            try:
                data = self.socket.recv(65536)
            except ConnectionError:
                data = b''
            if not data:
                return None
            self.received += self.take(data)

    def ended(self, timeout=PATIENCE):
        """Whether the other side closes the connection within that time."""
        self.socket.settimeout(timeout)
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionError:
            pass
        except TimeoutError:
            return False
        return True

    def close(self):
        self.socket.close()
