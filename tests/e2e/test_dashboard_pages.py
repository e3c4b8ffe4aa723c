# SPDX-License-Identifier: Apache-2.0
"""The dashboard's pages in Chromium: how they are laid out and used, and what they keep."""
import os
import signal
import time

import pytest

from lab import VIP, until
from lab.api import message
from lab.dashboard import CREDENTIALS, PASSWORD, USER
from lab.visits import SHOTS, browser, daemon, dashboard, two, visit, web  # noqa: F401

# where the cells of each row of the pools begin; rows that name a pool have only one
COLUMNS = '[...document.querySelectorAll("[data-pool] tr[data-backend]")].map(row =>' \
          ' [...row.cells].map(cell => Math.round(cell.getBoundingClientRect().left)).join())'


@pytest.mark.parametrize('width', [1280, 390])
def test_pools_share_their_columns_and_fit_a_phone(visit, dashboard, width):
    page = visit(dashboard.port, '/view/#/here/frontend/www', width=width)
    page.wait('[data-pool=primary] [data-backend=b]')
    page.wait('[data-pool=fallback] [data-backend=spare]')
    assert page.text('[data-pool=primary] [scope=rowgroup]').split() == ['Pool', 'primary', 'active']
    rows = page.evaluate(COLUMNS)
    assert len(rows) == 3 and len(set(rows)) == 1, rows
    hidden = page.evaluate('[...document.querySelectorAll(".table-wrap")].map(it => it.scrollWidth - it.clientWidth)')
    assert hidden[0] == 0, 'of the pools'


LONG = 'x' * 128  # the longest name that a configuration may have, and no place to break it


@pytest.mark.parametrize('width', [390, 1280])
def test_the_longest_names_fit(visit, lie, start_dashboard, width):
    """a name without a blank does not make a page wider than the screen"""
    member = {'name': LONG, 'weight': 100, 'effective_weight': 100, 'configured_weight': 100, 'state': 'up'}
    info = {'name': LONG, 'address': '192.0.2.1', 'state': 'down', 'healthcheck': LONG, 'frontends': [LONG], 'last_code': 'L7STS',
            'last_reason': LONG, 'rise': 2, 'fall': 3, 'transitions': [{'from': 'up', 'to': 'down', 'code': 'L7STS', 'at': 1}]}
    liar = lie(ListBackends=message('ListBackendsResponse')(backends=[info]),
               ListFrontends=message('ListFrontendsResponse')(frontends=[{
                   'name': LONG, 'address': VIP, 'protocol': 'tcp', 'port': 80, 'description': LONG * 8, 'state': 'up',
                   'active_pool': LONG, 'pools': [{'name': LONG, 'active': True, 'backends': [member]}]}]),
               ListHealthChecks=message('ListHealthChecksResponse')(healthchecks=[{'name': LONG, 'type': 'http', 'backends': [LONG]}]),
               GetVPPLBState=message('VPPLBState')(dataplane='vpp', connected=True, vips=[{
                   'address': VIP, 'protocol': 'tcp', 'port': 80, 'frontend': LONG, 'present': True, 'wanted': True,
                   'application_servers': [{'address': '192.0.2.1', 'backend': LONG, 'present': True, 'wanted': True}]}]),
               WatchEvents=lambda: [message('Event')(at=1, backend={'backend': LONG, 'frontend': LONG, 'from': 'up', 'to': 'down',
                                                                    'code': 'L7STS', 'reason': LONG}),
                                    message('Event')(at=1, log={'level': 'info', 'msg': LONG, 'attrs': {LONG: LONG}})])
    server = 's' * 64
    dashboard = start_dashboard(f'{server}=127.0.0.1:{liar.port}', f'{server[1:]}=127.0.0.1:1', env=CREDENTIALS)
    dashboard.wait_connected(server)
    page = visit(dashboard.port, '/admin/', width=width, user=USER, password=PASSWORD)
    page.wait('[data-frontend]')
    wide = {}
    views = [f'-/{view}' for view in ('overview', 'backends', 'dataplane', 'events')]
    for place in (*views, f'{server}/frontend/{LONG}', f'{server}/backend/{LONG}'):
        page.evaluate(f'location.hash = "#/{place}"')
        page.wait(f'.scopes [href="#/{place}"]' if place.startswith('-/') else '.page-head')
        wide[place[:90]] = page.evaluate('document.scrollingElement.scrollWidth')
        page.shot(os.path.join(SHOTS, f'long-{width}-{place[:6].replace("/", "-")}{len(wide)}.png'))
    assert max(wide.values()) <= width, wide


