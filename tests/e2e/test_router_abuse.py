# SPDX-License-Identifier: Apache-2.0
"""maglev-router and clients that want to harm it, or the servers behind it."""
import contextlib
import socket
import threading

import pytest

from lab import PATIENCE, until
from lab.router import OK, Wire, document, large


def guarded(serve, route, paths, **more):
    """A router that protects /admin: (router, the server for it, the server for all else)."""
    admin, public = serve(), serve()
    router = route({'listeners': [{'name': 'default', 'address': '127.0.0.1:0', **({'paths': paths} if paths else {})}],
                    'routes': [{'name': 'admin', 'path_prefix': '/admin', 'pool': 'admin'},
                               {'name': 'caf\u00e9', 'path_exact': '/%7euser', 'pool': 'admin'},
                               {'name': 'all', 'pool': 'public'}],
                    'pools': [{'name': 'admin', 'servers': [f'127.0.0.1:{admin.port}']},
                              {'name': 'public', 'servers': [f'127.0.0.1:{public.port}']}], **more})
    return router, admin, public


# ---- paths ----

@pytest.mark.parametrize('paths', [None, 'strict'])
def test_a_prefix_is_protected_however_its_path_is_written(serve, route, paths):
    router, admin, public = guarded(serve, route, paths)
    with router.client() as client:
        for path in ('/admin', '/a/../admin', '/./admin', '//admin', '/%61dmin', '/a/%2e%2E/admin', '/a//.././/admin/'):
            head, body = client.get(path + '?q=/../x')
            assert (head.status, int(head.get('x-port'))) == (200, admin.port), path
            got = body.decode().split()[1]
            assert got in ('/admin?q=/../x', '/admin/?q=/../x'), path
        assert client.get('/a/b%20c')[1].startswith(b'GET /a/b%20c HTTP/1.1')
        assert int(client.get('/~user')[0].get('x-port')) == admin.port
    assert len(public.requests) == 1


@pytest.mark.parametrize('path', ['/a/..%2fadmin', '/a/..\\admin', '/a/..;/admin', '/a%00', '/a%', '/%zz'])
def test_a_path_that_servers_read_differently_is_refused(serve, route, path):
    router, admin, public = guarded(serve, route, None)
    with router.client() as client:
        assert client.get(path)[0].status == 400
    assert not admin.requests and not public.requests


def test_strict_paths_refuse_more(serve, route):
    router, admin, public = guarded(serve, route, 'strict')
    for path in ('/a%2fb', '/a%5Cb', '/a\\b', '/../admin', '/a%0d%0ab', '/%c0%af'):
        with router.client() as client:
            assert client.get(path)[0].status == 400, path
    assert not admin.requests and not public.requests


def test_paths_can_be_left_as_they_are(serve, route):
    router, admin, public = guarded(serve, route, 'as-is')
    with router.client() as client:
        for path in ('/a/../admin', '//admin', '/%61dmin', '/a%2fb%zz'):
            head, body = client.get(path)
            assert body.startswith(f'GET {path} HTTP/1.1'.encode()) and int(head.get('x-port')) == public.port
        assert int(client.get('/%7euser')[0].get('x-port')) == admin.port
    assert len(admin.requests) == 1


def test_a_prefix_is_replaced_in_the_form_of_the_path(wired):
    client = wired(rule={'path_prefix': '/old', 'strip_prefix': True})
    assert client.get('/x/../%6fld/a?b')[1].startswith(b'GET /a?b HTTP/1.1')


def test_a_redirect_has_the_form_of_the_path(route):
    router = route({'routes': [{'name': 'r', 'filters': {'redirect': {'scheme': 'https'}}}], 'pools': []})
    with router.client() as client:
        assert client.get('//evil.example/..')[0].get('location').startswith('https://www.example.com')
        assert '//evil' not in client.get('//evil.example')[0].get('location')


# ---- connections ----

def from_address(router, address):
    """A connection from that address of the loopback network."""
    return Wire(sock=socket.create_connection(('127.0.0.1', router.port_of('default')), PATIENCE, (address, 0)))


def refusals(router, reason):
    return router.metrics().one('maglev_router_refused_total', reason=reason)


def test_connections_have_a_limit_in_all(serve, route):
    router = route(document(serve(), clients={'connections': 4, 'connections_each': 4}), threads=2)
    clients = [router.client() for _ in range(4)]
    for client in clients:
        assert client.get()[0].status == 200
    with from_address(router, '127.0.0.9') as more:
        head, body = more.message()
        assert (head.status, head.get('connection'), body) == (503, 'close', b'too many connections\n')
        assert more.rest() == b''
    assert refusals(router, 'connections') == 1
    clients.pop().close()
    router.wait_metric('maglev_router_client_connections', 3)
    with from_address(router, '127.0.0.9') as more:
        assert more.get()[0].status == 200
    for client in clients:
        assert client.get()[0].status == 200
        client.close()


