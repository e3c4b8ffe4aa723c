# SPDX-License-Identifier: Apache-2.0
"""The gRPC API of maglev-router: states, rates, generations, the way of a request, and its stream."""
import json
import signal
import subprocess

import pytest

from lab import PATIENCE, Authority, program, until
from lab.api import Status
from lab.router import OK, answering, document
from lab.router_api import RouterApi, kind_of
from lab.turns import Turns, long_turns

FAILED = b'HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n'
NAME = 'router.example.net'


def shop(*servers, **more):
    """Two routes of one host, a redirect and a default route; pools blue and green."""
    at = [f'127.0.0.1:{server.port}' for server in servers]
    return {'routes': [
        {'name': 'canary', 'host': 'shop.example', 'pool': 'green',
         'matches': [{'path': {'value': '/v1'}, 'headers': [{'name': 'x-canary', 'value': '1'}]}]},
        {'name': 'api', 'host': 'shop.example', 'path_prefix': '/v1', 'strip_prefix': True,
         'backends': [{'pool': 'blue', 'weight': 3}, {'pool': 'green'}]},
        {'name': 'old', 'host': '*.old.example', 'filters': {'redirect': {'scheme': 'https', 'status': 301}}}],
        'default_route': {'pool': 'blue'},
        'pools': [{'name': 'green', 'servers': at[:1]}, {'name': 'blue', 'servers': at, 'balance': 'least_request'}], **more}


@pytest.fixture
def shown(route):
    """A router, with its API as .api."""
    apis = []

    def start(doc, *args, **how):
        router = route(doc, *args, **how)
        router.api = RouterApi(router.port_of('grpc'))
        apis.append(router.api)
        return router
    yield start
    for api in apis:
        api.close()


def test_lists_are_sorted_and_say_what_is_configured(serve, shown):
    router = shown(shop(serve(), serve()))
    assert [one.name for one in router.api.call('ListRoutes').routes] == ['(default)', 'api', 'canary', 'old']
    api = router.api.route('api')
    assert (api['position'], api['hosts'], api['listeners']) == (2, ['shop.example'], [])
    rule, = api['rules']
    assert rule['matches'] == ['prefix /v1'] and rule['filters'] == ['strips the prefix']
    assert [(one['pool'], one['share'], one['usable'], one['servers']) for one in rule['backends']] == \
        [('blue', 0.75, 2, 2), ('green', 0.25, 1, 1)]
    assert router.api.route('old')['rules'][0]['redirect'] == '301 to https'
    assert router.api.route('(default)')['fallback']
    assert [one.name for one in router.api.call('ListPools').pools] == ['blue', 'green']
    blue = router.api.pool('blue')
    assert (blue['balance'], blue['position'], blue['usable'], blue['routes']) == ('least_request', 1, 2, ['(default)', 'api'])
    assert [(one['state'], one['share']) for one in blue['servers']] == [('up', 0.5)] * 2
    listener, = router.api.call('ListListeners').listeners
    assert (listener.name, listener.routes) == ('default', 3)
    it = router.api.router()
    assert (it['generation'], it['source'], it['routes'], it['pools'], it['threads']) == ('1', 'file', 3, 2, 2)
    assert it['problem'] == '' and it['config_error'] == ''
    router.api.refused('GetRoute', Status.NOT_FOUND, 'no route is called "apis"', name='apis')
    router.api.refused('GetPool', Status.NOT_FOUND, 'no pool is called ""')


