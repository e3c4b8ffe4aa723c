# SPDX-License-Identifier: Apache-2.0
"""SIGHUP: all of the new file or nothing, and what did not change is not disturbed."""
import copy
import json
import os
import resource
import signal
import threading

import pytest

from lab import SLACK, VIP, Check, config, frontend, pool
from lab.programs import RELEASE
from lab.turns import waited

SLOW = {'interval': 0.4, 'fast': 0.4, 'down': 0.4}


@pytest.fixture
def two(start_fake, net, servers):
    """A daemon with the backends a and b, each with its own check, both in one frontend."""
    class Two:
        a, b = servers.open('a'), servers.open('b')
        checks = {'ca': Check(port=a.port), 'cb': Check(port=b.port)}
        file = config(checks, {'a': (a.address, 'ca'), 'b': (b.address, 'cb')},
                      {'www': frontend(VIP, pool('all', 'a', 'b'))}, netns=net.probes.name, dataplane='vpp')
        maglev = file['maglev']

    two = Two()
    two.file = copy.deepcopy(Two.file)
    two.maglev = two.file['maglev']
    two.daemon = start_fake(two.file)
    two.plane = two.daemon.plane
    two.daemon.wait_settled('a', two.checks['ca'])
    two.daemon.wait_settled('b', two.checks['cb'])
    two.plane.wait_weights(VIP, {two.a.address: 100, two.b.address: 100})
    return two


def reload(daemon, file, outcome='config-loaded'):
    """Writes the file, asks for a reload, waits for its end; returns the place in the log before it."""
    mark = daemon.mark()
    daemon.write(file)
    daemon.signal(signal.SIGHUP)
    daemon.wait(outcome, mark)
    return mark


def gaps(lines):
    return [b.at - a.at for a, b in zip(lines, lines[1:])]


def test_unchanged_backends_keep_their_phase_and_connection(start_fake, net, servers):
    """FR-5.3: neither timer nor kept-alive connection nor counter of an unchanged backend is touched."""
    a, b = servers.open('a'), servers.open('b')
    check = Check(port=a.port, more={'keep-alive': True}, **SLOW)
    other = Check(port=b.port, **SLOW)
    file = config({'ca': check, 'cb': other}, {'a': (a.address, 'ca'), 'b': (b.address, 'cb')},
                  netns=net.probes.name, dataplane='vpp')
    daemon = start_fake(file)
    a.wait_requests(3)
    late = waited(daemon.pid, servers.process.pid)
    for i in range(6):  # more reloads than a probe has time between them
        file['maglev']['healthchecks']['cb']['rise'] = 3 + i
        mark = reload(daemon, file)
        a.wait_more(1)
    assert not daemon.all('backend-transition', mark, backend='a')
    seen = daemon.all('probe-start', backend='a')[2:9]
    late = waited(daemon.pid, servers.process.pid) - late  # without a processor there is no probe and no answer
    assert all(0.4 * 0.9 - 0.08 < gap < 0.4 * 1.1 + SLACK / 4 + late for gap in gaps(seen)), (gaps(seen), late)
    assert {r['n'] for r in a.requests[:9]} == {1}, 'the connection was opened again'


@pytest.mark.parametrize('broken, phase', [
    ('maglev: [', 'parse'), ('maglev: { backends: { a: { adress: x } } }', 'parse'), ('', 'parse'),
    ('maglev: { backends: { a: { address: x } }, dataplane: none }', 'semantic'),
], ids=['malformed', 'unknown-key', 'empty', 'bad-address'])
def test_a_broken_file_changes_nothing(broken, phase, two):
    """FR-5.4, NFR-1.4, NFR-2.2: the complaint is logged with its place, and probes go on."""
    daemon = two.daemon
    before = (two.plane.dump(), two.plane.journal())
    mark = reload(daemon, broken, 'config-reload-failed')
    failed = daemon.wait('config-reload-failed', mark)
    assert failed['level'] == 'ERROR' and failed['phase'] == phase and failed['errors'] >= 1
    complaint = daemon.wait('config-error', mark)
    assert complaint['file'] == daemon.path and complaint['error']
    assert broken == '' or complaint['line'] in (1, 2)
    two.a.wait_more(3)
    two.b.wait_more(3)
    assert not daemon.all('backend-transition', mark)
    assert (two.plane.dump(), two.plane.journal()) == before
    reload(daemon, two.file)
    assert daemon.metrics().sum('maglev_config_reloads_total', result='failure') == 1


