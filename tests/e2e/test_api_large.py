# SPDX-License-Identifier: Apache-2.0
"""Ten thousand backends: long answers and replays leave the loop to others between any two slices (NFR-3)."""
import itertools

import pytest

from lab import config, frontend, pool, until
from lab.api import as_json
from lab.h2 import DATA, Connection, messages, request
from lab.turns import ATTEMPTS, Turns, long_turns, waited

BACKENDS, FRONTENDS = 10000, 1000
ADDRESSES = [f'10.{1 + n // 65536}.{n // 256 % 256}.{n % 256}' for n in range(BACKENDS)]
NAMES = [f'b{n:05}' for n in range(BACKENDS)]


def large():
    size = BACKENDS // FRONTENDS
    vips = {f'f{n:04}': frontend(f'198.51.{100 + n // 256}.{n % 256}', pool('all', *NAMES[n * size:(n + 1) * size]))
            for n in range(FRONTENDS)}
    return config(backends=dict(zip(NAMES, ADDRESSES)), frontends=vips, dataplane='vpp', lb={'sync-interval': '1h'})


@pytest.fixture
def daemon(start_api):
    return started(start_api)


@pytest.fixture
def shipped(start_api):
    """For promises in milliseconds."""
    return started(start_api, measured=True)


def started(start_api, **options):
    daemon = start_api(large(), level='info', **options)
    daemon.wait('lb-sync-all', timeout=60)
    return daemon


@pytest.mark.parametrize('method, rows', [('ListBackends', BACKENDS), ('ListFrontends', FRONTENDS),
                                          ('GetVPPLBState', FRONTENDS), ('GetVPPLBCounters', FRONTENDS)])
def test_a_long_answer_is_made_in_slices(shipped, method, rows):
    """Several at once; whole, in order, and each turn of the loop is short"""
    clients = [shipped.connect() for _ in range(4)]
    shipped.plane.seed(['counters 2', f'count-many {FRONTENDS} {BACKENDS // FRONTENDS}'])

    def ask():
        calls = [client.start(method) for client in clients]
        for call in calls:
            answer = call.result()
            [(field, many)] = [(f.name, v) for f, v in answer.ListFields() if f.label == f.LABEL_REPEATED]
            assert len(many) == rows
            if field != 'vips':
                assert [one.name for one in many] == sorted(one.name for one in many)

    before = Turns(shipped).all
    ask()
    assert Turns(shipped).all - before > 8, 'it is made in one turn'
    assert long_turns(shipped, ask) == 0
    assert as_json(shipped.api.call(method)) == shipped.maglevc.json('show', *{
        'ListBackends': ['backends'], 'ListFrontends': ['frontends'], 'GetVPPLBState': ['lb', 'state'],
        'GetVPPLBCounters': ['lb', 'counters']}[method])


def test_plans_for_many_are_made_one_by_one(daemon):
    """One reading of the data plane serves all 64 who wait for it; their plans are not made in one turn"""
    def over(limit):
        page = daemon.metrics()
        return page.one('maglev_loop_lag_seconds_count') - page.one('maglev_loop_lag_seconds_bucket', le=limit)

    for attempt in range(1, ATTEMPTS + 1):
        before, late = over('0.25'), waited(daemon.pid)
        client = Connection(daemon.api_port)
        client.send(b''.join(request('/maglev.Maglev/SyncVPPLBState', b'\x10\x01', stream=2 * n + 1) for n in range(64)))
        for _ in range(64):
            client.wait(DATA)
        client.close()
        daemon.wait_metric('maglev_grpc_calls_total', 64 * attempt, method='SyncVPPLBState', status='OK')
        long = over('0.25') - before
        if not long or waited(daemon.pid) - late < 0.25:  # otherwise it may only have waited for a processor
            break
    assert not long


def test_replays_to_many_are_made_in_slices(shipped):
    """4 subscribers at once, each with 11,000 events"""
    everything = b'\x18\x01\x20\x01'  # backend, frontend

    def watch():
        start = shipped.api.channel.unary_stream('/maglev.Maglev/WatchEvents')
        for call in [start(everything, timeout=60) for _ in range(4)]:
            assert len(list(itertools.islice(call, BACKENDS + FRONTENDS))) == BACKENDS + FRONTENDS
            call.cancel()
        shipped.wait_metric('maglev_watch_subscribers', 0)

    assert long_turns(shipped, watch) == 0


def test_who_reads_is_not_dropped_by_a_reload(daemon):
    """It changes ten thousand backends in one turn; each is an event and a line of the log"""
    call = daemon.api.start('WatchEvents', timeout=60)
    while next(call).backend.backend != NAMES[-1]:
        pass
    daemon.write(config(backends={'other': '10.0.0.1'}, frontends={}, dataplane='vpp'))
    daemon.api.call('ReloadConfig', timeout=60)
    removed = (event.backend.backend for event in call if event.backend.to == 'removed')
    assert set(itertools.islice(removed, BACKENDS)) == set(NAMES)
    call.cancel()


def test_replays_are_not_put_off_by_later_ones(daemon):
    """Who came first is served first: otherwise those who come and go could keep a replay from ever ending"""
    client, left, told = Connection(daemon.api_port), {}, {}
    streams = [2 * n + 1 for n in range(8)]
    client.send(b''.join(request('/maglev.Maglev/WatchEvents', b'\x18\x01\x20\x01', stream=s) for s in streams))
    while max(told.values(), default=0) < BACKENDS + FRONTENDS:
        for kind, _, stream, payload in client.take(client.socket.recv(65536)):
            if kind == DATA:
                events, left[stream] = messages(left.get(stream, b'') + payload)
                told[stream] = told.get(stream, 0) + len(events)
    assert max(told, key=told.get) == streams[0], told
    client.close()


def test_long_answers_that_nobody_reads_are_bounded(daemon):
    """30 asked for on one connection without a window: as many as 16 MiB hold are kept, the rest is refused"""
    size = daemon.api.call('ListBackends').ByteSize()
    stuck = Connection(daemon.api_port, wide=False)
    for n in range(30):
        stuck.send(request('/maglev.Maglev/ListBackends', stream=2 * n + 1))
    name, labels = 'maglev_grpc_calls_total', {'method': 'ListBackends'}
    until(lambda: sum(daemon.metrics().one(name, status=s, **labels) or 0 for s in ('OK', 'RESOURCE_EXHAUSTED')) >= 31, 60)
    kept = daemon.metrics().one(name, status='OK', **labels) - 1
    assert size * (kept - 1) <= 16 << 20 < size * (kept + 1)
    assert len(daemon.api.call('ListBackends').backends) == BACKENDS
    stuck.close()


def test_a_reload_in_the_middle_of_an_answer(daemon):
    """Every answer is of one configuration, the old or the new one"""
    fewer = large()
    for name in NAMES[5000:]:
        del fewer['maglev']['backends'][name]
    for name in list(fewer['maglev']['frontends'])[500:]:
        del fewer['maglev']['frontends'][name]
    clients = [daemon.connect() for _ in range(4)]
    daemon.write(fewer)
    reload = daemon.api.start('ReloadConfig')
    sizes = []
    while not reload.done():
        sizes += [len(call.result().backends) for call in [client.start('ListBackends') for client in clients]]
    assert reload.result().ok
    sizes.append(len(daemon.api.call('ListBackends').backends))
    assert set(sizes) <= {5000, 10000} and sizes[-1] == 5000
