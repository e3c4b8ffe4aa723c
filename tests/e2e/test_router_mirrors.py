# SPDX-License-Identifier: Apache-2.0
"""Copies of requests for other pools: what they get, and that nothing they do reaches the request."""
import socket
import threading
import time

import pytest

from lab import PATIENCE, until
from lab.router import OK, answering, document


def mirrored(route, main, *mirrors, shares=None, rule=None, pool=None, flags=(), **how):
    """A router before one server, with a mirror of one server each."""
    filters = [{'pool': f'mirror-{i}', **(shares[i] if shares else {})} for i in range(len(mirrors))]
    doc = document(main, rule={'filters': {'mirrors': filters}, **(rule or {})})
    doc['pools'] += [{'name': f'mirror-{i}', 'servers': [f'127.0.0.1:{server.port}'], **(pool or {})}
                     for i, server in enumerate(mirrors)]
    return route(doc, *flags, **how)


def copies(router, result):
    return router.metrics().one('maglev_router_mirrored_total', result=result)


def wait_copies(router, result, n):
    router.wait_metric('maglev_router_mirrored_total', n, result=result)


def keep_bodies(wire):
    """Notes each whole message."""
    while True:
        head, body = wire.message()
        wire.server.requests.append((head, body))
        wire.send(OK)


def test_each_mirror_gets_the_same_request(serve, route):
    main, one, two = serve(keep_bodies), serve(keep_bodies), serve(keep_bodies)
    rule = {'path_prefix': '/old', 'strip_prefix': True}
    router = mirrored(route, main, one, two, rule=rule)
    with router.client() as client:
        client.send('POST /old/a?b=c HTTP/1.1\r\nHost: www.example.com\r\nX-Mine: 1\r\nContent-Length: 5\r\n\r\nhello')
        assert client.message()[1] == b'ok'
    until(lambda: one.requests and two.requests, what='the copies')
    for server in (one, two):
        assert server.requests[0][0].text == main.requests[0][0].text
        assert server.requests[0][1] == b'hello'
    text = main.requests[0][0].text.decode()
    assert text.startswith('POST /a?b=c HTTP/1.1\r\n') and 'Host: www.example.com' in text
    assert 'x-forwarded-for: 127.0.0.1' in text
    wait_copies(router, 'answered', 2)


def test_mirrors_of_rule_and_backend_get_copies(serve, route):
    main, one, two = serve(), serve(), serve()
    pools = {'main': main, 'one': one, 'two': two}
    router = route({'routes': [{'name': 'all', 'filters': {'mirrors': [{'pool': 'one'}]},
                                'backends': [{'pool': 'main', 'filters': {'mirrors': [{'pool': 'two'}]}}]}],
                    'pools': [{'name': name, 'servers': [f'127.0.0.1:{server.port}']} for name, server in pools.items()]})
    assert router.request().status == 200
    until(lambda: one.requests and two.requests, what='the copies')


def test_connections_to_mirrors_are_kept(serve, route):
    mirror = serve(keep_bodies)
    router = mirrored(route, serve(keep_bodies), mirror, threads=1)
    with router.client() as client:
        for i in range(20):
            client.get()
            wait_copies(router, 'answered', i + 1)
    assert len(mirror.requests) == 20 and mirror.connections == 1
    router.wait_metric('maglev_router_generations_held', 1)


@pytest.mark.parametrize('share,low,high', [({'percent': 0}, 0, 0), ({'percent': 10}, 20, 90), ({'percent': 50}, 190, 310),
                                            ({'fraction': {'numerator': 1, 'denominator': 1000}}, 0, 10),
                                            ({'percent': 100}, 500, 500)])
def test_a_mirror_gets_its_share(serve, route, share, low, high):
    mirror = serve(keep_bodies)
    router = mirrored(route, serve(keep_bodies), mirror, shares=[share])
    with router.client() as client:
        for _ in range(500):
            assert client.get()[0].status == 200
    until(lambda: not {link['state'] for link in router.ask('GET', '/connections').json['servers']} & {'connecting', 'copying'},
          what='the end of all copies')
    assert low <= copies(router, 'answered') <= high
    assert copies(router, 'failed') == copies(router, 'cut') == 0
    assert len(mirror.requests) == copies(router, 'answered')


@pytest.mark.parametrize('chunked', [False, True])
@pytest.mark.parametrize('size', [0, 10, 16384, 60000, 500000])
def test_a_body_of_any_framing_is_copied(serve, route, chunked, size):
    main, mirror = serve(keep_bodies), serve(keep_bodies)
    router = mirrored(route, main, mirror)
    body = bytes(i % 251 for i in range(size))
    with router.client() as client:
        if chunked:
            client.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
            for at in range(0, size, 7001):
                part = body[at:at + 7001]
                client.send(b'%x\r\n%s\r\n' % (len(part), part))
            client.send(b'0\r\n\r\n')
        else:
            client.send(b'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n' % size).send(body)
        assert client.message()[0].status == 200
    wait_copies(router, 'answered', 1)
    assert mirror.requests[0][1] == main.requests[0][1] == body