def test_requests_are_counted_with_their_rates_and_errors(serve, shown):
    good, bad = serve(), serve(answering(FAILED))
    router = shown({'routes': [{'name': 'good', 'host': 'good.example', 'pool': 'good'},
                               {'name': 'bad', 'host': 'bad.example', 'pool': 'bad'}],
                    'pools': [{'name': name, 'servers': [f'127.0.0.1:{server.port}']}
                              for name, server in (('good', good), ('bad', bad))]})

    def send():
        for host in ('good.example', 'bad.example'):
            router.request(headers={'Host': host})
        return {name: router.api.route(name)['traffic'] for name in ('good', 'bad')}

    traffic = until(lambda: (now := send())['good']['rate'] > 0 and now['bad']['rate'] > 0 and now, what='rates')
    assert traffic['good']['error_share'] == 0 and traffic['good']['errors'] == '0'
    assert traffic['bad']['error_share'] > 0.5 and traffic['bad']['errors'] == traffic['bad']['answers'][4] != '0'
    assert 0 < int(traffic['good']['p50']) <= int(traffic['good']['p99'])
    it = router.api.router()['traffic']
    assert it['rate'] > 0 and int(it['requests']) == 2 * int(traffic['good']['requests'])
    server, = router.api.pool('bad')['servers']
    assert server['traffic']['error_share'] > 0.5
    # the same name keeps its counters when the configuration changes, and rates end when requests do
    router.update({'routes': [{'name': 'good', 'pool': 'good'}],
                   'pools': [{'name': 'good', 'servers': [f'127.0.0.1:{good.port}']}]})
    assert router.api.route('good')['traffic']['requests'] == traffic['good']['requests']
    until(lambda: router.api.route('good')['traffic']['rate'] < 0.1, timeout=2 * PATIENCE, what='the end of the rate')


def test_a_server_that_refuses_connections_has_errors(serve, shown):
    good, dead = serve(), serve()
    dead.close()
    router = shown(document(good, dead))

    def dead_one():
        router.request()
        return router.api.pool('pool')['servers'][1]['traffic']

    until(lambda: dead_one()['error_share'] > 0, what='errors')
    assert int(router.api.pool('pool')['traffic']['errors']) == 0  # another server has answered


def test_problems_are_said(serve, shown):
    empty = {'routes': [{'name': 'all', 'pool': 'none'}], 'pools': [{'name': 'none', 'servers': []},
                                                                    {'name': 'unused', 'servers': []}]}
    router = shown(empty)
    assert router.api.router()['problem'] == 'pool none has no server that gets requests'
    router.write('{"routes": [{"name": "x"}]}')
    router.signal(signal.SIGHUP)
    error = until(lambda: router.api.router()['config_error'], what='the refusal')
    assert 'router.json:1:' in error
    router.write(document(serve()))
    router.signal(signal.SIGHUP)
    until(lambda: router.api.router()['generation'] == '2', what='the next generation')
    it = router.api.router()
    assert (it['config_error'], it['problem']) == ('', '')


# ---- the way of a request ----

def test_an_explanation_is_what_a_request_meets(serve, shown):
    blue, green = serve(), serve()
    router = shown(shop(green, blue))

    def explain(path, host='shop.example', **more):
        return router.api.call('ExplainRequest', host=host, path=path, **more)

    it = explain('/v1/x?y=1')
    assert (it.outcome, it.route, it.rule, it.host, it.listener) == ('forward', 'api', 'api', 'shop.example', 'default')
    assert it.summary == '75 % to pool blue, 25 % to pool green'
    assert [(one.route, one.applies, one.reason) for one in it.candidates] == \
        [('canary', False, 'there is no header x-canary'), ('api', True, '')]
    assert [(one.pool, len(one.servers)) for one in it.backends] == [('blue', 2), ('green', 1)]
    assert explain('/v1', headers=['X-Canary: 1']).route == 'canary'
    assert router.request(path='/v1', headers={'Host': 'shop.example', 'X-Canary': '1'}).status == 200
    assert len(green.requests) == 1
    moved = explain('/', host='www.old.example:80')
    assert (moved.outcome, moved.status, moved.route) == ('redirect', 301, 'old')
    assert router.request(headers={'Host': 'www.old.example:80'}).status == 301
    other = explain('/', host='elsewhere.example')
    assert (other.outcome, other.route, other.summary) == ('forward', '(default)', 'to pool blue')


