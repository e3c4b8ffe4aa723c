# SPDX-License-Identifier: Apache-2.0
"""XDP: two balancers with one configuration are one balancer to a flow."""
import pytest

from lab import VIPS4, VIPS6, Fabric, flows

VIPS = VIPS4 + VIPS6


@pytest.fixture
def fabric(can_forward):
    it = Fabric(balancers=2).start()
    yield it
    it.close()


def test_a_flow_may_move_to_the_other_balancer(balanced, fabric):
    """The routers may send an established flow to either: both know its server without having met it"""
    first, second = fabric.balancers
    second.announce()
    other = balanced(second)
    first.announce()
    one = balanced(first)
    sources = [(f'10.1.7.{i + 1}', 30000 + i) for i in range(60)]
    held = [flows.Flow(fabric.client, VIPS4[i % 2], source=source) for i, source in enumerate(sources)]
    under_way = [one.download(vip, 3000000) for vip in VIPS for _ in range(8)]
    for download in under_way:
        download.read(200000)
    second.announce()
    for flow in held:
        assert flow.send('GET / HTTP/1.1\r\nHost: lab\r\n\r\n').body().startswith('web')
    for download in under_way:
        download.read(1000000)
    first.announce()
    for download in under_way:
        download.finish()
    assert other.daemon.process.poll() is None
