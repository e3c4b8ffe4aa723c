# SPDX-License-Identifier: Apache-2.0
"""maglev-router: TCP connections passed on as they are."""
import contextlib
import hashlib
import json
import random
import signal
import socket
import struct
import threading

import pytest

from lab import until
from lab.router import Wire
from lab.upgrades import Upgradable

LISTENER = {'name': 'tcp', 'address': '127.0.0.1:0', 'protocol': 'tcp'}


def pool(name, *servers, **more):
    return {'name': name, 'servers': [f'127.0.0.1:{getattr(server, "port", server)}' for server in servers], **more}


def streams(*servers, stream=None, listener=None, pools=None, **more):
    """One listener, one stream to one pool of these servers."""
    stream = {'name': 'all', 'listeners': ['tcp'], **({} if stream and 'backends' in stream else {'pool': 'pool'}), **(stream or {})}
    return {'listeners': [{**LISTENER, **(listener or {})}], 'streams': [stream],
            'pools': pools or [pool('pool', *servers)], **more}


def lines(wire):
    """Says hello first, then answers each line with its own port."""
    wire.send(b'hello\n')
    while True:
        wire.send(wire.until(b'\n') + b' %d\n' % wire.server.port)


def until_end(wire):
    """Answers only after the end of what it gets, with its length."""
    wire.send(b'%d\n' % len(wire.rest()))


def resets(wire):
    """Whether the connection was reset, and not ended."""
    try:
        assert wire.rest() == b''
    except ConnectionResetError:
        return True
    return False


def is_reset(router, listener='tcp'):
    """The same for a new connection, which may be reset as soon as it is there."""
    try:
        with router.client(listener) as client:
            return resets(client)
    except ConnectionResetError:
        return True


@pytest.fixture
def closed_port():
    """A port that refuses connections."""
    with socket.socket() as held:
        held.bind(('127.0.0.1', 0))
        yield held.getsockname()[1]


# ---- bytes ----

def test_the_server_may_speak_first_and_both_directions_end_by_themselves(serve, route):
    router = route(streams(serve(lines)))
    with router.client('tcp') as client:
        assert client.until(b'\n') == b'hello'
        assert client.send('x\n').until(b'\n').startswith(b'x ')
    assert router.update(streams(serve(until_end))).status == 200
    with router.client('tcp') as client:  # the client ends its side and still gets the answer
        client.send(b'y' * 300000)
        client.shutdown()
        assert client.rest() == b'300000\n'

    def server_ends(wire):
        wire.send('bye\n').shutdown()
        wire.server.got = wire.rest()

    ends = serve(server_ends)
    assert router.update(streams(ends)).status == 200
    with router.client('tcp') as client:  # the server ends its side and still gets what the client sends
        assert client.rest() == b'bye\n'
        client.send(b'z' * 200000)
    until(lambda: getattr(ends, 'got', b'') == b'z' * 200000)


def test_a_gigabyte_passes_in_constant_memory_in_both_directions(serve, route):
    size, part = 1 << 30, bytes(1 << 20)

    def both(wire):
        def send():
            with contextlib.suppress(OSError):  # of the first client, which leaves early
                for _ in range(size >> 20):
                    wire.send(part)
                wire.shutdown()

        sender = threading.Thread(target=send)
        sender.start()
        wire.server.got = sum(iter(lambda: len(wire.sock.recv(1 << 20)), 0))
        sender.join()

    server = serve(both)
    router = route(streams(server), threads=1)
    with router.client('tcp') as warm:
        warm.sock.sendall(b'x')
        warm.exactly(1)
    before = router.rss()
    with router.client('tcp') as client:
        def send():
            for _ in range(size >> 20):
                client.send(part)
            client.shutdown()

        sender = threading.Thread(target=send)
        sender.start()
        assert sum(iter(lambda: len(client.sock.recv(1 << 20)), 0)) == size
        sender.join()
        until(lambda: getattr(server, 'got', 0) == size)
    assert router.rss() - before < 8 << 20


def test_every_byte_arrives_in_order_however_it_comes(serve, route):
    """Bursts that go through a pipe, and small pieces that are copied, in both directions at once."""
    def echo(wire):
        while data := wire.sock.recv(1 << 20):
            wire.sock.sendall(data)

    router = route(streams(serve(echo)), threads=1)
    chance = random.Random(4711)
    parts = [chance.randbytes(chance.choice((1, 100, 5000, 65536, 700000, 3000000))) for _ in range(100)]
    with router.client('tcp') as client:
        def send():
            for i, part in enumerate(parts):
                client.sock.sendall(part)
                if i % 10 == 0:
                    until(lambda: got[0] > 0)  # it does not wait for all
            client.shutdown()

        got, digest = [0], hashlib.sha256()
        sender = threading.Thread(target=send)
        sender.start()
        while data := client.sock.recv(chance.choice((1000, 100000, 1 << 20))):
            digest.update(data)
            got[0] += len(data)
        sender.join()
    assert (got[0], digest.digest()) == (sum(map(len, parts)), hashlib.sha256(b''.join(parts)).digest())


