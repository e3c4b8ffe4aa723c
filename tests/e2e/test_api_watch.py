# SPDX-License-Identifier: Apache-2.0
"""WatchEvents: states first, then what happens, to everybody in time; who does not read is let go."""
import contextlib
import os
import selectors
import struct
import time

import pytest

from lab import PATIENCE, SLACK, SPARE, VIP, Check, config, frontend, pool, until
from lab.api import RpcError, Status, message
from lab.h2 import DATA, Connection, request
from lab.turns import waited

A, B = '10.99.0.11', '10.99.0.12'
STATIC = config(backends={'a': A, 'b': B, 'lonely': SPARE},
                frontends={'www': frontend(VIP, pool('all', 'a', 'b')),
                           'more': frontend('198.51.100.20', pool('all', 'a'))}, dataplane='vpp')
SMALL = {'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':quarantine_size_mb=1'}  # so that memory can be weighed
LONG = 120  # bytes of a name or a reason, to make few events big ones


@pytest.fixture
def daemon(start_api):
    daemon = start_api(STATIC)
    daemon.plane.wait_weights(VIP, {A: 100, B: 100})
    daemon.wait('lb-sync-all')  # it is a line for those who watch, too
    return daemon


def replayed(watch):
    return [event for event in watch.events
            if event.WhichOneof('event') != 'log' and getattr(event, event.WhichOneof('event')).replay]


def test_current_states_come_first_then_what_happens(daemon):
    """FR-6.3, NFR-5.3: frontends, then backends, by name; then news; numbered without a gap"""
    before = time.time_ns()
    watch = daemon.api.watch(backend=True, frontend=True)
    watch.wait('backend', backend='lonely')
    assert [(e.frontend.frontend, e.frontend.to) for e in watch.events[:2]] == [('more', 'up'), ('www', 'up')]
    assert [(e.backend.backend, e.backend.frontend, e.backend.to) for e in watch.events[2:6]] == \
        [('a', 'more', 'up'), ('a', 'www', 'up'), ('b', 'www', 'up'), ('lonely', '', 'up')]
    assert len(replayed(watch)) == 6 and all(event.at < before for event in watch.events)
    assert all(getattr(e.backend, 'from') == e.backend.to for e in watch.events[2:6])
    daemon.api.call('PauseBackend', name='a', reason='why not')
    daemon.api.call('PauseBackend', name='lonely')
    watch.wait('backend', backend='lonely', to='paused')
    news = watch.events[6:]
    assert [(e.backend.frontend, getattr(e.backend, 'from'), e.backend.to, e.backend.code, e.backend.reason)
            for e in news if e.backend.backend == 'a'] == \
        [('more', 'up', 'paused', 'paused', 'why not'), ('www', 'up', 'paused', 'paused', 'why not')]
    assert len(watch.find('frontend', frontend='more', to='down', replay=False)) == 1
    assert not watch.find('frontend', frontend='www', replay=False)
    assert [event.seq for event in watch.events] == list(range(1, len(watch.events) + 1))
    assert all(before <= event.at <= time.time_ns() for event in news)


@pytest.mark.parametrize('family', ['backend', 'frontend', 'log'])
def test_only_what_was_asked_for_comes(daemon, family):
    """FR-6.3: filters"""
    watch, everything = daemon.api.watch(**{family: True}), daemon.api.watch()
    everything.wait('backend', backend='lonely')
    daemon.api.call('GetFrontend', name='www')  # an answer comes behind what was subscribed before
    for act in ('Pause', 'Resume'):
        daemon.api.call(f'{act}Backend', name='a')
        if family == 'log':
            watch.wait('log', msg='backend-transition', count=1 if act == 'Pause' else 2)
    watch.wait(family)
    until(lambda: len(everything.find('backend', backend='a', to='up', replay=False)) == 2, what='the end')
    kinds = {kind: len(everything.of(kind)) for kind in ('backend', 'frontend', 'log')}
    assert all(kinds.values())
    until(lambda: len(watch.of(family)) >= kinds[family] - 1, what='as many as the other has')
    assert {event.WhichOneof('event') for event in watch.events} == {family}


def test_log_lines_come_at_the_level_that_was_asked_for(start_api):
    """FR-6.3: whatever --log-level says; with their fields as text"""
    daemon = start_api(STATIC, level='info')
    debug, info, error = (daemon.api.watch(log=True, log_level=level) for level in ('debug', '', 'error'))
    until(lambda: daemon.api.backend('a') and debug.of('log'), what='the subscriptions')
    daemon.maglevc.text('set', 'frontend', 'www', 'pool', 'all', 'backend', 'a', 'weight', '7', 'flush')
    line = info.wait('log', msg='weight-set')
    attrs = dict(line.attrs)
    assert attrs.pop('operator').startswith('unverified:') and attrs.pop('operator_address') == '127.0.0.1'
    assert (line.level, attrs) == ('info', {'frontend': 'www', 'pool': 'all', 'backend': 'a', 'weight': '7', 'flush': 'true'})
    call = debug.wait('log', msg='grpc-call')
    assert (call.level, call.attrs['status']) == ('debug', 'OK')
    assert not daemon.all('grpc-call'), 'the log itself is at info'
    daemon.write('maglev: [')
    assert not daemon.api.call('ReloadConfig').ok
    error.wait('log', msg='config-reload-failed')
    assert {one.level for one in error.of('log')} == {'error'}
    assert 'debug' not in {one.level for one in info.of('log')}
    loud = daemon.api.watch(log_level='loud')
    assert loud.wait_end() == Status.INVALID_ARGUMENT and 'debug, info, warn or error' in loud.text


def test_sending_events_makes_no_events(daemon):
    """FR-6.3: one who watches at debug sees what happens, not that it is told"""
    watch = daemon.api.watch(log=True, log_level='debug')
    until(lambda: daemon.api.backend('a') and watch.of('log'), what='the subscription')
    leaving = daemon.api.watch(log=True, log_level='debug')
    until(lambda: daemon.api.backend('a') and leaving.of('log'), what='the other one')
    daemon.api.call('ListBackends')
    leaving.cancel()
    until(lambda: watch.of('log')[-1].attrs['method'] == '/maglev.Maglev/WatchEvents', what='its end')
    assert daemon.get('/healthz')[0] == 200
    watch.wait('log', msg='http-request')
    lines = watch.of('log')
    assert [one.attrs['method'] for one in lines[-3:]] == ['/maglev.Maglev/ListBackends', '/maglev.Maglev/WatchEvents', 'GET']
    assert {one.attrs['method'] for one in lines[:-3]} == {'/maglev.Maglev/GetBackend'}


def test_nothing_is_lost_or_double_between_replay_and_news(start_api):
    """FR-6.3: subscribers that come while states change end up with the state that is"""
    backends = {f'b{i:03}': f'10.98.{i // 250}.{i % 250 + 1}' for i in range(600)}
    daemon = start_api(config(backends=backends, frontends={
        'www': frontend(VIP, pool('all', *backends))}, dataplane='vpp'), level='info')
    names = sorted(backends)
    watches, calls = [], []
    for i, name in enumerate(names[::-1][:300]):
        calls.append(daemon.api.start('PauseBackend', name=name))
        if i % 30 == 0:
            watches.append(daemon.connect().watch(backend=True))
    for call in calls:
        call.result()
    for watch in watches:
        until(lambda w=watch: len({e.backend.backend for e in w.events if e.backend.to == 'paused'}) == 300,
              what='300 paused')
        state = {}
        for event in watch.events:
            one = event.backend
            assert one.replay == (one.backend not in state), one
            assert one.replay or state[one.backend] == getattr(one, 'from'), one
            state[one.backend] = one.to
        assert state == {**dict.fromkeys(names, 'up'), **dict.fromkeys(names[300:], 'paused')}
        assert [event.seq for event in watch.events] == list(range(1, len(watch.events) + 1))


def test_transitions_of_probes_are_events_as_they_are_log_lines(start_api, net, servers):
    """FR-6.3: a server that fails, seen by two; code, reason and time are those of the log"""
    server = servers.open('web')
    daemon = start_api(config({'check': Check(port=server.port)}, {'web': (server.address, 'check')},
                              {'www': frontend(VIP, pool('all', 'web'))}, netns=net.probes.name, dataplane='vpp'))
    daemon.wait_settled('web', Check())
    watches = [daemon.connect().watch(backend=True, frontend=True) for _ in range(2)]
    for watch in watches:
        watch.wait('backend', backend='web', replay=True)
    server.answer(404)
    line = daemon.wait_state('web', 'down')
    for watch in watches:
        event = watch.wait('backend', to='down', replay=False)
        assert (event.code, event.reason) == ('L7STS', line['reason'])
        assert watch.wait('frontend', to='down', replay=False).frontend == 'www'
        at = next(e.at for e in watch.events if e.backend.to == 'down')
        assert abs(at / 1e9 - line.at) < 0.1
    server.answer(200)
    watches[0].wait('backend', to='up', replay=False)
    newest, failure = daemon.connect().backend('web').transitions[:2]  # the reason is kept after the next result
    assert (newest.to, newest.reason) == ('up', '')
    assert (failure.to, failure.code, failure.reason) == ('down', 'L7STS', line['reason'])


class Crowd:
    """Subscribers by hand, each on its own connection; they only count, so that there may be many."""

    class One(Connection):
        def __init__(self, port, body):
            super().__init__(port)
            self.messages, self.rest, self.last = 0, b'', b''
            self.send(request('/maglev.Maglev/WatchEvents', body))
            self.socket.setblocking(False)

        def read(self):
            data = self.socket.recv(1 << 18)
            assert data, 'the connection was closed'
            for kind, _, _, payload in self.take(data):
                if kind == DATA:
                    self.count(payload)

        def count(self, payload):
            self.rest, at = self.rest + payload, 0
            while len(self.rest) - at >= 5:
                end = at + 5 + struct.unpack_from('>I', self.rest, at + 1)[0]
                if end > len(self.rest):
                    break
                self.messages, self.last, at = self.messages + 1, self.rest[at + 5:end], end
            self.rest = self.rest[at:]

    def __init__(self, port, n, replayed, **fields):
        body = message('WatchRequest')(**fields).SerializeToString()
        self.members, self.due = [self.One(port, body) for _ in range(n)], 0
        self.selector = selectors.DefaultSelector()
        for member in self.members:
            self.selector.register(member.socket, selectors.EVENT_READ, member)

        self.read(replayed)

    def read(self, n, timeout=PATIENCE):
        """Until each has n events more."""
        end = time.monotonic() + timeout
        self.due += n
        while any(member.messages < self.due for member in self.members):
            assert time.monotonic() < end, (self.due, sorted(member.messages for member in self.members))
            for key, _ in self.selector.select(0.1):
                key.data.read()

    def complete(self):
        """Nobody has more than what was due, and the numbers say that nothing is missing."""
        for member in self.members:
            assert message('Event').FromString(member.last).seq == member.messages == self.due

    def close(self):
        for member in self.members:
            member.close()


def rest(call):
    """What a subscriber that wakes up still gets, and the status in the end."""
    with contextlib.suppress(RpcError):
        yield from call
    yield call.code()


def test_one_that_never_reads_is_dropped_and_500_others_are_in_time(start_api):
    """NFR-3.4, NFR-3.2: RESOURCE_EXHAUSTED for the stuck one; everybody else has everything; memory is bounded"""
    name, alone, shared = 'a'.ljust(LONG, 'a'), 5, 75
    frontends = {f'{i:03}'.ljust(LONG, 'f'): frontend(f'198.51.{i}.1', pool('all', name, *['b'] * (i >= alone)))
                 for i in range(alone + shared)}
    daemon = start_api(config(backends={name: A, 'b': B}, frontends=frontends, dataplane='vpp'), level='info', env=SMALL)
    stuck = daemon.connect(narrow=True).start('WatchEvents', None, backend=True)
    states, both = alone + shared, 2 * (alone + shared) + shared  # that are replayed to one who watches
    most = Crowd(daemon.api_port, 480, states, frontend=True)
    keen = Crowd(daemon.api_port, 20, both, frontend=True, backend=True)
    changes = {'Pause': alone, 'Resume': 2 * alone}  # of frontends: down; unknown, up
    before, worst, acts, pids = daemon.rss(), 0, 0, (daemon.pid, os.getpid())
    while daemon.metrics().one('maglev_watch_dropped_total') == 0:
        for act, states in (('Pause', 1), ('Resume', 2)):  # unknown, and up at once
            daemon.api.call(f'{act}Backend', name=name, reason='x' * LONG)
            acts += 1
            began, late = time.monotonic(), waited(*pids)
            most.read(changes[act])
            keen.read(changes[act] + states * (alone + shared))
            worst = max(worst, time.monotonic() - began - max(0, waited(*pids) - late))
        assert acts < 600, 'the stuck one was never dropped'
    assert worst < 1 + SLACK, worst
    assert daemon.rss() - before < 32 << 20
    most.complete()
    keen.complete()
    assert list(rest(stuck))[-1] == Status.RESOURCE_EXHAUSTED and 'too slow' in stuck.details()
    assert daemon.api.backend(name).state == 'up'
    most.close()
    keen.close()
