# SPDX-License-Identifier: Apache-2.0
"""The operator's acts through the API: what they do to probes, states, weights and flows (FR-3)."""
import signal
import time

import pytest

from lab import SPARE, VIP, Check, config, frontend, pool, until
from lab.api import Status
from lab.turns import waited

OTHER = '198.51.100.20'


@pytest.fixture
def pair(start_api, net, servers):
    """Backends a and b in two frontends, and a static one behind them in the first."""
    class Pair:
        a, b = servers.open('a'), servers.open('b')
        checks = {s.name: Check(port=s.port) for s in (a, b)}
        file = config(checks, {**{s.name: (s.address, s.name) for s in (a, b)}, 'spare': SPARE},
                      {'www': frontend(VIP, pool('first', 'a', 'b'), pool('second', 'spare')),
                       'more': frontend(OTHER, pool('only', 'a', 'b'))},
                      netns=net.probes.name, dataplane='vpp')

        def start(self):
            self.daemon = start_api(self.file)
            self.api, self.plane, self.maglevc = self.daemon.api, self.daemon.plane, self.daemon.maglevc
            for name, check in self.checks.items():
                self.daemon.wait_settled(name, check)
            self.plane.wait_weights(VIP, self.www(100, 100, 0))
            self.plane.wait_weights(OTHER, self.more(100, 100))
            self.plane.clear_journal()
            return self

        def www(self, a, b, spare):
            return {self.a.address: a, self.b.address: b, SPARE: spare}

        def more(self, a, b):
            return {self.a.address: a, self.b.address: b}

        def ops(self, server, change):
            return sorted(f'as-weight {vip}:80/tcp {server.address} {change}' for vip in (VIP, OTHER))

        def reload(self, how):
            mark = self.daemon.mark()
            self.daemon.write(self.file)
            if how == 'SIGHUP':
                self.daemon.signal(signal.SIGHUP)
            else:
                assert self.api.call('ReloadConfig').ok
            self.daemon.wait('config-loaded', mark)

    return Pair()


def after(seconds):
    """Unix time in nanoseconds."""
    return time.time_ns() + int(seconds * 1e9)


def test_pause_stops_probes_and_drains_everywhere_and_resume_starts_again(pair):
    """FR-3.1: no probe, counter frozen, weight 0 in every frontend, no flow flushed"""
    pair.start()
    paused = pair.api.call('PauseBackend', name='a')
    assert (paused.state, paused.enabled, paused.override.act) == ('paused', True, 'paused')
    assert paused.counter == pair.checks['a'].top
    pair.plane.wait_weights(VIP, pair.www(0, 100, 0))
    pair.plane.wait_weights(OTHER, pair.more(0, 100))
    assert sorted(pair.plane.journal()) == pair.ops(pair.a, '100->0')
    pair.b.catch_up()
    asked = len(pair.a.requests)
    pair.b.wait_more(8)
    assert len(pair.a.requests) == asked
    assert pair.daemon.metrics().one('maglev_backend_health', backend='a') == pair.checks['a'].top
    resumed = pair.api.call('ResumeBackend', name='a')
    assert (resumed.state, resumed.HasField('override')) == ('unknown', False)
    pair.a.wait_more(1)
    pair.plane.wait_weights(VIP, pair.www(100, 100, 0))
    assert [t.code for t in pair.api.backend('a').transitions][:3] == ['L7OK', 'resumed', 'paused']


def test_disable_ends_flows_and_enable_brings_it_back(pair):
    """FR-3.2"""
    pair.start()
    disabled = pair.api.call('DisableBackend', name='a')
    assert (disabled.state, disabled.enabled) == ('disabled', False)
    pair.plane.wait_weights(VIP, pair.www(0, 100, 0))
    pair.plane.wait_weights(OTHER, pair.more(0, 100))
    assert sorted(pair.plane.journal()) == pair.ops(pair.a, '100->0 flush')
    pair.b.catch_up()
    asked = len(pair.a.requests)
    pair.b.wait_more(8)
    assert len(pair.a.requests) == asked
    assert pair.api.call('EnableBackend', name='a').state == 'unknown'
    pair.plane.wait_weights(VIP, pair.www(100, 100, 0))


def test_acts_are_idempotent(pair):
    """FR-3: the second time nothing happens, but the answer is the same"""
    pair.start()
    for act, state in (('Pause', 'paused'), ('Disable', 'disabled')):
        first = pair.api.call(f'{act}Backend', name='a')
        pair.daemon.wait_state('a', state)  # its line may come behind its answer
        mark = pair.daemon.mark()
        second = pair.api.call(f'{act}Backend', name='a')
        assert (first.state, first.since, first.override.at) == (state, second.since, second.override.at)
        assert not pair.daemon.all('backend-transition', mark, backend='a')
    pair.api.call('EnableBackend', name='a')
    pair.daemon.wait_state('a', 'up', mark)
    mark = pair.daemon.mark()
    for act in ('Enable', 'Resume'):
        assert pair.api.call(f'{act}Backend', name='a').state == 'up'
    assert not pair.daemon.all('backend-transition', mark, backend='a')


