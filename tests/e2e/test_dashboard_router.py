# SPDX-License-Identifier: Apache-2.0
"""The dashboard with routers: routes with their rates, pools, the way of a request, generations; routers that are gone, and that lie."""
import os

import pytest

from lab import until
from lab.dashboard import CREDENTIALS, PASSWORD, USER
from lab.liar import Liar
from lab.router import OK, document
from lab.router_api import RouterApi
from lab.visits import SHOTS, browser, visit  # noqa: F401

FAILED = b'HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n'
of = RouterApi.service.message


class RouterLiar(Liar):
    methods = RouterApi.service.methods


@pytest.fixture
def maglevd(start):
    """A dashboard is one of maglevds, too."""
    return start({'maglev': {'dataplane': 'none', 'backends': {'x': {'address': '192.0.2.1'}}, 'frontends': {
        'www': {'address': '198.51.100.10', 'protocol': 'tcp', 'port': 80, 'pools': [{'name': 'all', 'backends': {'x': {}}}]}}}})


@pytest.fixture
def show(start_dashboard, maglevd):
    """A dashboard of routers, by name and port."""
    def show(**ports):
        routers = ','.join(f'{name}=127.0.0.1:{port}' for name, port in ports.items())
        dashboard = start_dashboard(f'here=127.0.0.1:{maglevd.grpc_port()}', args=('--router', routers), env=CREDENTIALS)
        dashboard.routers = lambda: {one['name']: one for one in dashboard.state()['routers']}
        for name in ports:
            until(lambda: dashboard.routers()[name]['connected'], what=f'{name} connected')
        return dashboard
    return show


@pytest.fixture
def lie_as_router():
    """A router that says what it is told: lists of dicts, and further answers."""
    running = []

    def lie(routes=(), pools=(), **others):
        answers = {'GetRouter': of('RouterInfo')(name='liar', generation=1), 'WatchRouter': [],
                   'ListGenerations': of('ListGenerationsResponse')(), 'ListListeners': of('ListListenersResponse')(),
                   'ListRoutes': of('ListRoutesResponse')(routes=routes), 'ListPools': of('ListPoolsResponse')(pools=pools)}
        running.append(RouterLiar(**{**answers, **others}))
        return running[-1]

    yield lie
    for one in running:
        one.close()


def row(router, **data):
    return f'[data-router={router}]' + ''.join(f'[data-{key.replace("_", "-")}="{value}"]' for key, value in data.items())


def admin(visit, dashboard, place, **how):
    return visit(dashboard.port, f'/admin/#/{place}', user=USER, password=PASSWORD, **how)


def shop(one, two, **more):
    at = [f'127.0.0.1:{server.port}' for server in (one, two)]
    return {'routes': [{'name': 'api', 'host': 'api.example', 'path_prefix': '/v1',
                        'backends': [{'pool': 'blue', 'weight': 3}, {'pool': 'green'}]},
                       {'name': 'site', 'hosts': ['www.example', 'example'], 'pool': 'blue'},
                       {'name': 'old', 'host': 'old.example', 'filters': {'redirect': {'scheme': 'https', 'status': 301}}}],
            'pools': [{'name': 'blue', 'servers': at}, {'name': 'green', 'servers': at[:1]}], **more}


# ---- what it shows ----

def test_routes_have_live_rates_and_errors(visit, serve, route, show):
    fails = [False]

    def answer(wire):
        while wire.message():
            wire.send(FAILED if fails[0] else OK)

    router = route(shop(serve(answer), serve(answer)))
    dashboard = show(rt1=router.port_of('grpc'))
    page = visit(dashboard.port, '/view/#/-/routers')
    page.wait(row('rt1', connected='true') + ':has-text("generation 1")')
    page.wait(row('rt1', route='site', verdict='ok') + ':has-text("www.example, example")')
    page.wait(row('rt1', route='api') + ':has-text("blue 75 %, green 25 %")')
    page.wait(row('rt1', route='old') + ':has-text("301 to https")')
    page.wait(row('rt1', pool='blue', verdict='ok') + ':has-text("2 of 2 servers get requests")')
    site = row('rt1', route='site') + ' td.figure'

    def figures():
        router.request(headers={'Host': 'example'})
        return page.evaluate(f"[...document.querySelectorAll('{site}')].map(one => one.textContent)")

    until(lambda: figures()[0] not in ('0 /s', '0.0 /s', '–'), what='a rate')
    assert figures()[1] == '0 %'
    fails[0] = True
    until(lambda: figures()[1] not in ('0 %', '–') and page.count(row('rt1', route='site', verdict='warning')), what='errors')
    page.evaluate('location.hash = "#/-/overview"')
    until(lambda: figures() is not None and page.count('.attention .concern-warning:has-text("route site on rt1")'),
          what='the route needs attention')


