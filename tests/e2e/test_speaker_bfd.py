# SPDX-License-Identifier: Apache-2.0
"""BFD between bfdd and BIRD: what maglev-speaker says about the session."""
import json
import signal

import pytest

from lab import until
from lab.speaker import BIRD, OURS, THEIRS, VIP, Site, Speaker

COUNTS = ('control_packet_input', 'control_packet_output', 'echo_packet_input', 'echo_packet_output', 'session_up_events',
          'session_down_events', 'zebra_notifications')
WITH_BFD = BIRD.replace('hold time 9;', 'hold time 9; bfd on;') + '''
protocol bfd { interface "*" { min rx interval 100 ms; min tx interval 100 ms; idle tx interval 100 ms; }; }
'''


class Watched(Speaker):
    """With BFD for the peer, and a second peer without it."""

    def write(self, text=None, **vip):
        super().write(text or json.dumps({'speaker': {
            'router': {'asn': 64512, 'router-id': OURS},
            'bfd-profiles': {'fast': {'receive-interval': '400ms', 'transmit-interval': '400ms'}},  # no session is lost by chance
            'peers': {'tor': {'address': THEIRS, 'asn': 64513, 'connect-time': '5s', 'hold-time': '9s', 'bfd': 'fast'},
                      'plain': {'address': '10.0.0.9', 'asn': 64519}},
            'advertisements': {'default': {}},
            'maglevds': {'a': {'address': f'127.0.0.1:{self.port_of_maglevd}'}},
            'vips': {'www': {'address': VIP, 'frontends': ['a/www'], **vip}}}}))

    def bfd(self):
        """{name: value} of the peer's series; they must be the only ones."""
        metrics, found = self.metrics(), {}
        for name in ('session_up', *COUNTS):
            for labels, value in metrics.of(f'metallb_bfd_{name}'):
                assert labels == {'peer': THEIRS, 'vrf': ''}
                found[name] = value
        return found

    def wait_bfd(self, **wanted):
        def found():
            bfd = self.bfd()
            return bfd if wanted.items() <= bfd.items() else None
        return until(found, what=f'BFD with {wanted}')


@pytest.fixture
def site():
    it = Site(conf=WITH_BFD)
    yield it
    it.close()


def test_a_bfd_session_is_counted_as_metallb_counts_it(site, running, folders):
    speaker = running(Watched(folders(), site.frr, site.reloader, site.maglevd)).start()
    first = speaker.wait_bfd(session_up=1, session_up_events=1)
    assert set(first) == {'session_up', *COUNTS}
    assert (first['echo_packet_input'], first['echo_packet_output']) == (0, 0)
    assert first['zebra_notifications'] >= 1
    until(lambda: speaker.bfd().get('control_packet_input', 0) > first['control_packet_input'], what='more packets received')
    until(lambda: speaker.bfd().get('control_packet_output', 0) > first['control_packet_output'], what='more packets sent')
    site.bird.signal(signal.SIGSTOP)
    speaker.wait_bfd(session_up=0, session_down_events=1)
    site.bird.signal(signal.SIGCONT)
    speaker.wait_bfd(session_up=1, session_up_events=1, session_down_events=0)  # a new one: bgpd makes one for each connection


def test_without_bfdd_the_session_is_down_and_nothing_is_counted(site, running, folders):
    speaker = running(Watched(folders(), site.frr, site.reloader, site.maglevd)).start()
    speaker.wait_bfd(session_up=1)
    site.frr.kill('bfdd')
    until(lambda: speaker.bfd() == {'session_up': 0}, what='no counts')
