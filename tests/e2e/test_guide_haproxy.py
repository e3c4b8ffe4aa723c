# SPDX-License-Identifier: Apache-2.0
"""docs/guide/from-haproxy.md: the two whole configurations of the page run side by side and answer alike; the way over goes through HAProxy."""
import collections
import contextlib
import http.client
import http.server
import json
import shutil
import subprocess
import threading

import pytest

from lab import Daemon, until
from lab.guide import blocks, example
from lab.net import Namespace
from lab.process import DIE_WITH_PARENT

SERVERS = {'api1': ('10.0.1.5', 8001), 'api2': ('10.0.1.6', 8001), 'site1': ('10.0.2.5', 9000), 'site2': ('10.0.2.6', 9000),
           'pg1': ('10.0.3.5', 5432), 'pg2': ('10.0.3.6', 5432)}
HAPROXY, ROUTER, CLIENT, NGINX = '10.9.0.1', '10.9.0.2', '10.9.0.3', '10.9.0.4'

THEIRS = {name.split('#')[1]: text for name, text in blocks('from-haproxy.md', ('text',)).items()}
WHOLE, SHARE = THEIRS['requests-a-whole-configuration'], THEIRS['the-way-over']
REQUESTS = (('api.example.com', '/v1/users?a=b'), ('api.example.com', '/v2/'), ('API.example.com', '/v1/'), ('www.example.com', '/v1/x'),
            ('old.example.com', '/any'), ('any.example.org', '/'))
