# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the browser tests: Chromium, and a small set of servers to look at. Imported where they are used."""
import os

import pytest

from lab import BUILD, SPARE, VIP, Check, config, frontend, pool
from lab.browser import Browser
from lab.dashboard import CREDENTIALS

OTHER = '198.51.100.20'
SHOTS = os.path.join(BUILD, 'screenshots')


@pytest.fixture(scope='module')
def browser():
    os.makedirs(SHOTS, exist_ok=True)
    it = Browser()
    yield it
    it.close()


@pytest.fixture
def visit(request, browser):
    """Opens pages. At the end, before the servers stop, the requests and errors of each page are checked."""
    for name in request.fixturenames:  # what is made before this one ends after it, wherever a story names it
        if name != request.fixturename:
            request.getfixturevalue(name)
    pages, forgiven = [], []

    def visit(port, path='/view/', cut=False, **how):
        forgiven.extend(['ERR_', 'status of 502'] if cut else [])
        pages.append(browser.open(port, path, **how))
        return pages[-1]

    yield visit
    for page in pages:
        page.check_manners(forgiven)
        page.close()


@pytest.fixture
def web(servers):
    return [servers.open(name) for name in ('a', 'b')]


@pytest.fixture
def daemon(start_api, net, web):
    """www: a and b, then spare; api: b alone."""
    checks = {one.name: Check(port=one.port) for one in web}
    backends = {**{one.name: (one.address, one.name) for one in web}, 'spare': SPARE}
    frontends = {'www': frontend(VIP, pool('primary', 'a', b=50), pool('fallback', 'spare'), description='the site'),
                 'api': frontend(OTHER, pool('only', 'b'), port=443, src_ip_sticky=True)}
    daemon = start_api(config(checks, backends, frontends, netns=net.probes.name, dataplane='vpp',
                              lb={'sync-interval': '1h'}))
    daemon.plane.wait_weights(VIP, {web[0].address: 100, web[1].address: 50, SPARE: 0})
    return daemon


@pytest.fixture
def dashboard(start_dashboard, daemon):
    """One server, named here."""
    it = start_dashboard(f'here=127.0.0.1:{daemon.api_port}', env=CREDENTIALS)
    it.wait_connected('here')
    return it


@pytest.fixture
def two(start_dashboard, start_api, daemon):
    """Two servers: one, with www and api, and two, with dns. It has both as .daemons."""
    dns = frontend(OTHER, pool('only', 'x'), port=53, protocol='udp')
    second = start_api(config({}, {'x': '10.99.0.21'}, {'dns': dns}, dataplane='vpp'))
    it = start_dashboard(f'one=127.0.0.1:{daemon.api_port}', f'two=127.0.0.1:{second.api_port}', env=CREDENTIALS)
    it.daemons = (daemon, second)
    it.wait_connected('one', 'two')
    return it
