# SPDX-License-Identifier: Apache-2.0
"""maglev-router: the access log, traces, and what answers say about their time."""
import re
import socket
import struct
import time

import pytest

from lab import until
from lab.router import OK, answering, document, large

TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
ID = TRACE.split('-')[1]


def logged(serve, route, log, handler=None, *args, **how):
    server = serve(handler) if handler else serve()
    router = route(document(server, access_log=log, **how), *args, threads=1)
    client = router.client()
    client.router, client.server = router, server
    return client


# ---- the access log ----

def test_a_line_has_what_happened(serve, route):
    client = logged(serve, route, {'headers': ['User-Agent', 'referer']})
    client.send(f'POST /a?b=c HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: "x"\r\nTraceparent: {TRACE}\r\n'
                'Content-Length: 5\r\n\r\nhello')
    head, body = client.message()
    line = client.router.wait('access')
    assert {key: line[key] for key in ('level', 'client', 'method', 'host', 'path', 'route', 'pool', 'server', 'status',
                                       'complete', 'tries', 'trace', 'header_user-agent')} == {
        'level': 'INFO', 'client': '127.0.0.1', 'method': 'POST', 'host': 'www.example.com', 'path': '/a?b=c',
        'route': 'all', 'pool': 'pool', 'server': f'127.0.0.1:{client.server.port}', 'status': 200, 'complete': True,
        'tries': 1, 'trace': ID, 'header_user-agent': '"x"'}
    assert line['bytes_out'] == len(head.text) + 4 + len(body)
    assert line['bytes_in'] > 5 and 0 < line['first_byte_ms'] <= line['duration_ms'] < 20000
    assert 'why' not in line and 'header_referer' not in line


def test_without_the_section_there_is_no_line(wired):
    client = wired()
    assert client.get()[0].status == 200
    client.router.stop()
    assert client.router.all('access') == []


def test_failed_requests_always_have_a_line(serve, route):
    held = socket.socket()
    held.bind(('127.0.0.1', 0))
    broken = serve(answering(None))
    fine = serve()
    router = route({
        'access_log': {'percent': 0},
        'routes': [{'name': name, 'path_prefix': f'/{name}', 'pool': name, 'retry': {'attempts': 0}}
                   for name in ('closed', 'broken', 'fine')],
        'pools': [{'name': name, 'servers': [f'127.0.0.1:{port}']} for name, port in
                  (('closed', held.getsockname()[1]), ('broken', broken.port), ('fine', fine.port))]}, threads=1)
    for path, status in (('/fine', 200), ('/nothing', 404), ('/closed', 503), ('/broken', 502)):
        assert router.request(path=path).status == status
    with router.client() as client:  # it leaves before its answer
        client.send('POST /fine/post HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf')
        until(lambda: router.metrics().one('maglev_router_route_requests_active', route='fine') == 1)
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    gone = router.wait('access', path='/fine/post')
    assert (gone['complete'], gone['why'], gone.get('status')) == (False, 'client-gone', None)
    lines = router.all('access')
    assert [(line['path'], line.get('status'), line['why']) for line in lines] == [
        ('/closed', 503, 'connect-failed'), ('/broken', 502, 'server-broken'), ('/fine/post', None, 'client-gone')]


def test_slow_requests_always_have_a_line(serve, route):
    def slow(wire):
        while True:
            head, _ = wire.message()
            until(lambda end=time.monotonic() + ('slow' in head.start) / 10: time.monotonic() >= end)
            wire.send(OK)
    client = logged(serve, route, {'percent': 0, 'slow': '100ms'}, slow)
    assert client.get('/quick')[0].status == 200
    assert client.get('/slow')[0].status == 200
    line = client.router.wait('access', path='/slow')
    assert line['duration_ms'] >= line['first_byte_ms'] >= 100


def test_a_sample_is_a_part_of_all_requests(serve, route):
    client = logged(serve, route, {'fraction': {'numerator': 1, 'denominator': 4}})
    for i in range(400):
        assert client.get(f'/{i}')[0].status == 200
    client.router.stop()
    assert 40 <= len(client.router.all('access')) <= 180  # 100 expected, with a deviation of less than 9


def test_a_line_is_json_whatever_a_client_sends(serve, route):
    client = logged(serve, route, {'headers': ['user-agent']})
    client.send(b'GET /"%0a HTTP/1.1\r\nHost: a\r\nUser-Agent: \xff\x80"\\\t{}\r\n\r\n').message()
    line = client.router.wait('access')
    assert line['path'] == '/"%0a' and line['header_user-agent'] == '\ufffd\ufffd"\\\t{}'


def test_a_request_that_no_parser_takes_has_a_line(serve, route):
    client = logged(serve, route, {})
    assert client.send('GET / HTTP/1.1\r\nHost : a\r\n\r\n').head().status == 400
    line = client.router.wait('access')
    assert (line['status'], line['why'], line['client']) == (400, 'malformed', '127.0.0.1')


