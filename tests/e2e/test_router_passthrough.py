# SPDX-License-Identifier: Apache-2.0
"""maglev-router: TLS passed on by the name in its first message, TLS that ends here, and both at one port."""
import contextlib
import json
import socket
import ssl
import subprocess

import pytest

from lab import PATIENCE, until
from lab.ports import free_port
from lab.router import Wire, echo
from lab.tls import Issuer, context, dial, openssl, pair, subject


@pytest.fixture(scope='module')
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp('issuer'))


@pytest.fixture(scope='module')
def certificates(issuer):
    return {name: issuer.issue(name, name + '.example', 'www.' + name + '.example') for name in ('a', 'b', 'c')}


@pytest.fixture
def port():
    """One that listeners can share."""
    return free_port()


def secured(certificate, alpn=()):
    """A server with TLS of its own, which answers each line with the name that it was asked for."""
    how = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    how.load_cert_chain(*certificate)
    how.set_alpn_protocols(list(alpn))
    how.sni_callback = lambda sock, name, _: setattr(sock, 'asked', name)

    def serve(wire):
        wire.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire.sock = how.wrap_socket(wire.sock, server_side=True)
        while True:
            line = wire.until(b'\n')
            wire.send(line + b' ' + str(wire.sock.asked).encode() + b'\n')
    return serve


def lines(wire):
    while True:
        wire.send(wire.until(b'\n') + b' plain\n')


def pool(name, *servers, **more):
    return {'name': name, 'servers': [f'127.0.0.1:{getattr(server, "port", server)}' for server in servers], **more}


def passing(port, name='tls', **more):
    return {'name': name, 'address': f'127.0.0.1:{port}', 'protocol': 'tcp', 'tls': {'mode': 'passthrough'}, **more}


def stream(name, **more):
    return {'name': name, 'listeners': ['tls'], 'pool': name, **more}


def client_hello(name, how=None):
    """(SSLObject, what comes in, the bytes that it says first)"""
    inside, outside = ssl.MemoryBIO(), ssl.MemoryBIO()
    it = (how or context()).wrap_bio(inside, outside, server_hostname=name)
    with contextlib.suppress(ssl.SSLWantReadError):
        it.do_handshake()
    return it, inside, outside


def step(sock, act, inside, outside):
    """Does it with the bytes that it needs, and returns its result."""
    while True:
        try:
            done = act()
            sock.sendall(outside.read())
            return done
        except ssl.SSLWantReadError:
            sock.sendall(outside.read())
            data = sock.recv(65536)
            assert data, 'the connection has ended'
            inside.write(data)


def finish(sock, it, inside, outside):
    """The rest of the handshake, and a line."""
    step(sock, it.do_handshake, inside, outside)
    step(sock, lambda: it.write(b'x\n'), inside, outside)
    got = b''
    while not got.endswith(b'\n'):
        got += step(sock, lambda: it.read(100), inside, outside)
    return got


def received(router):
    return sum(client['received'] for client in json.loads(router.get('/connections?limit=10000')[1])['clients'])


def relays(router):
    """(stream, name) of each connection."""
    shown = [one.get('relay', {}) for one in json.loads(router.get('/connections')[1])['clients']]
    return [(one.get('stream'), one.get('sni')) for one in shown]


# ---- which server ----

def test_the_name_chooses_the_server_and_its_certificate_reaches_the_client(serve, route, issuer, certificates, port):
    a, b, other = (serve(secured(certificates[name])) for name in 'abc')
    router = route({'listeners': [passing(port)], 'access_log': {},
                    'streams': [stream('a', hosts=['a.example']), stream('b', hosts=['*.b.example', 'b.example']),
                                stream('c')],
                    'pools': [pool('a', a), pool('b', b), pool('c', other)]})
    for asked, common in (('a.example', 'a'), ('A.Example', 'a'), ('www.b.example', 'b'), ('b.example', 'b'),
                          ('www.a.example', 'c'), (None, 'c')):
        with dial(port, asked) as wire:
            assert subject(wire) == common, asked
            assert wire.send('x\n').until(b'\n') == f'x {asked}'.encode()
    with dial(port, 'a.example', context(issuer.ca)) as wire:  # verified end to end
        assert wire.send('x\n').until(b'\n') == b'x a.example'
        until(lambda: relays(router) == [('a', 'a.example')], what='this connection alone')  # the ones before may still be ending
    line = router.wait('access', sni='www.b.example')
    assert (line['stream'], line['server'], line['complete']) == ('b', f'127.0.0.1:{b.port}', True)
    router.wait('access', stream='c', count=2)
    assert {line.get('sni') for line in router.all('access', stream='c')} == {'www.a.example', None}


def test_a_name_that_no_stream_has_gets_a_reset(serve, route, certificates, port):
    router = route({'listeners': [passing(port)], 'access_log': {}, 'streams': [stream('a', hosts=['a.example'])],
                    'pools': [pool('a', serve(secured(certificates['a'])))]})
    for name in ('b.example', None):
        with pytest.raises(ConnectionResetError):
            dial(port, name)
    assert 'errno=104' in openssl('s_client', '-connect', f'127.0.0.1:{port}', '-servername', 'x.example', check=False)
    assert router.wait('access', sni='x.example')['why'] == 'no-stream'


