# SPDX-License-Identifier: Apache-2.0
"""What maglev-router grants a request and a pool: time, connections, places in the queue, further tries."""
import contextlib
import select
import socket
import threading
import time

import pytest

from lab import PATIENCE, until
from lab.router import OK, document


# ---- time ----

class Reluctant(contextlib.ExitStack):
    """A server with a full queue: after begin(), a connection is accepted when the kernel repeats its SYN. It never answers."""

    def __init__(self):
        super().__init__()
        self.listener = self.enter_context(socket.create_server(('127.0.0.1', 0), backlog=0))
        self.port = self.listener.getsockname()[1]
        for _ in range(2):
            sock = self.enter_context(socket.socket())
            sock.setblocking(False)
            sock.connect_ex(('127.0.0.1', self.port))
        select.select([], [sock], [], .1)
        self.callback(self.listener.shutdown, socket.SHUT_RDWR)

    def begin(self):
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                self.enter_context(self.listener.accept()[0])


def test_connecting_is_a_part_of_the_time_of_a_try(route):
    with Reluctant() as server:
        rule = {'timeouts': {'backend': '2s'}, 'retry': {'attempts': 0}}
        router = route(document(server, rule=rule, access_log={}))
        with router.client() as client:
            begin = time.monotonic()
            client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
            assert not select.select([client.sock], [], [], .3)[0]  # the first attempt of the kernel has failed
            server.begin()
            assert client.message()[0].status == 504
            assert 2 <= time.monotonic() - begin
        assert router.wait('access')['duration_ms'] < 2950


def test_the_time_of_a_connection_attempt_is_a_limit_of_its_own(route):
    with Reluctant() as server:
        rule = {'timeouts': {'backend': '1h'}, 'retry': {'attempts': 0}}
        router = route(document(server, rule=rule, pool={'connect_timeout': '300ms'}))
        begin = time.monotonic()
        assert router.request().status == 503
        assert time.monotonic() - begin < PATIENCE


# ---- connections ----

class Held:
    """A handler of requests that are answered when the test says so."""

    def __init__(self):
        self.lock, self.waiting, self.now, self.most = threading.Lock(), [], 0, 0

    def __call__(self, wire):
        while True:
            wire.message()
            go = threading.Event()
            with self.lock:
                self.waiting.append(go)
                self.now += 1
                self.most = max(self.most, self.now)
            go.wait(PATIENCE)
            with self.lock:
                self.now -= 1
            wire.send(OK)

    def expect(self, n):
        until(lambda: len(self.waiting) == n, what=f'{n} requests at the server, not {len(self.waiting)}')

    def answer(self):
        """The oldest one."""
        until(lambda: self.waiting, what='a request at the server')
        self.waiting.pop(0).set()


def ask(client):
    return client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')


@pytest.fixture
def clients():
    with contextlib.ExitStack() as stack:
        yield lambda router, n=1: [stack.enter_context(router.client()) for _ in range(n)]


def limited(serve, route, limits, servers=1, threads=2, **how):
    """A router whose servers hold requests back."""
    holders = [Held() for _ in range(servers)]
    router = route(document(*[serve(held) for held in holders], pool={'limits': limits}, **how), threads=threads)
    router.held = holders[0]
    router.all_held = holders
    return router


def overflows(router, limit):
    return router.metrics().one('maglev_router_overflows_total', limit=limit)


def test_a_server_has_no_more_connections_than_allowed(serve, route, clients):
    router = limited(serve, route, {'connections': 2}, threads=4)
    for client in (everybody := clients(router, 20)):
        ask(client)
    router.held.expect(2)
    assert router.metrics().one('maglev_router_server_connections') == 2
    for _ in everybody:
        router.held.answer()
    assert [client.message()[0].status for client in everybody] == [200] * 20
    assert router.held.most == 2


def test_requests_wait_in_the_order_in_which_they_came(serve, route, clients):
    router = limited(serve, route, {'connections': 1}, threads=1)
    everybody = clients(router, 5)
    for n, client in enumerate(everybody):
        ask(client)
        router.wait_metric('maglev_router_requests_total', n + 1)
    for client in everybody:
        router.held.answer()
        assert client.message()[0].status == 200
    assert router.held.most == 1


def test_a_full_queue_is_a_503_at_once(serve, route, clients):
    router = limited(serve, route, {'connections': 1, 'waiting': 2, 'wait': '1h'})
    first, *others = clients(router, 3)
    ask(first)
    router.held.expect(1)
    for n, client in enumerate(others):
        ask(client)
        router.wait_metric('maglev_router_pool_waiting', n + 1, pool='pool')
    assert ask(*clients(router)).message()[0].status == 503
    assert overflows(router, 'connections') == 1
    assert router.metrics().one('maglev_router_pool_overflows_total', pool='pool') == 1
    assert router.metrics().one('maglev_router_pool_waiting', pool='pool') == 2
    for client in [first, *others]:
        router.held.answer()
    assert [client.message()[0].status for client in [first, *others]] == [200] * 3
    assert router.metrics().one('maglev_router_pool_waiting', pool='pool') == 0
    assert router.metrics().one('maglev_router_pool_waited_total', pool='pool') == 2


