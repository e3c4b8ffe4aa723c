# SPDX-License-Identifier: Apache-2.0
"""XDP: paths that take less than 1500 bytes, before and behind the balancer."""
import pytest

from lab import Balanced, Fabric, flows

NARROW = 1300


@pytest.fixture
def fabric(can_forward):
    """One whose links are changed."""
    it = Fabric().start()
    yield it
    it.close()


def vips():
    return [vip for vip, _ in Balanced.MIXES.values()]


def test_errors_of_a_narrow_path_reach_the_server_of_the_flow(balanced, fabric):
    """The router before the client cannot pass full-size packets on: its ICMP errors go to the VIP, and to no
    other server than the one that sent the packet"""
    plane = balanced()
    fabric.router.ip(f'link set c mtu {NARROW}')
    under_way = [plane.download(vip, 1000000) for vip in vips() for _ in range(8)]
    assert {one.server for one in under_way} == {'web1', 'web2', 'web3', 'web4'}
    for one in under_way:
        one.finish()


def test_what_does_not_fit_the_tunnel_is_answered_and_sent_smaller(balanced, fabric):
    """No advmss on the servers: clients send 1500 bytes, hear what fits, and the uploads go through"""
    plane = balanced()
    for server in fabric.servers:
        server.ip(f'route change default via 10.0.{server.number}.1',
                  f'route change default via 2001:db8:{server.number}::1')
    for vip in vips():
        assert flows.upload(plane.client, vip, 1000000)
    found = plane.client.run('ip', 'route', 'get', vips()[0]) + plane.client.run('ip', 'route', 'get', vips()[1])
    assert 'mtu 1476' in found and 'mtu 1456' in found, found


def test_a_narrow_way_to_a_server_is_known_to_the_client(balanced, fabric):
    """A route with an MTU of its own, locked: what the client hears is that less the tunnel"""
    for server in fabric.servers:
        fabric.balancers[0].ip(f'route add {server.address} via 10.0.2.1 mtu lock {NARROW}')
        server.ip(f'route change default via 10.0.{server.number}.1')
    plane = balanced()
    assert flows.upload(plane.client, vips()[0], 1000000)
    assert f'mtu {NARROW - 24}' in plane.client.run('ip', 'route', 'get', vips()[0])
