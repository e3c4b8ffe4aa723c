# SPDX-License-Identifier: Apache-2.0
"""The dashboard as people see it: Chromium, a real maglevd-frontend, real maglevds."""
import os
import time

import pytest

from lab import SPARE, VIP, Check, until
from lab.browser import Relay
from lab.dashboard import PASSWORD, USER
from lab.visits import SHOTS, browser, daemon, dashboard, two, visit, web  # noqa: F401

STALE = '203.0.113.5'
VIEWS = ('overview', 'backends', 'dataplane', 'events')
HAS_PAST = 'performance.getEntriesByType("resource").some(one => one.name.includes("/view/api/history/%s"))'


def mark(page):
    """To be found again only if the page was not loaded again."""
    page.evaluate('window.mark = 1')


def is_marked(page):
    return page.evaluate('window.mark') == 1


def stop_second(two, page):
    """When the page has got the past for its sparkline: a server that dies under that request makes it fail."""
    until(lambda: page.evaluate(HAS_PAST % 'two'), what='the past of its sparkline')
    two.daemons[1].stop()


def test_a_backend_dies_and_its_dot_turns_without_a_reload(visit, dashboard, web):
    page = visit(dashboard.port)
    page.wait('[data-frontend=www][data-verdict=ok] [aria-label="a up"]')
    mark(page)
    web[0].refuse()
    page.wait('[data-frontend=www][data-verdict=degraded] [aria-label="a down"]')
    page.wait('.attention :text("www on here")')
    page.wait('.recent li:first-child:has-text("L4CON")')
    web[0].listen()
    page.wait('[data-frontend=www][data-verdict=ok] [aria-label="a up"]')
    page.wait_gone('.attention .concern')
    assert is_marked(page)


def test_the_pages_of_a_frontend_and_a_backend_follow(visit, dashboard, web):
    page = visit(dashboard.port, '/view/#/here/frontend/www')
    page.wait('.path-backend:has-text("a") >> text=67 %')
    page.wait('.chart canvas')
    web[0].refuse()
    web[1].refuse()
    page.wait('.path-backend:has-text("spare") >> text=100 %')
    page.wait('.page-head :text("on pool fallback")')
    page.click('.path-backend:has-text("b")')
    page.wait('h1:text("b")')
    page.wait('tr:has-text("up → down"):has-text("L4CON"):has-text("refused")')


def test_a_weight_is_changed_in_admin(visit, dashboard, daemon, web):
    page = visit(dashboard.port, '/admin/#/here/frontend/www', user=USER, password=PASSWORD)
    page.click('[data-backend=a] .menu-button')
    page.click('[role=menuitem]:has-text("Weight")')
    page.fill('dialog input[name=weight]', '0')
    page.wait('dialog :text("the rest of pool primary takes its share")')
    page.wait('dialog :text("go on until they end by themselves")')
    page.fill('dialog input[name=weight]', '10')
    page.wait('dialog :text("about 17 % of the new flows")')
    page.click('dialog button[type=submit]')
    page.wait_gone('dialog')
    page.wait('[data-backend=a] td:has-text("10 (file 100)")')
    daemon.plane.wait_weights(VIP, {web[0].address: 10, web[1].address: 50, SPARE: 0})


def test_a_backend_is_paused_and_resumed_by_keyboard(visit, dashboard, daemon):
    page = visit(dashboard.port, '/admin/#/here/backend/b', user=USER, password=PASSWORD)
    page.wait('.page-head .menu-button')
    page.evaluate('document.querySelector(".page-head .menu-button").focus()')
    for key in ('Enter', 'ArrowDown', 'ArrowUp', 'Enter'):
        page.press(key)
    page.wait('dialog :text("api: nobody is left")')
    page.wait('dialog :text("takes the last server away")')
    page.press('Escape')
    page.wait_gone('dialog')
    until(lambda: page.evaluate('document.activeElement.className') == 'menu-button', what='the focus being back')
    for key in ('Enter', 'Enter'):
        page.press(key)
    page.fill('dialog input[type=text]', 'new disk')
    page.press('Enter')
    page.wait_gone('dialog')
    page.wait('.page-head .chip-info:has-text("paused"):has-text("new disk")')
    page.wait('tr:has-text("up → paused")')
    daemon.wait_state('b', 'paused')
    for key in ('Enter', 'Enter'):
        page.press(key)
    page.click('dialog button[type=submit]')
    page.wait('.page-head .state-word:has-text("up")')