def test_a_request_waits_for_a_limited_time(serve, route, clients):
    router = limited(serve, route, {'connections': 1, 'wait': '300ms'})
    first, second = clients(router, 2)
    ask(first)
    router.held.expect(1)
    begin = time.monotonic()
    assert ask(second).message()[0].status == 503
    assert .3 <= time.monotonic() - begin < PATIENCE
    router.held.answer()
    assert first.message()[0].status == 200
    ask(second)
    router.held.answer()
    assert second.message()[0].status == 200


def test_the_time_of_a_request_includes_waiting(serve, route, clients):
    router = limited(serve, route, {'connections': 1, 'wait': '1h'}, rule={'timeouts': {'request': '300ms'}})
    first, second = clients(router, 2)
    ask(first)
    router.held.expect(1)
    assert ask(second).message()[0].status == 504
    assert first.message()[0].status == 504


def test_a_client_that_goes_away_leaves_the_queue(serve, route, clients):
    router = limited(serve, route, {'connections': 1, 'waiting': 1, 'wait': '1h'})
    first, second, third = clients(router, 3)
    ask(first)
    router.held.expect(1)
    ask(second)
    router.wait_metric('maglev_router_pool_waiting', 1, pool='pool')
    assert ask(third).message()[0].status == 503
    second.close()
    router.wait_metric('maglev_router_pool_waiting', 0, pool='pool')
    assert router.metrics().one('maglev_router_aborts_total') == 1
    ask(third)
    router.held.answer()
    assert first.message()[0].status == 200
    router.held.answer()
    assert third.message()[0].status == 200


def test_connections_that_a_thread_keeps_are_for_all(serve, route, clients):
    """With one connection for four threads, each request of another thread needs the one that the last thread has kept."""
    router = limited(serve, route, {'connections': 1, 'wait': '1h'}, threads=4)
    everybody = clients(router, 24)
    for client in everybody * 2:
        ask(client)
        router.held.answer()
        assert client.message()[0].status == 200
    assert router.held.most == 1
    assert overflows(router, 'connections') == 0


def test_all_threads_get_their_turn(serve, route, clients):
    """Clients of all threads ask without a pause: none of them is passed over."""
    router = limited(serve, route, {'connections': 2, 'wait': '1h'}, threads=4)
    everybody, stop, answers = clients(router, 24), threading.Event(), []

    def load(client):
        count = 0
        while not stop.is_set():
            assert ask(client).message()[0].status == 200
            count += 1
        answers.append(count)

    def answer():
        while len(answers) < len(everybody):
            if router.held.waiting:
                router.held.answer()
            else:
                time.sleep(.001)  # the others need the interpreter

    threads = [threading.Thread(target=load, args=(client,)) for client in everybody]
    threads.append(threading.Thread(target=answer))
    for thread in threads:
        thread.start()
    until(lambda: router.metrics().one('maglev_router_answers_total', **{'class': '2xx'}) > 1500)
    stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(answers) == 24 and min(answers) > 5, answers
    assert router.held.most <= 2


def test_a_session_waits_for_its_own_server(serve, route, clients):
    router = limited(serve, route, {'connections': 1, 'wait': '1h'}, servers=2, rule={'persistence': {}})
    first, second, third = clients(router, 3)
    ask(first)
    until(lambda: any(held.waiting for held in router.all_held))
    mine = next(held for held in router.all_held if held.waiting)
    other = next(held for held in router.all_held if held is not mine)
    mine.answer()
    cookie = first.message()[0].get('set-cookie').split(';')[0]
    with_cookie = f'GET / HTTP/1.1\r\nHost: a\r\nCookie: {cookie}\r\n\r\n'
    first.send(with_cookie)
    mine.expect(1)
    second.send(with_cookie)
    router.wait_metric('maglev_router_requests_total', 3)
    ask(third)  # is not held up by the one that waits for its own server
    other.answer()
    assert third.message()[0].status == 200
    mine.answer()
    assert first.message()[0].status == 200
    mine.answer()
    assert second.message()[0].status == 200


def test_a_hash_goes_to_another_server_if_its_own_is_full(serve, route, clients):
    holders = [Held(), Held()]
    router = route(document(*[serve(held) for held in holders],
                            pool={'balance': 'maglev', 'hash_key': 'source', 'limits': {'connections': 1, 'wait': '1h'}}))
    first, second, third = clients(router, 3)
    ask(first)
    ask(second)
    until(lambda: all(held.waiting for held in holders), what='a request at each server')
    ask(third)  # waits for the first of the two that is free
    holders[0].answer()
    holders[0].answer()
    holders[1].answer()
    assert [client.message()[0].status for client in (first, second, third)] == [200] * 3