@pytest.mark.parametrize('put', [None, os.mkdir, os.mkfifo], ids=['missing', 'directory', 'fifo'])
def test_what_is_no_file_changes_nothing(put, two):
    """FR-5.4"""
    os.unlink(two.daemon.path)
    if put:
        put(two.daemon.path)
    mark = two.daemon.mark()
    two.daemon.signal(signal.SIGHUP)
    two.daemon.wait('config-reload-failed', mark)
    two.a.wait_more(3)
    assert two.daemon.state('a') == 'up'


def test_a_signal_before_the_first_file_is_read_is_a_reload(start):
    """FR-5.3: whoever asks for a reload while maglevd starts neither ends it nor is forgotten"""
    many = {f'b{i}': f'10.1.{i // 250}.{i % 250 + 1}' for i in range(5000)}
    daemon = start(config({}, many), grpc='', metrics='', level='info', ready=False)
    daemon.wait('starting')
    daemon.signal(signal.SIGHUP)
    daemon.wait('config-loaded', count=2)
    daemon.signal(signal.SIGTERM)
    assert daemon.end() == 0


def test_a_removed_backend_is_told_and_leaves_the_data_plane(two):
    """FR-5.3: a terminal removed transition; the AS goes with its flows; its metrics go too."""
    del two.maglev['backends']['b']
    two.maglev['frontends']['www']['pools'] = [pool('all', 'a')]
    mark = reload(two.daemon, two.file)
    line = two.daemon.wait_state('b', 'removed', mark)
    assert (line['from'], line['code']) == ('up', 'removed')
    two.plane.wait_weights(VIP, {two.a.address: 100})
    assert f'as-del {VIP}:80/tcp {two.b.address} 100 flush' in two.plane.journal()
    two.a.catch_up()
    asked = len(two.b.requests)
    two.a.wait_more(4)
    assert len(two.b.requests) <= asked + 1
    assert not two.daemon.metrics().of('maglev_backend_state', backend='b')


def test_a_backend_that_returns_starts_in_unknown(two):
    """FR-5.3: with a fresh counter, and up at its first result"""
    whole = copy.deepcopy(two.file)
    del two.maglev['backends']['b']
    two.maglev['frontends']['www']['pools'] = [pool('all', 'a')]
    reload(two.daemon, two.file)
    two.plane.wait_weights(VIP, {two.a.address: 100})
    mark = reload(two.daemon, whole)
    line = two.daemon.wait('backend-transition', mark, backend='b')
    assert (line['from'], line['to']) == ('unknown', 'up')
    two.plane.wait_weights(VIP, {two.a.address: 100, two.b.address: 100})


def test_an_added_backend_is_probed_and_gets_traffic_once_it_is_up(two, servers):
    """FR-5.3"""
    c = servers.open('c')
    two.maglev['healthchecks']['cc'] = Check(port=c.port).yaml()
    two.maglev['backends']['c'] = {'address': c.address, 'healthcheck': 'cc'}
    two.maglev['frontends']['www']['pools'] = [pool('all', 'a', 'b', 'c')]
    mark = reload(two.daemon, two.file)
    two.daemon.wait_state('c', 'up', mark)
    two.plane.wait_weights(VIP, {two.a.address: 100, two.b.address: 100, c.address: 100})