def test_a_server_goes_down_in_the_picture_of_a_route(visit, serve, route, show):
    well = [True]

    def answer(wire):
        while wire.message():
            wire.send(OK if well[0] else FAILED)

    one, two = serve(), serve(answer)
    doc = shop(one, two)
    doc['pools'][0]['probe'] = {'path': '/', 'interval': '50ms', 'rise': 1, 'fall': 1}
    router = route(doc)
    dashboard = show(rt1=router.port_of('grpc'))
    page = visit(dashboard.port, '/view/#/-/routers')
    page.click(row('rt1', route='api') + ' a')
    page.wait('h1:text-is("api")')
    picture = '[data-picture] svg[role=img]'
    page.wait(picture + ' text:has-text("prefix /v1")')
    page.wait(picture + ' text:text-is("api.example")')
    page.wait(picture + f' text:has-text("127.0.0.1:{two.port}")')
    page.wait(f'[data-server="127.0.0.1:{two.port}"][data-state=up]')
    well[0] = False
    page.wait(f'[data-server="127.0.0.1:{two.port}"][data-state=down]:has-text("L7STS")')
    page.wait(picture + ' text:has-text("down · 0 %")')
    assert 'down' in page.evaluate(f"document.querySelector('{picture}').getAttribute('aria-label')")
    page.wait('[data-route=api][data-verdict=degraded]')
    well[0] = True
    page.wait('[data-route=api][data-verdict=ok]')


def test_generations_show_their_difference_and_operators_return(visit, serve, route, show):
    one, two = serve(), serve()
    router = route(shop(one, two))
    dashboard = show(rt1=router.port_of('grpc'))
    page = admin(visit, dashboard, '-/routers')
    page.wait(row('rt1', generation='1', in_force='true'))
    changed = shop(one, two)
    changed['routes'].append({'name': 'added', 'host': 'new.example', 'pool': 'green'})
    changed['pools'][1]['balance'] = 'random'
    assert router.update(changed).status == 200
    page.wait(row('rt1', generation='2', in_force='true') + ':has-text("+1 ~1"):has-text("api")')
    page.wait(row('rt1', route='added'))
    page.click(row('rt1', generation='2') + ' button:text-is("Difference")')
    page.wait('[data-difference="2"] .change-added:has-text("route added")')
    page.wait('[data-difference="2"] .change-changed:has-text("pool green") .after:has-text("random")')
    page.click(row('rt1', generation='1') + ' button:has-text("Return to 1")')
    page.wait('dialog :text("3 routes and 2 pools are applied again")')
    page.click('dialog button[type=submit]')
    page.wait('.toast:has-text("rt1: generation 3 is in force")')
    page.wait(row('rt1', generation='3', in_force='true') + ':has-text("repeats 1")')
    page.wait_gone(row('rt1', route='added'))
    page.evaluate('location.hash = "#/-/events"')
    page.wait('.event:has-text("generation 3 is in force, from rollback")')
    assert dashboard.wait('admin-act', path='/admin/api/routers/rt1/rollback')['status'] == 200


def test_who_only_looks_cannot_return(visit, serve, route, show):
    router = route(document(serve()))
    router.update(document(serve()))
    dashboard = show(rt1=router.port_of('grpc'))
    page = visit(dashboard.port, '/view/#/-/routers')
    page.wait(row('rt1', generation='2') + ' button:text-is("Difference")')
    assert page.count('button:has-text("Return")') == 0
    assert dashboard.ask('POST', '/admin/api/routers/rt1/rollback', body='{"number":1}').status == 401
    assert router.update(document(serve())).status == 200  # generation 3: nobody has returned


