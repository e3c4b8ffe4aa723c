# SPDX-License-Identifier: Apache-2.0
"""Who did what: the operator of an act in the log, in events, in the history and in the override; acts on many; plans."""
import time

import pytest

from lab import VIP, Authority, config, frontend, pool
from lab.api import Status

NAME = 'lb.example.net'
A, B, C = '10.99.0.11', '10.99.0.12', '10.99.0.13'
HERE = '127.0.0.1'
FILE = config(backends={'a': A, 'a2': A, 'b': B, 'c': C},
              frontends={'www': frontend(VIP, pool('first', 'a', 'b'), pool('second', 'c')),
                         'mail': frontend('198.51.100.20', pool('only', 'a2'))}, dataplane='vpp')


@pytest.fixture(scope='module')
def certificates(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp('operators'), NAME)
    authority.alice, authority.dash = authority.issue('alice', 'alice'), authority.issue('dash', 'dash')
    return authority


@pytest.fixture
def start_tls(start_api, certificates):
    def start_tls(*args):
        daemon = start_api(FILE, args=['--grpc-tls-cert', certificates.good[0], '--grpc-tls-key', certificates.good[1],
                                       '--grpc-client-ca', certificates.ca, *args])

        def client(pair, **claims):
            files = []
            for path in (certificates.ca, *pair):
                with open(path, 'rb') as file:
                    files.append(file.read())
            api = daemon.connect(tls=tuple(files), name=NAME)
            api.metadata = claim(**claims)
            return api

        daemon.client = client
        return daemon

    return start_tls


def claim(name=None, address=None):
    """The metadata of a client that names an operator."""
    return [(key, value) for key, value in (('maglev-operator', name), ('maglev-operator-address', address)) if value]


def after(seconds):
    return time.time_ns() + int(seconds * 1e9)


def by(message):
    return message.operator, message.operator_address


def test_a_certificate_names_the_operator_wherever_an_act_is_shown(start_tls, certificates):
    daemon = start_tls()
    alice = daemon.client(certificates.alice)
    watch = alice.watch(backend=True, log=True)
    watch.wait('backend', backend='a', replay=True)
    assert by(alice.call('PauseBackend', name='a', reason='disk').override) == ('alice', HERE)
    line = daemon.wait('backend-transition', backend='a', to='paused')
    assert (line['operator'], line['operator_address'], line['reason']) == ('alice', HERE, 'disk')
    act = daemon.wait('operator-act', act='pause')
    assert (act['backend'], act['operator'], act['operator_address'], act['reason']) == ('a', 'alice', HERE, 'disk')
    assert by(watch.wait('backend', backend='a', to='paused', replay=False)) == ('alice', HERE)
    assert watch.wait('log', msg='operator-act').attrs['operator'] == 'alice'
    assert by(alice.call('ResumeBackend', name='a').transitions[1]) == ('alice', HERE)  # 0: the static pass
    assert by(watch.wait('backend', code='resumed')) == ('alice', HERE)
    pooled = alice.call('SetFrontendPoolBackendWeight', frontend='www', pool='first', backend='b', weight=7, reason='slow')
    weighed = next(row for row in pooled.pools[0].backends if row.name == 'b').weight_override
    assert (weighed.act, weighed.reason, *by(weighed)) == ('weight', 'slow', 'alice', HERE)
    assert daemon.wait('weight-set', backend='b')['operator'] == 'alice'
    alice.call('ReloadConfig')
    alice.call('SyncVPPLBState')
    for what in ('weight', 'reload', 'sync'):
        assert daemon.wait('operator-act', act=what)['operator'] == 'alice'
    # an act that changes no state is an act all the same
    alice.call('PauseBackend', name='a')
    alice.call('PauseBackend', name='a', reason='another disk')
    daemon.wait('operator-act', act='pause', reason='another disk')


def test_only_a_delegate_is_believed_when_it_names_another(start_tls, start_api, certificates):
    daemon = start_tls('--grpc-delegates', 'dash,other')
    dash = daemon.client(certificates.dash, name='carol', address='203.0.113.9')
    assert by(dash.call('PauseBackend', name='a').override) == ('carol via dash', '203.0.113.9')
    liar = daemon.client(certificates.alice, name='carol', address='203.0.113.9')
    assert by(liar.call('PauseBackend', name='a').override) == ('alice', HERE)
    plain = start_api(FILE)
    plain.api.metadata = claim('carol', '203.0.113.9')
    assert by(plain.api.call('PauseBackend', name='a').override) == ('unverified:carol', HERE)
    plain.api.metadata = claim('caf%C3%A9 %1b[2J')
    assert by(plain.api.call('PauseBackend', name='b').override) == ('unverified:café \\x1b[2J', HERE)
    plain.api.metadata = None
    assert by(plain.api.call('DisableBackend', name='c').override) == ('', HERE)


