# SPDX-License-Identifier: Apache-2.0
"""The first seconds after a start: nothing is taken away before it is known to be dead.

All times are measured from the first line of the log, which the process writes as it starts.
"""
import copy
import signal

import pytest

from lab import SLACK, VIP, Check, config, frontend, pool

DEAD = '10.77.1.251'
SECOND = '198.51.100.20'
EARLY = 0.05  # between the start of the process and its first line


def warm(low, high, **more):
    return {'startup-min-delay': f'{low}ms', 'startup-max-delay': f'{high}ms', **more}


@pytest.fixture
def web(servers):
    return servers.open('web')


@pytest.fixture
def spare(servers):
    return servers.open('spare')


@pytest.fixture
def file(net, web, spare):
    def file(lb, **check):
        checks = {'c1': Check(port=web.port, **check), 'c2': Check(port=spare.port, **check)}
        return config(checks, {'web': (web.address, 'c1'), 'spare': (spare.address, 'c2')},
                      {'www': frontend(VIP, pool('primary', 'web'), pool('fallback', 'spare'))},
                      netns=net.probes.name, dataplane='vpp', lb=lb)
    return file


def since_start(daemon, line):
    return line.at - daemon.wait('starting').at


def first_write(daemon):
    return daemon.wait('lb-sync-op')


def seed_of(web, spare):
    """What an earlier maglevd left behind."""
    return ['conf 192.0.2.1 2001:db8::1 1024 40', f'vip {VIP} 6 80 gre4 0', f'as {VIP} 6 80 {web.address} 100',
            f'as {VIP} 6 80 {spare.address} 0']


def test_a_restart_with_nothing_changed_writes_nothing(start_fake, file, web, spare):
    """NFR-1.1, NFR-1.2, facts 13: the second instance finds what the first left, and leaves it so"""
    first = start_fake(file(warm(0, 0)))
    first.plane.wait_weights(VIP, {web.address: 100, spare.address: 0})
    left = first.plane.dump()
    first.kill()

    second = start_fake(file(warm(300, 1500, **{'sync-interval': '100ms'})), down=True)
    second.plane.seed(left)
    second.plane.ask('up')
    second.wait('warmup-done')
    mark = second.mark()
    web.wait_more(4)
    second.wait('lb-sync-all', mark)
    assert second.plane.dump() == left
    assert second.plane.journal() == []


def test_a_restart_never_takes_the_weight_of_a_backend_that_is_well(start_fake, file, web, spare):
    """NFR-1.2: slow first results; the old weights stay until they are there"""
    web.behave('late', delay=0.4)
    daemon = start_fake(file(warm(100, 20_000), timeout=2), down=True)
    daemon.plane.seed(seed_of(web, spare))
    daemon.plane.ask('up')
    daemon.wait_state('web', 'up')
    daemon.wait('warmup-released')
    spare.wait_more(2)
    assert daemon.plane.weights(VIP) == {web.address: 100, spare.address: 0}
    assert not [op for op in daemon.plane.journal() if '->0' in op or 'as-del' in op]


def test_hands_off_until_the_min_delay(start_fake, file, web, spare):
    """NFR-1.2: everything is known long before, and nothing is written before"""
    daemon = start_fake(file(warm(1200, 5000, **{'sync-interval': '50ms'})))
    daemon.wait_state('web', 'up')
    assert since_start(daemon, daemon.wait_state('spare', 'up')) < 1.0
    op = first_write(daemon)
    assert 1.2 - EARLY <= since_start(daemon, op) <= 1.2 + SLACK
    assert daemon.wait('warmup-released')['names'] == 'www'


