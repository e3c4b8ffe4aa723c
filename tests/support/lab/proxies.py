# SPDX-License-Identifier: Apache-2.0
"""HAProxy and nginx of the distribution, with plain configurations."""
import re
import socket
import subprocess

from lab.ports import free_port
from lab.wait import PATIENCE, until

HAPROXY = '''
defaults
 mode http
 timeout connect 5s
 timeout client 5s
 timeout server 5s
 retries 0
 http-reuse always
frontend f
 bind 127.0.0.1:{port}
 default_backend b
backend b
 server s 127.0.0.1:{server}
'''
NGINX = '''
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 1000; }}
http {{
 access_log off; client_body_buffer_size 1m; client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
 uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
 upstream u {{ server 127.0.0.1:{server} max_fails=0; keepalive 16; }}
 server {{ listen 127.0.0.1:{port}; location / {{
  proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host; }} }}
}}
'''
KINDS = {'HAProxy': (HAPROXY, ['haproxy', '-db', '-f']), 'nginx': (NGINX, ['nginx', '-c'])}


def listens(port):
    try:
        socket.create_connection(('127.0.0.1', port), 1).close()
        return True
    except OSError:
        return False


def version(name):
    done = subprocess.run([name.lower(), '-v'], capture_output=True, text=True, check=True)
    return re.search(r'\d+\.\d+\.\d+', done.stdout + done.stderr).group()


class Proxies:
    """Those that were started end with it."""

    def __init__(self, folder):
        self.folder, self.running = folder, []

    def start(self, name, server, http2=False):
        """Before a server with a port; returns its own. HAProxy speaks HTTP/1.1 and HTTP/2 on one port, nginx one of them."""
        text, command = KINDS[name]
        if http2:
            text = text.replace('listen 127.0.0.1:{port};', 'listen 127.0.0.1:{port} http2;')
        port, folder = free_port(), self.folder / f'{name}-{len(self.running)}'
        folder.mkdir()
        folder.chmod(0o777)
        (folder / 'config').write_text(text.format(port=port, server=server.port, folder=folder))
        self.running.append(subprocess.Popen([*command, str(folder / 'config')], stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL))
        until(lambda: listens(port))
        return port

    def __enter__(self):
        return self

    def __exit__(self, *args):
        for process in self.running:
            process.terminate()
            process.wait(PATIENCE)
