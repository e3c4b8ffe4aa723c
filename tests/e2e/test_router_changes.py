# SPDX-License-Identifier: Apache-2.0
"""maglev-router: its API and its file, what a change of configuration touches, its start and its end."""
import json
import os
import signal
import socket
import subprocess
import sys
import threading

import pytest

from lab import PATIENCE, program, until
from lab.router import OK, Router, Wire, document, large
from lab.upgrades import Load, whole


def is_refused(address, port):
    try:
        socket.create_connection((address, port), PATIENCE).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # the listener was closed meanwhile
        return False
    return False


# ---- changes ----

def test_an_update_has_the_answers_of_the_api(serve, route):
    one, two = serve(), serve()
    router = route(document(one))
    new = {'routes': [{'name': 'api', 'host': 'api.example.com', 'path_prefix': '/api/', 'pool_idx': 0,
                       'strip_prefix': True}],
           'default_route': {'name': 'default', 'path_prefix': '/', 'pool_idx': 0, 'strip_prefix': False},
           'pools': [{'name': 'api-pool',
                      'upstreams': [{'host': '127.0.0.1', 'port': two.port, 'idx': 0, 'tls': False}],
                      'lb_config': {'enable_probing': False}}]}
    answer = router.update(new)
    assert (answer.status, answer.json) == (200, {'status': 'ok', 'routes_updated': 1, 'pools_updated': 1, 'generation': 2})
    body = router.request(path='/api/x', headers={'Host': 'api.example.com'}).text
    assert body.startswith('GET /x HTTP/1.1') and len(two.requests) == 1
    shown = router.ask('GET', '/routes').json
    assert shown['generation'] == 2
    assert shown['routes'] == [{'name': 'api', 'host': 'api.example.com', 'path_prefix': '/api/', 'pool_idx': 0,
                                'strip_prefix': True}]
    assert router.ask('GET', '/pools').json['pools'][0]['upstreams'][0]['port'] == two.port
    whole = router.ask('GET', '/config').json
    assert router.update(whole).json['generation'] == 3
    assert router.ask('GET', '/config').json == whole
    assert router.metrics().one('maglev_router_generation') == 3


def test_a_bad_update_is_refused_whole(serve, route):
    one = serve()
    router = route(document(one))
    before = router.ask('GET', '/config').json
    bad = document(one)
    bad['routes'].append({'name': 'api', 'pool_idx': 5})
    for path in ('/routes/update', '/config/check'):
        answer = router.update(bad, path)
        assert (answer.status, answer.json) == (400, {
            'status': 'error', 'error': 'InvalidPoolIndex',
            'message': "Route 'api' references pool_idx 5 but only 1 pool defined"})
    assert router.ask('POST', '/routes/update', body='{').json['error'] == 'InvalidSyntax'
    assert router.ask('POST', '/routes/update', body='x' * (1 << 20 | 1)).status == 413
    assert router.update(document(one), '/config/check').json == {'status': 'ok'}
    assert router.ask('GET', '/config').json == before
    assert router.metrics().one('maglev_router_generation') == 1
    assert router.request().status == 200


def test_browsers_and_proxies_cannot_use_the_api(serve, route):
    router = route(document(serve()))
    for headers in ({'Origin': 'http://evil.example'}, {'Host': 'evil.example'}, {'X-Forwarded-For': '192.0.2.1'}):
        assert router.ask('POST', '/routes/update', headers, '{}').status == 403
        assert router.ask('GET', '/config', headers).status == 403


def test_swaps_under_load_fail_no_request(serve, route):
    servers = [serve(large), serve(large), serve(large)]
    router = route(document(*servers))
    load = Load(router.port_of('default'), whole).start(kept=4, fresh=0)
    for i in range(200):
        chosen = [server for k, server in enumerate(servers) if (i + k) % 3]
        assert router.update(document(*chosen)).json['generation'] == i + 2
        if i % 10 == 0:
            load.goes_on(2)
    done = load.end()
    assert done > 100
    router.wait_metric('maglev_router_generations_held', 1)
    router.wait_metric('maglev_router_answers_total', done, **{'class': '2xx'})  # counted after the last byte was sent
    metrics = router.metrics()
    assert metrics.one('maglev_router_requests_total') == done
    assert metrics.one('maglev_router_answers_total', **{'class': '2xx'}) == done
    assert metrics.one('maglev_router_aborts_total') == 0


