# SPDX-License-Identifier: Apache-2.0
"""A plain network: machines on one switch, and a client whose neighbour table is watched.

Each machine has the VIPs on its loopback interface, as a balancer behind which they are served would, and does not
answer ARP for them by itself.
"""
import socket
import struct
import threading
import time

from lab.net import Namespace
from lab.wait import PATIENCE

VIP4, VIP6 = '10.78.0.100', 'fd78::100'
RTM_NEWNEIGH, RTMGRP_NEIGH = 28, 4
NDA_DST, NDA_LLADDR = 1, 2
CLOSED_PORT = 9


class Host(Namespace):
    """A machine with one port, eth0, at 10.78.0.N and fd78::N."""

    def __init__(self, switch, number, vips=()):
        super().__init__(f'h{number}')
        self.switch, self.port = switch, f'p{number}'
        self.address = {4: f'10.78.0.{number}', 6: f'fd78::{number}'}
        self.sysctl(ipv6__conf__default__dad_transmits=0, ipv4__conf__all__arp_ignore=1)
        self.ip(*(f'addr add {vip} dev lo' for vip in vips))
        self.connect()

    def connect(self):
        """Makes eth0; also after it was deleted."""
        self.switch.ip(f'link add {self.port} type veth peer name eth0 netns {self.name}',
                       f'link set {self.port} master br0 up')
        self.ip('link set eth0 up', f'addr add {self.address[4]}/24 dev eth0',
                f'addr add {self.address[6]}/64 dev eth0 nodad')
        self.mac = self.run('ip', '-br', 'link', 'show', 'dev', 'eth0').split()[2]

    def unplug(self):
        """Takes the cable out; returns the time."""
        self.switch.ip(f'link set {self.port} down')
        return time.time()

    def plug(self):
        self.switch.ip(f'link set {self.port} up')
        return time.time()

    def isolate(self, isolated=True):
        """Packets of this port are dropped at the switch, but the cable stays in."""
        self.switch.ip(f'link set {self.port} {"nomaster" if isolated else "master br0"}')
        return time.time()


class Neighbours:
    """What a machine learned: (time, address, MAC), from the kernel's own messages."""

    def __init__(self, host):
        self.learned = []
        self.changed = threading.Condition()
        self.socket = host.inside(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.bind((0, RTMGRP_NEIGH))
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        while True:
            data = self.socket.recv(1 << 16)
            at = time.time()
            while len(data) >= 16:
                length, kind = struct.unpack_from('=IH', data)
                if kind == RTM_NEWNEIGH:
                    self._note(at, data[28:length])
                data = data[(length + 3) & ~3:]

    def _note(self, at, attributes):
        found = {}
        while len(attributes) >= 4:
            length, kind = struct.unpack_from('=HH', attributes)
            found[kind] = attributes[4:length]
            attributes = attributes[(length + 3) & ~3:]
        if NDA_DST in found and NDA_LLADDR in found:
            family = socket.AF_INET if len(found[NDA_DST]) == 4 else socket.AF_INET6
            with self.changed:
                self.learned.append((at, socket.inet_ntop(family, found[NDA_DST]), found[NDA_LLADDR].hex(':')))
                self.changed.notify_all()

    def wait(self, vip, host, since=0.0, timeout=PATIENCE):
        """Waits until the VIP is at that machine, and returns when this became so."""
        end = time.monotonic() + timeout
        with self.changed:
            while True:
                of = [(at, mac) for at, address, mac in self.learned if address == vip]
                if of and of[-1][1] == host.mac and of[-1][0] >= since:
                    return next(at for at, mac in of if at >= since and mac == host.mac)
                left = end - time.monotonic()
                assert left > 0, f'{vip} did not go to {host.mac}: {of[-10:]}'
                self.changed.wait(left)


class Segment:
    """A switch, a client, and machines that have the VIPs."""

    def __init__(self, machines=2):
        self.switch = Namespace('sw')
        self.switch.ip('link add br0 type bridge', 'link set br0 up')
        self.client = Host(self.switch, 1)
        self.machines = [Host(self.switch, 11 + i, (VIP4, VIP6)) for i in range(machines)]
        self.neighbours = Neighbours(self.client)

    def ask(self, vip):
        """The client sends something to the VIP, so that it resolves its address; the machine there must refuse it."""
        with self.client.socket(socket.AF_INET6 if ':' in vip else socket.AF_INET) as connection:
            connection.settimeout(PATIENCE)
            try:
                connection.connect((vip, CLOSED_PORT))
            except ConnectionRefusedError:
                return
        raise AssertionError(f'{vip} has a server')

    def at(self, vip):
        """The MAC that the client has for the VIP now; None: none."""
        words = self.client.run('ip', 'neigh', 'show', vip).split()
        return words[words.index('lladdr') + 1] if 'lladdr' in words else None

    def close(self):
        for host in (*self.machines, self.client, self.switch):
            host.delete()
