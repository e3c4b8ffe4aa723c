# SPDX-License-Identifier: Apache-2.0
"""The dashboard for everybody: what a maglevd says, as JSON and as it happens; reading only."""
import gzip
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest

from lab import PATIENCE, SLACK, VIP, config, frontend, pool, program, until
from lab.api import as_json
from lab.turns import waited

A, B = '10.99.0.11', '10.99.0.12'
STATIC = config(backends={'a': A, 'b': B}, frontends={'www': frontend(VIP, pool('all', 'a', 'b'))}, dataplane='vpp')
POLICY = {"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
          "font-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"}


@pytest.fixture
def daemon(start_api):
    daemon = start_api(STATIC)
    daemon.plane.wait_weights(VIP, {A: 100, B: 100})
    return daemon


@pytest.fixture
def dashboard(daemon, start_dashboard):
    dashboard = start_dashboard(f'lon=127.0.0.1:{daemon.api_port}')
    dashboard.wait_connected('lon')
    return dashboard


def without_times(item):
    """What does not change while one looks."""
    return {k: v for k, v in item.items() if k not in ('last_probe', 'last_duration')}


def test_the_state_is_what_the_api_answers(daemon, dashboard):
    """FR-7.2, NFR-5.4: the same messages, in the same mapping and order"""
    server = until(lambda: (one := dashboard.state('lon'))['lb'] and one, what='the data plane')
    for key, method in (('frontends', 'ListFrontends'), ('backends', 'ListBackends'),
                        ('healthchecks', 'ListHealthChecks')):
        said = as_json(daemon.api.call(method)).get(key, [])
        assert list(map(without_times, server[key])) == list(map(without_times, said))
    lb = as_json(daemon.api.call('GetVPPLBState'))
    assert server['lb']['vips'] == lb['vips'] and server['lb_error'] == ''
    assert server['vpp'] is None and server['counters'] is None  # the fake has none
    assert server['connected'] and server['error'] == '' and server['name'] == 'lon'
    assert server['address'] == f'127.0.0.1:{daemon.api_port}'
    assert abs(server['refreshed_at_ns'] / 1e9 - time.time()) < 2 + SLACK
    everything = dashboard.state()
    assert [one['name'] for one in everything['servers']] == ['lon']
    assert re.fullmatch(r'\d{19}', everything['epoch']) and isinstance(everything['seq'], int)
    assert set(everything['servers'][0]) == set(server)


def test_the_small_answers(dashboard):
    version = dashboard.ask('GET', '/view/api/version').json
    assert set(version) == {'version', 'commit', 'date'}
    assert [set(one) for one in dashboard.ask('GET', '/view/api/maglevds').json] == \
        [{'name', 'address', 'connected', 'error', 'since_ns'}]
    assert dashboard.get('/healthz') == (200, 'ok\n') and dashboard.get('/readyz') == (200, 'ok\n')
    unknown = dashboard.ask('GET', '/view/api/state/nobody')
    assert unknown.status == 404 and unknown.json == {'error': 'there is no server of that name'}
    assert dashboard.ask('GET', '/view/api/nothing').status == 404
    for path in ('/', '/view'):
        answer = dashboard.ask('GET', path)
        assert (answer.status, answer.headers['Location']) == (308, '/view/')
    icon = dashboard.ask('GET', '/favicon.ico')
    assert icon.status == 200 and icon.headers['Content-Type'] == 'image/svg+xml'


def test_the_application_is_in_the_program(dashboard):
    """no request to any other host; what carries a hash in its name is kept for ever, the page is not"""
    page = dashboard.ask('GET', '/view/')
    assert page.status == 200 and page.headers['Content-Type'] == 'text/html; charset=utf-8'
    assert page.headers['Cache-Control'] == 'no-cache'
    text = page.body.decode()
    assert not re.search(r'(?:src|href)="(?:https?:)?//', text)
    for path in re.findall(r'(?:src|href)="\./(assets/[^"]+)"', text):
        plain = dashboard.ask('GET', f'/view/{path}')
        assert plain.status == 200 and 'Content-Encoding' not in plain.headers
        assert plain.headers['Cache-Control'] == 'public, max-age=31536000, immutable'
        packed = dashboard.ask('GET', f'/view/{path}', {'Accept-Encoding': 'br, gzip;q=0.8'})
        if packed.headers.get('Content-Encoding') == 'gzip':
            assert gzip.decompress(packed.body) == plain.body and packed.headers['Vary'] == 'Accept-Encoding'
        assert 'Content-Encoding' not in dashboard.ask('GET', f'/view/{path}', {'Accept-Encoding': 'gzip;q=0'}).headers
    assert dashboard.ask('GET', '/view/assets/../../etc/passwd').status == 404


