# SPDX-License-Identifier: Apache-2.0
"""maglev-router: clients that speak HTTP/2, and servers that do not."""
import contextlib
import json
import signal
import threading
import time

import h2.errors
import h2.exceptions
import pytest

from lab import PATIENCE, until
from lab.http2 import Http2, Reset, connect
from lab.http2_servers import PIECE, SMALL, held, stream_of, websocket
from lab.router import OK, Wire, answering, document, echo, large

NO_ERROR = h2.errors.ErrorCodes.NO_ERROR


def another(client, **how):
    return Http2(client.router.port_of('default'), **how)


# ---- requests ----

def test_a_request_reaches_the_server_as_http_1(h2c):
    client = h2c()
    answer = client.get('/a?b=c', [('accept', '*/*'), ('cookie', 'a=1'), ('x-n', '7'), ('cookie', 'b=2'), ('te', 'trailers')])
    assert answer.status == 200 and answer.get('content-length') == str(len(answer.body))
    head = client.server.requests[0]
    assert head.start == 'GET /a?b=c HTTP/1.1'
    assert (head.all('host'), head.all('cookie'), head.all('x-n')) == (['www.example.com'], ['a=1; b=2'], ['7'])
    assert head.all('x-forwarded-proto') == ['http'] and head.all('te') == head.all('transfer-encoding') == []
    # all on one connection to the server, and many more requests on that of the client
    for i in range(50):
        assert client.get(f'/{i}').body.startswith(f'GET /{i} HTTP/1.1'.encode())
    assert client.server.connections == 1
    assert client.router.metrics().one('maglev_router_protocol_requests_total', protocol='HTTP/2') == 51
    assert client.router.metrics().one('maglev_router_protocol_requests_total', protocol='HTTP/1') == 0
    assert client.router.metrics().one('maglev_router_protocol_connections', protocol='HTTP/2') == 1
    assert client.router.metrics().one('maglev_router_client_connections') == 1