def test_a_kept_connection_of_another_client_gives_way(serve, route, clients):
    """With PROXY headers a connection serves one client only."""
    def serve_proxied(wire):
        header = wire.exactly(16)
        wire.exactly(int.from_bytes(header[14:], 'big'))
        while True:
            wire.message()
            wire.send(OK)

    server = serve(serve_proxied)
    router = route(document(server, pool={'send_proxy': True, 'limits': {'connections': 1, 'wait': '1h'}}), threads=1)
    everybody = clients(router, 4)
    for client in everybody * 2:
        assert ask(client).message()[0].status == 200
    assert server.connections == 8


def test_a_swap_loses_no_count_and_no_place(serve, route, clients):
    router = limited(serve, route, {'connections': 1, 'wait': '1h'})
    document_now = router.ask('GET', '/config').json
    first, second = clients(router, 2)
    ask(first)
    router.held.expect(1)
    ask(second)
    router.wait_metric('maglev_router_requests_total', 2)
    assert router.update(document_now).status == 200
    third, = clients(router)
    ask(third)
    for _ in range(3):
        router.held.answer()  # requests that began within 10 ms of each other come in any order
    assert [client.message()[0].status for client in (first, second, third)] == [200] * 3
    assert router.held.most == 1
    router.wait_metric('maglev_router_generations_held', 1)


def test_a_server_that_refuses_connections_does_not_use_them_up(serve, route):
    router = limited(serve, route, {'connections': 1, 'wait': '300ms'}, rule={'retry': {'attempts': 0}})
    document_now = router.ask('GET', '/config').json
    with socket.socket() as closed:
        closed.bind(('127.0.0.1', 0))  # nobody listens
        document_now['pools'][0]['upstreams'] = [{'host': '127.0.0.1', 'port': closed.getsockname()[1]}]
        assert router.update(document_now).status == 200
        assert [router.request().status for _ in range(5)] == [503] * 5
    assert overflows(router, 'connections') == 0


# ---- requests, further tries ----

def test_a_pool_has_no_more_requests_than_allowed(serve, route, clients):
    router = limited(serve, route, {'requests': 2})
    first, second, third = clients(router, 3)
    ask(first)
    ask(second)
    router.held.expect(2)
    assert ask(third).message()[0].status == 503
    assert overflows(router, 'requests') == 1
    router.held.answer()
    router.held.answer()
    assert first.message()[0].status == second.message()[0].status == 200
    router.wait_metric('maglev_router_route_requests_active', 0, route='all')  # they end after their clients have the answers
    ask(third)
    router.held.answer()
    assert third.message()[0].status == 200


@pytest.mark.parametrize('percent,allowed', [(20, 12), (0, 10), (50, 30)])
def test_further_tries_have_a_budget(serve, route, clients, percent, allowed):
    """Sixty requests fail at once; only some of them may be sent again."""
    together, seen, judged = threading.Barrier(60), [], threading.Event()

    def fail(wire):
        while True:
            wire.message()
            seen.append(1)
            if len(seen) <= 60:
                together.wait(PATIENCE)
                wire.send(b'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n')
            else:
                judged.wait(PATIENCE)  # one that ends makes room for another
                wire.send(OK)

    rule = {'retry': {'attempts': 5, 'codes': [503], 'backoff': '2s'}}
    router = route(document(serve(fail), rule=rule, pool={'limits': {'retries': percent}}), threads=1)
    everybody = clients(router, 60)
    for client in everybody:
        ask(client)
    router.wait_metric('maglev_router_overflows_total', 60 - allowed, limit='retries')
    judged.set()
    statuses = [client.message()[0].status for client in everybody]
    assert (statuses.count(200), statuses.count(503)) == (allowed, 60 - allowed)
    assert len(seen) == 60 + allowed
    assert overflows(router, 'retries') == 60 - allowed


def test_requests_that_reached_no_server_are_outside_the_budget(serve, route, clients):
    """Half of the servers are gone: all requests are answered by the others, however many they are at once."""
    server = serve()
    with socket.socket() as closed:
        closed.bind(('127.0.0.1', 0))  # nobody listens
        gone = f'127.0.0.1:{closed.getsockname()[1]}'
        router = route({'routes': [{'name': 'all', 'pool': 'pool', 'retry': {'backoff': '500ms'}}],
                        'pools': [{'name': 'pool', 'servers': [gone, f'127.0.0.1:{server.port}'], 'limits': {'retries': 0}}]})
        everybody = clients(router, 30)
        for client in everybody:
            ask(client)
        assert [client.message()[0].status for client in everybody] == [200] * 30