def test_a_changed_address_is_probed_and_balanced_instead_of_the_old_one(two, servers, net):
    """FR-5.3, facts 13: state kept, the new AS added before the old one goes; no probe to the old address."""
    moved = servers.open('moved', port=two.a.port)
    two.plane.clear_journal()
    two.maglev['backends']['a']['address'] = moved.address
    mark = reload(two.daemon, two.file)
    two.plane.wait_weights(VIP, {moved.address: 100, two.b.address: 100})
    assert not two.daemon.all('backend-transition', mark), 'the state was not kept'
    journal = two.plane.journal()
    assert journal.index(f'as-add {VIP}:80/tcp {moved.address} 100') < \
        journal.index(f'as-del {VIP}:80/tcp {two.a.address} 100 flush')
    moved.catch_up()
    old = len(two.a.requests)
    moved.wait_more(5)
    assert len(two.a.requests) == old


def test_changing_a_check_that_all_backends_share_moves_no_weight(start_fake, net, servers):
    """DESIGN 4, FR-5.3: workers start again, states and weights stay"""
    up = [servers.open() for _ in range(4)]
    check = Check('icmp')
    backends = {s.name: (s.address, 'shared') for s in up}
    dead = '10.77.1.250'
    backends['dead'] = (dead, 'shared')
    file = config({'shared': check}, backends, {'www': frontend(VIP, pool('all', *backends))},
                  netns=net.probes.name, dataplane='vpp')
    daemon = start_fake(file)
    for server in up:
        daemon.wait_settled(server.name, check)
    daemon.wait_state('dead', 'down')
    weights = {**{s.address: 100 for s in up}, dead: 0}
    daemon.plane.wait_weights(VIP, weights)
    daemon.plane.clear_journal()
    for change in ({'interval': '70ms'}, {'rise': 5}, {'fall': 7}, {'timeout': '300ms'}, {'fast-interval': '20ms'}):
        file['maglev']['healthchecks']['shared'].update(change)
        mark = reload(daemon, file)
        for server in up:
            daemon.wait('probe-done', mark, backend=server.name, count=3)
        assert not daemon.all('backend-transition', mark)
    assert daemon.plane.journal() == [] and daemon.plane.weights(VIP) == weights


def test_a_changed_check_still_finds_out(two):
    """DESIGN 4: the counter is full after the change, and fall failures take the backend down"""
    two.maglev['healthchecks']['ca'].update({'fall': 2, 'params': {'path': '/new'}})
    mark = reload(two.daemon, two.file)
    two.daemon.wait_metric('maglev_backend_health', 3, backend='a')
    two.a.answer(503)
    line = two.daemon.wait_state('a', 'down', mark)
    failed = [d for d in two.daemon.all('probe-done', mark, backend='a', code='L7STS') if d.at <= line.at]
    assert len(failed) == 2
    assert two.a.requests[-1]['request'] == 'GET /new HTTP/1.1'


def test_the_enable_flag_takes_a_backend_out_and_back(two):
    """FR-3.2, FR-4.3, FR-5.3, facts 13: no more probes, weight 0 with flush; then unknown, then up"""
    two.maglev['backends']['b']['enabled'] = False
    mark = reload(two.daemon, two.file)
    assert two.daemon.wait_state('b', 'disabled', mark)['from'] == 'up'
    two.plane.wait_weights(VIP, {two.a.address: 100, two.b.address: 0})
    assert f'as-weight {VIP}:80/tcp {two.b.address} 100->0 flush' in two.plane.journal()
    two.a.catch_up()
    asked = len(two.b.requests)
    two.a.wait_more(4)
    assert len(two.b.requests) <= asked + 1
    assert two.daemon.metrics().one('maglev_backend_enabled', backend='b') == 0
    two.maglev['backends']['b']['enabled'] = True
    mark = reload(two.daemon, two.file)
    line = two.daemon.wait('backend-transition', mark, backend='b')
    assert (line['from'], line['to']) == ('disabled', 'unknown')
    two.daemon.wait_state('b', 'up', mark)
    two.plane.wait_weights(VIP, {two.a.address: 100, two.b.address: 100})


