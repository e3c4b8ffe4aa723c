# SPDX-License-Identifier: Apache-2.0
"""maglev-router: TLS of clients ends here."""
import json
import os
import select
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest

from lab import PATIENCE, program, until
from lab.ports import free_port
from lab.router import OK, Wire, answering, document, echo, large
from lab.tls import Issuer, context, dial, openssl, pair, read, subject
from lab.upgrades import Upgradable

HANDSHAKES = 400  # at once: on a fast processor they take long enough for many requests, too


@pytest.fixture(scope='module')
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp('issuer'))


@pytest.fixture
def own(tmp_path):
    """An issuer whose files a story may replace."""
    return Issuer(tmp_path)


@pytest.fixture
def port():
    """One that listeners can share."""
    return free_port()


def listener(*certificates, name='web', port=None, host=None, **tls):
    """Without a port it has one of its own."""
    more = {'host': host} if host else {}
    return {'name': name, 'address': f'127.0.0.1:{port or free_port()}', **more,
            'tls': {'certificates': [pair(c) for c in certificates], **tls}}


def hosted(port, **hosts):
    """A listener for each host ('' is any) at one port."""
    return [listener(certificate, name=name, port=port, host=host) for name, (host, certificate) in hosts.items()]


def status(wire, host='a.example', path='/'):
    return wire.get(path, host)[0].status


def refusals(router, reason):
    return router.metrics().one('maglev_router_refused_total', reason=reason)


# ---- which certificate ----

def test_the_server_name_chooses_the_listener(serve, route, issuer, port):
    a, b, wild, rest = (issuer.issue(n, n if n != 'wild' else '*.example', n) for n in ('a.example', 'b', 'wild', 'rest'))
    router = route(document(serve(), listeners=hosted(port, exact=('a.example', a), wild=('*.example', wild),
                                                      other=('b.test', b), rest=('', rest))))
    router.port_of('exact')
    for name, expected in (('a.example', 'a.example'), ('A.EXAMPLE', 'a.example'), ('x.example', 'wild'), ('b.test', 'b'),
                           ('unknown.test', 'rest'), (None, 'rest'), ('127.0.0.1', 'rest')):
        with dial(port, name) as wire:
            assert subject(wire) == expected, name
            assert status(wire, name or 'unknown.test') == 200, name
    with dial(port, 'a.example', context(issuer.ca)) as wire:  # verified by the client, too
        head, body = wire.get('/', 'a.example')
        assert b'x-forwarded-proto: https' in body


def test_a_redirect_stays_with_https(route, issuer, port):
    """Unless it names another scheme. The listener's port is part of the address, since it is not 443."""
    router = route({'listeners': hosted(port, web=('', issuer.issue('a.example', 'a.example'))), 'pools': [], 'routes': [
        {'name': 'host', 'path_prefix': '/host', 'filters': {'redirect': {'hostname': 'b.example'}}},
        {'name': 'port', 'path_prefix': '/port', 'filters': {'redirect': {'port': 443}}},
        {'name': 'scheme', 'path_prefix': '/scheme', 'filters': {'redirect': {'scheme': 'http'}}}]})
    router.port_of('web')
    for path, expected in (('/host', f'https://b.example:{port}/host'), ('/port', 'https://a.example/port'),
                           ('/scheme', 'http://a.example/scheme')):
        with dial(port, 'a.example') as wire:
            assert wire.get(path, 'a.example')[0].all('location') == [expected]


def test_a_name_that_no_listener_has_is_refused(serve, route, issuer, port):
    a = issuer.issue('a.example', 'a.example')
    router = route(document(serve(), listeners=hosted(port, exact=('a.example', a))))
    router.port_of('exact')
    for name in ('b.example', None):
        with pytest.raises(ssl.SSLError, match='UNRECOGNIZED_NAME'):
            dial(port, name)
    until(lambda: refusals(router, 'tls') == 2)  # counted after the alert was sent
    router.wait('handshake-failed', name='b.example')
    with dial(port, 'a.example') as wire:
        assert status(wire) == 200


