# SPDX-License-Identifier: Apache-2.0
"""Any daemon of ours as a child process: its log, ports, metrics, signals and end.

Every daemon takes --log-level and --metrics-addr, writes JSON lines with time, level and msg to standard output, logs
`listening` with `for` and `addr` for each listener, and ends with 0 on SIGTERM. So a test needs no more than

    router = start_daemon('maglev-router', '--config', path)
    router.wait('route-added', host='example.net')
    assert router.metrics().one('maglev_router_routes') == 1

and the fixture stops it at the end and checks its output.
"""
import contextlib
import fcntl
import http.client
import json
import socket
import subprocess

from lab.log import Log
from lab.metrics import Metrics
from lab.process import Process
from lab.programs import runner
from lab.wait import PATIENCE, until

PIPE = 1 << 20


class Answer:
    def __init__(self, answer):
        self.status, self.headers, self.body = answer.status, answer.headers, answer.read()

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)


class Daemon(Process):
    """listener: the one that shows that it is ready, and whose port is .port."""
    listener = 'metrics'

    def __init__(self, folder, name, *args, level='debug', metrics='127.0.0.1:0', env=None, prefix=(), namespace=None,
                 **how):
        """metrics: for --metrics-addr; None: without that flag. prefix: a command that runs it. how: see runner().
        """
        given = ('--log-level', level, *(('--metrics-addr', metrics) if metrics is not None else ()))
        super().__init__(folder, name, [*prefix, *runner(name, **how), *given, *args], env, namespace)
        self.log, self.port = Log(), None

    # ---- life ----

    def start(self, ready=True):
        """ready: wait until it listens."""
        self._began = self.mark()
        super().start(subprocess.PIPE)
        fcntl.fcntl(self.process.stdout, fcntl.F_SETPIPE_SZ, PIPE)  # a daemon drops lines rather than block on its log
        self.log.follow(self.process.stdout)
        if ready:
            self.port = self.port_of(self.listener)
        return self

    def end(self, timeout=PATIENCE):
        """Waits for the end and for all of its output; returns the exit status."""
        status = super().end(timeout)
        self.log.join(timeout)
        return status

    def check_words(self):
        self.log.join()
        super().check_words()
        assert not self.broken, f'{self.name} wrote broken lines: {self.broken[:3]}'

    # ---- its log ----

    @property
    def lines(self):
        return self.log.lines

    @property
    def broken(self):
        return self.log.broken

    def unread(self):
        """Context manager: stops reading the log, so that the pipe fills up."""
        return self.log.changed

    def mark(self):
        """The current position in the log, to look only at later lines."""
        return self.log.mark()

    def all(self, msg, since=0, **fields):
        """The lines with this message and these fields."""
        return self.log.all(msg, since, **fields)

    def wait(self, msg, since=0, timeout=PATIENCE, count=1, **fields):
        """Waits for the count-th such line after since."""
        return self.log.wait(msg, since, timeout, count, self._ending, **fields)

    def _ending(self):
        """What is known of its end. Its pipes may be closed a moment before it can be waited for."""
        if self.log.over:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(PATIENCE)
        return f'exit status {self.process.poll()}, said {self.said()[-2000:]!r}'

    def port_of(self, listener):
        """Waits for the port of this listener in the log."""
        return int(self.wait('listening', self._began, **{'for': listener})['addr'].rsplit(':', 1)[1])

    # ---- its HTTP server ----

    def http(self, port=None, address='127.0.0.1', inside=None, timeout=PATIENCE):
        """An HTTP connection to it, from its own namespace or from another one."""
        connection = http.client.HTTPConnection(address, port or self.port, timeout=timeout)
        namespace = inside or self.namespace
        if namespace:
            connection.sock = namespace.inside(socket.create_connection, (address, port or self.port), timeout)
        return connection

    def ask(self, method, path, headers=None, body=None, **where):
        """where: see http()."""
        connection = self.http(**where)
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **where):
        """(status, body as text)"""
        answer = self.ask('GET', path, **where)
        return answer.status, answer.text

    def metrics(self):
        status, text = self.get('/metrics')
        assert status == 200, text
        return Metrics(text)

    def wait_metric(self, name, expected, timeout=PATIENCE, **labels):
        return until(lambda: self.metrics().one(name, **labels) == expected, timeout,
                     f'{name}{labels} becoming {expected}')
