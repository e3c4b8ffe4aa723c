# SPDX-License-Identifier: Apache-2.0
"""maglev-router: what servers learn about clients, and whose word about them counts."""
import contextlib
import socket
import struct

import pytest

from lab import PATIENCE, until
from lab.haproxy import Haproxy, listening
from lab.router import OK, document

LISTENER = {'name': 'l', 'address': '127.0.0.1:0'}


def listener(**keys):
    return {'listeners': [{**LISTENER, **keys}]}


def sent(client, server, *lines):
    """The head that the server gets for a request with these lines."""
    client.send('\r\n'.join(['GET / HTTP/1.1', 'Host: www.example.com', *lines, '', ''])).message()
    return server.requests[-1]


@pytest.fixture
def wire(serve, route):
    """A client's connection to a listener with these keys."""
    def start(*args, **keys):
        server = serve()
        router = route(document(server, **listener(**keys)), *args, threads=1)
        client = router.client('l')
        client.router, client.server = router, server
        return client
    return start


# ---- fields ----

def test_fields_of_others_are_replaced(wire):
    client = wire(trusted_proxies=['192.0.2.0/24'])
    got = sent(client, client.server, 'X-Forwarded-For: 10.9.8.7', 'x-forwarded-proto: https', 'X-Forwarded-Host: evil',
               'Forwarded: for=6.6.6.6')
    assert got.all('x-forwarded-for') == ['127.0.0.1']
    assert got.all('x-forwarded-proto') == ['http']
    assert got.all('x-forwarded-host') == ['www.example.com']
    assert got.all('forwarded') == []


def test_fields_of_a_trusted_proxy_are_continued(wire):
    client = wire(trusted_proxies=['192.0.2.1', '127.0.0.0/8'])
    got = sent(client, client.server, 'X-Forwarded-For: 6.6.6.6', 'X-Forwarded-For: 198.51.100.7', 'X-Forwarded-Proto: https',
               'X-Forwarded-Host: first.example')
    assert got.all('x-forwarded-for') == ['6.6.6.6, 198.51.100.7, 127.0.0.1']
    assert got.all('x-forwarded-proto') == ['https']
    assert got.all('x-forwarded-host') == ['first.example']


@pytest.mark.parametrize('fields, x, standard', [
    ('x-forwarded', ['127.0.0.1'], []),
    ('forwarded', [], ['for=127.0.0.1;host="www.example.com";proto=http']),
    ('both', ['127.0.0.1'], ['for=127.0.0.1;host="www.example.com";proto=http'])])
def test_the_listener_says_which_fields_are_written(wire, fields, x, standard):
    client = wire(forwarded_fields=fields, forwarded='replace')
    got = sent(client, client.server, 'X-Forwarded-For: 1.1.1.1', 'Forwarded: for=1.1.1.1')
    assert got.all('x-forwarded-for') == x
    assert got.all('forwarded') == standard


def test_forwarded_is_continued(wire):
    client = wire(forwarded_fields='forwarded', trusted_proxies=['127.0.0.1'])
    got = sent(client, client.server, 'Forwarded: for=6.6.6.6, for="[2001:db8::1]"', 'Forwarded: for=198.51.100.7;proto=https')
    assert got.all('forwarded') == ['for=6.6.6.6, for="[2001:db8::1]", for=198.51.100.7;proto=https, '
                                    'for=127.0.0.1;host="www.example.com";proto=http']


def test_the_address_of_a_client_behind_a_proxy_decides_about_its_server(serve, route):
    """Maglev by source: the same client has the same server, through whatever connection it comes."""
    servers = [serve() for _ in range(8)]
    router = route(document(*servers, pool={'balance': 'maglev'}, **listener(trusted_proxies=['127.0.0.1'])), threads=1)

    def served(address):
        with router.client('l') as client:
            head, _ = client.send(f'GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6, {address}\r\n\r\n').message()
            return head.get('x-port')
    found = {f'198.51.100.{i}': served(f'198.51.100.{i}') for i in range(20)}
    assert len(set(found.values())) > 1
    assert all(served(address) == port for address, port in found.items())


