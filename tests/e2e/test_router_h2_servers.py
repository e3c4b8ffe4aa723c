# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 from maglev-router to servers: heads, bodies, trailers, streams that share a connection, and servers that leave."""
import concurrent.futures
import json
import os
import signal
import socket
import struct
import threading

import pytest

from lab import PATIENCE, until
from lab.backends import Backends
from lab.h2 import END_HEADERS, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, field, frame
from lab.http2 import Http2
from lab.router import OK, answering, document

NAME = 'www.example.net'
MIB = 1 << 20


@pytest.fixture
def backends(folders):
    with Backends(folders()) as them:
        yield them


@pytest.fixture
def node(backends, route):
    """A router before a server of Node with prior knowledge."""
    def make(*flags, pool=None, threads=1, rule=None, **how):
        server = backends.node(**how)
        router = route(document(server, pool={'protocol': 'h2', **(pool or {})}, access_log={}, rule=rule), *flags, threads=threads)
        router.server = server
        return router
    return make


def trunks(router):
    return router.metrics().one('maglev_router_server_trunks')


def abandon(wire):
    """Ends a connection by RST: after FIN alone the client could still want its answer."""
    wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    wire.close()


def chunked(wire):
    """(head, content, lines of the trailers)"""
    head, body = wire.head(), b''
    while size := int(wire.until(b'\r\n'), 16):
        body += wire.exactly(size)
        assert wire.exactly(2) == b'\r\n'
    trailers = []
    while line := wire.until(b'\r\n'):
        trailers.append(line.decode())
    return head, body, trailers


# ---- heads and bodies ----

def test_a_request_becomes_fields(node):
    with node().client() as client:
        head, body = client.send('GET /headers?a=b HTTP/1.1\r\nHost: www.example.com:80\r\nX-Mine: 1\r\nTE: gzip\r\n'
                                 'Connection: x-hop\r\nX-Hop: 1\r\n\r\n').message()
        seen = json.loads(body)
        assert head.status == 200 and head.get('content-type') == 'application/json'
        assert (seen[':method'], seen[':path'], seen[':authority'], seen[':scheme']) == \
            ('GET', '/headers?a=b', 'www.example.com:80', 'http')
        assert seen['x-mine'] == '1' and seen['te'] == 'trailers' and seen['x-forwarded-for'] == '127.0.0.1'
        assert not {'connection', 'x-hop', 'host', 'transfer-encoding'} & set(seen)
        assert client.get('/hello')[1] == b'hello', 'the connection goes on'


@pytest.mark.parametrize('path, status, body', [('/hello', 200, b'hello'), ('/streamed', 200, b'one two'), ('/nothing', 204, b''),
                                                ('/empty', 200, b''), ('/none', 404, b'')])
def test_answers_of_every_form(node, path, status, body):
    with node().client() as client:
        for _ in range(2):
            head, content = client.get(path)
            assert (head.status, content) == (status, body)
        head, _ = client.send(f'HEAD {path} HTTP/1.1\r\nHost: a\r\n\r\n').message(bodiless=True)
        assert head.status == status
        assert client.get('/hello')[1] == b'hello'


def test_a_client_of_http_1_0_gets_the_end_of_the_connection(node):
    with node().client() as client:
        client.send('GET /streamed HTTP/1.0\r\n\r\n')
        head, body = client.rest().split(b'\r\n\r\n', 1)
        assert b'chunked' not in head.lower() and body == b'one two'


def test_trailers_cross_in_both_directions(node):
    with node().client() as client:
        client.send('GET /trailers HTTP/1.1\r\nHost: a\r\n\r\n')
        assert chunked(client)[1:] == (b'body', ['x-sum: 42', 'grpc-status: 0'])
        client.send('GET /bare-trailers HTTP/1.1\r\nHost: a\r\n\r\n')
        assert chunked(client)[1:] == (b'', ['grpc-status: 5'])
        client.send('POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: x-check\r\n\r\n'
                    '3\r\nabc\r\n4\r\ndefg\r\n0\r\nX-Check: 7\r\n\r\n')
        assert chunked(client)[1:] == (b'abcdefg', ['x-seen: 7'])


