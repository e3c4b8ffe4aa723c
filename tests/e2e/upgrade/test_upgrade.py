# SPDX-License-Identifier: Apache-2.0
"""XDP: one version of maglevd replaces another under traffic. tools/test-upgrade builds the other one."""
import os
import re
import signal

import pytest

from lab import VIPS4, VIPS6, flows, frontend, pool
from lab.programs import ROOT

VIPS = VIPS4 + VIPS6
OTHER = os.environ['MAGLEV_OTHER_TREE']
BUILD = os.path.join(OTHER, 'build')


def layout(tree):
    """The number of the layout of the maps."""
    with open(os.path.join(tree, 'bpf/abi.h'), encoding='utf-8') as file:
        return int(re.search(r'#define ABI_LAYOUT (\d+)', file.read())[1])


class Connections:
    """Downloads that are under way, several through each VIP."""

    def __init__(self, plane):
        self.all = [plane.download(vip, 4000000) for vip in VIPS for _ in range(8)]
        assert {one.server for one in self.all} == {'web1', 'web2', 'web3', 'web4'}

    def go_on(self):
        """Each gets bytes from the server where it began; another one would answer with a reset."""
        for one in self.all:
            one.read(300000)

    def finish(self):
        for one in self.all:
            one.finish()


def drain(plane, traffic, server):
    """No new connections to a server; established ones stay."""
    for name, (_, kind) in plane.MIXES.items():
        mark = plane.daemon.mark()
        plane.weigh(name, server + kind, 0)
        plane.wait_synced(mark)
    traffic.wait_more(len(VIPS))  # requests that were on the way
    assert server not in {who for _, who in traffic.wait_more(60)}


def keep_drained(plane, server):
    """Writes the weight into the configuration: what operators set by command ends with the process."""
    for one in plane.frontends.values():
        for members in (p['backends'] for p in one['pools']):
            members.update({name: {'weight': 0} for name in members if name in (server, server + 'v6')})


def end(daemon, how):
    if how == 'kill -9':
        daemon.kill()
    else:
        daemon.signal(signal.SIGTERM)
        assert daemon.end() == 0


def assert_taken_over(plane, first):
    """maglevd has the maps of its predecessor, and a program of its own."""
    assert plane.daemon.wait('xdp-open')['adopted'] is True
    assert plane.daemon.wait('xdp-attach')['adopted'] is True and plane.balancer.program() != first


@pytest.mark.parametrize('how', ['kill -9', 'SIGTERM'])
def test_an_upgrade_keeps_connections_and_drains(balanced, how):
    """The connections of a drained server are known to the flow table alone: they survive, and so does the drain. The
    new version serves new connections and drains another server"""
    plane = balanced(build=BUILD)
    held = Connections(plane)
    with flows.traffic(plane.client, *VIPS) as traffic:
        drain(plane, traffic, 'web1')
        held.go_on()
        keep_drained(plane, 'web1')
        first = plane.balancer.program()
        end(plane.daemon, how)
        held.go_on()
        plane.options = {}
        plane.launch()
        assert_taken_over(plane, first)
        held.go_on()
        assert 'web1' not in {who for _, who in traffic.wait_more(60)}
        drain(plane, traffic, 'web2')
        held.go_on()
    assert not traffic.errors()
    held.finish()


def test_a_downgrade_keeps_connections(balanced):
    """An older version takes over maps with the layout that it knows. It refuses others: packets are forwarded by the
    newer program as before, and the newer version goes on where it ended"""
    plane = balanced()
    held = Connections(plane)
    with flows.traffic(plane.client, *VIPS) as traffic:
        end(plane.daemon, 'SIGTERM')
        first = plane.balancer.program()
        plane.options = {'build': BUILD}
        if layout(OTHER) == layout(ROOT):
            plane.launch()
            assert_taken_over(plane, first)
            drain(plane, traffic, 'web2')
        else:
            plane.daemon = plane.begin()
            assert '--xdp-detach' in plane.daemon.wait('xdp-down')['error']  # it says what to do about the maps
            assert plane.balancer.program() == first
            held.go_on()
            traffic.wait_more(60)
            end(plane.daemon, 'SIGTERM')
            plane.options = {}
            plane.launch()
            assert plane.daemon.wait('xdp-open')['adopted'] is True
        held.go_on()
        traffic.wait_more(60)
    assert not traffic.errors()
    held.finish()


def test_a_downgrade_with_new_maps(balanced):
    """Whatever the layout: --xdp-detach of the older version removes everything, and it starts with maps of its own"""
    plane = balanced()
    plane.daemon.stop()
    plane.options = {'build': BUILD}
    assert 'removed' in plane.detach()
    plane.launch()
    assert plane.daemon.wait('xdp-open')['adopted'] is False
    plane.carry(1400)
