# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 towards clients: other people's clients, large bodies, upgrades and TLS."""
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading

import pytest

from lab import PATIENCE, until
from lab.backends import Backends
from lab.http2 import Http2, Load, connect
from lab.http2_servers import PIECE, SMALL, held, stream_of, websocket
from lab.ports import free_port
from lab.router import Wire, document, echo, large
from lab.tls import Issuer, pair
from lab.upgrades import Upgradable

# ---- clients of other people ----

def run(*command, **how):
    """Standard output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=120, check=False, **how)
    assert done.returncode == 0, (command, done.returncode, done.stdout.decode()[-1000:], done.stderr.decode()[-2000:])
    return done.stdout


def url(client, path='/'):
    return f'http://127.0.0.1:{client.router.port_of("default")}{path}'


def test_curl(h2c, tmp_path):
    client = h2c(large)
    said = run('curl', '-sS', '--http2-prior-knowledge', '-w', '\n%{http_code} %{http_version}', url(client, '/chunked/100000'))
    assert said == b'z' * 100000 + b'\n200 2'
    client = h2c()
    body = tmp_path / 'body'
    body.write_bytes(b'x' * 300000)
    assert run('curl', '-sS', '--http2-prior-knowledge', '--data-binary', f'@{body}', url(client)).endswith(b'\r\n\r\n300000')
    assert run('curl', '-sS', '--http2-prior-knowledge', '-T', body, '-H', 'content-length:', url(client)).endswith(b'\r\n\r\n300000')
    # without prior knowledge curl asks for an upgrade, which is not granted
    assert run('curl', '-sS', '--http2', '-w', '\n%{http_code} %{http_version}', url(client)).endswith(b'\n200 1.1')


def test_nghttp(h2c):
    client = h2c(large)
    said = run('nghttp', '-nv', '--no-dep', '-m', '20', url(client, '/chunked/50000')).decode()
    assert said.count(':status: 200') == 20 and 'RST_STREAM' not in said


def test_h2load(h2c):
    client = h2c(large, threads=2)
    said = run('h2load', '-n', '2000', '-c', '8', '-m', '50', url(client, '/1000')).decode()
    assert '2000 succeeded, 0 failed, 0 errored, 0 timeout' in said


def test_httpx(h2c):
    """Python's httpx, of a process of its own; HTTP/2 without TLS and without HTTP/1.1."""
    client = h2c()
    text = '''
import asyncio, sys, httpx
async def main():
    async with httpx.AsyncClient(http1=False, http2=True) as client:
        async def one(i):
            answer = await client.post(sys.argv[1], content=b'x' * (i * 1000))
            assert (answer.status_code, answer.http_version) == (200, 'HTTP/2'), answer
            assert answer.text.endswith('\\\\r\\\\n\\\\r\\\\n%d' % (i * 1000)), answer.text
        await asyncio.gather(*(one(i) for i in range(60)))
asyncio.run(main())
'''
    run(sys.executable, '-c', text.replace('\\\\', '\\'), url(client))


