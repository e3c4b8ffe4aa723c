# SPDX-License-Identifier: Apache-2.0
"""The API over TLS: who is let in, who may change things, and certificates that are replaced."""
import shutil
import signal
import subprocess

import pytest

from lab import VIP, Authority, config, frontend, pool, program
from lab.api import Api, Maglevc, Refused, Status

NAME = 'lb.example.net'
A = '10.99.0.11'
FILE = config(backends={'a': A}, frontends={'www': frontend(VIP, pool('all', 'a'))}, dataplane='vpp')
READS = {'ListFrontends': {}, 'GetFrontend': {'name': 'www'}, 'ListBackends': {}, 'GetBackend': {'name': 'a'},
         'ListHealthChecks': {}, 'CheckConfig': {}, 'GetVPPLBState': {}, 'SyncVPPLBState': {'plan': True}}
CHANGES = {**{f'{act}Backend': {'name': 'a'} for act in ('Pause', 'Resume', 'Disable', 'Enable')},
           'SetFrontendPoolBackendWeight': {'frontend': 'www', 'pool': 'all', 'backend': 'a', 'weight': 5},
           'ReloadConfig': {}, 'SyncVPPLBState': {}}


def contents(*paths):
    out = []
    for path in paths:
        with open(path, 'rb') as file:
            out.append(file.read())
    return out


@pytest.fixture(scope='module')
def certificates(tmp_path_factory):
    """An authority, and another that nobody knows."""
    authority = Authority(tmp_path_factory.mktemp('api'), NAME)
    authority.alice, authority.bob = authority.issue('alice', 'alice'), authority.issue('bob', 'bob')
    other = Authority(tmp_path_factory.mktemp('other'), NAME)
    authority.stranger = other.issue('alice', 'alice')
    authority.other = other
    return authority


@pytest.fixture
def start_tls(start_api, certificates, folders):
    """With copies of the server's files, that a story may replace. client() is one connection with a certificate."""
    def start_tls(*args, mutual=True):
        folder = folders()
        files = [shutil.copy(path, folder) for path in (*certificates.good, certificates.ca)]
        flags = ['--grpc-tls-cert', files[0], '--grpc-tls-key', files[1]]
        daemon = start_api(FILE, args=[*flags, *(['--grpc-client-ca', files[2]] if mutual else []), *args])
        daemon.files = files
        daemon.plane.wait_weights(VIP, {A: 100})

        def client(pair=None, ca=certificates.ca):
            return daemon.connect(tls=(*contents(ca), *(contents(*pair) if pair else (None, None))), name=NAME)

        def maglevc(pair=None, ca=certificates.ca):
            flags = ['--tls-cert', pair[0], '--tls-key', pair[1]] if pair else []
            return Maglevc(daemon.api_port, '--tls-ca', ca, '--tls-name', NAME, *flags)

        daemon.client, daemon.maglevc = client, maglevc
        return daemon

    return start_tls


def test_tls_alone_encrypts_and_asks_nobody_who_he_is(start_tls, certificates):
    """NFR-4.2"""
    daemon = start_tls(mutual=False)
    assert daemon.client().backend('a').state == 'up'
    assert 'up' in daemon.maglevc().text('show', 'backends')
    daemon.maglevc().text('set', 'backend', 'a', 'pause')
    with pytest.raises(Refused) as refused:
        Api(daemon.api_port).backend('a')  # plaintext
    assert refused.value.status == Status.UNAVAILABLE
    with pytest.raises(Refused):
        daemon.client(ca=certificates.other.ca).backend('a')
    daemon.maglevc(ca=certificates.other.ca).refused(3, 'certificate', 'show', 'backends')


def test_operators_may_change_and_everybody_else_with_a_certificate_may_read(start_tls, certificates):
    """NFR-4.2: PERMISSION_DENIED names who it was; nothing changes"""
    daemon = start_tls('--grpc-operators', 'carol,alice')
    alice, bob = daemon.client(certificates.alice), daemon.client(certificates.bob)
    for method, fields in READS.items():
        assert bob.call(method, **fields) == alice.call(method, **fields)
    for method, fields in CHANGES.items():
        bob.refused(method, Status.PERMISSION_DENIED, '"bob"', **fields)
    assert bob.backend('a').state == 'up' and bob.member('www', 'a').weight == 100
    daemon.maglevc(certificates.bob).refused(1, '--grpc-operators', 'set', 'backend', 'a', 'pause')
    for method, fields in CHANGES.items():
        alice.call(method, **fields)
    watch = bob.watch(backend=True)
    watch.wait('backend', backend='a', replay=True)
    daemon.maglevc(certificates.alice).text('set', 'backend', 'a', 'pause', 'reason', 'mine')
    assert watch.wait('backend', to='paused', replay=False).reason == 'mine'
    assert bob.backend('a').override.reason == 'mine'