@pytest.mark.parametrize('method', ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'])
def test_below_view_there_is_only_reading(dashboard, method):
    """FR-7.3"""
    for path in ('/view/', '/view/api/state', '/view/api/state/lon', '/view/api/events', '/view/api/anything'):
        answer = dashboard.ask(method, path, {'X-Maglev-Admin': '1'})
        assert answer.status == 405 and answer.headers['Allow'] == 'GET, HEAD', path


@pytest.mark.parametrize('request_, status', [
    (b'GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n', 404), (b'GET /view/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n', 404),
    (b'GET /view/ HTTP/1.1\r\nHost: evil.example\r\n\r\n', 421),
    (b'PUT /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n', 405), (b'GET / HTTP/1.1\r\n\r\n', 400), (b'nonsense\r\n\r\n', 400),
    (b'GET / HTTP/1.1\r\nHost: localhost\r\nExpect: nothing\r\n\r\n', 417),
    (b'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n', 413),
    (b'GET / HTTP/1.1\r\nHost: localhost\r\nX: ' + 20000 * b'x' + b'\r\n\r\n', 431)])
def test_every_error_is_a_sentence(dashboard, request_, status):
    with socket.create_connection(('127.0.0.1', dashboard.port), PATIENCE) as s:
        s.sendall(request_)
        answer = http.client.HTTPResponse(s)
        answer.begin()
        said = json.loads(answer.read())
        assert answer.status == status and answer.headers['Content-Type'] == 'application/json'
        assert list(said) == ['error'] and ' ' in said['error']


def test_head_is_get_without_the_content(dashboard):
    for path in ('/view/', '/view/api/state', '/view/api/events', '/metrics'):
        answer = dashboard.ask('HEAD', path)
        assert answer.status == 200 and answer.body == b'', path
    assert int(dashboard.ask('HEAD', '/view/').headers['Content-Length']) == len(dashboard.ask('GET', '/view/').body)


def test_every_answer_has_the_security_headers(dashboard):
    for method, path in (('GET', '/view/'), ('GET', '/view/api/state'), ('POST', '/view/'), ('GET', '/nowhere'),
                         ('HEAD', '/view/api/events')):
        headers = dashboard.ask(method, path).headers
        assert {part.strip() for part in headers['Content-Security-Policy'].split(';')} == POLICY
        assert headers['X-Content-Type-Options'] == 'nosniff' and headers['X-Frame-Options'] == 'DENY'
        assert headers['Referrer-Policy'] == 'no-referrer'
        assert headers['Cross-Origin-Opener-Policy'] == headers['Cross-Origin-Resource-Policy'] == 'same-origin'
        assert 'Access-Control-Allow-Origin' not in headers and 'Strict-Transport-Security' not in headers
    assert dashboard.ask('GET', '/view/api/state').headers['Cache-Control'] == 'no-store'


def test_what_happens_is_told_at_once(daemon, dashboard):
    """NFR-5.3: the event, the new lists behind it, and the data plane as it is then"""
    stream, pids = dashboard.watch(), (daemon.pid, dashboard.pid, os.getpid())
    before, late = time.time(), waited(*pids)
    daemon.api.call('PauseBackend', name='a', reason='new disk')
    event = stream.wait('backend', lambda e: e['payload']['to'] == 'paused')
    assert event['server'] == 'lon' and event['payload']['reason'] == 'new disk'
    assert before <= event['at_ns'] / 1e9 <= time.time()
    stream.wait('log', lambda e: e['payload']['msg'] == 'backend-transition')
    update = stream.wait('update', lambda e: any(b.get('state') == 'paused' for b in e['payload'].get('backends', [])))
    assert [b['name'] for b in update['payload']['backends']] == ['a']  # only what changed
    assert set(update['payload']['backends'][0]) == {'name', 'state', 'since', 'transitions', 'override'}
    stream.wait('update', lambda e: any(b['effective_weight'] == 0 for f in e['payload'].get('frontends', [])
                                        for p in f.get('pools', []) for b in p['backends']))
    lb = stream.wait('lb', lambda e: any(s['weight'] == 0 for s in e['payload']['lb']['vips'][0]['application_servers']))
    assert time.time() - before < 2 + SLACK + max(0, waited(*pids) - late) and lb['payload']['lb_error'] == ''
    assert dashboard.backend('lon', 'a')['override']['reason'] == 'new disk'
    seqs = [int(e['id'].split('-')[1]) for e in stream.events]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))


