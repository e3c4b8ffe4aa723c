# SPDX-License-Identifier: Apache-2.0
"""XDP: machines that were prepared with the commands of the guide; servers remove GRE with the kernel's own driver."""
import errno
import os
import re

import pytest

from lab import VIPS4, VIPS6, Fabric, frontend, pool, program, until
from lab.fabric import Balancer, Server
from lab.guide import block, follow

GRE = 'xdp.md#with-the-kernels-gre-driver'


class GuideServer(Server):
    """Prepared by the guide. The filter for reverse paths is on at first, as in some distributions."""

    def prepare(self):
        self.sysctl(ipv4__conf__all__rp_filter=1, ipv4__conf__default__rp_filter=1)
        first = block('xdp.md#the-servers')
        follow(self, first)
        follow(self, first.replace(VIPS4[0], VIPS4[1]).replace(VIPS6[0], VIPS6[1]))
        self.tunnel()

    def tunnel(self, without=None):
        """Makes the devices for GRE; without: leaves out the lines with this word."""
        follow(self, ''.join(line for line in block(GRE).splitlines(True) if not without or without not in line))

    def no_tunnel(self):
        """As before the recipe."""
        for device in ('gre-maglev', 'gre6-maglev'):
            if device in self.run('ip', 'link', 'show'):
                self.ip(f'link del {device}')
        self.sysctl(ipv4__conf__all__rp_filter=1)

    def received(self, device):
        """Packets that came in through a device."""
        return int(re.search(r'RX:.*\n\s*\d+\s+(\d+)', self.run('ip', '-s', 'link', 'show', device))[1])


class DecapServer(GuideServer):
    """A server without GRE in its kernel."""

    def tunnel(self, without=None):
        follow(self, f'cd {os.path.dirname(program("decap"))}\n' + block('xdp.md#without-the-kernels-gre-driver'))


class GuideBalancer(Balancer):
    def prepare(self):
        first = block('xdp.md#the-balancer')
        follow(self, first)
        follow(self, first.replace(VIPS4[0], VIPS4[1]).replace(VIPS6[0], VIPS6[1]))
        follow(self, block('xdp.md#the-balancer/2'))


@pytest.fixture(scope='module')
def fabric(can_forward, request):
    it = Fabric(servers=2, server=getattr(request, 'param', GuideServer), balancer=GuideBalancer).start()
    yield it
    it.close()


def test_the_kernels_gre_driver_carries_every_mix_of_families(balanced, fabric):
    """The commands of the guide on balancer and servers: IPv4 and IPv6 in GRE over IPv4 and IPv6, down and up. The
    servers announce no smaller MSS, so that clients also hear what fits"""
    plane = balanced()
    plane.carry(1, 1400, 300000)
    for server in fabric.servers:
        for device in ('gre-maglev', 'gre6-maglev'):
            assert server.received(device) > 10, device


def test_with_advmss_no_client_sends_too_much(balanced, fabric):
    """The return routes of the guide: clients upload through GRE over IPv4 and never hear that a packet is too big"""
    plane = balanced(frontends={'www4': frontend(VIPS4[0], pool('all', 'web1')),
                                'www64': frontend(VIPS6[1], pool('all', 'web1'))})
    follow(fabric.servers[0], block('xdp.md#mtu'))
    for family in '-4', '-6':
        plane.client.run('ip', family, 'route', 'flush', 'cache')
    plane.carry(300000)
    for family in '-4', '-6':
        assert 'mtu' not in plane.client.run('ip', family, 'route', 'show', 'cache')


def test_a_node_with_pods_takes_gre_off(balanced, fabric):
    """The commands for nodes of a cluster, with the address of the node"""
    server, plane = fabric.servers[0], balanced(frontends={'www4': frontend(VIPS4[0], pool('all', 'web1'))})
    server.no_tunnel()
    try:
        follow(server, block('cluster-dataplane.md#nodes-with-pods').replace('NODE_ADDRESS', server.address))
        assert plane.ask(VIPS4[0]) == 'web1'
        assert server.received('gre-maglev') > 0
    finally:
        server.no_tunnel()
        server.tunnel()


@pytest.mark.parametrize('fabric', [DecapServer], indirect=True)
def test_the_program_for_servers_carries_every_mix_of_families(balanced, fabric):
    """The same without the kernel's GRE driver; rp_filter stays as it is"""
    balanced().carry(1, 1400, 300000)


def try_to_connect(client, vip):
    """Starts a connection; nobody waits for it."""
    tried = client.socket()
    tried.setblocking(False)
    assert tried.connect_ex((vip, 80)) == errno.EINPROGRESS
    return tried


@pytest.mark.parametrize('missing, group, counter', [('', 'Icmp', 'OutDestUnreachs'),
                                                     ('link set', 'Icmp', 'OutDestUnreachs'),
                                                     ('rp_filter', 'TcpExt', 'IPReversePathFilter')],
                         ids=['the recipe', 'link set', 'rp_filter'])
def test_without_a_part_of_the_recipe_nothing_arrives(balanced, fabric, missing, group, counter):
    """Without a device that is up the server answers "unreachable"; without rp_filter it drops the packets"""
    server = fabric.servers[0]
    plane = balanced(frontends={'www4': frontend(VIPS4[0], pool('all', 'web1'))})
    server.no_tunnel()
    try:
        if missing:
            server.tunnel(without=missing)
        before = server.counter(group, counter)
        with try_to_connect(plane.client, VIPS4[0]):
            until(lambda: server.counter(group, counter) > before, what=f'{counter} of the server')
    finally:
        server.no_tunnel()
        server.tunnel()
    assert plane.ask(VIPS4[0]) == 'web1'