def test_changed_weights_are_set_in_place(two):
    """FR-5.3, facts 13: at once, not with the next full sync; no transition, no worker restarted"""
    two.plane.clear_journal()
    two.maglev['frontends']['www']['pools'] = [pool('all', a=30, b=70)]
    mark = reload(two.daemon, two.file)
    two.plane.wait_weights(VIP, {two.a.address: 30, two.b.address: 70})
    assert two.plane.journal() == [f'as-weight {VIP}:80/tcp {two.a.address} 100->30',
                                   f'as-weight {VIP}:80/tcp {two.b.address} 100->70']
    assert not two.daemon.all('backend-transition', mark)


def test_a_static_backend_may_get_a_check_and_lose_it(two):
    """FR-1.7, FR-5.3"""
    del two.maglev['backends']['b']['healthcheck']
    mark = reload(two.daemon, two.file)
    two.a.wait_more(3)
    two.a.catch_up()
    asked = len(two.b.requests)
    two.a.wait_more(4)
    assert len(two.b.requests) == asked and two.daemon.state('b') == 'up'
    two.maglev['backends']['b']['healthcheck'] = 'cb'
    reload(two.daemon, two.file)
    two.b.wait_more(3)
    assert not two.daemon.all('backend-transition', mark, backend='b')
    assert two.plane.weights(VIP) == {two.a.address: 100, two.b.address: 100}


def test_two_reloads_in_a_row_end_with_the_last_file(two):
    """FR-5.3: a reload asked for during a reload is not lost"""
    mark = two.daemon.mark()
    for weight in (10, 20, 30, 40):
        two.maglev['frontends']['www']['pools'] = [pool('all', a=weight, b=100)]
        two.daemon.write(two.file)
        two.daemon.signal(signal.SIGHUP)
    two.plane.wait_weights(VIP, {two.a.address: 40, two.b.address: 100})
    assert not two.daemon.all('config-reload-failed', mark)


def test_a_file_that_is_replaced_while_it_is_read_is_one_or_the_other(two):
    """NFR-2.2: replaced by rename, it is never half of each"""
    stop = threading.Event()
    versions = []
    for weight in (11, 22):
        two.maglev['frontends']['www']['pools'] = [pool('all', a=weight, b=weight)]
        versions.append(copy.deepcopy(two.file))

    def replace():
        turn = 0
        while not stop.is_set():
            two.daemon.write(versions[turn % 2])
            turn += 1

    two.daemon.write(versions[0])
    thread = threading.Thread(target=replace)
    thread.start()
    mark = two.daemon.mark()
    try:
        for i in range(10):
            two.daemon.signal(signal.SIGHUP)
            two.daemon.wait('config-loaded', mark, count=i + 1)
            weights = two.daemon.metrics().of('maglev_frontend_pool_backend_weight', frontend='www')
            assert [value for _, value in weights] in ([11, 11], [22, 22])
    finally:
        stop.set()
        thread.join()
    assert not two.daemon.all('config-reload-failed', mark)
    two.daemon.write(versions[0])
    two.daemon.signal(signal.SIGHUP)
    two.plane.wait_weights(VIP, {two.a.address: 11, two.b.address: 11})


def test_a_reload_that_needs_a_dropped_capability_is_refused_with_its_name(start_fake, net, servers):
    """NFR-4.1: what the configuration did not need at the start is gone for good"""
    server = servers.open()
    check = Check(port=server.port)
    file = config({'web': check}, {'b': '10.0.0.1'}, dataplane='vpp')
    daemon = start_fake(file)
    changed = copy.deepcopy(file)
    changed['maglev']['healthchecks']['ping'] = Check('icmp').yaml()
    mark = reload(daemon, changed, 'config-reload-failed')
    assert 'CAP_NET_RAW' in daemon.wait('config-reload-failed', mark)['error']
    changed = copy.deepcopy(file)
    changed['maglev']['healthchecker']['netns'] = net.probes.name
    mark = reload(daemon, changed, 'config-reload-failed')
    assert 'CAP_SYS_ADMIN' in daemon.wait('config-reload-failed', mark)['error']
    reload(daemon, file)