def test_a_router_that_is_gone_is_not_known(visit, serve, route, show):
    router = route(document(serve()))
    dashboard = show(rt1=router.port_of('grpc'))
    page = visit(dashboard.port, '/view/#/-/routers')
    page.wait(row('rt1', route='all', verdict='ok'))
    router.kill()
    page.wait(row('rt1', connected='false') + ':has-text("no contact")')
    page.wait(row('rt1', route='all', verdict='unknown'))
    page.wait('[data-state=unknown]:has-text("last known: up")')
    assert page.evaluate(f"""[...document.querySelectorAll('{row('rt1', route='all')} td.figure')]
                             .every(one => one.textContent === '–')""")
    page.evaluate('location.hash = "#/-/route/rt1%2Fall"')
    page.wait('.banner:has-text("No contact with rt1")')
    page.evaluate('location.hash = "#/-/overview"')
    page.wait('.attention .concern-critical:has-text("router rt1")')


def test_acts_and_differences_have_their_errors(serve, route, show):
    router = route(document(serve()))
    dashboard = show(rt1=router.port_of('grpc'))
    for path, body, status, text in [('routers/nobody/rollback', {'number': 1}, 404, 'there is no router of that name'),
                                     ('routers/rt1/rollback', {}, 400, 'number'), ('routers/rt1/rollback', {'number': 9}, 404, 'not kept'),
                                     ('routers/rt1/restart', {}, 404, 'no such action')]:
        answer = dashboard.act(path, body)
        assert answer.status == status and text in answer.json['error'], answer.body
    for path, status in [('nobody', 404), ('rt1', 200), ('nobody/generations/1', 404), ('rt1/generations/9', 404),
                         ('rt1/generations/x', 404), ('rt1/generations/1', 200), ('rt1/routes/x', 404)]:
        assert dashboard.ask('GET', f'/view/api/routers/{path}').status == status, path
    assert [one['name'] for one in dashboard.ask('GET', '/view/api/routers').json] == ['rt1']
    page = dashboard.ask('GET', '/view/api/routers/rt1').json
    assert [one['name'] for one in page['routes']] == ['all'] and page['info']['generation'] == '1'
    router.kill()
    until(lambda: not dashboard.routers()['rt1']['connected'], what='the loss')
    assert dashboard.act('routers/rt1/rollback', {'number': 1}).status == 502
    assert dashboard.ask('GET', '/view/api/routers/rt1/generations/1').status == 502


# ---- routers that lie ----

def test_a_router_with_too_large_answers_is_lost_and_the_others_go_on(serve, route, show, lie_as_router, start_dashboard):
    router, well = route(document(serve())), lie_as_router()
    empty = b'\x0a\x00' * 1000000  # a million routes in 2 MB
    huge = lie_as_router(ListRoutes=empty)
    odd = lie_as_router(ListPools=b'\xff\xff')
    dashboard = show(rt1=router.port_of('grpc'), well=well.port)
    others = ','.join(f'{name}=127.0.0.1:{port}' for name, port in
                      (('rt1', router.port_of('grpc')), ('huge', huge.port), ('odd', odd.port)))
    dashboard = start_dashboard('here=127.0.0.1:1', args=('--router', others))
    errors = {'huge': 'its answer is too large', 'odd': 'its answer is invalid'}
    until(lambda: {one['name']: one['error'] for one in dashboard.state()['routers'] if one['name'] in errors} == errors,
          timeout=60, what='the refusals')
    until(lambda: {one['name']: one['connected'] for one in dashboard.state()['routers']}['rt1'], what='the honest one')


def test_odd_states_are_shown_as_they_are(visit, show, lie_as_router):
    """Words that the page does not know, names with markup, and a route that refers to a pool that is not there."""
    liar = lie_as_router(
        [{'name': '<b>bold</b>', 'rules': [{'name': 'r', 'backends': [{'pool': 'gone', 'weight': 1, 'share': 1, 'servers': 1}]}]}],
        [{'name': 'odd', 'usable': 7, 'servers': [{'host': 'h', 'port': 1, 'state': 'melting', 'share': 9.5}]}])
    dashboard = show(liar=liar.port)
    page = visit(dashboard.port, '/view/#/-/routers')
    page.wait('[data-state=melting]')
    page.click('[data-route="<b>bold</b>"] a')
    page.wait('h1:text-is("<b>bold</b>")')
    assert page.count('[data-picture] svg[role=img]') == 1