def test_without_a_server_the_client_gets_a_reset(route, port):
    with socket.socket() as held:
        held.bind(('127.0.0.1', 0))
        route({'listeners': [passing(port)], 'streams': [stream('a')], 'pools': [pool('a', held.getsockname()[1])]})
        with pytest.raises(ConnectionResetError):
            dial(port, 'a.example')


# ---- how the first message comes ----

def test_the_first_message_may_be_cut_anywhere(serve, route, certificates, port):
    router = route({'listeners': [passing(port)], 'streams': [stream('a', hosts=['a.example'])],
                    'pools': [pool('a', serve(secured(certificates['a'])))]}, '--head-timeout', '1m', threads=1)
    said = client_hello('a.example')[2].read()
    cuts = range(1, len(said))
    clients, sent, how = [], 0, context()
    with contextlib.ExitStack() as stack:
        for cut in cuts:
            it, inside, outside = client_hello('a.example', how)
            said = outside.read()
            sock = stack.enter_context(Wire(port)).sock
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(said[:cut])
            sent += cut
            clients.append((sock, it, inside, outside, said[cut:]))
        until(lambda: received(router) == sent)  # all first parts have come, and none was enough
        for sock, it, inside, outside, rest in clients:
            sock.sendall(rest)
            assert finish(sock, it, inside, outside) == b'x a.example\n'


@pytest.mark.parametrize('most', (1, 2, 5, 50, 200))
def test_the_first_message_may_have_several_records(serve, route, certificates, port, most):
    route({'listeners': [passing(port)], 'streams': [stream('a', hosts=['a.example'])],
           'pools': [pool('a', serve(secured(certificates['a'])))]}, threads=1)
    it, inside, outside = client_hello('a.example')
    message = outside.read()[5:]
    records = b''.join(b'\x16\x03\x01' + len(part).to_bytes(2, 'big') + part
                       for part in (message[i:i + most] for i in range(0, len(message), most)))
    with Wire(port) as wire:
        wire.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(len(records)):  # byte by byte
            wire.send(records[i:i + 1])
        assert finish(wire.sock, it, inside, outside) == b'x a.example\n'


def test_what_is_no_tls_reaches_no_server(serve, route, certificates, port):
    server = serve(secured(certificates['a']))
    router = route({'listeners': [passing(port)], 'streams': [stream('a')], 'pools': [pool('a', server)], 'access_log': {}},
                   '--head-timeout', '1s')
    for said in (b'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n', b'SSH-2.0-x\r\n', b'\x16\x03\x01\0\0', b'\x15\x03\x01\0\x02\x01\0'):
        with Wire(port) as wire, pytest.raises(ConnectionResetError):
            wire.send(said).rest()
    malformed = client_hello('a.example')[2].read().replace(b'a.example', b'a example')
    with Wire(port) as wire, pytest.raises(ConnectionResetError):
        wire.send(malformed).rest()
    with Wire(port) as wire, pytest.raises(ConnectionResetError):  # too slow
        wire.send(b'\x16\x03').rest()
    assert server.connections == 0
    router.wait('access', count=6)
    assert sorted(line['why'] for line in router.all('access')) == ['head_time', 'malformed', *['no-tls'] * 4]
    assert router.metrics().one('maglev_router_refused_total', reason='tls') == 6


# ---- TLS that ends here ----

def test_tls_may_end_here_and_the_server_gets_plain_bytes(serve, route, issuer, certificates, port):
    def until_end(wire):
        wire.send(b'%d\n' % len(wire.rest()))

    listener = {'name': 'tls', 'address': f'127.0.0.1:{port}', 'protocol': 'tcp', 'tls': {
        'certificates': [pair(certificates['a']), pair(certificates['b'])]}}
    router = route({'listeners': [listener], 'access_log': {},
                    'streams': [stream('a', hosts=['a.example']), stream('b', hosts=['b.example'])],
                    'pools': [pool('a', serve(lines)), pool('b', serve(until_end))]})
    with dial(port, 'a.example', context(issuer.ca)) as wire:
        assert wire.send('x\n').until(b'\n') == b'x plain'
    assert router.wait('access', sni='a.example')['stream'] == 'a'
    it, inside, outside = client_hello('b.example', context(issuer.ca))
    with Wire(port) as wire:  # the client ends its side, and still gets the answer
        wire.send(outside.read())
        step(wire.sock, it.do_handshake, inside, outside)
        step(wire.sock, lambda: it.write(b'y' * 10000), inside, outside)
        with contextlib.suppress(ssl.SSLWantReadError):
            it.unwrap()
        wire.send(outside.read())
        assert step(wire.sock, lambda: it.read(100), inside, outside) == b'10000\n'
    with pytest.raises((EOFError, OSError)):
        with dial(port, 'www.a.example') as wire:  # its certificate is there, but no stream
            wire.send('x\n').until(b'\n')