def test_drift_is_shown_once_it_lasts_and_a_sync_mends_it(visit, dashboard, daemon, web):
    page = visit(dashboard.port, '/admin/#/here/dataplane', user=USER, password=PASSWORD)
    page.wait('[data-differences="0"]')
    daemon.plane.seed([f'as {VIP} 6 80 {web[0].address} 7', f'vip {STALE} 17 53 gre4 1'])
    page.wait('[data-differences="2"]')
    page.wait('tr.differs:has-text("a") :text("weight differs")')
    page.click('button:text("Sync…")')
    page.wait(f'dialog li:text("as-weight {VIP}:80/tcp {web[0].address} 7->100")')
    page.wait(f'dialog li:has-text("vip-del {STALE}")')
    page.click('dialog button[type=submit]')
    page.wait_gone('dialog')
    page.wait('[data-differences="0"]')
    assert daemon.plane.weights(VIP)[web[0].address] == 100


def test_a_reload_says_first_what_it_changes_and_a_broken_file_is_refused(visit, dashboard, daemon):
    page = visit(dashboard.port, '/admin/', user=USER, password=PASSWORD)
    with open(daemon.path, encoding='utf-8') as file:
        text = file.read()
    daemon.write(text.replace('the site', 'the new site').replace('"api"', '"app"'))
    page.click('button:text("Check and reload…")')
    page.wait('dialog li:has-text("frontend app")')
    page.click('dialog button[type=submit]')
    page.wait('[data-frontend=app]')
    page.wait_gone('[data-frontend=api]')
    daemon.write(text.replace('"api"', '"nonsense" "'))
    page.click('button:text("Check and reload…")')
    page.wait('dialog .mistakes:has-text("maglev.yaml:")')
    assert page.count('dialog button[type=submit]:disabled') == 1


def test_the_stream_is_cut_and_resumes(visit, dashboard, daemon, web):
    relay = Relay(dashboard.port)
    page = visit(relay.port, cut=True)
    page.wait('[data-frontend=www] [aria-label="a up"]')
    mark(page)
    relay.cut()
    page.wait('[data-link=lost]')
    page.wait('[role=alert]:has-text("No contact")')
    web[0].refuse()
    daemon.wait_state('a', 'down')
    relay.mend()
    page.wait('[data-link=live]')
    page.wait('[data-frontend=www] [aria-label="a down"]')
    page.wait_gone('[role=alert]')
    assert is_marked(page)
    relay.close()


def test_another_process_in_its_place_is_a_new_start(visit, start_dashboard, daemon, web):
    target = f'here=127.0.0.1:{daemon.api_port}'
    first, second = start_dashboard(target), start_dashboard(target)
    relay = Relay(first.port)
    page = visit(relay.port, cut=True)
    page.wait('[data-frontend=www] [aria-label="a up"]')
    mark(page)
    relay.cut()
    relay.to = second.port
    web[0].refuse()
    daemon.wait_state('a', 'down')
    second.wait_connected('here')
    relay.mend()
    page.wait('[data-frontend=www] [aria-label="a down"]')
    assert is_marked(page)
    relay.close()


