# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker and frr-reloader killed in the middle of a change, and a hundred changes in a burst.

As in test_speaker_faults.py there is a second VIP, whose route must never be touched.
"""
import random

import pytest

from lab import until
from lab.programs import RELEASE
from lab.reloader import Reloader
from lab.speaker import ROUTE
from lab.vty_proxy import VtyProxy
from test_speaker_faults import STAYING, STAYS, sites, speak  # noqa: F401 pylint: disable=unused-import


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
        until(lambda: speaker.frr().current, what='the latest configuration in FRR')
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
        until(lambda: speaker.frr().current, what='the latest configuration in FRR')
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
    until(lambda: speaker.frr().current, what='the latest configuration in FRR')
    assert site.bird.history() == site.bird.history(STAYS) == ['added']


@pytest.mark.parametrize('way', ['fast', 'full'])
def test_a_hundred_changes_in_a_burst_are_a_few_reloads(sites, way):
    """Of the file, while the frontend goes up and down; in the release build, because sanitizers keep freed memory.
    A fast reload takes about as long as a change, so that there may be one for each."""
    site = sites(build=RELEASE)
    replace_reloader(site, f'--fast-path={"true" if way == "fast" else "false"}')
    speaker = speak(site)

    def burst():
        before = speaker.frr().applies
        for n in range(100):
            speaker.sections['vips'] = {**STAYING, 'burst': {'address': f'198.51.100.{100 + n}'}}
            speaker.reload()
            if n % 10 == 0:
                site.all_down()
            elif n % 10 == 5:
                site.servers.up(site.servers.addresses[0])
        until(lambda: set(site.bird.routes('master4')) == {ROUTE, STAYS, '198.51.100.199/32'}, what='the last routes')
        until(lambda: speaker.frr().current, what='the latest configuration in FRR')
        return speaker.frr().applies - before

    burst()
    memory = speaker.rss(), site.reloader.rss()
    assert burst() <= (110 if way == 'fast' else 20)
    assert speaker.rss() - memory[0] < 1 << 20 and site.reloader.rss() - memory[1] < 1 << 20
    # the frontend may change once more: its probes go on
    until(lambda: site.reloader.metrics().one('metallb_frr_reload_queue_depth') == 0, what='an empty queue')
    until(lambda: site.reloader.metrics().one('metallb_frr_reloads_total') == speaker.frr().applies, what='the same count of both')
    assert site.bird.history(STAYS) == ['added'] and not speaker.all('session-down')
