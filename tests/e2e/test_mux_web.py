# SPDX-License-Identifier: Apache-2.0
"""The debug page of maglev-mux and its API: Chromium, a real maglev-mux, a real API server."""
import base64
import json
import os

import lab
import pytest
from lab.mux import Muxes, hashed
from lab.visits import SHOTS, browser  # noqa: F401
from lab.window import door

TOKEN = 's3cret-token'


@pytest.fixture
def world(kube, running, folders):
    it = Muxes(kube, running, folders)
    it.mux(notes={'port-range': '20000-20009', 'max-ports': '4'})
    it.address({'ip': '203.0.113.10'})
    it.channel('api', {'http': {'port': 80, 'targetPort': 8080}})
    it.channel('web', {'http': {'port': 80, 'targetPort': 8080}}, 'http:auto')
    it.channel('late', {'http': 80})
    it.pod('api', '10.1.0.1')
    it.pod('api', '10.1.0.2', ready=False)
    it.pod('web', '10.1.0.3')
    return it


class Site:
    """The page of one program, also for a browser outside of the namespace."""

    def __init__(self, world, *args, **env):
        self.program = world.start(*args, env=env)
        self.port = self.program.port_of('debug-web')
        self.kube = world.kube
        self.outside = int(door(world.kube.netns, f'127.0.0.1:{self.port}').rsplit(':', 1)[1])

    def ask(self, path, method='GET', **headers):
        """(status, headers, body: JSON or text)"""
        connection = self.kube.connect(self.port)
        connection.request(method, path, headers={key.replace('_', '-'): value for key, value in headers.items()})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, json.loads(text) if text.startswith(('{', '[')) else text

    def get(self, path):
        status, _, body = self.ask(path)
        assert status == 200, body
        return body


def wait_refusal(site, key):
    """Until the refused channel is known, which is when all channels are."""
    lab.until(lambda: site.get('/api/state')['channel_services'].get(key, {}).get('state') == 'refused', what='a refusal')


def test_the_api_shows_the_state_in_the_words_of_the_original(world):
    site, space = Site(world), world.namespace
    world.settled(api={'http': 80}, web={'http': 20000})
    wait_refusal(site, f'{space}/late')
    lab.until(lambda: [site.get('/api/state')['endpoints'][f'{space}/api'][key] for key in ('ready_count', 'not_ready_count')] == [1, 1],
              what='both endpoints')
    state = site.get('/api/state')
    mux = state['mux_services'][f'{space}/mux']
    assert {key: mux[key] for key in ('namespace', 'name', 'has_queue', 'external_dns_hostname', 'status_ingress')} == {
        'namespace': space, 'name': 'mux', 'has_queue': True, 'external_dns_hostname': None, 'status_ingress': '203.0.113.10'}
    assert (mux['condition'], mux['served'], mux['refused'], mux['max_ports']) == ('active', 2, 1, 4)
    web = state['channel_services'][f'{space}/web']
    assert {key: web[key] for key in ('namespace', 'name', 'mux_namespace', 'mux_name', 'lb_class', 'custom_dns')} == {
        'namespace': space, 'name': 'web', 'mux_namespace': space, 'mux_name': 'mux', 'lb_class': f'{world.prefix}/mux.{space}',
        'custom_dns': None}
    assert web['external_dns'] == '203.0.113.10'
    assert {key: web['ports'][0][key] for key in ('name', 'port', 'node_port', 'protocol', 'mux_port', 'source', 'mux_port_name')} == {
        'name': 'http', 'port': 80, 'node_port': None, 'protocol': 'TCP', 'mux_port': 20000, 'source': 'auto',
        'mux_port_name': hashed(space, 'web', 'http')}
    api = state['endpoints'][f'{space}/api']
    assert (api['ready_count'], api['not_ready_count'], api['pods']) == (1, 1, [f'{space}/api-10-1-0-1'])
    late = state['channel_services'][f'{space}/late']
    assert late['reason'] == 'MuxPortConflict' and f'80/TCP is already claimed by {space}/api' in late['message']
    assert late['ports'][0]['mux_port'] is None
    refusals = [event for event in state['events'] if event['resource'] == f'{space}/late']
    assert [(event['type'], event['message'].split(':')[0]) for event in refusals] == [('Warning', 'MuxPortConflict')]
    assert set(refusals[0]) == {'timestamp', 'first_timestamp', 'last_timestamp', 'count', 'type', 'resource', 'message'}
    controller = state['controller']
    assert controller['active'] and controller['synced'] and not controller['dry_run'] and controller['leader'] == controller['identity']
    shape = site.get('/api/topology')[f'{space}/mux']
    assert (shape['mux_external_ip'], shape['mux_missing'], shape['has_queue']) == ('203.0.113.10', False, True)
    assert [one['name'] for one in shape['channels']] == ['api', 'late', 'web']
    assert site.get('/api/config') == {'actions_enabled': False}
    assert site.get('/healthz') == {'status': 'ok'}


