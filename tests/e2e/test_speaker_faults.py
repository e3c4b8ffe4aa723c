# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker while FRR's daemons are killed, or FRR refuses its configuration: what the peer sees of it.

Beside the VIP that a story is about there is another one, whose route must never be touched.
"""
import pytest

from lab import until
from lab.speaker import BIRD, ROUTE, THEIRS, Site

STAYS = '198.51.100.99/32'
STAYING = {'stays': {'address': '198.51.100.99'}}
FAST = {'fast': {'receive-interval': '200ms', 'transmit-interval': '200ms', 'detect-multiplier': 3}}
WITH_BFD = BIRD.replace('strict bind;', 'strict bind; bfd on;') + \
    'protocol bfd { interface "veth" { min rx interval 200 ms; min tx interval 200 ms; multiplier 3; }; }\n'


@pytest.fixture
def sites():
    """Makes sites; how: see Site."""
    made = []

    def sites(**how):
        made.append(Site(**how))
        return made[-1]

    yield sites
    for it in made:
        it.close()


def speak(site, *args, sections=None, **how):
    """With the other VIP; returns when the peer has both, and the speaker has seen the session and the answer of the reloader."""
    speaker = site.speak(*args, sections={'vips': STAYING, **(sections or {})}, **how)
    site.bird.wait(STAYS)
    speaker.wait_session(up=True)
    until(lambda: speaker.frr().current, what='the answer of the reloader')
    return speaker


def has_table(site):
    """Whether the peer was sent all routes of the session, and can tell those that are gone after a restart."""
    return 'End-of-RIB send: IPv4 Unicast' in site.frr.ask(f'show bgp neighbors {THEIRS}')


def down_and_up(site):
    """The frontend, and each time the route."""
    before = site.bird.history()
    site.all_down()
    site.bird.wait(there=False)
    site.servers.up(site.servers.addresses[0])
    site.bird.wait()
    assert site.bird.history() == [*before, 'removed', 'added']


def restarted(site, daemon):
    """As watchfrr does it."""
    site.frr.start_daemon(daemon)
    site.frr.load(site.frr.saved(), daemon)


# ---- FRR's daemons ----

def test_a_kill_of_other_daemons_than_bgpd_changes_nothing(sites):
    """Routes come and go also without them."""
    site = sites()
    speaker = speak(site)
    for daemon in ('bfdd', 'staticd', 'zebra'):
        site.frr.kill(daemon)
        down_and_up(site)
        restarted(site, daemon)
        down_and_up(site)
    assert site.bird.history(STAYS) == ['added']
    until(lambda: speaker.frr().current, what='the answer of the reloader')  # it verifies after the peer has the route
    assert not speaker.all('session-down') and not speaker.all('frr-refused')


def test_a_kill_of_bfdd_ends_sessions_with_bfd_for_a_moment(sites):
    """The peer hears nothing of BFD any more and ends the session. It comes back without BFD, then with it."""
    site = sites(conf=WITH_BFD)
    speaker = speak(site, peer={'bfd': 'fast'}, sections={'vips': STAYING, 'bfd-profiles': FAST})
    speaker.wait_session(up=True, bfd='up')
    since = speaker.mark()
    site.frr.kill('bfdd')
    speaker.wait('session-down', since, peer='tor')
    speaker.wait('session-up', since, peer='tor')
    speaker.wait_session(bfd='down')
    site.bird.wait()
    assert speaker.metrics().one('metallb_bfd_session_up', peer='10.0.0.2', vrf='') == 0
    restarted(site, 'bfdd')
    speaker.wait_session(up=True, bfd='up')
    site.bird.wait()
    down_and_up(site)


def test_a_bgpd_that_starts_empty_is_configured_again(sites):
    """Nobody else does it: its file was lost."""
    site = sites()
    speaker = speak(site)
    since = speaker.mark()
    site.frr.kill('bgpd')
    speaker.wait('session-down', since, peer='tor')
    site.bird.wait(there=False)
    site.frr.start_daemon('bgpd')
    speaker.wait('bgpd-restarted', since)
    speaker.wait('frr-applied', since)
    site.bird.wait()
    site.bird.wait(STAYS)
    down_and_up(site)


def test_graceful_restart_keeps_routes_while_bgpd_is_restarted(sites):
    site = sites()
    speaker = speak(site, peer={'graceful-restart': True})
    assert speaker.frr().failures == 0
    until(lambda: ROUTE in site.frr.saved() and STAYS in site.frr.saved(), what='the saved file')
    until(lambda: has_table(site), what='a session with its table')
    since = speaker.mark()
    site.frr.kill('bgpd')
    restarted(site, 'bgpd')
    speaker.wait('bgpd-restarted', since)
    speaker.wait('session-up', since, peer='tor')
    until(lambda: has_table(site), what='the end of the restart')
    assert site.bird.history() == site.bird.history(STAYS) == ['added']
    down_and_up(site)
    assert site.bird.history(STAYS) == ['added']


# ---- configurations that FRR refuses ----

def test_a_refused_configuration_leaves_the_old_one_and_changes_of_vips(sites):
    """bgpd takes no own number for a peer that is the usual one."""
    site = sites()
    speaker = speak(site)
    speaker.sections['peers'] = {'other': {'address': '10.0.0.3', 'asn': 64515, 'local-asn': 64512}}
    since = speaker.reload()
    error = speaker.wait('frr-refused', since)['error']
    assert 'frr-reload.py' in error
    state = speaker.frr()
    assert not state.current and 'frr-reload.py' in state.last_error and state.failures >= 1
    metrics = speaker.metrics()
    assert metrics.one('maglev_speaker_frr_current') == 0 and metrics.one('maglev_speaker_frr_failures_total') >= 1
    assert site.bird.history() == site.bird.history(STAYS) == ['added'] and speaker.session()['up']
    down_and_up(site)
    speaker.sections['peers'] = {}
    since = speaker.reload()
    speaker.wait('frr-applied', since)
    until(lambda: speaker.frr().current, what='the latest configuration in FRR')
    assert speaker.frr().last_error == '' and speaker.metrics().one('maglev_speaker_frr_current') == 1
    assert site.bird.history(STAYS) == ['added'] and not speaker.all('session-down', peer='tor')


def test_a_peer_that_moves_to_a_vrf_takes_nothing_with_it(sites):
    """frr-reload.py of FRR 8.4 does not survive it if there is nothing else to add."""
    site = sites()
    other = {'address': '10.0.0.3', 'asn': 64515}
    speaker = speak(site, sections={'peers': {'other': other}})
    for vrf in ({'vrf': 'red'}, {}):
        speaker.sections['peers'] = {'other': {**other, **vrf}}
        since = speaker.reload()
        speaker.wait('frr-applied', since)
        assert not speaker.all('frr-refused', since)
        routers = {line[0] for line in site.frr.running() if line[-1] == 'neighbor 10.0.0.3 remote-as 64515'}
        assert routers == {'router bgp 64512 vrf red' if vrf else 'router bgp 64512'}
    assert site.bird.history() == site.bird.history(STAYS) == ['added'] and not speaker.all('session-down', peer='tor')
