# SPDX-License-Identifier: Apache-2.0
"""The data plane through the API: what is there, what should be, and making it so."""
import os
import re
import time

import pytest

from lab import SLACK, SPARE, VIP, config, frontend, pool
from lab.api import RpcError, Status
from lab.turns import waited

A, B = '10.99.0.11', '10.99.0.12'
OTHER, STALE = '198.51.100.20', '203.0.113.5'
FILE = config(backends={'a': A, 'b': B, 'spare': SPARE},
              frontends={'www': frontend(VIP, pool('first', 'a', 'b'), pool('second', 'spare')),
                         'more': frontend(OTHER, pool('only', 'a'))}, dataplane='vpp', lb={'sync-interval': '1h'})


@pytest.fixture
def daemon(start_api):
    daemon = start_api(FILE)
    daemon.plane.wait_weights(VIP, {A: 100, B: 100, SPARE: 0})
    daemon.plane.wait_weights(OTHER, {A: 100})
    daemon.wait('lb-sync-all')
    daemon.plane.clear_journal()
    return daemon


def rows(state):
    """{(VIP, AS): (in the data plane, wanted)}; None where it is not"""
    return {(vip.address, one.address): (one.weight if one.present else None, one.wanted_weight if one.wanted else None)
            for vip in state.vips for one in vip.application_servers}


def test_what_is_there_beside_what_should_be(daemon):
    """FR-4: addresses, weights, names; and the settings"""
    state = daemon.api.call('GetVPPLBState')
    assert rows(state) == {(VIP, A): (100, 100), (VIP, B): (100, 100), (VIP, SPARE): (0, 0), (OTHER, A): (100, 100)}
    assert [(vip.address, vip.protocol, vip.port, vip.frontend, vip.present, vip.wanted) for vip in state.vips] == \
        [(VIP, 'tcp', 80, 'www', True, True), (OTHER, 'tcp', 80, 'more', True, True)]
    assert [one.backend for one in state.vips[0].application_servers] == ['spare', 'a', 'b'], 'by address'
    assert (state.connected, state.held, state.warmup, state.problem) == (True, False, 'done', '')
    assert (state.ipv4_src_address, state.flow_timeout, state.sticky_buckets_per_core) == ('192.0.2.1', 40, 1024)
    assert state.last_full_sync > 0
    assert A in daemon.maglevc.text('show', 'lb', 'state')


def test_drift_is_shown_and_a_plan_says_what_a_sync_then_does(daemon):
    """FR-4.2: seen, planned without a write, repaired on demand, and gone"""
    plane = daemon.plane
    plane.seed([f'as {VIP} 6 80 {A} 7', f'as {OTHER} 6 80 10.9.9.9 50', f'vip {STALE} 17 53 gre4 1'])
    state = daemon.api.call('GetVPPLBState')
    assert rows(state) == {(VIP, A): (7, 100), (VIP, B): (100, 100), (VIP, SPARE): (0, 0), (OTHER, A): (100, 100),
                           (OTHER, '10.9.9.9'): (50, None)}
    assert [(vip.address, vip.frontend, vip.wanted) for vip in state.vips][-1] == (STALE, '', False)
    plan = daemon.api.call('SyncVPPLBState', plan=True)
    assert plan.operations and not plane.journal()
    assert daemon.maglevc.json('sync', 'lb', 'state', 'plan')['operations'] == list(plan.operations)
    done = daemon.api.call('SyncVPPLBState')
    assert plane.journal() == list(done.operations) == list(plan.operations)
    assert plane.weights(VIP) == {A: 100, B: 100, SPARE: 0} and plane.weights(OTHER) == {A: 100}
    assert (STALE, '17', '53') not in plane.vips()
    assert set(done.operations) >= {f'as-weight {VIP}:80/tcp {A} 7->100', f'as-del {OTHER}:80/tcp 10.9.9.9 50 flush'}
    assert not daemon.api.call('SyncVPPLBState').operations


def test_one_frontend_can_be_synced_alone(daemon):
    """FR-4: what an operation that failed left behind is in the state, in the plan, and repaired"""
    plane = daemon.plane
    plane.ask('fail-applies 1000')
    for frontend_, pool_ in (('www', 'first'), ('more', 'only')):
        daemon.api.call('SetFrontendPoolBackendWeight', frontend=frontend_, pool=pool_, backend='a', weight=30)
    daemon.wait('lb-sync-failed')
    state = rows(daemon.api.call('GetVPPLBState'))
    assert state[VIP, A] == state[OTHER, A] == (100, 30)
    plan = daemon.api.call('SyncVPPLBState', frontend='more', plan=True)
    assert list(plan.operations) == [f'as-weight {OTHER}:80/tcp {A} 100->30']
    assert daemon.maglevc.json('sync', 'lb', 'state', 'more', 'plan')['operations'] == list(plan.operations)
    plane.ask('fail-applies 0')
    done = daemon.api.call('SyncVPPLBState', frontend='more')
    assert plane.weights(OTHER) == {A: 30}
    assert all(OTHER in op for op in done.operations)
    daemon.api.call('SyncVPPLBState')
    assert plane.weights(VIP) == {A: 30, B: 100, SPARE: 0}