def test_the_head_of_a_long_upload_is_still_known(serve, route):
    client = logged(serve, route, {})
    size = 300000
    client.send(f'POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n').send(b'x' * size)
    assert client.message()[0].status == 200
    line = client.router.wait('access')
    assert (line['method'], line['path'], line['host']) == ('POST', '/upload', 'a')
    assert line['bytes_in'] > size


def test_a_tunnel_has_its_line_at_its_end(serve, route):
    client = logged(serve, route, {}, answering(
        b'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n', None))
    client.send('GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')
    assert client.head().status == 101
    assert client.router.all('access') == []
    client.send(b'z' * 20000).shutdown()
    line = client.router.wait('access', path='/tunnel')
    assert (line['status'], line['method']) == (101, 'GET')


def test_the_client_behind_a_trusted_proxy_is_logged(serve, route):
    router = route(document(serve(), access_log={}, listeners=[
        {'name': 'l', 'address': '127.0.0.1:0', 'trusted_proxies': ['127.0.0.1']}]), threads=1)
    with router.client('l') as client:
        client.send('GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6, 198.51.100.7\r\n\r\n').message()
    assert router.wait('access')['client'] == '198.51.100.7'


def test_a_log_that_nobody_reads_holds_no_request_up(serve, route):
    client = logged(serve, route, {'headers': ['x-long']}, large)
    before = client.router.metrics().one('maglev_router_log_dropped_total')
    filler = 'y' * 3500
    with client.router.unread():
        for _ in range(4000):
            client.send(f'GET /10 HTTP/1.1\r\nHost: a\r\nX-Long: {filler}\r\n\r\n')
            assert client.message()[0].status == 200
    until(lambda: client.router.metrics().one('maglev_router_log_dropped_total') > before)


# ---- traces ----

@pytest.fixture
def traced(serve, route):
    """What the server gets of a request with these lines, by this way of tracing."""
    def send(lines, **keys):
        server = serve()
        router = route(document(server, listeners=[{'name': 'l', 'address': '127.0.0.1:0', **keys}]), threads=1)
        with router.client('l') as client:
            client.send('\r\n'.join(['GET / HTTP/1.1', 'Host: a', *lines, '', ''])).message()
        return server.requests[-1]
    return send


@pytest.mark.parametrize('keys', [{}, {'tracing': 'pass'}, {'tracing': 'create'}])
def test_a_valid_trace_is_passed_on(traced, keys):
    got = traced([f'traceparent: {TRACE}', 'tracestate: a=b'], **keys)
    assert (got.all('traceparent'), got.all('tracestate')) == ([TRACE], ['a=b'])


@pytest.mark.parametrize('lines', [
    [], ['tracestate: a=b'], ['traceparent: 00-xyz', 'tracestate: a=b'], [f'traceparent: {TRACE.upper()}', 'tracestate: a=b'],
    [f'traceparent: {TRACE}', f'traceparent: {TRACE}', 'tracestate: a=b']])
def test_a_missing_or_invalid_trace_is_replaced(traced, lines):
    got = traced(lines, tracing='create')
    (parent,) = got.all('traceparent')
    assert re.fullmatch(r'00-[0-9a-f]{32}-[0-9a-f]{16}-03', parent) and ID not in parent
    assert got.all('tracestate') == []


def test_created_traces_are_recorded_by_their_share(traced):
    assert traced([], tracing='create', trace_percent=0).get('traceparent').endswith('-02')


def test_without_tracing_the_fields_are_dropped(traced):
    got = traced([f'traceparent: {TRACE}', 'tracestate: a=b'], tracing='off')
    assert got.all('traceparent') == got.all('tracestate') == []


def test_all_tries_belong_to_one_trace_which_is_logged(serve, route):
    def flaky(wire):
        while True:
            wire.server.requests.append(wire.message()[0])
            wire.send(OK if len(wire.server.requests) > 2 else b'HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n')
    server = serve(flaky)
    router = route(document(server, rule={'retry': {'codes': [503], 'backoff': '1ms'}}, access_log={},
                            listeners=[{'name': 'l', 'address': '127.0.0.1:0', 'tracing': 'create'}]), threads=1)
    with router.client('l') as client:
        assert client.get()[0].status == 200
    line = router.wait('access')
    (trace,) = {head.get('traceparent').split('-')[1] for head in server.requests}
    assert (line['tries'], line['trace']) == (3, trace)


# ---- Server-Timing ----

def test_answers_say_how_long_they_took_if_asked(serve, route):
    server = serve(answering(b'HTTP/1.1 200 OK\r\nServer-Timing: db;dur=1\r\nContent-Length: 2\r\n\r\nok'))
    router = route(document(server, listeners=[{'name': 'l', 'address': '127.0.0.1:0', 'server_timing': True},
                                               {'name': 'm', 'address': '127.0.0.2:0'}]), threads=1)
    with router.client('l') as client:
        theirs, ours = client.get()[0].all('server-timing')
    assert theirs == 'db;dur=1'
    upstream, total = map(float, re.fullmatch(r'upstream;dur=(\d+\.\d{3}), total;dur=(\d+\.\d{3})', ours).groups())
    assert 0 < upstream <= total < 20000