def test_who_may_not_act_is_in_the_log(start_tls, certificates):
    daemon = start_tls('--grpc-operators', 'dash')
    daemon.client(certificates.alice).refused('ActOnBackends', Status.PERMISSION_DENIED, '"alice"', names=['a'], act='pause')
    line = daemon.wait('operator-refused')
    assert (line['level'], line['operator'], line['operator_address']) == ('WARN', 'alice', HERE)
    # looking is not acting
    assert daemon.client(certificates.alice).call('ActOnBackends', names=['a'], act='pause', dry_run=True).backends


def told(answer):
    return ({b.name: (b.before, b.after) for b in answer.backends},
            {f.frontend: (f.kind, f.pool_before, f.pool_after, f.servers_before, f.servers_after, f.members)
             for f in answer.frontends})


def test_one_act_on_all_backends_of_a_host_with_its_consequences(start_api):
    daemon = start_api(FILE)
    api = daemon.api
    expected = ({'a': ('up', 'paused'), 'a2': ('up', 'paused')},
                {'mail': ('down', 'only', '', 1, 0, 1), 'www': ('fewer', 'first', 'first', 2, 1, 2)})
    seen = api.call('ActOnBackends', address=A, act='pause', dry_run=True)
    assert told(seen) == expected and seen.dry_run and [f.frontend for f in seen.frontends] == ['mail', 'www']
    assert api.backend('a').state == 'up'
    done = api.call('ActOnBackends', address=A, act='pause', reason='host update')
    assert told(done) == expected and not done.dry_run
    assert {api.backend(n).override.reason for n in ('a', 'a2')} == {'host update'}
    daemon.plane.wait_weights(VIP, {A: 0, B: 100, C: 0})
    assert daemon.wait('operator-act', act='pause')['backends'] == 2
    assert told(api.call('ActOnBackends', names=['b'], act='disable', dry_run=True))[1] == {
        'www': ('failover', 'first', 'second', 1, 1, 1)}
    assert told(api.call('ActOnBackends', names=['a*'], act='resume'))[1] == {
        'mail': ('up', '', 'only', 0, 1, 1), 'www': ('more', 'first', 'first', 1, 2, 2)}
    daemon.plane.wait_weights(VIP, {A: 100, B: 100, C: 0})


def test_an_act_on_many_is_all_or_nothing(start_api):
    api = start_api(FILE).api
    api.call('DisableBackend', name='b')
    api.refused('ActOnBackends', Status.FAILED_PRECONDITION, 'nothing was changed: backend "b"', names=['*'], act='pause')
    assert {name: api.backend(name).state for name in 'abc'} == {'a': 'up', 'b': 'disabled', 'c': 'up'}
    for fields, status, text in (
            ({'act': 'pause'}, Status.INVALID_ARGUMENT, 'address or names'),
            ({'act': 'pause', 'address': A, 'names': ['a']}, Status.INVALID_ARGUMENT, 'address or names'),
            ({'act': 'eat', 'names': ['a']}, Status.INVALID_ARGUMENT, '"eat"'),
            ({'act': 'pause', 'address': 'a'}, Status.INVALID_ARGUMENT, 'not an address'),
            ({'act': 'pause', 'names': ['a'], 'until': 1}, Status.INVALID_ARGUMENT, 'past'),
            ({'act': 'disable', 'names': ['a'], 'from': after(9)}, Status.INVALID_ARGUMENT, 'only a pause'),
            ({'act': 'pause', 'names': ['x'] * 257}, Status.INVALID_ARGUMENT, '256'),
            ({'act': 'pause', 'names': ['x*', 'y']}, Status.NOT_FOUND, '"x*"'),
            ({'act': 'pause', 'address': '10.99.0.99'}, Status.NOT_FOUND, '10.99.0.99')):
        api.refused('ActOnBackends', status, text, **fields)


