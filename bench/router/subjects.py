# SPDX-License-Identifier: Apache-2.0
"""What is measured: maglev-router, HAProxy and nginx, told to do the same.

Each has one thread on one core, kept connections to one server, the fields X-Forwarded-For, -Proto and -Host, no access
log, and as many routes as asked for: prefixes of the path, each of which could have a pool of its own. Each listens for
HTTP/1.1, for HTTP/2 without TLS, and for both with TLS and one certificate (ECDSA P-256)."""
import json
import os
import subprocess

from lab import SUBJECT_CPU, LabError, Process, is_listening, write_file

# all below the ports that connections get
SERVER = '127.0.0.1:8080'
SERVER_PORT = 8080
CALLS_PORT = 8084
CALLS = f'127.0.0.1:{CALLS_PORT}'
SERVICE = 'bench.Calls'  # of gRPC
PORTS = {'maglev-router': 8081, 'HAProxy': 8082, 'nginx': 8083}
H2C, SECURE = 10, 20  # what is added to the port for HTTP/2 without TLS, and for TLS
ADMIN_PORT = 9901


def make_certificate(folder):
    """bench.pem with certificate and key, and the two alone: HAProxy wants the first, others the second."""
    parts = [os.path.join(folder, name) for name in ('bench.crt', 'bench.key')]
    done = subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
                           '-subj', '/CN=bench', '-addext', 'subjectAltName=DNS:bench,IP:127.0.0.1', '-out', parts[0],
                           '-keyout', parts[1]], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f'openssl: {done.stderr}')
    texts = []
    for part in parts:
        with open(part, encoding='ascii') as f:
            texts.append(f.read())
    write_file(os.path.join(folder, 'bench.pem'), ''.join(texts))


def prefix(i):
    return f'/team{i % 100}/service{i}/'


class Router(Process):
    title = 'maglev-router'
    threaded = True

    def __init__(self, program, routes, folder, realtime, threads=1, cpus=None, calls=False):
        config = os.path.join(folder, 'router.json')
        document = self.document(routes)
        document['listeners'].append({'name': 'https', 'address': f'127.0.0.1:{PORTS[self.title] + SECURE}', 'tls': {
            'certificates': [{'certificate': os.path.join(folder, 'bench.crt'), 'key': os.path.join(folder, 'bench.key')}]}})
        if calls:
            self.add_calls(document)
        write_file(config, json.dumps(document))
        super().__init__([program, '--config', config, '--threads', str(threads), '--admin-addr',
                          f'127.0.0.1:{ADMIN_PORT}', '--grpc-addr', '', '--log-level', 'warn'], cpus or SUBJECT_CPU,
                         os.path.join(folder, 'router.log'), realtime)
        self.wait_until(lambda: is_listening(PORTS[self.title]), 'listening')

    @staticmethod
    def document(routes):
        port = PORTS['maglev-router']
        return {'listeners': [{'name': 'http', 'address': f'127.0.0.1:{port}'}, {'name': 'h2c', 'address': f'127.0.0.1:{port + H2C}'}],
                'routes': [{'name': f'route{i}', 'path_prefix': prefix(i), 'pool': 'servers'} for i in range(routes)],
                'default_route': {'pool': 'servers'},
                'pools': [{'name': 'servers', 'servers': [SERVER], 'limits': {'idle': 1024}}]}

    @staticmethod
    def add_calls(document):
        document['routes'].append({'name': 'calls', 'pool': 'calls', 'matches': [{'grpc': {'service': SERVICE}}]})
        document['pools'].append({'name': 'calls', 'servers': [CALLS], 'protocol': 'h2'})


class Haproxy(Process):
    title = 'HAProxy'

    def __init__(self, routes, folder, realtime):
        config, table = os.path.join(folder, 'haproxy.cfg'), os.path.join(folder, 'haproxy.map')
        write_file(table, ''.join(f'{prefix(i)} servers\n' for i in range(routes)))
        choice = f'use_backend %[path,map_beg({table},servers)]' if routes else 'default_backend servers'
        write_file(config, f'''global
	nbthread 1
	maxconn 9000
defaults
	mode http
	timeout connect 5s
	timeout client 60s
	timeout server 60s
	option forwardfor
	http-reuse always
frontend http
	bind 127.0.0.1:{PORTS[self.title]}
	bind 127.0.0.1:{PORTS[self.title] + H2C} proto h2
	bind 127.0.0.1:{PORTS[self.title] + SECURE} ssl crt {folder}/bench.pem alpn h2,http/1.1
	http-request set-header X-Forwarded-Proto http unless {{ ssl_fc }}
	http-request set-header X-Forwarded-Proto https if {{ ssl_fc }}
	http-request set-header X-Forwarded-Host %[req.hdr(host)]
	use_backend calls if {{ path_beg /{SERVICE}/ }}
	{choice}
backend servers
	server one {SERVER} pool-max-conn 1024
backend calls
	server one {CALLS} proto h2
''')
        super().__init__(['haproxy', '-db', '-f', config], SUBJECT_CPU, os.path.join(folder, 'haproxy.log'),
                         realtime)
        self.wait_until(lambda: is_listening(PORTS[self.title]), 'listening')


class Nginx(Process):
    title = 'nginx'

    def __init__(self, routes, folder, realtime):
        config = os.path.join(folder, 'nginx.conf')
        paths = [f'{part}_temp_path {folder}/{part};' for part in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi')]
        places = ''.join(f'\tlocation {prefix(i)} {{ proxy_pass http://servers; }}\n' for i in range(routes))
        write_file(config, f'''daemon off; master_process off; pid {folder}/nginx.pid;

events {{ worker_connections 19000; }}
http {{
	access_log off; keepalive_requests 100000000; {' '.join(paths)}
	ssl_certificate {folder}/bench.crt; ssl_certificate_key {folder}/bench.key; ssl_protocols TLSv1.2 TLSv1.3;
	upstream calls {{ server {CALLS}; keepalive 1024; keepalive_requests 100000000; }}
	upstream servers {{ server {SERVER}; keepalive 1024; keepalive_requests 100000000; }}
	proxy_http_version 1.1;
	proxy_set_header Connection "";
	proxy_set_header Host $http_host;
	proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
	proxy_set_header X-Forwarded-Proto $scheme;
	proxy_set_header X-Forwarded-Host $http_host;
	server {{
	listen 127.0.0.1:{PORTS[self.title]} backlog=32768;
	listen 127.0.0.1:{PORTS[self.title] + H2C} http2 backlog=32768;
	listen 127.0.0.1:{PORTS[self.title] + SECURE} ssl http2 backlog=32768;
	location / {{ proxy_pass http://servers; }}
	location /{SERVICE}/ {{
		grpc_pass grpc://calls;
		grpc_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
		grpc_set_header X-Forwarded-Proto $scheme;
		grpc_set_header X-Forwarded-Host $http_host;
	}}
{places}	}}
}}
''')
        super().__init__(['nginx', '-e', os.path.join(folder, 'nginx-error.log'), '-c', config], SUBJECT_CPU,
                         os.path.join(folder, 'nginx.log'), realtime)
        self.wait_until(lambda: is_listening(PORTS[self.title]), 'listening')