def test_the_page_is_read_only_has_its_headers_and_logs_requests(world):
    site = Site(world, '--log-level=debug')
    for path, wanted in (('/', 200), ('/api/state', 200), ('/healthz', 200), ('/openapi.json', 404)):
        status, headers, _ = site.ask(path)
        assert status == wanted
        assert headers['Cache-Control'] == 'no-store' and headers['X-Frame-Options'] == 'DENY'
        assert headers['X-Content-Type-Options'] == 'nosniff' and headers['Referrer-Policy'] == 'no-referrer'
        assert headers['Permissions-Policy'] == 'camera=(), geolocation=(), microphone=()'
    assert site.ask('/openapi.json')[2] == {'detail': 'Not Found'}
    assert site.ask('/api/state', 'POST')[0] == 405
    line = site.program.wait('http-request', target='/openapi.json')
    assert (line['method'], line['status']) == ('GET', 404) and line['duration_ms'] >= 0
    status, _, body = site.ask('/api/test-tcp?host=127.0.0.1&port=6443')
    assert (status, body) == (403, {'success': False, 'error': 'Debug actions are disabled'})


def test_a_token_is_needed_where_there_is_one(world):
    site = Site(world, DEBUG_WEB_AUTH_TOKEN=TOKEN)

    def credentials(user, password):
        return 'Basic ' + base64.b64encode(f'{user}:{password}'.encode()).decode()
    status, headers, body = site.ask('/api/state')
    assert (status, body) == (401, 'Unauthorized - authentication required')
    assert 'Basic realm="Service LoadBalancer Multiplexer Debug UI"' in headers['WWW-Authenticate']
    assert headers['X-Frame-Options'] == 'DENY'
    assert site.ask('/')[0] == 401
    assert site.get('/healthz') == {'status': 'ok'}
    assert site.ask('/api/state', Authorization=credentials('anybody', TOKEN))[0] == 200
    assert site.ask('/api/state', Authorization=credentials(TOKEN, 'anybody'))[0] == 401
    site.program.wait('login-failed')
    assert TOKEN not in open(f'/proc/{site.program.pid}/cmdline', encoding='ascii').read()


def test_a_version_is_sent_once(world):
    site = Site(world)
    world.settled(api={'http': 80}, web={'http': 20000})

    def tag():
        return site.ask('/api/state')[1]['ETag']
    lab.until(lambda: site.ask('/api/state', If_None_Match=tag())[0] == 304, what='an unchanged state')
    before = tag()
    world.channel('more', {'http': 81})
    lab.until(lambda: site.ask('/api/state', If_None_Match=before)[0] == 200, what='another version')


def test_connections_are_tested_to_published_addresses_only(world, kube):
    kube.netns.ip('addr replace 10.1.7.1/32 dev lo')
    listener = kube.netns.socket()
    listener.bind(('10.1.7.1', 8080))
    listener.listen()
    world.channel('real', {'http': {'port': 82, 'targetPort': 8080}})
    world.pod('real', '10.1.7.1')
    site = Site(world, '--debug-web-actions')
    lab.until(lambda: site.get('/api/state')['endpoints'].get(f'{world.namespace}/real', {}).get('ready_count'), what='the endpoint')
    assert site.get('/api/config') == {'actions_enabled': True}
    answer = site.get('/api/test-tcp?host=10.1.7.1&port=8080')
    assert answer == {'success': True, 'message': 'Connected to 10.1.7.1:8080'}
    listener.close()
    assert site.get('/api/test-tcp?host=10.1.7.1&port=8080') == {'success': False, 'error': 'Connection failed with error code 111'}
    for host, port in (('127.0.0.1', 6443), ('10.1.7.1', 22), ('169.254.169.254', 80), ('localhost', 8080)):
        status, _, body = site.ask(f'/api/test-tcp?host={host}&port={port}')
        assert status == 403 and not body['success'], (host, port, body)
    told = [event for event in site.get('/api/state')['events'] if 'ConnectionTest' in event['message']]
    assert [event['type'] for event in told] == ['Warning', 'Normal'] and told[0]['resource'] == f'{world.namespace}/real'


# ---- in a browser ----


