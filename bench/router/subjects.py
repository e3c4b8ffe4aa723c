# SPDX-License-Identifier: Apache-2.0
"""What is measured: maglev-router, HAProxy and nginx, told to do the same.

Each has one thread on one core, kept connections to one server, the fields X-Forwarded-For, -Proto and -Host, no access
log, and as many routes as asked for: prefixes of the path, each of which could have a pool of its own."""
import json
import os

from lab import SUBJECT_CPU, Process, is_listening, write_file

# all below the ports that connections get
SERVER = '127.0.0.1:8080'
SERVER_PORT = 8080
PORTS = {'maglev-router': 8081, 'HAProxy': 8082, 'nginx': 8083}
ADMIN_PORT = 9901


def prefix(i):
    return f'/team{i % 100}/service{i}/'


class Router(Process):
    title = 'maglev-router'
    threaded = True

    def __init__(self, program, routes, folder, realtime, threads=1, cpus=None):
        config = os.path.join(folder, 'router.json')
        write_file(config, json.dumps(self.document(routes)))
        super().__init__([program, '--config', config, '--threads', str(threads), '--admin-addr',
                          f'127.0.0.1:{ADMIN_PORT}', '--grpc-addr', '', '--log-level', 'warn'], cpus or SUBJECT_CPU,
                         os.path.join(folder, 'router.log'), realtime)
        self.wait_until(lambda: is_listening(PORTS[self.title]), 'listening')

    @staticmethod
    def document(routes):
        return {'listeners': [{'name': 'http', 'address': f'127.0.0.1:{PORTS["maglev-router"]}'}],
                'routes': [{'name': f'route{i}', 'path_prefix': prefix(i), 'pool': 'servers'} for i in range(routes)],
                'default_route': {'pool': 'servers'},
                'pools': [{'name': 'servers', 'servers': [SERVER], 'limits': {'idle': 1024}}]}


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
	http-request set-header X-Forwarded-Proto http
	http-request set-header X-Forwarded-Host %[req.hdr(host)]
	{choice}
backend servers
	server one {SERVER} pool-max-conn 1024
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
	upstream servers {{ server {SERVER}; keepalive 1024; keepalive_requests 100000000; }}
	proxy_http_version 1.1;
	proxy_set_header Connection "";
	proxy_set_header Host $http_host;
	proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
	proxy_set_header X-Forwarded-Proto $scheme;
	proxy_set_header X-Forwarded-Host $http_host;
	server {{
	listen 127.0.0.1:{PORTS[self.title]} backlog=32768;
	location / {{ proxy_pass http://servers; }}
{places}	}}
}}
''')
        super().__init__(['nginx', '-e', os.path.join(folder, 'nginx-error.log'), '-c', config], SUBJECT_CPU,
                         os.path.join(folder, 'nginx.log'), realtime)
        self.wait_until(lambda: is_listening(PORTS[self.title]), 'listening')