def test_interim_answers_are_passed_on(node):
    with node().client() as client:
        client.send('GET /early HTTP/1.1\r\nHost: a\r\n\r\n')
        head = client.head()
        assert head.status == 103 and head.get('link') == '</a.css>; rel=preload'
        assert client.message()[1] == b'late'
        client.send('POST /count HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n')
        assert client.head().status == 100
        assert client.send('abc').message()[1] == b'3'


def test_an_early_answer_ends_the_request(node):
    with node().client() as client:
        client.send('POST /too-early HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nabc')
        head, body = client.message()
        assert (head.status, body) == (413, b'too')


def test_a_broken_answer_does_not_look_complete(node):
    router = node()
    with router.client() as client:
        client.send('GET /broken HTTP/1.1\r\nHost: a\r\n\r\n')
        assert not client.rest().endswith(b'0\r\n\r\n')
    assert router.wait('access')['why'] == 'server-broken'
    assert router.request(path='/hello').status == 200


# ---- streams ----

def test_requests_share_one_connection(node):
    router = node()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert set(pool.map(lambda _: router.request(path='/hello').status, range(64))) == {200}
    assert {line['session'] for line in router.server.requests('/hello')} == {router.server.requests('/hello')[0]['session']}
    assert trunks(router) == 1


def test_a_second_connection_is_opened_when_the_server_allows_no_more_streams(node):
    router = node(streams=2)
    silent = [router.client().send('GET /silent HTTP/1.1\r\nHost: a\r\n\r\n') for _ in range(5)]
    until(lambda: len(router.server.requests('/silent')) == 5)
    assert len({line['session'] for line in router.server.requests('/silent')}) >= 3
    assert trunks(router) >= 3
    assert router.request(path='/hello').status == 200
    for client in silent:
        abandon(client)


def test_a_limit_of_connections_holds_and_requests_wait_for_a_stream(node):
    router = node(pool={'limits': {'connections': 1, 'wait': '20s'}}, streams=1)
    first = router.client().send('GET /silent HTTP/1.1\r\nHost: a\r\n\r\n')
    until(lambda: router.server.requests('/silent'))
    second = router.client().send('GET /hello HTTP/1.1\r\nHost: a\r\n\r\n')
    router.wait_metric('maglev_router_pool_waiting', 1, pool='pool')
    abandon(first)
    assert second.message()[1] == b'hello'
    assert trunks(router) == 1


def test_a_thread_gives_its_connection_up_for_another(node):
    """With one connection for two threads, none waits for ever."""
    router = node(pool={'limits': {'connections': 1, 'wait': '20s'}}, threads=2)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: router.request(path='/hello').status, range(200))) == {200}


def test_an_idle_connection_ends(node):
    router = node(pool={'limits': {'idle_time': '1s'}})
    assert router.request(path='/hello').status == 200
    router.wait_metric('maglev_router_server_trunks', 0)
    assert router.request(path='/hello').status == 200


def test_without_idle_connections_each_ends_with_its_last_request(node):
    router = node(pool={'limits': {'idle': 0}})
    assert router.request(path='/hello').status == 200
    router.wait_metric('maglev_router_server_trunks', 0)


# ---- servers that refuse, leave, or end ----

def test_a_refused_stream_is_tried_again(node):
    router = node()
    assert router.request('POST', '/refused-once', body='x').text == 'tries 2'


def test_a_server_that_leaves_loses_nothing(node):
    router = node()
    for _ in range(5):
        assert router.request(path='/leave').text == 'left'
        assert router.request('POST', '/count', body='abc').text == '3'


def load(router, seconds_of, method='GET', path='/'):
    """Requests from 8 clients until seconds_of() is done; returns the statuses."""
    statuses, done = [], threading.Event()

    def ask():
        with router.client() as client:
            while not done.is_set():
                client.send(f'{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n')
                statuses.append(client.message()[0].status)
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    seconds_of()
    done.set()
    for thread in threads:
        thread.join(PATIENCE)
    return statuses


def test_nginx_says_goaway_under_load_and_no_request_fails(backends, route):
    server = backends.nginx('http2', 'keepalive_requests 20;')
    router = route(document(server, pool={'protocol': 'h2'}))
    statuses = load(router, lambda: until(lambda: router.metrics().one('maglev_router_requests_total') > 2000), 'POST')
    assert set(statuses) == {200} and len(statuses) > 1500