def test_a_pause_begins_and_ends_by_itself(start_api):
    daemon = start_api(FILE)
    api = daemon.api
    start, end = after(1), after(2)
    plan = api.call('PauseBackend', name='a', reason='rack', until=end, **{'from': start})
    assert plan.state == 'up' and not plan.HasField('override')
    assert (plan.scheduled.act, getattr(plan.scheduled, 'from'), plan.scheduled.until) == ('paused', start, end)
    assert by(plan.scheduled) == ('', HERE)
    listed = api.call('ListOverrides')
    assert [(o.backend, o.override.act, getattr(o.override, 'from')) for o in listed.overrides] == [('a', 'paused', start)]
    assert not listed.kept
    began = daemon.wait('override-began', backend='a')
    assert (began['act'], began['reason'], began['operator_address']) == ('paused', 'rack', HERE)
    line = daemon.wait('backend-transition', backend='a', to='paused')
    assert line['reason'] == 'rack' and time.time_ns() >= start
    daemon.wait('override-ended', backend='a', act='paused')
    daemon.wait('backend-transition', backend='a', to='up', **{'from': 'unknown'}, count=2)
    assert time.time_ns() >= end and not api.backend('a').HasField('scheduled')


def test_resume_cancels_a_planned_pause(start_api):
    daemon = start_api(FILE)
    api = daemon.api
    api.call('PauseBackend', name='a', **{'from': after(3600)})
    api.call('PauseBackend', name='a', reason='later', **{'from': after(7200)})  # takes the place of the first
    assert [o.override.reason for o in api.call('ListOverrides').overrides] == ['later']
    assert not api.call('ResumeBackend', name='a').HasField('scheduled')
    assert not api.call('ListOverrides').overrides
    for fields, text in (({'from': 1}, 'past'), ({'from': after(9), 'until': after(8)}, 'before from')):
        api.refused('PauseBackend', Status.INVALID_ARGUMENT, text, name='a', **fields)
    # one that is disabled is paused when it is enabled within the time of the plan
    api.call('DisableBackend', name='b')
    api.call('PauseBackend', name='b', reason='rack', **{'from': after(1)})
    api.call('PauseBackend', name='c', **{'from': after(1.1)})
    daemon.wait('backend-transition', backend='c', to='paused')
    assert api.backend('b').state == 'disabled'
    api.call('EnableBackend', name='b')
    daemon.wait('backend-transition', backend='b', to='paused')


def test_an_act_on_a_thousand_backends_does_not_hold_the_loop(start_api):
    many = {f'b{i:04}': f'10.99.{10 + i // 250}.{1 + i % 250}' for i in range(1000)}
    daemon = start_api(config(backends=many, frontends={'www': frontend(VIP, pool('all', *many))}, dataplane='vpp'))
    done = daemon.api.call('ActOnBackends', names=['b*'], act='pause')
    assert len(done.backends) == 1000 and told(done)[1] == {'www': ('down', 'all', '', 1000, 0, 1000)}
    daemon.wait('backend-transition', count=1000, to='paused')
    assert len([o for o in daemon.api.call('ListOverrides').overrides]) == 1000


def test_maglevc_acts_on_a_host_and_shows_who_set_what(start_api):
    daemon = start_api(FILE)
    plan = [line.split() for line in daemon.maglevc.text('set', 'backends', 'address', A, 'pause', 'plan').splitlines()]
    assert ['mail', 'goes', 'down', 'only', '->', '-', '1', '->', '0', 'of', '1'] in plan and plan[0][-2:] == ['WOULD', 'BE']
    assert daemon.api.backend('a').state == 'up'
    daemon.maglevc.text('set', 'backends', 'a*', 'pause', 'reason', 'host update')
    daemon.maglevc.text('set', 'backend', 'b', 'pause', 'from', '2099-01-01T00:00Z', 'until', '2099-01-01T01:00Z')
    shown = daemon.maglevc.text('show', 'overrides')
    assert [line.split()[:2] for line in shown.splitlines()[1:4]] == [['a', 'paused'], ['a2', 'paused'], ['b', 'paused']]
    assert '2099-01-01T00:00:00Z' in shown and 'host update' in shown and HERE in shown
    daemon.maglevc.text('set', 'backend', 'b', 'resume')
    assert '2099' not in daemon.maglevc.text('show', 'overrides')


def test_an_api_that_is_open_to_the_network_says_so(start_api, start_tls):
    closed = start_api(FILE)
    assert closed.metrics().one('maglev_grpc_open') == 0 and not closed.all('grpc-open')
    opened = start_api(FILE, grpc=':0')
    assert opened.wait('grpc-open')['level'] == 'WARN'
    assert opened.metrics().one('maglev_grpc_open') == 1
