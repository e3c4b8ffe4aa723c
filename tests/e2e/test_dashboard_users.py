# SPDX-License-Identifier: Apache-2.0
"""Users of the dashboard from a file: who they are, what they may do, and what maglevd learns of them."""
import concurrent.futures
import os
import signal
import subprocess
import time

import pytest

from lab import VIP, Authority, config, frontend, pool, program, until
from lab.dashboard import ACT, CREDENTIALS, USER, basic

A = '10.99.0.11'
STATIC = config(backends={'a': A}, frontends={'www': frontend(VIP, pool('all', 'a'))}, dataplane='vpp')
NAME = 'localhost'


def make_user(text, password):
    done = subprocess.run([program('maglevd-frontend'), '--make-user', text], input=password + '\n', text=True,
                          capture_output=True, check=True)
    return done.stdout


@pytest.fixture(scope='module')
def lines():
    """alice may act; bob, without a role, may look."""
    return {'alice': make_user('alice:admin', 'wonder: land'), 'bob': make_user('bob', 'builder')}


ALICE, BOB = basic('alice', 'wonder: land'), basic('bob', 'builder')


@pytest.fixture
def users(folders, lines):
    path = os.path.join(folders(), 'users')
    replace(path, *lines.values())
    return path


def replace(path, *lines):
    with open(path + '.new', 'w', encoding='utf-8') as file:
        file.write('# users\n' + ''.join(lines))
    os.rename(path + '.new', path)


@pytest.fixture
def daemon(start_api):
    return start_api(STATIC)


@pytest.fixture
def start_lon(start_dashboard, daemon, users):
    def start_lon(**options):
        dashboard = start_dashboard(f'lon=127.0.0.1:{daemon.api_port}', args=['--users', users], **options)
        dashboard.wait_connected('lon')
        return dashboard
    return start_lon


def whoami(dashboard, who):
    answer = dashboard.ask('GET', '/admin/api/whoami', who)
    return answer.json if answer.status == 200 else answer.status


def test_each_user_has_a_role_and_is_named_to_maglevd(start_lon, daemon):
    dashboard = start_lon()
    assert whoami(dashboard, ALICE) == {'user': 'alice', 'role': 'admin'}
    assert whoami(dashboard, BOB) == {'user': 'bob', 'role': 'read-only'}
    assert dashboard.ask('GET', '/admin/', BOB).status == 200
    refused = dashboard.act('lon/backends/a/pause', **BOB)
    assert refused.status == 403 and b'may look, but not act' in refused.body
    assert daemon.api.backend('a').state == 'up'
    dashboard.wait('admin-act', user='bob', status=403)
    done = dashboard.act('lon/backends/a/pause', {'reason': 'disk'}, **ALICE)
    assert done.status == 200 and done.json['override']['operator'] == 'unverified:alice'
    assert dashboard.wait('admin-act', user='alice')['peer'] == '127.0.0.1'
    assert daemon.wait('operator-act', act='pause')['operator'] == 'unverified:alice'
    assert dashboard.ask('POST', '/admin/api/lon/act', {**ACT, **ALICE},
                         '{"names": ["a"], "act": "resume", "dry_run": true}').json['backends'][0]['after'] == 'up'


def test_wrong_names_and_passwords_are_all_the_same(start_lon):
    dashboard = start_lon()
    for who in (basic('alice', 'wonder'), basic('alice', ''), basic('nobody', 'builder'), basic('', ''),
                basic('alice', 'builder')):
        assert whoami(dashboard, who) == 401
    dashboard.wait('login-failed', count=5)
    assert whoami(dashboard, {}) == 401
    assert whoami(dashboard, ALICE)['user'] == 'alice'
    assert len(dashboard.all('login-failed')) == 5


def test_lines_of_other_tools_are_understood(start_lon, users):
    """bcrypt of htpasswd, yescrypt of mkpasswd."""
    bcrypt = subprocess.run(['htpasswd', '-niB', 'carol'], input='curious', text=True, capture_output=True, check=True).stdout.strip()
    yescrypt = subprocess.run(['mkpasswd', '-s', '-m', 'yescrypt'], input='dormouse\n', text=True, capture_output=True, check=True).stdout.strip()
    assert bcrypt.startswith('carol:$2y$') and yescrypt.startswith('$y$')
    replace(users, bcrypt + ':admin\n', f'dan:{yescrypt}\n')
    dashboard = start_lon()
    assert whoami(dashboard, basic('carol', 'curious')) == {'user': 'carol', 'role': 'admin'}
    assert whoami(dashboard, basic('dan', 'dormouse')) == {'user': 'dan', 'role': 'read-only'}
    assert whoami(dashboard, basic('carol', 'dormouse')) == 401


