# SPDX-License-Identifier: Apache-2.0
"""XDP: VLAN devices, of which the program is attached below or above."""
import json

import pytest

from lab import Fabric, flows, until
from lab.fabric import Balancer
from lab.links import TaggedVeth, add_vlan

VIA7 = '10.0.7.{}', '2001:db8:7::{}'


@pytest.fixture
def fabric(can_forward, request):
    it = Fabric(servers=2, balancer=getattr(request, 'param', Balancer)).start()
    for server in it.servers:  # no advmss: clients send 1500 bytes, and ICMP errors must reach them
        server.ip(f'route change default via 10.0.{server.number}.1',
                  f'route change default via 2001:db8:{server.number}::1')
    yield it
    it.close()


@pytest.mark.parametrize('fabric', [TaggedVeth], indirect=True)
@pytest.mark.parametrize('interface, mode', [('eth0', 'native'), ('eth0', 'generic'), ('eth0.7', 'generic')])
def test_the_program_is_below_a_vlan_or_on_it(balanced, fabric, interface, mode):
    """Packets come in and leave in VLAN 7, and so do ICMP errors to clients whose packets are too big"""
    fabric.router.run('ethtool', '-K', 'b1', 'tso', 'off', 'gso', 'off')  # generic mode on a veth
    plane = balanced(xdp={'interfaces': [interface], 'mode': 'auto' if interface == 'eth0.7' else mode})
    assert plane.daemon.wait('xdp-attach', interface=interface)['mode'] == mode
    plane.carry(1, 1400, 300000)
    found = plane.client.run('ip', 'route', 'show', 'cache') + plane.client.run('ip', '-6', 'route', 'show', 'cache')
    assert 'mtu 1476' in found and 'mtu 1456' in found, found


def test_a_vlan_that_comes_later_is_used(balanced, fabric):
    """Packets come in without a tag. Under traffic the routes to the servers move to a VLAN that was added: no packet
    is lost, and packets leave with the tag"""
    balancer, router = fabric.balancers[0], fabric.router
    plane = balanced()
    with flows.traffic(plane.client, *plane.vips()) as traffic:
        under_way = [plane.download(vip, 1000000) for vip in plane.vips()]
        traffic.wait_more(8)
        add_vlan(balancer)
        for host, device, at in (balancer, 'eth0.7', 2), (router, 'b1.7', 1):
            host.ip(f'addr add {VIA7[0].format(at)}/24 dev {device}',
                    f'addr add {VIA7[1].format(at)}/64 dev {device} nodad')
        balancer.ip(*(f'neigh replace {one.format(1)} dev eth0.7 managed' for one in VIA7))
        until(lambda: vlans_of(balancer), what='the VLAN in lb_links')
        balancer.ip(*(f'route replace default via {one.format(1)} dev eth0.7' for one in VIA7))
        before = received(router, 'b1.7')
        traffic.wait_more(40)
        for one in under_way:
            one.finish()
    assert not traffic.errors()
    assert received(router, 'b1.7') > before + 40


def vlans_of(balancer):
    """The devices that the program knows as VLANs."""
    return json.loads(balancer.run('bpftool', '-j', 'map', 'dump', 'pinned', f'{balancer.pins}/maps/lb_links'))


def received(host, device):
    """Packets that came in through a device."""
    return json.loads(host.run('ip', '-j', '-s', 'link', 'show', device))[0]['stats64']['rx']['packets']