def test_a_server_is_started_again_under_load_and_no_request_fails(backends, route):
    one, two = backends.nginx('http2'), backends.nginx('http2')
    router = route(document(one, two, pool={'protocol': 'h2'}, rule={'retry': {'attempts': 3, 'codes': ['502']}}))

    def restart():
        until(lambda: router.metrics().one('maglev_router_requests_total') > 200)
        one.stop()
        before = router.metrics().one('maglev_router_requests_total')
        until(lambda: router.metrics().one('maglev_router_requests_total') > before + 200)
        backends.nginx('http2', port=one.port)
        before = router.metrics().one('maglev_router_requests_total')
        until(lambda: router.metrics().one('maglev_router_requests_total') > before + 200)
    assert set(load(router, restart)) == {200}


# ---- TLS and ALPN ----

def secure(server, authority, protocol, **more):
    return document(server, pool={'protocol': protocol, 'tls': {'ca': authority.ca, 'name': NAME}, **more}, access_log={})


def nginx(backends, authority, options, more=''):
    return backends.nginx(options, f'ssl_certificate {authority.good[0]}; ssl_certificate_key {authority.good[1]}; {more}')


@pytest.mark.parametrize('options, spoken', [('ssl http2', 'HTTP/2.0'), ('ssl', 'HTTP/1.1')])
def test_alpn_decides_and_nobody_opens_a_connection_meanwhile(backends, authority, route, options, spoken):
    server = nginx(backends, authority, options)
    router = route(secure(server, authority, 'auto'), threads=1)
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        assert {answer.text for answer in pool.map(lambda _: router.request(), range(24))} == {spoken + ' '}
    assert trunks(router) == (1 if spoken == 'HTTP/2.0' else 0)
    if spoken == 'HTTP/2.0':
        assert router.metrics().one('maglev_router_server_handshakes_total', result='full') == 1


def test_haproxy_speaks_http_2(folders, backends, authority, route):
    both = os.path.join(folders(), 'both.pem')
    with open(both, 'w', encoding='ascii') as file:
        for path in authority.good:
            with open(path, encoding='ascii') as part:
                file.write(part.read())
    server = backends.haproxy(f'ssl crt {both} alpn h2,http/1.1')
    for protocol, version in (('auto', '2.0'), ('h2', '2.0'), ('http1', '1.1')):
        assert route(secure(server, authority, protocol)).request().text == f'{version} {NAME}'


def test_a_server_without_h2_is_refused_if_it_must_have_it(backends, authority, route):
    router = route(secure(nginx(backends, authority, 'ssl'), authority, 'h2'))
    assert router.request().status == 502
    assert router.wait('access')['why'] in ('tls-alpn', 'tls-failed')


def test_a_server_may_change_what_it_speaks(backends, authority, route):
    one = nginx(backends, authority, 'ssl')
    router = route(secure(one, authority, 'auto'), threads=1)
    assert router.request().text == 'HTTP/1.1 '
    one.stop()
    backends.running.remove(one)
    folder = one.seen.parent
    (folder / 'config').write_text((folder / 'config').read_text().replace(' ssl;', ' ssl http2;'))
    folder.rename(folder.with_name('before'))
    backends.nginx('ssl http2', f'ssl_certificate {authority.good[0]}; ssl_certificate_key {authority.good[1]};', port=one.port)
    assert router.request().text == 'HTTP/2.0 '


def test_sessions_are_resumed(backends, authority, route):
    server = nginx(backends, authority, 'ssl http2', 'keepalive_requests 1;')
    router = route(secure(server, authority, 'h2'), threads=1)
    assert [router.request().status for _ in range(5)] == [200] * 5
    until(lambda: router.metrics().one('maglev_router_server_handshakes_total', result='resumed') >= 4)


# ---- flow control ----

