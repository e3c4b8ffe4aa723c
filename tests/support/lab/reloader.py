# SPDX-License-Identifier: Apache-2.0
"""frr-reloader on one FRR, with its clients."""
import http.client
import json
import os
import socket
import threading

from lab.daemon import Daemon
from lab.wait import PATIENCE


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=PATIENCE):
        super().__init__('unix', timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Way(str):
    """A word that explains itself where it is not the expected one."""

    def __new__(cls, word, reason):
        it = super().__new__(cls, word)
        it.reason = reason
        return it

    def __repr__(self):
        return f'{str(self)} ({self.reason})'


class Reloader(Daemon):
    """patience: s that a client waits for an answer."""

    def __init__(self, folder, frr, *args, patience=PATIENCE, **options):
        super().__init__(folder, 'frr-reloader', '--shared-volume', folder, '--config', os.path.join(folder, 'frr.conf'),
                         '--pathspace', frr.pathspace, '--frr-reload', frr.system.reload, '--vtysh', frr.system.vtysh,
                         *args, **options)
        self.frr, self.patience = frr, patience
        self.socket = os.path.join(folder, 'frr-reloader.sock')

    def start(self, ready=True):
        super().start(ready)
        if ready:
            self.wait('listening', self._began, **{'for': 'requests'})
        return self

    def write(self, text):
        """Replaces the file, as a client does."""
        path = os.path.join(self.folder, 'frr.conf')
        new = f'{path}.{threading.get_ident()}'
        with open(new, 'w', encoding='ascii') as file:
            file.write(text)
        os.rename(new, path)

    def call(self, method='POST', path='/', body=None):
        connection = UnixConnection(self.socket, self.patience)
        connection.request(method, path, body)
        answer = connection.getresponse()
        content = answer.read().decode()
        connection.close()
        return answer.status, content

    def reload(self, text=None, number=7):
        """Applies text; the answer as {'id', 'result'}."""
        if text is not None:
            self.write(text)
        status, content = self.call(body=json.dumps({'action': 'reload', 'id': number}))
        assert status == 200, content
        return json.loads(content)

    def way(self):
        """How the last reload was done: fast or full, and why."""
        way = self.all('reloaded')[-1]['way']
        return Way(way, self.all('full-reload')[-1]['reason'] if self.all('full-reload') else '')