def test_what_is_not_passed_on_is_explained_too(serve, shown):
    router = shown({'listeners': [{'name': 'a', 'address': '127.0.0.1:0', 'host': '*.a.example'}],
                    'routes': [{'name': 'one', 'host': 'x.a.example', 'path_exact': '/one', 'pool': 'p'},
                               {'name': 'lost', 'host': 'x.a.example', 'path_exact': '/lost',
                                'backends': [{'invalid': True}]}],
                    'pools': [{'name': 'p', 'servers': [f'127.0.0.1:{serve().port}']}],
                    'allowed_hosts': ['*.a.example', '*.b.example']})

    def explain(path, host='x.a.example', **more):
        it = router.api.call('ExplainRequest', host=host, path=path, **more)
        assert router.request(path=path, headers={'Host': host}, listener='a').status == (it.status or 200)
        return it

    assert explain('/one').outcome == 'forward'
    missing = explain('/two')
    assert missing.status == 404 and [one.reason for one in missing.candidates] == ['the path differs'] * 2
    assert explain('/one', host='b.example').status == 421
    assert 'no listener' in explain('/one', host='y.b.example').summary
    lost = router.api.call('ExplainRequest', host='x.a.example', path='/lost')
    assert (lost.outcome, lost.summary) == ('forward', 'answered with 500')
    assert router.request(path='/lost', headers={'Host': 'x.a.example'}, listener='a').status == 500
    for text, fields in (('begin with', {'path': 'x'}), ('listener', {'path': '/', 'listener': 'b'}),
                         ('Name: value', {'path': '/', 'headers': ['x']})):
        router.api.refused('ExplainRequest', Status.INVALID_ARGUMENT, text, host='a', **fields)


def test_many_candidates_are_bounded(serve, shown):
    server = serve()
    routes = [{'name': f'r{i}', 'path_exact': f'/{i}', 'pool': 'pool'} for i in range(300)]
    router = shown({**document(server), 'routes': [*routes, {'name': 'all', 'pool': 'pool'}]})
    it = router.api.call('ExplainRequest', host='a', path='/299')
    assert it.route == 'r299' and len(it.candidates) == 100 and it.left_out == 201
    assert [one.route for one in it.candidates if not one.reason] == ['r299']
    assert it.candidates[-1].reason == 'it applies, but another one goes first'


# ---- generations ----

def test_generations_have_their_difference_and_can_return(serve, shown):
    one, two = serve(), serve()
    router = shown(document(one))
    changed = document(two)
    changed['routes'].append({'name': 'more', 'path_prefix': '/more', 'pool': 'pool'})
    assert router.update(changed).status == 200
    newest, oldest = router.api.generations()
    assert (newest['number'], newest['source'], newest['in_force'], newest['routes']) == ('2', 'api', True, 2)
    assert (newest['added'], newest['removed'], newest['changed'], newest['compared']) == (1, 0, 1, True)
    assert (oldest['number'], oldest['source'], oldest['in_force'], oldest['compared']) == ('1', 'file', False, False)
    changes = router.api.call('GetGenerationDiff').changes
    assert [(it.kind, it.name, it.change) for it in changes] == [('route', 'more', 'added'), ('pool', 'pool', 'changed')]
    assert str(one.port) in changes[1].before and str(two.port) in changes[1].after
    assert json.loads(changes[0].after)['name'] == 'more' and changes[0].before == ''
    router.request()
    router.api.metadata = [('maglev-operator', 'carol')]
    it = router.api.call('Rollback')
    assert (it.generation, it.source, it.routes) == (3, 'rollback', 1)
    assert router.api.generations()[0]['operator'] == router.wait('operator-act', act='rollback')['operator'] == 'unverified:carol'
    assert router.api.generations()[0]['peer'].startswith('127.0.0.1:')
    router.request()
    assert len(one.requests) == len(two.requests) == 1
    assert router.api.generations()[0]['of'] == '1'
    assert router.api.call('Rollback', number=2).routes == 2
    router.api.refused('Rollback', Status.NOT_FOUND, number=99)
    router.api.refused('GetGenerationDiff', Status.NOT_FOUND, 'not known', number=99)


def test_an_answer_holds_no_generation(serve, shown):
    router = shown(document(serve()))
    stream = router.api.watch()
    stream.wait('router')
    for _ in range(3):
        router.update(document(serve()))
        router.api.call('ListRoutes')
    until(lambda: router.api.router()['generations_held'] == 1, what='one generation while a client watches')
    stream.cancel()


# ---- the stream ----

def test_a_stream_shows_the_state_and_then_changes(serve, shown):
    router = shown(shop(serve(), serve()))
    stream = router.api.watch()
    until(lambda: len(stream.events) == 8, what='the state')
    assert [kind_of(one) for one in stream.events] == ['router', 'listener', *['route'] * 4, *['pool'] * 2]
    assert all(one.replay for one in stream.events) and [one.seq for one in stream.events] == list(range(1, 9))
    router.request(headers={'Host': 'shop.example'}, path='/v1')  # figures alone are no news
    router.update(document(serve()))
    # the router first: its generation says that a new state follows
    stream.wait('router', generation=2)
    until(lambda: [one.name for one in stream.of('pool')][-1] == 'pool', what='the new state')
    assert [kind_of(one) for one in stream.events[8:]] == ['router', 'listener', 'route', 'pool']
    assert all(one.replay for one in stream.events[8:])
    stream.cancel()


