# SPDX-License-Identifier: Apache-2.0
"""The way of a packet over maglevd, speaker and router: the page of the dashboard and maglevc explain say the same."""
import json
import os
import subprocess
import urllib.parse

import pytest

from lab import until
from lab.ports import free_port
from lab.programs import program
from lab.router import echo
from lab.speaker import SpeakerApi
from lab.turns import long_turns
from lab.visits import SHOTS, browser, visit  # noqa: F401
from lab.wait import PATIENCE

VIP, L7 = '198.51.100.10', '198.51.100.20'
of = SpeakerApi.service.message


def announcement(name, address, **more):
    return {'vip': name, 'address': address, 'state': 'announced', 'reason': 'frontend-up', 'since': 1, 'attracts': True,
            'summary': 'announced to tor', 'bgp': {'prefix': address + '/32', 'peers': ['tor'], 'established': ['tor']}, **more}


class Place:
    """A maglevd whose frontend l7 leads to a router, a speaker that says what it is told, and a dashboard of all of it."""

    def __init__(self, start_fake, lie_as_speaker, route, serve, start_dashboard):
        self.servers = [serve(echo), serve(echo)]
        self.port = free_port()
        self.router = route(self.document())
        self.maglevd = start_fake(self.config())
        self.announced = {'www': announcement('www', VIP), 'l7': announcement('l7', L7)}
        self.speaker = lie_as_speaker(
            sessions=[{'peer': 'tor', 'up': True, 'state': 'Established', 'since': 1}],
            ListAnnouncements=lambda: of('ListAnnouncementsResponse')(announcements=self.announced.values()))
        self.flags = ['--server', f'127.0.0.1:{self.maglevd.grpc_port()}', '--speaker', f'127.0.0.1:{self.speaker.port}',
                      '--router', f'127.0.0.1:{self.router.port_of("grpc")}']
        self.dashboard = start_dashboard(f'lb1=127.0.0.1:{self.maglevd.grpc_port()}', args=(
            '--speaker', f'lb1=127.0.0.1:{self.speaker.port}', '--router', f'edge=127.0.0.1:{self.router.port_of("grpc")}'))
        self.dashboard.wait_connected('lb1')
        self.dashboard.wait_speaker('lb1')
        until(lambda: self.way('l7')['whole'], what='a way that is whole')

    def document(self, servers=None):
        at = [f'127.0.0.1:{one.port}' for one in self.servers] if servers is None else servers
        return {'listeners': [{'name': 'web', 'address': f'127.0.0.1:{self.port}'}],
                'routes': [{'name': 'api', 'host': 'api.example', 'path_prefix': '/v1', 'pool': 'blue'}],
                'pools': [{'name': 'blue', 'servers': at}]}

    def config(self):
        check = {'type': 'tcp', 'port': self.port, 'interval': '100ms', 'timeout': '1s', 'rise': 1, 'fall': 1}

        def frontend(address, port, backend):
            return {'address': address, 'protocol': 'tcp', 'port': port, 'pools': [{'name': 'all', 'backends': {backend: {}}}]}
        return {'maglev': {
            'dataplane': 'vpp', 'vpp': {'lb': {'ipv4-src-address': '192.0.2.1', 'ipv6-src-address': '2001:db8::1',
                                               'startup-min-delay': '0s', 'startup-max-delay': '1s'}},
            'healthchecks': {'tcp': check}, 'backends': {'rt1': {'address': '127.0.0.1', 'healthcheck': 'tcp'},
                                                         'web1': {'address': '192.0.2.11'}},
            'frontends': {'www': frontend(VIP, 80, 'web1'), 'l7': frontend(L7, self.port, 'rt1')}}}

    def way(self, query, **more):
        """As the dashboard says it."""
        answer = self.dashboard.ask('GET', '/view/api/way?' + urllib.parse.urlencode({'q': query, **more}, quote_via=urllib.parse.quote))
        assert answer.status == 200, answer.body
        return answer.json

    def explain(self, *words, flags=None):
        """As maglevc says it: exit code, JSON and the text for people."""
        def run(*output):
            return subprocess.run([program('maglevc'), *(flags or self.flags), *output, 'explain', *words], capture_output=True,
                                  text=True, timeout=PATIENCE, check=False)
        done = run('-o', 'json')
        assert done.returncode in (0, 1), done
        return done.returncode, json.loads(done.stdout), run().stdout


