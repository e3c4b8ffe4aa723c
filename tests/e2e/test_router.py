# SPDX-License-Identifier: Apache-2.0
"""maglev-router between raw sockets: what servers get, and what clients get."""
import socket
import threading

import pytest

from lab import PATIENCE, until
from lab.router import OK, answering, document, large
from lab.server import abort


# ---- messages ----

@pytest.mark.parametrize('size', [0, 5, 16000, 17000, 1000000])
def test_a_body_of_any_framing_arrives(wired, size):
    client = wired()
    body = b'b' * size
    client.send(b'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n' % size).send(body)
    assert client.message()[1].endswith(b'\r\n\r\n%d' % size)
    client.send(b'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
    client.send(b'%x\r\n%s\r\n' % (size, body) if size else b'').send(b'0\r\n\r\n')
    assert client.message()[1].endswith(b'\r\n\r\n%d' % size)
    assert client.server.connections == 1


@pytest.mark.parametrize('kind', ['', '/chunked', '/close'])
@pytest.mark.parametrize('size', [0, 10, 100000, 3000000])
def test_an_answer_of_any_framing_arrives(wired, kind, size):
    client = wired(large)
    for _ in range(2):
        head, body = client.get(f'{kind}/{size}')
        assert (head.status, len(body)) == (200, size)


def test_pipelined_requests_are_answered_in_order(wired):
    client = wired(large)
    client.send(''.join(f'GET /{i} HTTP/1.1\r\nHost: a\r\n\r\n' for i in range(1, 400)))
    assert [len(client.message()[1]) for _ in range(1, 400)] == list(range(1, 400))


def test_an_answer_to_head_has_no_body(wired):
    client = wired()
    client.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n')
    assert int(client.message(bodiless=True)[0].get('content-length')) > 0
    assert client.get()[0].status == 200


def test_an_answer_of_the_router_to_head_has_no_body(wired):
    client = wired(rule={'path_prefix': '/there'})
    client.send('HEAD /elsewhere HTTP/1.1\r\nHost: a\r\n\r\n')
    assert client.message(bodiless=True)[0].status == 404
    assert client.get('/there')[0].status == 200


def test_a_client_of_http_1_0_gets_no_chunks(wired):
    client = wired(large)
    client.send('GET /chunked/5000 HTTP/1.0\r\n\r\n')
    head, body = client.message()
    assert head.get('transfer-encoding') is None and head.get('connection') == 'close'
    assert len(body) == 5000


def test_a_client_of_http_1_0_may_keep_its_connection(wired):
    client = wired()
    for _ in range(2):
        client.send('GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n')
        head, body = client.message()
        assert head.get('connection') == 'keep-alive'
        assert body.startswith(b'GET / HTTP/1.1\r\n')


def test_a_request_without_host_gets_one_for_the_server(wired):
    client = wired()
    client.send('GET / HTTP/1.0\r\n\r\n')
    assert f'host: 127.0.0.1:{client.server.port}' in client.message()[1].decode().lower()


def test_a_server_of_http_1_0_is_not_kept(wired):
    def old(wire):
        wire.message()
        wire.send('HTTP/1.0 200 OK\r\n\r\nbody')

    client = wired(old)
    for _ in range(3):
        assert client.get()[1] == b'body'
    assert client.server.connections == 3


def test_trailers_are_passed_on(wired):
    def serve(wire):
        wire.message()
        wire.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 7\r\n\r\n')

    client = wired(serve)
    client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n').head()
    assert client.until(b'\r\n\r\n') == b'1\r\na\r\n0\r\nX-Sum: 7'


def test_fields_of_one_connection_are_not_passed_on(wired):
    client = wired()
    client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: x-mine, keep-alive\r\nX-Mine: 1\r\nKeep-Alive: 5\r\n'
                'TE: trailers\r\nX-Other: 2\r\n\r\n')
    text = client.message()[1].decode().lower()
    assert 'x-other: 2' in text
    assert not any(word in text for word in ('x-mine', 'keep-alive', 'te: '))
    assert 'x-forwarded-for: 127.0.0.1' in text and 'x-forwarded-proto: http' in text


def test_expect_continue_goes_to_the_server_and_back(wired):
    def serve(wire):
        head = wire.head()
        assert head.get('expect') == '100-continue'
        wire.send('HTTP/1.1 100 Continue\r\n\r\n')
        wire.exactly(int(head.get('content-length')))
        wire.send(OK)

    client = wired(serve)
    client.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n')
    assert client.head().text == b'HTTP/1.1 100 Continue'
    client.send('body')
    assert client.message()[1] == b'ok'
    client.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: a-miracle\r\nContent-Length: 4\r\n\r\n')
    assert client.head().status == 417


