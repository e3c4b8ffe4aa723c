# SPDX-License-Identifier: Apache-2.0
"""What is measured (HAProxy and maglevd, told to do the same checks) and the TLS server they check."""
import http.client
import os
import re
import shutil
import socket
import subprocess
import time

from lab import SERVER_CPU, SUBJECT_CPU, LabError, Process, is_listening, target, write_file

HTTP_PORT, HTTPS_PORT, STATUS_PORT, ADMIN_PORT = 8080, 8443, 8081, 9091
SERVER_NAME = 'server.example'
PER_FRONTEND = 10
USER_AGENT = 'maglevd/0.1.0 (health check)'


class Scenario:
    """One kind of check, every second, of n servers."""

    def __init__(self, kind, n):
        self.kind, self.n = kind, n  # http, keep-alive, tcp, https
        self.port = HTTPS_PORT if kind == 'https' else HTTP_PORT

    def __str__(self):
        return f'{self.kind} {self.n}'


# ---- HAProxy ----

HAPROXY_HTTP = f'''
	option httpchk
	http-check send meth GET uri / ver HTTP/1.1 hdr Host {SERVER_NAME} hdr User-Agent "{USER_AGENT}"
	http-check expect status 200-399
'''


def haproxy_config(scenario, folder):
    server = 'check inter 1s fastinter 1s downinter 1s rise 2 fall 3'
    if scenario.kind == 'https':
        server += (f' check-ssl verify required ca-file {folder}/server.pem'
                   f' check-sni {SERVER_NAME} verifyhost {SERVER_NAME}')
    lines = [f'''global
	nbthread 1
	maxconn 64
	spread-checks 10
	stats socket {folder}/haproxy.sock
defaults
	mode {'tcp' if scenario.kind == 'tcp' else 'http'}
	timeout connect 1s
	timeout client 1s
	timeout server 1s
	timeout check 1s
frontend nobody
	bind 127.0.0.1:{ADMIN_PORT}
	default_backend servers
backend servers{'' if scenario.kind == 'tcp' else HAPROXY_HTTP}
	default-server {server}''']
    lines += [f'\tserver s{i} {target(i)}:{scenario.port}' for i in range(scenario.n)]
    return '\n'.join(lines) + '\n'


