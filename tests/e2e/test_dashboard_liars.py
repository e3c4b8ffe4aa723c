# SPDX-License-Identifier: Apache-2.0
"""Servers that say they are a maglevd: refusing, hanging, changing, sending nonsense and far too much."""
import json
import threading
import time

import pytest

from lab import PATIENCE, until
from lab.api import Maglevc, Status, grpc, message
from lab.liar import Refuse
from lab.programs import RELEASE, program
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


def reloads(wanted):
    """A stream that tells of a reload whenever the event wanted is set, so that lists are read again."""
    def events():
        while wanted.wait(PATIENCE):
            wanted.clear()
            yield message('Event')(config={'generation': 2, 'ok': True})

    return events


def test_events_that_are_refused_are_asked_for_once_a_second_and_missed(lie, show):
    liar = lie(WatchEvents=refuse(Status.RESOURCE_EXHAUSTED, 'too many watch'))
    dashboard = show(liar)
    stream = dashboard.watch()
    began, before = time.monotonic(), liar.calls['WatchEvents']
    until(lambda: liar.calls['WatchEvents'] >= before + 3)
    assert time.monotonic() - began > 1.9
    state = dashboard.state('odd')
    assert state['connected'] and state['error'] == 'it sends no events: too many watch'
    until(lambda: dashboard.metrics().one('maglev_dashboard_server_refusals_total', server='odd') >= 3, what='the third refusal')
    assert not stream.find('refresh')  # nothing was missed by anybody
    liar.answers['WatchEvents'] = []
    stream.wait('server', lambda e: e['payload']['connected'] and e['payload']['error'] == '')


def test_what_changed_is_told_though_the_connection_is_then_lost(lie, show):
    """VPPInfo is of another version while a list does not come, until the server is given up"""
    info, reload = message('VPPInfo')(version='one'), threading.Event()
    liar = lie(GetVPPInfo=lambda: info, WatchEvents=reloads(reload))
    dashboard = show(liar)
    stream = dashboard.watch()
    until(lambda: dashboard.state('odd')['vpp']['version'] == 'one')
    liar.answers['ListHealthChecks'] = liar.hang
    info.version = 'two'
    reload.set()
    assert stream.wait('update', lambda e: 'vpp' in e['payload'])['payload']['vpp']['version'] == 'two'
    stream.wait('server', lambda e: not e['payload']['connected'])
    assert dashboard.state('odd')['error'] == 'it does not answer'


def test_a_server_that_falls_silent_is_given_up(lie, show):
    """lists are not read all the time: what it knows of VPP is, and has to be answered in time"""
    liar = lie()
    dashboard = show(liar)
    stream, began = dashboard.watch(), time.monotonic()
    liar.answers['GetVPPInfo'] = liar.hang
    stream.wait('server', lambda e: not e['payload']['connected'])
    assert 4.9 < time.monotonic() - began and dashboard.state('odd')['error'] == 'it does not answer'


def test_at_rest_lists_are_read_once(lie, show):
    """NFR-5.3: events say what changed; only what has no events is asked for again"""
    liar = lie()
    dashboard = show(liar)
    before = liar.calls['GetVPPInfo']
    until(lambda: liar.calls['GetVPPInfo'] >= before + 4)
    lists = ('ListFrontends', 'ListBackends', 'ListHealthChecks')
    assert [liar.calls[one] for one in (*lists, 'WatchEvents')] == [1, 1, 1, 1]
    assert dashboard.state('odd')['connected']


