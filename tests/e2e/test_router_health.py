# SPDX-License-Identifier: Apache-2.0
"""maglev-router and the health of its servers: probes, and where requests go meanwhile."""
import json
import socket
import threading

import pytest

from lab import until
from lab.router import OK, document

FAST = {'path': '/health', 'interval': '50ms', 'timeout': '50ms', 'rise': 2, 'fall': 2}

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
    servers[0].patient.health = OK
    assert router.wait('server-up', mark)['code'] == 'L7OK'
    assert spread(router, servers) == [10, 10]


def test_probes_are_requests_with_a_name(patients, one_thread):
    server, = patients(1)
    one_thread(document(server, pool={'probe': {**FAST, 'path': '/health/deep', 'host': 'www.example.com'}}))
    probe = until(lambda: server.patient.probes)[0]
    assert probe.start == 'GET /health/deep HTTP/1.1'
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