def test_without_a_connection_it_says_so(daemon):
    """FR-4.4: UNAVAILABLE, and what should be is still shown"""
    daemon.plane.ask('down')
    daemon.wait('dataplane-disconnect')
    state = daemon.api.call('GetVPPLBState')
    assert not state.connected and rows(state)[VIP, A] == (None, 100)
    daemon.api.refused('SyncVPPLBState', Status.UNAVAILABLE, 'not connected')
    daemon.api.refused('SyncVPPLBState', Status.NOT_FOUND, '"nobody"', frontend='nobody')
    daemon.maglevc.refused(1, 'not connected', 'sync', 'lb', 'state')
    daemon.plane.ask('up')
    daemon.wait('dataplane-connect', count=2)
    assert daemon.api.call('GetVPPLBState').connected


def test_the_warm_up_is_respected(start_api):
    """NFR-1.2: an operator's sync does not write what the warm-up holds; it can be looked at"""
    file = config({'never': {'type': 'tcp', 'port': 1, 'interval': '1h', 'fast-interval': '1h', 'timeout': '1h'}},
                  {'a': (A, 'never')}, {'www': frontend(VIP, pool('first', 'a'))}, dataplane='vpp',
                  lb={'startup-min-delay': '1h', 'startup-max-delay': '1h'})
    daemon = start_api(file)
    daemon.wait('dataplane-connect')
    daemon.plane.seed([f'vip {VIP} 6 80 gre4 0', f'as {VIP} 6 80 {A} 100'])
    state = daemon.api.call('GetVPPLBState')
    assert state.warmup == 'hands-off' and rows(state) == {(VIP, A): (100, 0)}
    daemon.api.refused('SyncVPPLBState', Status.FAILED_PRECONDITION, 'warm-up', frontend='www')
    plan = daemon.api.call('SyncVPPLBState', plan=True)
    assert f'as-weight {VIP}:80/tcp {A} 100->0' in plan.operations
    assert any('warm-up' in line for line in plan.withheld), plan
    assert not daemon.plane.journal()


def test_a_client_that_leaves_a_sync_is_forgotten(daemon):
    """The data plane hangs, callers give up, and it goes on as if they had never been"""
    daemon.plane.ask('lag 1')  # much longer than their deadline, and less than what a reading may take
    for _ in range(5):
        daemon.api.start('SyncVPPLBState').cancel()
        daemon.api.start('SyncVPPLBState', plan=True).cancel()
        daemon.api.start('GetVPPLBState').cancel()
    for method in ('SyncVPPLBState', 'GetVPPLBState'):
        daemon.api.refused(method, Status.DEADLINE_EXCEEDED, timeout=0.05)
    daemon.plane.ask('lag 0')
    assert daemon.api.call('SyncVPPLBState').dataplane


def test_a_data_plane_that_hangs_holds_nobody_up(daemon):
    """FR-4.4: the last picture after 2 s, marked as such; no plan is made from it; and it heals"""
    plane = daemon.plane
    before = daemon.api.call('GetVPPLBState')
    assert (before.as_of, before.problem) == (0, '')
    plane.ask('hang 1')
    plane.seed([f'as {VIP} 6 80 {A} 7'])
    pids = daemon.pid, os.getpid()
    asked, late = time.time(), waited(*pids)
    plan = daemon.api.start('SyncVPPLBState', plan=True)
    state = daemon.api.call('GetVPPLBState')
    assert 1.9 < time.time() - asked < 2 + SLACK + max(0, waited(*pids) - late)
    assert 'did not answer within 2s' in state.problem and state.connected
    assert before.last_full_sync < state.as_of < asked * 1e9
    assert rows(state) == rows(before), 'not what has come since'
    with pytest.raises(RpcError) as error:
        plan.result()
    assert error.value.code() == Status.UNAVAILABLE and 'did not answer' in error.value.details()
    shown = daemon.maglevc.text('show', 'lb', 'state')
    assert 'did not answer' in shown and 'as-of' in shown
    plane.ask('hang 0')
    plane.ask('down')
    plane.ask('up')
    daemon.wait('dataplane-connect', count=2)
    healed = daemon.api.call('GetVPPLBState')
    assert (healed.as_of, healed.problem) == (0, '')