def test_a_server_never_gets_the_connections_of_another(serve, route):
    """Servers that leave and come: the number of one that left is given to the next."""
    servers = [serve() for _ in range(6)]
    router = route(document(servers[0]), threads=1)
    with router.client() as client:
        for server in servers:
            router.update(document(server))
            router.wait_metric('maglev_router_generations_held', 1)
            assert int(client.get()[0].get('x-port')) == server.port


def test_a_request_keeps_the_generation_with_which_it_began(serve, route):
    go, arrived = threading.Event(), threading.Event()

    def slow(wire):
        wire.message()
        arrived.set()
        go.wait(PATIENCE)
        wire.send(OK)

    router = route(document(serve(slow)), threads=1)
    with router.client() as client:
        client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
        assert arrived.wait(PATIENCE)
        router.update(document(serve()))
        assert router.metrics().one('maglev_router_generations_held') == 2
        go.set()
        assert client.message()[1] == b'ok'
        router.wait_metric('maglev_router_generations_held', 1)


def test_listeners_come_and_go(serve, route):
    server = serve()
    router = route(document(server, listeners=[{'name': 'a', 'address': '127.0.0.1:0'}]))
    with router.client('a') as client:
        assert client.get()[0].status == 200
        both = [{'name': 'a', 'address': '127.0.0.1:0'}, {'name': 'b', 'address': '127.0.0.2:0'}]
        assert router.update(document(server, listeners=both)).status == 200
        port = router.port_of('b')
        other = Wire(sock=socket.create_connection(('127.0.0.2', port), PATIENCE))
        assert other.get()[0].status == 200
        assert client.get()[0].status == 200
        # without listeners those in force stay
        assert router.update(document(server)).status == 200
        assert other.get()[0].status == 200
        assert router.update(document(server, listeners=both[:1])).status == 200
        router.wait('listener-closed', **{'for': 'b'})
        assert other.rest() == b''
        until(lambda: is_refused('127.0.0.2', port))
        assert client.get()[0].status == 200
        # an empty list is not the same as none
        assert router.update(document(server, listeners=[])).status == 200
        router.wait('listener-closed', **{'for': 'a'})
        assert router.ask('GET', '/listeners').json['listeners'] == []
    assert len(router.all('listening', **{'for': 'a'})) == 1


def test_a_head_that_ends_after_its_listener(serve, route):
    server = serve()
    router = route(document(server, listeners=[{'name': 'a', 'address': '127.0.0.1:0'}]), threads=1)
    with router.client('a') as client:
        client.get()
        client.send('GET / HTTP/1.1\r\n')
        other = router.client('a')  # accepted later, so the bytes before have been read
        other.get()
        router.update(document(server, listeners=[{'name': 'b', 'address': '127.0.0.2:0'}]))
        assert other.rest() == b''
        client.send('Host: a\r\n\r\n')
        head, _ = client.message()
        assert (head.status, head.get('connection')) == (421, 'close')


def listening(address, port):
    """The number of sockets that listen there."""
    at = f'{int.from_bytes(socket.inet_aton(address), sys.byteorder):08X}:{port:04X}'
    with open('/proc/net/tcp', encoding='ascii') as file:
        return sum(line.split()[1] == at and line.split()[3] == '0A' for line in file)


def test_after_many_changes_all_threads_listen(serve, route):
    server = serve()
    router = route(document(server, listeners=[{'name': 'a', 'address': '127.0.0.1:0'}]), threads=4)
    both = [{'name': 'a', 'address': '127.0.0.1:0'}, {'name': 'b', 'address': '127.0.0.2:0'}]
    connection = router.http()
    for i in range(300):
        connection.request('POST', '/routes/update', json.dumps(document(server, listeners=both[:1 + i % 2])))
        assert connection.getresponse().read()
    port = int(router.wait('listening', count=150, **{'for': 'b'})['addr'].rsplit(':', 1)[1])
    router.wait_metric('maglev_router_generations_held', 1)
    assert listening('127.0.0.2', port) == 4


def test_an_address_in_use_changes_nothing(serve, route):
    server = serve()
    router = route(document(server))
    taken = f'127.0.0.1:{server.port}'
    answer = router.update(document(server, listeners=[{'name': 'x', 'address': taken}]))
    assert (answer.status, answer.json['error']) == (409, 'ListenFailed') and taken in answer.json['message']
    assert router.request().status == 200
    assert router.metrics().one('maglev_router_generation') == 1


