# SPDX-License-Identifier: Apache-2.0
"""What maglev-router knows of gRPC: which rule a call has, codes instead of statuses, deadlines."""
import contextlib
import signal
import socket
import time

import pytest

from lab import PATIENCE, until
from lab.grpc_server import GrpcServer
from lab.http2 import Http2
from lab.router import answering, document, echo
from lab.router_api import RouterApi

UNKNOWN, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNIMPLEMENTED, UNAVAILABLE = 2, 4, 8, 12, 14


def call(router, path, kind='application/grpc', body=b'\0\0\0\0\0', **metadata):
    """(head, body) of a call over HTTP/1.1, in which the answers of the router have the same fields."""
    lines = ''.join(f'{name.replace("_", "-")}: {value}\r\n' for name, value in metadata.items())
    with router.client() as client:
        return client.send(f'POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {kind}\r\n{lines}'
                           f'Content-Length: {len(body)}\r\n\r\n').send(body).message()


def code(answer):
    """Of an answer of the router: a code, a message and nothing else."""
    head, body = answer
    assert (head.status, head.get('content-type'), body) == (200, 'application/grpc', b'')
    assert head.get('grpc-message')
    return int(head.get('grpc-status'))


@pytest.fixture
def grpc_server(running, folders):
    """Starts a server of grpcio."""
    return lambda name='grpc': running(GrpcServer(folders(), name)).start()


def rule(pool, *matches):
    return {'pool': pool, 'matches': list(matches)}


# ---- which rule ----

def test_a_call_has_the_rule_of_its_service_and_method(serve, route):
    servers = {name: serve(echo) for name in ('both', 'service', 'method', 'header', 'regex', 'rest')}
    router = route({
        'routes': [{'name': 'calls', 'rules': [
            rule('rest', {'grpc': {}}),
            rule('method', {'grpc': {'method': 'Get'}}),
            rule('service', {'grpc': {'service': 'a.Things'}}),
            rule('header', {'grpc': {'service': 'a.Things'}, 'headers': [{'name': 'x-canary', 'value': '1'}]}),
            rule('both', {'grpc': {'service': 'a.Things', 'method': 'Get'}}),
            rule('regex', {'grpc': {'type': 'regex', 'service': r'b[.].*', 'method': 'Get|Put'}})]}],
        'pools': [{'name': name, 'servers': [f'127.0.0.1:{server.port}']} for name, server in servers.items()]})
    names = {str(server.port): name for name, server in servers.items()}
    for path, metadata, name in (
            ('/a.Things/Get', {}, 'both'),
            ('/a.Things/Get', {'x_canary': 1}, 'both'),
            ('/a.Things/Put', {}, 'service'),
            ('/a.Things/Put', {'x_canary': 1}, 'header'),
            ('/a.Things/get', {}, 'service'),
            ('/A.Things/Put', {}, 'rest'),
            ('/x.Others/Get', {}, 'method'),
            ('/x.Others/Put', {}, 'rest'),
            ('/b.c.D/Get', {}, 'regex'),
            ('/b.c.D/Got', {}, 'rest')):
        head, _ = call(router, path, **metadata)
        assert names[head.get('x-port')] == name, path


# ---- codes ----

@pytest.fixture
def failing(serve, route):
    """Routes that fail in every way, for calls and for other requests."""
    silent = serve(lambda wire: wire.rest())
    closing = serve(answering(None))
    with socket.socket() as refusing:
        refusing.bind(('127.0.0.1', 0))
        yield route(failing_document(silent, closing, refusing.getsockname()[1]))


