# SPDX-License-Identifier: Apache-2.0
"""maglev-router and its servers: their health, where requests go meanwhile, and servers that are names."""
import contextlib
import json
import os
import signal
import socket
import struct
import threading

import pytest

from lab import until
from lab.ports import free_port
from lab.process import Process
from lab.router import OK, Server, answering, document, echo

CLOSED = b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'

# A time-out cannot be longer than the interval, and a server that runs in this process may be late on a busy machine.
FAST = {'path': '/health', 'interval': '200ms', 'timeout': '200ms', 'rise': 2, 'fall': 2}

# The document of the design that the admin API follows.
SAMPLE = '''{
  "routes": [
    {"name": "api", "host": "api.example.com", "path_prefix": "/api/", "pool_idx": 0, "strip_prefix": true},
    {"name": "static", "path_prefix": "/static/", "pool_idx": 1, "strip_prefix": true}
  ],
  "default_route": {"name": "default", "path_prefix": "/", "pool_idx": 0, "strip_prefix": false},
  "pools": [
    {
      "name": "api-pool",
      "upstreams": [
        {"host": "10.0.1.5", "port": 8001, "idx": 0, "tls": false},
        {"host": "10.0.1.6", "port": 8001, "idx": 1, "tls": false}
      ],
      "lb_config": {"enable_probing": true, "probe_interval_ms": 5000, "health_path": "/healthz"}
    },
    {
      "name": "static-pool",
      "upstreams": [{"host": "10.0.2.5", "port": 9000, "idx": 2, "tls": false}],
      "lb_config": {"enable_probing": false}
    }
  ]
}'''


class Patient:
    """A handler whose probes and requests are answered as the test says at the moment."""

    def __init__(self):
        self.health, self.answer, self.probes = OK, OK, []

    def __call__(self, wire):
        while True:
            head, _ = wire.message()
            if head.start.split()[1].startswith('/health'):
                self.probes.append(head)
                answer = self.health
            else:
                wire.server.requests.append(head)
                answer = self.answer
            if answer is None:
                return
            wire.send(answer(wire) if callable(answer) else answer)


def status(code):
    return b'HTTP/1.1 %d Whatever\r\nContent-Length: 0\r\n\r\n' % code


def states(router, pool=0):
    """The states of the servers of a pool, in the order of the document."""
    return [upstream['state'] for upstream in router.ask('GET', '/pools').json['pools'][pool]['upstreams']]


def wait_health(router, *words):
    until(lambda: [state['health'] for state in states(router)] == list(words), what=f'health {words}')


@pytest.fixture
def patients(serve):
    """Servers with a handler each, as server.patient."""
    def start(n):
        servers = []
        for _ in range(n):
            patient = Patient()
            servers.append(serve(patient))
            servers[-1].patient = patient
        return servers
    return start


@pytest.fixture
def one_thread(route):
    """A router whose turns are those of one thread."""
    return lambda doc, *args: route(doc, *args, threads=1)


def spread(router, servers, n=20):
    """How many of n requests each server gets; all are answered with 200."""
    before = [len(server.requests) for server in servers]
    for _ in range(n):
        assert router.request().status == 200
    return [len(server.requests) - b for server, b in zip(servers, before)]


# ---- probes ----

def test_the_sample_of_the_design_is_accepted(serve, one_thread):
    router = one_thread(document(serve()))
    answer = router.ask('POST', '/routes/update', body=SAMPLE)
    assert (answer.status, answer.json) == (200, {'status': 'ok', 'routes_updated': 2, 'pools_updated': 2,
                                                  'generation': 2})
    pools = router.ask('GET', '/pools').json['pools']
    for shown, given in zip(pools, json.loads(SAMPLE)['pools']):
        upstreams = [{key: value for key, value in upstream.items() if key != 'state'}
                     for upstream in shown['upstreams']]
        assert (shown['name'], upstreams) == (given['name'], given['upstreams'])
        assert given['lb_config'].items() <= shown['lb_config'].items()