TEXT = example('from-haproxy.md', 'requests-a-whole-configuration')


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with what it was asked."""
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        body = json.dumps({'name': self.server.name, 'path': self.path, 'host': self.headers['Host'],
                           'edge': self.headers['X-Edge'], 'client': self.headers['X-Forwarded-For']}).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def __init__(self, netns, name):
        super().__init__(SERVERS[name], Handler, bind_and_activate=False)
        self.socket.close()
        self.socket, self.name = netns.socket(), name
        self.socket.bind(SERVERS[name])
        self.socket.listen(100)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, *_):
        pass  # probes over TCP break their connections

    def end(self):
        self.shutdown()
        self.server_close()


@pytest.fixture
def site():
    """A machine with both proxies; it has the addresses of the servers, too."""
    it = Namespace('h')
    it.ip(*(f'addr add {address}/32 dev lo' for address in (*{one for one, _ in SERVERS.values()}, HAPROXY, ROUTER, CLIENT, NGINX)))
    it.servers = {name: Server(it, name) for name in SERVERS}
    yield it
    for server in it.servers.values():
        server.end()
    it.delete()


@contextlib.contextmanager
def started(site, address, *command):
    process = subprocess.Popen([*DIE_WITH_PARENT, *site.command(*command)], stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: listens(site, address, 80) or process.poll() is not None, what=f'{command[0]} listening')
        assert process.poll() is None, process.stderr.read()
        yield
    finally:
        process.kill()
        process.communicate()


def haproxy(site, folder, text):
    with open(f'{folder}/haproxy.cfg', 'w', encoding='ascii') as file:
        file.write(text.replace('/run/haproxy', folder).replace('bind :', f'bind {HAPROXY}:'))
    return started(site, HAPROXY, 'haproxy', '-db', '-f', file.name)


def nginx(site, folder, text):
    with open(f'{folder}/nginx.conf', 'w', encoding='ascii') as file:
        file.write(f'load_module /usr/lib/nginx/modules/ngx_stream_module.so;\ndaemon off;\nmaster_process off;\npid {folder}/pid;\n'
                   + text.replace('listen ', f'listen {NGINX}:').replace('http {', f'http {{ access_log off; client_body_temp_path {folder}; '
                                                                        f'proxy_temp_path {folder}; fastcgi_temp_path {folder}; '
                                                                        f'uwsgi_temp_path {folder}; scgi_temp_path {folder};', 1))
    return started(site, NGINX, 'nginx', '-p', folder, '-e', f'{folder}/errors', '-c', file.name)


def listens(site, address, port):
    with site.socket() as sock:
        return sock.connect_ex((address, port)) == 0


class Router(Daemon):
    listener = 'admin'


def start_router(running, folders, site, text):
    folder = folders()
    with open(f'{folder}/router.yaml', 'w', encoding='utf-8') as file:
        file.write(text)
    return running(Router(folder, 'maglev-router', '--config', file.name, '--threads', '1', metrics=None, namespace=site)).start()


def ask(site, proxy, host, path='/', port=80, headers=None):
    """(status, Location or what the server was asked, cookie)"""
    with contextlib.closing(http.client.HTTPConnection(proxy, port, timeout=10)) as connection:
        connection.sock = site.socket()
        connection.sock.settimeout(20)
        connection.sock.bind((CLIENT, 0))
        connection.sock.connect((proxy, port))
        connection.request('GET', path, headers={'Host': host, **(headers or {})})
        answer = connection.getresponse()
        body = answer.read()
        cookie = (answer.headers.get('Set-Cookie') or '').split(';')[0]
        return answer.status, answer.headers.get('Location') or (json.loads(body) if answer.status == 200 else {}), cookie


def alike(answer):
    """An answer without what may differ: which of the servers of a pool gave it, and cookies."""
    status, said, _ = answer
    return status, {**said, 'name': said['name'][:-1]} if isinstance(said, dict) else said


def test_both_configurations_answer_alike(site, running, folders):
    router = start_router(running, folders, site, TEXT.replace('address: ":', f'address: "{ROUTER}:'))
    with haproxy(site, folders(), WHOLE):
        for host, path in REQUESTS:
            assert alike(ask(site, ROUTER, host, path)) == alike(ask(site, HAPROXY, host, path)), (host, path)
        assert alike(ask(site, ROUTER, 'api.example.com', '/v1/users')) == \
            (200, {'name': 'api', 'path': '/users', 'host': 'api.example.com', 'edge': 'lb1', 'client': CLIENT})
        for proxy in (HAPROXY, ROUTER):
            shares = collections.Counter(ask(site, proxy, 'www.example.com')[1]['name'] for _ in range(40))
            assert shares == {'site1': 30, 'site2': 10}, (proxy, shares)
            _, said, cookie = ask(site, proxy, 'www.example.com')
            assert cookie.startswith('SRV=')
            assert {ask(site, proxy, 'www.example.com', headers={'Cookie': cookie})[1]['name'] for _ in range(8)} == {said['name']}
            assert ask(site, proxy, 'db', port=5432)[1]['name'] in ('pg1', 'pg2')
        site.servers['api1'].end()
        router.wait('server-down')
        for proxy in (HAPROXY, ROUTER):
            until(lambda: {ask(site, proxy, 'api.example.com', '/v1/')[1].get('name') for _ in range(6)} == {'api2'}, what='api2 alone')


@pytest.mark.skipif(not shutil.which('nginx'), reason='no nginx')
def test_nginx_answers_alike(site, running, folders):
    start_router(running, folders, site, TEXT.replace('address: ":', f'address: "{ROUTER}:'))
    with nginx(site, folders(), THEIRS['nginx']):
        for host, path in REQUESTS:
            assert alike(ask(site, ROUTER, host.lower(), path)) == alike(ask(site, NGINX, host.lower(), path)), (host, path)
        assert ask(site, NGINX, 'db', port=5432)[1]['name'] in ('pg1', 'pg2')


def test_the_way_over(site, running, folders, desk):
    """The router beside HAProxy gets a share of the requests, with the address of the client"""
    text = TEXT.replace('address: ":80"', 'address: ":8080", expect_proxy: true').replace('":5432"', f'"{ROUTER}:5432"')
    start_router(running, folders, site, text)
    home = desk(site)
    home.put('/etc/maglev/router.yaml', text)
    until(lambda: home.say('maglevc show pools').count('2 of 2') == 3, what='all servers being up')
    home.run('from-haproxy.md#the-way-over')
    share = SHARE.replace('frontend web\n', '').replace('lt 5', 'lt 50')
    rule, backend = share.split('\n\n')
    whole = WHOLE.replace('    use_backend api', f'{rule}\n    use_backend api', 1) + '\n' + backend
    with haproxy(site, folders(), whole):
        seen = [ask(site, HAPROXY, 'www.example.com') for _ in range(40)]
    assert {status for status, _, _ in seen} == {200}
    cookies = {cookie.split('=')[1] for _, _, cookie in seen}
    assert cookies & {'s1', 's2'} and cookies - {'s1', 's2'}, 'both proxies have answered'
    assert {said['client'].split(',')[0] for _, said, _ in seen} == {CLIENT}, 'also through both'


def test_the_configurations_for_connections_are_good(folders):
    """HAProxy and, where it is installed, keepalived accept them; docs_test.py checks ours"""
    folder, mail, vrrp = folders(), THEIRS['connections-a-whole-configuration'], THEIRS['connections-a-whole-configuration/2']
    for name, text in (('haproxy.cfg', f'defaults\n    timeout connect 2s\n    timeout client 1h\n    timeout server 1h\n{mail}'), ('keepalived.conf', vrrp)):
        with open(f'{folder}/{name}', 'w', encoding='ascii') as file:
            file.write(text)
    for command in (['haproxy', '-c', '-f', f'{folder}/haproxy.cfg'], ['keepalived', '-t', '-f', f'{folder}/keepalived.conf']):
        if command[0] == 'haproxy' or shutil.which(command[0]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
