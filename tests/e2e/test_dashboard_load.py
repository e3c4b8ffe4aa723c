# SPDX-License-Identifier: Apache-2.0
"""A thousand browsers on one process, one of them slow: bounded memory, the others on time."""
import os
import re
import resource
import selectors
import signal
import socket
import time

import pytest

from lab import PATIENCE, SLACK, VIP, config, frontend, pool, until
from lab.turns import waited

BROWSERS = 1000
ACTS, AT_ONCE = 200, 5
NAMES = [f'backend-{i:02}' for i in range(20)]
CROWD = config(backends={name: f'10.99.1.{i}' for i, name in enumerate(NAMES, 1)},
               frontends={'www': frontend(VIP, pool('all', *NAMES))}, dataplane='vpp')
MANY = [f'backend-{i:04}' for i in range(2000)]
LARGE = config(backends={name: f'10.98.{i // 250}.{i % 250}' for i, name in enumerate(MANY)},
               frontends={'www': frontend(VIP, pool('all', *MANY))}, dataplane='vpp')
SMALL = {'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':quarantine_size_mb=1'}  # so that memory can be weighed
REQUEST = b'GET /view/api/events HTTP/1.1\r\nHost: localhost\r\n\r\n'
MARK = re.compile(rb'"reason":"mark-(\d+)"')


@pytest.fixture(autouse=True)
def many_files():
    """As many descriptors as the machine allows; programs that are started inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Browsers:
    """They only look for the marks of the acts, each with the time it came at."""

    def __init__(self, port, n):
        self.selector, self.seen, self.bytes = selectors.EpollSelector(), {}, 0
        self.sockets = [self._open(port, i) for i in range(n)]

    def _open(self, port, number):
        s = socket.create_connection(('127.0.0.1', port), PATIENCE)
        s.sendall(REQUEST)
        s.setblocking(False)
        self.selector.register(s, selectors.EVENT_READ, [number, b''])
        return s

    def turn(self, timeout):
        for key, _ in self.selector.select(timeout):
            number, rest = key.data
            data = rest + key.fileobj.recv(1 << 20)
            assert len(data) > len(rest), f'browser {number} was cut off'
            self.bytes += len(data) - len(rest)
            for mark in MARK.findall(data):
                self.seen.setdefault(int(mark), {}).setdefault(number, time.time())
            key.data[1] = data[-64:]

    def until(self, condition, timeout=3 * PATIENCE):
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end, (len(self.seen), [len(s) for s in self.seen.values()][-3:])
            self.turn(0.05)

    def close(self):
        for s in self.sockets:
            s.close()
        self.selector.close()


def slow_browser(port, path='/view/api/events'):
    """Takes nothing, through a narrow window."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(('127.0.0.1', port))
    s.sendall(f'GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode())
    return s


def read_until(s, pattern):
    text = b''
    while not pattern.search(text):
        data = s.recv(1 << 20)
        assert data
        text = text[-100:] + data


def memory(dashboard):
    return dashboard.metrics().one('process_resident_memory_bytes')


def test_a_thousand_browsers_one_slow(start_api, start_dashboard):
    """NFR-3.2: nothing grows with what a browser does not take"""
    daemon = start_api(CROWD)
    dashboard = start_dashboard(f'lon=127.0.0.1:{daemon.api_port}', env=SMALL)
    dashboard.wait_connected('lon')
    empty = memory(dashboard)
    slow = slow_browser(dashboard.port)
    browsers = Browsers(dashboard.port, BROWSERS - 1)
    try:
        until(lambda: dashboard.metrics().one('maglev_dashboard_browsers') == BROWSERS, what='all of them')
        opened = memory(dashboard)
        sent = {}
        for i in range(ACTS):
            daemon.api.call('ResumeBackend', name=NAMES[0])
            sent[i] = time.time()
            daemon.api.call('PauseBackend', name=NAMES[0], reason=f'mark-{i}')
            if (i + 1) % AT_ONCE == 0:
                browsers.until(lambda i=i: len(browsers.seen.get(i, {})) == BROWSERS - 1)
        late = sorted(max(browsers.seen[i].values()) - sent[i] for i in range(ACTS))
        full = memory(dashboard)
        page = dashboard.metrics()
        print(f'\n{BROWSERS} browsers: {browsers.bytes / 2**20:.0f} MiB received, the last one had an act after '
              f'{late[len(late) // 2] * 1000:.0f} ms (median), {late[-1] * 1000:.0f} ms (worst); resident memory '
              f'{empty / 2**20:.1f} MiB alone, {opened / 2**20:.1f} with all, {full / 2**20:.1f} after {ACTS} acts')
        assert late[len(late) // 2] < 2 * SLACK and late[-1] < 4 * SLACK
        assert opened - empty < BROWSERS * 32 * 1024
        assert full - opened < 16 * 2**20 + page.one('maglev_dashboard_ring_bytes')
        assert page.one('maglev_dashboard_browsers') == BROWSERS
        # the slow one wakes up, finds that it has missed too much, and is with the others again
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        slow.settimeout(PATIENCE)
        read_until(slow, re.compile(b'"type":"resync"'))
        daemon.api.call('PauseBackend', name=NAMES[1], reason=f'mark-{ACTS}')
        read_until(slow, MARK)
        assert dashboard.metrics().one('maglev_dashboard_resyncs_total') == 1
    finally:
        browsers.close()
        slow.close()
    until(lambda: dashboard.metrics().one('maglev_dashboard_browsers') == 0, what='all leaving')


def test_a_stream_too_many_is_told_so_and_counted(start_dashboard):
    dashboard = start_dashboard('lon=127.0.0.1:1')
    browsers = Browsers(dashboard.port, 3000)
    try:
        until(lambda: dashboard.metrics().one('maglev_dashboard_browsers') == 3000, what='all of them')
        answer = dashboard.ask('GET', '/view/api/events')
        assert answer.status == 503 and answer.headers['Retry-After'] and answer.json['error'] == 'too many browsers'
        assert dashboard.metrics().one('maglev_dashboard_streams_refused_total') == 1
    finally:
        browsers.close()


def test_a_thousand_that_read_nothing(start_api, start_dashboard):
    """what they ask for is large, and another one each time: it is bounded in all, and given back"""
    daemon = start_api(LARGE)
    dashboard = start_dashboard(f'lon=127.0.0.1:{daemon.api_port}', env=SMALL)
    dashboard.wait_connected('lon')
    until(lambda: len(dashboard.state('lon')['backends']) == len(MANY), what='all backends')
    script = re.search(r'src="\./(assets/[^"]+)"', dashboard.get('/view/')[1])
    paths = ['/view/api/state/lon', '/view/api/state', '/view/' + script[1] if script else '/view/', '/view/api/events']
    crowd, empty = [], memory(dashboard)

    def four_more():
        daemon.api.call(('Pause', 'Resume')[len(crowd) // 4 % 2] + 'Backend', name=MANY[0])
        crowd.extend(slow_browser(dashboard.port, path) for path in paths)

    def is_full():
        four_more()
        return dashboard.metrics().one('maglev_dashboard_states_dropped_total') > 0

    try:
        while len(crowd) < BROWSERS:
            four_more()
        until(is_full, what='a text that is let go')
        page = dashboard.metrics()
        full = page.one('process_resident_memory_bytes')
        print(f'\nresident memory {empty / 2**20:.1f} MiB alone, {full / 2**20:.1f} with {len(crowd)} that read nothing; '
              f'states {page.one("maglev_dashboard_state_bytes") / 2**20:.1f} MiB, answers '
              f'{page.one("maglev_dashboard_http_held_bytes") / 2**20:.1f} MiB')
        assert page.one('maglev_dashboard_state_bytes') <= 64 * 2**20
        assert page.one('maglev_dashboard_http_held_bytes') <= 64 * 2**20
        assert full - empty < (64 + 64 + 32) * 2**20 + page.one('maglev_dashboard_ring_bytes')
        assert len(dashboard.state('lon')['backends']) == len(MANY)  # whoever reads gets all of it
    finally:
        for s in crowd:
            s.close()
    until(lambda: dashboard.metrics().one('maglev_dashboard_http_connections') == 1, what='all leaving')
    until(lambda: memory(dashboard) - empty < 16 * 2**20 + dashboard.metrics().one('maglev_dashboard_ring_bytes'),
          2 * PATIENCE, 'memory given back')
    print(f'resident memory {memory(dashboard) / 2**20:.1f} MiB after they left')


def test_those_who_never_finish_asking_keep_nobody_out(start_dashboard):
    """more connections than are let in, and of no request more than its first bytes"""
    dashboard = start_dashboard('lon=127.0.0.1:1')
    crowd = []
    try:
        for _ in range(4300):
            crowd.append(socket.create_connection(('127.0.0.1', dashboard.port), PATIENCE))
            crowd[-1].sendall(b'GET / HT')
        pids = dashboard.pid, os.getpid()
        before, late = time.monotonic(), waited(*pids)
        assert dashboard.get('/healthz') == (200, 'ok\n') and time.monotonic() - before < SLACK + max(0, waited(*pids) - late)
        page = dashboard.metrics()
        assert page.one('maglev_dashboard_http_cut_total') > 4300 - 4096
        assert page.one('maglev_dashboard_http_refused_total') == 0
    finally:
        for s in crowd:
            s.close()


def test_a_browser_that_takes_nothing_does_not_hold_the_end_up(start_api, start_dashboard):
    daemon = start_api(CROWD)
    dashboard = start_dashboard(f'lon=127.0.0.1:{daemon.api_port}')
    dashboard.wait_connected('lon')
    with slow_browser(dashboard.port):
        until(lambda: dashboard.metrics().one('maglev_dashboard_browsers') == 1, what='the stream')
        while dashboard.metrics().one('maglev_dashboard_ring_bytes') < 300000:
            for act in ('Pause', 'Resume'):
                daemon.api.call(f'{act}Backend', name=NAMES[0], reason='x' * 127)
        before = time.monotonic()
        dashboard.signal(signal.SIGTERM)
        assert dashboard.end() == 0 and time.monotonic() - before < 5 + SLACK
