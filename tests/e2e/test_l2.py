# SPDX-License-Identifier: Apache-2.0
"""VIPs on a plain network without a router: two machines elect an owner, and the neighbours follow it.

l2-node joins core/l2 (the decisions) and lib/l2 (heartbeats, ARP, NDP). The client's kernel shows where the VIPs are.
"""
import hashlib
import hmac
import ipaddress
import signal
import socket
import struct
import time

import pytest
from lab import PATIENCE, SLACK, until
from lab.segment import VIP4, VIP6, Segment

KEY = 'a key that both know'
HEARTBEAT = 0.2
SILENCE = 3 * HEARTBEAT  # the shortest that means death
PORT, GROUPS = 9112, {4: '224.0.0.254', 6: 'ff02::114'}
OWNER, PREEMPTS = 1, 2


@pytest.fixture
def segment():
    it = Segment()
    yield it
    it.close()


@pytest.fixture
def join(segment, start_daemon):
    """Starts a member on a machine; its name is a or b unless given."""

    def join(machine, priority, *more, name=None, key=KEY, family=4, **how):
        return start_daemon('l2-node', '--interface', 'eth0', '--name', name or 'ab'[machine], '--priority',
                            str(priority), '--key', key, '--vip', VIP4, '--vip', VIP6, '--family', str(family), *more,
                            ready=False, metrics=None, namespace=segment.machines[machine], **how)

    return join


def owns(node, since=0):
    """Waits until it owns both VIPs."""
    return max(node.wait('state', since, vip=vip, to='owner').at for vip in (VIP4, VIP6))


def yields(node, since=0):
    return max(node.wait('state', since, vip=vip, to='backup').at for vip in (VIP4, VIP6))


class Pair:
    """a, which owns the VIPs, and b; the client knows it."""

    def __init__(self, segment, join, *more, family=4, priorities=(200, 100), **how):
        self.segment, (self.at_a, self.at_b) = segment, segment.machines
        self.a = join(0, priorities[0], *more, family=family, **how)
        owns(self.a)
        self.b = join(1, priorities[1], *more, family=family, **how)
        self.b.wait('ready')
        for vip in (VIP4, VIP6):
            segment.ask(vip)
            assert segment.at(vip) == self.at_a.mac
        # its listening is over once it speaks with its priority
        with Listener(segment.client, family) as heard:
            heard.wait(lambda beat: beat.name == 'b' and beat.vips[VIP4][1] == priorities[1])

    def moves_to(self, host, since):
        """Waits until the client has both VIPs there; returns how long that took."""
        return max(self.segment.neighbours.wait(vip, host, since) for vip in (VIP4, VIP6)) - since


class Beat:
    """A heartbeat, written and read as lib/l2/beat.h says, independently of it."""

    HEAD = struct.Struct('>4sBBBBIIQQ')

    def __init__(self, name, vips, boot=1, sequence=1, group=1):
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
    """A socket of a machine in the group of the heartbeats."""

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


def is_owner(name):
    return lambda beat: beat.name == name and beat.vips[VIP4][0] & OWNER


# ---- the hand-over ----

@pytest.mark.parametrize('family', [4, 6])
def test_a_killed_owner_is_replaced_within_a_second(segment, join, family):
    pair = Pair(segment, join, family=family, measured=True)
    since = time.time()
    pair.a.kill()
    took = pair.moves_to(pair.at_b, since)
    print(f'the client followed {took * 1000:.0f} ms after the kill')
    assert SILENCE - HEARTBEAT < took < 1.0
    for vip in (VIP4, VIP6):
        segment.ask(vip)
        assert segment.at(vip) == pair.at_b.mac


@pytest.mark.parametrize('family', [4, 6])
def test_one_that_leaves_is_replaced_at_once(segment, join, family):
    pair = Pair(segment, join, family=family, measured=True)
    since = time.time()
    pair.a.signal(signal.SIGTERM)
    took = pair.moves_to(pair.at_b, since)
    print(f'the client followed {took * 1000:.0f} ms after the signal')
    assert took < SILENCE / 2
    assert pair.a.end() == 0


