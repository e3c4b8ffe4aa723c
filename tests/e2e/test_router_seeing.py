# SPDX-License-Identifier: Apache-2.0
"""maglev-router: what it counts about routes, pools and servers."""
import socket
import struct
import subprocess

from lab.router import OK, answering, document

CLASSES = ('1xx', '2xx', '3xx', '4xx', '5xx')


def answers(page, kind, **labels):
    return [page.one(f'maglev_router_{kind}_answers_total', **{'class': one}, **labels) for one in CLASSES]


def settled(router, name, value, **labels):
    """The page after the sample has that value: a request may end after its client has the answer, and while a page is written."""
    router.wait_metric(name, value, **labels)
    return router.metrics()


# ---- metrics ----

def test_requests_are_counted_by_route_pool_and_server(serve, route):
    good = serve(answering(OK, b'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'))
    doc = document(good, rule={'host': 'www.example.com'})
    doc['default_route'] = {'name': 'rest', 'pool': 'empty', 'path_prefix': '/'}
    doc['pools'].append({'name': 'empty', 'servers': []})
    router = route(doc, threads=1)
    client = router.client()
    assert client.get('/a')[0].status == 200
    assert client.get('/a')[0].status == 404
    assert client.get('/a', host='other.example')[0].status == 503
    page = settled(router, 'maglev_router_route_requests_active', 0, route='rest')
    server = {'pool': 'pool', 'server': f'127.0.0.1:{good.port}'}
    assert page.one('maglev_router_route_requests_total', route='all') == 2
    assert answers(page, 'route', route='all') == [0, 1, 0, 1, 0]
    assert answers(page, 'pool', pool='pool') == [0, 1, 0, 1, 0]
    assert answers(page, 'server', **server) == [0, 1, 0, 1, 0]
    assert page.one('maglev_router_server_tries_total', **server) == 2
    assert answers(page, 'route', route='rest') == answers(page, 'pool', pool='empty') == [0, 0, 0, 0, 1]
    assert page.one('maglev_router_route_requests_total', route='-') == 0
    assert page.one('maglev_router_pool_servers', pool='pool', state='usable') == 1
    assert page.one('maglev_router_pool_servers', pool='empty', state='usable') == 0
    assert page.one('maglev_router_server_links', state='kept', **server) == 1
    assert page.one('maglev_router_server_links', state='used', **server) == 0
    head = len('GET /a HTTP/1.1\r\nHost: www.example.com\r\n\r\n')
    assert page.one('maglev_router_route_request_bytes_total', route='all') == 2 * head
    assert page.one('maglev_router_route_answer_bytes_total', route='all') > len(OK)
    for name in ('route_latency', 'route_first_byte'):
        assert page.one(f'maglev_router_{name}_seconds_count', route='all') == 2
        assert page.one(f'maglev_router_{name}_seconds_bucket', route='all', le='+Inf') == 2
        assert 0 < page.one(f'maglev_router_{name}_seconds_sum', route='all') < 20
    assert page.one('maglev_router_route_first_byte_seconds_count', route='rest') == 0
    assert page.one('maglev_router_pool_latency_seconds_count', pool='pool') == 2


def test_how_requests_fail_is_counted(serve, route):
    held = socket.socket()  # nobody listens
    held.bind(('127.0.0.1', 0))
    broken, closed = serve(answering(None)), held.getsockname()[1]
    silent = serve(lambda wire: wire.rest())
    cut = serve(lambda wire: (wire.head(), wire.send(b'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc')))
    fine = serve().port
    names = {'broken': broken.port, 'closed': closed, 'silent': silent.port, 'cut': cut.port, 'fine': fine}
    once = {'retry': {'attempts': 0}}
    router = route({
        'routes': [{'name': name, 'path_prefix': f'/{name}', 'pool': name, **once,
                    **({'timeouts': {'request': '100ms'}} if name == 'silent' else {})} for name in names]
        + [{'name': 'again', 'path_prefix': '/again', 'pool': 'two', 'retry': {'attempts': 3, 'backoff': '1ms'}}],
        'pools': [{'name': name, 'servers': [f'127.0.0.1:{port}']} for name, port in names.items()]
        + [{'name': 'two', 'servers': [f'127.0.0.1:{closed}', f'127.0.0.1:{fine}']}]}, threads=1)
    assert router.request(path='/broken').status == 502
    assert router.request(path='/closed').status == 503
    assert router.request(path='/silent').status == 504
    with router.client() as client:
        assert client.send('GET /cut HTTP/1.1\r\nHost: a\r\n\r\n').rest().endswith(b'abc')
    for _ in range(2):
        assert router.request(path='/again').status == 200
    page = settled(router, 'maglev_router_route_latency_seconds_count', 2, route='again')
    assert page.one('maglev_router_route_aborts_total', route='cut') == 1

    def failures(pool, port):
        return [page.one('maglev_router_server_failures_total', pool=pool, server=f'127.0.0.1:{port}', kind=kind)
                for kind in ('connect', 'broken', 'timeout')]
    assert failures('broken', broken.port) == [0, 1, 0]
    assert failures('closed', closed) == [1, 0, 0]
    assert failures('silent', silent.port) == [0, 0, 1]
    assert failures('cut', cut.port) == [0, 1, 0]
    assert failures('fine', fine) == failures('two', fine) == [0, 0, 0]
    assert answers(page, 'route', route='silent') == [0, 0, 0, 0, 1]
    assert answers(page, 'route', route='cut') == [0] * 5
    assert failures('two', closed)[0] == page.one('maglev_router_route_retries_total', route='again') >= 1
    assert page.one('maglev_router_pool_retries_total', pool='two') >= 1
    assert answers(page, 'route', route='again') == [0, 2, 0, 0, 0]