def test_one_of_two_servers_stops_and_the_other_goes_on(visit, two, web):
    page = visit(two.port)
    page.wait('[data-server=one][data-connected=true]')
    page.wait('[data-server=two][data-connected=true]')
    page.wait('[data-frontend=dns]')
    stop_second(two, page)
    page.wait('[data-server=two][data-connected=false]')
    page.wait('.concern-critical:has-text("two")')
    page.wait('.tile.stale[data-frontend=dns]')
    web[0].refuse()
    page.wait('[data-server=one][data-connected=true]')
    page.wait('[data-frontend=www][data-verdict=degraded]')
    page.click('[data-server=one]')
    page.wait_gone('[data-frontend=dns]')


GOOD = '.state-up, .verdict-ok, .chip-ok, [data-state=up], [data-status=connected], [data-attached=true], ' \
    '.paths:not(.stale) .path-link'


def test_nothing_of_a_server_without_contact_is_counted_or_shown_as_good(visit, two):
    """its states are unknown, with the last known ones and their age beside them; the sums leave it out"""
    two.daemons[1].plane.ask('interface eth0 1 native -')
    page = visit(two.port)
    page.wait('.count-card:has-text("3 frontends 3 up")')
    page.wait('[data-section=two]:has-text("connected") [data-frontend=dns] .state-up')
    stop_second(two, page)
    page.wait('[data-server=two][data-connected=false]')
    page.wait('.count-card:has-text("2 frontends 2 up 1 not known")')
    page.wait('.count-card:has-text("2 servers 1 up 1 down")')
    page.wait('[data-section=two]:has-text("data plane not known") [data-frontend=dns]:has-text("last known: up")')
    assert page.count(f'[data-section=two] :is({GOOD})') == 0
    page.shot(os.path.join(SHOTS, 'dark-stale-overview.png'))
    page.click('[data-section=two] .fold')
    page.wait('[data-section=two] .summary:has-text("0 frontends 1 not known")')
    page.click('[data-section=two] .fold')
    for place in ('two/backends', 'two/frontend/dns', 'two/backend/x', 'two/dataplane', 'two/overview'):
        page.evaluate(f'location.hash = "#/{place}"')
        page.wait('main:has-text("last known")')
        assert page.count(f'main :is({GOOD})') == 0, place
        assert page.violations() == [], place
        page.shot(os.path.join(SHOTS, f'dark-stale-{place.split("/")[1]}.png'))


def test_a_page_that_is_cut_off_knows_nothing(visit, two):
    relay = Relay(two.port)
    page = visit(relay.port, cut=True)
    page.wait('.count-card:has-text("3 frontends 3 up")')
    relay.cut()
    page.wait('[data-link=lost]')
    page.wait('.count-card:has-text("0 frontends 3 not known")')
    assert page.count(f'main :is({GOOD})') == 0
    relay.mend()
    page.wait('.count-card:has-text("3 frontends 3 up")')
    relay.close()


def test_a_missing_interface_and_a_drain_are_seen(visit, dashboard, daemon, web):
    daemon.plane.seed(['interface eth0 1 native -', 'interface eth1 0 - there_is_no_such_interface'])
    page = visit(dashboard.port)
    page.wait('.concern-warning:has-text("is degraded")')
    page.wait('.concern-warning:has-text("there is no such interface")')
    page.wait('[data-section]:has-text("degraded")')
    page.evaluate('location.hash = "#/here/dataplane"')
    page.wait('[data-status=degraded].chip-warn')
    page.wait('[data-interface=eth0][data-attached=true]:has-text("native")')
    page.wait('[data-interface=eth1][data-attached=false]:has-text("not attached there is no such interface")')
    assert page.violations() == []
    page.shot(os.path.join(SHOTS, 'dark-degraded-dataplane.png'))
    daemon.plane.ask('interface eth1 1 generic -')
    page.wait('[data-status=connected].chip-ok')
    page.wait('[data-interface=eth1] .chip-ok:has-text("generic")')

    a = web[0].address
    daemon.plane.seed(['counters 12', f'count-as {VIP} 6 80 {a} 0 0 512 3'])
    daemon.api.call('PauseBackend', name='a')
    daemon.plane.wait_journal('100->0')
    page.evaluate('location.hash = "#/here/frontend/www"')
    page.wait('[data-backend=a] td:text-is("3")')
    assert page.count('[data-drained]') == 0
    daemon.plane.seed(['counters 12', f'count-as {VIP} 6 80 {a} 0 0 0 0'])
    page.wait('[data-backend=a] [data-drained]:text-is("drained")')
    page.shot(os.path.join(SHOTS, 'dark-drained-frontend.png'))
    page.evaluate('location.hash = "#/here/backend/a"')
    page.wait('tr:has-text("www") [data-drained]')