def test_a_listener_has_several_certificates(serve, route, issuer):
    both = [issuer.issue('ecdsa', 'a.example'), issuer.issue('rsa', 'a.example', rsa=True)]
    other = issuer.issue('other', 'b.example')
    router = route(document(serve(), listeners=[listener(*both, other)]))
    port = router.port_of('web')
    old = context(maximum_version=ssl.TLSVersion.TLSv1_2)
    old.set_ciphers('ECDHE-RSA-AES128-GCM-SHA256')
    for name, how, expected in (('a.example', None, 'ecdsa'), ('a.example', old, 'rsa'), ('b.example', None, 'other'),
                                ('c.example', None, 'ecdsa')):
        with dial(port, name, how) as wire:
            assert subject(wire) == expected
            assert status(wire) == 200


def test_a_request_for_the_host_of_another_listener_is_misdirected(serve, route, issuer, port):
    a, b, rest = (issuer.issue(n, n) for n in ('a.example', 'b.example', 'rest'))
    rule = {'hosts': ['a.example', 'b.example']}
    router = route(document(serve(), rule=rule, listeners=hosted(port, a=('a.example', a), b=('b.example', b))))
    router.port_of('a')
    with dial(port, 'a.example') as wire:
        assert status(wire, 'a.example') == 200
        assert status(wire, 'b.example') == 421
        assert status(wire, 'c.example') == 404  # no listener has it
        assert status(wire, 'a.example') == 200  # the connection goes on
        # a swap finds the listener of the connection again
        swapped = document(serve(), rule=rule, listeners=hosted(port, b=('b.example', b), a=('a.example', a), rest=('', rest)))
        router.update(swapped)
        assert status(wire, 'b.example') == 421
        assert status(wire, 'c.example') == 421
        assert status(wire, 'a.example') == 200
    with dial(port, 'c.example') as wire:
        assert status(wire, 'c.example') == 404  # no route has it
        assert status(wire, 'a.example') == 421


# ---- versions and ciphers, as others see them ----

def s_client(port, *words, text='', name='a.example'):
    return openssl('s_client', '-connect', f'127.0.0.1:{port}', '-servername', name, *words, text=text, check=False)


def offered(port, version, ciphers):
    """The ciphers that the server takes one by one: each that it chose is taken out of the next offer."""
    found = []
    while True:
        rest = [c for c in ciphers if c not in found]
        words = ['-ciphersuites', ':'.join(rest)] if version == '1_3' else ['-cipher', ':'.join(rest) + ':@SECLEVEL=0']
        answer = s_client(port, f'-tls{version}', *words) if rest else ''
        chosen = [line.split(' is ')[-1].strip() for line in answer.splitlines() if line.startswith('New, ')]
        if not chosen or chosen[0] in ('(NONE)', *found):
            return found
        found.append(chosen[0])


def known_ciphers(version):
    words = ['-s', '-ciphersuites', 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:'
             'TLS_AES_128_CCM_SHA256:TLS_AES_128_CCM_8_SHA256'] if version == '1_3' else []
    lines = openssl('ciphers', '-v', f'-tls{version}', *words, 'ALL:COMPLEMENTOFALL:@SECLEVEL=0').splitlines()
    return [line.split()[0] for line in lines if line.startswith('TLS_') == (version == '1_3')]


def test_only_safe_versions_and_ciphers_are_offered(serve, route, issuer):
    both = [issuer.issue('ecdsa', 'a.example'), issuer.issue('rsa', 'a.example', rsa=True)]
    router = route(document(serve(), listeners=[
        listener(*both), listener(*both, name='newest', min_version='1.3'),
        listener(*both, name='few', ciphers=['ECDHE-RSA-AES256-GCM-SHA384', 'TLS_AES_256_GCM_SHA384'])]))
    web, newest, few = (router.port_of(name) for name in ('web', 'newest', 'few'))
    assert len(known_ciphers('1_2')) > 60
    assert sorted(offered(web, '1_2', known_ciphers('1_2'))) == sorted(
        f'ECDHE-{kind}-{cipher}' for kind in ('ECDSA', 'RSA')
        for cipher in ('AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'))
    assert sorted(offered(web, '1_3', known_ciphers('1_3'))) == [
        'TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']
    for version in ('1', '1_1'):
        answer = s_client(web, f'-tls{version}', '-cipher', 'ALL:@SECLEVEL=0')
        assert 'alert protocol version' in answer, answer
    assert offered(newest, '1_2', known_ciphers('1_2')) == []
    assert len(offered(newest, '1_3', known_ciphers('1_3'))) == 3
    assert offered(few, '1_2', known_ciphers('1_2')) == ['ECDHE-RSA-AES256-GCM-SHA384']
    assert offered(few, '1_3', known_ciphers('1_3')) == ['TLS_AES_256_GCM_SHA384']
    answer = s_client(web, '-tls1_2', text='R\n')  # asks for a renegotiation
    assert 'no renegotiation' in answer or 'NO_RENEGOTIATION' in answer.upper(), answer
    assert 'Compression: NONE' in answer