def test_a_server_whose_probes_fail_gets_no_requests_until_they_pass(patients, one_thread):
    servers = patients(2)
    router = one_thread(document(*servers, pool={'probe': FAST}))
    until(lambda: all(state.get('probes_passed', 0) >= FAST['rise'] + FAST['fall'] for state in states(router)))
    assert spread(router, servers) == [10, 10]
    mark = router.mark()
    servers[0].patient.health = status(503)
    line = router.wait('server-down', mark)
    assert (line['level'], line['pool'], line['server'], line['from'], line['code']) == \
        ('WARN', 'pool', f'127.0.0.1:{servers[0].port}', 'up', 'L7STS')
    assert '503' in line['reason']
    assert spread(router, servers) == [0, 20]
    down, up = states(router)
    assert (down['health'], down['code'], down['usable']) == ('down', 'L7STS', False)
    assert down['probes_failed'] >= 2 and down['since'] > up['since'] and up['usable']
    page, which = router.metrics(), {'pool': 'pool', 'server': f'127.0.0.1:{servers[0].port}'}
    assert page.one('maglev_router_server_usable', **which) == 0
    assert page.one('maglev_router_server_probes_total', result='success', **which) >= 4
    assert page.one('maglev_router_server_probes_total', result='failure', **which) >= 2
    servers[0].patient.health = OK
    assert router.wait('server-up', mark)['code'] == 'L7OK'
    assert spread(router, servers) == [10, 10]
    assert router.metrics().one('maglev_router_server_usable', **which) == 1


def test_probes_are_requests_with_a_name(patients, one_thread):
    server, = patients(1)
    one_thread(document(server, pool={'probe': {**FAST, 'path': '/health?deep=1&x=%20', 'host': 'www.example.com'}}))
    probe = until(lambda: server.patient.probes)[0]
    assert probe.start == 'GET /health?deep=1&x=%20 HTTP/1.1'
    assert probe.get('host') == 'www.example.com'
    assert probe.get('user-agent').startswith('maglev-router/') and 'health check' in probe.get('user-agent')


def test_a_server_counts_as_usable_until_its_first_probe_which_decides_alone(patients, one_thread):
    server, = patients(1)
    waits = threading.Event()

    def later(wire):
        waits.wait()
        return status(500)

    server.patient.health = later
    router = one_thread(document(server, pool={'probe': {**FAST, 'interval': '20s', 'timeout': '20s'}}))
    until(lambda: server.patient.probes)
    assert states(router)[0]['health'] == 'unknown' and 'code' not in states(router)[0]
    assert router.request().status == 200
    waits.set()
    router.wait('server-down', **{'from': 'unknown'})
    assert router.request().status == 503


def test_with_all_servers_down_requests_get_503(patients, one_thread):
    servers = patients(2)
    router = one_thread(document(*servers, pool={'probe': FAST}))
    for server in servers:
        server.patient.health = status(404)
    wait_health(router, 'down', 'down')
    assert router.request().status == 503
    servers[1].patient.health = OK
    wait_health(router, 'down', 'up')
    assert spread(router, servers, 4) == [0, 4]


def test_a_probe_without_a_path_only_connects(serve, one_thread):
    server = serve()
    router = one_thread(document(server, pool={'probe': {'interval': '50ms'}}))
    wait_health(router, 'up')
    assert states(router)[0]['code'] == 'L4OK' and not server.requests
    server.listener.shutdown(socket.SHUT_RDWR)
    until(lambda: states(router)[0]['health'] == 'down')
    assert states(router)[0]['code'] == 'L4CON'


def test_health_survives_a_swap_and_new_probes_keep_it(patients, one_thread):
    servers = patients(2)
    router = one_thread(document(*servers, pool={'probe': FAST}))
    servers[0].patient.health = status(503)
    wait_health(router, 'down', 'up')
    before = [state['since'] for state in states(router)]
    mark = router.mark()
    assert router.update(document(*servers, pool={'probe': FAST}, rule={'timeouts': {'request': '9s'}})).status == 200
    assert spread(router, servers, 6) == [0, 6]
    assert router.update(document(*servers, pool={'probe': {**FAST, 'path': '/health/new', 'fall': 3}})).status == 200
    assert spread(router, servers, 6) == [0, 6]
    until(lambda: servers[0].patient.probes[-1].start == 'GET /health/new HTTP/1.1')
    assert [state['since'] for state in states(router)] == before
    assert not router.all('server-up', mark) and not router.all('server-down', mark)
    # without probes there is no state
    assert router.update(document(*servers)).status == 200
    assert [state['health'] for state in states(router)] == ['unknown', 'unknown']
    assert spread(router, servers, 6) == [3, 3]