def test_a_side_that_does_not_read_stops_the_other(serve, route):
    sent = 0

    def flood(wire):
        nonlocal sent
        with contextlib.suppress(OSError):
            while True:
                sent += wire.sock.send(bytes(65536))

    server = serve(flood)
    router = route(streams(server), threads=1)
    before = router.rss()
    with router.client('tcp') as client:
        client.exactly(1)
        seen = -1
        while seen != sent:  # until nothing moves for half a second
            seen = sent
            with contextlib.suppress(AssertionError):
                until(lambda: sent != seen, 0.5)
        assert router.rss() - before < 4 << 20
        assert len(client.exactly(seen // 2)) == seen // 2  # and it goes on
        until(lambda: sent > seen)


# ---- which server ----

def shares(router, n, names, listener='tcp'):
    """How many of n connections each server got; None: reset."""
    got = {name: 0 for name in names}
    for _ in range(n):
        try:
            with router.client(listener) as client:
                assert client.until(b'\n') == b'hello'
                got[int(client.send('x\n').until(b'\n').split()[1])] += 1
        except ConnectionResetError:  # maybe as soon as it was connected
            got[None] += 1
    return got


def test_weights_share_the_connections_and_an_invalid_one_closes_its_part(serve, route):
    first, second = serve(lines), serve(lines)
    router = route(streams(stream={'backends': [{'pool': 'a', 'weight': 6}, {'pool': 'b', 'weight': 3}, {'invalid': True}]},
                           pools=[pool('a', first), pool('b', second)]))
    got = shares(router, 1000, [first.port, second.port, None])
    expected = {first.port: 600, second.port: 300, None: 100}
    # chi-square with two degrees of freedom: 1 of 10 million runs exceeds 32
    assert sum((got[name] - n) ** 2 / n for name, n in expected.items()) < 32, got
    metrics = router.metrics()
    assert metrics.one('maglev_router_stream_connections_total', stream='all') == 1000
    assert metrics.one('maglev_router_stream_aborts_total', stream='all') == got[None]
    assert metrics.one('maglev_router_pool_requests_total', pool='a') == got[first.port]


def test_a_client_stays_with_its_server_by_its_address(serve, route):
    servers = [serve(lines) for _ in range(5)]
    router = route(streams(pools=[pool('pool', *servers, balance='maglev')]))
    assert sorted(shares(router, 30, [server.port for server in servers]).values()) == [0, 0, 0, 0, 30]


def test_least_request_counts_open_connections(serve, route):
    servers = [serve(lines) for _ in range(3)]
    router = route(streams(pools=[pool('pool', *servers, balance='least_request')]), threads=1)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(router.client('tcp')) for _ in range(30)]
        for client in clients:
            assert client.until(b'\n') == b'hello'
        assert [len(server.open) for server in servers] == [10, 10, 10]


def test_a_dead_server_is_passed_over(serve, route, closed_port):
    alive = serve(lines)
    router = route(streams(closed_port, alive, access_log={}))
    assert shares(router, 20, [alive.port]) == {alive.port: 20}
    metrics = router.metrics()
    retries = metrics.one('maglev_router_stream_retries_total', stream='all')
    assert retries >= 8 and metrics.one('maglev_router_stream_aborts_total', stream='all') == 0
    router.wait('access', count=20)
    assert max(line['tries'] for line in router.all('access')) == 2


def test_without_any_server_connections_are_reset(route, closed_port):
    router = route(streams(closed_port, access_log={'percent': 0}))
    assert is_reset(router)
    line = router.wait('access')
    assert (line['why'], line['tries'], line['complete'], line['stream'], line['pool']) == \
        ('connect-failed', 4, False, 'all', 'pool')
    assert router.update(streams(pools=[{'name': 'pool', 'servers': []}])).status == 200
    assert is_reset(router)


def test_a_server_that_fails_is_left_out(serve, route, closed_port):
    alive = serve(lines)
    router = route(streams(pools=[pool('pool', closed_port, alive, ejection={'failures': 2, 'time': '1h'})]), threads=1)
    until(lambda: shares(router, 2, [alive.port]) and router.all('server-ejected'))
    before = router.metrics().one('maglev_router_stream_retries_total', stream='all')
    shares(router, 20, [alive.port])
    assert router.metrics().one('maglev_router_stream_retries_total', stream='all') == before


def test_a_server_that_breaks_resets_the_client(serve, route):
    def breaks(wire):
        wire.until(b'\n')
        wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))

    router = route(streams(serve(breaks), access_log={}))
    with router.client('tcp') as client:
        assert resets(client.send('x\n'))
    assert router.wait('access')['why'] == 'server-broken'