def test_each_vip_is_released_when_its_own_backends_are_known(start_fake, net, web, spare):
    """NFR-1.2: VIP by VIP; a slow one does not hold the others back, and the watchdog ends its wait"""
    spare.behave('hang')
    checks = {'c1': Check(port=web.port), 'c2': Check(port=spare.port, timeout=60)}
    daemon = start_fake(config(
        checks, {'web': (web.address, 'c1'), 'slow': (spare.address, 'c2')},
        {'fast': frontend(VIP, pool('p', 'web')), 'late': frontend(SECOND, pool('p', 'web', 'slow'))},
        netns=net.probes.name, dataplane='vpp', lb=warm(200, 4000)))
    released = daemon.wait('warmup-released')
    assert released['names'] == 'fast' and released['frontends'] == 1
    daemon.plane.wait_weights(VIP, {web.address: 100})
    assert daemon.plane.weights(SECOND) is None
    done = daemon.wait('warmup-done')
    assert first_write(daemon).at < done.at
    assert 4.0 - EARLY <= since_start(daemon, done) <= 4.0 + SLACK
    daemon.plane.wait_weights(SECOND, {web.address: 100, spare.address: 0})
    assert daemon.state('slow') == 'unknown'
    assert daemon.wait('lb-sync-op', op=f'vip-add {SECOND}:80/tcp gre4').at >= done.at - 0.001


def test_the_watchdog_releases_what_nobody_answers_for(start_fake, file, web, spare):
    """NFR-1.2: at startup-max-delay at the latest, weights of what is still unknown become 0"""
    for server in (web, spare):
        server.behave('hang')
    daemon = start_fake(file(warm(100, 900), timeout=60), down=True)
    daemon.plane.seed(seed_of(web, spare))
    daemon.plane.ask('up')
    daemon.plane.wait_weights(VIP, {web.address: 0, spare.address: 0})
    assert 0.9 - EARLY <= since_start(daemon, first_write(daemon)) <= 0.9 + SLACK
    assert daemon.plane.journal() == [f'as-weight {VIP}:80/tcp {web.address} 100->0'], 'unknown drains, without flush'


def test_a_dead_backend_is_taken_out_as_soon_as_its_vip_is_released(start_fake, file, web, spare):
    """NFR-1.2"""
    web.refuse()
    daemon = start_fake(file(warm(200, 20_000)), down=True)
    daemon.plane.seed(seed_of(web, spare))
    daemon.plane.ask('up')
    daemon.plane.wait_weights(VIP, {web.address: 0, spare.address: 100})
    assert daemon.plane.journal() == [f'as-weight {VIP}:80/tcp {spare.address} 0->100',
                                      f'as-weight {VIP}:80/tcp {web.address} 100->0 flush']
    web.listen()


def test_a_reload_in_warm_up_does_not_start_the_clock_again(start_fake, file, web, spare):
    """NFR-1.3: reloads all the way, and the first write comes when it would have come without them"""
    text = file(warm(1000, 5000))
    daemon = start_fake(text)
    for i in range(5):
        changed = copy.deepcopy(text)
        changed['maglev']['healthchecks']['c1']['rise'] = 2 + i % 2
        daemon.write(changed)
        daemon.signal(signal.SIGHUP)
        daemon.wait('config-loaded', count=i + 2)
        daemon.wait('probe-done', daemon.mark(), backend='spare')
    assert 1.0 - EARLY <= since_start(daemon, first_write(daemon)) <= 1.0 + SLACK
    daemon.plane.wait_weights(VIP, {web.address: 100, spare.address: 0})


def test_a_reload_may_shorten_the_warm_up_but_never_bring_it_back(start_fake, file, web, spare):
    """NFR-1.3: measured from the start all the same"""
    daemon = start_fake(file(warm(60_000, 90_000)))
    daemon.wait_state('web', 'up')
    daemon.write(file(warm(0, 60_000)))
    daemon.signal(signal.SIGHUP)
    daemon.plane.wait_weights(VIP, {web.address: 100, spare.address: 0})
    daemon.write(file(warm(60_000, 90_000)))
    mark = daemon.mark()
    daemon.signal(signal.SIGHUP)
    daemon.wait('config-loaded', mark)
    web.refuse()
    daemon.plane.wait_weights(VIP, {web.address: 0, spare.address: 100})
    web.listen()