def test_one_client_has_a_limit_over_all_threads(serve, route):
    router = route(document(serve(), clients={'connections_each': 8}), threads=4)
    clients = [router.client() for _ in range(8)]
    for client in clients:
        assert client.get()[0].status == 200
    for _ in range(5):
        with router.client() as more:
            assert more.message()[1] == b'too many connections from this address\n'
    with from_address(router, '127.0.0.9') as other:
        assert other.get()[0].status == 200
    assert refusals(router, 'connections_each') == 5
    clients.pop().close()
    until(lambda: router.metrics().one('maglev_router_client_connections') == 7)
    with router.client() as again:
        assert again.get()[0].status == 200
    for client in clients:
        client.close()


def test_a_flood_of_connections_leaves_the_others_alone(serve, route):
    router = route(document(serve(), clients={'connections_each': 2}), threads=1)
    with router.client() as first:
        assert first.get()[0].status == 200
        with router.client() as second:
            assert second.get()[0].status == 200
            flood = [router.client() for _ in range(600)]
            for i in range(20):
                assert first.get(f'/{i}')[0].status == 200
            for client in flood:
                client.close()
            router.wait_metric('maglev_router_refused_total', 600, reason='connections_each')  # some may not be accepted yet
            assert second.get()[0].status == 200
    router.wait_metric('maglev_router_client_connections', 0)


def test_a_connection_ends_after_its_last_request(wired):
    client = wired(clients={'requests': 2})
    assert client.get()[0].get('connection') is None
    client.send('GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n')
    head, body = client.message()
    assert (head.status, head.get('connection')) == (200, 'close') and body.startswith(b'GET /1 ')
    assert client.rest() == b''
    assert len(client.server.requests) == 2


def test_an_update_without_limits_keeps_them(serve, route):
    server = serve()
    router = route(document(server, clients={'requests': 1, 'body_bytes': 7}))
    assert router.update(document(server)).status == 200
    assert router.ask('GET', '/config').json['clients']['body_bytes'] == 7
    with router.client() as client:
        assert client.get()[0].get('connection') == 'close'
    assert router.update(document(server, clients={})).status == 200
    with router.client() as client:
        assert client.get()[0].get('connection') is None


# ---- sizes ----

def test_heads_have_limits(wired):
    client = wired(clients={'head_bytes': 1024, 'fields': 5})
    lines = 'GET / HTTP/1.1\r\nHost: a\r\nX: '
    fits = lines + 'x' * (1024 - len(lines) - 4) + '\r\n\r\n'
    assert client.send(fits).message()[0].status == 200
    for request, reason in ((fits.replace('x\r', 'xx\r'), b'the head is too large\n'),
                            ('GET / HTTP/1.1\r\nHost: a\r\nX: ' + 'x' * 1024, b'the head is too large\n'),
                            ('GET / HTTP/1.1\r\nHost: a\r\n' + 'X: 1\r\n' * 5 + '\r\n', b'the head has too many fields\n'),
                            ('GET / HTTP/1.1\r\nHost: a\r\n' + 'X: 1\r\n' * 101 + '\r\n', b'the head has too many fields\n')):
        with client.router.client() as other:
            head, body = other.send(request).message()
            assert (head.status, body) == (431, reason)
    assert client.send('GET / HTTP/1.1\r\nHost: a\r\n' + 'X: 1\r\n' * 4 + '\r\n').message()[0].status == 200
    assert len(client.server.requests) == 2
    assert (refusals(client.router, 'head_bytes'), refusals(client.router, 'fields')) == (2, 2)


def test_a_body_of_known_length_is_refused_before_a_server_sees_it(wired):
    client = wired(clients={'body_bytes': 1000})
    client.send(b'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n' + b'x' * 1000)
    assert client.message()[0].status == 200
    client.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n')
    head, body = client.message()
    assert (head.status, head.get('connection'), body) == (413, 'close', b'the body is too large\n')
    assert len(client.server.requests) == 1
    assert refusals(client.router, 'body_bytes') == 1


def chunked(size, by=100):
    parts = [b'%x\r\n%s\r\n' % (len(part), part) for part in (b'x' * min(by, size - at) for at in range(0, size, by))]
    return b'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n' + b''.join(parts) + b'0\r\n\r\n'


@pytest.mark.parametrize('by', [1, 100, 100000])
def test_a_body_in_chunks_is_counted_while_it_passes(wired, by):
    client = wired(clients={'body_bytes': 50000})
    assert client.send(chunked(50000, by)).message()[0].status == 200
    head, body = client.send(chunked(50001, by)).message()
    assert (head.status, body) == (413, b'the body is too large\n')
    assert len(client.server.requests) == 1  # of the other, the server did not see the end


# ---- slow clients ----

def trickle(wire, data, ended):
    """Sends a byte every tenth of a second, until the other side has ended the connection."""
    with contextlib.suppress(OSError):
        for i in range(len(data)):
            wire.sock.send(data[i:i + 1])
            if ended.wait(.1):
                return