def test_a_server_that_leaves_is_no_longer_probed(patients, one_thread):
    servers = patients(2)
    router = one_thread(document(*servers, pool={'probe': FAST}))
    wait_health(router, 'up', 'up')
    assert router.update(document(servers[1], pool={'probe': FAST})).status == 200
    # a question that was under way may still arrive; then two intervals of the other server pass without one
    until(lambda: len(servers[1].patient.probes) > 3)
    seen, other = len(servers[0].patient.probes), len(servers[1].patient.probes)
    until(lambda: len(servers[1].patient.probes) > other + 4)
    assert len(servers[0].patient.probes) == seen


# ---- retries ----

@pytest.mark.parametrize('balance', ['round_robin', 'least_request', 'random'])
def test_a_further_try_goes_to_another_server(patients, one_thread, balance):
    servers = patients(3)
    for server in servers[:2]:
        server.patient.answer = status(503)
    router = one_thread(document(*servers, pool={'balance': balance},
                            rule={'retry': {'attempts': 2, 'codes': [503], 'backoff': '1ms'}}))
    for _ in range(20):
        assert router.request().status == 200
    assert len(servers[2].requests) == 20


def test_a_further_try_goes_to_the_same_server_if_there_is_no_other(patients, one_thread):
    server, = patients(1)
    answers = iter([status(503), status(503), OK])
    server.patient.answer = lambda wire: next(answers)
    router = one_thread(document(server, rule={'retry': {'attempts': 2, 'codes': [503], 'backoff': '1ms'}}))
    assert router.request().status == 200 and len(server.requests) == 3


# ---- ejection ----

EJECT = {'failures': 3, 'time': '1h', 'max_percent': 50}
BRIEFLY = {**EJECT, 'time': '100ms'}
ONCE = {'retry': {'attempts': 0}}


def hangs(wire):
    wire.exactly(1 << 20)


@pytest.mark.parametrize('answer, what', [(status(500), 500), (status(503), 503), (None, 502), (b'nonsense\r\n\r\n', 502),
                                          (hangs, 504)])
def test_a_server_that_fails_requests_is_left_out(patients, one_thread, answer, what):
    servers = patients(2)
    servers[0].patient.answer = answer
    rule = {**ONCE, 'timeouts': {'request': '1s'}} if answer is hangs else ONCE  # the other server may be late
    router = one_thread(document(*servers, pool={'ejection': EJECT}, rule=rule))
    assert [router.request().status for _ in range(6)].count(what) == 3
    line = router.wait('server-ejected')
    assert (line['pool'], line['server'], line['failures'], line['duration']) == \
        ('pool', f'127.0.0.1:{servers[0].port}', 3, '1h0m0s')
    bad, good = states(router)
    assert (bad['ejected'], bad['usable'], bad['ejections']) == (True, False, 1) and bad['ejected_until']
    assert (good['ejected'], good['usable'], good['ejections']) == (False, True, 0)
    assert router.metrics().one('maglev_router_server_ejections_total', pool='pool', server=line['server']) == 1
    assert spread(router, servers, 6) == [0, 6]


def test_a_server_that_was_left_out_returns_after_its_time(patients, one_thread):
    servers = patients(2)
    servers[0].patient.answer = status(500)
    router = one_thread(document(*servers, pool={'ejection': BRIEFLY}, rule=ONCE))
    assert [router.request().status for _ in range(6)].count(500) == 3
    router.wait('server-ejected', duration='100ms')
    servers[0].patient.answer = OK
    line = router.wait('server-returned')
    assert (line['pool'], line['server']) == ('pool', f'127.0.0.1:{servers[0].port}')
    assert spread(router, servers, 10) == [5, 5]
    state = states(router)[0]
    assert (state['ejected'], state['usable'], state['ejections']) == (False, True, 1)