def curl(port, issuer, path, *words):
    """(the body, the version of HTTP and the status)"""
    done = subprocess.run(['curl', '-sS', '--cacert', issuer.ca, '--connect-to', f'a.example:443:127.0.0.1:{port}',
                           f'https://a.example{path}', '-w', '\n%{http_version} %{http_code}', *words],
                          capture_output=True, timeout=PATIENCE, check=True)
    body, end = done.stdout.rsplit(b'\n', 1)
    return body, end.decode()


def test_curl_gets_an_answer(serve, route, issuer):
    certificate = issuer.issue('a.example', 'a.example')
    router = route(document(serve(large), listeners=[listener(certificate), {**listener(certificate, name='one'), 'http2': False}]))
    for name, words, version in (('web', (), '2'), ('web', ('--http1.1',), '1.1'), ('web', ('--no-alpn',), '1.1'), ('one', (), '1.1')):
        body, end = curl(router.port_of(name), issuer, '/3000000', *words)
        assert len(body) == 3000000 and end == f'{version} 200', (name, words, len(body), end)


def test_the_rules_of_tls_hold_for_http2(serve, route, issuer, port):
    """The subject of a certificate, and hosts of other listeners, for each request of a connection."""
    a, b, alice = (issuer.issue(n, n) for n in ('a.example', 'b.example', 'alice'))
    clients = {'ca': issuer.ca, 'header': 'X-Subject'}
    router = route(document(serve(), listeners=[listener(a, name='a', port=port, host='a.example', clients=clients),
                                                listener(b, name='b', port=port, host='b.example')]))
    router.port_of('a')
    words = ('--cert', alice[0], '--key', alice[1])
    body, end = curl(port, issuer, '/', *words, '-H', 'x-subject: CN=root')
    assert end == '2 200' and b'X-Subject: CN=alice,O=Lab\r\n' in body and b'root' not in body, body
    assert b'x-forwarded-proto: https' in body
    assert curl(port, issuer, '/', *words, '-H', 'Host: b.example')[1] == '2 421'
    assert curl(port, issuer, '/', *words, '-H', 'Host: c.example')[1] == '2 404'


def test_the_end_of_a_connection_is_announced(serve, route, issuer):
    """Without close_notify a client cannot tell an answer that was cut off, and OpenSSL forgets the session."""
    router = route(document(serve(large), listeners=[listener(issuer.issue('a.example', 'a.example'))]), '--idle-timeout', '1s')
    for text in ('GET /close/100000 HTTP/1.0\r\n\r\n', 'GET /9 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
                 'GET /9 HTTP/1.1\r\nHost: a\r\n\r\n', 'no request\r\n\r\n'):
        with socket.create_connection(('127.0.0.1', router.port_of('web')), PATIENCE) as sock:
            with context().wrap_socket(sock, server_hostname='a.example', suppress_ragged_eofs=False) as secure:
                secure.sendall(text.encode())
                answer = b''
                while data := secure.recv(65536):  # raises an exception at an end that is not announced
                    answer += data
        assert answer.startswith(b'HTTP/1.1 ') and (b'/close/' not in text.encode() or answer.endswith(b'z' * 100000))


# ---- what comes instead of TLS ----

def test_http_without_tls_gets_a_sentence(serve, route, issuer):
    router = route(document(serve(), listeners=[listener(issuer.issue('a.example', 'a.example'))]))
    with Wire(router.port_of('web')) as wire:
        head, body = wire.get('/?' + 'x' * 4000)
        assert head.status == 400 and b'HTTPS' in body
        assert wire.rest() == b''
    assert refusals(router, 'plain') == 1