def test_the_preface_may_come_in_pieces(h2c):
    client = h2c()
    with Wire(client.router.port_of('default')) as wire:
        for byte in b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n':
            wire.send(bytes([byte]))
        wire.send(bytes(9)[:3] + b'\x04' + bytes(5))  # an empty SETTINGS frame
        assert wire.exactly(9)[3] == 4
    with Wire(client.router.port_of('default')) as wire:
        wire.send(b'PRI * HTTP/2.0\r\n\r\nSX')
        assert wire.head().status == 400
    with Wire(client.router.port_of('default')) as wire:  # only as the first thing
        wire.get()
        wire.send(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
        assert wire.head().status == 400


def test_a_listener_may_refuse_it(serve, route):
    router = route(document(serve(), listeners=[{'name': 'old', 'address': '127.0.0.1:0', 'http2': False}]))
    with Wire(router.port_of('old')) as wire:
        wire.send(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
        assert wire.head().status == 400
    assert router.request(listener='old').status == 200


def test_bodies_with_and_without_a_length(h2c):
    client = h2c()
    body = bytes(range(256)) * 1000
    assert client.post('/', body, [('content-length', str(len(body)))]).body.endswith(b'\r\n\r\n256000')
    assert client.server.requests[-1].get('content-length') == '256000'
    assert client.post('/', body).body.endswith(b'\r\n\r\n256000')
    assert client.server.requests[-1].get('transfer-encoding') == 'chunked'
    assert client.post('/', b'').body.endswith(b'\r\n\r\n0')
    assert client.server.connections == 1


@pytest.mark.parametrize('kind', ['', '/chunked', '/close'])
@pytest.mark.parametrize('size', [0, 1, 16384, 3000000])
def test_answers_of_every_framing(kind, size, h2c):
    client = h2c(large)
    answer = client.get(f'{kind}/{size}')
    assert (answer.status, len(answer.body)) == (200, size)
    assert answer.all('transfer-encoding') == answer.all('connection') == []
    assert answer.get('content-length') == (None if kind else str(size))
    assert client.get('/3').body == b'zzz'


def test_head_204_and_304(h2c):
    answers = {'/head': b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n', '/204': b'HTTP/1.1 204 None\r\n\r\n',
               '/304': b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 5\r\n\r\n', '/0': b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'}

    def serve(wire):
        while True:
            wire.send(answers[wire.message()[0].start.split()[1]])

    client = h2c(serve)
    answer = client.get('/head', method='HEAD')
    assert (answer.status, answer.get('content-length'), answer.body) == (200, '1000', b'')
    assert (client.get('/204').status, client.get('/204').body) == (204, b'')
    answer = client.get('/304')
    assert (answer.status, answer.get('etag'), answer.body) == (304, '"a"', b'')
    assert (client.get('/0').status, client.get('/0').body) == (200, b'')


def test_trailers_both_ways(h2c):
    def serve(wire):
        while True:
            head = wire.head()
            wire.server.requests.append((head, wire.until(b'\r\n\r\n')))
            wire.send(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n'
                      b'3\r\nabc\r\n0\r\nX-Sum: 7\r\nx-more: a b\r\nkeep-alive: 3\r\n\r\n')

    client = h2c(serve)
    answer = client.post('/', b'body', trailers=[('x-sum', '9'), ('x-b', 'c d')])
    assert (answer.status, answer.body, answer.trailers) == (200, b'abc', [('x-sum', '7'), ('x-more', 'a b')])
    assert client.server.requests[0][1] == b'4\r\nbody\r\n0\r\nx-sum: 9\r\nx-b: c d'
    # trailers of a body with a length have no place in HTTP/1.1
    stream = client.begin('POST', '/', [('content-length', '0')], end=False)
    client.end(stream, [('x-sum', '9')])
    until(lambda: len(client.server.open) == 1)


def test_trailers_that_would_change_the_message_are_refused(h2c):
    client = h2c()
    with another(client, checked=False) as liar:
        for name, value in (('content-length', '5'), ('transfer-encoding', 'chunked'), ('host', 'evil'), ('cookie', 'a=b')):
            stream = liar.begin('POST', '/', end=False)
            liar.send(stream, b'body')
            liar.end(stream, [(name, value)])
            try:
                assert liar.whole(stream).status == 400
            except Reset as reset:
                assert reset.code == h2.errors.ErrorCodes.PROTOCOL_ERROR
    assert client.server.requests == []
    assert client.get().status == 200


def test_interim_answers(h2c):
    def serve(wire):
        while True:
            head = wire.head()
            wire.send(b'HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n')
            if head.get('expect'):
                wire.send(b'HTTP/1.1 100 Continue\r\n\r\n')
                assert wire.exactly(4) == b'body'
            wire.send(OK)

    client = h2c(serve)
    answer = client.get()
    assert (answer.status, answer.body) == (200, b'ok')
    assert answer.interim == [[(':status', '103'), ('link', '</style.css>; rel=preload')]]
    stream = client.begin('POST', '/', [('expect', '100-continue'), ('content-length', '4')], end=False)
    answer = client.answers[stream]
    client.until(lambda: len(answer.interim) == 2)  # only then the body is sent
    client.send(stream, b'body', end=True)
    assert client.whole(stream).status == 200
    assert [fields[0] for fields in answer.interim] == [(':status', '103'), (':status', '100')]


def test_an_answer_that_breaks_off_is_reset(h2c):
    go = threading.Event()

    def serve(wire):
        wire.message()
        wire.send(b'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf')
        go.wait(PATIENCE)

    client = h2c(serve)
    stream = client.begin()
    assert client.head(stream).status == 200
    go.set()
    with pytest.raises(Reset) as reset:
        client.whole(stream)
    assert reset.value.code == h2.errors.ErrorCodes.INTERNAL_ERROR


# ---- answers of the router ----

def test_errors_of_the_router_are_answers(serve, route):
    gone = serve(answering(None))
    server = serve()
    doc = document(server, allowed_hosts=['www.example.com'], clients={'body_bytes': 1000, 'head_bytes': 2000, 'fields': 20})
    doc['routes'] = [{'name': 'some', 'path_prefix': '/some', 'pool': 'pool'}, {'name': 'gone', 'path_prefix': '/gone', 'pool': 'gone'},
                     {'name': 'down', 'path_prefix': '/down', 'pool': 'down'},
                     {'name': 'moved', 'path_prefix': '/moved', 'filters': {'redirect': {'hostname': 'b.example.com'}}}]
    doc['pools'] += [{'name': 'gone', 'servers': [f'127.0.0.1:{gone.port}']}, {'name': 'down', 'servers': []}]
    router = route(doc)
    with Http2(router.port_of('default')) as client:
        assert (client.get('/').status, client.get('/').body) == (404, b'Not Found\n')
        assert client.get('/down').status == 503
        assert client.get('/gone').status == 502
        assert client.get('/some', host='other').status == 421
        assert client.get('/some', [('x-long', 'x' * 3000)]).status == 431
        assert client.get('/some', [(f'x-{i}', '') for i in range(30)]).status == 431
        assert client.get('/some', [('x-long', 'x' * 30000)]).status == 431
        assert client.get('/some', [('x-long', 'x' * 100), ('expect', 'more')]).status == 417
        moved = client.get('/moved/x?y')
        assert moved.status == 302 and moved.get('location').startswith('http://b.example.com')
        assert client.get('/', method='HEAD').body == b''
        assert client.get('/some').status == 200  # on the same connection


@pytest.mark.parametrize('length', [None, 100000])
def test_a_refused_body_ends_the_stream_and_not_the_connection(length, h2c):
    client = h2c(clients={'body_bytes': 1000})
    stream = client.begin('POST', '/', [('content-length', str(length))] if length else [], end=False)
    other = client.begin('POST', '/other', end=False)
    if not length:
        client.send(stream, b'x' * 60000)
    answer = client.answers[stream]
    client.until(lambda: answer.ended and answer.reset is not None)
    assert (answer.status, answer.reset) == (413, NO_ERROR)
    client.send(other, b'body', end=True)
    assert client.whole(other).body.endswith(b'\r\n\r\n4')


def test_a_refused_head_ends_the_stream(h2c):
    client = h2c(clients={'head_bytes': 2000})
    stream = client.begin('POST', '/', [('x-long', 'x' * 3000)], end=False)
    answer = client.answers[stream]
    client.until(lambda: answer.ended and answer.reset is not None)
    assert (answer.status, answer.reset) == (431, NO_ERROR)
    assert client.get().status == 200


def test_a_request_that_is_complete_by_its_length_is_not_reset(h2c):
    client = h2c()
    prompt, silent = (client.begin('POST', '/', [('content-length', '4')], end=False) for _ in range(2))
    for stream in (prompt, silent):
        client.send(stream, b'body')
        assert client.whole(stream).status == 200
    client.end(prompt)  # some clients send that in a frame of its own
    assert client.get().status == 200 and client.answers[prompt].reset is None
    client.until(lambda: client.answers[silent].reset is not None)  # but not for ever
    assert client.answers[silent].reset == NO_ERROR


# ---- many streams ----

def test_a_hundred_streams_with_bodies_both_ways(h2c):
    def serve(wire):
        while True:
            head, body = wire.message()
            wire.send(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % (2 * len(body)) + body + body)

    client = h2c(serve, threads=2)
    streams = [client.begin('POST', f'/{i}', end=False) for i in range(100)]
    bodies = [bytes([i]) * (1000 + 700 * i) for i in range(100)]
    for part in range(4):
        for stream, body in zip(streams, bodies):
            size = -(-len(body) // 4)
            client.send(stream, body[part * size:(part + 1) * size])
    for stream in streams:
        client.end(stream)
    for stream, body in zip(streams, bodies):
        assert client.whole(stream).body == body + body
    assert client.h2.remote_settings.max_concurrent_streams == 100
    client.router.wait_metric('maglev_router_client_connections', 1)


def test_a_stream_that_is_not_read_does_not_stop_the_others(h2c):
    def serve(wire):
        while True:
            if wire.head().start.startswith('GET /endless'):
                wire.send(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
                while True:
                    wire.send(b'%x\r\n%s\r\n' % (len(PIECE), PIECE))
            wire.send(b'HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n' + PIECE[:20000])

    client = h2c(serve, env=SMALL)
    client.greedy = False
    stuck = [client.begin(path='/endless') for _ in range(10)]
    for stream in stuck:  # the window of each is filled; that of the connection is opened again
        answer = client.answers[stream]

        def filled(answer=answer):
            return len(answer.body) == 65535

        while not filled():
            client.h2.increment_flow_control_window(65535)
            client.flush()
            client.read()
    before = client.router.rss()
    client.greedy = True
    for i in range(200):
        assert len(client.get(f'/{i}').body) == 20000
    assert client.router.rss() - before < 8 << 20
    assert all(len(client.answers[stream].body) == 65535 for stream in stuck)
    for stream in stuck[:5]:
        client.reset(stream)
    assert client.get('/1').status == 200


def test_large_answers_leave_room_for_small_ones(h2c):
    client = h2c(stream_of(1 << 32))
    client.router.update(document(client.server, rule={'path_prefix': '/large'}))  # all else is answered by the router
    large_ones = [client.begin(path='/large') for _ in range(8)]
    for stream in large_ones:
        client.head(stream)
    for _ in range(100):
        assert client.get('/small').status == 404
        for stream in large_ones:  # not kept
            client.answers[stream].taken += len(client.answers[stream].body)
            client.answers[stream].body = b''
    taken = [client.answers[stream].taken for stream in large_ones]
    assert min(taken) > 0 and max(taken) < 2 * min(taken) + (1 << 20)
    assert not any(client.answers[stream].ended for stream in large_ones)


def test_a_server_that_does_not_read_stops_the_window(h2c):
    go = threading.Event()

    def serve(wire):
        head = wire.head()
        if head.start.startswith('POST /stuck'):
            go.wait(PATIENCE)
        wire.held = b''
        if head.get('transfer-encoding'):
            while not wire.held.endswith(b'0\r\n\r\n'):
                wire._more()  # pylint: disable=protected-access
                wire.held = wire.held[-5:]
        wire.send(OK)

    client = h2c(serve)
    stream = client.begin('POST', '/stuck', end=False)
    sent = 0
    began = time.monotonic()
    while time.monotonic() - began < 3:  # until nothing is taken any more
        room = min(client.room(stream), client.h2.max_outbound_frame_size)
        if room:
            client.h2.send_data(stream, b'x' * room)
            client.flush()
            sent += room
            began = time.monotonic()
            continue
        assert client.get('/other').status == 200  # the connection's window is open
    assert sent < 16 << 20  # the buffers of two sockets, and a few of ours
    go.set()
    client.send(stream, b'x' * 100000, end=True)
    assert client.whole(stream).status == 200


# ---- time ----

def test_slow_streams_are_ended_alone(h2c):
    client = h2c(large, clients={'min_rate': 1000, 'grace': '1s'})
    client.greedy = False
    client.h2.increment_flow_control_window(1 << 20)  # of the connection
    reading = client.begin(path='/1000000')
    writing = client.begin('POST', '/1', end=False)
    answer, refused = client.answers[reading], client.answers[writing]
    while answer.reset is None or not refused.ended:
        client.read()
    assert refused.status == 408
    client.greedy = True
    assert client.get('/10').status == 200
    refusals = client.router.metrics()
    assert refusals.one('maglev_router_refused_total', reason='read_time') == 1
    assert refusals.one('maglev_router_refused_total', reason='body_time') == 1


def test_many_streams_share_the_least_rate(h2c):
    """Each of 20 streams takes 10 KB/s, a quarter of the rate that the connection owes."""
    client = h2c(large, clients={'min_rate': 40000, 'grace': '2s'})
    client.greedy = False
    client.h2.increment_flow_control_window(1 << 22)  # of the connection, so that no stream waits for another one
    streams = [client.begin(path='/200000') for _ in range(20)]
    taken = {stream: 0 for stream in streams}
    began = time.monotonic()
    client.sock.settimeout(.02)
    while (passed := time.monotonic() - began) < 6:  # alone, a stream would be ended after 3 s
        for stream in streams:
            if taken[stream] < min(len(client.answers[stream].body), 10000 * passed):
                client.take(stream, 1000)
                taken[stream] += 1000
        with contextlib.suppress(TimeoutError):
            client.read()
    assert [client.answers[stream].reset for stream in streams] == [None] * 20


def test_a_silent_connection_gets_goaway(h2c):
    client = h2c(echo, '--idle-timeout', '1s')
    assert client.get().status == 200
    client.until(lambda: client.goaway)
    with pytest.raises(EOFError):
        client.until(lambda: False)


def test_time_outs_of_the_rule(h2c):
    client = h2c(lambda wire: wire.rest(), rule={'timeouts': {'request': '500ms'}})
    assert client.get().status == 504
    assert client.get().status == 504


# ---- the end ----

def test_sigterm_sends_goaway_and_loses_nothing(h2c):
    go, arrived = threading.Event(), threading.Semaphore(0)
    client = h2c(held(go, arrived), threads=1)
    streams = [client.begin() for _ in range(10)]
    for _ in streams:
        assert arrived.acquire(timeout=PATIENCE)
    client.router.signal(signal.SIGTERM)
    client.router.wait('stopping')
    client.until(lambda: client.goaway)
    assert client.goaway[0].error_code == NO_ERROR
    go.set()
    assert all(client.whole(stream).body == b'ok' for stream in streams)
    with pytest.raises(EOFError):
        client.until(lambda: False)
    assert client.router.end() == 0


def test_a_request_that_crosses_the_goaway_is_served(h2c):
    client = h2c()
    assert client.get().status == 200
    client.router.signal(signal.SIGTERM)
    client.router.wait('stopping')
    stream = client.begin()  # it has not read anything since
    assert client.whole(stream).status == 200
    assert client.router.end() == 0


def test_a_connection_that_begins_during_the_delay_is_served(h2c):
    client = h2c(echo, '--drain-delay', '3s')
    client.router.signal(signal.SIGTERM)
    client.router.wait('stopping')
    with another(client) as late:
        assert late.get().status == 200
        late.until(lambda: late.goaway)
    assert client.router.end() == 0


def test_the_last_request_of_a_connection(h2c):
    client = h2c(clients={'requests': 3})
    for _ in range(3):
        assert client.get().status == 200
    client.until(lambda: client.goaway)


def test_a_listener_that_goes_away(serve, route):
    go, arrived = threading.Event(), threading.Semaphore(0)
    doc = document(serve(held(go, arrived)), listeners=[{'name': 'a', 'address': '127.0.0.1:0'}, {'name': 'b', 'address': '127.0.0.2:0'}])
    router = route(doc)
    with Http2(router.port_of('a')) as client, Http2(router.port_of('b'), '127.0.0.2') as other:
        streams = [client.begin(), other.begin()]
        assert arrived.acquire(timeout=PATIENCE) and arrived.acquire(timeout=PATIENCE)
        doc['listeners'] = doc['listeners'][1:]
        assert router.update(doc).status == 200
        client.until(lambda: client.goaway)
        go.set()
        assert client.whole(streams[0]).body == b'ok'
        with pytest.raises(EOFError):
            client.until(lambda: False)
        assert other.whole(streams[1]).body == b'ok' and not other.goaway
        assert other.get().status == 200


def test_a_client_that_leaves_takes_its_requests_along(h2c):
    go, arrived = threading.Event(), threading.Semaphore(0)
    client = h2c(held(go, arrived))
    streams = [client.begin() for _ in range(3)]
    for _ in streams:
        assert arrived.acquire(timeout=PATIENCE)
    client.reset(streams[0])
    client.router.wait_metric('maglev_router_aborts_total', 1)
    with another(client) as gone:
        gone.begin()
        assert arrived.acquire(timeout=PATIENCE)
    client.router.wait_metric('maglev_router_aborts_total', 2)
    client.router.wait_metric('maglev_router_client_connections', 1)
    go.set()
    assert all(client.whole(stream).body == b'ok' for stream in streams[1:])


def test_a_proxy_may_name_the_client_first(serve, route):
    server = serve()
    router = route(document(server, listeners=[{'name': 'in', 'address': '127.0.0.1:0', 'expect_proxy': True}]))
    with Http2(router.port_of('in'), before=b'PROXY TCP4 192.0.2.7 192.0.2.8 1234 80\r\n') as client:
        assert client.get().status == 200
    assert server.requests[0].get('x-forwarded-for') == '192.0.2.7'


# ---- further tries, copies ----

def test_a_request_is_tried_again(serve, route):
    bad, good = serve(answering(b'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n')), serve()
    router = route(document(bad, good, rule={'retry': {'attempts': 2, 'codes': [503]}}), threads=1)
    with Http2(router.port_of('default')) as client:
        for i in range(4):
            answer = client.post(f'/{i}', b'x' * 5000)
            assert answer.status == 200 and answer.body.endswith(b'\r\n\r\n5000')
    assert bad.requests and len(good.requests) == 4


def test_copies_of_requests(serve, route):
    copy = serve()
    doc = document(serve(), rule={'filters': {'mirrors': [{'pool': 'copy'}]}})
    doc['pools'].append({'name': 'copy', 'servers': [f'127.0.0.1:{copy.port}']})
    router = route(doc)
    with Http2(router.port_of('default')) as client:
        assert client.post('/a', b'x' * 50000).status == 200
    until(lambda: len(copy.requests) == 1)
    assert copy.requests[0].start == 'POST /a HTTP/1.1' and copy.requests[0].get('transfer-encoding') == 'chunked'


# ---- what is seen ----

def test_the_access_log_names_the_protocol(h2c):
    client = h2c(access_log={'headers': ['user-agent']})
    client.get('/a', [('user-agent', 'story')])
    line = client.router.wait('access', protocol='HTTP/2.0')
    assert (line['method'], line['host'], line['path'], line['header_user-agent']) == ('GET', 'www.example.com', '/a', 'story')
    assert line['status'] == 200 and line['complete'] is True
    with Wire(client.router.port_of('default')) as wire:
        wire.get('/b')
    assert client.router.wait('access', protocol='HTTP/1.1')['path'] == '/b'


def test_connections_show_their_streams(h2c):
    go, arrived = threading.Event(), threading.Semaphore(0)
    client = h2c(held(go, arrived))
    streams = [client.begin(), client.begin('POST', '/b')]
    for _ in streams:
        assert arrived.acquire(timeout=PATIENCE)
    shown = json.loads(client.router.ask('GET', '/connections').body)
    assert shown['clients_total'] == 1 and shown['servers_total'] == 2
    one, = shown['clients']
    assert (one['state'], one['protocol'], one['requests']) == ('busy', 'HTTP/2.0', 2)
    assert [(stream['state'], stream['request']['method']) for stream in one['streams']] == [('waiting', 'GET'), ('waiting', 'POST')]
    go.set()
    for stream in streams:
        client.whole(stream)


# ---- WebSocket ----

def line_of(client, stream, n):
    answer = client.answers[stream]
    client.until(lambda: answer.body.count(b'\n') >= n or answer.ended)
    return answer.body.split(b'\n')[n - 1]


def test_a_websocket(h2c):
    client = h2c(websocket, access_log={})
    stream = connect(client)
    answer = client.head(stream)
    assert client.h2.remote_settings.enable_connect_protocol == 1
    assert (answer.status, answer.get('sec-websocket-protocol')) == (200, 'chat')
    assert [name for name, _ in answer.fields if name in ('connection', 'upgrade', 'sec-websocket-accept')] == []
    assert line_of(client, stream, 1) == b'welcome'
    head = client.server.requests[-1]
    assert head.start == 'GET /chat HTTP/1.1'
    assert (head.get('connection'), head.get('upgrade'), head.get('sec-websocket-version')) == ('upgrade', 'websocket', '13')
    for i in range(20):
        client.send(stream, b'hello %d\n' % i)
        assert line_of(client, stream, i + 2) == b'HELLO %d' % i
    client.end(stream)  # the client ends first, and still gets what the server says
    assert client.whole(stream).body.endswith(b'\ngoodbye\n')
    line = client.router.wait('access', path='/chat')
    assert (line['method'], line['status'], line['protocol'], line['complete']) == ('GET', 101, 'HTTP/2.0', True)


def test_a_websocket_that_the_server_ends_first(h2c):
    client = h2c(websocket)
    stream = connect(client)
    client.head(stream)
    client.send(stream, b'leave\n')
    client.until(lambda: client.answers[stream].ended)
    client.send(stream, b'more', end=True)
    until(lambda: getattr(client.server, 'last', None) == b'more')
    client.router.wait_metric('maglev_router_server_connections', 0)


def test_what_a_websocket_sends_early_is_not_lost(h2c):
    """RFC 8441 does not forbid to send before the answer, and the end may come as early."""
    client = h2c(websocket)
    stream = connect(client)
    client.send(stream, b'early\n' * 5000, end=True)
    assert client.whole(stream).body == b'welcome\n' + b'EARLY\n' * 5000 + b'goodbye\n'


@pytest.mark.parametrize('answer, status', [
    (b'HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno', 403),
    (b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 502),  # would look like the beginning of a WebSocket
    (b'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n', 502),
    (b'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n', 502)])
def test_servers_that_do_not_accept_a_websocket(answer, status, h2c):
    client = h2c(answering(answer))
    assert client.whole(connect(client)).status == status
    assert client.whole(connect(client)).status == status


def test_other_kinds_of_connect(h2c):
    client = h2c()
    assert client.whole(connect(client, protocol='connect-udp')).status == 501
    with another(client, checked=False) as plain:
        stream = plain.begin('CONNECT', None, end=False, host='www.example.com:443', scheme=None)
        assert plain.whole(stream).status == 405
        assert plain.get().status == 200
    assert len(client.server.requests) == 1