def test_events_between_a_list_and_its_answer_are_not_lost(lie, show):
    """a list that was made before an event and comes after it does not undo it"""
    reload, read, told = (threading.Event() for _ in range(3))
    old = message('ListBackendsResponse')()
    old.backends.add(name='b0', address='192.0.2.1', state='up')

    def events():
        reload.wait(PATIENCE)
        yield message('Event')(config={'generation': 2, 'ok': True})
        read.wait(PATIENCE)
        yield message('Event')(backend_info={'name': 'b0', 'address': '192.0.2.1', 'state': 'down'})
        yield message('Event')(probes={'probes': [{'name': 'b0', 'last_code': 'L4CON', 'counter': 3}]})
        yield message('Event')(log={'level': 'info', 'msg': 'told'})

    def answer():
        if reload.is_set():
            read.set()
            told.wait(PATIENCE)
        return old

    dashboard = show(lie(WatchEvents=events, ListBackends=answer))
    stream = dashboard.watch()
    reload.set()
    stream.wait('log', lambda e: e['payload']['msg'] == 'told')
    assert dashboard.backend('odd', 'b0')['state'] == 'up'
    told.set()
    stream.wait('update', lambda e: any(one.get('state') == 'down' for one in e['payload'].get('backends', [])))
    shown = dashboard.backend('odd', 'b0')
    assert (shown['state'], shown['last_code'], shown['counter']) == ('down', 'L4CON', 3)


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
    until(lambda: dashboard.state('odd')['error'] == 'its answer is invalid')
    assert dashboard.get('/healthz')[0] == 200


# the tag of an entry in each answer that is a list; an empty one takes two bytes
LISTS = {'ListFrontends': 0x0a, 'ListBackends': 0x0a, 'ListHealthChecks': 0x0a, 'GetVPPInfo': 0x4a,
         'GetVPPLBState': 0x3a, 'GetVPPLBCounters': 0x1a}
LARGE = 16_000_000


def one_name():
    return message('ListBackendsResponse')(backends=[{'name': 'x' * 15_000_000}])


def beside(lie, start_dashboard, liar):
    """A dashboard of a liar and an honest server, which goes on."""
    dashboard = start_dashboard(f'odd=127.0.0.1:{liar.port}', f'good=127.0.0.1:{lie(3).port}', measured=True)
    dashboard.wait_connected('good')
    return dashboard


def the_other_goes_on(dashboard):
    before = dashboard.metrics().one('maglev_dashboard_server_calls_total', server='good')
    until(lambda: dashboard.metrics().one('maglev_dashboard_server_calls_total', server='good') > before + 2)
    good = dashboard.state('good')
    assert good['connected'] and [one['name'] for one in good['backends']] == ['b0', 'b1', 'b2']


