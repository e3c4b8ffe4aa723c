# SPDX-License-Identifier: Apache-2.0
"""Three balancers with 300 frontends each, 50 of them down and 50 degraded: causes, totals, search and lists."""
import os
import selectors
import socket
import threading

import pytest

from lab import Check, config, frontend, pool, until
from lab.dashboard import CREDENTIALS
from lab.visits import SHOTS, browser, visit  # noqa: F401

BALANCERS, FRONTENDS = ('lb1', 'lb2', 'lb3'), 300
HOSTS = [f'127.21.{net}.{n}' for net in (7, 8, 9) for n in range(1, 11)]  # three subnets of ten
DEAD = '127.21.7.0/24'


class Hosts:
    """A listener on one port of each address, where whoever comes is sent away."""

    def __init__(self, addresses):
        self.sockets, self.selector, self.port = {}, selectors.DefaultSelector(), 0
        self.wake, self.woken = socket.socketpair()
        self.selector.register(self.woken, selectors.EVENT_READ)
        for address in addresses:
            one = socket.create_server((address, self.port), backlog=1024)
            self.port = one.getsockname()[1]
            one.setblocking(False)
            self.sockets[address] = one
            self.selector.register(one, selectors.EVENT_READ)
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def _accept(self):
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.woken:
                    return
                with self.lock:
                    try:
                        key.fileobj.accept()[0].close()
                    except OSError:
                        pass

    def refuse(self, *addresses):
        for address in addresses:
            with self.lock:
                self.selector.unregister(self.sockets[address])
                self.sockets.pop(address).close()

    def close(self):
        self.wake.close()
        self.thread.join()
        for one in (*self.sockets.values(), self.woken):
            one.close()


@pytest.fixture
def hosts():
    it = Hosts(HOSTS)
    yield it
    it.close()


def many(port):
    """Of the frontends 50 have only servers of the first subnet, 50 one of them, and the others none."""
    first, others = range(10), range(10, 30)
    names = [f'web{n:02}' for n in range(len(HOSTS))]

    def members(n):
        if n < 50:
            return [names[first[n % 10]], names[first[(n + 1) % 10]]]
        if n < 100:
            return [names[first[n % 10]], names[others[1 + n % 19]]]
        return [names[others[n % 20]], names[others[(n + 7) % 20]]]
    check = Check(type='tcp', port=port, interval=1, fast=1, down=1)
    vips = {f'site{n:03}': frontend(f'203.0.113.{n % 250 + 1}', pool('primary', *members(n)), port=8000 + n)
            for n in range(FRONTENDS)}
    return config({'web': check}, {name: (HOSTS[n], 'web') for n, name in enumerate(names)}, vips, dataplane='vpp',
                  lb={'sync-interval': '1h'})


@pytest.fixture
def dashboard(start_dashboard, start_api, hosts):
    daemons = [start_api(many(hosts.port), level='info') for _ in BALANCERS]
    it = start_dashboard(*(f'{name}=127.0.0.1:{one.api_port}' for name, one in zip(BALANCERS, daemons)), env=CREDENTIALS)
    it.wait_connected(*BALANCERS)
    it.daemons = daemons
    return it


def states(dashboard):
    return [one['state'] for server in dashboard.state()['servers'] for one in server['backends']]


def burn(dashboard, hosts):
    """The first subnet, and one host more."""
    until(lambda: states(dashboard).count('up') == 90, what='all up')
    hosts.refuse(*HOSTS[:10], HOSTS[10])
    until(lambda: states(dashboard).count('down') == 33, what='the dead hosts seen as down')


def in_sight(page, selector):
    return page.evaluate(f'''(() => {{
        const at = document.querySelector('{selector}').getBoundingClientRect()
        return at.top >= 0 && at.bottom <= innerHeight
    }})()''')