FLOWS = 8  # core/l4/counters.h: LB_HAS_AS_FLOWS


def count(daemon, **flows):
    """A count of flows that begins now."""
    daemon.plane.seed([f'counters {FLOWS}'] + [f'count-as {vip} 6 80 {A} 0 0 0 {flows["a"]}' for vip in (VIP, OTHER)])


def of(daemon, backend):
    state = daemon.api.call('GetVPPLBState', backend=backend)
    return {vip.address: one for vip in state.vips for one in vip.application_servers}


def test_drained_needs_weight_0_and_a_count_after_it(daemon):
    """the word is the same in the API and in maglevc; a count from before the pause says nothing"""
    count(daemon, a=0)
    assert set(of(daemon, 'a')) == {VIP, OTHER} and set(of(daemon, 'b')) == {VIP}
    assert not any(one.drained for one in of(daemon, 'a').values()), 'it has a weight'
    daemon.api.call('PauseBackend', name='a')
    daemon.plane.wait_weights(OTHER, {A: 0})
    assert not any(one.drained for one in of(daemon, 'a').values()), 'the count is older than the pause'
    count(daemon, a=2)
    assert {one.flows for one in of(daemon, 'a').values()} == {2}
    assert not any(one.drained for one in of(daemon, 'a').values())
    count(daemon, a=0)
    assert all(one.drained for one in of(daemon, 'a').values())
    assert daemon.maglevc.text('show', 'lb', 'state').count('[drained]') == 2
    daemon.api.call('ResumeBackend', name='a')
    daemon.plane.wait_weights(OTHER, {A: 100})
    assert not any(one.drained for one in of(daemon, 'a').values())
    daemon.api.refused('GetVPPLBState', Status.NOT_FOUND, backend='nobody')


def test_a_wait_ends_with_the_drain_or_says_why_it_cannot(daemon):
    refused = daemon.maglevc.run('set', 'backend', 'spare', 'pause', 'wait', '2s')  # the first answer must come in time
    assert refused.returncode == 4 and 'its flows are not counted yet' in refused.stderr
    daemon.plane.ask('counters 1')
    refused = daemon.maglevc.run('set', 'backend', 'a', 'pause', 'wait')
    assert refused.returncode == 1 and 'the data plane does not count flows' in refused.stderr
    count(daemon, a=3)
    over = daemon.maglevc.run('set', 'backend', 'a', 'pause', 'wait', '2s')
    assert over.returncode == 4 and 'the time is over: 6 flows left' in over.stderr
    count(daemon, a=0)
    assert 'backend a: drained after ' in daemon.maglevc.text('set', 'backend', 'a', 'pause', 'wait')
    assert daemon.maglevc.json('set', 'backend', 'a', 'disable', 'wait')['state'] == 'disabled'


def test_a_wait_on_a_terminal_shows_what_is_left(daemon, terminal):
    """one line that is written over; Ctrl-C ends the wait, not the pause"""
    count(daemon, a=3)
    it = terminal([*daemon.maglevc.command, 'set', 'backend', 'a', 'pause', 'wait'])
    it.wait(lambda screen: re.search(r'a: 6 flows left, \d+s', screen.text), 'what is left')
    count(daemon, a=1)
    it.wait_text('a: 2 flows left, ')
    assert '6 flows' not in it.text
    it.type('^C')
    it.wait_text('interrupted; backend a stays as it is')
    assert it.end() == 1 and daemon.api.backend('a').state == 'paused'


def test_interfaces_that_are_missing_degrade_it(daemon):
    """events, the state, and back"""
    watch = daemon.api.watch(dataplane=True)
    watch.wait('dataplane', status='connected')
    daemon.plane.ask('interface eth0 1 native -')
    daemon.plane.ask('interface eth1 0 - no_such_interface')
    told = watch.wait('dataplane', change='degraded')
    assert (told.status, told.connected, told.reason, told.problem) == ('degraded', True, *['no such interface'] * 2)
    state = daemon.api.call('GetVPPLBState')
    assert (state.status, state.connected, state.problem) == ('degraded', True, 'no such interface')
    assert [(one.name, one.attached, one.mode) for one in state.interfaces] == [('eth0', True, 'native'), ('eth1', False, '')]
    daemon.plane.ask('interface eth1 1 generic -')
    watch.wait('dataplane', change='connected', status='connected', problem='')
    assert daemon.wait('dataplane-recover')