def test_garbage_is_ended(serve, route, issuer):
    router = route(document(serve(), listeners=[listener(issuer.issue('a.example', 'a.example'))]))
    port = router.port_of('web')
    hello = bytes([22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3])
    for count, bytes_ in enumerate((b'\x00' * 100, b'\xff' * 5000, hello + b'\x00' * 194, b'\x16\x03\x01\xff\xff', b'SSH-2.0-x\r\n'), 1):
        with Wire(port) as wire:
            wire.send(bytes_)
            wire.shutdown()
            assert b'HTTP' not in wire.rest()
        until(lambda: refusals(router, 'tls') == count)
    with dial(port) as wire:
        assert status(wire) == 200


def test_a_silent_client_is_ended_and_holds_up_nobody(serve, route, issuer):
    router = route(document(serve(), listeners=[listener(issuer.issue('a.example', 'a.example'))]), '--head-timeout', '1s', threads=1)
    port = router.port_of('web')
    with Wire(port) as silent, Wire(port) as slow, dial(port) as kept:
        slow.send(b'\x16\x03\x01')
        began = time.monotonic()
        while time.monotonic() - began < 0.5:
            assert status(kept) == 200
        assert silent.rest() == b'' and slow.rest() == b''
        assert time.monotonic() - began < 5
        assert status(kept) == 200
    assert refusals(router, 'tls') == 2
    until(lambda: router.metrics().one('maglev_router_client_connections') == 0, what='the end of the last connection')


class Handshaker(threading.Thread):
    """Full handshakes, one after the other, each on a connection of its own."""

    def __init__(self, port, stop):
        super().__init__(daemon=True)
        self.port, self.stop, self.done, self.failed = port, stop, 0, []

    def run(self):
        how = context()
        while not self.stop.is_set():
            try:
                dial(self.port, 'a.example', how).close()
                self.done += 1
            except OSError as error:
                self.failed.append(error)


def readable(wires):
    poll = select.poll()
    for wire in wires:
        poll.register(wire.sock, select.POLLIN)
    return len(poll.poll(0))


def test_many_handshakes_at_once_leave_turns_to_open_connections(serve, route, issuer):
    """All ClientHellos are there at once, with RSA keys of 4096 bits, which take long. No request on an open connection
    waits for all of them: handshakes have their own line, which gets a bounded part of each turn."""
    slow = issuer.path('slow.pem'), issuer.path('slow.key')
    openssl('req', '-x509', '-newkey', 'rsa:4096', '-nodes', '-keyout', slow[1], '-subj', '/CN=slow', '-days', '2', '-out', slow[0])
    router = route(document(serve(), listeners=[listener(slow)]), '--head-timeout', '1m', threads=1)
    port, out, took = router.port_of('web'), ssl.MemoryBIO(), []
    with pytest.raises(ssl.SSLWantReadError):
        context().wrap_bio(ssl.MemoryBIO(), out).do_handshake()
    hello = out.read()
    with dial(port) as kept:
        assert status(kept) == 200
        crowd = [Wire(port) for _ in range(HANDSHAKES)]
        for wire in crowd:
            wire.send(hello)
        began = time.monotonic()
        while readable(crowd) < HANDSHAKES:
            asked = time.monotonic()
            assert status(kept) == 200
            took.append(time.monotonic() - asked)
        whole = time.monotonic() - began
        for wire in crowd:
            assert wire.sock.recv(1) == b'\x16'  # none is forgotten
            wire.close()
    assert len(took) > 20 and max(took) < whole / 4, (whole, len(took), max(took))


# ---- certificates that are replaced ----

def test_certificates_are_replaced_and_open_connections_stay(serve, route, own):
    first = own.issue('a', 'a.example')
    router = route(document(serve(), listeners=[listener(first)]))
    port = router.port_of('web')
    with dial(port, 'a.example', context(own.ca)) as kept:
        before = kept.sock.getpeercert()['serialNumber']
        for _ in range(3):
            seen = serial(port, own)
            own.issue('a', 'a.example')
            router.signal(signal.SIGHUP)
            until(lambda: serial(port, own) != seen)  # pylint: disable=cell-var-from-loop
            assert status(kept) == 200
        assert kept.sock.getpeercert()['serialNumber'] == before


