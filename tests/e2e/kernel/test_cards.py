# SPDX-License-Identifier: Apache-2.0
"""XDP: the balancer has a network card (virtio) with a driver of its own, instead of a veth."""
import pytest

from lab import Fabric
from lab.links import Card, TaggedCard


@pytest.fixture
def fabric(can_forward, request):
    it = Fabric(servers=2, balancer=request.param).start()
    yield it
    it.close()


@pytest.mark.parametrize('fabric', [Card, TaggedCard], indirect=True)
@pytest.mark.parametrize('transmit, used, unused', [('tx', 'xdp_tx', 'xdp_redirects'),
                                                    ('redirect', 'xdp_redirects', 'xdp_tx')], ids=['tx', 'redirect'])
def test_packets_leave_by_the_card_on_which_they_came_in(balanced, fabric, transmit, used, unused):
    """Native mode, with and without a VLAN: by XDP_TX or by redirects, and none the other way or lost"""
    balancer = fabric.balancers[0]
    before = {name: balancer.counted(name) for name in (used, unused, 'xdp_drops')}
    plane = balanced(xdp={'mode': 'native', 'transmit': transmit})
    plane.carry(1, 1400, 300000)
    assert balancer.counted(used) > before[used] + 500
    assert balancer.counted(unused) == before[unused]
    assert balancer.counted('xdp_drops') == before['xdp_drops']