def test_without_operators_whoever_is_let_in_may_change(start_tls, certificates):
    daemon = start_tls()
    assert daemon.client(certificates.bob).call('PauseBackend', name='a').state == 'paused'
    for pair in (None, certificates.stranger):
        with pytest.raises(Refused) as refused:
            daemon.client(pair).backend('a')
        assert refused.value.status == Status.UNAVAILABLE
        assert daemon.maglevc(pair).run('show', 'backends').returncode == 3
    for _ in range(20):  # the alert and the reset that follows it may come in any rhythm
        daemon.maglevc().refused(3, 'the server requires a client certificate', 'show', 'backends')
    assert daemon.client(certificates.bob).backend('a').state == 'paused'


def test_sighup_takes_new_certificates_and_old_connections_stay(start_tls, certificates):
    """NFR-4.2: for connections from then on; files that cannot be used change nothing"""
    daemon = start_tls(mutual=False)
    before = daemon.client()
    before.backend('a')
    for source, copy in zip(certificates.other.good, daemon.files):
        shutil.copy(source, copy)
    mark = daemon.mark()
    daemon.signal(signal.SIGHUP)
    daemon.wait('config-loaded', mark)
    assert before.backend('a').state == 'up'
    assert daemon.client(ca=certificates.other.ca).backend('a').state == 'up'
    with pytest.raises(Refused):
        daemon.client().backend('a')
    with open(daemon.files[0], 'w', encoding='ascii') as file:
        file.write('no certificate at all\n')
    daemon.signal(signal.SIGHUP)
    assert daemon.files[0] in daemon.wait('grpc-tls-failed', mark)['error']
    daemon.wait('config-loaded', mark, count=2)
    assert daemon.client(ca=certificates.other.ca).backend('a').state == 'up'


@pytest.mark.parametrize('flags, missing', [
    (['--grpc-tls-cert', 'x'], '--grpc-tls-key'), (['--grpc-tls-key', 'x'], '--grpc-tls-cert'),
    (['--grpc-client-ca', 'x'], '--grpc-tls-cert'), (['--grpc-operators', 'x'], '--grpc-client-ca'),
    (['--grpc-tls-cert', 'x', '--grpc-tls-key', 'x', '--grpc-operators', 'x'], '--grpc-client-ca')])
def test_half_a_lock_is_refused(flags, missing):
    """NFR-4.2: 64, with the flag that is missing"""
    done = subprocess.run([program(), *flags], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 64 and f'needs {missing}' in done.stderr


def test_a_certificate_that_cannot_be_used_stops_the_start(start, certificates):
    key = certificates.alice[1]
    daemon = start(FILE, ready=False, name='maglevd-fake', grpc='127.0.0.1:0',
                   args=['--grpc-tls-cert', certificates.good[0], '--grpc-tls-key', key])
    assert daemon.end() == 3
    line = daemon.wait('listen-failed')
    assert line['flag'] == '--grpc-addr' and key in line['error']


@pytest.mark.parametrize('at, mutual, warns', [('127.0.0.1:0', False, False), ('[::1]:0', False, False),
                                               ('0.0.0.0:0', False, True), (':0', False, True), (':0', True, False)])
def test_an_open_door_is_warned_of(start, certificates, at, mutual, warns):
    """NFR-4.2: beyond loopback and without client certificates"""
    flags = ['--grpc-tls-cert', certificates.good[0], '--grpc-tls-key', certificates.good[1], '--grpc-client-ca',
             certificates.ca]
    daemon = start(FILE, name='maglevd-fake', grpc=at, args=flags if mutual else [])
    daemon.stop()
    assert bool(daemon.all('grpc-open')) == warns