def test_the_chosen_server_is_remembered_where_the_address_does_not_say(visit, two):
    page = visit(two.port)
    page.click('[data-server=two]')
    page.wait_gone('[data-frontend=www]')
    page.reopen('/view/')
    page.wait('[data-server=two][aria-current]')
    assert page.evaluate('location.hash') == '#/two/overview' and page.count('[data-frontend=www]') == 0
    page.reopen('/view/#/one/overview')
    page.wait('[data-frontend=www]')
    page.reopen('/view/#/-/overview')
    page.wait('[data-frontend=www]')
    page.wait('[data-frontend=dns]')
    page.click('.scopes a:has-text("all servers")')
    page.reopen('/view/')
    page.wait('[data-frontend=www]')


def test_a_remembered_server_that_is_gone_is_no_scope(visit, two):
    page = visit(two.port)
    page.wait('[data-frontend=www]')
    page.evaluate('localStorage.setItem("maglev-scope", "gone")')
    page.reopen('/view/')
    page.wait('[data-frontend=www]')
    assert page.evaluate('location.hash') == ''


def test_a_folded_server_still_says_how_it_is(visit, two, web):
    page = visit(two.port)
    page.wait('[data-section=one] [data-frontend=www]')
    page.evaluate('document.querySelector("[data-section=one] .fold").focus()')
    page.press('Enter')
    page.wait_gone('[data-frontend=www]')
    page.wait('[data-section=one] .fold[aria-expanded=false]')
    page.wait('[data-section=one] .summary:has-text("2 frontends 2 up"):has-text("3 backends 3 up")')
    assert page.count('[data-frontend=dns]') == 1, 'the other is open'
    web[0].refuse()
    page.wait('[data-section=one] .verdict-degraded')
    page.wait('[data-section=one] .summary:has-text("2 up 1 down")')
    page.reopen('/view/')
    page.wait('[data-section=one] .summary')
    page.press('Tab')
    page.click('[data-section=one] .fold')
    page.wait('[data-frontend=www]')


def test_a_panel_is_folded_for_all_pages_that_have_it(visit, dashboard):
    page = visit(dashboard.port, '/view/#/here/frontend/www')
    page.wait('.chart canvas')
    assert page.count('.fold[aria-expanded=true]') == page.count('.panel'), 'all can be folded, none is at first'
    page.click('.fold:text-is("Probes")')
    page.wait_gone('.chart')
    page.reopen('/view/#/here/frontend/api')
    page.wait('.fold[aria-expanded=false]:text-is("Probes")')
    page.evaluate('location.hash = "#/here/backend/a"')
    page.wait('.fold[aria-expanded=false]:text-is("Probes")')
    page.wait('.fold[aria-expanded=true]:text-is("Transitions")')
    page.click('.fold:text-is("Probes")')
    page.wait('.chart canvas')


def count(dashboard, daemon, web, so_far):
    """The data plane counts up to so_far packets for a, as many for b; until the dashboard has read it."""
    vip = f'{VIP} 6 80'
    daemon.plane.seed(['counters 31', f'count-vip {vip} {2 * so_far} {so_far} 0 0 {1000 * so_far} 1024',
                       *(f'count-as {vip} {one.address} {so_far} {500 * so_far} 512 {number + 11}'
                         for number, one in enumerate(web))])

    def reading():
        counters = dashboard.state('here')['counters'] or {'vips': []}
        return [int(vip['first_packets']) for vip in counters['vips'] if vip['frontend'] == 'www']
    until(lambda: reading() == [so_far], what=f'a reading of {so_far} packets')