def test_certificates_are_replaced_under_handshakes(serve, route, own):
    """By updates of the admin API."""
    first, server = own.issue('a', 'a.example'), serve()
    router = route(document(server, listeners=[listener(first)]))
    port, stop = router.port_of('web'), threading.Event()
    users = [Handshaker(port, stop) for _ in range(2)]
    with dial(port, 'a.example') as kept:
        for user in users:
            user.start()
        for _ in range(5):
            seen = serial(port, own)
            own.issue('a', 'a.example')
            assert router.update(document(server, listeners=[listener(first, port=port)])).status == 200
            until(lambda: serial(port, own) != seen)  # pylint: disable=cell-var-from-loop
            assert status(kept) == 200
        stop.set()
        for user in users:
            user.join(PATIENCE)
            assert user.done and not user.failed, user.failed
        assert status(kept) == 200


def serial(port, issuer):
    with dial(port, 'a.example', context(issuer.ca)) as wire:
        return wire.sock.getpeercert()['serialNumber']


def test_a_bad_certificate_changes_nothing(serve, route, own):
    first, other = own.issue('a', 'a.example'), own.issue('b', 'b.example')
    good = document(serve(), listeners=[listener(first)])
    router = route(good)
    port = router.port_of('web')
    before = serial(port, own)
    for certificate, key, words in ((first[0], other[1], f'listeners[0].tls.certificates[0].key: {other[1]}: key values mismatch'),
                                    ('/nonexistent', first[1], 'tls.certificates[0].certificate: /nonexistent: No such file'),
                                    (first[1], first[1], 'tls.certificates[0].certificate: '),
                                    (first[0], first[0], 'tls.certificates[0].key: ')):
        bad = document(serve(), listeners=[listener((certificate, key))])
        for path in ('/routes/update', '/config/check'):
            answer = router.update(bad, path)
            assert answer.status == 400 and words in answer.json['message'], answer.text
    answer = router.update(document(serve(), listeners=[listener(first, ciphers=['NONSENSE'])]))
    assert answer.status == 400 and "listeners[0].tls.ciphers: unknown cipher 'NONSENSE'" in answer.text
    os.rename(other[1], first[1])  # the file is broken, and the router is told to read it
    since = router.mark()
    router.signal(signal.SIGHUP)
    assert 'key values mismatch' in router.wait('config-apply-failed', since)['error']
    assert serial(port, own) == before
    assert router.metrics().one('maglev_router_config_updates_total', source='file', result='failure') == 1