def failing_document(silent, closing, refusing):
    return {
        'routes': [
            {'name': 'silent', 'pool': 'silent', 'timeouts': {'request': '300ms'}, 'path_prefix': '/silent'},
            {'name': 'closing', 'pool': 'closing', 'path_prefix': '/closing'},
            {'name': 'refusing', 'pool': 'refusing', 'path_prefix': '/refusing'},
            {'name': 'none', 'backends': [], 'path_prefix': '/none'},
            {'name': 'empty', 'pool': 'empty', 'matches': [{'grpc': {'service': 'a.Empty'}}]}],
        'pools': [{'name': 'empty', 'servers': []}] + [
            {'name': name, 'servers': [f'127.0.0.1:{port}']}
            for name, port in (('silent', silent.port), ('closing', closing.port), ('refusing', refusing))],
        'clients': {'body_bytes': 100},
        'access_log': {'percent': 0}}


@pytest.mark.parametrize('path, status, expected', (
    ('/no.Service/Get', 404, UNIMPLEMENTED), ('/silent/Get', 504, DEADLINE_EXCEEDED), ('/closing/Get', 502, UNAVAILABLE),
    ('/refusing/Get', 503, UNAVAILABLE), ('/none/Get', 500, UNAVAILABLE), ('/a.Empty/Get', None, UNAVAILABLE)))
def test_answers_of_the_router_are_codes_for_calls(failing, path, status, expected):
    assert code(call(failing, path)) == expected
    assert code(call(failing, path, kind='application/grpc+proto')) == expected
    head, _ = call(failing, path, kind='application/json')
    # of a route for calls, all requests are calls
    assert head.status == status if status else int(head.get('grpc-status')) == expected


def test_a_message_above_the_limit_exhausts_a_resource(failing):
    assert code(call(failing, '/closing/Get', body=b'x' * 101)) == RESOURCE_EXHAUSTED


def test_the_access_log_and_the_metrics_have_the_code(failing):
    call(failing, '/refusing/Get')
    line = failing.wait('access', path='/refusing/Get')  # percent is 0: a call that fails has a line in any case
    assert (line['status'], line['grpc_status'], line['why']) == (200, UNAVAILABLE, 'connect-failed')
    metrics = failing.metrics()
    assert metrics.one('maglev_router_route_grpc_total', route='refusing', grpc_status='UNAVAILABLE') == 1
    assert metrics.one('maglev_router_pool_grpc_total', pool='refusing', grpc_status='UNAVAILABLE') == 1


def test_the_api_counts_calls_that_fail_as_errors(failing):
    call(failing, '/refusing/Get')
    call(failing, '/no.Service/Get')
    with contextlib.closing(RouterApi(failing.port_of('grpc'))) as api:
        until(lambda: api.route('refusing')['traffic']['errors'] == '1')
        assert api.route('none')['traffic']['errors'] == '0'


def test_an_answer_that_is_only_unavailable_is_tried_again(serve, route):
    bare = 'HTTP/1.1 200 OK\r\nContent-Type: application/grpc\r\nGrpc-Status: {}\r\nContent-Length: 0\r\n\r\n'
    down, up = serve(answering(bare.format(UNAVAILABLE).encode())), serve(answering(bare.format(0).encode()))
    router = route(document(down, up, rule={'matches': [{'grpc': {}}], 'retry': {'codes': [503], 'backoff': '1ms'}},
                            access_log={}), threads=1)
    for _ in range(4):
        head, _ = call(router, '/a.Things/Get')
        assert head.get('grpc-status') == '0'
    assert down.requests and len(up.requests) == 4
    assert router.wait('access', tries=2)['grpc_status'] == 0


# ---- time ----

def test_the_deadline_of_a_call_ends_it(serve, route):
    server = serve(lambda wire: wire.rest())
    router = route(document(server, rule={'timeouts': {'request': '1h'}}))
    begin = time.monotonic()
    assert code(call(router, '/a.Things/Get', grpc_timeout='300m')) == DEADLINE_EXCEEDED
    assert .3 <= time.monotonic() - begin < PATIENCE
    assert code(call(router, '/a.Things/Get', grpc_timeout='1n')) == DEADLINE_EXCEEDED