def test_a_frontend_that_is_down_gives_the_vips_away(segment, join):
    pair = Pair(segment, join, '--preempt', measured=True)
    since = time.time()
    pair.a.signal(signal.SIGUSR1)
    assert pair.moves_to(pair.at_b, since) < SILENCE / 2
    assert pair.a.wait('state', vip=VIP4, to='backup')['reason'] == 'unfit'
    mark, since = pair.b.mark(), time.time()
    pair.a.signal(signal.SIGUSR1)
    assert pair.moves_to(pair.at_a, since) < SILENCE / 2
    yields(pair.b, mark)


def test_without_pre_emption_the_better_one_waits(segment, join):
    pair = Pair(segment, join)
    pair.a.signal(signal.SIGTERM)
    pair.a.end()
    owns(pair.b)
    again = join(0, 200)
    with Listener(segment.client) as heard:
        heard.wait(lambda beat: beat.name == 'a' and beat.vips[VIP4] == (0, 200), count=5)
    assert not again.all('state')
    assert not pair.b.all('state', to='backup')
    assert segment.at(VIP4) == pair.at_b.mac


def test_with_pre_emption_the_better_one_takes_the_vips_back(segment, join):
    pair = Pair(segment, join, '--preempt')
    pair.a.signal(signal.SIGTERM)
    pair.a.end()
    owns(pair.b)
    since = time.time()
    again = join(0, 200, '--preempt')
    owns(again)
    assert again.wait('state', vip=VIP4, to='owner')['reason'] == 'pre-empts'
    yields(pair.b)
    pair.moves_to(pair.at_a, since)
    again.wait('again', vip=VIP4)  # announced once more when the other has yielded


def test_of_equal_members_one_owns_the_vips(segment, join):
    a, b = join(0, 100, '--preempt'), join(1, 100, '--preempt')
    until(lambda: a.all('state', to='owner') or b.all('state', to='owner'), what='an owner')
    with Listener(segment.client) as heard:
        heard.wait(lambda beat: beat.vips[VIP4][1] == 100, count=10)
    last = [node.all('state', vip=VIP4)[-1]['to'] if node.all('state', vip=VIP4) else 'backup' for node in (a, b)]
    assert sorted(last) == ['backup', 'owner']


def test_one_capability_is_enough(segment, join):
    pair = Pair(segment, join, prefix=('setpriv', '--bounding-set', '-all,+net_raw'))
    held = {line.split()[1] for line in pair.a.proc('status').splitlines() if line.startswith('CapPrm')}
    assert held == {f'{1 << 13:016x}'}, held  # CAP_NET_RAW
    since = time.time()
    pair.a.signal(signal.SIGTERM)
    pair.moves_to(pair.at_b, since)


# ---- a network that breaks ----

def test_a_partition_heals_with_the_higher_owner(segment, join):
    pair = Pair(segment, join, measured=True)
    mark = pair.a.mark()
    since = pair.at_a.isolate()
    assert pair.moves_to(pair.at_b, since) < 1.0
    assert not pair.a.all('state', mark)  # nobody told it: two owners, each alone
    since = pair.at_a.isolate(False)
    pair.moves_to(pair.at_a, since)
    assert pair.b.wait('state', vip=VIP4, to='backup')['reason'] == 'outranked'
    yields(pair.b)
    pair.a.wait('again', mark, vip=VIP4)
    with Listener(segment.client) as heard:
        heard.wait(lambda beat: beat.name == 'b' and not beat.vips[VIP4][0] & OWNER, count=3)
    assert segment.at(VIP4) == segment.at(VIP6) == pair.at_a.mac


def test_a_machine_without_a_cable_does_not_stand(segment, join):
    pair = Pair(segment, join)
    since = pair.at_a.unplug()
    pair.moves_to(pair.at_b, since)
    yields(pair.a)
    pair.at_a.plug()
    with Listener(segment.client) as heard:
        heard.wait(lambda beat: beat.name == 'a' and beat.vips[VIP4] == (0, 200), count=3)
    assert not pair.b.all('state', to='backup')
    assert segment.at(VIP4) == pair.at_b.mac