def test_little_address_space_is_enough_to_reload(start):
    """FR-5.3: LimitAS= leaves 64 MiB; ten thousand backends are reloaded again and again, and shown. In the release build, because
    sanitizers keep freed memory."""
    backends = {f'b{i}': f'10.{i >> 16}.{i >> 8 & 255}.{i & 255}' for i in range(1, 10001)}
    daemon = start(config({}, backends), level='info', build=RELEASE)
    pid = daemon.process.pid
    with open(f'/proc/{pid}/statm', encoding='ascii') as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.prlimit(pid, resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
    for n in range(1, 4):
        daemon.signal(signal.SIGHUP)
        daemon.wait_metric('maglev_config_reloads_total', n, result='success')
    assert not daemon.all('config-reload-failed')


def test_another_data_plane_needs_a_restart(two):
    """DESIGN 4"""
    two.maglev['dataplane'] = 'none'
    mark = reload(two.daemon, two.file, 'config-reload-failed')
    assert 'restart' in two.daemon.wait('config-reload-failed', mark)['error']


def test_another_namespace_is_probed_after_a_reload(two, own_net, own_servers):
    """FR-1.5, FR-5.3: the same addresses there are other servers"""
    twin = own_servers.open('twin', address=own_net.address())
    two.maglev['backends']['a']['address'] = twin.address
    two.maglev['healthchecks']['ca']['port'] = twin.port
    two.maglev['healthchecker']['netns'] = own_net.probes.name
    mark = reload(two.daemon, two.file)
    twin.wait_requests(3)
    two.daemon.wait_state('b', 'down', mark)
    two.maglev['healthchecker']['netns'] = two.__class__.file['maglev']['healthchecker']['netns']
    mark = reload(two.daemon, two.file)
    two.daemon.wait_state('b', 'up', mark)


def test_frontends_come_and_go(two):
    """FR-5.3, FR-4.2: a new VIP is programmed, one that left is removed with its flows"""
    two.maglev['frontends']['new'] = frontend('198.51.100.99', pool('all', 'a'), port=443)
    reload(two.daemon, two.file)
    two.plane.wait_weights('198.51.100.99', {two.a.address: 100}, port=443)
    del two.maglev['frontends']['www']
    two.plane.clear_journal()
    reload(two.daemon, two.file)
    two.plane.wait_journal(f'vip-del {VIP}:80/tcp')
    assert two.plane.journal() == [f'as-del {VIP}:80/tcp {a} 100 flush' for a in
                                   sorted((two.a.address, two.b.address), key=lambda x: int(x.split('.')[3]))] + \
        [f'vip-del {VIP}:80/tcp']
    assert two.plane.weights('198.51.100.99', 443) == {two.a.address: 100}


def test_a_family_flip_rebuilds_the_vip(two, servers):
    """facts 13: encapsulation follows the backends' family, not the VIP's; a flip does not wedge the sync"""
    six = servers.open('six', family=6)
    two.maglev['healthchecks']['c6'] = Check(port=six.port).yaml()
    two.maglev['backends']['six'] = {'address': six.address, 'healthcheck': 'c6'}
    two.maglev['frontends']['www']['pools'] = [pool('all', 'six')]
    reload(two.daemon, two.file)
    two.plane.wait_weights(VIP, {six.address: 100})
    assert any(line == f'vip {VIP} 6 80 gre6 0' for line in two.plane.dump())
    assert not two.daemon.all('lb-sync-failed')


def test_probes_of_backends_that_a_file_enables_are_spread_over_the_interval(start_fake, net, servers):
    """NFR-2.3: a file may enable thousands; one that the operator enables is probed at once."""
    server = servers.open()
    check = Check(port=server.port, interval=2, fast=2)
    backends = {f'b{i}': {'address': server.address, 'healthcheck': 'c', 'enabled': False} for i in range(30)}
    daemon = start_fake(config({'c': check}, backends, netns=net.probes.name, dataplane='vpp'))
    for backend in backends.values():
        backend['enabled'] = True
    mark = reload(daemon, config({'c': check}, backends, netns=net.probes.name, dataplane='vpp'))
    first = [daemon.wait('probe-start', mark, backend=name).at for name in backends]
    assert 2 / 4 < max(first) - min(first) < 2 + SLACK
    assert len({round(at, 3) for at in first}) > 10