def figures(page, chart):
    """{line: what its legend says} of the chart of that title"""
    rows = page.text(f'.chart:has-text("{chart}") .legend').splitlines()
    return {line.rsplit(' ', 2)[0]: float(line.rsplit(' ', 2)[1]) for line in rows}


def test_traffic_is_drawn_for_frontends_and_backends(visit, dashboard, daemon, web):
    page = visit(dashboard.port)
    page.wait('[data-frontend=www]')
    assert page.count('.tile-rate') == 0, 'nothing is counted yet'
    for so_far in (1000, 3000, 9000):
        count(dashboard, daemon, web, so_far)
    page.wait('[data-frontend=www] .spark path')
    page.wait('[data-frontend=www] .tile-rate:has-text("pkt/s")')
    page.click('[data-frontend=www]')
    page.wait('.chart:has-text("Bits a second") canvas')
    rates = figures(page, 'Packets a second')
    assert list(rates) == ['new flows', 'known flows', 'untracked', 'no server']
    assert rates['known flows'] > rates['new flows'] > 0 == rates['untracked'] == rates['no server']
    assert figures(page, 'Bits a second')['to its backends'] > 0
    page.wait('[data-backend=a] td:text-is("512")')
    page.wait('[data-backend=b] td:text-is("12")')
    page.shot(os.path.join(SHOTS, 'dark-traffic.png'))
    page.click('[data-backend=a] th a')
    page.wait('.chart:has-text("Bits a second") canvas')
    assert figures(page, 'Packets a second')['packets'] > 0 and figures(page, 'Bits a second')['bits'] > 0


def test_the_panel_of_vpp_says_whether_it_is_there_and_talks(visit, dashboard, daemon):
    started = f'{int(time.time() - 90) * 10**9} {int(time.time() - 30) * 10**9}'
    daemon.plane.seed([f'info 26.10-rc0 2026-04-01 /build 4711 {started} -', 'message control_ping 5 0 4 0'])
    page = visit(dashboard.port, '/view/#/here/dataplane')
    page.wait('.fact:has-text("VPP"):has-text("26.10-rc0")')
    page.wait('.fact:has-text("Started"):has-text("1m 3")')
    page.wait('.fact:has-text("Connection") .chip-ok:text-is("connected")')
    page.wait('[data-arrow=sent]:not(.lit):has-text("5 sent")')
    page.wait('[data-arrow=received]:not(.lit):has-text("4 received")')
    daemon.plane.ask('message lb_conf 2 0 0 0')
    page.wait('[data-arrow=sent].lit:has-text("7 sent")')
    assert page.count('[data-arrow=received].lit') == 0, 'nothing more was received'
    page.wait('[data-arrow=sent]:not(.lit)')
    page.click('summary:has-text("Messages of its API")')
    page.wait('tr:has-text("lb_conf")')
    daemon.plane.ask('down')
    page.wait('.fact:has-text("Data plane") .chip-bad:text-is("disconnected")')


# what moves from now on: the class of each animated element, and in a card of counts what is said there
WATCH = '''{
    window.moved = []
    const real = Element.prototype.animate
    Element.prototype.animate = function (...how) {
        window.moved.push(this.closest('.count-card') ? this.innerText : this.className.trim())
        return real.apply(this, how)
    }
}'''


def moved(page):
    return set(page.evaluate('window.moved'))


def test_a_probe_beats_and_what_changes_lights_up(visit, dashboard, daemon, web):
    daemon.api.call('PauseBackend', name='spare')
    page = visit(dashboard.port, '/view/#/-/backends')
    page.wait('[data-backend=a] .heartbeat')
    assert page.count('[data-backend=spare] .heartbeat') == 0, 'it is not probed'
    page.evaluate(WATCH)
    until(lambda: 'heartbeat' in moved(page), what='a beat')
    assert moved(page) == {'heartbeat'}, 'nothing else changed'
    page.press('1')
    page.wait('.count-card:has-text("2 up 1 paused")')
    page.evaluate('window.moved = []')
    web[0].refuse()
    page.wait('[aria-label="a down"]')
    until(lambda: {'flash dot', '1 up'} <= moved(page), what='what changed lights up')
    assert '1 paused' not in moved(page), 'as many as before'