def test_a_hundred_frontends_are_two_causes_below_their_totals(visit, dashboard, hosts):
    page = visit(dashboard.port, height=900)
    page.wait('.quiet:has-text("All is well: 900 frontends on 3 servers")')
    burn(dashboard, hosts)
    page.wait('.attention .concern')
    page.wait(f'.attention .concern-critical:first-child:has-text("subnet {DEAD}: all 10 hosts refuse connections")'
              ':has-text("100 frontends on 3 servers: 50 down, 50 degraded")')
    page.wait(f'.attention .concern-degraded:has-text("host {HOSTS[10]} refuses connections"):has-text("on 3 servers")')
    assert page.count('.attention .concern') == 2
    page.wait('.count-card:has-text("900 frontends 750 up 150 down")')
    assert page.count('.count-card [data-reduced=degraded]') == 1
    assert in_sight(page, '.counts')
    page.evaluate('scrollTo(0, document.body.scrollHeight)')
    until(lambda: page.evaluate('scrollY') > 500)
    assert in_sight(page, '.counts'), 'the totals stay'
    page.evaluate('scrollTo(0, 0)')
    page.click('.concern-critical .sufferers button')
    until(lambda: page.count('.concern-critical .sufferers a') == 300, what='all that suffer')
    page.click('.concern-critical .concern-head')
    page.wait('h2:text-is("30 backends")')
    assert page.evaluate('document.querySelector("[data-search]").value') == '127.21.7.'


def test_everything_is_found_by_keyboard_alone(visit, dashboard, hosts):
    page = visit(dashboard.port, '/view/#/-/events')
    page.wait('[data-link=live]')
    page.press('/')
    page.wait('dialog.search[open]')
    for key in 'site299':
        page.press(key)
    page.wait('.result:has-text("site299"):has-text("Frontend on lb3")')
    until(lambda: page.count('.result[data-kind=frontend]') == 3, what='what the last key leaves')
    assert page.violations() == []
    page.wait('.result:last-child:has-text("Way of a packet")')
    page.press('ArrowDown')
    page.wait('.result[aria-selected=true]:has-text("Frontend on lb2")')
    page.press('Enter')
    page.wait_gone('dialog.search')
    page.wait('h1:text-is("site299")')
    assert page.evaluate('location.hash') == '#/lb2/frontend/site299'
    page.press('/')
    page.fill('dialog.search input', HOSTS[3])
    page.wait('.result[aria-selected=true][data-kind=host]:has-text("3 backends on lb1, lb2, lb3"):has-text("Backends")')
    page.press('Enter')
    page.wait('h2:text-is("3 backends")')
    page.press('/')
    page.fill('dialog.search input', 'nothing of that name')
    page.wait_gone('.result:not([data-kind=way])')
    page.press('Escape')
    page.wait_gone('dialog.search')
    page.press('/')
    page.fill('dialog.search input', '203.0.113.7:8006')
    page.wait('.result:last-child[data-kind=way]')
    for key in ('End', 'Enter'):
        page.press(key)
    page.wait('[data-way] h1:text-is("203.0.113.7:8006")')
    assert page.evaluate('location.hash') == '#/-/way/203.0.113.7%3A8006'


def test_the_list_of_frontends(visit, dashboard, hosts):
    page = visit(dashboard.port)
    burn(dashboard, hosts)
    page.press('7')
    page.wait('h2:text-is("900 frontends")')
    page.wait('tbody tr:first-child[data-verdict=critical]')
    page.choose('select[aria-label=Which]', 'degraded')
    until(lambda: page.text('.panel h2') != '900 frontends' and page.count('tr[data-verdict=critical]') == 0)
    page.choose('select[aria-label=Which]', '')
    page.choose('select[aria-label=Order]', 'name')
    page.wait('tbody tr:first-child[data-frontend=site000]')
    page.press('Tab')
    page.evaluate('document.activeElement.blur()')
    page.press('f')
    page.fill('[data-search]', 'site29 lb2')
    page.wait('h2:text-is("10 frontends")')
    assert page.evaluate('location.hash') == '#/-/frontends/site29%20lb2', 'the filter is part of the address'
    page.reopen('/view/#/-/frontends/site29%20lb2')
    page.wait('h2:text-is("10 frontends")')
    page.click('a:text-is("site290")')
    page.wait('h1:text-is("site290")')


def test_under_fire_in_both_colours_and_on_a_phone(visit, dashboard, hosts):
    burn(dashboard, hosts)
    for scheme, width in (('dark', 1280), ('light', 390)):
        page = visit(dashboard.port, scheme=scheme, width=width)
        for view in ('overview', 'frontends', 'backends'):
            page.evaluate(f'location.hash = "#/-/{view}"')
            page.wait(f'.views a[href$="/{view}"][aria-current]')
            page.wait('.concern-critical' if view == 'overview' else '.panel tbody tr')
            assert page.violations() == []
            assert page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing is wider than the page'
            page.shot(os.path.join(SHOTS, f'fire-{view}-{scheme}-{width}.png'))
        page.press('/')
        page.fill('dialog.search input', 'site00')
        page.wait('.result')
        page.shot(os.path.join(SHOTS, f'fire-search-{scheme}-{width}.png'))
