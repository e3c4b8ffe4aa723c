# SPDX-License-Identifier: Apache-2.0
"""TLS on both sides of the dashboard: towards browsers, and towards maglevds."""
import http.client
import shutil
import signal
import socket
import ssl

import pytest

from lab import VIP, Authority, config, frontend, pool, until
from lab.dashboard import CREDENTIALS, basic

A = '10.99.0.11'
STATIC = config(backends={'a': A}, frontends={'www': frontend(VIP, pool('all', 'a'))}, dataplane='vpp')


@pytest.fixture(scope='module')
def certificates(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp('dashboard'), 'localhost')
    authority.reader, authority.operator = (authority.issue(name, name) for name in ('reader', 'operator'))
    authority.other = Authority(tmp_path_factory.mktemp('other'), 'localhost')
    return authority


@pytest.fixture
def start_tls(start_dashboard, certificates, folders):
    """A dashboard with copies of its files, that a story may replace."""
    def start_tls(*servers, more=(), **options):
        files = [shutil.copy(path, folders()) for path in certificates.good]
        dashboard = start_dashboard(*servers, tls=certificates.ca, env=CREDENTIALS,
                                    args=['--tls-cert', files[0], '--tls-key', files[1], *more], **options)
        dashboard.files = files
        return dashboard
    return start_tls


def serial(dashboard, ca):
    with socket.create_connection(('127.0.0.1', dashboard.port)) as raw, \
            ssl.create_default_context(cafile=ca).wrap_socket(raw, server_hostname='localhost') as s:
        return s.getpeercert()['serialNumber']


def test_everything_works_inside_of_tls(start_api, start_tls):
    daemon = start_api(STATIC)
    dashboard = start_tls(f'lon=127.0.0.1:{daemon.api_port}')
    dashboard.wait_connected('lon')
    stream = dashboard.watch()
    assert dashboard.act('lon/backends/a/pause').json['state'] == 'paused'
    stream.wait('backend', lambda e: e['payload']['to'] == 'paused')
    page = dashboard.ask('GET', '/admin/', basic())
    assert page.status == 200 and page.headers['Strict-Transport-Security']
    assert '; Secure' in dashboard.ask('GET', '/admin/api/whoami', basic()).headers['Set-Cookie']


def test_plaintext_is_turned_away(start_tls):
    dashboard = start_tls('lon=127.0.0.1:1')
    connection = http.client.HTTPConnection('127.0.0.1', dashboard.port, timeout=20)
    connection.request('GET', '/view/')
    with pytest.raises((http.client.HTTPException, OSError)):
        connection.getresponse()
    assert dashboard.get('/healthz')[0] == 200


def test_certificates_are_replaced_under_way(start_tls, certificates):
    """SIGHUP: connections go on, new ones get the new certificate; a bad file changes nothing"""
    dashboard = start_tls('lon=127.0.0.1:1')
    stream, old = dashboard.watch(), serial(dashboard, certificates.ca)
    for path, copy in zip(certificates.issue('next', 'localhost'), dashboard.files):
        shutil.copy(path, copy)
    dashboard.signal(signal.SIGHUP)
    dashboard.wait('tls-reloaded', **{'for': 'http'})
    new = serial(dashboard, certificates.ca)
    with open(dashboard.files[0], 'w', encoding='ascii') as file:
        file.write('nonsense')
    dashboard.signal(signal.SIGHUP)
    assert dashboard.files[0] in dashboard.wait('tls-failed', **{'for': 'http'})['error']
    assert serial(dashboard, certificates.ca) == new != old
    assert not stream.ended


@pytest.mark.parametrize('side, flags', [('http', ('--tls-cert', '--tls-key')), ('grpc', ('--grpc-cert', '--grpc-key'))])
def test_a_certificate_that_cannot_be_used_ends_the_start(start_dashboard, certificates, side, flags):
    """and is not taken for an address that cannot be listened on; a key that is another's is no better than none"""
    key = certificates.operator[1]
    dashboard = start_dashboard('lon=127.0.0.1:1', args=[flags[0], certificates.good[0], flags[1], key], ready=False)
    assert dashboard.end() == 3
    assert key in dashboard.wait('tls-failed', **{'for': side})['error']
    assert not dashboard.all('listen-failed') and not dashboard.all('listening')


def test_without_certificates_a_hangup_changes_nothing(start_dashboard):
    dashboard = start_dashboard('lon=127.0.0.1:1')
    dashboard.signal(signal.SIGHUP)
    assert dashboard.get('/healthz')[0] == 200
    assert not dashboard.all('tls-reloaded')


