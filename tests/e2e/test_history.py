# SPDX-License-Identifier: Apache-2.0
"""The past: maglevd records it, the API and the dashboard show it, and what is not known is a gap."""
import json
import math
import os
import signal

from lab import VIP, config, frontend, pool, until
from lab.api import Status
from lab.visits import SHOTS, browser, daemon, dashboard, visit, web  # noqa: F401

STEP = 10  # s; of maglevd, so these stories take some of them
PATIENCE = 3 * STEP


def history(daemon, **wanted):
    return daemon.api.call('GetHistory', **wanted)


def line(series, name):
    return next(list(one.values) for one in series.lines if one.name == name)


def point(daemon):
    """When the newest step ended; 0 before the first."""
    return history(daemon).newest


def next_point(daemon):
    before = point(daemon)
    until(lambda: point(daemon) > before, PATIENCE, 'the next step')


def count(daemon, web, so_far):
    """A reading of the data plane: so many packets for www, half of them to each backend."""
    vip = f'{VIP} 6 80'
    daemon.plane.seed(['counters 31', f'count-vip {vip} {so_far} 0 0 0 {1000 * so_far} 1024',
                       *(f'count-as {vip} {one.address} {so_far // 2} {500 * so_far} 512 1' for one in web)])


def test_before_the_first_step_there_is_no_point_and_bad_requests_are_told(daemon, dashboard):
    answer = history(daemon, frontends=['www'], backends=['a'])
    assert [one.name for one in answer.frontends] == ['www'] and [one.name for one in answer.backends] == ['a']
    assert answer.span == 'hour' and answer.step == STEP * 10**9
    daemon.api.refused('GetHistory', Status.NOT_FOUND, 'no frontend is called "nobody"', frontends=['nobody'])
    daemon.api.refused('GetHistory', Status.NOT_FOUND, 'no backend is called "nobody"', backends=['a', 'nobody'])
    rest = daemon.api.call('GetHistory', frontends=['nobody'], backends=['nobody', 'a'], leave_out=True)
    assert [one.name for one in rest.backends] == ['a'] and not rest.frontends
    daemon.api.refused('GetHistory', Status.INVALID_ARGUMENT, 'hour or day', span='year')
    daemon.api.refused('GetHistory', Status.INVALID_ARGUMENT, 'no line is called "wrong"', lines=['wrong'])
    daemon.api.refused('GetHistory', Status.INVALID_ARGUMENT, 'at most 16384 values', backends=['a', 'b'] * 6, span='day')
    assert len(history(daemon, backends=['a', 'b'] * 6, span='day', points=60, lines=['latency']).backends) == 12

    def status(query):
        return dashboard.ask('GET', f'/view/api/history/{query}').status
    assert status('here?frontend=www&backend=a&points=60&span=hour') == 200
    assert status('here?frontend=nobody') == 200 and status('nowhere?frontend=www') == 404
    assert status('here?span=year') == status('here?wrong=1') == status('here?points=x') == status('here?frontend=%zz') == 400


def test_the_past_is_recorded_and_drawn_at_once(daemon, dashboard, web, visit, net):
    """Rates between readings, latency and states; a gap where nothing was read; it survives a reload; pages begin with it."""
    count(daemon, web, 1000)
    next_point(daemon)  # the first reading
    count(daemon, web, 5000)
    web[1].refuse()
    daemon.wait_state('b', 'down')
    next_point(daemon)  # a rate between the two
    web[1].listen()
    daemon.wait_state('b', 'up')
    next_point(daemon)  # the same reading again: a gap
    answer = history(daemon, frontends=['www', 'api'], backends=['a', 'b'])
    www, api = answer.frontends
    rates = [value for value in line(www, 'next') if not math.isnan(value)]
    assert len(rates) == 1 and 50 < rates[0] < 4000, line(www, 'next')
    assert math.isnan(line(www, 'next')[-1]), 'nothing was read in the last step'
    assert line(api, 'next') == [], 'it was never counted'
    a, b = answer.backends
    latencies = [value for value in line(a, 'latency') if not math.isnan(value)]
    assert latencies and all(10**4 < value < 10**9 for value in latencies)
    assert line(a, 'packets') and {one.state for one in a.states} <= {'up', 'unknown'}
    assert 'down' in [one.state for one in b.states] and b.states[-1].state != ''
    assert sum(one.points for one in b.states) >= 3

    with open(daemon.path, encoding='utf-8') as file:
        file = json.load(file)
    file['maglev']['frontends']['new'] = {**file['maglev']['frontends']['api'], 'address': '198.51.100.77'}
    daemon.write(file)
    daemon.signal(signal.SIGHUP)
    daemon.wait('config-loaded', frontends=3)
    assert line(history(daemon, frontends=['www']).frontends[0], 'next')[0] == rates[0], 'what was known stays'
    assert line(history(daemon, frontends=['new']).frontends[0], 'next') == []

    page = visit(dashboard.port)
    page.wait('[data-frontend=www] .tile-rate:has-text("pkt/s")')
    page.evaluate('location.hash = "#/here/frontend/www"')
    page.wait('.chart:has-text("Packets a second") canvas')
    page.wait('.chart:has-text("Time of a probe") canvas')
    page.evaluate('location.hash = "#/here/backend/b"')
    page.wait('.strip [data-state=down]')
    page.shot(os.path.join(SHOTS, 'past-hour.png'))
    page.click('.spans button:has-text("Last day")')
    page.wait('.spans button[aria-pressed=true]:has-text("Last day")')
    drawn = any(line(one, 'latency') for one in history(daemon, backends=['b'], span='day').backends)  # if two minutes were over
    page.wait('.chart:has-text("Time of a probe") canvas' if drawn else '.panel:has-text("No probe has answered yet")')
    page.click('.spans button:has-text("Last hour")')
    page.wait('.chart:has-text("Time of a probe") canvas')


MANY = 300
# of each request for the past: names, start and end in ms
REQUESTS = '''performance.getEntriesByType("resource").filter(it => it.name.includes("/history/")).map(it =>
    [new URL(it.name).searchParams.getAll("frontend").length, it.startTime, it.responseEnd])'''


def test_a_page_asks_only_for_what_is_in_sight_one_request_after_the_other(start_api, start_dashboard, visit):
    daemon = start_api(config({}, {'a': '10.99.0.11'}, {f'f{n:03}': frontend('203.0.113.1', pool('only', 'a'), port=n + 1)
                                                        for n in range(MANY)}, dataplane='vpp'))
    dashboard = start_dashboard(f'here=127.0.0.1:{daemon.api_port}')
    dashboard.wait_connected('here')
    page = visit(dashboard.port, '/view/#/-/frontends')
    page.wait('[data-frontend=f000]')
    page.evaluate('document.querySelector("[data-frontend=f010]").scrollIntoView()')
    until(lambda: page.evaluate(REQUESTS), what='a request for the past')
    until(lambda: page.evaluate('performance.now()') > max(end for _, _, end in page.evaluate(REQUESTS)) + 1000, what='a quiet second')
    requests = sorted(page.evaluate(REQUESTS), key=lambda it: it[1])
    assert 0 < sum(names for names, _, _ in requests) < MANY / 2 and max(names for names, _, _ in requests) <= 24, requests
    assert all(after[1] >= before[2] - 1 for before, after in zip(requests, requests[1:])), requests
