# SPDX-License-Identifier: Apache-2.0
"""maglevd-frontend as a child process, and browsers that read its API and its stream."""
import base64
import http.client
import json
import os
import socket
import ssl
import threading
import time

from lab.daemon import Daemon
from lab.wait import PATIENCE, until

ACT = {'X-Maglev-Admin': '1', 'Content-Type': 'application/json'}
USER, PASSWORD = 'operator', 's3cret: ü'
CREDENTIALS = {'MAGLEV_FRONTEND_USER': USER, 'MAGLEV_FRONTEND_PASSWORD': PASSWORD}


def basic(user=USER, password=PASSWORD):
    return {'Authorization': 'Basic ' + base64.b64encode(f'{user}:{password}'.encode()).decode()}


class Dashboard(Daemon):
    """servers: values of --server. tls: the CA certificate to trust, or None. options: see Daemon."""
    listener = 'http'

    def __init__(self, folder, servers, env=None, args=(), tls=None, metrics=None, **options):
        super().__init__(folder, 'maglevd-frontend', '--server', ','.join(servers), '--listen', '127.0.0.1:0', *args,
                         metrics=metrics, **options)
        self.env = {**{k: v for k, v in os.environ.items() if not k.startswith('MAGLEV_FRONTEND_')}, **(env or {})}
        self.tls, self.streams = tls, []

    def stop(self):
        for stream in self.streams:
            stream.close()
        super().stop()

    # ---- as a browser ----

    def http(self, port=None, timeout=PATIENCE, **where):
        if not self.tls:
            return super().http(port, timeout=timeout, **where)
        context = ssl.create_default_context(cafile=self.tls)
        return http.client.HTTPSConnection('localhost', port or self.port, timeout=timeout, context=context)

    def act(self, path, body=None, **headers):
        """POST with all required headers; others, with _ for -, are added or replaced, None: left out."""
        given = {**ACT, **basic(), **{k.replace('_', '-'): v for k, v in headers.items()}}
        return self.ask('POST', f'/admin/api/{path}', {k: v for k, v in given.items() if v is not None},
                        json.dumps(body if body is not None else {}))

    def state(self, name=None):
        """The state of one server, or of all."""
        answer = self.ask('GET', '/view/api/state' + (f'/{name}' if name else ''))
        assert answer.status == 200, answer.body
        return answer.json

    def backend(self, server, name):
        return next((one for one in self.state(server)['backends'] if one['name'] == name), None)

    def wait_connected(self, *names, connected=True, timeout=PATIENCE):
        def states():
            return {one['name']: one['connected'] for one in self.ask('GET', '/view/api/maglevds').json}
        until(lambda: all(states()[name] == connected for name in names), timeout, f'{names} connected: {connected}')

    def speaker(self, name):
        """The state of one speaker."""
        answer = self.ask('GET', f'/view/api/speakers/{name}')
        assert answer.status == 200, answer.body
        return answer.json

    def wait_speaker(self, name, connected=True, timeout=PATIENCE):
        until(lambda: self.speaker(name)['connected'] == connected, timeout, f'speaker {name} connected: {connected}')

    def watch(self, last=None, query=''):
        self.streams.append(EventStream(self, last, query))
        return self.streams[-1]


class EventStream:
    """The stream of events, as dicts with their id; comments are kept apart."""

    def __init__(self, dashboard, last=None, query=''):
        self.events, self.comments, self.times, self.ended = [], [], [], False
        self._changed = threading.Condition()
        self.connection = dashboard.http(timeout=3 * PATIENCE)
        self.connection.request('GET', '/view/api/events' + query, headers={'Last-Event-ID': last} if last else {})
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _take(self, fields):
        with self._changed:
            if 'data' in fields:
                self.events.append({**json.loads(fields['data']), 'id': fields['id']})
                self.times.append(time.time())
            self._changed.notify_all()

    def _read(self):
        fields = {}
        try:
            while line := self.answer.readline():
                name, _, value = line.decode().rstrip('\n').partition(': ')
                if not name and value:
                    self.comments.append(value)
                elif name:
                    fields[name] = value
                else:
                    self._take(fields)
                    fields = {k: v for k, v in fields.items() if k == 'retry'}
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        with self._changed:
            self.ended, self.retry = True, fields.get('retry')
            self._changed.notify_all()

    def close(self):
        if self.connection.sock:
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join(PATIENCE)
        self.connection.close()

    def find(self, kind, where=lambda event: True):
        with self._changed:
            return [event for event in self.events if event['type'] == kind and where(event)]

    def wait(self, kind, where=lambda event: True, timeout=PATIENCE):
        """Waits for the first matching event."""
        end = time.monotonic() + timeout
        while True:
            found = self.find(kind, where)
            if found:
                return found[0]
            with self._changed:
                left = end - time.monotonic()
                assert left > 0 and not self.ended, f'no {kind}; {[e["type"] for e in self.events[-20:]]}'
                self._changed.wait(min(left, 0.1))

    def wait_end(self, timeout=PATIENCE):
        until(lambda: self.ended, timeout, 'the end of the stream')
