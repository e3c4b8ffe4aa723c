# SPDX-License-Identifier: Apache-2.0
"""Our HTTP client and the servers of others: nginx, and Python's http.server."""
import http.server
import os
import shutil
import subprocess
import threading

import pytest

from lab import PATIENCE, program, until

LARGE = 5 * 1000 * 1000
NGINX = """
daemon off;
worker_processes 1;
pid {0}/pid;
error_log {0}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {0}/body;
    proxy_temp_path {0}/proxy;
    fastcgi_temp_path {0}/fastcgi;
    uwsgi_temp_path {0}/uwsgi;
    scgi_temp_path {0}/scgi;
    client_max_body_size 100k;
    server {{
        listen unix:{0}/plain;
        listen unix:{0}/tls ssl;
        ssl_certificate {1};
        ssl_certificate_key {2};
        root {0}/www;
        location /empty {{ return 204; }}
        location /teapot {{ return 418 "short and stout"; }}
        location /gate/ {{ proxy_pass http://unix:{0}/plain:/; proxy_http_version 1.1; proxy_buffering off; }}
    }}
}}
"""


class Ask:
    """The program `ask`, which calls what it is told."""

    def __init__(self, host, port, socket='', name='', ca=''):
        words = [program('ask'), host, str(port), socket, name]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, 'SSL_CERT_FILE': ca})

    def call(self, line):
        """(status, body), or (0, reason)."""
        self.process.stdin.write(line.encode() + b'\n')
        self.process.stdin.flush()
        head = self.process.stdout.readline().decode().rstrip('\n')
        word, rest = head.split(' ', 1)
        if word == 'error':
            return 0, rest
        return int(word), self.process.stdout.read(int(rest))

    def end(self):
        """The figures of the last line."""
        out, _ = self.process.communicate(timeout=PATIENCE)
        words = out.decode().split()
        assert self.process.returncode == 0
        return dict(zip(words[::2], map(int, words[1::2])))


@pytest.fixture
def nginx(folders, authority):
    folder = folders()
    os.mkdir(os.path.join(folder, 'www'))
    with open(os.path.join(folder, 'www', 'large'), 'wb') as file:
        file.write(os.urandom(LARGE))
    config = os.path.join(folder, 'nginx.conf')
    with open(config, 'w', encoding='ascii') as file:
        file.write(NGINX.format(folder, *authority.good))
    binary = shutil.which('nginx', path=os.environ['PATH'] + ':/usr/sbin')
    process = subprocess.Popen([binary, '-c', config, '-p', folder, '-e', f'{folder}/error.log'])
    until(lambda: os.path.exists(f'{folder}/pid'), what='nginx')
    yield folder
    process.terminate()
    process.wait(PATIENCE)


@pytest.mark.parametrize('socket', ['plain', 'tls'])
def test_nginx_is_asked_over_one_connection(nginx, authority, socket):
    name = authority.name if socket == 'tls' else ''
    ask = Ask('localhost', 0, f'{nginx}/{socket}', name, authority.ca)
    with open(f'{nginx}/www/large', 'rb') as file:
        content = file.read()
    assert ask.call('GET /large') == (200, content)
    assert ask.call('HEAD /large') == (200, b'')
    assert ask.call('GET /empty') == (204, b'')
    assert ask.call('GET /teapot') == (418, b'short and stout')
    assert ask.call('GET /missing')[0] == 404
    assert ask.call('GET /gate/large') == (200, content)
    assert ask.end() == {'connections': 1, 'reused': 5, 'retried': 0}


def test_nginx_may_refuse_a_body_while_it_is_sent(nginx):
    ask = Ask('localhost', 0, f'{nginx}/plain')
    assert ask.call(f'POST /gate/large {LARGE}')[0] == 413
    assert ask.call('GET /teapot')[0] == 418
    assert ask.end()['connections'] == 2


def test_nginx_under_another_name_is_not_trusted(nginx, authority):
    ask = Ask('localhost', 0, f'{nginx}/tls', 'www.example.com', authority.ca)
    status, reason = ask.call('GET /teapot')
    assert status == 0 and 'mismatch' in reason
    ask.end()


class Handler(http.server.BaseHTTPRequestHandler):
    """/drop answers and then closes the connection without having said so."""
    protocol_version = 'HTTP/1.1'

    def chunked(self):
        body = b''
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def answer(self, body):
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.close_connection = self.path == '/drop'
        self.answer(b'hello')

    def do_PUT(self):
        self.answer(b'%d' % len(self.chunked()))

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    """Tells when it has closed a connection."""
    daemon_threads = True

    def __init__(self):
        self.closed = threading.Event()
        super().__init__(('127.0.0.1', 0), Handler)

    def shutdown_request(self, request):
        super().shutdown_request(request)
        self.closed.set()


@pytest.fixture
def python():
    server = Server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize('host', ['127.0.0.1', 'localhost'])
def test_python_takes_a_body_in_chunks(python, host):
    ask = Ask(host, python.server_port)
    assert ask.call(f'PUT / {LARGE}') == (200, b'%d' % LARGE)
    assert ask.call('GET /') == (200, b'hello')
    assert ask.end()['reused'] == 1


def test_a_connection_that_was_closed_meanwhile_is_replaced(python):
    ask = Ask('127.0.0.1', python.server_port)
    assert ask.call('GET /drop') == (200, b'hello')
    assert python.closed.wait(PATIENCE)
    assert ask.call('GET /') == (200, b'hello')
    assert ask.end() == {'connections': 2, 'reused': 1, 'retried': 1}