@pytest.fixture
def visit(browser):  # noqa: F811
    """Opens pages; at the end the requests and errors of each are checked."""
    pages, forgiven = [], []

    def visit(port, path='/', forgive=(), **how):
        pages.append(browser.open(port, path, **how))
        forgiven.extend(forgive)
        return pages[-1]
    yield visit
    for page in pages:
        page.check_manners(forgiven)
        page.close()


def test_the_page_follows_the_cluster(world, visit):
    site, space = Site(world, '--debug-web-actions'), world.namespace
    page = visit(site.outside)
    page.wait('[data-link=live]')
    page.wait('[data-role=leading]')
    page.wait(f'[data-mux="{space}/mux"][data-condition=active] :text("203.0.113.10")')
    page.wait(f'.attention :text("channel {space}/late is refused")')
    page.wait(f'.attention :text("80/TCP is already claimed by {space}/api")')
    page.wait(f'tr[data-resource="{space}/late"]:has-text("MuxPortConflict")')
    page.evaluate('window.mark = 1')
    page.shot(os.path.join(SHOTS, 'mux-overview.png'))
    assert not page.violations()
    page.click(f'[data-mux="{space}/mux"] a')
    page.wait(f'h1:text("mux {space}/mux")')
    page.wait(f'[data-port="80"][data-owner="{space}/api"]:has-text("1 ready, 1 not ready")')
    page.wait(f'[data-port="20000"][data-owner="{space}/web"]:has-text("auto")')
    page.wait(f'[data-port="none"][data-owner="{space}/late"][data-state=refused]:has-text("MuxPortConflict")')
    page.shot(os.path.join(SHOTS, 'mux-mux.png'))
    assert not page.violations()
    world.annotate('late', external_ports='http:81')
    page.wait(f'[data-port="81"][data-owner="{space}/late"][data-state=served]')
    world.pod('api', '10.1.0.9')
    page.wait(f'[data-port="80"]:has-text("2 ready, 1 not ready")')
    world.kube.patch(world.path('mux-port-allocations', 'configmaps'), {'data': {'allocations.json': '{'}})
    page.wait('[data-condition=frozen]')
    page.wait('[role=alert]:has-text("PortAllocationStoreInvalid")')
    page.shot(os.path.join(SHOTS, 'mux-frozen.png'))
    page.click(f'a:text("{space}/api")')
    page.wait('[data-address="10.1.0.1"][data-ready=true]')
    page.wait('[data-address="10.1.0.2"][data-ready=false]:has-text("not ready")')
    page.click('[data-address="10.1.0.2"] button')
    page.wait('[data-address="10.1.0.2"] [data-result=false]:has-text("error code")')
    world.pod('api', '10.1.0.8')  # the state changes, and the result stays
    page.wait('[data-address="10.1.0.8"]')
    page.wait('[data-address="10.1.0.2"] [data-result=false]')
    page.shot(os.path.join(SHOTS, 'mux-channel.png'))
    page.click('nav a:text("Events")')
    page.wait('tr:has-text("ConnectionTest")')
    page.fill('[data-search]', 'PortAllocationStoreInvalid')
    page.wait('h2:text("1 event")')
    page.shot(os.path.join(SHOTS, 'mux-events.png'))
    assert not page.violations()
    assert page.evaluate('window.mark') == 1, 'nothing was loaded again'


def test_the_page_says_what_a_dry_run_is_and_asks_for_the_token(world, visit):
    site = Site(world, '--dry-run', AUTH_TOKEN=TOKEN)
    page = visit(site.outside, user='me', password=TOKEN, scheme='light')
    page.wait('[data-role="dry run"]:has-text("nothing is written")')
    page.wait(f'[data-mux="{world.namespace}/mux"]')
    page.shot(os.path.join(SHOTS, 'mux-dry-run.png'))
    assert not page.violations()
    assert world.writes() == []


def test_a_replica_that_stands_by_says_so(world, visit):
    first = Site(world)
    world.settled(api={'http': 80}, web={'http': 20000})
    second = world.start(active=False)
    outside = door(world.kube.netns, f'127.0.0.1:{second.port_of("debug-web")}')
    page = visit(int(outside.rsplit(':', 1)[1]))
    page.wait('[data-role=standby]:has-text("leads")')
    assert first.get('/api/state')['controller']['leader'] in page.text('[data-role]')


def test_lost_contact_is_shown(world, visit):
    site = Site(world)
    page = visit(site.outside, forgive=['ERR_', 'Failed to fetch'])
    page.wait('[data-link=live]')
    site.program.stop()
    page.wait('[data-link=lost]')
    page.wait('.banner:has-text("No contact with maglev-mux")')
