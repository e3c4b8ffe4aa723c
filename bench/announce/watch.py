# SPDX-License-Identifier: Apache-2.0
"""What a peer sees: prefixes in the BGP updates on its link, and changes of its kernel's routes, each with its time."""
import contextlib
import ipaddress
import socket
import struct
import threading
import time

ETH_P_ALL, OUTGOING, SO_TIMESTAMPNS, SO_RCVBUFFORCE, SOL_PACKET_BUFFER = 3, 4, 35, 33, 64 << 20
RTMGRP_IPV4_ROUTE, RTM_NEWROUTE, RTM_DELROUTE, RTA_DST = 0x40, 24, 25, 1
UPDATE = 2


def _prefix(address, bits):
    return f'{ipaddress.IPv4Address(address.ljust(4, bytes(1)))}/{bits}'


def _prefixes(data):
    while data:
        n = (data[0] + 7) // 8
        yield _prefix(data[1:1 + n], data[0])
        data = data[1 + n:]


class Events:
    """(time in s, added, prefix), in the order of arrival."""

    def __init__(self):
        self.items, self.changed = [], threading.Condition()

    def add(self, at, items):
        with self.changed:
            self.items += [(at, added, prefix) for added, prefix in items]
            self.changed.notify_all()

    def mark(self):
        return len(self.items)

    def wait(self, since, added, prefix, patience):
        """The time of the first such event after the mark."""
        def found():
            return next((at for at, *what in self.items[since:] if what == [added, prefix]), None)
        with self.changed:
            assert self.changed.wait_for(found, patience), f'{prefix} was not {"added" if added else "removed"}'
            return found()

    def wait_for_all(self, wanted, patience):
        with self.changed:
            assert self.changed.wait_for(lambda: wanted <= {item[2] for item in self.items if item[1]}, patience)

    def wait_until_quiet(self, seconds):
        """Returns when nothing has changed for that long."""
        with self.changed:
            while self.changed.wait(seconds):
                pass

    def others(self, since, prefix):
        """Changes of other prefixes after the mark."""
        return sum(item[2] != prefix for item in self.items[since:])


class Wire(Events):
    """The updates that arrive at an interface."""

    def __init__(self, namespace, interface):
        super().__init__()
        self.socket = namespace.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, SOL_PACKET_BUFFER)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.bind((interface, ETH_P_ALL))
        self.bytes, self.next = b'', None
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        with contextlib.suppress(OSError):  # the interface is gone: the end
            self._read()

    def _read(self):
        while True:
            packet, more, _, address = self.socket.recvmsg(1 << 17, 64)
            if address[2] != OUTGOING and packet[12:14] == b'\x08\x00' and packet[23] == socket.IPPROTO_TCP:
                seconds, nanoseconds = struct.unpack('=qq', more[0][2])
                self._take(packet[14:], seconds + nanoseconds / 1e9)

    def _take(self, packet, at):
        header = (packet[0] & 15) * 4
        end, = struct.unpack('>H', packet[2:4])
        tcp = packet[header:end]
        number, flags = struct.unpack('>I4xxB', tcp[4:14])
        data = tcp[(tcp[12] >> 4) * 4:]
        if flags & 2:  # SYN: a new connection
            self.bytes, self.next = b'', number + 1 & 0xffffffff
        elif data and number == self.next:
            self.next = number + len(data) & 0xffffffff
            self.bytes += data
            self._messages(at)

    def _messages(self, at):
        while len(self.bytes) >= 19:
            length, kind = struct.unpack('>HB', self.bytes[16:19])
            if len(self.bytes) < length:
                return
            body, self.bytes = self.bytes[19:length], self.bytes[length:]
            if kind == UPDATE:
                gone, = struct.unpack('>H', body[:2])
                attributes, = struct.unpack('>H', body[2 + gone:4 + gone])
                self.add(at, [(False, prefix) for prefix in _prefixes(body[2:2 + gone])] +
                         [(True, prefix) for prefix in _prefixes(body[4 + gone + attributes:])])


class Routes(Events):
    """The kernel's routes. A route that replaces itself counts as added."""

    def __init__(self, namespace):
        super().__init__()
        self.socket = namespace.inside(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, SOL_PACKET_BUFFER)
        self.socket.bind((0, RTMGRP_IPV4_ROUTE))
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            data = self.socket.recv(1 << 17)
            at = time.time()
            while len(data) >= 16:
                length, kind = struct.unpack('=IH', data[:6])
                if kind in (RTM_NEWROUTE, RTM_DELROUTE):
                    self.add(at, [(kind == RTM_NEWROUTE, self._destination(data[16:length]))])
                data = data[(length + 3) & ~3:]

    @staticmethod
    def _destination(message):
        bits, rest = message[1], message[12:]
        while len(rest) >= 4:
            length, kind = struct.unpack('=HH', rest[:4])
            if kind == RTA_DST:
                return _prefix(rest[4:8], bits)
            rest = rest[(length + 3) & ~3:]
        return 'default'
