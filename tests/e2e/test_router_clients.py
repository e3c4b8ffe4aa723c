# SPDX-License-Identifier: Apache-2.0
"""maglev-router between other people's clients and servers: curl, Node, Python, wrk, h2load, HAProxy and nginx."""
import hashlib
import http.client
import json
import os
import re
import subprocess
import sys

import pytest

from lab import PATIENCE, until
from lab.npm import installed
from lab.proxies import Proxies
from lab.router import document, large


def run(*command, **how):
    """Standard output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=120, check=False, **how)
    assert done.returncode == 0, (command, done.returncode, done.stderr.decode()[-2000:])
    return done.stdout


class Port:
    """A server of another program, as document() needs it."""

    def __init__(self, port):
        self.port = port


@pytest.fixture
def proxies(tmp_path):
    with Proxies(tmp_path) as started:
        yield started


@pytest.fixture
def node():
    """Starts the server of tests/support/node."""
    folder = installed('node')
    with subprocess.Popen(['node', os.path.join(folder, 'server.js')], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        yield Port(int(process.stdout.readline()))
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


# ---- curl ----

def curl(router, path, *args, **how):
    """(status, version, body)"""
    out = run('curl', '-sS', '--max-time', '60', '-w', '\n%{http_code} %{http_version}', *args,
              f'http://127.0.0.1:{router.port_of("default")}{path}', **how)
    body, last = out.rsplit(b'\n', 1)
    status, version = last.decode().split()
    return int(status), version, body


@pytest.mark.parametrize('version', ['--http1.0', '--http1.1'])
@pytest.mark.parametrize('kind', ['', '/chunked', '/close'])
def test_curl_downloads_every_framing(serve, route, version, kind):
    router = route(document(serve(large)))
    assert curl(router, f'{kind}/300000', version) == (200, '1.1', b'z' * 300000)


def test_curl_uploads_from_a_pipe_and_with_expect(node, route):
    router = route(document(node))
    data = os.urandom(3000000)
    digest = hashlib.sha256(data).hexdigest()
    for args in (['-T', '-'], ['-H', 'Expect: 100-continue', '--data-binary', '@-'], ['-H', 'Expect:', '--data-binary', '@-'],
                 ['-H', 'Transfer-Encoding: chunked', '-X', 'POST', '--data-binary', '@-']):
        status, _, body = curl(router, '/up', *args, input=data)
        got = json.loads(body)
        assert (status, got['length'], got['sha256']) == (200, 3000000, digest), args


def test_curl_in_parallel_and_on_one_connection(serve, route):
    router = route(document(serve()))
    port = router.port_of('default')
    out = run('curl', '-sS', '--parallel', '--parallel-max', 20, '--no-progress-meter', f'http://127.0.0.1:{port}/[1-200]')
    assert sorted(int(path) for path in re.findall(rb'GET /(\d+) HTTP/1.1', out)) == list(range(1, 201))
    out = run('curl', '-sS', '-w', '%{num_connects}\n', f'http://127.0.0.1:{port}/[1-50]')
    assert sum(int(n) for n in re.findall(rb'(?m)([01])$', out)) == 1 and out.count(b'HTTP/1.1') == 50


def test_curl_that_gives_up_takes_its_request_along(serve, route):
    router = route(document(serve(large)))
    done = subprocess.run(['curl', '-sS', '--max-time', '0.5', '--limit-rate', '1M', '-o', '/dev/null',
                           f'http://127.0.0.1:{router.port_of("default")}/90000000'],
                          capture_output=True, check=False, timeout=60)
    assert done.returncode == 28
    router.wait_metric('maglev_router_server_connections', 0)
    router.wait_metric('maglev_router_client_connections', 0)


def test_curl_asks_for_a_head(node, route):
    router = route(document(node))
    assert b'content-type: application/json' in run('curl', '-sSI', f'http://127.0.0.1:{router.port_of("default")}/').lower()


# ---- Node ----

@pytest.mark.parametrize('what', ['http', 'ws'])
def test_node_speaks_to_node(node, route, what):
    router = route(document(node))
    out = run('node', os.path.join(installed('node'), 'client.js'), router.port_of('default'), what)
    assert json.loads(out) in ({'requests': 400}, {'messages': 9})
    if what == 'http':
        assert router.metrics().one('maglev_router_server_connections') <= 8  # kept: not one for each request
    router.wait_metric('maglev_router_client_connections', 0)


def test_node_http_server_has_one_connection_for_many_requests(node, route):
    router = route(document(node), threads=1)
    with router.client() as client:
        for i in range(50):
            assert json.loads(client.get(f'/{i}')[1])['url'] == f'/{i}'
    assert router.metrics().one('maglev_router_server_connections') == 1


# ---- Python ----

def test_python_clients_and_an_http_1_0_server(tmp_path, route):
    data = os.urandom(700000)
    (tmp_path / 'file').write_bytes(data)
    with subprocess.Popen([sys.executable, '-u', '-m', 'http.server', '--bind', '127.0.0.1', '--directory', str(tmp_path), '0'],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        port = int(re.search(rb'port (\d+)', server.stdout.readline()).group(1))
        router = route(document(Port(port)))
        client = http.client.HTTPConnection('127.0.0.1', router.port_of('default'), timeout=60)
        for _ in range(20):
            client.request('GET', '/file')
            answer = client.getresponse()
            assert (answer.status, answer.version) == (200, 11) and answer.read() == data
        client.request('GET', '/missing')
        assert client.getresponse().read().startswith(b'<!DOCTYPE')
        client.request('HEAD', '/file')
        answer = client.getresponse()
        assert answer.read() == b'' and answer.headers['Content-Length'] == '700000'
        client.close()
        server.terminate()
        server.wait(PATIENCE)


def test_python_sends_chunks_and_files(node, route):
    router = route(document(node))
    client = http.client.HTTPConnection('127.0.0.1', router.port_of('default'), timeout=60)
    parts = [os.urandom(size) for size in (1, 5000, 70000)]
    client.request('PUT', '/chunks', iter(parts), encode_chunked=True, headers={'Transfer-Encoding': 'chunked'})
    got = json.loads(client.getresponse().read())
    assert got['sha256'] == hashlib.sha256(b''.join(parts)).hexdigest()
    client.request('POST', '/length', b''.join(parts))
    got = json.loads(client.getresponse().read())
    assert (got['method'], got['length']) == ('POST', 75001)
    client.close()


# ---- load generators, and other proxies as servers ----

def hammer(port):
    """Requests without an error, by wrk and h2load: how many."""
    out = run('wrk', '-t1', '-c20', '-d2s', '--timeout', '60s', f'http://127.0.0.1:{port}/').decode()
    assert 'Socket errors' not in out and 'Non-2xx' not in out, out
    counts = {'wrk': int(re.search(r'(\d+) requests in', out).group(1))}
    out = run('h2load', '--h1', '-n', 3000, '-c', 10, f'http://127.0.0.1:{port}/').decode()
    assert '3000 succeeded, 0 failed, 0 errored, 0 timeout' in out, out
    counts['h2load'] = int(re.search(r'(\d+) 2xx', out).group(1))
    return counts


@pytest.mark.parametrize('name', ['nginx', 'HAProxy'])
def test_load_generators_and_other_proxies(serve, proxies, route, name):
    """Clients -> router -> nginx or HAProxy -> a server of ours."""
    server = serve()
    router = route(document(Port(proxies.start(name, server))), threads=2)
    with router.client() as client:
        assert client.get('/through')[1].startswith(b'GET /through HTTP/1.1')
    counts = hammer(router.port_of('default'))
    assert counts['h2load'] == 3000
    # counted after the last byte was sent
    until(lambda: router.metrics().one('maglev_router_answers_total', **{'class': '2xx'}) >= sum(counts.values()))
    assert router.metrics().one('maglev_router_answers_total', **{'class': '5xx'}) == 0


def test_the_router_behind_other_proxies(serve, proxies, route):
    """Clients -> nginx -> HAProxy -> router -> a server of ours."""
    router = route(document(serve()))
    port = proxies.start('nginx', Port(proxies.start('HAProxy', Port(router.port_of('default')))))
    client = http.client.HTTPConnection('127.0.0.1', port, timeout=60)
    for body in (None, b'x' * 100000):
        client.request('POST', '/deep', body)
        assert client.getresponse().read().startswith(b'POST /deep HTTP/1.1')
    client.close()