def test_certificates_towards_maglevds_are_replaced_under_way(start_api, start_dashboard, certificates, folders):
    """SIGHUP: the connection goes on as who it was, the next one is made as somebody else; a bad file changes nothing"""
    daemon = start_api(STATIC, args=['--grpc-tls-cert', certificates.good[0], '--grpc-tls-key', certificates.good[1],
                                     '--grpc-client-ca', certificates.ca, '--grpc-operators', 'operator'])
    files = [shutil.copy(path, folder) for folder in [folders()] for path in certificates.reader]
    dashboard = start_dashboard(f'lon=localhost:{daemon.api_port}', env=CREDENTIALS,
                                args=['--grpc-ca', certificates.ca, '--grpc-cert', files[0], '--grpc-key', files[1]])
    dashboard.wait_connected('lon')

    def come_back():
        daemon.kill()
        dashboard.wait_connected('lon', connected=False)
        daemon.command[daemon.command.index('--grpc-addr') + 1] = f'127.0.0.1:{daemon.api_port}'
        daemon.start()
        dashboard.wait_connected('lon')

    for path, copy in zip(certificates.operator, files):
        shutil.copy(path, copy)
    dashboard.signal(signal.SIGHUP)
    dashboard.wait('tls-reloaded', **{'for': 'grpc'})
    assert dashboard.act('lon/backends/a/pause').status == 403
    assert not dashboard.all('server-lost')
    come_back()
    assert dashboard.act('lon/backends/a/pause').status == 200
    with open(files[1], 'w', encoding='ascii') as file:
        file.write('nonsense')
    dashboard.signal(signal.SIGHUP)
    assert files[1] in dashboard.wait('tls-failed', **{'for': 'grpc'})['error']
    come_back()
    assert dashboard.act('lon/backends/a/disable').status == 200


def test_one_side_that_cannot_be_read_does_not_keep_the_other_from_it(start_tls, certificates, folders):
    ca = shutil.copy(certificates.ca, folders())
    dashboard = start_tls('lon=127.0.0.1:1', more=['--grpc-ca', ca])
    old = serial(dashboard, certificates.ca)
    for path, copy in zip(certificates.issue('third', 'localhost'), dashboard.files):
        shutil.copy(path, copy)
    with open(ca, 'w', encoding='ascii') as file:
        file.write('nonsense')
    dashboard.signal(signal.SIGHUP)
    assert ca in dashboard.wait('tls-failed', **{'for': 'grpc'})['error']
    dashboard.wait('tls-reloaded', **{'for': 'http'})
    assert serial(dashboard, certificates.ca) != old


def test_maglevds_behind_tls(start_api, start_dashboard, certificates):
    """which authorities are trusted, and which clients are let in and obeyed"""
    daemon = start_api(STATIC, args=['--grpc-tls-cert', certificates.good[0], '--grpc-tls-key', certificates.good[1],
                                     '--grpc-client-ca', certificates.ca, '--grpc-operators', 'operator'])
    server = f'lon=localhost:{daemon.api_port}'

    def over(pair, ca=certificates.ca):
        flags = ['--grpc-cert', pair[0], '--grpc-key', pair[1]] if pair else []
        return start_dashboard(server, env=CREDENTIALS, args=['--grpc-ca', ca, *flags])

    operator, reader, nobody, suspicious = (over(certificates.operator), over(certificates.reader), over(None),
                                            over(certificates.operator, certificates.other.ca))
    operator.wait_connected('lon')
    reader.wait_connected('lon')
    refused = reader.act('lon/backends/a/pause')
    assert refused.status == 403 and refused.json['error']
    assert operator.act('lon/backends/a/pause').status == 200
    for one in (nobody, suspicious):
        error = until(lambda one=one: (said := one.state('lon')['error']) != 'not connected yet' and said, what='a word')
        assert not one.state('lon')['connected'] and error
    assert 'the server requires a client certificate' in nobody.state('lon')['error']


def test_a_password_in_the_clear_is_worth_a_warning(start_dashboard):
    dashboard = start_dashboard('lon=127.0.0.1:1', env=CREDENTIALS, args=['--listen', '0.0.0.0:0'])
    dashboard.wait('admin-plaintext')
    quiet = start_dashboard('lon=127.0.0.1:1', env=CREDENTIALS)
    assert not quiet.all('admin-plaintext')
