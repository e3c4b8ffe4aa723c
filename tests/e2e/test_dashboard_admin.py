# SPDX-License-Identifier: Apache-2.0
"""/admin/: not there without credentials, closed to other sites; and what it does."""
import concurrent.futures
import json
import signal
import socket
import struct
import threading
import time

import pytest

from lab import PATIENCE, VIP, config, frontend, pool, until
from lab.api import Status, message
from lab.dashboard import ACT, CREDENTIALS, USER, basic
from lab.liar import Refuse

A, B = '10.99.0.11', '10.99.0.12'
STATIC = config(backends={'a': A, 'b/1': B}, frontends={'www': frontend(VIP, pool('all', 'a', 'b/1'))}, dataplane='vpp')
PATHS = ('/admin', '/admin/', '/admin/index.html', '/admin/api/whoami', '/admin/api/lon/reload', '/admin/x')


@pytest.fixture
def daemon(start_api):
    daemon = start_api(STATIC)
    daemon.plane.wait_weights(VIP, {A: 100, B: 100})
    return daemon


@pytest.fixture
def dashboard(daemon, start_dashboard):
    dashboard = start_dashboard(f'lon=127.0.0.1:{daemon.api_port}', env=CREDENTIALS)
    dashboard.wait_connected('lon')
    return dashboard


@pytest.mark.parametrize('env', [{}, {'MAGLEV_FRONTEND_USER': USER}, {'MAGLEV_FRONTEND_PASSWORD': 'x'},
                                 {'MAGLEV_FRONTEND_USER': USER, 'MAGLEV_FRONTEND_PASSWORD': ''},
                                 {'MAGLEV_FRONTEND_USER': '', 'MAGLEV_FRONTEND_PASSWORD': 'x'}])
def test_without_credentials_there_is_no_admin(start_dashboard, env):
    """FR-7.3, NFR-4.3: for no method, and it cannot be told from what does not exist"""
    dashboard = start_dashboard('lon=127.0.0.1:1', env=env)
    for path in PATHS:
        for method in ('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND'):
            for headers in ({}, {**basic(), **ACT}):
                answer, nothing = (dashboard.ask(method, p, headers) for p in (path, '/nothing'))
                assert answer.status == 404, (method, path)
                assert answer.body == nothing.body and 'WWW-Authenticate' not in answer.headers
                assert [k for k, _ in answer.headers.items()] == [k for k, _ in nothing.headers.items()]


def test_who_has_no_password_is_asked_for_one(dashboard):
    for path in PATHS[1:]:
        for headers in ({}, {'Authorization': 'Bearer x'}):
            answer = dashboard.ask('GET', path, headers)
            assert answer.status == 401 and answer.headers['WWW-Authenticate'].startswith('Basic ')
    moved = dashboard.ask('GET', '/admin')
    assert (moved.status, moved.headers['Location']) == (308, '/admin/')


def test_who_has_the_password_is_let_in(dashboard):
    page, same = dashboard.ask('GET', '/admin/', basic()), dashboard.ask('GET', '/view/')
    assert page.status == 200 and page.body == same.body
    assert dashboard.ask('GET', '/admin/api/whoami', basic()).json == {'user': USER, 'role': 'admin'}
    assert dashboard.ask('POST', '/admin/', {**basic(), **ACT}).status == 405
    assert dashboard.ask('PUT', '/admin/', basic()).status == 405


def test_acts_on_a_backend(daemon, dashboard):
    stream = dashboard.watch()
    end = int(time.time()) + 600
    answer = dashboard.act('lon/backends/b%2F1/pause', {'reason': 'new disk', 'until_s': end})
    assert answer.status == 200, answer.body
    assert answer.json['name'] == 'b/1' and answer.json['state'] == 'paused'
    assert answer.json['override']['reason'] == 'new disk' and answer.json['override']['until'] == str(end * 10**9)
    daemon.plane.wait_weights(VIP, {A: 100, B: 0})
    stream.wait('backend', lambda e: e['payload']['to'] == 'paused')
    stream.wait('update', lambda e: any(b.get('state') == 'paused' for b in e['payload'].get('backends', [])))
    assert dashboard.act('lon/backends/b%2F1/resume').json['state'] == 'up'
    assert dashboard.act('lon/backends/a/disable').json['state'] == 'disabled'
    refused = dashboard.act('lon/backends/a/pause')
    assert refused.status == 409 and 'disabled' in refused.json['error']
    assert dashboard.act('lon/backends/a/enable').json['state'] == 'up'
    line = dashboard.wait('admin-act', path='/admin/api/lon/backends/b%2F1/pause')
    assert line['user'] == USER and line['peer'] == '127.0.0.1' and 'new disk' in line['body']
    assert line['status'] == 200 and 'error' not in line