def test_what_makes_no_sense_is_refused(pair):
    """FR-3, facts 6: a disabled backend is neither paused nor resumed; names and values are looked at"""
    pair.start()
    pair.api.call('DisableBackend', name='a')
    for act, word in (('Pause', 'pause'), ('Resume', 'resume')):
        pair.api.refused(f'{act}Backend', Status.FAILED_PRECONDITION, 'enable it first', name='a')
        pair.maglevc.refused(1, 'enable it first', 'set', 'backend', 'a', word)
    assert pair.api.backend('a').state == 'disabled'
    for act in ('Pause', 'Resume', 'Enable', 'Disable'):
        pair.api.refused(f'{act}Backend', Status.NOT_FOUND, '"nobody"', name='nobody')
    pair.api.refused('PauseBackend', Status.INVALID_ARGUMENT, 'until', name='b', until=1)
    weight = {'frontend': 'www', 'pool': 'first', 'backend': 'a', 'weight': 10}
    pair.api.refused('SetFrontendPoolBackendWeight', Status.INVALID_ARGUMENT, '0 to 100', **{**weight, 'weight': 101})
    for key in ('frontend', 'pool', 'backend'):
        pair.api.refused('SetFrontendPoolBackendWeight', Status.NOT_FOUND, '"nobody"', **{**weight, key: 'nobody'})
    pair.maglevc.refused(1, 'nobody', 'set', 'backend', 'nobody', 'pause')
    assert pair.plane.weights(VIP) == pair.www(0, 100, 0)


def test_a_weight_reaches_the_data_plane_at_once(pair):
    """FR-3.3: of one (frontend, pool, backend), with and without flush; 0 lets the next pool serve"""
    pair.start()

    def set_weight(weight, backend='a', **more):
        answer = pair.api.call('SetFrontendPoolBackendWeight', frontend='www', pool='first', backend=backend,
                               weight=weight, **more)
        return next(row for row in answer.pools[0].backends if row.name == backend)

    row = set_weight(20)
    assert (row.weight, row.effective_weight, row.configured_weight, row.mutated) == (20, 20, 100, True)
    pair.plane.wait_weights(VIP, pair.www(20, 100, 0))
    set_weight(20, flush=True)
    pair.plane.wait_journal(f'as-weight {VIP}:80/tcp {pair.a.address} 20->20 flush')
    set_weight(0)
    pair.plane.wait_weights(VIP, pair.www(0, 100, 0))  # otherwise both may be one sync, in another order
    set_weight(0, 'b', flush=True)
    pair.plane.wait_weights(VIP, pair.www(0, 0, 100))
    assert pair.plane.weights(OTHER) == pair.more(100, 100)
    op = f'as-weight {VIP}:80/tcp'
    assert pair.plane.journal() == [f'{op} {pair.a.address} 100->20', f'{op} {pair.a.address} 20->20 flush',
                                    f'{op} {pair.a.address} 20->0', f'{op} {SPARE} 0->100',
                                    f'{op} {pair.b.address} 100->0 flush']
    assert pair.api.frontend('www').active_pool == 'second'
    row = set_weight(100)
    assert (row.weight, row.mutated) == (100, False)
    pair.plane.wait_weights(VIP, pair.www(100, 0, 0))
    pair.daemon.wait('weight-set', count=5)
    assert len(pair.daemon.all('weight-set')) == 5


def test_reason_and_end_are_shown_wherever_the_override_is(pair):
    """FR-3: GetBackend, GetFrontend, maglevc and the events say why, and until when"""
    pair.start()
    watch = pair.api.watch(backend=True)
    until_ns = after(3600)
    pair.api.call('PauseBackend', name='a', reason='new disk', until=until_ns)
    shown = [pair.api.backend('a').override, pair.api.member('www', 'a').override, pair.api.member('more', 'a').override]
    assert all((o.act, o.reason, o.until) == ('paused', 'new disk', until_ns) and o.at for o in shown)
    assert not pair.api.member('www', 'b').HasField('override')
    assert watch.wait('backend', backend='a', to='paused', frontend='more').reason == 'new disk'
    for words in (['show', 'backends', 'a'], ['show', 'backends'], ['show', 'frontends', 'www']):
        assert 'new disk' in pair.maglevc.text(*words)
    pair.api.call('PauseBackend', name='a', reason='and a new fan')
    override = pair.api.backend('a').override
    assert (override.reason, override.until) == ('and a new fan', 0)
    pair.maglevc.text('set', 'backend', 'a', 'disable', 'reason', 'fire', 'for', '1h')
    override = pair.api.backend('a').override
    assert (override.act, override.reason) == ('disabled', 'fire')
    assert abs(override.until - after(3600)) < 60e9
    long = pair.api.call('PauseBackend', name='b', reason='é' * 100).override.reason
    assert len(long.encode()) <= 127 and set(long) == {'é'}