def test_check_looks_into_the_files(tmp_path, issuer):
    good, other = issuer.issue('a.example', 'a.example'), issuer.issue('b.example', 'b.example')
    for certificate, expected in ((good, 0), ((good[0], other[1]), 2)):
        path = tmp_path / 'router.json'
        path.write_text(json.dumps({'listeners': [listener(certificate)], 'routes': [], 'pools': []}))
        done = subprocess.run([program('maglev-router'), '--config', path, '--check'], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == expected, done
        assert ('key values mismatch' in done.stdout + done.stderr) == bool(expected)


# ---- sessions ----

def resume(port, how, session, name='a.example'):
    """(whether the session was resumed, the next session)"""
    with dial(port, name, how, session) as wire:
        assert status(wire) == 200
        return wire.sock.session_reused, wire.sock.session


@pytest.mark.parametrize('version', [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_sessions_are_resumed_on_any_thread_after_swaps_and_by_the_next_process(serve, running, folders, issuer, version):
    certificate = issuer.issue('a.example', 'a.example')
    listeners = [listener(certificate), listener(certificate, name='other'), listener(certificate, name='none', tickets=False)]
    router = running(Upgradable(folders(), document(serve(), listeners=listeners), threads=4)).start()
    port, how = router.port_of('web'), context(issuer.ca, maximum_version=version)
    resumed, session = resume(port, how, None)
    assert not resumed
    for _ in range(12):  # each goes to any of four threads
        resumed, session = resume(port, how, session)
        assert resumed
    router.update(document(serve(), listeners=listeners))
    resumed, session = resume(port, how, session)
    assert resumed
    router.upgrade()
    for _ in range(8):
        resumed, session = resume(port, how, session)
        assert resumed
    assert not resume(router.port_of('other'), how, session)[0]  # it was not made there
    for _ in range(2):
        resumed, session = resume(router.port_of('none'), how, None)
        assert not resumed and not (session and session.has_ticket)


def test_keys_of_tickets_are_replaced(serve, route, issuer):
    router = route(document(serve(), listeners=[listener(issuer.issue('a.example', 'a.example'))]), '--ticket-rotation', '1s')
    port, how = router.port_of('web'), context(issuer.ca, maximum_version=ssl.TLSVersion.TLSv1_2)
    _, old = resume(port, how, None)
    assert resume(port, how, old)[0]
    until(lambda: not resume(port, how, old)[0])  # its key is forgotten
    resumed, session = resume(port, how, resume(port, how, None)[1])
    assert resumed and session.has_ticket


# ---- certificates of clients ----

def subjects(port, how, header=''):
    with dial(port, 'a.example', how) as wire:
        wire.send(f'GET / HTTP/1.1\r\nHost: a.example\r\n{header}\r\n')
        _, body = wire.message()
        return [line.split(b': ', 1)[1].decode() for line in body.split(b'\r\n') if line.lower().startswith(b'x-subject:')]


def test_certificates_of_clients(serve, route, issuer, tmp_path):
    server, alice = issuer.issue('a.example', 'a.example'), issuer.issue('alice')
    stranger = Issuer(tmp_path, 'foreign').issue('stranger')
    modes = ('require', 'optional', 'insecure-fallback')
    router = route(document(serve(), listeners=[
        listener(server, name=mode, clients={'mode': mode, 'ca': issuer.ca, 'header': 'X-Subject'}) for mode in modes]))
    spoof = 'x-subject: CN=root\r\nX-Subject: CN=admin\r\n'
    accepted = {'require': [alice], 'optional': [alice, None], 'insecure-fallback': [alice, None, stranger]}
    for mode in modes:
        port = router.port_of(mode)
        for certificate in (alice, None, stranger):
            how = context(issuer.ca, certificate)
            if certificate in accepted[mode]:
                expected = ['CN=alice,O=Lab'] if certificate == alice else []
                assert subjects(port, how, spoof) == expected, (mode, certificate)
            else:
                with pytest.raises((ssl.SSLError, ConnectionError, EOFError)):
                    subjects(port, how)
    # a session keeps what the full handshake has found out
    how, port = context(issuer.ca, alice), router.port_of('require')
    with dial(port, 'a.example', how) as wire:
        assert status(wire) == 200
        session = wire.sock.session
    with dial(port, 'a.example', how, session) as wire:
        assert b'X-Subject: CN=alice' in wire.get('/', 'a.example')[1]
        assert wire.sock.session_reused


# ---- together with the rest ----

def test_a_proxy_header_comes_before_the_handshake(serve, route, issuer):
    one = listener(issuer.issue('a.example', 'a.example'))
    router = route(document(serve(), listeners=[{**one, 'expect_proxy': True}]))
    with dial(router.port_of('web'), 'a.example', start=b'PROXY TCP4 192.0.2.7 192.0.2.1 4000 443\r\n') as wire:
        _, body = wire.get('/', 'a.example')
        assert b'x-forwarded-for: 192.0.2.7\r\n' in body and b'x-forwarded-proto: https' in body


def test_large_bodies_and_tunnels_pass_through(serve, route, issuer):
    def tunnelling(wire):
        wire.message()
        wire.send(b'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: story\r\n\r\n')
        while True:
            wire.send(wire.until(b'\n') + b'!\n')

    doc = {'routes': [{'name': 'a', 'path_prefix': '/', 'pool': 'a'}, {'name': 'b', 'path_prefix': '/echo', 'pool': 'b'},
                      {'name': 'c', 'path_prefix': '/tunnel', 'pool': 'c'}],
           'pools': [{'name': name, 'servers': [f'127.0.0.1:{serve(handler).port}']}
                     for name, handler in (('a', large), ('b', echo), ('c', tunnelling))],
           'listeners': [listener(issuer.issue('a.example', 'a.example'))]}
    port = route(doc).port_of('web')
    with dial(port) as wire:
        for path in ('/3000000', '/chunked/300000', '/1'):
            head, body = wire.get(path, 'a.example')
            assert head.status == 200 and body == b'z' * int(path.split('/')[-1])
        wire.send(b'POST /echo HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2000000\r\n\r\n' + b'y' * 2000000)
        assert wire.message()[1].endswith(b'2000000')
        for size in range(1, 40):  # requests in pieces, one record each
            wire.send(b'GET /').send(b'%d HTTP/1.1\r\nHo' % size).send(b'st: a.example\r\n\r\n')
            assert wire.message()[1] == b'z' * size
    with dial(port) as wire:
        wire.send(b'GET /tunnel HTTP/1.1\r\nHost: a.example\r\nConnection: upgrade\r\nUpgrade: story\r\n\r\n')
        assert wire.head().status == 101
        for word in (b'one', b'two'):
            assert wire.send(word + b'\n').until(b'\n') == word + b'!'


def test_keys_in_the_document_are_used_and_never_shown(serve, running, folders, issuer):
    certificate = issuer.issue('a.example', 'a.example')
    text = read(certificate[0]), read(certificate[1])
    secret = text[1].splitlines()[1]
    server = serve()
    router = running(Upgradable(folders(), document(server))).start()
    router.port_of('default')
    port = free_port()
    answer = router.update(document(server, listeners=[listener(text, port=port)]))
    assert answer.status == 200, answer.text
    router.port_of('web')
    with dial(port, 'a.example', context(issuer.ca)) as wire:
        assert status(wire) == 200
    other = issuer.issue('other', 'a.example')
    router.update(document(server, listeners=[listener((read(other[0]), read(other[1])), port=port)]))
    shown = [router.get(path)[1] for path in ('/config', '/generations', '/generations/2/config', '/generations/3/diff', '/routes',
                                              '/metrics', '/listeners')]
    for answer in shown:
        assert secret not in answer and 'PRIVATE KEY' not in answer.replace('\\n', ''), answer[:2000]
    assert '(hidden, digest ' in router.get('/config')[1]
    router.upgrade()  # the next process gets the key itself
    with dial(port, 'a.example', context(issuer.ca)) as wire:
        assert subject(wire) == 'other' and status(wire) == 200
    assert not any(secret.encode() in line.raw for line in router.log.lines)


def test_an_ocsp_response_is_stapled(serve, route, issuer):
    certificate = issuer.issue('a.example', 'a.example')
    request, response, index = (issuer.path(f) for f in ('ocsp.req', 'ocsp.der', 'ocsp.index'))
    number = openssl('x509', '-in', certificate[0], '-noout', '-serial').split('=')[1].strip()
    with open(index, 'w', encoding='ascii') as file:
        file.write(f'V\t391231235959Z\t\t{number}\tunknown\t/CN=a.example\n')
    openssl('ocsp', '-issuer', issuer.ca, '-cert', certificate[0], '-reqout', request)
    openssl('ocsp', '-index', index, '-CA', issuer.ca, '-rsigner', issuer.ca, '-rkey', issuer.key, '-reqin', request,
            '-respout', response, '-ndays', '1')
    with_it = {'name': 'web', 'address': '127.0.0.1:0', 'tls': {'certificates': [pair(certificate, ocsp=response)]}}
    router = route(document(serve(), listeners=[with_it, listener(certificate, name='without')]))
    assert 'OCSP Response Status: successful' in s_client(router.port_of('web'), '-status')
    assert 'no response sent' in s_client(router.port_of('without'), '-status')


def test_what_is_known_of_certificates_is_shown(serve, route, issuer):
    certificate = issuer.issue('a.example', 'a.example', '*.b.example', rsa=True, days=10)
    router = route(document(serve(answering(OK)), listeners=[listener(certificate)]))
    left = router.metrics().one('maglev_router_certificate_expiry_timestamp_seconds', listener='web', certificate='0',
                                subject='CN=a.example,O=Lab') - time.time()
    assert 9 * 86400 < left <= 10 * 86400
    shown = json.loads(router.get('/listeners')[1])['listeners'][0]['tls']['certificates'][0]
    assert shown['subject'] == 'CN=a.example,O=Lab' and shown['issuer'] == 'CN=ca' and shown['algorithm'] == 'RSA'
    assert shown['names'] == ['a.example', '*.b.example'] and len(shown['fingerprint']) == 64
    assert abs(shown['not_after'] - time.time() - left) < 60