def test_a_flapping_data_plane_does_not_start_the_clock_again(start_fake, file, web, spare):
    """NFR-1.3: it comes and goes all through the warm-up"""
    daemon = start_fake(file(warm(1000, 5000)))
    plane = daemon.plane
    for i in range(6):
        plane.ask('down')
        daemon.wait('dataplane-disconnect', count=i + 1)
        plane.ask('up')
        daemon.wait('dataplane-connect', count=i + 2)
        daemon.wait('probe-done', daemon.mark(), backend='web')
    assert 1.0 - EARLY <= since_start(daemon, first_write(daemon)) <= 1.0 + SLACK
    plane.wait_weights(VIP, {web.address: 100, spare.address: 0})


def test_a_data_plane_that_comes_after_the_warm_up_is_written_at_once(start_fake, file, web, spare):
    """NFR-1.3, FR-4.4: both were down; what is known by then is written when it is back, without another warm-up"""
    daemon = start_fake(file(warm(200, 700)), down=True)
    done = daemon.wait('warmup-done')
    assert since_start(daemon, done) <= 0.7 + SLACK
    daemon.wait_state('web', 'up')
    daemon.plane.ask('up')
    connected = daemon.wait('dataplane-connect')
    assert first_write(daemon).at - connected.at < SLACK
    daemon.plane.wait_weights(VIP, {web.address: 100, spare.address: 0})


def test_both_sides_down_and_the_data_plane_first(start_fake, file, web, spare):
    """NFR-1.2, NFR-1.3: an empty data plane and unknown backends; written at the release, not before"""
    for server in (web, spare):
        server.behave('late', delay=0.3)
    daemon = start_fake(file(warm(500, 20_000), timeout=2), down=True)
    daemon.plane.ask('up')
    daemon.wait('dataplane-connect')
    op = first_write(daemon)
    assert since_start(daemon, op) >= 0.5 - EARLY
    assert op.at >= daemon.wait_state('web', 'up').at and op.at >= daemon.wait_state('spare', 'up').at
    daemon.plane.wait_weights(VIP, {web.address: 100, spare.address: 0})
    assert daemon.plane.journal()[1:] == [f'vip-add {VIP}:80/tcp gre4', *sorted(
        [f'as-add {VIP}:80/tcp {web.address} 100', f'as-add {VIP}:80/tcp {spare.address} 0'],
        key=lambda op: [int(x) for x in op.split()[2].split('.')])]


def test_stale_vips_stay_until_the_warm_up_is_over(start_fake, file, web, spare):
    """NFR-1.2, FR-4.2: and then they go, with their flows"""
    daemon = start_fake(file(warm(100, 4000, **{'sync-interval': '50ms'})), down=True)
    stale = ['vip 198.51.100.66 6 80 gre4 0', 'as 198.51.100.66 6 80 10.0.0.66 100']
    daemon.plane.seed(seed_of(web, spare) + stale)
    daemon.plane.ask('up')
    daemon.wait('warmup-released')
    assert daemon.plane.weights('198.51.100.66') == {'10.0.0.66': 100}
    removed = daemon.wait('lb-sync-op', op='as-del 198.51.100.66:80/tcp 10.0.0.66 100 flush')
    assert since_start(daemon, removed) >= 4.0 - EARLY
    daemon.wait('lb-sync-op', op='vip-del 198.51.100.66:80/tcp')
    assert daemon.plane.journal() == ['as-del 198.51.100.66:80/tcp 10.0.0.66 100 flush', 'vip-del 198.51.100.66:80/tcp']


def test_without_delays_there_is_no_warm_up(start_fake, file, web, spare):
    """NFR-1.2: both 0 switch it off"""
    daemon = start_fake(file(warm(0, 0)))
    assert daemon.wait('warmup-done').at <= daemon.wait('listening').at + SLACK
    daemon.plane.wait_weights(VIP, {web.address: 100, spare.address: 0})
