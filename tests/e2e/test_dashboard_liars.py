# SPDX-License-Identifier: Apache-2.0
"""Servers that say they are a maglevd: refusing, hanging, changing, sending nonsense and far too much."""
import time

import pytest

from lab import until
from lab.api import Status, message
from lab.liar import Refuse
from lab.turns import long_turns


@pytest.fixture
def show(start_dashboard):
    def show(liar, **options):
        dashboard = start_dashboard(f'odd=127.0.0.1:{liar.port}', **options)
        dashboard.wait_connected('odd')
        return dashboard

    return show


def refuse(status, text=''):
    def answer():
        raise Refuse(status, text)

    return answer


def test_events_that_are_refused_are_asked_for_once_a_second_and_missed(lie, show):
    liar = lie(WatchEvents=refuse(Status.RESOURCE_EXHAUSTED, 'too many watch'))
    dashboard = show(liar)
    stream = dashboard.watch()
    began, before = time.monotonic(), liar.calls['WatchEvents']
    until(lambda: liar.calls['WatchEvents'] >= before + 3)
    assert time.monotonic() - began > 1.9
    state = dashboard.state('odd')
    assert state['connected'] and state['error'] == 'its events do not come: too many watch'
    assert dashboard.metrics().one('maglev_dashboard_server_refusals_total', server='odd') >= 3
    assert not stream.find('refresh')  # nothing was missed by anybody
    liar.answers['WatchEvents'] = []
    stream.wait('server', lambda e: e['payload']['connected'] and e['payload']['error'] == '')


def test_what_changed_is_told_though_the_connection_is_then_lost(lie, show):
    """VPPInfo is of another version while a list does not come, until the server is given up"""
    info = message('VPPInfo')(version='one')
    liar = lie(GetVPPInfo=lambda: info)
    dashboard = show(liar)
    stream = dashboard.watch()
    until(lambda: dashboard.state('odd')['vpp']['version'] == 'one')
    liar.answers['ListHealthChecks'] = liar.hang
    info.version = 'two'
    assert stream.wait('update', lambda e: 'vpp' in e['payload'])['payload']['vpp']['version'] == 'two'
    stream.wait('server', lambda e: not e['payload']['connected'])
    assert dashboard.state('odd')['error'] == 'it does not answer'


def test_a_data_plane_that_hangs_is_not_the_server(lie, show):
    liar = lie(GetVPPLBState=message('VPPLBState')(dataplane='xdp'), GetVPPLBCounters=message('VPPLBCounters')(dataplane='xdp'))
    dashboard = show(liar)
    stream = dashboard.watch()
    until(lambda: dashboard.state('odd')['counters'])
    liar.answers.update(GetVPPLBState=liar.hang, GetVPPLBCounters=refuse(Status.UNAVAILABLE, 'gone'))
    stream.wait('counters', lambda e: e['payload'] is None)  # behind the first ones, if those came late
    lb = stream.wait('lb', lambda e: e['payload']['lb_error'])
    assert lb['payload'] == {'lb': None, 'lb_error': 'it does not answer'}
    assert dashboard.state('odd')['connected'] and not stream.find('server')


@pytest.mark.parametrize('method', ['ListBackends', 'GetVPPLBState'])
@pytest.mark.parametrize('answer', [b'\x0a\x05x', b'\xff\xff\xff\xff\xff\xff', b'\x0a\x04\x0a\x02\xff\xfe'],
                         ids=['short', 'noise', 'no UTF-8'])
def test_answers_that_make_no_sense(lie, start_dashboard, method, answer):
    dashboard = start_dashboard(f'odd=127.0.0.1:{lie(**{method: answer}).port}')
    until(lambda: dashboard.state('odd')['error'] == 'its answer makes no sense')
    assert dashboard.get('/healthz')[0] == 200


def test_long_answers_are_read_in_slices(lie, show):
    """Lists, a data plane and counters of ten thousand: whole, and others have their turn in between"""
    vips = [{'address': f'198.51.{i >> 8}.{i & 255}', 'port': 80, 'application_servers': [
        {'address': f'10.0.0.{j}', 'weight': i % 100} for j in range(10)]} for i in range(1000)]
    counts = [{'address': one['address'], 'port': 80, 'next_packets': 5, 'application_servers': [
        {'address': f'10.0.0.{j}', 'packets': j} for j in range(10)]} for one in vips]
    dashboard = show(lie(10_000, GetVPPLBState=message('VPPLBState')(dataplane='xdp', vips=vips, warmup='done'),
                         GetVPPLBCounters=message('VPPLBCounters')(dataplane='xdp', vips=counts, has_as_traffic=True)), measured=True)
    until(lambda: dashboard.state('odd')['counters'])
    state = dashboard.state('odd')
    assert [one['name'] for one in state['backends']] == [f'b{i}' for i in range(10_000)]
    assert (state['lb']['dataplane'], state['lb']['warmup'], len(state['lb']['vips'])) == ('xdp', 'done', 1000)
    assert state['lb']['vips'][999]['application_servers'][9]['weight'] == 99
    assert state['counters']['has_as_traffic'] and state['counters']['vips'][999]['application_servers'][9]['packets'] == '9'

    def calls():
        return dashboard.metrics().one('maglev_dashboard_server_calls_total', server='odd')

    def some_rounds():
        before = calls()
        until(lambda: calls() >= before + 20)

    assert long_turns(dashboard, some_rounds) == 0


def test_a_log_that_never_ends_leaves_room_for_others(lie, show):
    def lines():
        for i in range(20_000):
            yield message('Event')(at=i, log={'level': 'info', 'msg': f'line-{i}'})

    began = time.monotonic()
    count = show(lie(WatchEvents=lines)).metrics
    until(lambda: count().one('maglev_dashboard_server_events_total', server='odd') == 20_000)
    kept = 20_000 - count().one('maglev_dashboard_server_lines_left_out_total', server='odd')
    assert 400 <= kept <= 200 * (time.monotonic() - began + 2)
