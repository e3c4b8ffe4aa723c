# SPDX-License-Identifier: Apache-2.0
"""maglev-router for a while: 1,000 swaps, servers that die and return, three upgrades, and not one failed request.

MAGLEV_ENDURANCE is the number of swaps, 1000 if not set; `make test-endurance` runs it for longer.
"""
import os
import re
import signal
import subprocess
import threading

import pytest

from lab import BUILD, PATIENCE, http2, until
from lab.mortal import Mortal
from lab.mortal_server import content
from lab.process import DIE_WITH_PARENT
from lab.programs import RELEASE
from lab.upgrades import Load, Upgradable

SWAPS = int(os.environ.get('MAGLEV_ENDURANCE', '1000'))
# swaps with the sanitizers: what they look for is found in fewer
BUILDS = {'tsan': (BUILD, SWAPS // 4)} if BUILD.endswith('build-tsan') else \
    {'release': (RELEASE, SWAPS), 'asan': (BUILD, SWAPS // 4)}


@pytest.fixture
def mortals():
    servers = [Mortal() for _ in range(4)]
    yield servers
    for server in servers:
        server.close()


def configuration(servers, n):
    """The n-th: other pools, other servers in them, another number of routes, and a mark in each answer. All requests that
    a server had when it died may be tried again: by default only a part of them may."""
    chosen = [f'127.0.0.1:{server.port}' for k, server in enumerate(servers) if (n + k) % len(servers)]
    balance = ('round_robin', 'least_request', 'random')[n % 3]
    rule = {'retry': {'attempts': 3, 'codes': [502], 'backoff': '5ms'},
            'filters': {'response_headers': {'set': {'X-Swap': str(n)}}}}
    routes = [{'name': f'extra-{i}', 'path_prefix': f'/extra-{n}-{i}', 'pool': 'main', **rule} for i in range(n % 20)]
    return {'routes': [*routes, {'name': 'some', 'path_prefix': '/some', 'pool': f'some-{n % 5}', **rule},
                       {'name': 'all', 'pool': 'main', **rule}],
            'pools': [{'name': 'main', 'servers': chosen, 'balance': balance, 'limits': {'retries': 100}},
                      {'name': f'some-{n % 5}', 'servers': chosen[::-1], 'limits': {'retries': 100}}]}


class Deaths:
    """Kills one server after the other. Each comes back before the next one dies."""

    def __init__(self, servers, load):
        self.servers, self.load, self.n = servers, load, 0
        self.over, self.done, self.unused = threading.Event(), threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.over.is_set():
            server = self.servers[self.n % len(self.servers)]
            server.end()
            self.load.goes_on(3)
            server.start()
            self.load.goes_on(3)
            self.n += 1
        self.done.set()
        self.unused.wait()  # the servers that this thread has started end with it

    def end(self):
        """Ends the load, too, and returns the number of its requests."""
        self.over.set()
        assert self.done.wait(2 * PATIENCE)
        asked = self.load.end()
        self.unused.set()
        return asked


def request_of(n):
    """One in five has a body. No answer is larger than what a server can send at once: if it dies in the middle of an
    answer, the client has got a part of it, and no router can help."""
    word = 'some' if n % 3 else 'other'
    if n % 5 == 0:
        return 'PUT', f'/{word}/1/{n}', b'body-%d' % n * (n % 500)
    return 'GET', f'/{word}/{n * 7 % 200}/{n}', b''


def is_right(asked, status, body):
    return status == 200 and body == content(asked[1], asked[2])


def swap(router, servers, n, generation):
    """Returns the new generation. While a new process prepares, it is asked again, as the answer says."""
    while True:
        answer = router.update(configuration(servers, n))
        if answer.status == 200:
            assert answer.json['generation'] == generation + 1
            return generation + 1
        assert (answer.status, answer.json['error']) == (503, 'UpgradeRunning'), answer.text


def kinds(router):
    """What its descriptors are, in order."""
    return sorted(name.split(':')[0] for name in router.fds().values())


def surplus(router, before):
    """Descriptors that it has now, apart from those before and from connections to servers, which are kept."""
    kept = int(router.metrics().one('maglev_router_server_connections'))
    found = kinds(router)
    for kind in before + ['socket'] * kept:
        if kind not in found:
            return ['too few']
        found.remove(kind)
    return found


@pytest.fixture
def press():
    """Starts wrk, which asks as fast as it can. end() returns the number of its requests, all of which got an answer."""
    started = []

    def start(port):
        started.append(subprocess.Popen([*DIE_WITH_PARENT, 'wrk', '-t', '1', '-c', '16', '-d', '3600', '--timeout', '20',
                                         f'http://127.0.0.1:{port}/some/10/wrk'], stdout=subprocess.PIPE, text=True))

    def end():
        started[0].send_signal(signal.SIGINT)
        said = started[0].communicate(timeout=PATIENCE)[0]
        assert 'Socket errors' not in said and 'Non-2xx' not in said, said
        return int(re.search(r'(\d+) requests in', said)[1])

    start.end = end
    yield start
    for process in started:
        process.kill()
        process.wait()


class Memory:
    """That of each process: when it is warm, and at its end."""

    def __init__(self):
        self.warm = None
        self.seen = []

    def note(self, router):
        if self.warm is None:
            self.warm = router.rss()

    def close(self, router):
        self.seen.append((self.warm, router.rss()))
        self.warm = None

    def check(self):
        for warm, end in self.seen:
            assert end < warm * 1.1 + (1 << 20), self.seen


@pytest.mark.parametrize('build', BUILDS)
def test_not_one_request_fails(build, running, folders, mortals, press):
    where, swaps = BUILDS[build]
    router = running(Upgradable(folders(), configuration(mortals, 0), level='info', build=where)).start()
    before, generation, memory = kinds(router), 1, Memory()
    load = Load(router.port_of('default'), is_right, request_of).start(kept=6, fresh=3)
    streams = http2.Load(load.port, is_right, request_of)
    deaths = Deaths(mortals, load)
    press(load.port)
    for n in range(1, swaps + 1):
        generation = swap(router, mortals, n, generation)
        if n % 2 == 0:
            load.goes_on(1)
        if n % (swaps // 4) == swaps // 8:
            memory.note(router)
        if n % (swaps // 4) == 0:
            memory.close(router)
            if n < swaps:
                router.upgrade()
    pressed, streamed, asked = press.end(), streams.end(), deaths.end()
    assert streamed > swaps
    print(f'{pressed} + {asked} requests, {streamed} by HTTP/2, {swaps} swaps, {deaths.n} deaths, memory {memory.seen}')
    assert deaths.n >= 4 and asked > swaps
    router.wait_metric('maglev_router_generations_held', 1)
    router.wait_metric('maglev_router_client_connections', 0)
    assert router.metrics().one('maglev_router_generation') == generation == swaps + 1
    until(lambda: surplus(router, before) == [], what='descriptors as at the start')
    if build == 'release':
        memory.check()
