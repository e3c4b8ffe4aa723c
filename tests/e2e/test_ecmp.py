# SPDX-License-Identifier: Apache-2.0
"""Two balancers with XDP behind a router with ECMP: what each of their programs, and each of them, may do under traffic."""
import contextlib
import time

import pytest

from lab import SLACK, Check, config, flows, frontend, pool, until
from lab.ecmp import DETECTION, VIPS, Monitor, Pair

SERVERS = {f'web{n}': (f'10.0.{10 + n}.2', 'check') for n in range(1, 5)}
SERVERS_NET = '10.0.8.0/21'  # all of them, and nothing else
RETRANSMITTED = 3  # a packet that was lost for a time is sent again within three times that time: the pauses double
CHECK = Check(port=80, fast=0.05, timeout=0.5, params={'path': '/healthz'})


def configure(balancer):
    return config({'check': CHECK}, SERVERS, {name: frontend(vip, pool('all', *SERVERS)) for name, vip in VIPS.items()},
                  dataplane='xdp', xdp=balancer.xdp(),
                  lb={**balancer.sources(), 'startup-min-delay': '3s', 'startup-max-delay': '10s'})


@pytest.fixture(scope='module')
def pair(can_forward):
    # Servers come back one after the other. A balancer that is announced with the first of them has another table.
    it = Pair(configure, **{'drain-time': '6s', 'min-up': '1s'})
    try:
        yield it.start()
    finally:
        it.close()


class Load:
    """200 connections that stay open and carry data, new ones all the time, and what the router's kernel learns."""

    def __init__(self, pair, stack):
        client = pair.fabric.client
        self.talks = flows.Talks(client, *VIPS.values())
        stack.callback(self.talks.close)
        self.new = [stack.enter_context(flows.traffic(client, vip)) for vip in VIPS.values() for _ in range(2)]
        self.routes = Monitor(pair.fabric.router)
        stack.callback(self.routes.close)
        self.since = time.time()

    def go_on(self):
        """Returns when every connection has carried data, and new ones were made, since the call. None was lost."""
        self.talks.wait_round()
        for one in self.new:
            one.wait_more(20)
        assert not self.talks.lost
        assert not [error for one in self.new for error in one.errors()]

    def waited(self, what):
        """The longest times since the last call, of messages on open connections and of new connections; in the output."""
        longest = round(self.talks.longest(), 2), round(max(one.longest(self.since) for one in self.new), 2)
        self.since = time.time()
        print(f'{what}: open connections waited {longest[0]} s, new ones {longest[1]} s')
        return max(longest)


@pytest.fixture
def load(pair):
    with contextlib.ExitStack() as stack:
        it = Load(pair, stack)
        it.go_on()
        it.waited('before')
        yield it
        it.go_on()


def test_both_balancers_carry_traffic(pair, load):
    before = pair.sent()
    load.go_on()
    assert all(after - old > 100 for old, after in zip(before, pair.sent())), (before, pair.sent())


# ---- one program ends ----

def wait_working(node, router, name, since):
    """Returns when a program that was started again does its work."""
    if name == 'maglevd':
        node.speaker.wait('maglevd-connected', since)
    if name == 'bgpd':
        node.speaker.wait('frr-applied', since)
        node.speaker.wait('session-up', since)
    until(lambda: router.is_established(node.balancer.port), what='the session')
    until(lambda: set(node.speaker.states().values()) == {'announced'}, what='VIPs that are announced')


@pytest.mark.parametrize('name', ['maglevd', 'speaker', 'reloader', 'bgpd', 'zebra'])
def test_the_end_of_a_program_costs_nothing(pair, load, name):
    """kill -9, and its start: no packet is lost, and no route in the router's kernel changes"""
    node, before = pair.nodes[0], pair.router.withdrawals(pair.fabric.balancers[0])
    since = node.speaker.mark()
    node.kill(name)
    load.go_on()
    node.start_one(name)
    wait_working(node, pair.router, name, since)
    load.go_on()
    assert load.routes.lines == []
    assert pair.router.withdrawals(node.balancer) == before
    assert load.waited(name) < SLACK


def test_the_end_of_bfdd_moves_traffic_without_loss(pair, load):
    """The router takes the balancer for dead, but it still forwards what was under way to it"""
    one, other = pair.fabric.balancers
    pair.nodes[0].kill('bfdd')
    pair.router.wait_next_hops(other)
    load.go_on()
    pair.nodes[0].start_one('bfdd')
    pair.router.wait_next_hops(one, other)
    load.go_on()
    assert load.waited('bfdd') < SLACK


# ---- a whole balancer ends ----

def test_a_dead_balancer_is_taken_out_and_comes_back(pair, load):
    """No packet reaches it: BFD takes it out, and its flows go through the other one to the same servers"""
    one, other = pair.fabric.balancers
    dead = pair.nodes[0].power_off()
    detected = pair.router.wait_next_hops(other) - dead
    print(f'detected after {detected:.2f} s')
    load.go_on()
    assert detected < DETECTION + SLACK
    assert load.waited('dead') < RETRANSMITTED * DETECTION + SLACK
    pair.nodes[0].power_on()
    pair.router.wait_next_hops(one, other)
    load.go_on()
    assert load.waited('back') < SLACK


# ---- one balancer steps back ----

def test_a_drain_moves_traffic_without_loss(pair, load):
    """The router prefers the other balancer before the route goes"""
    one, other = pair.fabric.balancers
    node, before = pair.nodes[0], pair.router.withdrawals(one)
    for vip in VIPS:
        node.speaker.drain(vip)
    pair.router.wait_next_hops(other)
    assert pair.router.withdrawals(one) == before
    load.go_on()
    until(lambda: pair.router.withdrawals(one) == before + len(VIPS), what='the withdrawals at the end of the drain')
    assert set(node.speaker.states().values()) == {'withdrawn'}
    assert load.routes.lines
    load.go_on()
    for vip in VIPS:
        node.speaker.drain(vip, False)
    pair.router.wait_next_hops(one, other)
    load.go_on()
    assert load.waited('drain') < SLACK


def test_a_balancer_that_reaches_no_server_is_left_out(pair, load):
    """Its own probes fail, and its packets to servers are lost; those of the other one are not"""
    one, other = pair.fabric.balancers
    rule = f'pref 10 iif {one.port} to {SERVERS_NET} blackhole'
    since = time.time()
    pair.fabric.router.ip(f'rule add {rule}')
    noticed = pair.router.wait_next_hops(other) - since
    print(f'noticed after {noticed:.2f} s')
    assert set(pair.nodes[0].speaker.states().values()) == {'withdrawn'}
    assert set(pair.nodes[1].speaker.states().values()) == {'announced'}
    load.go_on()
    assert noticed < CHECK.down_within(silent=True) + SLACK
    assert load.waited('no server') < RETRANSMITTED * noticed + SLACK
    pair.fabric.router.ip(f'rule del {rule}')
    pair.router.wait_next_hops(one, other)
    load.go_on()
    assert load.waited('back') < SLACK