# ---- the PROXY protocol, in ----

V2 = b'\r\n\r\n\0\r\nQUIT\n'


def v2(source, destination, more=b''):
    body = socket.inet_aton(source[0]) + socket.inet_aton(destination[0]) + struct.pack('>HH', source[1], destination[1])
    return V2 + b'\x21\x11' + struct.pack('>H', len(body + more)) + body + more


@pytest.mark.parametrize('header', [
    b'PROXY TCP4 203.0.113.9 192.0.2.1 4711 80\r\n',
    v2(('203.0.113.9', 4711), ('192.0.2.1', 80))], ids=['v1', 'v2'])
def test_a_proxy_header_names_the_client(wire, header):
    client = wire(expect_proxy=True)
    client.send(header)
    for _ in range(2):  # once for the connection, not for each request
        assert sent(client, client.server).all('x-forwarded-for') == ['203.0.113.9']


def test_a_proxy_header_may_say_that_the_client_uses_tls(wire):
    client = wire(expect_proxy=True)
    client.send(v2(('203.0.113.9', 4711), ('192.0.2.1', 443), b'\x20' + struct.pack('>HBI', 5, 1, 0)))
    assert sent(client, client.server).all('x-forwarded-proto') == ['https']


def test_without_a_proxy_header_there_is_no_answer(wire):
    client = wire('--head-timeout', '1s', expect_proxy=True)
    with contextlib.suppress(ConnectionResetError):
        assert client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n').rest() == b''
    with client.router.client('l') as silent:
        assert silent.send('PROXY TCP4 203').rest() == b''
    until(lambda: client.router.metrics().one('maglev_router_refused_total', reason='proxy') == 2)
    assert not client.server.requests


def test_nobody_else_may_send_a_proxy_header(wire):
    client = wire(expect_proxy=True, trusted_proxies=['192.0.2.1'])
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        assert client.send(b'PROXY TCP4 203.0.113.9 192.0.2.1 4711 80\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n').rest() == b''
    until(lambda: client.router.metrics().one('maglev_router_refused_total', reason='proxy') == 1)
    assert not client.server.requests


# ---- the PROXY protocol, out ----

def proxied(seen):
    """A server that notes the source of each connection, from its PROXY header, with the paths that came on it."""
    def serve(wire):
        assert wire.exactly(12) == V2
        command, family, n = struct.unpack('>BBH', wire.exactly(4))
        body = wire.exactly(n)
        assert (command, family) == (0x21, 0x11)
        source, destination = struct.unpack('>HH', body[8:12])
        paths = []
        seen.append(((socket.inet_ntoa(body[:4]), source), (socket.inet_ntoa(body[4:8]), destination), paths))
        while True:
            paths.append(wire.message()[0].start.split()[1])
            wire.send(OK)
    return serve


def test_a_connection_with_a_proxy_header_serves_one_client(serve, route):
    seen = []
    router = route(document(serve(proxied(seen)), pool={'send_proxy': True}), threads=1)
    with router.client() as one, router.client() as two:
        for i in range(3):
            assert one.get(f'/one/{i}')[0].status == two.get(f'/two/{i}')[0].status == 200
        names = [wire.sock.getsockname() for wire in (one, two)]
        assert sorted(seen) == sorted([(names[0], one.sock.getpeername(), [f'/one/{i}' for i in range(3)]),
                                       (names[1], two.sock.getpeername(), [f'/two/{i}' for i in range(3)])])


def test_a_kept_connection_of_another_client_makes_room(serve, route):
    seen = []
    router = route(document(serve(proxied(seen)), pool={'send_proxy': True, 'limits': {'connections': 1, 'wait': '60s'}}),
                   threads=1)
    with router.client() as one, router.client() as two:
        for _ in range(3):
            assert one.get()[0].status == two.get()[0].status == 200
    assert len(seen) == 6  # each time a connection for the other one