def test_a_slow_body_is_refused_and_frees_the_server(wired):
    client = wired(lambda wire: wire.rest(), clients={'min_rate': 1000, 'grace': '1s'})
    ended = threading.Event()
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n')
    sender = threading.Thread(target=trickle, args=(client, b'x' * 1000, ended))
    sender.start()
    head, body = client.message()
    ended.set()
    sender.join()
    assert (head.status, body) == (408, b'the body comes too slowly\n')
    client.router.wait_metric('maglev_router_server_connections', 0)
    assert refusals(client.router, 'body_time') == 1


def test_a_body_at_the_least_rate_arrives(wired):
    client = wired(clients={'min_rate': 1000, 'grace': '1s'})
    never = threading.Event()
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000\r\n\r\n')
    for _ in range(20):
        client.send('x' * 400)
        never.wait(.2)
    assert client.message()[0].status == 200


def steady(look):
    """The value when it has not changed for half a second, and is not 0."""
    seen = 0
    while (now := look()) != seen or not seen:
        seen = now
        threading.Event().wait(.5)
    return seen


def narrow(router):
    """A connection whose kernel takes little beyond what is read."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(('127.0.0.1', router.port_of('default')))
    return Wire(sock=sock)


def test_a_client_that_does_not_read_frees_the_server(serve, route):
    router = route(document(serve(large), clients={'min_rate': 1000, 'grace': '1s'}))
    with narrow(router) as client:
        client.send('GET /30000000 HTTP/1.1\r\nHost: a\r\n\r\n').exactly(100)
        until(lambda: refusals(router, 'read_time') == 1)
        router.wait_metric('maglev_router_server_connections', 0)
        router.wait_metric('maglev_router_client_connections', 0)


def test_an_answer_that_is_taken_late_is_whole(serve, route):
    """Also if it waits in the router when the server has finished and the connection is to end."""
    router = route(document(serve(large)), threads=1)
    counts = range(1, 80)  # of answers; one of them is the first that the kernel does not take

    def complete():
        return int(router.metrics().one('maglev_router_answers_total', **{'class': '2xx'}))

    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(narrow(router)) for _ in counts]
        for client, n in zip(clients, counts):
            client.send('GET /60000 HTTP/1.1\r\nHost: a\r\n\r\n' * (n - 1)
                        + 'GET /60000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
        assert steady(complete) < sum(counts)
        threading.Event().wait(2.5)  # longer than the router waits for the end of a connection with nothing to send
        for client, n in zip(clients, counts):
            assert [len(client.message()[1]) for _ in range(n)] == [60000] * n
            assert client.rest() == b''
        router.wait_metric('maglev_router_client_connections', 0)  # although the clients do not end their side


def flood(wire, text):
    with contextlib.suppress(OSError):
        wire.send(text)


def test_pipelined_requests_wait_until_the_answers_are_taken(serve, route):
    server = serve(large)
    router = route(document(server), threads=1)
    n = 60000
    with narrow(router) as client:
        sender = threading.Thread(target=flood, args=(client, 'GET /60000 HTTP/1.1\r\nHost: a\r\n\r\n' * n))
        sender.start()
        seen = steady(lambda: int(router.metrics().one('maglev_router_requests_total')))
        assert seen < 1000, 'answers pile up in the router'
        for _ in range(seen + 200):
            assert client.message()[0].status == 200
        client.sock.shutdown(socket.SHUT_RDWR)
        sender.join()


# ---- memory ----

def swallow(wire, n):
    """Reads n bytes and keeps none."""
    n -= len(wire.held)
    wire.held = b''
    while n > 0:
        got = len(wire.sock.recv(min(n, 1 << 20)))
        assert got, f'{n} bytes are missing'
        n -= got


def test_bodies_are_never_stored(serve, route):
    """Neither a large answer that a client does not take, nor a large request that a server does not read."""
    def sink(wire):
        wire.head()
        go.wait(PATIENCE)
        swallow(wire, size)
        wire.send(OK)

    size, go = 100000000, threading.Event()
    router = route({'routes': [{'name': 'up', 'path_prefix': '/up', 'pool': 'up'}, {'name': 'down', 'pool': 'down'}],
                    'pools': [{'name': 'up', 'servers': [f'127.0.0.1:{serve(sink).port}']},
                              {'name': 'down', 'servers': [f'127.0.0.1:{serve(large).port}']}]})
    with router.client() as up, router.client() as down:
        assert down.get('/10')[0].status == 200
        before = router.rss()
        down.send(f'GET /{size} HTTP/1.1\r\nHost: a\r\n\r\n').exactly(1000)
        sender = threading.Thread(target=flood, args=(up, f'POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n'
                                                      + 'x' * size))
        sender.start()
        threading.Event().wait(1)  # both stand still
        assert router.rss() - before < 20 << 20
        go.set()
        assert up.message()[1] == b'ok'
        sender.join()
        swallow(down, size - 2000)
        assert router.rss() - before < 20 << 20