def test_a_slow_client_does_not_fill_the_memory(node):
    router = node()
    assert router.request(path='/large?n=1000').status == 200
    before = router.rss()
    with router.client() as client, router.client() as other:
        client.send(f'GET /large?n={512 * MIB} HTTP/1.1\r\nHost: a\r\n\r\n')
        head = client.head()
        assert head.get('content-length') == str(512 * MIB)
        client.exactly(MIB)
        for _ in range(20):
            assert other.get('/hello')[1] == b'hello', 'other streams go on'
        assert router.rss() - before < 24 * MIB
        left = 64 * MIB
        while left:
            left -= len(client.sock.recv(min(left, MIB)))
        assert router.rss() - before < 24 * MIB


def test_a_slow_server_does_not_fill_the_memory(node):
    router = node('--drain-time', '1s')
    assert router.request(path='/hello').status == 200
    before = router.rss()
    with router.client() as client, router.client() as other:
        client.sock.settimeout(1)
        client.send(f'POST /deaf HTTP/1.1\r\nHost: a\r\nContent-Length: {64 * MIB}\r\n\r\n')
        sent = 0
        with pytest.raises(socket.timeout):
            while sent < 64 * MIB:
                sent += client.sock.send(b'x' * 65536)
        assert sent < 24 * MIB
        assert router.rss() - before < 16 * MIB
        assert other.get('/hello')[1] == b'hello'