def test_clients_behind_one_trusted_proxy_do_not_share_a_connection(serve, route):
    seen = []
    router = route(document(serve(proxied(seen)), pool={'send_proxy': True}, **listener(trusted_proxies=['127.0.0.1'])),
                   threads=1)
    with router.client('l') as client:
        for address in ('198.51.100.1', '198.51.100.2', '198.51.100.1'):
            client.send(f'GET /{address} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {address}\r\n\r\n')
            assert client.message()[0].status == 200
    assert [(source, paths) for source, _, paths in seen] == [
        (('198.51.100.1', 0), ['/198.51.100.1'] * 2), (('198.51.100.2', 0), ['/198.51.100.2'])]


def test_a_change_of_send_proxy_leaves_no_connection_of_the_other_kind(serve, route):
    seen = []
    plain, strict = serve(), serve(proxied(seen))
    doc = document(plain)
    router = route(doc, threads=1)
    with router.client() as client:
        assert client.get()[0].status == 200
        doc['pools'][0].update(servers=[f'127.0.0.1:{strict.port}'], send_proxy=True)
        assert router.update(doc).status == 200
        until(lambda: client.get('/x')[0].get('x-port') is None)
        del doc['pools'][0]['send_proxy']
        doc['pools'][0]['servers'] = [f'127.0.0.1:{plain.port}']
        assert router.update(doc).status == 200
        until(lambda: client.get()[0].get('x-port') == str(plain.port))
    assert len(seen) == 1


def test_probes_of_such_a_pool_have_a_header_of_their_own(serve, route):
    kinds = []

    def strict(wire):
        assert wire.exactly(12) == V2
        command, _, n = struct.unpack('>BBH', wire.exactly(4))
        wire.exactly(n)
        kinds.append((command, wire.message()[0].start.split()[1]))
        wire.send(OK)
    router = route(document(serve(strict), pool={'send_proxy': True, 'probe': {'path': '/health', 'interval': '1s',
                                                                               'timeout': '1s', 'rise': 1}}), threads=1)
    router.wait('server-up')
    assert router.request(path='/a').status == 200
    assert (0x20, '/health') in kinds and (0x21, '/a') in kinds
    assert not {(0x20, '/a'), (0x21, '/health')} & set(kinds)


# ---- HAProxy ----

@pytest.mark.parametrize('option', ['send-proxy', 'send-proxy-v2'])
def test_haproxy_before_and_behind_the_router(serve, route, tmp_path, option):
    """client -> HAProxy -> router -> HAProxy -> server: the server learns the client's address from the second one."""
    server = serve()
    with contextlib.ExitStack() as stack:
        back, front = stack.enter_context(listening()), stack.enter_context(listening())
        router = route({
            'listeners': [{**LISTENER, 'expect_proxy': True, 'trusted_proxies': ['127.0.0.1']}],
            'routes': [{'name': 'all', 'pool': 'pool'}],
            'pools': [{'name': 'pool', 'servers': [f'127.0.0.1:{back.getsockname()[1]}'], 'send_proxy': True}]}, threads=1)
        for name, text, sock in (('before', f"""
listen before
  bind FRONT
  mode tcp
  server s 127.0.0.1:{router.port_of('l')} {option}
""", front), ('behind', f"""
listen behind
  bind FRONT accept-proxy
  mode http
  http-request set-header x-seen %[src]:%[src_port]
  server s 127.0.0.1:{server.port}
""", back)):
            folder = tmp_path / name
            folder.mkdir()
            stack.callback(Haproxy(str(folder), text, sock).close)
        client = socket.create_connection(front.getsockname(), PATIENCE, source_address=('127.0.0.5', 0))
        with client:
            client.sendall(b'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
            with client.makefile('rb') as file:
                assert file.readline().startswith(b'HTTP/1.1 200')
            seen = server.requests[-1]
            assert seen.get('x-seen') == '%s:%d' % client.getsockname()
            assert seen.get('x-forwarded-for') == '127.0.0.5'
