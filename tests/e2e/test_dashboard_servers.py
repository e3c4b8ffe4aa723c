# SPDX-License-Identifier: Apache-2.0
"""Many maglevds in one dashboard: whatever happens to one is seen, and is no concern of the others."""
import os
import signal
import socket
import time

import pytest

from lab import SLACK, VIP, config, frontend, pool, until
from lab.turns import waited

A = '10.99.0.11'
STATIC = config(backends={'a': A}, frontends={'www': frontend(VIP, pool('all', 'a'))}, dataplane='vpp')
LONG = 127  # bytes of a name, and of a reason
DEAF = 7  # s: a call of 5 s, begun at most 1 s after the last one was answered


@pytest.fixture
def pair(start_api, start_dashboard):
    """(the maglevds lon and ams, the dashboard)"""
    daemons = start_api(STATIC), start_api(STATIC)
    ports = [daemon.api_port for daemon in daemons]
    dashboard = start_dashboard(f'lon=127.0.0.1:{ports[0]}', f'ams=127.0.0.1:{ports[1]}')
    dashboard.wait_connected('lon', 'ams')
    return *daemons, dashboard


def toggle(daemon, dashboard, stream, server):
    """How long it takes from an act until a browser knows, and the rest of the state follows; without the time for which
    somebody had no processor."""
    pids = daemon.pid, dashboard.pid, os.getpid()
    before, late = time.time(), waited(*pids)
    act = 'Resume' if daemon.api.backend('a').state == 'paused' else 'Pause'
    daemon.api.call(f'{act}Backend', name='a')
    want = {'Pause': 'paused', 'Resume': 'up'}[act]
    event = stream.wait('update', lambda e: e['server'] == server and e['at_ns'] / 1e9 >= before and any(
        b.get('state') == want for b in e['payload'].get('backends', [])))
    return event['at_ns'] / 1e9 - before - max(0, waited(*pids) - late)


def test_names_are_hosts_unless_they_are_shared(start_api, start_dashboard):
    """a server's name is its host, host:port when two share one, or what is given"""
    daemon = start_api(STATIC)
    port = daemon.api_port
    dashboard = start_dashboard(f'127.0.0.1:{port}', '127.0.0.1:1', f'localhost:{port}', f'lon=127.0.0.1:{port}')
    dashboard.wait_connected(f'127.0.0.1:{port}', 'localhost', 'lon')
    assert [one['name'] for one in dashboard.state()['servers']] == \
        [f'127.0.0.1:{port}', '127.0.0.1:1', 'localhost', 'lon']
    assert dashboard.state(f'127.0.0.1%3A{port}')['connected']


def test_states_are_kept_apart(pair):
    """FR-7.2"""
    lon, ams, dashboard = pair
    stream = dashboard.watch()
    toggle(lon, dashboard, stream, 'lon')
    assert (dashboard.backend('lon', 'a')['state'], dashboard.backend('ams', 'a')['state']) == ('paused', 'up')
    assert {event['server'] for event in stream.find('backend')} == {'lon'}
    toggle(ams, dashboard, stream, 'ams')
    assert dashboard.backend('ams', 'a')['state'] == 'paused'


def test_one_that_hangs_is_marked_and_holds_nobody_up(pair):
    lon, ams, dashboard = pair
    stream = dashboard.watch()
    lon.signal(signal.SIGSTOP)
    try:
        frozen, late = time.time(), waited(dashboard.pid, os.getpid())
        while not stream.find('server', lambda e: e['server'] == 'lon' and not e['payload']['connected']):
            assert toggle(ams, dashboard, stream, 'ams') < 1 + SLACK
            assert time.time() - frozen < DEAF + SLACK + max(0, waited(dashboard.pid, os.getpid()) - late)
        gone = dashboard.state('lon')
        assert not gone['connected'] and gone['error'] == 'it does not answer'
        assert gone['backends'][0]['name'] == 'a'  # what it last said is still there
        assert frozen <= gone['since_ns'] / 1e9 <= time.time()
    finally:
        lon.signal(signal.SIGCONT)
    stream.wait('server', lambda e: e['server'] == 'lon' and e['payload']['connected'])
    assert dashboard.state('lon')['error'] == ''
    toggle(lon, dashboard, stream, 'lon')