@pytest.mark.parametrize('act, state, code', [('Pause', 'paused', 'resumed'), ('Disable', 'disabled', 'enabled')])
def test_an_override_ends_by_itself(pair, act, state, code):
    """FR-3: until; the backend is probed again and comes back"""
    pair.start()
    until_ns, late = after(2), waited(pair.daemon.pid)  # it must not be over when it arrives
    assert pair.api.call(f'{act}Backend', name='a', until=until_ns).state == state
    line = pair.daemon.wait('backend-transition', code=code)
    assert 0 <= line.at - until_ns / 1e9 < 1 + waited(pair.daemon.pid) - late
    pair.daemon.wait_state('a', 'up', pair.daemon.lines.index(line))
    assert not pair.api.backend('a').HasField('override')
    pair.plane.wait_weights(VIP, pair.www(100, 100, 0))


@pytest.mark.parametrize('how', ['SIGHUP', 'ReloadConfig'])
def test_overrides_and_weights_survive_a_reload(pair, how):
    """FR-3.4: also when the file says otherwise by now, and while what they are about exists"""
    pair.start()
    pair.api.call('PauseBackend', name='a', reason='new disk')
    pair.api.call('DisableBackend', name='b', reason='fire')
    pair.api.call('SetFrontendPoolBackendWeight', frontend='www', pool='second', backend='spare', weight=7)
    pair.plane.wait_weights(VIP, pair.www(0, 0, 7))
    maglev = pair.file['maglev']
    maglev['backends']['b']['enabled'] = True
    maglev['frontends']['www']['pools'][1]['backends']['spare'] = {'weight': 50}
    maglev['healthchecks']['a']['rise'] = 3
    reloaded = time.time()
    pair.reload(how)
    assert [(b.state, b.override.reason) for b in (pair.api.backend('a'), pair.api.backend('b'))] == \
        [('paused', 'new disk'), ('disabled', 'fire')]
    row = pair.api.member('www', 'spare')
    assert (row.weight, row.configured_weight, row.mutated) == (7, 50, True)
    assert pair.plane.weights(VIP) == pair.www(0, 0, 7)
    assert not [one for one in pair.a.requests if one['at'] > reloaded]
    del maglev['backends']['b']
    for one in maglev['frontends'].values():
        one['pools'][0]['backends'].pop('b')
    pair.reload(how)
    pair.api.refused('GetBackend', Status.NOT_FOUND, name='b')
    maglev['backends']['b'] = {'address': pair.b.address, 'healthcheck': 'b'}
    pair.reload(how)
    assert not pair.api.backend('b').HasField('override')
    pair.daemon.wait_state('b', 'up')


def test_overrides_and_weights_die_with_the_process(pair):
    """FR-3.5: after a restart the file is all there is"""
    pair.start()
    pair.api.call('PauseBackend', name='a')
    pair.api.call('SetFrontendPoolBackendWeight', frontend='www', pool='first', backend='b', weight=7)
    pair.plane.wait_weights(VIP, pair.www(0, 7, 0))
    pair.daemon.stop()
    pair.start()
    assert pair.api.backend('a').state == 'up' and not pair.api.backend('a').HasField('override')
    assert not pair.api.member('www', 'b').mutated


def test_a_static_backend_can_be_paused_and_resumed(pair):
    """FR-1.7, FR-3.1: up at once, since nobody asks it"""
    pair.start()
    assert pair.api.call('PauseBackend', name='spare').state == 'paused'
    assert pair.api.call('ResumeBackend', name='spare').state == 'up'
    assert [t.code for t in pair.api.backend('spare').transitions][:3] == ['static', 'resumed', 'paused']


def test_many_operators_at_once_end_in_one_state(pair):
    """FR-3: several clients, each on a connection of its own; the last word of each backend counts"""
    pair.start()
    clients = [pair.daemon.connect() for _ in range(8)]
    calls = [client.start(f'{act}Backend', name=name) for _ in range(10) for client in clients
             for act, name in (('Pause', 'a'), ('Resume', 'a'), ('Disable', 'b'), ('Enable', 'b'))]
    for call in calls:
        call.exception()  # resumes of what is disabled may be refused
    for name in ('a', 'b'):
        pair.api.call('EnableBackend', name=name)
        pair.api.call('ResumeBackend', name=name)
    pair.plane.wait_weights(VIP, pair.www(100, 100, 0))
    until(lambda: pair.api.frontend('www').state == 'up', what='the frontend up')