def test_early_hints_are_passed_on(wired):
    client = wired(answering(b'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n' + OK))
    client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    first = client.head()
    assert (first.status, first.get('link')) == (103, '</a>')
    assert client.message()[1] == b'ok'


def test_an_early_answer_reaches_a_client_that_still_sends(wired):
    def serve(wire):
        wire.head()
        wire.send('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig')

    client = wired(serve)
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n')
    client.send(b'x' * 1000000)
    head, body = client.message()
    assert (head.status, head.get('connection'), body) == (413, 'close', b'big')


@pytest.mark.parametrize('request_', ['POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf',
                                      'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
                                      'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'])
def test_a_client_that_leaves_takes_its_request_along(wired, request_):
    arrived, ended = threading.Event(), threading.Event()

    def serve(wire):
        wire.head()
        arrived.set()
        try:
            wire.rest()
        finally:
            ended.set()

    client = wired(serve)
    client.send(request_)
    assert arrived.wait(PATIENCE)
    abort(client.sock)  # a mere end is that of one direction: the answer could still be wanted
    client.close()
    assert ended.wait(PATIENCE)


@pytest.mark.parametrize('version, answer', [
    ('1.1', b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'),
    ('1.1', b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nhalf'),
    ('1.0', b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n')])
def test_a_client_notices_that_an_answer_is_cut(wired, version, answer):
    def serve(wire):
        wire.message()
        wire.send(answer)

    client = wired(serve)
    client.send(f'GET / HTTP/{version}\r\nHost: a\r\n\r\n')
    with pytest.raises((EOFError, ConnectionResetError)):
        client.message()


def test_a_malformed_answer_is_a_502(wired):
    def serve(wire):
        wire.message()
        wire.send(b'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab')

    client = wired(serve)
    assert client.get()[0].status == 502


# ---- requests that are refused ----

SMUGGLED = [
    'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 2\r\n\r\nab',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\na',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\na',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 1\r\n\r\na',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n',
    'POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n folded\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nX: 1\rY: 2\r\n\r\n',
    'GET / HTTP/1.1\nHost: a\n\n',
    'GET / HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a, b\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: me@a\r\n\r\n',
    'GET / HTTP/1.2\r\nHost: a\r\n\r\n',
    'GET / HTTP/2.0\r\nHost: a\r\n\r\n',
    'GET  / HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /a b HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /#f HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET a HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET * HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET http:///b HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET http://me@a/b HTTP/1.1\r\nHost: a\r\n\r\n',
    'G@T / HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\n: empty\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n',
]
ODD_CHUNKS = ['z\r\n', '0x1\r\na\r\n', '1 \r\na\r\n', '1\na\r\n', '1\r\nab\r\n', '-1\r\n', 'ffffffffffffffffff\r\n', '\r\n',
              '0\r\nbad trailer\r\n\r\n', '0\r\nA : 1\r\n\r\n']


def refused(router, request):
    """Sends it on a connection of its own and returns all that comes back."""
    with router.client() as client:
        return client.send(request).rest()


def test_what_two_parsers_could_read_differently_is_refused(wired):
    client = wired()
    for request in SMUGGLED:
        answer = refused(client.router, request)
        assert answer.startswith(b'HTTP/1.1 400 '), (request, answer)
        assert answer.count(b'HTTP/1.1') == 1, request
    assert not client.server.requests


def test_odd_chunks_are_refused(wired):
    client = wired()
    for chunks in ODD_CHUNKS:
        answer = refused(client.router, 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n' + chunks
                         + 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n')
        assert answer.startswith(b'HTTP/1.1 400 ') and answer.count(b'HTTP/1.1') == 1, (chunks, answer)
    assert not client.server.requests


def test_connect_and_large_heads_are_refused(wired):
    client = wired()
    assert refused(client.router, 'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n').startswith(b'HTTP/1.1 405 ')
    assert refused(client.router, 'GET / HTTP/1.1\r\nHost: a\r\nX: ' + 'a' * 20000).startswith(b'HTTP/1.1 431 ')
    assert refused(client.router, 'GET / HTTP/1.1\r\nHost: a\r\n' + 'X: a\r\n' * 101 + '\r\n').startswith(b'HTTP/1.1 431 ')
    assert not client.server.requests


def test_an_absolute_target_names_the_host(wired):
    client = wired(rule={'host': 'www.example.com'})
    client.send('GET http://www.example.com/a?b HTTP/1.1\r\nHost: other\r\n\r\n')
    text = client.message()[1].decode()
    assert text.startswith('GET /a?b HTTP/1.1\r\n') and 'host: www.example.com' in text.lower() and 'other' not in text
    client.send('GET http://www.example.com HTTP/1.1\r\nHost: other\r\n\r\n')
    assert client.message()[1].startswith(b'GET / HTTP/1.1\r\n')
    assert client.send('GET http://other/a HTTP/1.1\r\nHost: www.example.com\r\n\r\n').message()[0].status == 404


def test_options_for_the_server_as_a_whole(wired):
    client = wired()
    client.send('OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n')
    assert client.message()[1].startswith(b'OPTIONS * HTTP/1.1\r\n')


# ---- upgrades ----

UPGRADE = 'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
SWITCH = b'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'


def test_a_tunnel_carries_bytes_both_ways_and_ends_by_halves(wired):
    def serve(wire):
        head = wire.head()
        assert (head.get('upgrade'), head.get('connection')) == ('websocket', 'upgrade')
        wire.send(SWITCH + b'first')
        wire.send(wire.rest())  # the client has ended its half; this one is still open
        wire.shutdown()

    client = wired(serve)
    client.send(UPGRADE + 'early')
    head = client.head()
    assert (head.status, head.get('upgrade')) == (101, 'websocket')
    assert client.exactly(5) == b'first'
    client.send(b'd' * 300000)
    client.shutdown()
    assert client.rest() == b'early' + b'd' * 300000
    client.router.wait_metric('maglev_router_server_connections', 0)
    client.router.wait_metric('maglev_router_client_connections', 0)


def test_a_server_may_end_its_half_first(wired):
    got = []

    def serve(wire):
        wire.head()
        wire.send(SWITCH)
        wire.shutdown()
        got.append(wire.rest())

    client = wired(serve)
    client.send(UPGRADE).head()
    assert client.rest() == b''
    client.send(b'd' * 300000)
    client.shutdown()
    assert until(lambda: got) == [b'd' * 300000]
    client.router.wait_metric('maglev_router_client_connections', 0)


def fill(wire):
    """Sends until nothing more is taken; returns the number of bytes."""
    n = 0
    wire.sock.settimeout(.3)
    try:
        while True:
            n += wire.sock.send(b'f' * 65536)
    except TimeoutError:
        wire.sock.settimeout(PATIENCE)
        return n


def test_a_tunnel_that_is_full_both_ways_goes_on(wired):
    counts, full = {}, threading.Barrier(2, timeout=PATIENCE)

    def serve(wire):
        wire.head()
        wire.send(SWITCH)
        counts['server'] = fill(wire)
        full.wait()
        wire.exactly(counts['client'])
        wire.send(b'end')

    client = wired(serve)
    client.send(UPGRADE).head()
    counts['client'] = fill(client)
    full.wait()
    client.exactly(counts['server'])
    assert client.exactly(3) == b'end'


def test_an_upgrade_that_nobody_asked_for_is_a_502(wired):
    client = wired(answering(SWITCH))
    assert client.get()[0].status == 502


# ---- rules ----

def test_a_request_goes_to_the_pool_of_its_rule(serve, route):
    servers = {name: serve() for name in ('exact', 'wild', 'path', 'regex', 'method', 'header', 'query', 'default')}

    def rule(name, **match):
        return {'name': name, 'pool': name, **match}

    router = route({
        'routes': [rule('exact', host='www.example.com'), rule('wild', host='*.example.com'),
                   rule('path', path_prefix='/path'),
                   rule('regex', matches=[{'path': {'type': 'regex', 'value': '/r[0-9]+'}}]),
                   rule('method', matches=[{'path': {'value': '/m'}, 'method': 'DELETE'}]),
                   rule('header', matches=[{'path': {'value': '/h'}, 'headers': [{'name': 'x', 'value': '1'}]}]),
                   rule('query', matches=[{'path': {'value': '/q'}, 'queries': [{'name': 'x', 'value': '1'}]}])],
        'default_route': {'pool': 'default'},
        'pools': [{'name': name, 'servers': [f'127.0.0.1:{server.port}']} for name, server in servers.items()]})
    ports = {server.port: name for name, server in servers.items()}

    def where(path='/', method='GET', **headers):
        return ports[int(router.request(method, path, headers=headers).headers['x-port'])]

    assert where(Host='www.example.com') == 'exact'
    assert where(Host='a.b.example.com') == 'wild'
    assert where(Host='WWW.Example.com:8080') == 'exact'
    assert where('/path/a') == 'path' and where('/pathology') == 'default'
    assert where('/r12') == 'regex' and where('/r12/') == 'default'
    assert where('/m', 'DELETE') == 'method' and where('/m') == 'default'
    assert where('/h', X='1') == 'header' and where('/h', X='2') == 'default'
    assert where('/q?a=b&x=1') == 'query' and where('/q?x=2') == 'default'


def test_hosts_that_are_not_allowed_are_misdirected(wired):
    client = wired(allowed_hosts=['www.example.com', '*.example.org'])
    assert [client.get(host=host)[0].status for host in
            ('www.example.com', 'a.example.org:80', 'example.org', 'other.example.com')] == [200, 200, 421, 421]


def test_weights_share_the_requests(serve, route):
    one, two = serve(), serve()
    router = route({'routes': [{'name': 'r', 'backends': [{'pool': 'one', 'weight': 3}, {'pool': 'two', 'weight': 1},
                                                          {'pool': 'never', 'weight': 0}]}],
                    'pools': [{'name': 'one', 'servers': [f'127.0.0.1:{one.port}']},
                              {'name': 'two', 'servers': [f'127.0.0.1:{two.port}']},
                              {'name': 'never', 'servers': []}]})
    with router.client() as client:
        assert {client.get()[0].status for _ in range(400)} == {200}
    assert 230 < len(one.requests) < 370


def test_an_invalid_backend_answers_500_and_an_empty_pool_503(serve, route):
    router = route({'routes': [{'name': 'invalid', 'path_prefix': '/i', 'backends': [{'invalid': True}]},
                               {'name': 'empty', 'path_prefix': '/e', 'pool': 'empty'},
                               {'name': 'none', 'path_prefix': '/n', 'backends': []}],
                    'pools': [{'name': 'empty', 'servers': []}]})
    with router.client() as client:
        assert [client.get(path)[0].status for path in ('/i', '/e', '/n', '/other')] == [500, 503, 500, 404]


def test_filters_change_requests_and_answers(wired):
    client = wired(rule={'path_prefix': '/old', 'filters': {
        'request_headers': {'set': {'X-Set': 'new'}, 'add': {'X-Add': '2'}, 'remove': ['X-Gone']},
        'response_headers': {'set': {'X-Port': 'hidden'}},
        'rewrite': {'hostname': 'inner.example', 'path': {'type': 'prefix', 'value': '/new'}}}})
    client.send('GET /old/a?b=c HTTP/1.1\r\nHost: outer\r\nX-Set: old\r\nX-Add: 1\r\nX-Gone: 1\r\n\r\n')
    head, body = client.message()
    lines = body.decode().lower().split('\r\n')
    assert lines[0] == 'get /new/a?b=c http/1.1'
    assert 'host: inner.example' in lines and 'x-set: new' in lines and 'x-set: old' not in lines
    assert 'x-add: 1' in lines and 'x-add: 2' in lines and 'x-gone: 1' not in lines
    assert head.all('x-port') == ['hidden']


def test_a_redirect_needs_no_server(route):
    router = route({'routes': [{'name': 'r', 'path_prefix': '/a', 'filters': {
        'redirect': {'scheme': 'https', 'hostname': 'new.example', 'status': 308,
                     'path': {'type': 'prefix', 'value': '/b'}}}}], 'pools': []})
    with router.client() as client:
        for _ in range(2):
            head, _ = client.get('/a/x?y=z')
            assert (head.status, head.get('location')) == (308, 'https://new.example/b/x?y=z')


def test_cors_is_answered_and_added(wired):
    client = wired(answering(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nAccess-Control-Allow-Origin: *\r\n\r\nok'),
                   rule={'filters': {'cors': {'allow_origins': ['https://a.example'], 'allow_methods': ['PUT']}}})
    client.send('OPTIONS / HTTP/1.1\r\nHost: a\r\nOrigin: https://a.example\r\n'
                'Access-Control-Request-Method: PUT\r\n\r\n')
    head, _ = client.message()
    assert (head.status, head.get('access-control-allow-origin')) == (204, 'https://a.example')
    assert head.get('access-control-allow-methods') == 'PUT'
    assert not client.server.requests
    client.send('GET / HTTP/1.1\r\nHost: a\r\nOrigin: https://a.example\r\n\r\n')
    assert client.message()[0].all('access-control-allow-origin') == ['https://a.example']
    client.send('GET / HTTP/1.1\r\nHost: a\r\nOrigin: https://b.example\r\n\r\n')
    assert 'https://b.example' not in client.message()[0].text.decode()


# ---- tries and time ----

def closed_port():
    """One on which nothing listens, held so that nothing will."""
    held = socket.socket()
    held.bind(('127.0.0.1', 0))
    return held, held.getsockname()[1]


def test_a_server_that_refuses_is_passed_over(serve, route):
    held, port = closed_port()
    with held:
        router = route({'routes': [{'name': 'r', 'pool': 'p', 'retry': {'backoff': '1ms'}}],
                        'pools': [{'name': 'p', 'servers': [f'127.0.0.1:{port}', f'127.0.0.1:{serve().port}']}]},
                       threads=1)
        with router.client() as client:
            assert {client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc').message()[0].status
                    for _ in range(10)} == {200}
        assert router.metrics().one('maglev_router_retries_total') >= 4


def test_without_retries_a_server_that_refuses_is_a_503(route):
    held, port = closed_port()
    with held:
        router = route({'routes': [{'name': 'r', 'pool': 'p', 'retry': {'attempts': 0}}],
                        'pools': [{'name': 'p', 'servers': [f'127.0.0.1:{port}']}]})
        assert router.request().status == 503
        assert router.metrics().one('maglev_router_retries_total') == 0


def test_a_request_that_may_have_been_processed_is_not_repeated(wired):
    client = wired(answering(None))
    assert client.get()[0].status == 502
    assert client.server.connections == 1


def test_codes_are_tried_again_where_the_rule_says_so(wired):
    bad = b'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
    client = wired(answering(bad), rule={'retry': {'attempts': 2, 'codes': ['503'], 'backoff': '1ms'}})
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc')
    assert client.message()[0].start == 'HTTP/1.1 503 Busy'
    assert client.server.connections == 3


def test_a_kept_connection_that_has_ended_is_no_failure(wired):
    go = threading.Event()

    def serve(wire):
        wire.message()
        wire.send(OK)
        go.wait(PATIENCE)

    client = wired(serve)
    assert client.get()[0].status == 200
    go.set()
    for _ in range(5):
        assert client.get()[0].status == 200


@pytest.mark.parametrize('timeouts', [{'request': '300ms'}, {'backend': '300ms'}])
def test_a_request_that_takes_too_long_is_a_504(wired, timeouts):
    client = wired(lambda wire: wire.rest(), rule={'timeouts': timeouts})
    assert client.get()[0].status == 504


def test_a_time_out_does_not_outlive_its_request(wired):
    client = wired(rule={'timeouts': {'request': '2s', 'backend': '2s'}})
    for _ in range(2):
        assert client.get()[0].status == 200
    client.sock.settimeout(2.5)
    with pytest.raises(TimeoutError):
        client.exactly(1)
    client.sock.settimeout(PATIENCE)
    assert client.get()[0].status == 200
    assert client.server.connections == 1


def test_a_server_that_does_not_accept_is_a_503(route):
    with socket.create_server(('127.0.0.1', 0), backlog=0) as full:
        port = full.getsockname()[1]
        waiting = []
        for _ in range(4):  # fills the queue of the kernel, so that further connections get no answer
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(('127.0.0.1', port))
        router = route({'routes': [{'name': 'r', 'pool': 'p', 'retry': {'attempts': 0}}],
                        'pools': [{'name': 'p', 'servers': [f'127.0.0.1:{port}'], 'connect_timeout': '200ms'}]})
        assert router.request().status == 503
        for sock in waiting:
            sock.close()


def test_slow_and_idle_clients_are_ended(serve, route):
    router = route(document(serve()), '--head-timeout', '1s', '--idle-timeout', '2s')
    with router.client() as slow:
        slow.send('GET / HTTP/1.1\r\nHost: a\r\n')
        assert slow.head().status == 408
    with router.client() as idle:
        assert idle.get()[0].status == 200
        assert idle.rest() == b''


def test_a_server_that_stalls_is_a_504_and_a_client_408(serve, route):
    router = route(document(serve(lambda wire: wire.rest())), '--stall-timeout', '1s')
    with router.client() as client, router.client() as lazy:
        lazy.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab')
        assert client.get()[0].status == 504
        assert lazy.head().status == 408


def test_kept_connections_end_after_their_time(wired):
    client = wired(pool={'limits': {'idle_time': '3s'}})
    client.get()
    assert client.router.metrics().one('maglev_router_server_connections') == 1
    client.router.wait_metric('maglev_router_server_connections', 0)
