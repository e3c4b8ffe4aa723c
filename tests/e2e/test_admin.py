# SPDX-License-Identifier: Apache-2.0
"""What every daemon offers to its operators: health, readiness, metrics, and the level of its log."""
import http.client
import signal
import socket
import subprocess

import pytest

from lab import PATIENCE, SPARE, VIP, config, frontend, pool

PLAIN = config({}, {'b': SPARE})
FAKE = config({}, {'b': SPARE}, {'www': frontend(VIP, pool('p', 'b'))}, dataplane='vpp')
BUCKETS = ['0.0001', '0.0005', '0.001', '0.0025', '0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '+Inf']
PROCESS = ('process_cpu_seconds_total', 'process_resident_memory_bytes', 'process_virtual_memory_bytes',
           'process_start_time_seconds', 'process_open_fds', 'process_max_fds')


class Maglevd:
    prefix = 'maglev'

    def __init__(self, stories):
        self.start_api, start = stories('start_api'), stories('start')
        self.start = lambda listen='127.0.0.1:0', level='info', namespace=None: start(
            PLAIN, metrics=listen, level=level, namespace=namespace)

    def start_held(self):
        """With a client of another listener that holds up the end, until what is returned second is called."""
        daemon = self.start_api(FAKE)
        daemon.wait('lb-sync-all')
        daemon.plane.ask('lag 3600')
        self.call = daemon.api.start('SyncVPPLBState')
        daemon.api.backend('b')  # after it on the same connection
        return daemon, self.call.cancel


class Frontend:
    prefix = 'maglev_dashboard'

    def __init__(self, stories):
        start = stories('start_dashboard')
        self.start = lambda listen='127.0.0.1:0', level='info', namespace=None: start(
            '127.0.0.1:1', metrics=listen, level=level, namespace=namespace)

    def start_held(self):
        daemon = self.start()
        client = socket.create_connection(('127.0.0.1', daemon.port), PATIENCE)
        client.sendall(b'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /view/ HTT')
        client.recv(1)
        return daemon, client.close


@pytest.fixture(params=[Maglevd, Frontend], ids=['maglevd', 'maglevd-frontend'])
def kind(request):
    return request.param(request.getfixturevalue)


def ask(daemon, method, path, body=None, address='127.0.0.1', inside=None, **headers):
    """(status, body) of the operators' listener; headers with _ for -"""
    answer = daemon.ask(method, path, {name.replace('_', '-'): value for name, value in headers.items()}, body,
                        port=daemon.port_of('metrics'), address=address, inside=inside)
    return answer.status, answer.text


def test_health_readiness_and_metrics(kind):
    daemon = kind.start()
    assert ask(daemon, 'GET', '/healthz') == ask(daemon, 'GET', '/readyz') == (200, 'ok\n')
    assert ask(daemon, 'HEAD', '/readyz') == (200, '')
    for path in ('/healthz', '/readyz', '/metrics'):
        assert ask(daemon, 'PUT', path, 'debug')[0] == 405
    assert ask(daemon, 'GET', '/')[0] == 404
    status, page = ask(daemon, 'GET', '/metrics')
    done = subprocess.run(['promtool', 'check', 'metrics'], input=page, text=True, capture_output=True, check=False)
    assert status == 200 and (done.returncode, done.stdout, done.stderr) == (0, '', '')


def test_every_daemon_has_the_same_families(kind):
    """DESIGN 3: build, loop lag in one set of buckets, lines lost, process"""
    page = kind.start().metrics()
    (labels, value), = page.of(f'{kind.prefix}_build_info')
    assert set(labels) == {'version', 'commit', 'date'} and value == 1
    assert [have['le'] for have, _ in page.of(f'{kind.prefix}_loop_lag_seconds_bucket')] == BUCKETS
    assert page.one(f'{kind.prefix}_loop_lag_seconds_count') > 0
    assert page.one(f'{kind.prefix}_log_dropped_total') == 0
    for name in PROCESS:
        assert page.one(name) >= 0, name


def test_the_level_of_the_log_changes_at_run_time(kind):
    daemon = kind.start()
    assert ask(daemon, 'GET', '/loglevel') == (200, 'info\n')
    assert not daemon.all('http-request')
    assert ask(daemon, 'PUT', '/loglevel', 'debug') == (200, 'debug\n')
    changed = daemon.wait('log-level-changed')
    assert (changed['from'], changed['to'], changed['level']) == ('info', 'debug', 'INFO')
    assert changed['peer'].startswith('127.0.0.1:')
    ask(daemon, 'GET', '/healthz')
    daemon.wait('http-request', target='/healthz')
    assert ask(daemon, 'PUT', '/loglevel', 'Error\n') == (200, 'error\n')
    daemon.wait('log-level-changed', **{'from': 'debug', 'to': 'error'})
    assert ask(daemon, 'GET', '/loglevel') == (200, 'error\n')
    mark = daemon.mark()
    assert ask(daemon, 'PUT', '/loglevel', 'warn') == (200, 'warn\n')  # no line of either level, but for this one
    daemon.wait('log-level-changed', mark, to='warn')
    daemon.signal(signal.SIGHUP)
    assert ask(daemon, 'GET', '/loglevel') == (200, 'warn\n')
    daemon.stop()
    assert all(line['level'] in ('WARN', 'ERROR') for line in daemon.lines[mark:] if line['msg'] != 'log-level-changed')


@pytest.mark.parametrize('body', ['', 'loud', 'debug info', 'info\n\n', '"debug"', 'level=debug', 'x' * 1000])
def test_what_is_no_level_changes_nothing(kind, body):
    daemon = kind.start()
    status, text = ask(daemon, 'PUT', '/loglevel', body)
    assert status == 400 and text == 'the body must be one of debug, info, warn and error\n'
    assert ask(daemon, 'GET', '/loglevel') == (200, 'info\n')
    assert not daemon.all('log-level-changed')


def test_other_methods_are_not_allowed(kind):
    daemon = kind.start()
    for method in ('POST', 'DELETE', 'PATCH', 'OPTIONS'):
        assert ask(daemon, method, '/loglevel', 'debug')[0] == 405
    assert ask(daemon, 'GET', '/loglevel') == (200, 'info\n')


def test_other_machines_may_read_the_level_and_not_change_it(kind, net):
    """A stranger who can scrape the metrics cannot fill the disk, nor hide what he does"""
    address = net.address()
    daemon = kind.start(listen=f'{address}:0', namespace=net.servers)
    for inside in (net.servers, net.probes):
        assert ask(daemon, 'GET', '/loglevel', address=address, inside=inside) == (200, 'info\n')
        for host in (address, 'localhost'):
            status, text = ask(daemon, 'PUT', '/loglevel', 'debug', address, inside, Host=host)
            assert status == 403 and 'this machine only' in text
    assert ask(daemon, 'GET', '/loglevel', address=address, inside=net.probes) == (200, 'info\n')
    assert not daemon.all('log-level-changed')


@pytest.mark.parametrize('headers', [{'X_Forwarded_For': '192.0.2.1'}, {'Forwarded': 'for=192.0.2.1'},
                                     {'Via': '1.1 proxy'}, {'X_Real_IP': '192.0.2.1'}, {'Host': 'evil.example.net'}],
                         ids=lambda headers: next(iter(headers)))
def test_what_a_proxy_or_a_web_page_passes_on_changes_nothing(kind, headers):
    """The connection is from this machine, the request is not"""
    daemon = kind.start()
    assert ask(daemon, 'PUT', '/loglevel', 'debug', **headers)[0] == 403
    assert ask(daemon, 'GET', '/loglevel') == (200, 'info\n')


def test_a_daemon_that_stops_is_not_ready(kind):
    """DESIGN 3: new and old connections are told so, for as long as another listener's client holds up the end"""
    daemon, release = kind.start_held()
    with socket.create_connection(('127.0.0.1', daemon.port_of('metrics')), PATIENCE) as half:
        half.sendall(b'GET /readyz HTTP/1.1\r\nHost: x\r\n')
        assert ask(daemon, 'GET', '/readyz') == (200, 'ok\n')
        daemon.signal(signal.SIGTERM)
        daemon.wait('stopping')
        assert ask(daemon, 'GET', '/readyz') == (503, 'stopping\n')
        assert ask(daemon, 'GET', '/healthz') == (200, 'ok\n')
        half.sendall(b'\r\n')
        answer = http.client.HTTPResponse(half)
        answer.begin()
        assert (answer.status, answer.read()) == (503, b'stopping\n')
    release()
    assert daemon.end() == 0


def test_beside_the_dashboard_there_is_no_level(start_dashboard):
    """Its port may be public; what is served there says the same as the operators' port"""
    dashboard = start_dashboard('127.0.0.1:1')
    assert dashboard.get('/healthz') == dashboard.get('/readyz') == (200, 'ok\n')
    assert dashboard.metrics().one('maglev_dashboard_loop_lag_seconds_count') > 0
    for method in ('GET', 'PUT'):
        assert dashboard.ask(method, '/loglevel', body='debug').status == 404
    assert [line['for'] for line in dashboard.all('listening')] == ['http']


@pytest.mark.parametrize('address', ['nonsense', '127.0.0.1', '127.0.0.1:70000', '192.0.2.1:1'])
def test_an_address_that_cannot_be_used_ends_the_start(start_dashboard, address):
    """as of maglevd, see test_lifecycle.py"""
    dashboard = start_dashboard('127.0.0.1:1', metrics=address, ready=False)
    failed = dashboard.wait('listen-failed')
    assert (failed['flag'], failed['addr']) == ('--metrics-addr', address)
    assert dashboard.end() == 3