def test_a_server_gets_the_time_that_is_left(serve, route):
    def timeout(head):
        units = {'n': 1e-9, 'u': 1e-6, 'm': 1e-3, 'S': 1, 'M': 60, 'H': 3600}
        text = head.get('grpc-timeout')
        return float(text[:-1]) * units[text[-1]]

    server = serve(echo)
    router = route({'routes': [
        {'name': 'short', 'pool': 'pool', 'path_prefix': '/short', 'timeouts': {'request': '20s', 'backend': '10s'}},
        {'name': 'plain', 'pool': 'pool'}],
        'pools': [{'name': 'pool', 'servers': [f'127.0.0.1:{server.port}']}]})
    call(router, '/a.Things/Get', grpc_timeout='1H')
    call(router, '/short/Get', grpc_timeout='1H')
    call(router, '/short/Get')
    call(router, '/a.Things/Get')
    call(router, '/a.Things/Get', grpc_timeout='soon')
    call(router, '/short/Get', kind='application/json', grpc_timeout='1H')
    hour, short, given, none, wrong, other = server.requests
    assert 3600 - PATIENCE < timeout(hour) < 3600
    assert 0 < timeout(short) <= 10 and 0 < timeout(given) <= 10
    assert len(short.all('grpc-timeout')) == 1
    assert none.get('grpc-timeout') is None and wrong.get('grpc-timeout') == 'soon' and other.get('grpc-timeout') == '1H'


