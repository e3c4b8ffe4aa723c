# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker while processes around it are killed: what happened to a VIP is seen at the peer.

Beside the VIP that a story is about there is another one, whose route must never be touched.
"""
import random

import pytest

from lab import until
from lab.programs import RELEASE
from lab.reloader import Reloader
from lab.speaker import BIRD, ROUTE, Site
from lab.vty_proxy import VtyProxy

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
    """With the other VIP; returns when the peer has both."""
    speaker = site.speak(*args, sections={'vips': STAYING, **(sections or {})}, **how)
    site.bird.wait(STAYS)
    return speaker


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
    assert not speaker.all('session-down') and not speaker.all('frr-refused')
    assert speaker.state()['reload']['current']


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
    assert speaker.state()['reload']['failures'] == 0
    until(lambda: ROUTE in site.frr.saved() and STAYS in site.frr.saved(), what='the saved file')
    since = speaker.mark()
    site.frr.kill('bgpd')
    restarted(site, 'bgpd')
    speaker.wait('bgpd-restarted', since)
    speaker.wait('session-up', since, peer='tor')
    until(site.has_table, what='the end of the restart')
    assert site.bird.history() == site.bird.history(STAYS) == ['added']
    down_and_up(site)
    assert site.bird.history(STAYS) == ['added']


# ---- the reloader ----

def test_the_reloader_is_killed_in_the_middle_of_a_full_reload(sites):
    """frr-reload.py has sent the first lines of a configuration with another peer; that it goes on alone is no harm."""
    site = sites()
    speaker = speak(site)
    reloader = site.reloader
    more = {f'more{n}': {'address': f'10.0.0.{n}', 'asn': 64600 + n, 'vrf': 'red'} for n in range(30, 40)}
    for command in ('frr-reload.py --test', 'frr-reload.py --reload'):
        since, mark = speaker.mark(), reloader.mark()
        speaker.sections['peers'] = more if 'peers' not in speaker.sections else {}
        speaker.reload()
        reloader.wait('full-reload', mark)
        if 'test' not in command:
            reloader.wait('child-ended', mark, command='frr-reload.py --test')
        until(lambda: reloader.proc(f'task/{reloader.pid}/children').split(), what='a child')
        reloader.kill()
        speaker.wait('frr-refused', since)
        site.all_down()
        site.maglevd.wait('frontend-transition', to='down')
        reloader.start()
        site.bird.wait(there=False)
        site.servers.up(site.servers.addresses[0])
        site.bird.wait()
        until(lambda: speaker.state()['reload']['current'], what='the latest configuration in FRR')
    assert not [line for line in site.frr.running() if 'vrf red' in line[0]]
    assert site.bird.history(STAYS) == ['added'] and not speaker.all('session-down', peer='tor')


def replace_reloader(site, *args):
    """By one with other flags."""
    site.reloader.stop()
    site.reloader = site.add(Reloader(site.folder(), site.frr, *args, build=site.build)).start()


@pytest.fixture
def proxied(sites):
    """A site whose reloader reaches the daemons through a proxy."""
    site = sites()
    site.proxy = VtyProxy(site.folder(), site.frr)
    replace_reloader(site, '--vty-dir', site.proxy.folder)
    yield site
    site.proxy.close()


def test_the_reloader_is_killed_in_the_middle_of_a_fast_change(proxied):
    """Eleven VIPs come or go together, and only some of the commands reach bgpd."""
    site = proxied
    ten = {f'v{n}': {'address': f'198.51.100.{n}', 'frontends': ['a/www']} for n in range(20, 30)}
    speaker = speak(site, sections={'vips': {**STAYING, **ten}})
    prefixes = {ROUTE, *(f"{vip['address']}/32" for vip in ten.values())}
    passed = []

    def kill_at(last):
        def change(daemon, command, ask):
            if 'network' not in command:
                return ask()
            passed.append(command)
            if len(passed) < last:
                return ask()
            site.reloader.process.kill()
            return []
        return change

    for last, there in ((2, False), (9, True), (9, False), (2, True)):
        passed.clear()
        site.proxy.change = kill_at(last)
        if there:
            site.servers.up(site.servers.addresses[0])
        else:
            site.all_down()
        site.reloader.end()
        site.proxy.change = None
        site.reloader.start()
        until(lambda: speaker.state()['reload']['current'], what='the latest configuration in FRR')
        until(lambda: {prefix for prefix in prefixes if site.bird.route(prefix)} == (prefixes if there else set()),
              what='all routes ' + ('back' if there else 'gone'))
    assert site.bird.history(STAYS) == ['added'] and not speaker.all('session-down')
    assert site.bird.history() == ['added', *['removed', 'added'] * 2]


# ---- the speaker ----

def test_the_speaker_is_killed_ten_times_in_a_burst_of_changes(sites):
    """VIPs come and go with the file, and the speaker is killed at any moment of it; one VIP is in all files."""
    site, dice = sites(), random.Random(1)
    speaker = speak(site)
    some = [f'198.51.100.{n}' for n in range(20, 30)]
    for _ in range(10):
        for _ in range(dice.randrange(1, 4)):
            speaker.sections['vips'] = {**STAYING, **{f'v{n}': {'address': address} for n, address in enumerate(some)
                                                      if dice.random() < .5}}
            since = speaker.reload()
            speaker.wait('config-loaded', since)
        if dice.random() < .5:  # else while it is asking
            speaker.wait('frr-applied', since)
        speaker.kill()
        speaker.start()
    wanted = {ROUTE, STAYS, *(f"{vip['address']}/32" for vip in speaker.sections['vips'].values())}
    until(lambda: set(site.bird.routes('master4')) == wanted, what='the routes of the last file')
    until(lambda: speaker.state()['reload']['current'], what='the latest configuration in FRR')
    assert site.bird.history() == site.bird.history(STAYS) == ['added']


@pytest.mark.parametrize('way', ['fast', 'full'])
def test_a_hundred_changes_in_a_burst_are_a_few_reloads(sites, way):
    """Of the file, while the frontend goes up and down; in the release build, because sanitizers keep freed memory.
    A fast reload takes about as long as a change, so that there may be one for each."""
    site = sites(build=RELEASE)
    replace_reloader(site, f'--fast-path={"true" if way == "fast" else "false"}')
    speaker = speak(site)

    def burst():
        before = speaker.state()['reload']['applies']
        for n in range(100):
            speaker.sections['vips'] = {**STAYING, 'burst': {'address': f'198.51.100.{100 + n}'}}
            speaker.reload()
            if n % 10 == 0:
                site.all_down()
            elif n % 10 == 5:
                site.servers.up(site.servers.addresses[0])
        until(lambda: set(site.bird.routes('master4')) == {ROUTE, STAYS, '198.51.100.199/32'}, what='the last routes')
        until(lambda: speaker.state()['reload']['current'], what='the latest configuration in FRR')
        return speaker.state()['reload']['applies'] - before

    burst()
    memory = speaker.rss(), site.reloader.rss()
    assert burst() <= (110 if way == 'fast' else 20)
    assert speaker.rss() - memory[0] < 1 << 20 and site.reloader.rss() - memory[1] < 1 << 20
    assert site.reloader.metrics().one('metallb_frr_reload_queue_depth') == 0
    assert site.reloader.metrics().one('metallb_frr_reloads_total') == speaker.state()['reload']['applies']
    assert site.bird.history(STAYS) == ['added'] and not speaker.all('session-down')


# ---- configurations that FRR refuses ----

def test_a_refused_configuration_leaves_the_old_one_and_changes_of_vips(sites):
    """bgpd takes no own number for a peer that is the usual one."""
    site = sites()
    speaker = speak(site)
    speaker.sections['peers'] = {'other': {'address': '10.0.0.3', 'asn': 64515, 'local-asn': 64512}}
    since = speaker.reload()
    error = speaker.wait('frr-refused', since)['error']
    assert 'frr-reload.py' in error
    state = speaker.state()['reload']
    assert not state['current'] and 'frr-reload.py' in state['last_error'] and state['failures'] >= 1
    metrics = speaker.metrics()
    assert metrics.one('maglev_speaker_frr_current') == 0 and metrics.one('maglev_speaker_frr_failures_total') >= 1
    assert site.bird.history() == site.bird.history(STAYS) == ['added'] and speaker.session()['up']
    down_and_up(site)
    speaker.sections['peers'] = {}
    since = speaker.reload()
    speaker.wait('frr-applied', since)
    until(lambda: speaker.state()['reload']['current'], what='the latest configuration in FRR')
    assert speaker.state()['reload']['last_error'] == '' and speaker.metrics().one('maglev_speaker_frr_current') == 1
    assert site.bird.history(STAYS) == ['added'] and not speaker.all('session-down', peer='tor')
