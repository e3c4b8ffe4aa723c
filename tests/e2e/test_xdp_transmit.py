# SPDX-License-Identifier: Apache-2.0
"""XDP: packets leave by the interface on which they came in with XDP_TX, if the configuration says so."""
import signal

import pytest

from lab import VIPS4, Fabric, flows, until

VIP = VIPS4[0]


@pytest.fixture
def fabric(can_forward):
    """On a veth: its peer needs a program, too."""
    it = Fabric().start()
    it.router.run('bpftool', 'net', 'attach', 'xdpdrv', 'pinned', it.load('pass'), 'dev', it.balancers[0].port)
    yield it
    it.close()


def test_a_reload_changes_the_way_packets_leave(balanced, fabric):
    """tx, and after a reload redirect: no connection notices, and a packet leaves one way only"""
    plane = balanced(xdp={'mode': 'native', 'transmit': 'tx'})
    plane.carry(1400, 1000000)
    assert plane.balancer.counted('xdp_tx') > 500 and plane.balancer.counted('xdp_redirect') == 0
    with flows.traffic(plane.client, *plane.vips()) as traffic:
        under_way = plane.download(VIP, 4000000)
        traffic.wait_more(8)
        plane.xdp['transmit'] = 'redirect'
        plane.daemon.write(plane.config())
        plane.daemon.signal(signal.SIGHUP)
        until(lambda: plane.balancer.counted('xdp_redirect') > 100, what='packets that are redirected')
        under_way.finish()
    assert not traffic.errors()
    sent = plane.balancer.counted('xdp_tx')
    plane.carry(1400)
    assert plane.balancer.counted('xdp_tx') == sent