def test_every_act_is_logged_when_it_is_over(daemon, dashboard):
    """with what became of it; counted is only what was sent"""
    def lines(count, **fields):
        until(lambda: len(dashboard.all('admin-act', **fields)) >= count, what='the line')
        return [(line['status'], line.get('error')) for line in dashboard.all('admin-act', **fields)]
    assert dashboard.act('lon/backends/a/disable').status == 200
    refused = dashboard.act('lon/backends/a/pause', {'reason': 'é' * 1000})  # six bytes each, as it is sent
    assert refused.status == 409
    assert lines(2) == [(200, None), (409, refused.json['error'])]
    assert len(dashboard.all('admin-act')[1]['body'].encode()) <= 4096 + len('…'.encode())
    assert dashboard.ask('POST', '/admin/api/lon/check', {**basic(), **ACT}).status == 200  # no body at all
    assert lines(1, path='/admin/api/lon/check') == [(200, None)]
    assert dashboard.act('lon/backends/a/pause', {'nonsense': 1}).status == 400
    assert dashboard.act('ams/check').status == 404
    assert len(lines(3)) == 3 == dashboard.metrics().one('maglev_dashboard_acts_total')
    daemon.kill()
    dashboard.wait_connected('lon', connected=False)
    assert dashboard.act('lon/check').status == 502
    assert lines(4)[3:] == [(502, 'this server cannot be reached right now')]
    assert dashboard.metrics().one('maglev_dashboard_acts_total') == 3


def test_an_act_is_logged_though_nobody_waits_for_its_answer(lie, start_dashboard):
    """and when the dashboard ends before it is over"""
    go_on = threading.Event()
    liar = lie(CheckConfig=lambda: go_on.wait(PATIENCE) and message('CheckConfigResponse')())
    liar.answers['ReloadConfig'] = liar.hang
    dashboard = start_dashboard(f'lon=127.0.0.1:{liar.port}', env=CREDENTIALS)
    dashboard.wait_connected('lon')
    for name in ('check', 'reload'):
        browser = dashboard.http()
        browser.request('POST', f'/admin/api/lon/{name}', '{}', {**basic(), **ACT})
        until(lambda name=name: liar.calls[f'{name.capitalize()}Config'] == 1, what='the act')
        browser.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))  # reset
        browser.close()
    until(lambda: dashboard.metrics().one('maglev_dashboard_http_connections') == 1, what='the end of both')
    assert not dashboard.all('admin-act')
    go_on.set()
    assert dashboard.wait('admin-act', path='/admin/api/lon/check')['status'] == 200
    dashboard.stop()
    line = dashboard.wait('admin-act', path='/admin/api/lon/reload')
    assert line['status'] == 502 and line['error'] == 'the dashboard ends; it may have been done all the same'


def test_a_weight(daemon, dashboard):
    answer = dashboard.act('lon/frontends/www/pools/all/backends/a/weight', {'weight': 30, 'flush': True})
    assert answer.status == 200
    rows = {row['name']: row for row in answer.json['pools'][0]['backends']}
    assert rows['a']['weight'] == 30 and rows['a']['mutated'] and rows['b/1']['weight'] == 100
    daemon.plane.wait_journal('100->30 flush')
    for body in ({'weight': 101}, {}, {'flush': True}, {'weight': None}):
        refused = dashboard.act('lon/frontends/www/pools/all/backends/a/weight', body)
        assert refused.status == 400 and 'weight' in refused.json['error'], (body, refused.body)
    assert dashboard.act('lon/frontends/www/pools/all/backends/a/weight', {'weight': 0}).status == 200
    daemon.plane.wait_weights(VIP, {A: 0, B: 100})


def test_the_configuration_and_the_data_plane(daemon, dashboard):
    daemon.write(json.dumps(STATIC).replace(B, '10.99.0.13'))
    changes = dashboard.act('lon/check').json
    assert changes['ok'] and any('10.99.0.13' in line for line in changes['changes'])
    assert dashboard.backend('lon', 'b/1')['address'] == B
    assert dashboard.act('lon/reload').json['ok']
    until(lambda: dashboard.backend('lon', 'b/1')['address'] == '10.99.0.13', what='the new address')
    daemon.write('nonsense: [')
    broken = dashboard.act('lon/reload')
    assert broken.status == 200 and not broken.json['ok'] and broken.json['parse_error']
    daemon.plane.wait_weights(VIP, {A: 100, '10.99.0.13': 100})
    daemon.plane.seed([f'as {VIP} 6 80 {A} 7'])
    plan = dashboard.act('lon/sync', {'frontend': 'www', 'plan': True})
    assert plan.status == 200 and plan.json['dataplane'] == 'fake'
    assert dashboard.act('lon/sync', {'frontend': '', 'plan': False}).status == 200