class Haproxy(Process):
    title = 'HAProxy'

    def __init__(self, scenario, folder, realtime):
        self.socket = os.path.join(folder, 'haproxy.sock')
        config = os.path.join(folder, 'haproxy.cfg')
        write_file(config, haproxy_config(scenario, folder))
        super().__init__(['haproxy', '-q', '-db', '-f', config], SUBJECT_CPU, os.path.join(folder, 'haproxy.log'),
                         realtime)
        self.wait_until(lambda: is_listening(ADMIN_PORT), 'listening')

    def up(self):
        """How many servers it takes for healthy."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.socket)
            s.sendall(b'show stat servers 4 -1\n')
            answer = b''.join(iter(lambda: s.recv(65536), b''))
        return len(re.findall(rb'^servers,s\d+,.*?,UP,', answer, re.M))


# ---- maglevd ----

CHECKS = {
    'http': 'type: http, keep-alive: false',
    'keep-alive': 'type: http, keep-alive: true',
    'tcp': 'type: tcp',
    'https': 'type: https',
}


def maglevd_config(scenario, timeout='1s', dataplane='none', sync_interval='1h', enabled=True):
    params = ''
    if scenario.kind != 'tcp':
        name = f', server-name: {SERVER_NAME}' if scenario.kind == 'https' else ''
        params = f', params: {{ path: /, host: {SERVER_NAME}, response-code: 200-399{name} }}'
    off = '' if enabled else ', enabled: false'
    lines = [f'''maglev:
  dataplane: {dataplane}
  vpp:
    lb: {{ ipv4-src-address: 192.0.2.1, ipv6-src-address: "2001:db8::1", sync-interval: {sync_interval},
          startup-min-delay: 1s, startup-max-delay: 2s }}
  healthchecks:
    web: {{ {CHECKS[scenario.kind]}, port: {scenario.port}, interval: 1s, timeout: {timeout}{params} }}
  backends:''']
    lines += [f'    s{i}: {{ address: {target(i)}, healthcheck: web{off} }}' for i in range(scenario.n)]
    lines.append('  frontends:')
    for f in range(-(-scenario.n // PER_FRONTEND)):
        members = range(f * PER_FRONTEND, min((f + 1) * PER_FRONTEND, scenario.n))
        backends = ', '.join(f's{i}: {{}}' for i in members)
        lines.append(f'    f{f}: {{ address: 10.0.{f // 250}.{1 + f % 250}, protocol: tcp, port: 80, '
                     f'pools: [ {{ name: primary, backends: {{ {backends} }} }} ] }}')
    return '\n'.join(lines) + '\n'


class Maglevd(Process):
    title = 'maglevd'

    def __init__(self, program, config, folder, realtime, level='warn', cpus=SUBJECT_CPU):
        self.config = os.path.join(folder, 'maglevd.yaml')
        write_file(self.config, config)
        super().__init__([program, '--config', self.config, '--metrics-addr', f'127.0.0.1:{ADMIN_PORT}',
                          '--log-level', level], cpus, os.path.join(folder, 'maglevd.log'), realtime,
                         env={'SSL_CERT_FILE': os.path.join(folder, 'server.pem')})
        self.wait_until(lambda: is_listening(ADMIN_PORT), 'listening')

    def metrics(self):
        return Metrics(fetch(ADMIN_PORT, '/metrics'))

    def up(self):
        return sum(value for labels, value in self.metrics().rows('maglev_backend_state')
                   if labels.get('state') == 'up')


def fetch(port, path):
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=10)
    try:
        connection.request('GET', path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


class Metrics:
    """One scrape."""

    def __init__(self, text):
        self.text = text

    def rows(self, name):
        for line in re.findall(rf'^{name}(\{{.*\}})? (\S+)$', self.text, re.M):
            yield dict(re.findall(r'(\w+)="([^"]*)"', line[0])), float(line[1])

    def value(self, name):
        return sum(value for _, value in self.rows(name))


# ---- the TLS server ----

NGINX = '''daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log;
events {{ worker_connections 8192; }}
http {{
	access_log off;
	client_body_temp_path {folder}/nginx-body;
	proxy_temp_path {folder}/nginx-proxy;
	fastcgi_temp_path {folder}/nginx-fastcgi;
	uwsgi_temp_path {folder}/nginx-uwsgi;
	scgi_temp_path {folder}/nginx-scgi;
	ssl_certificate {folder}/server.pem;
	ssl_certificate_key {folder}/server.key;
	ssl_session_cache shared:sessions:20m;
	server {{ listen 0.0.0.0:{https} ssl backlog=8192; location / {{ return 200 "OK\\n"; }} }}
	server {{ listen 127.0.0.1:{status}; location / {{ stub_status; }} }}
}}
'''


def make_certificate(folder):
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
                    '-days', '2', '-subj', f'/CN={SERVER_NAME}', '-addext', f'subjectAltName=DNS:{SERVER_NAME}',
                    '-keyout', f'{folder}/server.key', '-out', f'{folder}/server.pem'],
                   check=True, capture_output=True)


class Nginx(Process):
    def __init__(self, folder, realtime):
        config = os.path.join(folder, 'nginx.conf')
        write_file(config, NGINX.format(folder=folder, https=HTTPS_PORT, status=STATUS_PORT))
        super().__init__(['nginx', '-e', os.path.join(folder, 'nginx-error.log'), '-c', config], SERVER_CPU,
                         os.path.join(folder, 'nginx.log'), realtime)
        self.asked = 0
        self.wait_until(lambda: is_listening(HTTPS_PORT), 'listening')

    def answered(self):
        """Requests it has served, without these questions."""
        self.asked += 1
        found = re.search(r'^ (\d+) (\d+) (\d+)', fetch(STATUS_PORT, '/'), re.M)
        return int(found[3]) - self.asked


def missing_programs():
    return [name for name in ('haproxy', 'nginx', 'openssl', 'ip') if not shutil.which(name)]


def wait_for_probes(process, counter, wanted, seconds=60):
    """Until the servers have seen that many probes from now on."""
    first, deadline = counter(), time.monotonic() + seconds
    while counter() - first < wanted:
        process.check()
        if time.monotonic() > deadline:
            raise LabError(f'{process.name}: {counter() - first} of {wanted} probes after {seconds} s')
        time.sleep(0.1)
