# SPDX-License-Identifier: Apache-2.0
"""maglevd-frontend told everything by its environment, as its systemd unit does; flags win."""
import subprocess

import pytest

from lab import VIP, Authority, config, frontend, pool, program, until
from lab.dashboard import CREDENTIALS, Dashboard, basic

# two servers, so that a pause of one is no outage, which would be an error in the log
STATIC = config(backends={'a': '10.99.0.11', 'b': '10.99.0.12'}, frontends={'www': frontend(VIP, pool('all', 'a', 'b'))},
                dataplane='vpp')


@pytest.fixture
def start_told(running, folders):
    """With these variables, without the prefix, and flags; and with no others."""

    def start_told(*flags, tls=None, **variables):
        env = {**CREDENTIALS, **{f'MAGLEV_FRONTEND_{name}': value for name, value in variables.items()}}
        dashboard = Dashboard(folders(), [], env=env, tls=tls)
        dashboard.command = [program('maglevd-frontend'), *flags]
        return running(dashboard).start()

    return start_told


def test_every_flag_can_be_a_variable(start_api, start_told, tmp_path):
    """NFR-5.1"""
    authority = Authority(tmp_path, 'localhost')
    operator = authority.issue('operator', 'operator')
    daemon = start_api(STATIC, args=['--grpc-tls-cert', authority.good[0], '--grpc-tls-key', authority.good[1],
                                     '--grpc-client-ca', authority.ca, '--grpc-operators', 'operator'])
    variables = {'SERVER': f'lon=localhost:{daemon.api_port},ams=127.0.0.1:1', 'LISTEN': '127.0.0.1:0',
                 'METRICS_ADDR': '127.0.0.1:0', 'TLS_CERT': authority.good[0], 'TLS_KEY': authority.good[1],
                 'ALLOWED_HOST': 'a.example', 'TRUSTED_PROXY': '127.0.0.1', 'GRPC_CA': authority.ca, 'GRPC_CERT': operator[0],
                 'GRPC_KEY': operator[1],
                 'EVENTS_LEVEL': 'error', 'LOG_LEVEL': 'warn', 'CHECK': 'false'}
    dashboard = start_told('--log-level', 'info', tls=authority.ca, **variables)
    dashboard.wait_connected('lon')
    assert [one['name'] for one in dashboard.state()['servers']] == ['lon', 'ams']
    stream = dashboard.watch()
    assert dashboard.act('lon/backends/a/pause', X_Forwarded_For='192.0.2.1').status == 200
    assert dashboard.wait('admin-act')['peer'] == '192.0.2.1'
    stream.wait('backend', lambda e: e['payload']['to'] == 'paused')
    stream.wait('update')
    assert not stream.find('log')
    assert {line['level'] for line in dashboard.lines} == {'INFO', 'WARN'}  # the flag won
    other = start_told('--server', f'ber=localhost:{daemon.api_port}', '--listen=[::1]:0', tls=authority.ca,
                  **{**variables, 'LOG_LEVEL': 'info'})
    assert other.wait('listening', **{'for': 'http'})['addr'].startswith('[::1]:')
    assert other.wait('listening', **{'for': 'metrics'})['addr'].startswith('127.0.0.1:')
    assert other.wait('server-connected')['server'] == 'ber'


def test_tls_towards_maglevds_without_files(start_api, start_told):
    """GRPC_TLS alone: the system's store; and the flag wins"""
    daemon = start_api(STATIC)
    variables = {'SERVER': f'lon=127.0.0.1:{daemon.api_port}', 'LISTEN': '127.0.0.1:0', 'GRPC_TLS': 'true',
                 'LOG_LEVEL': 'debug'}
    encrypted = start_told(**variables)
    assert 'TLS' in encrypted.wait('server-lost')['error']
    plain = start_told('--grpc-tls=false', **variables)
    plain.wait_connected('lon')
    assert plain.ask('GET', '/admin/api/whoami', basic()).status == 200
    until(lambda: not encrypted.state('lon')['connected'], what='the difference')


def test_a_check_can_be_asked_for(tmp_path):
    """as the unit's ExecStartPre does by a flag"""
    command = [program('maglevd-frontend')]
    env = {'MAGLEV_FRONTEND_SERVER': 'a:1', 'MAGLEV_FRONTEND_CHECK': 'true'}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30, env=env)
    assert (done.returncode, done.stdout) == (0, 'ok\n')
    for name, value in (('LISTEN', 'x'), ('METRICS_ADDR', 'x'), ('GRPC_CA', '/nowhere'),
                        ('LOG_LEVEL', 'loud'), ('EVENTS_LEVEL', 'loud'), ('SERVER', 'x'), ('SPEAKER', 'x'), ('TLS_CERT', 'x'),
                        ('TRUSTED_PROXY', 'x'), ('ALLOWED_HOST', 'a:1'), ('USER', 'a:b')):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30,
                              env={**env, f'MAGLEV_FRONTEND_{name}': value})
        assert done.returncode in (1, 64) and done.stderr and not done.stdout, name