def test_the_user_of_the_environment_stays(start_lon):
    dashboard = start_lon(env=CREDENTIALS)
    assert whoami(dashboard, basic()) == {'user': USER, 'role': 'admin'}
    assert whoami(dashboard, ALICE)['user'] == 'alice'


def test_a_changed_file_counts_at_once(start_lon, users, lines):
    dashboard = start_lon()
    assert whoami(dashboard, ALICE)['role'] == 'admin' and whoami(dashboard, BOB)['user'] == 'bob'
    mark = dashboard.mark()
    replace(users, lines['alice'].replace(':admin', ':read-only'))
    dashboard.wait('users-read', mark, users=1)
    assert whoami(dashboard, ALICE)['role'] == 'read-only'  # also while the password is remembered
    assert whoami(dashboard, BOB) == 401
    replace(users, 'alice:secret\n')
    assert 'line 2' in dashboard.wait('users-not-read')['error']
    assert whoami(dashboard, ALICE)['role'] == 'read-only'
    mark = dashboard.mark()
    with open(users, 'w', encoding='utf-8') as file:
        file.write(lines['bob'])
    dashboard.signal(signal.SIGHUP)
    dashboard.wait('users-read', mark, users=1)
    assert whoami(dashboard, BOB)['user'] == 'bob'


def test_a_slow_hash_does_not_hold_the_loop(start_lon):
    """Many guesses at once: other requests go on, and only a few hashes are computed at the same time."""
    dashboard = start_lon()
    with concurrent.futures.ThreadPoolExecutor(12) as threads:
        guesses = [threads.submit(whoami, dashboard, basic('alice', f'guess{i}')) for i in range(12)]
        slowest = 0
        while not all(guess.done() for guess in guesses):
            began = time.monotonic()
            assert dashboard.ask('GET', '/view/api/version').status == 200
            slowest = max(slowest, time.monotonic() - began)
    assert {guess.result() for guess in guesses} <= {401, 429, 503}
    assert slowest < 1
    until(lambda: whoami(dashboard, ALICE) == {'user': 'alice', 'role': 'admin'})
    began = time.monotonic()
    for _ in range(20):  # the password is remembered: no hash for each request
        assert whoami(dashboard, ALICE)['user'] == 'alice'
    assert time.monotonic() - began < 2


def test_a_broken_file_is_named_at_the_start(start_dashboard, users, folders):
    replace(users, 'alice:$apr1$abc$0123456789\n')
    done = subprocess.run([program('maglevd-frontend'), '--server', '127.0.0.1:1', '--users', users, '--check'],
                          capture_output=True, text=True)
    assert done.returncode == 1 and f'--users: {users}: line 2: this is not a strong hash' in done.stderr
    dashboard = start_dashboard('lon=127.0.0.1:1', args=['--users', users], ready=False)
    assert dashboard.end() == 3 and 'line 2' in dashboard.wait('users-not-read')['error']
    bad = subprocess.run([program('maglevd-frontend'), '--make-user', 'x:king'], input='pw\n', capture_output=True, text=True)
    assert bad.returncode == 1 and 'admin or read-only' in bad.stderr


def test_maglevd_believes_a_dashboard_that_is_a_delegate(start_api, start_dashboard, users, tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp('users'), NAME)
    dash = authority.issue('dash', 'dash')
    daemon = start_api(STATIC, args=['--grpc-tls-cert', authority.good[0], '--grpc-tls-key', authority.good[1],
                                     '--grpc-client-ca', authority.ca, '--grpc-delegates', 'dash'])
    dashboard = start_dashboard(f'lon=localhost:{daemon.api_port}', args=[
        '--users', users, '--grpc-ca', authority.ca, '--grpc-cert', dash[0], '--grpc-key', dash[1],
        '--trusted-proxy', '127.0.0.1'])
    dashboard.wait_connected('lon')
    done = dashboard.act('lon/backends/a/disable', X_Forwarded_For='203.0.113.9', **ALICE)
    override = done.json['override']
    assert (override['operator'], override['operator_address']) == ('alice via dash', '203.0.113.9')