def test_a_server_that_refuses_connections_is_left_out(patients, one_thread):
    servers = patients(2)
    servers[0].listener.shutdown(socket.SHUT_RDWR)
    servers[0].close()
    router = one_thread(document(*servers, pool={'ejection': EJECT}, rule=ONCE))
    assert [router.request().status for _ in range(6)].count(503) == 3
    router.wait('server-ejected')
    assert spread(router, servers, 10) == [0, 10]


def test_only_failures_in_a_row_count(patients, one_thread):
    servers = patients(2)
    turn = iter(range(1 << 30))
    servers[0].patient.answer = lambda wire: OK if next(turn) % 3 == 2 else status(503)
    servers[1].patient.answer = status(404)
    router = one_thread(document(*servers, pool={'ejection': EJECT}, rule=ONCE))
    for _ in range(60):
        router.request()
    assert [len(server.requests) for server in servers] == [30, 30]
    assert [state['ejections'] for state in states(router)] == [0, 0]


def test_no_more_than_the_share_is_left_out(patients, one_thread):
    servers = patients(4)
    for server in servers:
        server.patient.answer = status(503)
    router = one_thread(document(*servers, pool={'ejection': EJECT}, rule=ONCE))
    for _ in range(60):
        assert router.request().status == 503
    router.wait('server-ejected', count=2)
    assert sum(state['ejected'] for state in states(router)) == 2
    counts = sorted(len(server.requests) for server in servers)
    assert counts[0] < 10 and counts[3] > 20


def test_the_only_server_is_used_although_it_fails(patients, one_thread):
    server, = patients(1)
    server.patient.answer = status(503)
    router = one_thread(document(server, pool={'ejection': EJECT}, rule=ONCE))
    for _ in range(3):
        assert router.request().status == 503
    router.wait('server-ejected')
    server.patient.answer = OK
    assert router.request().status == 200


def test_the_time_doubles_while_a_server_keeps_failing(patients, one_thread):
    servers = patients(2)
    servers[0].patient.answer = status(503)
    router = one_thread(document(*servers, pool={'ejection': {**EJECT, 'failures': 1, 'time': '500ms'}}, rule=ONCE))

    def ejected():
        router.request()
        return len(router.all('server-ejected')) >= 3

    until(ejected)
    assert [line['duration'] for line in router.all('server-ejected')][:3] == ['500ms', '1s', '2s']


def test_an_ejection_survives_a_swap_until_the_pool_has_none(patients, one_thread):
    servers = patients(2)
    servers[0].patient.answer = status(503)
    pool = {'ejection': EJECT}
    router = one_thread(document(*servers, pool=pool, rule=ONCE))
    for _ in range(6):
        router.request()
    router.wait('server-ejected')
    servers[0].patient.answer = OK
    router.update(document(*servers, pool=pool))
    assert spread(router, servers, 6) == [0, 6]
    router.update(document(*servers))
    assert spread(router, servers, 6) == [3, 3]


def test_a_client_that_leaves_is_no_failure_of_the_server(patients, one_thread):
    servers = patients(1)
    router = one_thread(document(*servers, pool={'ejection': {**EJECT, 'failures': 1}}))
    servers[0].patient.answer = hangs
    for i in range(3):
        with router.client() as client:
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))  # a reset at the end
            client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
            until(lambda i=i: len(servers[0].requests) > i)
    router.wait_metric('maglev_router_aborts_total', 3)
    assert states(router)[0]['ejections'] == 0


# ---- slow start ----

def share(router, servers, n=200):
    """The share of n requests that the first server gets."""
    return spread(router, servers, n)[0] / n