def test_a_reload_brings_whole_lists(daemon, dashboard):
    stream = dashboard.watch()
    daemon.write(config(backends={'a': A, 'c': B}, frontends={'www': frontend(VIP, pool('all', 'a', 'c'))},
                        dataplane='vpp'))
    daemon.signal(signal.SIGHUP)
    refresh = stream.wait('refresh', lambda e: 'backends' in e['payload'])
    assert [one['name'] for one in refresh['payload']['backends']] == ['a', 'c']
    assert [one['name'] for one in dashboard.state('lon')['backends']] == ['a', 'c']


def test_the_level_of_log_lines_can_be_chosen(daemon, start_dashboard):
    server = f'lon=127.0.0.1:{daemon.api_port}'
    quiet, loud = (start_dashboard(server, args=['--events-level', level]) for level in ('error', 'debug'))
    streams = [one.watch() for one in (quiet, loud)]
    for one in (quiet, loud):
        one.wait_connected('lon')
    daemon.api.call('PauseBackend', name='a')
    streams[1].wait('log', lambda e: e['payload']['level'] == 'debug')
    for stream in streams:
        stream.wait('backend')
    assert not streams[0].find('log')


def test_metrics_and_the_end(dashboard):
    stream = dashboard.watch()
    page = dashboard.metrics()
    assert page.one('maglev_dashboard_server_connected', server='lon') == 1
    assert page.one('maglev_dashboard_browsers') == 1
    assert page.one('maglev_dashboard_events_total') >= page.one('maglev_dashboard_ring_events') > 0
    dashboard.signal(signal.SIGTERM)
    stream.wait_end()
    assert dashboard.end() == 0 and dashboard.lines[-1]['msg'] == 'stopped'


def test_foreign_hosts_are_refused(dashboard, start_dashboard):
    """DNS rebinding: the name of a foreign page leads here, and Host still has that name"""
    own = socket.gethostname()
    full = socket.getaddrinfo(own, None, flags=socket.AI_CANONNAME)[0][3]
    for path in ('/', '/view/', '/view/api/state', '/view/api/events', '/admin/', '/nothing'):
        answer = dashboard.ask('GET', path, {'Host': 'evil.example:8080'})
        assert answer.status == 421 and '--allowed-host' in answer.json['error'], path
    for host in ('localhost', 'dash.localhost:80', '192.0.2.1', '[2001:db8::1]:8080', own, own.upper() + '.:80'):
        assert dashboard.ask('GET', '/view/api/version', {'Host': host}).status == 200, host
    until(lambda: dashboard.ask('GET', '/view/api/version', {'Host': full}).status == 200, what='the full name')
    assert dashboard.ask('GET', '/healthz', {'Host': 'evil.example'}).status == 200
    other = start_dashboard('127.0.0.1:1', args=['--allowed-host', 'dash.example,.example.net'])
    for host, status in (('Dash.Example:443', 200), ('a.b.example.net', 200), ('example.net', 421), ('evil.example', 421)):
        assert other.ask('GET', '/view/api/version', {'Host': host}).status == status, host


@pytest.mark.parametrize('args, word', [
    ([], '--server'), (['--server', 'nonsense'], 'host:port'), (['--server', 'a:1,A:1'], 'two servers'),
    (['--server', 'a:1,x/y=b:1'], 'x/y=b:1: a name has'), (['--server', 'a:1,b c:1'], 'b c:1: not of the form'),
    (['--server', 'a:1', '--trusted-proxy', '10.0.0.0/33'], '10.0.0.0/33'),
    (['--server', 'a:1', '--allowed-host', 'http://a'], '--allowed-host: http://a: not of the form'),
    (['--server', 'a:1', '--tls-cert', 'x'], 'go together'), (['--server', 'a:1', '--grpc-key', 'x'], 'go together'),
    (['--server', 'a:1', '--log-level', 'loud'], 'log-level')])
def test_flags_that_make_no_sense(args, word):
    done = subprocess.run([program('maglevd-frontend'), *args], capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 64 and word in done.stderr and not done.stdout


def test_check_starts_nothing(tmp_path):
    command = [program('maglevd-frontend'), '--check', '--server', 'a:1']
    good = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (good.returncode, good.stdout) == (0, 'ok\n')
    for bad in (['--listen', 'x'], ['--tls-cert', '/nowhere', '--tls-key', '/nowhere'], ['--grpc-ca', '/nowhere']):
        done = subprocess.run([*command, *bad], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and done.stderr


def test_an_address_that_is_taken(dashboard, start_dashboard):
    other = start_dashboard('a:1', args=['--listen', f'127.0.0.1:{dashboard.port}'], ready=False)
    assert other.end() == 3
    assert 'in use' in other.wait('listen-failed', flag='--listen')['error']
