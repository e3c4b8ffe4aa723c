# SPDX-License-Identifier: Apache-2.0
"""maglev-router: what SIGTERM does to clients: those that ask, those that wait, those that take long."""
import signal
import threading
import time

from lab import PATIENCE, until
from lab.router import OK, Wire, document

TUNNEL = b'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: story\r\n\r\n'


def refuses(port):
    try:
        Wire(port).close()
    except ConnectionRefusedError:
        return True
    return False


def stop(router):
    router.signal(signal.SIGTERM)
    router.wait('stopping')


def test_a_waiting_client_gets_a_last_answer(serve, route):
    router = route(document(serve()), threads=1)
    with router.client() as kept, router.client() as fresh:
        assert kept.get()[0].get('connection') is None
        port = router.port_of('default')
        stop(router)
        until(lambda: refuses(port))
        for client in (kept, fresh):  # fresh: its first request comes after the signal
            head, _ = client.get()
            assert (head.status, head.get('connection')) == (200, 'close')
            assert client.rest() == b''
    assert router.end() == 0


def test_silent_clients_do_not_hold_up_the_end(serve, route):
    router = route(document(serve()))
    with router.client() as kept, router.client() as fresh:
        kept.get()
        began = time.monotonic()
        stop(router)
        assert kept.rest() == fresh.rest() == b''
        assert router.end() == 0
        assert time.monotonic() - began < 15  # and not --drain-time


def test_what_takes_too_long_ends_at_the_deadline(serve, route):
    arrived, over = threading.Semaphore(0), threading.Event()

    def slow(wire):
        head, _ = wire.message()
        if head.start.startswith('GET /tunnel'):
            wire.send(TUNNEL)
        arrived.release()
        over.wait(PATIENCE)

    router = route(document(serve(slow)), '--drain-time', '2s')
    with router.client() as asking, router.client() as tunnel:
        asking.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
        tunnel.send('GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: story\r\n\r\n')
        assert tunnel.head().status == 101
        assert arrived.acquire(timeout=PATIENCE) and arrived.acquire(timeout=PATIENCE)
        began = time.monotonic()
        stop(router)
        assert asking.rest() == tunnel.rest() == b''
        assert 1.9 < time.monotonic() - began < 15
    assert router.end() == 0
    over.set()


def test_a_tunnel_that_ends_in_time_is_not_cut(serve, route):
    def talk(wire):
        wire.message()
        wire.send(TUNNEL)
        while True:
            wire.send(wire.until(b'\n') + b'!\n')

    router = route(document(serve(talk)))
    with router.client() as tunnel:
        tunnel.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: story\r\n\r\n')
        assert tunnel.head().status == 101
        stop(router)
        until(lambda: refuses(router.port_of('default')))
        tunnel.send(b'bye\n')
        assert tunnel.until(b'\n') == b'bye!'
    assert router.end() == 0


def test_with_a_delay_balancers_see_it_first(serve, route):
    go = threading.Event()

    def patient(wire):
        head, _ = wire.message()
        if head.start.startswith('GET /slow'):
            go.wait(PATIENCE)
        wire.send(OK)

    router = route(document(serve(patient)), '--drain-delay', '3s')
    with router.client() as slow:
        slow.send('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
        assert router.get('/readyz')[0] == 200
        port = router.port_of('default')
        stop(router)
        assert router.get('/readyz') == (503, 'stopping\n')
        assert router.get('/healthz')[0] == 200

        def is_told():  # a new client is accepted, and told to go elsewhere
            with Wire(port) as late:
                head, _ = late.get()
                assert head.status == 200
                return head.get('connection') == 'close'

        until(is_told)
        until(lambda: refuses(port))
        assert router.get('/readyz')[0] == 503
        go.set()
        head, body = slow.message()
        assert (head.get('connection'), body) == ('close', b'ok')
    assert router.end() == 0


def test_a_second_signal_ends_it_at_once(serve, route):
    over, arrived = threading.Event(), threading.Event()

    def slow(wire):
        wire.message()
        arrived.set()
        over.wait(PATIENCE)

    router = route(document(serve(slow)))
    with router.client() as asking:
        asking.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
        assert arrived.wait(PATIENCE)
        stop(router)
        router.signal(signal.SIGTERM)
        assert router.end() == 1
        assert asking.rest() == b''
    over.set()