# ---- for everybody ----

@pytest.mark.parametrize('scheme,width', [('dark', 1280), ('light', 1280), ('dark', 390)], ids=['dark', 'light', 'phone'])
def test_nobody_is_kept_out_and_it_looks_well(visit, serve, route, show, scheme, width):
    """axe finds nothing serious, nothing is too wide."""
    one, two = serve(), serve()
    doc = shop(one, two)
    doc['routes'][0]['matches'] = [{'path': {'value': '/v1'}, 'headers': [{'name': 'x-canary', 'value': '1'}]},
                                   {'path': {'type': 'exact', 'value': '/status'}, 'method': 'GET'}]
    del doc['routes'][0]['path_prefix']
    doc['pools'][0]['upstreams'] = [{'host': '127.0.0.1', 'port': one.port}, {'host': '127.0.0.1', 'port': two.port, 'drain': True}]
    del doc['pools'][0]['servers']
    doc['default_route'] = {'pool': 'green'}
    router, other = route(doc), route(document(serve()))
    changed = {**doc, 'routes': doc['routes'][:2]}
    assert router.update(changed).status == 200
    dashboard = show(rt1=router.port_of('grpc'), rt2=other.port_of('grpc'))
    for _ in range(20):
        router.request(headers={'Host': 'example'})
    other.kill()
    until(lambda: not dashboard.routers()['rt2']['connected'], what='the loss')
    page = admin(visit, dashboard, '-/routers', scheme=scheme, width=width)
    name = 'phone' if width < 500 else scheme
    for view, place, there in [('routers', '-/routers', row('rt1', route='site')), ('route', '-/route/rt1%2Fapi', '[data-picture] svg'),
                               ('router-gone', '-/route/rt2%2Fall', '.banner')]:
        page.evaluate(f'location.hash = "#/{place}"')
        page.wait(there)
        if view == 'routers':
            page.click(row('rt1', generation='2') + ' button:text-is("Difference")')
            page.wait('[data-difference="2"]')
        assert page.violations() == [], view
        width_of = page.evaluate('document.scrollingElement.scrollWidth')
        assert width_of <= width, f'{view} is {width_of} wide'
        page.shot(os.path.join(SHOTS, f'{name}-{view}.png'))
    page.press('6')
    page.wait('.views [aria-current]:text-is("Routers")')
    page.press('f')
    page.fill('[data-search]', 'www.example')
    page.wait_gone(row('rt1', route='api'))
    assert page.count(row('rt1', route='site')) == 1


def test_rows_stay_where_they_are_while_figures_change(visit, serve, route, show):
    """A second of traffic changes figures, not the place of anything."""
    router = route(shop(serve(), serve()))
    dashboard = show(rt1=router.port_of('grpc'))
    page = visit(dashboard.port, '/view/#/-/routers')
    page.wait(row('rt1', route='site'))
    where = """JSON.stringify([...document.querySelectorAll('tr')].map(one => [one.dataset.route || one.dataset.server || '',
               Math.round(one.getBoundingClientRect().top)]))"""
    until(lambda: page.evaluate(where) == page.evaluate(where), what='a page at rest')
    before = page.evaluate(where)
    site = row('rt1', route='site') + ' td.figure'
    until(lambda: router.request(headers={'Host': 'example'}) and
          page.evaluate(f"document.querySelector('{site}').textContent") not in ('0 /s', '–'), what='a rate')
    assert page.evaluate(where) == before


def test_without_routers_there_is_nothing_of_them(visit, start_dashboard, maglevd):
    dashboard = start_dashboard(f'here=127.0.0.1:{maglevd.grpc_port()}')
    page = visit(dashboard.port)
    page.wait('[data-frontend=www]')
    assert page.count('.views :text("Routers")') == 0
    assert dashboard.state()['routers'] == dashboard.ask('GET', '/view/api/routers').json == []
