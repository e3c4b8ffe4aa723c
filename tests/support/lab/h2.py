# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 by hand, as far as it takes to be a bad client, or very many good ones.

Nothing of what comes back is decompressed: frames are told by their type, messages by their length.
"""
import socket
import struct

from lab.wait import PATIENCE

PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS = 1, 4
WIDE = 0x7fff0000


def frame(kind, flags=0, stream=0, payload=b''):
    return struct.pack('>I', len(payload))[1:] + struct.pack('>BBI', kind, flags, stream) + payload


def field(name, value):
    """A literal that is not indexed, without Huffman."""
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
    """Those of a stream that are whole by now, and the rest."""
    found, at = [], 0
    while len(data) - at >= 5 and len(data) - at - 5 >= (n := int.from_bytes(data[at + 1:at + 5], 'big')):
        found.append(data[at + 5:at + 5 + n])
        at += 5 + n
    return found, data[at:]


class Connection:
    def __init__(self, port, preface=True, wide=True):
        """wide: takes what comes; otherwise as much as HTTP/2 gives a peer that says nothing."""
        self.socket = socket.create_connection(('127.0.0.1', port), PATIENCE)
        self.received, self.buffer = [], b''
        if preface:
            self.send(PREFACE + frame(SETTINGS, payload=struct.pack('>HI', 4, WIDE) if wide else b''))
        if preface and wide:
            self.send(frame(WINDOW_UPDATE, payload=struct.pack('>I', WIDE - 65535)))

    def send(self, data):
        self.socket.sendall(data)

    def take(self, data):
        """(kind, flags, stream, payload) of the frames that are whole by now."""
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
        """The payload of the next frame of that kind; None when the connection ends before."""
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
        """Whether the other side closes, within that time."""
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