def test_a_server_that_came_up_gets_few_requests_at_first(patients, one_thread):
    servers = patients(2)
    router = one_thread(document(*servers, pool={'probe': FAST, 'slow_start': '1h'}))
    wait_health(router, 'up', 'up')
    assert share(router, servers) == 0.5  # nothing was down before
    servers[0].patient.health = status(503)
    wait_health(router, 'down', 'up')
    servers[0].patient.health = OK
    wait_health(router, 'up', 'up')
    assert share(router, servers) < 0.05 and states(router)[0]['slow_start']
    # alone it serves all the same
    servers[1].patient.health = status(503)
    wait_health(router, 'up', 'down')
    assert share(router, servers, 10) == 1
    # without a slow start it has its whole share at once
    servers[1].patient.health = OK
    wait_health(router, 'up', 'up')
    router.update(document(*servers, pool={'probe': FAST}))
    assert share(router, servers) == 0.5 and 'slow_start' not in states(router)[0]


def test_the_share_grows_to_the_whole(patients, one_thread):
    servers = patients(2)
    router = one_thread(document(servers[1], pool={'slow_start': '1h'}))
    router.update(document(*servers, pool={'slow_start': '1h'}))
    assert states(router)[0]['slow_start'] and 'slow_start' not in states(router)[1]
    assert share(router, servers) < 0.05
    router.update(document(*servers, pool={'slow_start': '2s'}))
    until(lambda: 'slow_start' not in states(router)[0])
    assert share(router, servers, 20) == 0.5


def test_the_first_servers_of_a_pool_begin_at_once(patients, one_thread):
    servers = patients(2)
    router = one_thread(document(*servers, pool={'slow_start': '1h'}))
    assert share(router, servers, 20) == 0.5


def test_a_server_that_was_left_out_begins_slowly(patients, one_thread):
    servers = patients(2)
    servers[0].patient.answer = status(503)
    router = one_thread(document(*servers, pool={'ejection': BRIEFLY, 'slow_start': '1h'}, rule=ONCE))
    for _ in range(6):
        router.request()
    servers[0].patient.answer = OK
    router.wait('server-returned')
    assert share(router, servers) < 0.05


@pytest.mark.parametrize('more', [{}, {'ejection': {**EJECT, 'failures': 1}}])
def test_a_further_try_goes_to_a_server_in_its_slow_start(patients, one_thread, more):
    servers = patients(2)
    servers[1].patient.answer = status(503)
    pool = {'slow_start': '1h', **more}
    router = one_thread(document(servers[1], pool=pool, rule=ONCE))
    router.update(document(*servers, pool=pool, rule={'retry': {'attempts': 1, 'codes': [503], 'backoff': '1ms'}}))
    assert spread(router, servers, 10)[0] == 10


# ---- drain ----

@pytest.mark.parametrize('how', [{'drain': True}, {'weight': 0}, None])
def test_a_drained_server_finishes_its_requests_and_gets_no_more(patients, one_thread, how):
    servers = patients(2)
    waits = threading.Event()

    def later(wire):
        waits.wait()
        return OK

    def upstreams(more):
        return {'upstreams': [{'host': '127.0.0.1', 'port': servers[1].port}] +
                ([{'host': '127.0.0.1', 'port': servers[0].port, **more}] if more is not None else [])}

    def doc(more):
        one = document(pool=upstreams(more))
        del one['pools'][0]['servers']
        return one

    router = one_thread(doc({}))
    assert spread(router, servers, 4) == [2, 2]
    until(lambda: len(servers[0].open) == 1)  # kept
    servers[0].patient.answer = servers[1].patient.answer = later
    clients = [router.client() for _ in range(2)]
    for client in clients:
        client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    until(lambda: [len(server.requests) for server in servers] == [3, 3])
    assert router.update(doc(how)).status == 200
    servers[1].patient.answer = OK
    assert spread(router, servers, 6) == [0, 6]
    waits.set()
    assert [client.message()[1] for client in clients] == [b'ok', b'ok']
    until(lambda: not servers[0].open)  # no connection to it is kept
    assert servers[1].open


# ---- all together ----