def test_a_stream_may_be_silent(serve, route):
    def late(wire):
        wire.head()
        wire.until(b'second')
        wire.send(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')

    server = serve(late)
    router = route({'routes': [{'name': 'calls', 'pool': 'pool', 'matches': [{'grpc': {'service': 'a.Things'}}]},
                               {'name': 'plain', 'pool': 'pool'}],
                    'pools': [{'name': 'pool', 'servers': [f'127.0.0.1:{server.port}']}],
                    'clients': {'min_rate': 1000, 'grace': '1s'}}, '--stall-timeout', '1s', threads=1)
    begin = ('POST {} HTTP/1.1\r\nHost: a\r\nContent-Type: application/grpc\r\n'
             'Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n')
    with router.client() as client, router.client() as other:
        client.send(begin.format('/a.Things/Chat'))
        other.send(begin.format('/other'))
        assert code(other.message()) == DEADLINE_EXCEEDED  # too slow, and no call has more time than this one
        client.send('6\r\nsecond\r\n0\r\n\r\n')
        assert client.message()[0].status == 200


# ---- probes ----

def state(router, pool='pool'):
    return next(entry['upstreams'][0]['state'] for entry in router.ask('GET', '/pools').json['pools']
                if entry['name'] == pool)


def test_a_pool_is_probed_by_the_health_service(grpc_server, serve, route):
    server, other = grpc_server(), serve(echo)
    probe = {'type': 'grpc', 'interval': '1s', 'rise': 1, 'fall': 1}  # the interval is also the time for an answer
    pools = [{'name': 'pool', 'servers': [f'127.0.0.1:{server.port}'], 'probe': probe},
             {'name': 'missing', 'servers': [f'127.0.0.1:{server.port}'],
              'probe': {**probe, 'service': 'lab.missing'}},
             {'name': 'http', 'servers': [f'127.0.0.1:{other.port}'], 'probe': probe}]
    router = route({'routes': [{'name': 'all', 'pool': 'pool'}], 'pools': pools})
    until(lambda: state(router)['health'] == 'up')
    assert state(router)['code'] == 'L7OK'
    server.signal(signal.SIGUSR1)
    router.wait('server-down', pool='pool')
    assert (state(router)['code'], state(router)['reason']) == ('L7STS', 'NOT_SERVING')
    assert router.request().status == 503
    server.signal(signal.SIGUSR1)
    router.wait('server-up', pool='pool', count=2)
    assert state(router, 'missing')['reason'] == 'grpc-status 5: no such service'
    until(lambda: state(router, 'http')['health'] == 'down')
    assert state(router, 'http')['code'] in ('L7RSP', 'L7TOUT')


# ---- gRPC-Web ----

MESSAGE = b'\0\0\0\0\3abc'
WEB = 'application/grpc-web+proto'


def framed(text):
    return b'\x80' + len(text).to_bytes(4, 'big') + text


def web(serve, route, answer, **more):
    """A router that translates, before a server with that answer."""
    server = serve(answering(answer))
    return server, route(document(server, rule={'matches': [{'grpc': {'service': 'a.Things'}}], 'grpc_web': True, **more}))


CHUNKED = b'HTTP/1.1 200 OK\r\nContent-Type: application/grpc\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n' + MESSAGE + b'\r\n'


def test_trailers_become_the_last_message_for_the_web(serve, route):
    trailers = b'Grpc-Status: 5\r\ngrpc-message: not here\r\nX-Any: thing\r\n\r\n'
    server, router = web(serve, route, CHUNKED + b'0\r\n' + trailers)
    head, body = call(router, '/a.Things/Get', kind=WEB, body=MESSAGE)
    assert (head.status, head.get('content-type')) == (200, WEB)
    assert body == MESSAGE + framed(b'grpc-status: 5\r\ngrpc-message: not here\r\nx-any: thing\r\n')
    assert server.requests[0].get('content-type') == 'application/grpc'
    router.wait_metric('maglev_router_route_grpc_total', 1, route='all', grpc_status='NOT_FOUND')
    with Http2(router.port_of('default')) as client:
        answer = client.post('/a.Things/Get', MESSAGE, [('content-type', WEB)])
        assert dict(answer.fields)['content-type'] == WEB
        assert answer.body.endswith(framed(b'grpc-status: 5\r\ngrpc-message: not here\r\nx-any: thing\r\n'))
        assert not answer.trailers


def test_a_code_alone_stays_in_the_head_for_the_web(serve, route):
    _, router = web(serve, route, b'HTTP/1.1 200 OK\r\nContent-Type: application/grpc\r\nGrpc-Status: 5\r\nContent-Length: 0\r\n\r\n')
    head, body = call(router, '/a.Things/Get', kind=WEB, body=MESSAGE)
    assert (head.get('content-type'), head.get('grpc-status'), body) == (WEB, '5', b'')


def test_an_answer_that_is_cut_has_a_code_for_the_web(serve, route):
    _, router = web(lambda handler: serve(lambda wire: (wire.message(), wire.send(CHUNKED))), route, None)
    head, body = call(router, '/a.Things/Get', kind=WEB, body=MESSAGE)
    assert head.status == 200
    assert body == MESSAGE + framed(b'grpc-status: 14\r\ngrpc-message: Bad Gateway\r\n')


def test_answers_of_the_router_are_for_the_page_that_asked(route):
    cors = {'allow_origins': ['https://a.example.com'], 'allow_methods': ['POST'], 'allow_headers': ['*'],
            'expose_headers': ['grpc-status', 'grpc-message']}
    router = route({'routes': [{'name': 'all', 'pool': 'empty', 'grpc_web': True, 'filters': {'cors': cors}}],
                    'pools': [{'name': 'empty', 'servers': []}]})
    head, body = call(router, '/a.Things/Get', kind=WEB, origin='https://a.example.com')
    assert (head.status, head.get('content-type'), head.get('grpc-status'), body) == (200, WEB, '14', b'')
    assert head.get('access-control-allow-origin') == 'https://a.example.com'
    assert head.get('access-control-expose-headers') == 'grpc-status, grpc-message'


def test_only_rules_that_say_so_translate(serve, route):
    server = serve(answering(CHUNKED + b'0\r\ngrpc-status: 0\r\n\r\n'))
    router = route(document(server))
    head, body = call(router, '/a.Things/Get', kind=WEB, body=MESSAGE)
    assert (head.get('content-type'), body) == ('application/grpc', MESSAGE)
    assert server.requests[0].get('content-type') == WEB