def test_a_request_that_is_tried_again_is_copied_once(serve, route):
    main = serve(answering(b'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n', OK))
    mirror = serve(keep_bodies)
    router = mirrored(route, main, mirror, threads=1, rule={'retry': {'codes': [503], 'backoff': '1ms', 'attempts': 3}})
    with router.client() as client:
        # a part of the body follows after the first try
        client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello')
        until(lambda: main.connections, what='the first try')
        client.send('world')
        assert client.message()[0].status in (200, 503)
    wait_copies(router, 'answered', 1)
    assert [body for _, body in mirror.requests] == [b'helloworld']


def test_a_dead_mirror_is_not_noticed(serve, route):
    mirror = serve()
    mirror.listener.shutdown(socket.SHUT_RDWR)
    mirror.close()
    router = mirrored(route, serve(), mirror)
    with router.client() as client:
        for _ in range(20):
            assert client.get()[0].status == 200
    wait_copies(router, 'failed', 20)


def swallow(wire):
    """Reads bodies without keeping them."""
    while True:
        left = int(wire.head().get('content-length') or 0)
        while left > len(wire.held):
            left -= len(wire.held)
            wire.held = wire.sock.recv(1 << 20)
        wire.held = wire.held[left:]
        wire.send(OK)


def test_a_hanging_mirror_does_not_delay_a_large_body(serve, route):
    """The mirror reads nothing: its copy is given up, and the memory for it is bounded."""
    held = threading.Event()
    hanging = serve(lambda wire: held.wait(PATIENCE))
    hanging.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    router = mirrored(route, serve(swallow), hanging, threads=1)
    with router.client() as client:
        client.get()
        before = router.rss()
        client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000000\r\n\r\n')
        for _ in range(20):
            client.send(b'x' * 1000000)
        assert client.message()[0].status == 200
        assert router.rss() - before < 10000000
    wait_copies(router, 'cut', 1)
    held.set()


def test_a_mirror_that_does_not_answer_delays_nothing(serve, route):
    router = mirrored(route, serve(), serve(lambda wire: wire.rest()), threads=1)
    with router.client() as client:
        begin = time.monotonic()
        for _ in range(50):
            assert client.get()[0].status == 200
        assert time.monotonic() - begin < PATIENCE
    router.wait_metric('maglev_router_client_connections', 0)
    assert [link['state'] for link in router.ask('GET', '/connections').json['servers']].count('copying') == 50
    assert sum(copies(router, result) for result in ('answered', 'failed', 'cut')) == 0


def test_a_mirror_that_stays_silent_is_given_up(serve, route):
    router = mirrored(route, serve(), serve(lambda wire: wire.rest()), threads=1, flags=('--stall-timeout', '1s'))
    doc = router.ask('GET', '/config').json
    assert router.request().status == 200
    assert router.update(doc).status == 200
    wait_copies(router, 'failed', 1)
    router.wait_metric('maglev_router_generations_held', 1)


@pytest.mark.parametrize('answer', [b'HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n', b'garbage\r\n\r\n',
                                    b'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
                                    b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
                                    b'HTTP/1.1 100 Continue\r\n\r\n' + OK, b''])
def test_answers_of_a_mirror_are_dropped(serve, route, answer):
    def serve_once(wire):
        wire.message()
        wire.send(answer)

    router = mirrored(route, serve(), serve(serve_once))
    for n in range(5):
        assert router.request().status == 200
        until(lambda n=n: copies(router, 'answered') + copies(router, 'failed') == n + 1)


def test_a_client_that_leaves_takes_its_copies_along(serve, route):
    ended = threading.Event()

    def wait(wire):
        wire.rest()
        ended.set()

    router = mirrored(route, serve(lambda wire: wire.rest()), serve(wait))
    with router.client() as client:
        client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf')
        router.wait_metric('maglev_router_server_connections', 2)
    assert ended.wait(PATIENCE)
    wait_copies(router, 'cut', 1)


def test_a_mirror_at_its_limit_gets_no_copy(serve, route):
    router = mirrored(route, serve(), serve(lambda wire: wire.rest()), threads=1, pool={'limits': {'connections': 1}})
    with router.client() as client:
        for _ in range(10):
            assert client.get()[0].status == 200
    assert copies(router, 'cut') == 9


def test_upgrades_are_not_copied(serve, route):
    def tunnel(wire):
        wire.head()
        wire.send('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')
        wire.send(wire.exactly(3))

    mirror = serve()
    router = mirrored(route, serve(tunnel), mirror)
    with router.client() as client:
        client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')
        assert client.head().status == 101
        assert client.send('abc').exactly(3) == b'abc'
    assert mirror.connections == 0