def test_a_client_that_leaves_is_an_abort_and_no_failure(wired):
    client = wired(lambda wire: wire.rest())
    client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    settled(client.router, 'maglev_router_route_requests_active', 1, route='all')
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    client.close()
    page = settled(client.router, 'maglev_router_route_aborts_total', 1, route='all')
    assert page.one('maglev_router_server_aborts_total') == 1
    assert page.sum('maglev_router_server_failures_total') == 0
    assert page.one('maglev_router_route_requests_active', route='all') == 0


def test_a_tunnel_has_no_latency(wired):
    client = wired(answering(b'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n', None))
    client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')
    assert client.head().status == 101
    client.close()
    page = settled(client.router, 'maglev_router_route_requests_active', 0, route='all')
    assert page.one('maglev_router_route_latency_seconds_count', route='all') == 0
    assert page.one('maglev_router_route_first_byte_seconds_count', route='all') == 1


def test_counters_outlive_changes_and_begin_again_with_a_new_name(serve, route):
    server = serve()
    router = route(document(server), threads=1)
    client = router.client()
    for _ in range(3):
        assert client.get()[0].status == 200
    changed = document(server, rule={'path_prefix': '/new'})
    assert router.update(changed).status == 200
    assert client.get('/new')[0].status == 200
    page = settled(router, 'maglev_router_route_latency_seconds_count', 4, route='all')
    assert page.one('maglev_router_pool_requests_total', pool='pool') == 4
    assert page.one('maglev_router_server_tries_total', pool='pool') == 4
    changed['routes'][0]['name'] = 'renamed'
    assert router.update(changed).status == 200
    assert client.get('/new')[0].status == 200
    page = settled(router, 'maglev_router_route_requests_total', 1, route='renamed')
    assert page.of('maglev_router_route_requests_total', route='all') == []
    assert page.one('maglev_router_pool_requests_total', pool='pool') == 5


def test_the_number_of_samples_is_bounded(serve, route):
    server = serve()
    n, limit = 300, 10
    router = route({
        'routes': [{'name': f'r{i}', 'path_prefix': f'/{i}/', 'pool': f'p{i}'} for i in range(n)],
        'pools': [{'name': f'p{i}', 'servers': [f'127.0.0.1:{server.port}']} for i in range(n)]},
        '--metrics-limit', str(limit), threads=1)
    client = router.client()
    for i in (0, 1, 298, 299):
        assert client.get(f'/{i}/')[0].status == 200
    page = settled(router, 'maglev_router_route_latency_seconds_count', 2, route='other')
    for kind, label in (('route_requests', 'route'), ('pool_requests', 'pool'), ('server_tries', 'pool')):
        samples = page.of(f'maglev_router_{kind}_total')
        assert len(samples) == limit + 1
        assert sum(value for _, value in samples) == 4
        assert [labels[label] for labels, _ in samples][-1] == 'other'
    assert page.one('maglev_router_pool_servers', pool='other', state='usable') == n - limit


def test_promtool_takes_the_page(serve, route):
    doc = document(serve())
    doc['routes'] += [{'name': name, 'path_prefix': f'/{i}', 'pool': 'pool'}
                      for i, name in enumerate(('other', '-', 'a "quoted\\" name', 'default_route'))]
    doc['default_route'] = {'pool': 'pool'}
    router = route(doc)
    assert router.request().status == 200
    page = router.metrics()
    samples = [(name, tuple(sorted(labels.items()))) for name, labels, _ in page.samples]
    assert len(samples) == len(set(samples)), 'a sample occurs twice'
    done = subprocess.run(['promtool', 'check', 'metrics'], input=page.text, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout


def test_a_large_page_does_not_hold_the_control_loop(serve, route):
    server = serve()
    n = 3000
    router = route({
        'routes': [{'name': f'r{i}', 'path_prefix': f'/{i}/', 'pool': 'pool'} for i in range(n)],
        'pools': [{'name': 'pool', 'servers': [f'127.0.0.1:{server.port}']}]},
        '--metrics-limit', str(n + 1))
    page = router.metrics()
    assert len(page.of('maglev_router_route_requests_total')) == n + 1
    lag = router.metrics()
    slow = lag.one('maglev_router_loop_lag_seconds_count') - lag.one('maglev_router_loop_lag_seconds_bucket', le='0.1')
    assert slow <= 1, 'only the start, which compiles the routes, may take that long'