@pytest.mark.parametrize('method', LISTS)
def test_millions_of_empty_entries_cost_little(lie, start_dashboard, method):
    """Eight million in one answer would be gigabytes of text: the server is shown as faulty, the others go on"""
    liar = lie(**{method: bytes((LISTS[method], 0)) * (LARGE // 2)})
    dashboard = beside(lie, start_dashboard, liar)

    def given_up():
        odd = dashboard.state('odd')
        return not odd['connected'] and odd['error'] == 'its answer is too large'
    until(given_up)
    the_other_goes_on(dashboard)
    until(given_up)  # it is asked again, and is connected until that answer has been read
    assert dashboard.peak() < 256 << 20, dashboard.peak()


@pytest.mark.parametrize('answer, error', [
    (one_name(), 'its answer is too large'),
    (b'\x0a\0' * LARGE, 'the answer is longer than 16777216 bytes'),
], ids=['a name', 'encoded'])
def test_an_answer_is_bounded_in_bytes(lie, start_dashboard, answer, error):
    dashboard = beside(lie, start_dashboard, lie(ListBackends=answer))
    until(lambda: dashboard.state('odd')['error'] == error)
    the_other_goes_on(dashboard)
    assert dashboard.peak() < 256 << 20, dashboard.peak()


def test_compressed_answers_are_not_expanded(lie, start_dashboard):
    """32 MB of nothing are tens of KB of gzip"""
    liar = lie(compression=grpc.Compression.Gzip, ListBackends=b'\x0a\0' * LARGE)
    dashboard = beside(lie, start_dashboard, liar)
    until(lambda: 'compressed' in dashboard.state('odd')['error'] or 'longer' in dashboard.state('odd')['error'])
    the_other_goes_on(dashboard)
    assert dashboard.peak() < 256 << 20, dashboard.peak()


@pytest.mark.parametrize('event', [
    b'\x52\x80\xa4\xe8\x03' + b'\x0a\0' * 4_000_000,  # probes
    message('Event')(log={'msg': 'x' * 15_000_000}),
], ids=['entries', 'text'])
def test_an_event_is_bounded(lie, start_dashboard, event):
    dashboard = beside(lie, start_dashboard, lie(WatchEvents=[event]))
    until(lambda: 'too many entries or too long a text' in dashboard.state('odd')['error'])
    the_other_goes_on(dashboard)
    assert dashboard.peak() < 256 << 20, dashboard.peak()


@pytest.mark.parametrize('answer', [b'\x0a\0' * (LARGE // 2), one_name()], ids=['entries', 'a name'])
def test_maglevc_refuses_answers_that_would_take_its_memory(lie, answer):
    """with 256 MiB of address space it says what is wrong, and does not abort"""
    client = Maglevc(lie(ListBackends=answer).port)
    client.command = ['prlimit', f'--as={256 << 20}', program('maglevc', RELEASE), *client.command[1:]]
    client.refused(1, 'too many entries or too long a text', 'show', 'backends')


TURNED = 'abc\u202egpj.exe \x9b31m \x1b[2J'


def test_text_that_misleads_is_shown_escaped(lie, show):
    """in the dashboard, in maglevc's tables, in its errors and in the events that it watches"""
    shown = 'abc\\u202egpj.exe \\u009b31m \\x1b[2J'
    backends = message('ListBackendsResponse')()
    backends.backends.add(name='b0', address='192.0.2.1', state='down', healthcheck='web', last_code='L7STS',
                          last_reason=TURNED)
    liar = lie(ListBackends=backends, GetBackend=backends.backends[0], GetVPPInfo=refuse(Status.UNAVAILABLE, TURNED),
               GetVPPLBState=refuse(Status.UNAVAILABLE, TURNED),
               WatchEvents=lambda: [message('Event')(log={'level': 'info', 'msg': TURNED})])
    dashboard, client = show(liar), Maglevc(liar.port)
    assert dashboard.backend('odd', 'b0')['last_reason'] == shown
    until(lambda: dashboard.state('odd')['lb_error'] == shown)
    assert shown in client.text('show', 'backends', 'b0')
    client.refused(1, shown, 'show', 'vpp', 'info')
    line = client.text('-o', 'json', 'watch', 'events', 'num', '1', 'log')
    assert json.loads(line)['log']['msg'] == TURNED and line.isascii()
    assert shown in client.text('watch', 'events', 'num', '1', 'log')


def test_long_answers_are_read_in_slices(lie, show):
    """Lists, a data plane and counters of ten thousand: whole, and others have their turn in between"""
    again = threading.Event()
    again.set()

    def checks():
        again.set()  # what is read is told to be out of date
        return message('ListHealthChecksResponse')()

    vips = [{'address': f'198.51.{i >> 8}.{i & 255}', 'port': 80, 'application_servers': [
        {'address': f'10.0.0.{j}', 'weight': i % 100} for j in range(10)]} for i in range(1000)]
    counts = [{'address': one['address'], 'port': 80, 'next_packets': 5, 'application_servers': [
        {'address': f'10.0.0.{j}', 'packets': j} for j in range(10)]} for one in vips]
    dashboard = show(lie(10_000, GetVPPLBState=message('VPPLBState')(dataplane='xdp', vips=vips, warmup='done'),
                         GetVPPLBCounters=message('VPPLBCounters')(dataplane='xdp', vips=counts, has_as_traffic=True),
                         WatchEvents=reloads(again), ListHealthChecks=checks), measured=True)
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