def test_servers_may_get_tls_of_the_router(serve, route, issuer, certificates, port):
    """Ended and begun again; and plain bytes of clients in TLS. A server that shows another name is not used."""
    def pools(name):
        return [pool('a', serve(secured(certificates['a'])), tls={'ca': issuer.ca, 'name': name})]

    listeners = [{'name': 'tls', 'address': f'127.0.0.1:{port}', 'protocol': 'tcp', 'tls': {'certificates': [pair(certificates['b'])]}},
                 {'name': 'plain', 'address': '127.0.0.1:0', 'protocol': 'tcp'}]
    streams = [{'name': 'a', 'listeners': ['tls', 'plain'], 'pool': 'a'}]
    router = route({'listeners': listeners, 'streams': streams, 'pools': pools('a.example'), 'access_log': {}})
    with dial(port, 'b.example', context(issuer.ca)) as wire:
        assert wire.send('x\n').until(b'\n') == b'x a.example'
    with router.client('plain') as wire:
        assert wire.send('y\n').until(b'\n') == b'y a.example'
    assert router.update({'listeners': listeners, 'streams': streams, 'pools': pools('c.example'), 'access_log': {}}).status == 200
    with pytest.raises(ConnectionResetError), router.client('plain') as wire:
        wire.rest()
    assert router.wait('access', complete=False)['why'] == 'connect-failed'


def test_large_content_passes_through_tls_that_ends_here(serve, route, issuer, certificates, port):
    def source(wire):
        wire.until(b'\n')
        wire.send(bytes(50 << 20))

    listener = {'name': 'tls', 'address': f'127.0.0.1:{port}', 'protocol': 'tcp', 'tls': {'certificates': [pair(certificates['a'])]}}
    route({'listeners': [listener], 'streams': [stream('a')], 'pools': [pool('a', serve(source))]}, threads=1)
    with dial(port, 'a.example', context(issuer.ca)) as wire:
        wire.send('x\n')
        assert sum(iter(lambda: len(wire.sock.recv(1 << 20)), 0)) == 50 << 20


# ---- all of them at one port ----

def test_one_port_ends_some_tls_and_passes_other_on(serve, route, issuer, certificates, port):
    at = {'address': f'127.0.0.1:{port}'}
    router = route({
        'listeners': [{'name': 'web', 'host': 'a.example', **at, 'tls': {'certificates': [pair(certificates['a'])]}},
                      {'name': 'raw', 'host': 'b.example', 'protocol': 'tcp', **at, 'tls': {'certificates': [pair(certificates['b'])]}},
                      passing(port, host='c.example')],
        'routes': [{'name': 'web', 'pool': 'web'}],
        'streams': [{'name': 'raw', 'listeners': ['raw'], 'pool': 'raw'}, stream('tls', hosts=['c.example'])],
        'pools': [pool('web', serve(echo)), pool('raw', serve(lines)), pool('tls', serve(secured(certificates['c'])))]})
    how = context(issuer.ca)
    with dial(port, 'a.example', how) as wire:
        assert wire.get(host='a.example')[0].status == 200
    with dial(port, 'b.example', how) as wire:
        assert wire.send('x\n').until(b'\n') == b'x plain'
    with dial(port, 'c.example', how) as wire:
        assert wire.send('x\n').until(b'\n') == b'x c.example'
    with pytest.raises(ConnectionResetError):
        dial(port, 'd.example')
    # a first message in two parts also reaches TLS that ends here
    it, inside, outside = client_hello('b.example')
    said = outside.read()
    with Wire(port) as wire:
        wire.send(said[:100])
        until(lambda: received(router) >= 100)
        wire.send(said[100:])
        assert finish(wire.sock, it, inside, outside) == b'x plain\n'


# ---- other people's ----

def test_curl_and_openssl_pass_through(route, issuer, certificates, port, tmp_path):
    """openssl s_server behind the router, curl and openssl s_client before it."""
    behind = free_port()
    server = subprocess.Popen(['openssl', 's_server', '-accept', f'127.0.0.1:{behind}', '-cert', certificates['a'][0], '-key',
                               certificates['a'][1], '-www', '-quiet'], cwd=tmp_path, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        route({'listeners': [passing(port)], 'streams': [stream('a', hosts=['a.example'])],
               'pools': [pool('a', behind, probe={'interval': '50ms', 'rise': 1})]})

        def get():
            done = subprocess.run(['curl', '-sS', '--cacert', issuer.ca, '--connect-to', f'a.example:443:127.0.0.1:{port}',
                                   'https://a.example/'], capture_output=True, text=True, timeout=PATIENCE, check=False)
            return done.returncode == 0 and 'Ciphers supported in s_server' in done.stdout
        until(get, what='an answer')
        said = openssl('s_client', '-connect', f'127.0.0.1:{port}', '-servername', 'a.example', '-CAfile', issuer.ca,
                       '-verify_return_error', text='GET / HTTP/1.0\r\n\r\n')
        assert 'Verify return code: 0 (ok)' in said or 'Verification: OK' in said
    finally:
        server.kill()
        server.wait()
