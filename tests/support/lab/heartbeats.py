# SPDX-License-Identifier: Apache-2.0
"""The heartbeats of members of a group, written and read as lib/l2/beat.h says, independently of it."""
import hashlib
import hmac
import ipaddress
import socket
import struct
import time

from lab.wait import PATIENCE

KEY = 'a key that both know'
PORT, GROUPS = 9112, {4: '224.0.0.254', 6: 'ff02::114'}
OWNER, PREEMPTS = 1, 2


class Beat:
    HEAD = struct.Struct('>4sBBBBIIQQ')

    def __init__(self, name, vips, boot=1, sequence=1, group=0):
        """vips: {address: (flags, priority)}"""
        self.name, self.vips, self.boot, self.sequence, self.group = name, vips, boot, sequence, group

    @classmethod
    def read(cls, data):
        _, _, name_length, count, _, group, _, boot, sequence = cls.HEAD.unpack_from(data)
        at, vips = cls.HEAD.size + name_length, {}
        for _ in range(count):
            family, flags, priority = data[at:at + 3]
            length = 4 if family == 4 else 16
            vips[str(ipaddress.ip_address(data[at + 5:at + 5 + length]))] = flags, priority
            at += 5 + length
        assert at + 32 == len(data)
        return cls(data[cls.HEAD.size:cls.HEAD.size + name_length].decode(), vips, boot, sequence, group)

    def write(self, key=KEY):
        data = self.HEAD.pack(b'MGL2', 1, len(self.name), len(self.vips), 0, self.group, 200, self.boot, self.sequence)
        data += self.name.encode()
        for vip, (flags, priority) in self.vips.items():
            address = ipaddress.ip_address(vip)
            data += bytes((address.version, flags, priority, 0, 0)) + address.packed
        return data + hmac.new(key.encode(), data, hashlib.sha256).digest()


class Listener:
    """A socket of a machine of a Segment in the group of the heartbeats."""

    def __init__(self, host, family=4):
        self.socket = host.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
        self.socket.settimeout(PATIENCE)
        self.family = family
        if family == 4:
            here = socket.inet_aton(host.address[4])
            self.socket.bind((GROUPS[4], PORT))
            self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, here)
            self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUPS[4]) + here)
        else:
            index = host.inside(socket.if_nametoindex, 'eth0')
            self.socket.bind((GROUPS[6], PORT, 0, index))
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                                   socket.inet_pton(socket.AF_INET6, GROUPS[6]) + struct.pack('=I', index))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def wait(self, wanted, count=1):
        """The bytes of the count-th heartbeat for which wanted(beat) is true."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            data = self.socket.recv(2048)
            if wanted(Beat.read(data)):
                count -= 1
                if not count:
                    return data
        raise AssertionError('no such heartbeat')

    def send(self, data, ttl=255):
        level, option = ((socket.IPPROTO_IP, socket.IP_MULTICAST_TTL) if self.family == 4 else
                         (socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS))
        self.socket.setsockopt(level, option, ttl)
        self.socket.sendto(data, (GROUPS[self.family], PORT))