def test_the_file_is_read_again(serve, route):
    one, two = serve(), serve()
    router = route(document(one), '--watch')
    router.write(document(two))
    router.wait_metric('maglev_router_generation', 2)
    assert int(router.request().headers['x-port']) == two.port
    router.write('{"routes": [{"name": "r", "pool": "nowhere"}], "pools": []}')
    router.wait('config-reload-failed', phase='semantic', errors=1)
    assert router.all('config-error')[0]['key'] == 'routes[0].pool'
    assert router.metrics().one('maglev_router_generation') == 2
    router.write(document(one))
    router.signal(signal.SIGHUP)
    until(lambda: router.metrics().one('maglev_router_generation') >= 3)
    assert int(router.request().headers['x-port']) == one.port


def test_without_a_file_it_waits_for_an_update(serve, running, folders):
    server = serve()
    router = Router(folders(), document(server))
    where = router.command.index('--config')
    del router.command[where:where + 2]
    running(router).start()
    assert router.get('/readyz') == (503, 'there is no configuration yet\n')
    assert router.get('/healthz')[0] == 200
    assert router.update(document(server)).json['generation'] == 1
    assert router.get('/readyz') == (200, 'ok\n')
    assert router.request().status == 200


# ---- start and end ----

def test_sigterm_lets_requests_finish(serve, route):
    go, arrived = threading.Event(), threading.Semaphore(0)

    def slow(wire):
        head = wire.head()
        arrived.release()
        go.wait(PATIENCE)
        wire.exactly(int(head.get('content-length') or 0))
        wire.send(OK)

    router = route(document(serve(slow)))
    with router.client() as asking, router.client() as sending, router.client() as idle:
        idle.send('GET /none HTTP/1.1\r\nHost: a\r\nHost')  # the head is not complete
        asking.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
        sending.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nhal')
        assert arrived.acquire(timeout=PATIENCE) and arrived.acquire(timeout=PATIENCE)
        port = router.port_of('default')
        router.signal(signal.SIGTERM)
        router.wait('stopping')
        until(lambda: is_refused('127.0.0.1', port))
        answer = router.update({'pools': []})
        assert (answer.status, answer.json['error']) == (503, 'ShuttingDown')
        sending.send('f..')
        go.set()
        for client in (asking, sending):
            head, body = client.message()
            assert (head.status, head.get('connection'), body) == (200, 'close', b'ok')
        idle.close()
    assert router.end() == 0


@pytest.mark.parametrize('name', ['router.yaml', 'lab-router.yaml'])
def test_the_shipped_examples_pass(name):
    example = os.path.join(os.path.dirname(__file__), '../../deploy/examples', name)
    subprocess.run([program('maglev-router'), '--check', '--config', example], check=True, stdout=subprocess.DEVNULL)


def check(path, text):
    path.write_text(text)
    return subprocess.run([program('maglev-router'), '--check', '--config', path], capture_output=True, text=True,
                          check=False)


def test_check_reports_all_mistakes_with_their_place(tmp_path):
    good = check(tmp_path / 'router.yaml', 'routes: [{name: a, pool: p}]\npools: [{name: p, servers: ["127.0.0.1:80"]}]\n')
    assert (good.returncode, good.stderr) == (0, '')
    bad = check(tmp_path / 'router.yaml', 'routes:\n  - {name: a, pool: q}\n  - {name: b}\npools: []\n')
    assert bad.returncode == 2
    assert ':2:21: routes[0].pool: ' in bad.stderr and ':3:' in bad.stderr
    later = check(tmp_path / 'router.yaml', 'pools:\n  - {name: p, servers: ["127.0.0.1:80"], tls: {ca: /nowhere}}\n')
    assert later.returncode == 2 and ':2:52: pools[0].tls.ca: /nowhere: No such file or directory' in later.stderr
    assert check(tmp_path / 'router.json', '{').returncode == 1


def test_the_admin_api_is_for_this_machine_only(running, folders):
    router = Router(folders(), {'pools': []}, '--admin-addr', '0.0.0.0:0')
    running(router).start(ready=False)
    assert 'loopback' in router.wait('listen-failed', flag='--admin-addr')['error']
    assert router.end() == 3


def test_the_admin_api_on_a_unix_socket(running, folders):
    folder = folders()
    path = f'{folder}/admin.sock'
    router = Router(folder, {'pools': []}, '--admin-addr', path)
    running(router).start(ready=False)
    router.wait('listening', path=path)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        wire = Wire(sock=sock)
        assert json.loads(wire.get('/routes')[1]) == {'routes': [], 'generation': 1}
