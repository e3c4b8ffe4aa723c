# SPDX-License-Identifier: Apache-2.0
"""A small client of VPP's API and stats sockets, for tests of the fake VPP itself."""
import array
import mmap
import os
import socket
import struct

from lab.wait import PATIENCE, until


class Client:
    def __init__(self, path, name=b'story'):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        reply = self.ask_raw(struct.pack('>HI64s', 15, 7, name))
        self.index = reply[14:18]
        self.ids = {}
        for at in range(20, len(reply), 66):
            self.ids[reply[at + 2:at + 66].rstrip(b'\0').decode()], = struct.unpack('>H', reply[at:at + 2])

    def close(self):
        self.socket.close()

    def send_raw(self, message):
        self.socket.sendall(bytes(8) + struct.pack('>I', len(message)) + bytes(4) + message)

    def receive(self):
        """Reads one message; None at the end."""
        header = self._read(16)
        return header and self._read(*struct.unpack('>I', header[8:12]))

    def _read(self, n):
        data = b''
        while len(data) < n:
            more = self.socket.recv(n - len(data))
            if not more:
                return None
            data += more
        return data

    def ask_raw(self, message):
        self.send_raw(message)
        return self.receive()

    def send(self, name, fields=b'', context=1):
        number = next(id_ for known, id_ in self.ids.items() if known.rpartition('_')[0] == name)
        self.send_raw(struct.pack('>H', number) + self.index + struct.pack('>I', context) + fields)

    def ask(self, name, fields=b''):
        """The fields after the message number and the context."""
        self.send(name, fields)
        answer = self.receive()
        return answer and answer[6:]

    def retval(self, name, fields=b''):
        return struct.unpack('>i', self.ask(name, fields)[:4])[0]


def segment(path):
    """The descriptor that the stats socket passes; None if there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(PATIENCE)
        s.connect(path)
        _, control, _, _ = s.recvmsg(1, socket.CMSG_SPACE(4))
    return array.array('i', control[0][2])[0] if control else None


class Stats:
    """Reads the segment without checks, because only the fake has written it; but waits while it is being written."""

    def __init__(self, path):
        fd = segment(path)
        self.map = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
        os.close(fd)

    def header(self):
        return struct.unpack('<5Q', self.map[:40])  # version, base, epoch, in progress, directory

    def _vector(self, pointer, form):
        at, size = pointer - self.header()[1], struct.calcsize(form)
        n, = struct.unpack('<I', self.map[at - 8:at - 4])
        return [struct.unpack(form, self.map[at + i * size:at + (i + 1) * size]) for i in range(n)]

    def _entry(self, name):
        """A field of the entry with that name."""
        wanted = name.encode().ljust(128, b'\0')
        return next(value for _, value, name in self._vector(self.header()[4], '<I4xQ128s') if name == wanted)

    def _settled(self, read):
        def attempt():
            epoch, busy = self.header()[2:4]
            try:
                found = read()
            except (StopIteration, struct.error):
                found = None
            return not busy and self.header()[2] == epoch and [found]

        return until(attempt, what='a settled segment')[0]

    def value(self, name):
        return self._settled(lambda: self._entry(name))

    def column(self, name, column, form='<Q'):
        """The counter of the worker; None if there is no such entry or column yet."""
        def read():
            _, (worker,) = self._vector(self._entry(name), '<Q')
            return self._vector(worker, form)[column:column + 1]

        found = self._settled(read)
        return found[0] if found else None