# ---- limits ----

def test_connections_wait_for_a_server_or_are_refused(serve, route):
    server = serve(lines)
    limits = {'connections': 1, 'waiting': 1, 'wait': '1h'}
    router = route(streams(pools=[pool('pool', server, limits=limits)]), threads=1)
    with router.client('tcp') as first, router.client('tcp') as second:
        assert first.until(b'\n') == b'hello'
        router.wait_metric('maglev_router_pool_waiting', 1, pool='pool')
        assert is_reset(router)
        first.close()
        assert second.until(b'\n') == b'hello'
    assert server.connections == 2


def test_what_waits_too_long_is_reset(serve, route):
    router = route(streams(pools=[pool('pool', serve(lines), limits={'connections': 1, 'wait': '100ms'})]), threads=1)
    with router.client('tcp') as first, router.client('tcp') as second:
        assert first.until(b'\n') == b'hello'
        assert resets(second)


def test_a_pool_has_as_many_connections_as_it_may(serve, route):
    router = route(streams(pools=[pool('pool', serve(lines), limits={'requests': 1})]), threads=1)
    with router.client('tcp') as first:
        assert first.until(b'\n') == b'hello'
        assert is_reset(router)
    until(lambda: not router.metrics().one('maglev_router_stream_connections_active', stream='all'))
    with router.client('tcp') as third:
        assert third.until(b'\n') == b'hello'


def test_too_many_clients_are_reset(serve, route):
    router = route(streams(serve(lines), clients={'connections': 10, 'connections_each': 1}))
    with router.client('tcp') as first:
        assert first.until(b'\n') == b'hello'
        assert is_reset(router)
    assert router.metrics().one('maglev_router_refused_total', reason='connections_each') == 1


def test_silence_ends_a_connection_and_bytes_do_not(serve, route):
    router = route(streams(serve(lines), stream={'idle_timeout': '2s'}, access_log={}))
    with router.client('tcp') as busy, router.client('tcp') as silent:
        assert busy.until(b'\n') == silent.until(b'\n') == b'hello'
        reset = threading.Thread(target=resets, args=(silent,))
        reset.start()
        while reset.is_alive():  # longer than the time, and never silent for half of it
            busy.send('x\n').until(b'\n')
            reset.join(0.5)
        busy.send('x\n').until(b'\n')
    assert router.wait('access')['why'] == 'idle'


# ---- who the client is ----

def test_proxy_headers_come_in_and_go_out(serve, route):
    router = route(streams(serve(lambda wire: wire.send(wire.exactly(28)).rest()), listener={'expect_proxy': True},
                           pools=None, access_log={}), threads=1)
    router.update(streams(listener={'expect_proxy': True}, access_log={},
                          pools=[pool('pool', serve(lambda wire: wire.send(wire.exactly(33)).rest()), send_proxy=True)]))
    with router.client('tcp') as client:
        client.send('PROXY TCP4 192.0.2.7 192.0.2.1 4711 443\r\nhello')
        got = client.exactly(33)
    assert got[:12] == b'\r\n\r\n\0\r\nQUIT\n' and got[28:] == b'hello'
    assert (socket.inet_ntoa(got[16:20]), struct.unpack('!H', got[24:26])[0]) == ('192.0.2.7', 4711)
    assert router.wait('access')['client'] == '192.0.2.7'


# ---- what is seen ----

