# SPDX-License-Identifier: Apache-2.0
"""XDP: two balancers on one network that elect the owner of the VIPs. Traffic goes on when a balancer is gone.

The router has no route to a balancer: the VIPs are on its network, and it asks who has them.
"""
import signal
import time

import pytest
from lab import VIPS4, VIPS6, Fabric, flows
from lab.fabric import Balancer
from lab.member import Member
from lab.segment import Neighbours

VIPS = VIPS4 + VIPS6
NAMES = dict(zip(('www4', 'www46', 'www6', 'www64'), VIPS))  # the frontends of Balanced
GRPC = 9090  # in the namespace of a balancer


class OnLan(Balancer):
    """A balancer on the router's network lan."""

    def plug(self):
        router = self.fabric.router
        here, port = super().plug()
        if self.number == 2:
            router.ip('link add lan type bridge', 'link set lan up')
        # a card does not take frames for another one; a veth would, of those that a bridge floods
        router.ip(f'link set {port} master lan', f'link set {port} type bridge_slave flood off')
        self.mac = self.run('ip', '-br', 'link', 'show', 'dev', 'eth0').split()[2]
        return here, 'lan'

    def announce(self):
        """The speaker does. All VIPs are on the link."""
        self.fabric.router.ip('route replace 198.51.100.0/24 dev lan', 'route replace 2001:db8:100::/64 dev lan')

    def break_down(self):
        """No packet comes in or out any more; returns the time."""
        self.fabric.router.ip(f'link set {self.port} down')
        return time.time()


class Pair:
    """Two balancers, each with maglevd and a speaker that follows it; the first owns all VIPs."""

    def __init__(self, fabric, balanced, running, folders):
        self.fabric, self.balancers = fabric, fabric.balancers
        self.neighbours = Neighbours(fabric.router)
        self.members, self.maglevds = [], []
        for balancer, name, priority in zip(fabric.balancers, 'ab', (200, 100)):
            member = Member(folders(), name, vips=NAMES, group={'priority': priority}, namespace=balancer, measured=True,
                            more={'maglevds': {'local': {'address': f'127.0.0.1:{GRPC}'}}})
            member.of_vip = {vip: {'frontends': [f'local/{vip}']} for vip in NAMES}
            member.write()
            self.members.append(running(member).start())
            self.maglevds.append(balanced(balancer, grpc=f'127.0.0.1:{GRPC}'))
            for vip in NAMES:
                member.wait('vip-transition', vip=vip, to='announced')
        self.members[0].owns()
        self.members[1].wait_metric('maglev_speaker_l2_state', 1, vip='www64', group='lan', state='backup', reason='owned')
        for vip in VIPS:
            flows.ask(fabric.client, vip)

    def served(self, number):
        """Packets that the data plane of a balancer has sent."""
        return sum(self.balancers[number].counted(way) for way in ('xdp_tx', 'xdp_redirect'))

    def moved(self, number, since):
        """Waits until the router has all VIPs at this balancer; returns how long that took."""
        return max(self.neighbours.wait(vip, self.balancers[number], since) for vip in VIPS) - since


@pytest.fixture
def pair(can_forward, balanced, fabric, running, folders):
    return Pair(fabric, balanced, running, folders)


@pytest.fixture
def fabric(can_forward):
    it = Fabric(balancers=2, balancer=OnLan).start()
    yield it
    it.close()


def downloads(pair):
    """Some under way through each VIP."""
    made = [flows.Download(pair.fabric.client, vip, 3000000) for vip in VIPS for _ in range(4)]
    for one in made:
        one.read(200000)
    return made


def test_flows_survive_the_loss_of_the_owner(pair):
    under_way = downloads(pair)
    with flows.traffic(pair.fabric.client, *VIPS) as traffic:
        traffic.wait_more(20)
        assert pair.served(1) == 0
        since = pair.balancers[0].break_down()
        took = pair.moved(1, since)
        print(f'the router followed {took * 1000:.0f} ms after the loss of the balancer')
        assert took < 1.0
        traffic.wait_more(40)
        seen = [at for at, _ in traffic.seen]
    print(f'the longest request took {max(b - a for a, b in zip(seen, seen[1:])) * 1000:.0f} ms')
    assert not traffic.errors()
    for one in under_way:
        one.finish()
    assert pair.served(1) > 500


def test_an_upgrade_of_the_owner_is_not_noticed(pair):
    """The speaker ends, then maglevd; both start again, and the VIPs come back. No request waits."""
    under_way = downloads(pair)
    with flows.traffic(pair.fabric.client, *VIPS) as traffic:
        traffic.wait_more(20)
        since = time.time()
        pair.members[0].signal(signal.SIGTERM)
        took = pair.moved(1, since)
        print(f'the router followed {took * 1000:.0f} ms after the signal')
        assert pair.members[0].end() == 0
        pair.maglevds[0].daemon.stop()
        traffic.wait_more(40)
        since = time.time()
        mark = pair.members[0].mark()
        pair.maglevds[0].launch()
        pair.members[0].start()
        pair.members[0].owns(mark)
        pair.moved(0, since)
        traffic.wait_more(40)
        seen = [at for at, _ in traffic.seen]
    slowest = max(b - a for a, b in zip(seen, seen[1:]))
    print(f'the longest request took {slowest * 1000:.0f} ms')
    assert not traffic.errors()
    assert slowest < 0.9  # less than the time after which TCP sends a lost packet of a new connection again
    for one in under_way:
        one.finish()