def test_what_cannot_be_done_is_said(daemon, dashboard):
    for path, body, status in (('ams/check', {}, 404), ('lon/backends/nobody/pause', {}, 404),
                               ('lon/explode', {}, 404), ('lon/backends/a/pause', {'nonsense': 1}, 400),
                               ('lon/backends/a/pause', {'until_s': 'soon'}, 400),
                               ('lon/backends/a/pause', {'until_s': -5}, 400),
                               ('lon/backends/a/pause', {'until_s': 1}, 400),  # 1970
                               ('lon/frontends/www/pools/none/backends/a/weight', {'weight': 1}, 404)):
        answer = dashboard.act(path, body)
        assert answer.status == status and answer.json['error'], (path, answer.status, answer.body)
    assert dashboard.ask('GET', '/admin/api/lon/check', basic()).status == 405
    assert dashboard.backend('lon', 'a')['state'] == 'up'
    daemon.kill()
    dashboard.wait_connected('lon', connected=False)
    answer = dashboard.act('lon/check')
    assert answer.status == 502 and answer.json['error']


def under_way(dashboard, threads):
    """An act on lon that is sent, and not answered yet."""
    sent = dashboard.metrics().one('maglev_dashboard_acts_total')
    act = threads.submit(dashboard.act, 'lon/check')
    until(lambda: dashboard.metrics().one('maglev_dashboard_acts_total') == sent + 1, what='the act')
    return act


def test_what_was_under_way_may_have_been_done(daemon, dashboard):
    """the connection is lost, or no answer comes: nobody knows"""
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        daemon.signal(signal.SIGSTOP)
        act = under_way(dashboard, threads)
        daemon.kill()
        assert act.result().status == 502
        assert act.result().json['error'].endswith('; it may have been done all the same')
        daemon.command[daemon.command.index('--grpc-addr') + 1] = f'127.0.0.1:{daemon.api_port}'
        daemon.start()
        dashboard.wait_connected('lon')
        daemon.signal(signal.SIGSTOP)
        act = under_way(dashboard, threads)
        assert act.result().status == 502  # the server is given up before the act is
        assert act.result().json['error'] == 'it does not answer; it may have been done all the same'
        daemon.signal(signal.SIGCONT)


def test_what_maglevd_refuses_was_not_done(lie, start_dashboard):
    """also where it says UNAVAILABLE itself"""
    def refuse():
        raise Refuse(Status.UNAVAILABLE, 'try again')
    liar = lie(SyncVPPLBState=refuse)
    dashboard = start_dashboard(f'lon=127.0.0.1:{liar.port}', env=CREDENTIALS)
    dashboard.wait_connected('lon')
    refused = dashboard.act('lon/sync')
    assert (refused.status, refused.json) == (502, {'error': 'try again'})


@pytest.mark.parametrize('headers', [
    {'X_Maglev_Admin': None}, {'X_Maglev_Admin': 'yes'}, {'Content_Type': None}, {'Content_Type': 'text/plain'},
    {'Content_Type': 'application/x-www-form-urlencoded'}, {'Sec_Fetch_Site': 'cross-site'},
    {'Sec_Fetch_Site': 'same-site'}, {'Origin': 'http://evil.example'}, {'Origin': 'null'}])
def test_other_sites_cannot_act(dashboard, headers):
    """a browser that knows the password was led here by somebody else's page"""
    answer = dashboard.act('lon/backends/a/pause', {}, **headers)
    assert answer.status == 403 and answer.json['error']
    assert dashboard.backend('lon', 'a')['state'] == 'up'
    dashboard.wait('act-refused')
    ours = f'http://127.0.0.1:{dashboard.port}'
    assert dashboard.act('lon/backends/a/pause', {}, Origin=ours, Sec_Fetch_Site='same-origin').status == 200


def test_a_user_with_a_colon_is_refused(start_dashboard):
    dashboard = start_dashboard('lon=127.0.0.1:1', env={**CREDENTIALS, 'MAGLEV_FRONTEND_USER': 'a:b'}, ready=False)
    assert dashboard.end() == 64
    assert 'colon' in dashboard.said()
    dashboard.forgive()