def test_rates_are_sent_to_those_that_want_them(serve, shown):
    router = shown(document(serve()))
    quiet, live = router.api.watch(), router.api.watch(rates=True)
    until(lambda: len(quiet.events) == len(live.events) == 4, what='the state')
    router.request()
    route = until(lambda: live.of('route')[1:], what='news of the route')[0]
    assert route.name == 'all' and route.traffic.requests == 1 and route.traffic.rate >= 0
    assert not [one for one in live.events[4:] if one.replay]
    until(lambda: router.request() and any(one.traffic.rate > 0 for one in live.of('pool')), what='a rate')
    assert len(quiet.events) == 4
    quiet.cancel()
    live.cancel()


def test_a_hundred_updates_are_not_a_hundred_replays(serve, shown):
    """The stream shows a new configuration once a second at most, and each time all of it."""
    server = serve()
    router = shown(document(server))
    stream = router.api.watch()
    stream.wait('pool')
    for i in range(100):
        doc = document(server)
        doc['routes'][0]['name'] = f'route{i}'
        assert router.update(doc).status == 200
    stream.wait('route', name='route99')
    stream.wait('router', generation=101)
    assert len(stream.of('router')) < 20
    stream.cancel()


# ---- who may ask ----

def test_it_refuses_to_start_on_other_addresses_without_client_certificates():
    for address in (':0', '0.0.0.0:9096', '[::]:9096', '192.0.2.1:9096'):
        done = subprocess.run([program('maglev-router'), '--grpc-addr', address], capture_output=True, text=True,
                              timeout=PATIENCE)
        assert done.returncode == 64 and 'needs --grpc-client-ca' in done.stderr


def test_only_operators_may_roll_back(serve, shown, tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp('router'), NAME)
    alice, bob = authority.issue('alice', 'alice'), authority.issue('bob', 'bob')
    certificate, key = authority.good
    router = shown(document(serve()), '--grpc-tls-cert', certificate, '--grpc-tls-key', key, '--grpc-client-ca',
                   authority.ca, '--grpc-operators', 'alice')

    def api(pair):
        read = [open(path, 'rb').read() for path in (authority.ca, *pair)]
        return RouterApi(router.port_of('grpc'), tls=read, name=NAME)

    reader, operator = api(bob), api(alice)
    assert reader.router()['generation'] == '1'
    reader.refused('Rollback', Status.PERMISSION_DENIED, '"bob" may read')
    operator.refused('Rollback', Status.NOT_FOUND)
    reader.close()
    operator.close()
    router.api.refused('GetRouter', Status.UNAVAILABLE)


def test_the_api_can_be_switched_off(serve, route):
    router = route(document(serve()), '--grpc-addr', '')
    assert router.request().status == 200
    assert not router.all('listening', **{'for': 'grpc'})
    assert router.metrics().one('maglev_router_grpc_connections') == 0


def test_metrics_count_calls_and_watchers(serve, shown):
    router = shown(document(serve()))
    stream = router.api.watch()
    stream.wait('pool')
    router.api.call('ListRoutes')
    metrics = router.metrics()
    assert metrics.one('maglev_router_watch_subscribers') == 1
    assert metrics.one('maglev_router_watch_events_total') >= 4
    assert metrics.one('maglev_router_grpc_calls_total', method='ListRoutes', status='OK') == 1
    stream.cancel()
    until(lambda: router.metrics().one('maglev_router_watch_subscribers') == 0, what='the end of the stream')