def test_large_bodies_arrive_whole(node):
    router = node()
    with router.client() as client:
        client.send(f'POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: {8 * MIB}\r\n\r\n').send(b'x' * 8 * MIB)
        assert client.message()[1] == str(8 * MIB).encode()
        client.send(f'GET /large?n={8 * MIB} HTTP/1.1\r\nHost: a\r\n\r\n')
        assert client.message()[1] == b'x' * 8 * MIB
        client.send('POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
        body = os.urandom(300000)
        client.send(b'%x\r\n' % len(body) + body + b'\r\n0\r\n\r\n')
        assert chunked(client)[1] == body


# ---- WebSocket ----

UPGRADE = ('GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
           'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: chat\r\n\r\n')


def test_a_websocket_becomes_an_extended_connect(node):
    router = node()
    with router.client() as client:
        head = client.send(UPGRADE).head()
        assert head.status == 101 and head.get('upgrade') == 'websocket'
        assert head.get('sec-websocket-accept') == 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=' and head.get('sec-websocket-protocol') == 'chat'
        for text in (b'hello', b'x' * 100000, b'bye'):
            client.send(text)
            assert client.exactly(len(text)) == text
        assert router.server.requests('/socket')[0]['method'] == 'CONNECT'
        client.shutdown()
        assert client.rest() == b''
    assert router.wait('access')['status'] == 101


def test_a_server_without_extended_connect_gets_a_plain_request(node):
    router = node(connect=False)
    with router.client() as client:
        assert client.send(UPGRADE).head().status == 404
    assert router.server.requests('/socket')[0]['method'] == 'GET'


# ---- clients that speak HTTP/2, too ----

@pytest.fixture
def both(node):
    """A connection of a client by HTTP/2 to a router before a server of HTTP/2."""
    opened = []

    def start(**how):
        router = node()
        opened.append(Http2(router.port_of('default'), **how))
        opened[-1].router = router
        return opened[-1]
    yield start
    for client in opened:
        client.close()


def test_http_2_on_both_sides(both):
    client = both()
    assert client.get('/hello').body == b'hello'
    answer = client.get('/trailers')
    assert (answer.body, answer.trailers) == (b'body', [('x-sum', '42'), ('grpc-status', '0')])
    answer = client.get('/bare-trailers')
    assert (answer.status, answer.body, answer.trailers) == (200, b'', [('grpc-status', '5')])
    answer = client.get('/early')
    assert dict(answer.interim[0])[':status'] == '103' and answer.body == b'late'
    assert client.get('/nothing').status == 204
    stream = client.begin('POST', '/echo', end=False)
    client.send(stream, b'abc' * 100000)
    client.end(stream, [('x-check', '9')])
    answer = client.whole(stream)
    assert (answer.body, answer.trailers) == (b'abc' * 100000, [('x-seen', '9')])
    assert {line['session'] for line in client.router.server.requests()} == {client.router.server.requests()[0]['session']}


def test_many_streams_on_both_sides_are_served_in_turn(both):
    """A large answer does not hold up the small ones."""
    client = both()
    big = client.begin('GET', f'/large?n={4 * MIB}')
    small = [client.begin('GET', '/hello') for _ in range(50)]
    for stream in small:
        assert client.whole(stream).body == b'hello'
    assert not client.answers[big].ended, 'all small answers came before the end of the large one'
    assert len(client.whole(big).body) == 4 * MIB


def test_a_websocket_on_both_sides(both):
    client = both()
    stream = client.begin('CONNECT', '/socket', [('sec-websocket-version', '13'), ('sec-websocket-protocol', 'chat')], end=False,
                          more=[(':protocol', 'websocket')])
    client.until(lambda: client.answers[stream].fields)
    answer = client.answers[stream]
    assert (answer.status, answer.get('sec-websocket-protocol')) == (200, 'chat')
    client.send(stream, b'hello')
    client.until(lambda: answer.body == b'hello')
    client.end(stream)
    assert client.whole(stream).ended


def test_a_client_of_http_2_that_does_not_read_does_not_fill_the_memory(both):
    client = both(greedy=False)
    assert client.router.request(path='/hello').status == 200
    before = client.router.rss()
    stream = client.begin('GET', f'/large?n={256 * MIB}')
    client.until(lambda: len(client.answers[stream].body) >= 65535)
    for _ in range(20):
        assert client.router.request(path='/hello').status == 200
    assert client.router.rss() - before < 16 * MIB
    client.reset(stream)


# ---- copies, limits, hostile servers ----

def test_copies_go_by_http_2(backends, serve, route):
    main, copy = serve(answering(OK)), backends.node()
    doc = document(main, rule={'filters': {'mirrors': [{'pool': 'copy'}]}})
    doc['pools'].append({'name': 'copy', 'servers': [f'127.0.0.1:{copy.port}'], 'protocol': 'h2'})
    router = route(doc)
    assert router.request('POST', '/echo', body='x' * 20000).status == 200
    router.wait_metric('maglev_router_mirrored_total', 1, result='answered')
    assert copy.requests('/echo')[0]['method'] == 'POST'


def test_a_silent_server_is_a_time_out(node):
    router = node(rule={'timeouts': {'backend': '300ms'}})
    assert router.request(path='/silent').status == 504
    assert router.request(path='/hello').status == 200
    assert trunks(router) == 1, 'the stream was reset, not the connection'


def test_a_connection_that_is_dead_is_noticed(node):
    router = node('--stall-timeout', '2s')
    assert router.request(path='/hello').status == 200
    assert router.metrics().one('maglev_router_server_shared_links', pool='pool', server=f'127.0.0.1:{router.server.port}') == 1
    router.server.process.send_signal(signal.SIGSTOP)
    try:
        router.wait_metric('maglev_router_server_trunks', 0)
    finally:
        router.server.process.send_signal(signal.SIGCONT)
    assert router.request(path='/hello').status == 200


def greet(wire):
    """The server side of a connection up to the first request."""
    wire.exactly(24)
    wire.send(frame(SETTINGS))


def test_blocks_that_come_in_pieces(serve, route):
    """A head and trailers whose frames are cut anywhere, with content before them in the same step."""
    head = b'\x88' + field('x-long', 'y' * 3000)
    trailers = field('x-sum', '1') + field('x-more', 'z' * 2000)
    body = b'b' * 16000
    stream = frame(HEADERS, END_HEADERS, 1, head) + frame(0, 0, 1, body) * 2 + frame(HEADERS, 1, 1, trailers[:9]) + \
        frame(9, END_HEADERS, 1, trailers[9:])
    for cut in (100, 2000, 3100, 20000, len(stream) - 1990, len(stream) - 20):
        def serve_cut(wire, cut=cut):
            greet(wire)
            wire.until(b'\x00\x00\x00\x04\x01')  # the ACK of our SETTINGS
            wire.send(stream[:cut])
            until(lambda: taken(wire))
            wire.send(stream[cut:])
            wire.rest()
        router = route(document(serve(serve_cut), pool={'protocol': 'h2'}), threads=1)
        with router.client() as client:
            client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
            answer, content, lines = chunked(client)
            assert answer.get('x-long') == 'y' * 3000 and content == body * 2
            assert lines == ['x-sum: 1', 'x-more: ' + 'z' * 2000]


def raw_answer(answer):
    """A server that answers the first request, on stream 1, with these bytes."""
    def serve(wire):
        greet(wire)
        wire.until(b'\x00\x00\x00\x04\x01')  # the ACK of our SETTINGS; the request follows it or has come
        wire.send(answer)
        wire.rest()
    return serve


@pytest.mark.parametrize('fields', [
    [('x-a', 'b\r\nset-cookie: evil=1')], [('x-a', 'b\nc')], [('x-a', 'b\0c')], [('x a', 'b')], [('x-a: c', 'b')], [('X-A', 'b')],
    [('transfer-encoding', 'chunked')], [('connection', 'close')], [('content-length', '5'), ('content-length', '6')],
    [('content-length', '-1')], [('content-length', '3, 3')], [(':path', '/')], [('', 'b')]],
    ids=lambda fields: repr(fields[0])[1:-1])
def test_what_http_1_cannot_say_is_not_passed_on(serve, route, fields):
    block = b'\x88' + b''.join(field(name, value) for name, value in fields)
    router = route(document(serve(raw_answer(frame(HEADERS, END_HEADERS, 1, block) + frame(0, 1, 1, b'abc'))), pool={'protocol': 'h2'},
                            rule={'timeouts': {'request': '5s'}}), threads=1)
    with router.client() as client:
        text = client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n').rest()
    assert text.startswith(b'HTTP/1.1 502 ') and b'evil' not in text, text


def taken(wire):
    """The other side has read everything that was sent: the queues of both sockets are empty."""
    ports = {wire.sock.getsockname()[1], wire.sock.getpeername()[1]}
    with open('/proc/net/tcp', encoding='ascii') as file:
        lines = [line.split() for line in file.readlines()[1:]]
    queues = [line[4] for line in lines if {int(end.split(':')[1], 16) for end in line[1:3]} == ports]
    return len(queues) == 2 and all(queue == '00000000:00000000' for queue in queues)


def flooding(piece):
    def serve(wire):
        greet(wire)
        try:
            while True:
                wire.send(piece)
        except OSError:
            return
    return serve


BOMB = b'\x3f\xe1\x1f' + b'\x40\x01a\x7f\x81\x7e' + b'x' * 16384  # a large entry of the table, once


@pytest.mark.parametrize('piece', [
    frame(SETTINGS) * 100, frame(PING, payload=b'12345678') * 100, frame(HEADERS, 0, 1, b'\x88') + frame(9, 0, 1, b'\x00\x01a\x01b' * 200) * 100,
    frame(HEADERS, END_HEADERS, 1, b'\x88' + BOMB[:9000]) * 10, frame(GOAWAY, payload=bytes(8)) * 100, b'HTTP/1.1 200 OK\r\n\r\n' * 100,
    frame(0, 0, 1, b'') * 100, frame(RST_STREAM, 0, 3, bytes(4)) * 100], ids=[
        'settings', 'ping', 'continuation', 'headers', 'goaway', 'not-h2', 'empty-data', 'reset'])
def test_a_server_that_floods_loses_its_connection(serve, backends, route, piece):
    bad, good = serve(flooding(piece)), backends.node()
    doc = document(bad, pool={'protocol': 'h2', 'connect_timeout': '2s'}, rule={'timeouts': {'request': '5s'}})
    doc['routes'].insert(0, {'name': 'good', 'path_prefix': '/hello', 'pool': 'good'})
    doc['pools'].append({'name': 'good', 'servers': [f'127.0.0.1:{good.port}'], 'protocol': 'h2'})
    router = route(doc)
    assert router.request(path='/hello').status == 200
    before = router.rss()
    for _ in range(3):
        assert router.request(path='/bad').status in (502, 503, 504)
        assert router.request(path='/hello').status == 200
    assert router.rss() - before < 32 * MIB


def test_a_server_of_http_1_is_not_taken_for_one_of_http_2(serve, route):
    router = route(document(serve(answering(OK)), pool={'protocol': 'h2', 'connect_timeout': '1s'}))
    assert router.request().status == 503