def test_who_wants_no_motion_sees_none(visit, dashboard, web):
    page = visit(dashboard.port, motion='reduce')
    page.wait('[data-frontend=www]')
    page.evaluate(WATCH)
    web[0].refuse()
    page.wait('[aria-label="a down"]')
    page.press('2')
    for state in ('up', 'down'):
        getattr(web[0], {'up': 'listen', 'down': 'refuse'}[state])()
        page.wait(f'[data-backend=a][data-state={state}]')
    assert moved(page) == set()
    page.evaluate('location.hash = "#/here/frontend/www"')
    page.wait('.path-link')
    assert page.evaluate('getComputedStyle(document.querySelector(".path-link")).transitionDuration') == '0s'


def test_events_follow_the_newest_unless_the_reader_scrolled_away(visit, start_dashboard, daemon):
    """Of probes, as they come: oldest first"""
    dashboard = start_dashboard(f'here=127.0.0.1:{daemon.api_port}', args=('--events-level', 'debug'))
    page = visit(dashboard.port, '/view/#/here/events', height=400)
    page.choose('.toolbar select', 'debug')
    left = '(list => list.scrollHeight - list.clientHeight - list.scrollTop)(document.querySelector(".events"))'
    count = 'document.querySelectorAll(".event").length'
    until(lambda: page.evaluate('document.querySelector(".events").scrollTop') > 100, what='more than fits')
    assert page.evaluate(left) < 40, 'it follows'
    times = page.evaluate('[...document.querySelectorAll(".event time")].map(one => one.innerText)')
    assert times == sorted(times)
    page.evaluate('addEventListener("scroll", window.late = event => event.stopPropagation(), true); '
                  'document.querySelector(".events").scrollTop = 0')
    for _ in ('before it is told of the scrolling', 'and after'):
        before = page.evaluate(count)
        until(lambda: page.evaluate(count) > before + 10, what='more events')
        assert page.evaluate('document.querySelector(".events").scrollTop') == 0, 'the reader is left alone'
        page.evaluate('removeEventListener("scroll", window.late, true); '
                      'document.querySelector(".events").dispatchEvent(new Event("scroll"))')
    page.click('button:text("To the newest"):not(:disabled)')
    page.wait('button:text("To the newest"):disabled')
    before = page.evaluate(count)
    until(lambda: page.evaluate(count) > before + 10, what='more events')
    assert page.evaluate(left) < 40, 'it follows again'


def choose_act(page, backend, act):
    page.click(f'[data-backend={backend}] .menu-button')
    page.click(f'[role=menuitem]:has-text("{act}")')
    page.wait('dialog')


def test_a_backend_is_disabled_enabled_and_its_flows_are_cut(visit, dashboard, daemon, web):
    page = visit(dashboard.port, '/admin/#/here/frontend/www', user=USER, password=PASSWORD)
    choose_act(page, 'a', 'Weight')
    page.click('dialog input[type=checkbox]')
    page.wait('dialog .effects:has-text("cut")')
    page.fill('dialog input[name=weight]', '20')
    page.click('dialog button[type=submit]')
    daemon.plane.wait_journal(f'as-weight {VIP}:80/tcp {web[0].address} 100->20 flush')
    page.wait_gone('dialog')
    choose_act(page, 'a', 'Disable')
    page.click('dialog button[type=submit]')
    page.wait('[data-backend=a][data-state=disabled]')
    choose_act(page, 'a', 'Enable')
    page.click('dialog button[type=submit]')
    page.wait('[data-backend=a][data-state=up]')
    page.wait('.toast.shown')  # the state may be seen before the answer
    assert page.count('.toast.shown') == 1