def test_one_that_dies_and_returns(pair):
    """its state goes on where it is now; the others never noticed"""
    lon, ams, dashboard = pair
    stream = dashboard.watch()
    lon.kill()
    lost = stream.wait('server', lambda e: e['server'] == 'lon')
    assert not lost['payload']['connected'] and lost['payload']['error']
    assert toggle(ams, dashboard, stream, 'ams') < 1 + SLACK
    lon.command[lon.command.index('--grpc-addr') + 1] = f'127.0.0.1:{lon.api_port}'
    lon.write(config(backends={'a': A, 'new': '10.99.0.12'}, frontends={'www': frontend(VIP, pool('all', 'a'))},
                     dataplane='vpp'))
    lon.start()
    back = stream.wait('server', lambda e: e['server'] == 'lon' and e['payload']['connected'])
    assert back['payload']['error'] == ''
    stream.wait('refresh', lambda e: e['server'] == 'lon' and len(e['payload'].get('backends', [])) == 2)
    toggle(lon, dashboard, stream, 'lon')
    assert not stream.find('server', lambda e: e['server'] == 'ams')


def test_one_that_accepts_and_says_nothing(start_api, start_dashboard):
    with socket.create_server(('127.0.0.1', 0)) as mute:
        daemon = start_api(STATIC)
        dashboard = start_dashboard(f'mute=127.0.0.1:{mute.getsockname()[1]}', f'lon=127.0.0.1:{daemon.api_port}')
        dashboard.wait_connected('lon')
        stream = dashboard.watch()
        until(lambda: dashboard.state('mute')['error'] != 'not connected yet', what='giving up')
        assert not dashboard.state('mute')['connected']
        assert toggle(daemon, dashboard, stream, 'lon') < 1 + SLACK


def test_one_whose_name_is_unknown(start_api, start_dashboard):
    """the lookup may take as long as it likes"""
    daemon = start_api(STATIC)
    dashboard = start_dashboard('no-such-host.invalid:9090', f'lon=127.0.0.1:{daemon.api_port}')
    dashboard.wait_connected('lon')
    until(lambda: 'no-such-host.invalid' in dashboard.state('no-such-host.invalid')['error'], what='the reason')


def test_one_that_is_no_maglevd(start, start_dashboard):
    """something else listens there"""
    other = start(STATIC, name='maglevd', args=['--vpp-api-addr='])
    dashboard = start_dashboard(f'x=127.0.0.1:{other.port}')
    until(lambda: dashboard.state('x')['error'] not in ('', 'not connected yet'), what='the reason')
    assert not dashboard.state('x')['connected']
    assert dashboard.get('/healthz')[0] == 200


def test_a_stream_that_ends_is_opened_again(start_api, start_dashboard):
    """maglevd drops a client that does not keep up; lists then tell what its stream would have told"""
    name = 'a'.ljust(LONG, 'a')
    frontends = {f'{i:03}'.ljust(LONG, 'f'): frontend(f'198.51.{i}.1', pool('all', name)) for i in range(200)}
    lon = start_api(config(backends={name: A}, frontends=frontends, dataplane='vpp'), level='info')
    dashboard = start_dashboard(f'lon=127.0.0.1:{lon.api_port}')
    dashboard.wait_connected('lon')
    dashboard.signal(signal.SIGSTOP)
    try:
        for _ in range(500):
            if lon.metrics().one('maglev_watch_dropped_total'):
                break
            lon.api.call('PauseBackend', name=name, reason='x' * LONG)
            lon.api.call('ResumeBackend', name=name)
        lon.api.call('PauseBackend', name=name, reason='last')
        assert lon.metrics().one('maglev_watch_dropped_total') == 1
        assert lon.metrics().one('maglev_watch_subscribers') == 0
    finally:
        dashboard.signal(signal.SIGCONT)
    until(lambda: lon.metrics().one('maglev_watch_subscribers') == 1, what='a new stream')
    until(lambda: dashboard.backend('lon', name).get('override', {}).get('reason') == 'last', what='the last reason')
    # who looks on while 8 MiB are caught up with may be told to start over; who comes now sees what is new
    stream = dashboard.watch()
    lon.api.call('ResumeBackend', name=name)
    stream.wait('backend', lambda e: e['payload']['to'] == 'up')