def test_the_health_of_servers_is_shown(serve, shown):
    well = [True, True]

    def checked(number):
        def answer(wire):
            while wire.message():
                wire.send(OK if well[number] else FAILED)
        return serve(answer)

    one, two = checked(0), checked(1)
    probe = {'probe': {'path': '/', 'interval': '50ms', 'rise': 1, 'fall': 1}}
    router = shown(document(one, two, pool=probe))
    states = lambda: [(server['state'], server['share']) for server in router.api.pool('pool')['servers']]  # noqa: E731
    until(lambda: states() == [('up', 0.5), ('up', 0.5)], what='two servers')
    stream = router.api.watch()
    stream.wait('pool')
    well[1] = False
    # a probe has 50 ms for its answer, so on a busy machine one may fail for another reason
    until(lambda: states() == [('up', 1), ('down', 0)], what='one server')
    down = until(lambda: (it := router.api.pool('pool')['servers'][1])['reason'].startswith('L7STS') and it, what='the reason')
    assert int(down['since']) > int(router.api.router()['started'])
    until(lambda: [one for one in stream.of('pool') if one.usable == 1 and one.servers[1].state == 'down'], what='news of it')
    until(lambda: [one['usable'] for one in router.api.route('all')['rules'][0]['backends']] == [1], what='one server of the route')
    well[0] = False
    until(lambda: router.api.router()['problem'] == 'pool pool has no server that gets requests', what='the problem')
    stream.cancel()


def test_a_server_that_drains_or_is_ejected_says_so(serve, shown):
    good, bad = serve(), serve(answering(FAILED))
    doc = document(good, bad, pool={'ejection': {'failures': 1, 'time': '1m'}})
    router = shown(doc)
    until(lambda: router.request().status == 503, what='a failure')
    server = until(lambda: (it := router.api.pool('pool')['servers'][1])['state'] == 'ejected' and it, what='the ejection')
    assert server['share'] == 0 and 'failed' in server['reason']
    doc['pools'] = [{'name': 'pool', 'upstreams': [{'host': '127.0.0.1', 'port': good.port},
                                                  {'host': '127.0.0.1', 'port': bad.port, 'drain': True}]}]
    assert router.update(doc).status == 200
    assert [one['state'] for one in router.api.pool('pool')['servers']] == ['up', 'draining']


def test_the_addresses_of_a_name_are_shown(serve, shown):
    server = serve()
    router = shown({'routes': [{'name': 'all', 'pool': 'pool'}],
                    'pools': [{'name': 'pool', 'servers': [f'localhost:{server.port}', 'nowhere.invalid:80']}]})
    found = until(lambda: (it := router.api.pool('pool')['servers'][0])['addresses'] and it, what='the addresses')
    assert '127.0.0.1' in found['addresses'] and found['state'] == 'up'
    missing = router.api.pool('pool')['servers'][1]
    assert (missing['state'], missing['addresses'], missing['share']) == ('unknown', [], 0)
    assert missing['reason'] == 'its name has not been found'


def test_a_rollout_is_said(serve, shown):
    router = shown(document(serve()))
    assert router.update(document(serve()), path='/routes/update?rollout=30&step=0').status == 200
    assert router.api.router()['rollout'] == 'generation 2 gets 30 % of the requests'
    assert router.ask('POST', '/rollout/promote').status == 200
    it = router.api.router()
    assert (it['rollout'], it['generation'], it['source']) == ('', '2', 'rollout')


# ---- many ----

def test_ten_thousand_routes_are_shown_in_slices(serve, route):
    """Lists and streams with rates to 4 clients at once, under requests: no turn of the loop takes over 10 ms."""
    server = serve()
    doc = document(server)
    doc['routes'] = [{'name': f'r{i:05}', 'host': f'h{i}.example', 'pool': 'pool'} for i in range(10000)]
    router = route(doc, level='info', measured=True)
    clients = [RouterApi(router.port_of('grpc')) for _ in range(4)]
    names = [one['name'] for one in doc['routes']]

    def ask():
        for call in [client.start('ListRoutes') for client in clients]:
            assert [one.name for one in call.result().routes] == names

    def follow():
        streams = [client.watch(rates=True) for client in clients]
        for stream in streams:
            stream.wait('pool')
        router.request(headers={'Host': 'h5000.example'})
        before = streams[0].find('route', name='r05000')[0].traffic.requests
        for stream in streams:
            until(lambda: stream.find('route', name='r05000')[-1].traffic.requests > before, what='news of one route')
            stream.cancel()

    before = Turns(router).all
    ask()
    assert Turns(router).all - before > 8, 'it is made in one turn'
    assert long_turns(router, ask) == 0
    assert long_turns(router, follow) == 0
    it = clients[0].call('ExplainRequest', host='h9999.example', path='/')
    assert it.route == 'r09999'
    for client in clients:
        client.close()