def test_servers_that_die_and_return_fail_no_request(patients, route):
    servers = patients(3)
    probe = {'path': '/health', 'interval': '200ms', 'timeout': '200ms', 'rise': 1, 'fall': 2}
    pool = {'probe': probe, 'ejection': {'failures': 3, 'time': '100ms'}, 'slow_start': '200ms', 'limits': {'retries': 100}}
    rule = {'retry': {'attempts': 3, 'codes': [502, 503], 'backoff': '1ms'}}
    router = route(document(*servers, pool=pool, rule=rule))
    stop, failures, done = threading.Event(), [], []

    def load():
        with router.client() as client:
            n = 0
            while not stop.is_set():
                head, _ = client.get(f'/{n}')
                n += 1
                if head.status != 200:
                    failures.append(head.status)
        done.append(n)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(9):
        victim = servers[i % 3].patient
        # closes each connection after the request, and fails its probes
        victim.answer = victim.health = (None, status(503))[i % 2]
        until(lambda i=i: states(router)[i % 3]['health'] == 'down')
        assert router.update(document(*servers, pool=pool, rule=rule)).status == 200
        victim.answer = victim.health = OK
        until(lambda i=i: states(router)[i % 3]['health'] == 'up')
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures and sum(done) > 200


# ---- names ----