def test_a_connection_is_seen_while_it_is_open_and_has_a_line_at_its_end(serve, route):
    server = serve(lines)
    router = route(streams(server, access_log={}), threads=1)
    with router.client('tcp') as client:
        client.until(b'\n')
        client.send('x\n').until(b'\n')
        answer = json.loads(router.get('/connections')[1])
        (one,), (link,) = answer['clients'], answer['servers']
        assert (one['state'], one['listener'], one['received']) == ('relay', 'tcp', 2)
        name = f'127.0.0.1:{server.port}'
        assert one['relay'] == {'generation': 1, 'tries': 1, 'stream': 'all', 'pool': 'pool', 'server': name}
        assert (link['state'], link['server'], link['pool']) == ('busy', name, 'pool')
        metrics = router.metrics()
        assert metrics.one('maglev_router_stream_connections_active', stream='all') == 1
        assert metrics.one('maglev_router_stream_received_bytes_total', stream='all') == 2
        assert metrics.one('maglev_router_server_links', pool='pool', server=name, state='used') == 1
    line = router.wait('access')
    sent = len(f'hello\nx {server.port}\n')
    assert {key: line[key] for key in ('client', 'listener', 'stream', 'pool', 'server', 'bytes_in', 'bytes_out', 'tries')} == {
        'client': '127.0.0.1', 'listener': 'tcp', 'stream': 'all', 'pool': 'pool', 'server': name, 'bytes_in': 2,
        'bytes_out': sent, 'tries': 1}
    assert 0 < line['connect_ms'] <= line['duration_ms']
    assert router.metrics().one('maglev_router_stream_sent_bytes_total', stream='all') == sent


# ---- changes ----

def test_open_connections_outlive_generations_which_they_do_not_hold(serve, route):
    old, new = serve(lines), serve(lines)
    router = route(streams(old, access_log={}), threads=2)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(router.client('tcp')) for _ in range(8)]
        for client in clients:
            assert client.until(b'\n') == b'hello'
        for i in range(20):  # the server, the pool, the stream and the listener all go
            document = streams(pools=[pool(f'pool{i}', new)], stream={'name': f'stream{i}', 'pool': f'pool{i}'}, access_log={})
            document['listeners'][0]['name'] = document['streams'][0]['listeners'][0] = f'tcp{i}'
            assert router.update(document).status == 200
            for client in clients:
                assert client.send('x\n').until(b'\n') == b'x %d' % old.port
        router.wait_metric('maglev_router_generations_held', 1)
        with router.client('tcp') as client:
            assert client.until(b'\n') == b'hello' and client.send('x\n').until(b'\n') == b'x %d' % new.port
    line = router.wait('access', stream='all')
    assert (line['listener'], line['pool'], line['server']) == ('tcp', 'pool', f'127.0.0.1:{old.port}')
    router.wait_metric('maglev_router_stream_connections_active', 0, stream='stream19')
    router.wait_metric('maglev_router_server_links', 0, pool='pool19', server=f'127.0.0.1:{new.port}', state='used')


def test_a_connection_ends_after_its_server_came_back_under_another_number(serve, route):
    """The counters of the server that has its number now are not touched."""
    first, second = serve(lines), serve(lines)
    router = route(streams(first), threads=1)
    with router.client('tcp') as client:
        assert client.until(b'\n') == b'hello'
        assert router.update(streams(second)).status == 200
        router.wait_metric('maglev_router_generations_held', 1)
        name = f'127.0.0.1:{second.port}'
        with router.client('tcp') as other:
            assert other.until(b'\n') == b'hello'
            client.close()
            until(lambda: not first.open)
            assert other.send('x\n').until(b'\n') == b'x %d' % second.port
            assert router.metrics().one('maglev_router_server_links', pool='pool', server=name, state='used') == 1
            assert router.metrics().one('maglev_router_stream_connections_active', stream='all') == 1
    router.wait_metric('maglev_router_stream_connections_active', 0, stream='all')


def test_a_drain_waits_for_open_connections_until_its_deadline(serve, route):
    router = route(streams(serve(lines)), '--drain-time', '3s')
    with router.client('tcp') as ends, router.client('tcp') as stays:
        assert ends.until(b'\n') == stays.until(b'\n') == b'hello'
        router.signal(signal.SIGTERM)
        router.wait('stopping')
        assert ends.send('x\n').until(b'\n').startswith(b'x ')
        ends.close()
        assert stays.send('x\n').until(b'\n').startswith(b'x ')
        assert resets(stays)
    assert router.end() == 0


def test_an_upgrade_leaves_open_connections_alone(serve, running, folders):
    server = serve(lines)
    router = running(Upgradable(folders(), streams(server))).start()
    with router.client('tcp') as client:
        assert client.until(b'\n') == b'hello'
        old = router.upgrade()
        for _ in range(3):
            assert client.send('x\n').until(b'\n') == b'x %d' % server.port
            with Wire(router.port_of('tcp')) as fresh:
                assert fresh.until(b'\n') == b'hello'
        assert json.loads(router.get('/connections')[1])['clients_total'] <= 3  # those of the new process
        assert client.send('x\n').until(b'\n') == b'x %d' % server.port
    router.gone(old)