def names(page):
    return page.evaluate('[...document.querySelectorAll(".tile")].map(tile => tile.dataset.frontend)')


def listed(daemon):
    return [one.name for one in daemon.api.call('ListFrontends').frontends]


def test_a_reload_behind_its_back_is_followed_in_the_order_of_the_server(visit, dashboard, daemon):
    page = visit(dashboard.port)
    page.wait('[data-frontend=www]')
    page.evaluate('window.mark = 1')
    assert names(page) == listed(daemon) == ['api', 'www']
    with open(daemon.path, encoding='utf-8') as file:
        text = file.read()
    daemon.write(text.replace('"api"', '"zulu"').replace('the site', 'the new site'))
    daemon.signal(signal.SIGHUP)
    page.wait('[data-frontend=zulu]')
    page.wait_gone('[data-frontend=api]')
    assert names(page) == listed(daemon) == ['www', 'zulu']
    page.click('[data-frontend=www]')
    page.wait('main :text("the new site")')
    assert page.evaluate('window.mark') == 1, 'the page was not loaded again'


def test_ages_go_on_by_themselves(visit, dashboard, web):
    page = visit(dashboard.port)
    page.wait('[data-frontend=www]')
    web[0].refuse()
    newest = '.recent li:first-child:has-text("up → down") time'
    page.wait(newest)
    seen = [page.text(newest)]
    for _ in range(3):
        seen.append(until(lambda: page.text(newest) != seen[-1] and page.text(newest), what='another age'))
    assert all(one == 'now' or one.endswith('s') for one in seen), seen


# each that Tab should lead to gets a number; then it is said which one has the focus and whether that is to be seen
NUMBER = '''[...document.querySelectorAll('a[href], button, select, input, summary, [tabindex="0"]')]
    .filter(it => it.checkVisibility({ contentVisibilityAuto: true }) && !it.disabled)
    .map((it, index) => (it.dataset.number = index, it.innerText || it.getAttribute('aria-label') || it.outerHTML))'''
FOCUSED = '''(it => [Number(it.dataset.number ?? -1), getComputedStyle(it).outlineStyle !== 'none'
    && parseFloat(getComputedStyle(it).outlineWidth) >= 1])(document.activeElement)'''


@pytest.mark.parametrize('place', ['-/overview', '-/backends', '-/dataplane', '-/events', 'here/frontend/www',
                                   'here/backend/b'])
def test_everything_is_reached_by_keyboard_and_one_sees_where_one_is(visit, dashboard, place):
    page = visit(dashboard.port, f'/admin/#/{place}', user=USER, password=PASSWORD, height=2000)
    page.wait('.who-name:has-text("operator")')
    page.wait({'here/frontend/www': '.path-backend', 'here/backend/b': 'main h1:text("b")'}.get(place, 'main h1'))
    there = page.evaluate(NUMBER)
    reached, hidden = set(), []
    for _ in range(2 * len(there)):
        page.press('Tab')
        number, is_seen = page.evaluate(FOCUSED)
        if number in reached:
            break
        reached.add(number)
        hidden += [] if is_seen or number < 0 else [there[number]]
    assert not hidden, 'one does not see that they have the focus'
    assert not [name for number, name in enumerate(there) if number not in reached]


def test_the_keys_are_listed_and_closed_again(visit, dashboard):
    page = visit(dashboard.port)
    page.wait('[data-frontend=www]')
    page.evaluate('document.querySelector("[data-frontend=www]").focus()')
    page.press('?')
    page.wait('dialog[open]:has-text("pause the events")')
    page.press('2')
    assert page.evaluate('location.hash') == '', 'a question is answered first'
    assert page.violations() == []
    page.press('Escape')
    page.wait_gone('dialog[open]')
    assert page.evaluate('document.activeElement.dataset.frontend') == 'www', 'the focus is back'
    for key, place in (('2', 'backends'), ('3', 'dataplane'), ('4', 'events'), ('1', 'overview')):
        page.press(key)
        page.wait(f'.views [aria-current][href$={place}]')