class Dns(Process):
    """dnsmasq with the addresses of each name; every answer holds for a second."""

    def __init__(self, folder):
        self.hosts = os.path.join(folder, 'names')
        self.port = free_port()
        self.at = f'127.0.0.1:{self.port}'
        super().__init__(folder, 'dnsmasq', [
            'dnsmasq', '--keep-in-foreground', '--conf-file=/dev/null', f'--port={self.port}', '--listen-address=127.0.0.1',
            '--bind-interfaces', '--no-resolv', '--no-hosts', f'--addn-hosts={self.hosts}', '--local-ttl=1', '--neg-ttl=1',
            '--local=/example/', '--auth-ttl=1', '--cname=alias.example,www.example', '--user=root', '--pid-file',
            '--log-facility=/dev/null'])

    def set(self, **names):
        """www=['192.0.2.1'] gives www.example that address."""
        with open(self.hosts, 'w', encoding='utf-8') as file:
            for name, addresses in names.items():
                for address in addresses:
                    file.write(f'{address} {name}.example\n')
        if self.is_running():
            self.signal(signal.SIGHUP)
        return self

    def start(self, stdout=None):
        """Returns when it answers: a router that asks before that notes another failure, and SIGHUP would end it."""
        super().start(stdout)
        question = struct.pack('>6H', 1, 0x100, 1, 0, 0, 0) + b'\x04none\x07example\0' + struct.pack('>2H', 1, 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(.2)

            def answers():
                with contextlib.suppress(OSError):
                    sock.sendto(question, ('127.0.0.1', self.port))
                    return sock.recv(512)
                return None

            until(answers, what='an answer of dnsmasq')
        return self


@pytest.fixture
def dns(running, folders):
    return lambda **names: running(Dns(folders()).set(**names)).start()


def named(server, host='www.example', **pool):
    return document(pool={'servers': [f'{host}:{server.port}'], **pool})


def test_a_server_may_be_a_name(dns, serve, one_thread):
    server, names = serve(), dns(www=['127.0.0.1'])
    router = one_thread(named(server), '--resolver', names.at)
    assert router.wait('name-found', name='www.example')['addresses'] == '127.0.0.1'
    assert router.request().status == 200
    assert states(router)[0]['addresses'] == ['127.0.0.1'] and states(router)[0]['usable']
    assert router.update(named(server, 'alias.example')).status == 200
    router.wait('name-found', name='alias.example')
    assert router.request().status == 200
    # a request of HTTP/1.0 without a host gets the name
    router.client().send('GET / HTTP/1.0\r\n\r\n').rest()
    assert server.requests[-1].get('host') == f'alias.example:{server.port}'


def test_a_change_of_the_name_moves_new_requests(dns, route):
    one = Server(echo, address='127.0.0.1')
    two = Server(echo, address='127.0.0.2', port=one.port)
    names = dns(www=['127.0.0.1'])
    with one, two:
        router = route(named(one), '--resolver', names.at)
        router.wait('name-found')
        with router.client() as client:
            assert client.get()[0].status == 200
            mark = router.mark()
            names.set(www=['127.0.0.2'])
            router.wait('name-found', mark, addresses='127.0.0.2')
            seen = len(one.requests)
            assert [client.get()[0].status for _ in range(4)] == [200] * 4
        assert len(one.requests) == seen and len(two.requests) == 4


def test_all_addresses_of_a_name_are_used_in_turn(dns, one_thread):
    one = Server(answering(CLOSED), address='127.0.0.1')
    two = Server(answering(CLOSED), address='127.0.0.2', port=one.port)
    with one, two:
        router = one_thread(named(one), '--resolver', dns(www=['127.0.0.2', '127.0.0.1', '::1']).at)
        assert router.wait('name-found')['addresses'].startswith('127.0.0.1 127.0.0.2')
        # nobody listens at ::1: such a request goes to the next address
        for _ in range(12):
            assert router.request().status == 200
        assert len(one.requests) >= 4 and len(two.requests) >= 4 and len(one.requests) + len(two.requests) == 12


def test_probes_ask_all_addresses_and_name_the_server(dns, patients, one_thread):
    server, = patients(1)
    second = Server(server.patient, address='127.0.0.2', port=server.port)
    with second:
        router = one_thread(named(server, probe=FAST), '--resolver', dns(www=['127.0.0.1', '127.0.0.2']).at)
        wait_health(router, 'up')
        until(lambda: second.connections >= 2 and server.connections >= 2)
    assert server.patient.probes[0].get('host') == f'www.example:{server.port}'


def test_an_answer_that_is_too_long_for_udp_is_asked_for_again(dns, serve, one_thread):
    server = serve()
    names = dns(www=[f'127.0.0.{i}' for i in range(1, 61)])
    router = one_thread(named(server), '--resolver', names.at)
    assert len(router.wait('name-found')['addresses'].split()) == 60
    assert len(states(router)[0]['addresses']) == 60


def test_without_an_address_requests_get_503_until_the_name_appears(dns, serve, one_thread):
    server, names = serve(), dns()
    router = one_thread(named(server), '--resolver', names.at)
    line = router.wait('name-failed')
    assert (line['name'], line['error']) == ('www.example', 'the name does not exist')
    assert router.request().status == 503
    assert (states(router)[0]['usable'], states(router)[0]['lookup_error']) == (False, 'the name does not exist')
    names.set(www=['127.0.0.1'])
    router.wait('name-found')
    assert router.request().status == 200 and 'lookup_error' not in states(router)[0]
    page = router.metrics()
    assert page.one('maglev_router_lookups_total', result='failure') >= 1
    assert page.one('maglev_router_lookups_total', result='success') >= 1


def test_the_last_address_stays_while_lookups_fail(dns, serve, one_thread):
    server, names = serve(), dns(www=['127.0.0.1'])
    router = one_thread(named(server), '--resolver', names.at)
    router.wait('name-found')
    mark = router.mark()
    names.set()
    router.wait('name-failed', mark)
    assert router.request().status == 200
    names.stop()
    assert router.update(named(server, slow_start='1s')).status == 200
    assert router.request().status == 200
    assert states(router)[0]['addresses'] == ['127.0.0.1']


def test_many_names_are_looked_up_a_few_at_a_time(dns, serve, one_thread):
    server, some = serve(), [f'n{i}' for i in range(200)]
    router = one_thread(document(pool={'servers': [f'{name}.example:{server.port}' for name in some]}), '--resolver',
                        dns(**{name: ['127.0.0.1'] for name in some}).at)
    until(lambda: all(state['usable'] for state in states(router)))
    assert spread(router, [server], 20) == [20]


def test_a_name_in_hosts_needs_no_server(serve, one_thread):
    server = serve()
    router = one_thread(named(server, 'localhost'), '--resolver', '127.0.0.1:1')
    router.wait('name-found', name='localhost')
    assert router.request().status == 200


def test_a_name_that_is_no_longer_used_is_no_longer_looked_up(dns, serve, one_thread):
    server, names = serve(), dns(www=['127.0.0.1'])
    router = one_thread(named(server), '--resolver', names.at)
    router.wait('name-found')
    assert router.update(document(server)).status == 200
    names.stop()
    mark = router.mark()
    router.update(named(server, 'other.example'))
    router.wait('name-failed', mark, name='other.example')
    assert not router.all('name-failed', mark, name='www.example')
