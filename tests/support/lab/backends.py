# SPDX-License-Identifier: Apache-2.0
"""Servers of others that speak TLS and HTTP/2: nginx, HAProxy, Node, and openssl s_server."""
import json
import os
import pathlib
import subprocess
import threading

from lab.ports import free_port
from lab.process import DIE_WITH_PARENT
from lab.proxies import listens
from lab.wait import PATIENCE, until

HERE = os.path.dirname(os.path.abspath(__file__))
NODE = os.path.join(HERE, '..', 'node', 'h2_server.js')
NGINX = '''
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 1000; }}
http {{
 log_format seen '$ssl_session_reused $ssl_server_name $server_protocol $ssl_protocol'; access_log {folder}/seen seen;
 client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3; uwsgi_temp_path {folder}/4;
 scgi_temp_path {folder}/5; {http}
 server {{ listen 127.0.0.1:{port} {options}; {server}
  location / {{ return 200 "$server_protocol $ssl_client_s_dn"; }} }}
}}
'''
HAPROXY = '''
global
 tune.ssl.default-dh-param 2048
defaults
 mode http
 timeout connect 5s
 timeout client 30s
 timeout server 30s
frontend f
 bind 127.0.0.1:{port} {options}
 http-request return status 200 content-type text/plain lf-string "%[req.ver] %[ssl_fc_sni]"
'''


class Backend:
    """A process that listens on a port of its own."""

    def __init__(self, command, port, stdout=subprocess.DEVNULL):
        self.port = port
        self.process = subprocess.Popen([*DIE_WITH_PARENT, *command], stdin=subprocess.PIPE, stdout=stdout,
                                        stderr=subprocess.DEVNULL, text=True)

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


class Node(Backend):
    """See h2_server.js. said: what it has written."""

    def __init__(self, port=0, **how):
        super().__init__(['node', NODE, json.dumps({**how, 'port': port})], port, subprocess.PIPE)
        self.said = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        until(lambda: self.said)
        self.port = self.said[0]['port']

    def _read(self):
        for line in self.process.stdout:
            self.said.append(json.loads(line))

    def sessions(self):
        return [line for line in self.said if 'session' in line and 'path' not in line]

    def requests(self, path=None):
        """There is at least one: a line may come after the answer."""
        until(lambda: any('path' in line and path in (None, line['path']) for line in self.said), what=f'a request for {path}')
        return [line for line in self.said if 'path' in line and path in (None, line['path'])]


class Backends:
    """Those that were started end with it."""

    def __init__(self, folder):
        self.folder, self.running = pathlib.Path(folder), []

    def _add(self, backend):
        self.running.append(backend)
        if backend.port:
            until(lambda: listens(backend.port))
        return backend

    def node(self, **how):
        return self._add(Node(**how))

    def nginx(self, options, server='', http='', port=None):
        """seen: the path of its log."""
        folder, port = self.folder / f'nginx-{len(self.running)}', port or free_port()
        folder.mkdir()
        folder.chmod(0o777)
        (folder / 'config').write_text(NGINX.format(folder=folder, port=port, options=options, server=server, http=http))
        backend = self._add(Backend(['nginx', '-c', str(folder / 'config')], port))
        backend.seen = folder / 'seen'
        return backend

    def haproxy(self, options):
        port, path = free_port(), self.folder / f'haproxy-{len(self.running)}'
        path.write_text(HAPROXY.format(port=port, options=options))
        return self._add(Backend(['haproxy', '-db', '-f', str(path)], port))

    def openssl(self, *options):
        """A web server that answers every request with the state of its connection."""
        port = free_port()
        return self._add(Backend(['openssl', 's_server', '-accept', f'127.0.0.1:{port}', '-www', '-quiet', *options], port))

    def __enter__(self):
        return self

    def __exit__(self, *args):
        for backend in self.running:
            backend.stop()