@pytest.fixture
def place(start_fake, lie_as_speaker, route, serve, start_dashboard):
    return Place(start_fake, lie_as_speaker, route, serve, start_dashboard)


def shape(way):
    """What does not depend on the names that an asker has for servers. A router that is gone is known to the dashboard alone."""
    steps = [(one['kind'], one['depth'], one['state'], one['word']) for one in way['steps'] if one['state'] != 'unknown']
    return way['whole'], way['state'], steps


KINDS = ['vip', 'balancer', 'announcement', 'session', 'frontend', 'pool', 'backend', 'router', 'route', 'router-pool', 'server', 'server']


def test_a_request_is_followed_from_the_announcement_to_the_server(place):
    way = place.way('api.example/v1/x')
    assert [one['kind'] for one in way['steps']] == KINDS
    assert way['whole'] and way['why'] == '' and way['broken'] == -1
    by = {one['kind']: one for one in way['steps']}
    assert by['announcement']['reason'] == 'announced to tor' and by['session']['word'] == 'Established'
    assert by['backend']['name'] == 'rt1' and by['router']['place'] == 'edge' and by['route']['name'] == 'api'
    assert by['server']['traffic']['unit'] == 'requests'

    code, said, text = place.explain('api.example/v1/x')
    assert code == 0 and shape(said) == shape(way)
    assert 'router-pool blue' in text and text.endswith('\nwhole\n')
    for query in ('l7', f'{L7}', f'{L7}:{place.port}', 'rt1', 'blue', f'127.0.0.1:{place.servers[0].port}'):
        assert shape(place.explain(query)[1]) == shape(place.way(query)), query
        assert place.way(query)['whole'], query


def test_what_is_broken_is_said_in_one_sentence(place):
    """Both say the same at each place: no route, an empty pool, a router that is gone, a VIP that is not announced"""
    def both(query):
        way, (code, said, text) = place.way(query), place.explain(query)
        assert code == 1 and not way['whole'] and shape(said) == shape(way)
        assert text.splitlines()[-1].endswith(said['why'])
        return way

    way = both('api.example/v2')
    assert way['why'] == 'router edge: the request is answered with 404: no route matches'
    assert way['steps'][way['broken']]['kind'] == 'router'
    way = both(f'{VIP}:81')
    assert way['why'] == f'lb1 has no frontend with {VIP}:81'
    assert 'is not a VIP' in both('nothing')['why']

    place.router.update(place.document(servers=[]))
    until(lambda: not place.way('api.example/v1')['whole'], what='the pool without servers in the dashboard')
    assert both('api.example/v1')['why'] == 'pool blue of router edge: it has no servers'

    place.router.kill()
    until(lambda: 'frontend l7' in place.way('l7')['why'], what='the end of the router')
    way = both('l7')
    assert way['why'].startswith('frontend l7 at lb1 is down: no server can be used: rt1 down (L4CON')
    assert way['steps'][way['broken']]['kind'] == 'frontend'


def test_a_withdrawn_vip_has_its_reason(place):
    place.announced['www'] = announcement('www', VIP, state='withdrawn', attracts=False, drained=True, drain_reason='new switch',
                                          summary='withdrawn: drained, new switch')
    code, said, _ = place.explain('www')
    assert code == 1
    assert said['why'] == f'nobody announces {VIP}: 127.0.0.1: withdrawn: drained, new switch'


