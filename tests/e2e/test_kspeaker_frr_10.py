# SPDX-License-Identifier: Apache-2.0
"""The main stories of maglev-speaker in a cluster with FRR 10 of Debian 13, and BFD, whose words it changed."""
import lab
import pytest
from lab.metal import BFD, PEERS
from lab.trixie import Trixie
from test_kspeaker_bgp import (announcing, test_a_service_with_an_address_is_a_route_and_a_status,  # noqa: F401
                               test_advertisements_add_up, test_an_excluded_node_drains_and_withdraws,
                               test_nothing_is_written_when_nothing_changed, test_sessions_are_shown_under_both_names)

WITH_BFD = 'protocol bfd { interface "*" { min rx interval 100 ms; min tx interval 100 ms; idle tx interval 100 ms; }; }\n'


@pytest.fixture(scope='module')
def site(kube):
    system = Trixie()
    for it in announcing(kube, router=WITH_BFD, system=system):
        assert 'FRRouting 10.' in it.nodes[0].frr.ask('show version')
        yield it


def test_bfd_is_up(site):
    node, namespace, address = site.nodes[0].name_in_cluster, site.metal.namespace, site.router.address[4]
    site.metal.make(BFD, 'fast', receiveInterval=100, transmitInterval=100)
    site.metal.change(PEERS, 'tor', bfdProfile='fast')
    site.wait_status('bgpsessionstatuses', f'{node}-tor', namespace=namespace, bgpStatus='Established', bfdStatus='Up')
    speaker = site.nodes[0].speaker
    lab.until(lambda: speaker.metrics().one('metallb_bfd_session_up', peer=address, vrf='') == 1, what='BFD in the metrics')
    site.metal.change(PEERS, 'tor', bfdProfile=None)
    site.wait_status('bgpsessionstatuses', f'{node}-tor', namespace=namespace, bgpStatus='Established', bfdStatus='N/A')