def test_without_credentials_there_is_no_admin(visit, start_dashboard, daemon):
    dashboard = start_dashboard(f'here=127.0.0.1:{daemon.api_port}')
    page = visit(dashboard.port, '/view/#/here/frontend/www')
    page.wait('[data-backend=a]')
    assert page.count('.menu-button') == 0 and page.count('button:text("Sync")') == 0
    for path in ('/admin/', '/admin/api/whoami', '/admin'):
        assert dashboard.ask('GET', path).status == 404


def test_events_are_filtered_searched_and_paused(visit, dashboard, web, daemon):
    page = visit(dashboard.port, '/view/#/-/events')
    page.wait('[data-link=live]')
    web[0].refuse()
    page.wait('.event:has-text("up → down · L4CON")')
    page.press('f')
    page.press('b')
    page.wait_gone('.event:has-text("up → down")')
    page.fill('[data-search]', 'l4con a')
    page.wait('.event:has-text("up → down")')
    assert page.count('.event:has-text("up → down")') == 1, 'once, though it is in the log, too'
    page.click('[data-pause]')
    web[0].listen()
    page.wait('[data-pause]:has-text("new")')
    daemon.wait_settled('a', Check())
    page.fill('[data-search]', '')
    assert page.count('.event:has-text("down → up")') == 0
    page.click('[data-pause]')
    page.wait('.event:has-text("down → up")')


@pytest.mark.parametrize('scheme,width', [('dark', 1280), ('light', 1280), ('dark', 390)],
                         ids=['dark', 'light', 'phone'])
def test_nobody_is_kept_out_and_it_looks_well(visit, two, web, scheme, width):
    """axe finds nothing serious, nothing is wider than the screen; the pictures are for people to look at"""
    web[1].refuse()
    started = f'{int(time.time() - 90) * 10**9} {int(time.time() - 30) * 10**9}'
    two.daemons[0].plane.seed([f'info 26.10-rc0 2026-04-01 /build 4711 {started} -', 'message control_ping 5 0 4 0',
                               f'as {VIP} 6 80 {web[0].address} 7',
                               'counters 31', f'count-vip {VIP} 6 80 9 1 0 0 600 1024'])
    page = visit(two.port, '/admin/', scheme=scheme, width=width, user=USER, password=PASSWORD)
    name = 'phone' if width < 500 else scheme
    page.wait('[aria-label="b down"]')
    places = {**{view: f'-/{view}' for view in VIEWS}, 'frontend': 'one/frontend/www', 'backend': 'one/backend/b'}
    for view, place in places.items():
        page.evaluate(f'location.hash = "#/{place}"')
        page.wait(f'.scopes [href="#/-/{view}"]' if view in VIEWS else '.chart canvas')
        assert page.violations() == [], view
        width_of = page.evaluate('document.scrollingElement.scrollWidth')
        assert width_of <= width, f'{view} is {width_of} wide'
        page.shot(os.path.join(SHOTS, f'{name}-{view}.png'))
    page.click('.page-head .menu-button')
    page.click('[role=menuitem]:has-text("Disable")')
    page.wait('dialog.dialog[open]')
    assert page.violations() == []
    page.shot(os.path.join(SHOTS, f'{name}-dialog.png'))