def test_node(h2c, tmp_path):
    """Node's http2: many streams with bodies both ways, trailers, a WebSocket by extended CONNECT."""
    def serve(wire):
        while True:
            head = wire.head()
            if head.get('upgrade'):
                wire.held = head.text + b'\r\n\r\n' + wire.held
                websocket(wire)
                return
            body = wire.chunks()
            wire.send(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nx-sum: %d\r\n\r\n' % (len(body), body, len(body)))

    client = h2c(serve)
    script = tmp_path / 'client.js'
    script.write_text(NODE)
    assert run('node', script, url(client)) == b'60 streams, welcome HELLO goodbye\n'


NODE = r"""
const http2 = require('http2');
const session = http2.connect(process.argv[2]);
const body = i => Buffer.alloc(1000 * i + 1, 'a');
function post(i) {
	return new Promise((resolve, reject) => {
		const stream = session.request({ ':method': 'POST', ':path': '/' + i });
		let n = 0, trailer;
		stream.on('data', part => { n += part.length; });
		stream.on('trailers', fields => { trailer = fields['x-sum']; });
		stream.on('error', reject);
		stream.on('end', () => n === 1000 * i + 1 && trailer === String(n) ? resolve() : reject(new Error(`${i}: ${n} ${trailer}`)));
		stream.end(body(i));
	});
}
function chat() {
	return new Promise((resolve, reject) => {
		const stream = session.request({ ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/chat', 'sec-websocket-version': '13' },
			{ endStream: false });
		let text = '';
		stream.setEncoding('utf8');
		stream.on('response', fields => fields[':status'] === 200 ? stream.write('hello\n') : reject(new Error(fields[':status'])));
		stream.on('data', part => { text += part; if (text.endsWith('HELLO\n')) stream.end(); });
		stream.on('end', () => resolve(text.trim().split('\n').join(' ')));
		stream.on('error', reject);
	});
}
session.on('remoteSettings', async () => {
	const all = [];
	for (let i = 0; i < 60; i++)
		all.push(post(i));
	await Promise.all(all);
	console.log(`${all.length} streams, ${await chat()}`);
	session.close();
});
"""


# ---- much ----

@pytest.mark.parametrize('way', ['down', 'up'])
def test_a_gibibyte_passes_in_constant_memory(way, h2c, tmp_path):
    size = 1 << 30
    client = h2c(stream_of(size), env=SMALL)
    small = tmp_path / 'small'
    small.write_bytes(PIECE)
    run('curl', '-sS', '--http2-prior-knowledge', '-T', small, '-H', 'content-length:', url(client))  # what it needs once
    before = client.router.rss()
    curl = ['curl', '-sS', '--http2-prior-knowledge', '-w', '%{http_code} %{size_download} %{size_upload}']
    if way == 'up':
        with subprocess.Popen(['head', '-c', str(size), '/dev/zero'], stdout=subprocess.PIPE) as zeros:
            said = run(*curl, '-T', '-', url(client), stdin=zeros.stdout)
        assert said == b'%010d200 10 %d' % (size, size)
    else:
        said = run(*curl, '-o', '/dev/null', url(client))
        assert said == b'200 %d 0' % size
    assert client.router.peak() - before < 24 << 20


# ---- upgrades ----

def test_three_upgrades_under_load(serve, running, folders):
    router = running(Upgradable(folders(), document(serve(large)), threads=2)).start()
    load = Load(router.port_of('default'), lambda asked, status, body: (status, len(body)) == (200, 1000), lambda n: ('GET', '/1000', b''))
    with Http2(router.port_of('default')) as idle:
        assert idle.get('/10').status == 200
        old = []
        for _ in range(3):
            load.goes_on()
            old.append(router.upgrade())
            load.goes_on()
        idle.until(lambda: idle.goaway)  # it loses nothing, and goes to the new process
    assert load.end() > 300
    for pid in old:
        router.gone(pid)


def test_an_upgrade_fails_no_request_of_h2load(serve, running, folders):
    """h2load opens no other connection after GOAWAY, and what it has not sent until then fails. All else is answered."""
    server = serve(echo)
    router = running(Upgradable(folders(), document(server), threads=2)).start()
    where = f'http://127.0.0.1:{router.port_of("default")}/1000'
    with subprocess.Popen(['h2load', '-n', '1000000', '-c', '8', '-m', '10', where], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as load:
        until(lambda: router.metrics().one('maglev_router_requests_total') > 500)
        router.gone(router.upgrade())
        said = load.communicate(timeout=PATIENCE)[0].decode()
    good = int(re.search(r'(\d+) succeeded', said)[1])
    assert good == len(server.requests) > 500 and f'{good} 2xx, 0 3xx, 0 4xx, 0 5xx' in said, said


# ---- TLS ----

@pytest.fixture(scope='module')
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp('issuer'))


@pytest.fixture
def port():
    """One that listeners can share."""
    return free_port()


def secured(issuer, port, *hosts, **more):
    """Listeners with TLS, one for each host, at one address."""
    return [{'name': f'web{i}', 'address': f'127.0.0.1:{port}', 'host': host, **more,
             'tls': {'certificates': [pair(issuer.issue(host, host))]}} for i, host in enumerate(hosts)]


def shake(port, name, *protocols):
    """(socket, the protocol that ALPN has chosen)"""
    how = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    how.check_hostname, how.verify_mode = False, ssl.CERT_NONE
    how.set_alpn_protocols(protocols)
    sock = how.wrap_socket(socket.create_connection(('127.0.0.1', port), PATIENCE), server_hostname=name)
    return sock, sock.selected_alpn_protocol()


def test_alpn_decides(serve, route, issuer, port):
    server = serve()
    listeners = secured(issuer, port, 'a.example', 'b.example')
    listeners[1]['http2'] = False
    router = route(document(server, listeners=listeners, access_log={}))
    router.port_of('web0')
    sock, protocol = shake(port, 'a.example', 'http/1.1', 'h2')
    assert protocol == 'h2'
    with Http2(sock=sock) as client:
        for i in range(10):
            assert client.get(f'/{i}', host='a.example').status == 200
        assert client.post('/', b'x' * 300000, host='a.example').body.endswith(b'\r\n\r\n300000')
        assert client.get(host='b.example').status == 421  # the connection is not one of its listener
        assert client.get(host='a.example').status == 200
    assert server.requests[0].get('x-forwarded-proto') == 'https'
    assert router.wait('access', protocol='HTTP/2.0')['status'] == 200
    for name, offered, chosen in (('a.example', ['http/1.1'], 'http/1.1'), ('b.example', ['h2', 'http/1.1'], 'http/1.1'), ('a.example', ['h2'], 'h2')):
        sock, protocol = shake(port, name, *offered)
        sock.close()
        assert protocol == chosen
    sock, _ = shake(port, 'a.example', 'http/1.1')
    with Wire(sock=sock) as wire:  # no prior knowledge after another choice
        wire.send(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
        assert wire.head().status == 400


def test_the_subject_of_a_client_comes_with_each_stream(serve, route, issuer, port):
    server = serve()
    listeners = secured(issuer, port, 'a.example')
    listeners[0]['tls']['clients'] = {'ca': issuer.ca, 'mode': 'require', 'header': 'X-Subject'}
    router = route(document(server, listeners=listeners))
    router.port_of('web0')
    mine = issuer.issue('client', 'client')
    said = run('curl', '-sS', '-k', '--http2', '--cert', pair(mine)['certificate'], '--key', pair(mine)['key'], '--resolve', f'a.example:{port}:127.0.0.1',
               '-w', '%{http_version}', f'https://a.example:{port}/1', '-o', '/dev/null', f'https://a.example:{port}/2', '-o', '/dev/null')
    assert said == b'22'
    assert [head.get('x-subject') for head in server.requests] == ['CN=client,O=Lab'] * 2


def test_clients_of_other_people_with_tls(serve, route, issuer, port, tmp_path):
    listeners = secured(issuer, port, 'a.example')
    router = route(document(serve(large), listeners=listeners))
    router.port_of('web0')
    where = f'https://a.example:{port}'
    resolved = ['--resolve', f'a.example:{port}:127.0.0.1', '--cacert', issuer.ca]
    assert run('curl', '-sS', *resolved, '-w', ' %{http_version}', f'{where}/5') == b'zzzzz 2'
    said = run('h2load', '-n', '500', '-c', '4', '-m', '20', '--connect-to', f'127.0.0.1:{port}', f'{where}/1000').decode()
    assert 'Application protocol: h2' in said and '500 succeeded, 0 failed' in said
    script = tmp_path / 'client.js'
    script.write_text('''
const http2 = require('http2');
const session = http2.connect(process.argv[2], { ca: require('fs').readFileSync(process.argv[3]), servername: 'a.example',
	lookup: (name, options, done) => options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4) });
const stream = session.request({ ':path': '/7' });
let text = '';
stream.on('data', part => { text += part; });
stream.on('end', () => { console.log(session.alpnProtocol, text); session.close(); });
stream.end();
''')
    assert run('node', script, where, issuer.ca) == b'h2 zzzzzzz\n'


def test_a_drain_with_tls_loses_nothing(serve, route, issuer, port):
    go, arrived = threading.Event(), threading.Semaphore(0)
    listeners = secured(issuer, port, 'a.example')
    router = route(document(serve(held(go, arrived)), listeners=listeners))
    router.port_of('web0')
    with Http2(sock=shake(port, 'a.example', 'h2')[0]) as client:
        streams = [client.begin(host='a.example') for _ in range(5)]
        for _ in streams:
            assert arrived.acquire(timeout=PATIENCE)
        router.signal(signal.SIGTERM)
        client.until(lambda: client.goaway)
        go.set()
        assert all(client.whole(stream).body == b'ok' for stream in streams)
        with pytest.raises(EOFError):
            client.until(lambda: False)
    assert router.end() == 0


# ---- HTTP/2 on both sides ----

def test_http_2_on_both_sides(route, folders):
    """Bodies, trailers and a WebSocket through the router, to Node's http2."""
    with Backends(folders()) as backends:
        router = route(document(backends.node(), pool={'protocol': 'h2'}), threads=1)
        with Http2(router.port_of('default')) as client:
            streams = [client.begin('POST', '/echo', end=False) for _ in range(20)]
            for i, stream in enumerate(streams):
                client.send(stream, b'x' * (20000 + i))
                client.end(stream, [('x-check', str(i))])
            for i, stream in enumerate(streams):
                answer = client.whole(stream)
                assert (answer.status, answer.body, answer.trailers) == (200, b'x' * (20000 + i), [('x-seen', str(i))])
            assert client.get('/trailers').trailers == [('x-sum', '42'), ('grpc-status', '0')]
            assert len(client.get('/large?n=3000000').body) == 3000000
            stream = connect(client, '/socket')
            assert client.head(stream).status == 200
            client.send(stream, b'hello')
            client.until(lambda: b'hello' in client.answers[stream].body.lower())
            client.end(stream)
            client.whole(stream)
        assert router.metrics().one('maglev_router_server_trunks') == 1
