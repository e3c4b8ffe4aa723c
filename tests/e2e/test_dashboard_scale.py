# SPDX-License-Identifier: Apache-2.0
"""Three servers with two hundred frontends of five backends each, all probed: the page stays usable."""
import socket
import statistics
import threading

import pytest

from lab import Check, config, frontend, pool, until
from lab.visits import browser, visit  # noqa: F401

SERVERS, FRONTENDS, BACKENDS = 3, 200, 5
BUDGET, SECONDS = 200, 5  # ms of a task that holds the page up; time of a measurement
WATCH = '''{
    window.tasks = []
    new PerformanceObserver(list => window.tasks.push(...list.getEntries())).observe({ type: 'longtask' })
}'''


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


def large(number, port):
    """Backends 127.N.x.y, each probed each 2 s."""
    names = [f'b{n:04}' for n in range(FRONTENDS * BACKENDS)]
    check = Check(type='tcp', port=port, interval=2, fast=2, down=2)
    vips = {f'f{n:03}': frontend('203.0.113.1', pool('first', *names[n * BACKENDS:(n + 1) * BACKENDS - 1]),
                                 pool('second', names[(n + 1) * BACKENDS - 1]), port=n + 1) for n in range(FRONTENDS)}
    backends = {name: (f'127.{number}.{n // 250}.{n % 250 + 1}', 'tcp') for n, name in enumerate(names)}
    return config({'tcp': check}, backends, vips, dataplane='vpp', lb={'sync-interval': '1h'})


@pytest.fixture
def daemons(start_api, listener):
    return [start_api(large(10 + n, listener), level='info') for n in range(SERVERS)]


def tasks_over(page, daemons, seconds):
    """Long tasks of that many seconds, in ms, while everything is probed and counted; without what others took of them."""
    before = page.browser.processor_time()
    page.evaluate('window.begin = performance.now(); window.end = window.begin + %d' % (seconds * 1000))

    def is_over():
        for daemon in daemons:
            daemon.plane.seed(['counters 31', f'count-many {FRONTENDS} {BACKENDS}'])
        return page.evaluate('performance.now() > window.end')
    until(is_over, 4 * seconds, 'the end of the measurement')
    tasks = page.evaluate('window.tasks.filter(one => one.startTime > window.begin).map(one => one.duration)')
    had, waited = (now - then for now, then in zip(page.browser.processor_time(), before))
    return sorted(round(task * had / (had + waited)) for task in tasks)


def test_the_page_stays_usable_with_three_thousand_backends(visit, start_dashboard, daemons):
    """Of the tasks that hold it up: the median, since one that others hold up most would be the longest"""
    dashboard = start_dashboard(*(f'lb{n}=127.0.0.1:{daemon.api_port}' for n, daemon in enumerate(daemons)))
    page = visit(dashboard.port, height=1200)
    page.wait(f'.count-card:has-text("{SERVERS * FRONTENDS * BACKENDS} up")')
    page.evaluate(WATCH)
    for view in ('overview', 'backends', 'dataplane'):
        page.evaluate(f'location.hash = "#/-/{view}"')
        page.wait(f'.views a[href$="/{view}"][aria-current]')
        tasks = tasks_over(page, daemons, SECONDS)
        print(f'{view}: {len(tasks)} long tasks in {SECONDS} s, {sum(tasks)} ms, the longest {tasks[-3:]} ms')
        assert statistics.median(tasks or [0]) < BUDGET, (view, tasks)


def test_of_many_vips_the_first_are_drawn_and_those_that_differ(visit, start_dashboard, start_api, listener):
    daemon = start_api(large(10, listener), level='info')
    until(lambda: all(one.state == 'up' for one in daemon.api.call('ListBackends').backends))
    daemon.api.call('SyncVPPLBState')  # nothing is left to be written: what is changed by hand stays
    dashboard = start_dashboard(f'here=127.0.0.1:{daemon.api_port}')
    page = visit(dashboard.port, '/view/#/here/dataplane')
    page.wait('button:text("Show all 200 VIPs")')
    page.wait('[data-differences="0"]')
    assert 0 < page.count('tbody [scope=rowgroup]') < FRONTENDS
    daemon.plane.ask(f'as 203.0.113.1 6 {FRONTENDS} 127.10.3.246 7')
    page.wait(f'tbody:has-text("203.0.113.1:{FRONTENDS} tcp") tr.differs')
    page.click('button:text("Show all 200 VIPs")')
    page.wait(f'tbody:has-text("203.0.113.1:{FRONTENDS - 1} tcp")')
    assert page.count('tbody [scope=rowgroup]') == FRONTENDS