def test_a_server_that_cannot_be_asked_is_unknown_not_broken(place, start_dashboard):
    silent = free_port()
    flags = [*place.flags[:2], '--speaker', f'127.0.0.1:{silent}', *place.flags[4:]]
    code, said, text = place.explain('www', flags=flags)
    assert code == 0 and any(f'127.0.0.1:{silent}' in note for note in said['notes']), said
    done = subprocess.run([program('maglevc'), '--server', f'127.0.0.1:{silent}', '--speaker', f'127.0.0.1:{silent}', '--router',
                           f'127.0.0.1:{silent}', 'explain', 'www'], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 3 and str(silent) in done.stderr
    assert subprocess.run([program('maglevc'), 'explain', '/'], capture_output=True, check=False).returncode == 2


def test_a_router_that_refuses_is_a_note(place):
    """A path that no router would take is refused by it, and said so"""
    answer = place.way('api.example/v1', header='no colon')
    assert any('router edge:' in note for note in answer['notes']), answer


def test_bad_queries_are_refused(place):
    for query in ('', 'q=', 'q=%2F', 'q=a%20b', 'q=%ff', 'q=' + 'a' * 3000):
        answer = place.dashboard.ask('GET', f'/view/api/way?{query}')
        assert answer.status == 400 and 'error' in answer.json, query


def test_the_page_shows_the_way_and_follows_it(place, visit):
    page = visit(place.dashboard.port, '/view/#/-/way')
    page.wait('a.mono:has-text("198.51.100.10:80")')
    page.fill('[data-search]', 'api.example/v1/x')
    page.click('button:text-is("Explain")')
    page.wait('[data-whole=true]:has-text("Packets get through.")')
    assert page.count('tr[data-kind]') == len(KINDS)
    page.wait('tr[data-kind=route] a[href="#/-/route/edge%2Fapi"]')
    page.wait('tr[data-kind=backend] a[href="#/lb1/backend/rt1"]')
    assert not page.violations()
    page.shot(os.path.join(SHOTS, 'way-whole.png'))
    place.router.update(place.document(servers=[]))
    page.wait('[data-whole=false]:has-text("pool blue of router edge: it has no servers")')
    page.wait('tr.way-broken[data-kind=router-pool]')
    assert not page.violations()
    page.shot(os.path.join(SHOTS, 'way-broken.png'))
    page.click('tr[data-kind=frontend] a')
    page.wait('h1:text-is("l7")')


def test_a_way_among_a_thousand_frontends_is_found_in_time(start, start_dashboard):
    """The texts of three thousand frontends are searched, not parsed: the loop of the dashboard is not held up"""
    backends = {f's{i}': {'address': f'192.0.{2 + i // 250}.{1 + i % 250}'} for i in range(1000)}
    frontends = {f'f{i}': {'address': f'198.51.{100 + i // 250}.{1 + i % 250}', 'protocol': 'tcp', 'port': 80,
                           'pools': [{'name': 'all', 'backends': {f's{(i + k) % 1000}': {} for k in range(4)}}]} for i in range(1000)}
    maglevd = start({'maglev': {'dataplane': 'none', 'backends': backends, 'frontends': frontends}})
    dashboard = start_dashboard(*(f'lb{n}=127.0.0.1:{maglevd.grpc_port()}' for n in (1, 2, 3)), metrics='127.0.0.1:0', measured=True)
    dashboard.wait_connected('lb1', 'lb2', 'lb3')

    def ask():
        for query in ('198.51.103.7', 'f500', 's999', '192.0.2.1', 'nothing'):
            answer = dashboard.ask('GET', f'/view/api/way?q={query}')
            assert answer.status == 200
            found = {one['place'] for one in answer.json['steps'] if one['kind'] == 'frontend'}
            assert found == ({'lb1', 'lb2', 'lb3'} if query != 'nothing' else set()), query
    ask()
    assert not long_turns(dashboard, ask)
