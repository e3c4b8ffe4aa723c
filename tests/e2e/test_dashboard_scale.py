# SPDX-License-Identifier: Apache-2.0
"""Three servers with many frontends of three backends each, all probed: no task holds the page up.

200 frontends on each server, or MAGLEV_TEST_FRONTENDS of them: `make test-dashboard` has 1,000, and release builds."""
import itertools
import os
import socket
import threading

import pytest

from lab import Check, config, frontend, pool, until
from lab.visits import browser, visit  # noqa: F401

SERVERS, FRONTENDS, BACKENDS = 3, int(os.environ.get('MAGLEV_TEST_FRONTENDS', 200)), 3
LARGE = FRONTENDS > 200
INTERVAL = 10 if LARGE else 2  # of the probes, in s
BUDGET, SECONDS = 50, 5  # ms of a task that holds the page up; time of a measurement
FEW = 2  # tasks of a measurement that may take longer: what others take of a task is only known on average
WATCH = '''{
    window.tasks = []
    new PerformanceObserver(list => window.tasks.push(...list.getEntries())).observe({ type: 'longtask', buffered: true })
}'''
VIEWS = ('overview', 'frontends', 'backends', 'dataplane', 'events')


@pytest.fixture
def listener():
    """A port of every address of the loopback, where whoever comes is sent away."""
    it = socket.create_server(('0.0.0.0', 0), backlog=4096)

    def accept():
        try:
            while True:
                it.accept()[0].close()
        except OSError:
            pass
    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield it.getsockname()[1]
    it.shutdown(socket.SHUT_RDWR)
    thread.join()
    it.close()


def large(number, port, frontends=FRONTENDS):
    """Backends 127.N.x.y, each probed each few seconds."""
    names = [f'b{n:04}' for n in range(frontends * BACKENDS)]
    check = Check(type='tcp', port=port, interval=INTERVAL, fast=INTERVAL, down=INTERVAL)
    vips = {f'f{n:04}': frontend('203.0.113.1', pool('first', *names[n * BACKENDS:(n + 1) * BACKENDS - 1]),
                                 pool('second', names[(n + 1) * BACKENDS - 1]), port=n + 1) for n in range(frontends)}
    backends = {name: (f'127.{number}.{n // 250}.{n % 250 + 1}', 'tcp') for n, name in enumerate(names)}
    return config({'tcp': check}, backends, vips, dataplane='vpp', lb={'sync-interval': '1h'})


@pytest.fixture
def daemons(start_api, listener):
    return [start_api(large(10 + n, listener), level='info') for n in range(SERVERS)]


def stir(daemons, turn):
    """Traffic is counted, and one backend of each server leaves or returns."""
    for daemon in daemons:
        daemon.plane.seed(['counters 31', f'count-many {FRONTENDS} {BACKENDS}'])
        daemon.api.call(('Pause', 'Resume')[turn % 2] + 'Backend', name=f'b{turn // 2 % 100:04}')


def tasks_over(page, daemons, seconds):
    """Long tasks of that many seconds, in ms, while everything is probed and counted; without what others took of them."""
    before = page.browser.processor_time()
    page.evaluate('window.begin = performance.now(); window.end = window.begin + %d' % (seconds * 1000))
    turns = itertools.count()

    def is_over():
        stir(daemons, next(turns))
        return page.evaluate('performance.now() > window.end')
    until(is_over, 4 * seconds, 'the end of the measurement')
    tasks = page.evaluate('window.tasks.filter(one => one.startTime > window.begin).map(one => one.duration)')
    had, waited = (now - then for now, then in zip(page.browser.processor_time(), before))
    return sorted(round(task * had / (had + waited)) for task in tasks)


def told(what, tasks):
    print(f'{what}: {len(tasks)} long tasks, {sum(tasks)} ms, the longest {tasks[-3:]} ms')
    return tasks


def test_no_task_holds_the_page_up(visit, browser, start_dashboard, daemons):
    """Neither while it is loaded, nor later; a few may be held up by others"""
    dashboard = start_dashboard(*(f'lb{n}=127.0.0.1:{daemon.api_port}' for n, daemon in enumerate(daemons)))
    until(lambda: sum(len(one['backends']) for one in dashboard.state()['servers']) == SERVERS * FRONTENDS * BACKENDS,
          what='all backends')
    before = browser.processor_time()
    page = visit(dashboard.port, height=1200)
    page.evaluate(WATCH)
    page.wait('.count-card:has-text("%d backends")' % (SERVERS * FRONTENDS * BACKENDS))
    until(lambda: page.count(f'.count-card:has-text("{SERVERS * FRONTENDS * BACKENDS} up")') == 1, 3 * INTERVAL)
    had, waited = (now - then for now, then in zip(page.browser.processor_time(), before))
    first = sorted(round(task * had / (had + waited)) for task in page.evaluate('window.tasks.map(one => one.duration)'))
    found = {'load': told('load', first)}
    for view in VIEWS:
        page.evaluate(f'location.hash = "#/-/{view}"')
        page.wait(f'.views a[href$="/{view}"][aria-current]')
        found[view] = told(view, tasks_over(page, daemons, SECONDS))
    page.press('/')
    for key in 'f0199':
        page.press(key)
    page.wait('[data-kind=frontend]:has-text("f0199")')
    found['search'] = told('search', tasks_over(page, daemons, 2))
    assert all(sum(task > BUDGET for task in tasks) <= FEW for tasks in found.values()), found


def test_of_many_vips_the_first_are_drawn_and_those_that_differ(visit, start_dashboard, start_api, listener):
    daemon = start_api(large(10, listener, 200), level='info')
    until(lambda: all(one.state == 'up' for one in daemon.api.call('ListBackends').backends))
    daemon.api.call('SyncVPPLBState')  # nothing is left to be written: what is changed by hand stays
    dashboard = start_dashboard(f'here=127.0.0.1:{daemon.api_port}')
    page = visit(dashboard.port, '/view/#/here/dataplane')
    page.wait('button:text("Show all 200 VIPs")')
    page.wait('[data-differences="0"]')
    assert 0 < page.count('tbody [scope=rowgroup]') < 200
    daemon.plane.ask('as 203.0.113.1 6 200 127.10.2.98 7')
    page.wait('tbody:has-text("203.0.113.1:200 tcp") tr.differs')
    page.click('button:text("Show all 200 VIPs")')
    page.wait('tbody:has-text("203.0.113.1:199 tcp")')
    until(lambda: page.count('tbody [scope=rowgroup]') == 200, what='all of them')