def test_a_member_that_was_late_does_not_take_the_owner_for_dead(segment, join):
    pair = Pair(segment, join)
    pair.b.signal(signal.SIGSTOP)
    with Listener(segment.client) as heard:
        heard.wait(is_owner('a'), count=8)  # twice the time that means death
        pair.b.signal(signal.SIGCONT)
        heard.wait(lambda beat: beat.name == 'b')
        heard.wait(is_owner('a'), count=3)
    assert not pair.b.all('state')


# ---- heartbeats that are not what they seem ----

@pytest.mark.parametrize('family', [4, 6])
def test_a_stranger_is_heard_only_with_the_key_and_from_the_link(segment, join, family):
    a = join(0, 100, family=family)
    owns(a)
    mark = a.mark()
    stranger = Beat('stranger', {VIP4: (OWNER, 255), VIP6: (OWNER, 255)})
    with Listener(segment.client, family) as out:
        out.send(stranger.write('another key'))
        a.wait('refused', mark, why='signature')
        out.send(stranger.write(), ttl=254)
        a.wait('refused', mark, why='ttl')
        out.send(Beat('stranger', stranger.vips, group=2).write())
        a.wait('refused', mark, why='group', who='stranger')
        out.send(Beat('a', stranger.vips).write())
        a.wait('refused', mark, why='name', who='a')
        out.send(b'MGL2\x02' + stranger.write()[5:])
        a.wait('refused', mark, why='version')
        out.send(b'hello')
        a.wait('refused', mark, why='format')
        assert not a.all('state', mark)
        out.send(stranger.write())  # as it should be
        yields(a, mark)
        assert a.wait('state', mark, vip=VIP4, to='backup')['owner'] == 'stranger'
        owns(a, a.mark() - 1)  # it was heard only once


def test_a_replayed_heartbeat_is_ignored(segment, join):
    pair = Pair(segment, join)
    with Listener(segment.client) as line:
        recorded = line.wait(is_owner('a'))
        pair.a.kill()
        owns(pair.b)
        mark = pair.b.mark()
        for _ in range(5):
            line.send(recorded)
        pair.b.wait('refused', mark, why='replay', who='a', count=5)
        line.wait(is_owner('b'), count=5)
    assert not pair.b.all('state', mark)
    # a real one with a new boot is heard
    again = join(0, 200, '--preempt')
    owns(again)
    yields(pair.b, mark)


def test_members_with_another_key_do_not_hear_each_other(segment, join):
    a, b = join(0, 200), join(1, 100, key='another key')
    owns(a)
    owns(b)
    for node in (a, b):
        node.wait('refused', why='signature', count=3)


# ---- ARP and NDP ----

def test_only_the_owner_answers(segment, join):
    pair = Pair(segment, join)
    for _ in range(5):
        segment.client.run('ip', 'neigh', 'flush', 'all')
        for vip in (VIP4, VIP6):
            segment.ask(vip)
            assert segment.at(vip) == pair.at_a.mac


def test_a_claim_is_announced_for_five_seconds(segment, join):
    with segment.client.inside(socket.socket, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
        wire.bind(('eth0', 0))
        wire.settimeout(PATIENCE)
        join(0, 200)
        requests, replies, adverts = [], [], []
        while len(adverts) < 5 or len(replies) < 5:
            frame, at = wire.recv(2048), time.time()
            if frame[12:14] == b'\x08\x06' and frame[38:42] == socket.inet_aton(VIP4) == frame[28:32]:
                assert frame[:6] == b'\xff' * 6 and frame[6:12] == frame[22:28]
                (requests if frame[21] == 1 else replies).append(at)
            elif frame[12:14] == b'\x86\xdd' and frame[54] == 136 and \
                    frame[62:78] == socket.inet_pton(socket.AF_INET6, VIP6):
                assert frame[58] == 0x20 and frame[21] == 255  # override, not solicited; hop limit
                assert frame[78:80] == b'\x02\x01' and frame[80:86] == frame[6:12]
                adverts.append(at)
    assert len(requests) == len(replies) == 5
    for seen in (requests, replies, adverts):
        for one, next_one in zip(seen, seen[1:]):
            assert 1.0 < next_one - one < 1.2 + SLACK
