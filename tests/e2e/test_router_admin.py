# SPDX-License-Identifier: Apache-2.0
"""maglev-router: its admin API beyond whole updates: generations, the servers of one pool, answers and who may ask."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from urllib.parse import quote

import pytest

from lab import PATIENCE, program, until
from lab.certs import Authority
from lab.router import OK, Router, Wire, answering, document
from lab.upgrades import Load


def port_of(router, **how):
    return int(router.request(**how).headers['x-port'])


def named(wire):
    """Answers with its port, in one piece."""
    while True:
        wire.message()
        wire.send(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Port: %d\r\n\r\n' % wire.server.port)


# ---- updates ----

def test_the_update_of_the_design(serve, route):
    """The request, the answers and the error that clients of the API were written for."""
    api, static = serve(named), serve(named)
    router = route({'pools': []})
    update = {
        'routes': [
            {'name': 'api', 'host': 'api.example.com', 'path_prefix': '/api/', 'pool_idx': 0, 'strip_prefix': True},
            {'name': 'static', 'path_prefix': '/static/', 'pool_idx': 1, 'strip_prefix': True}],
        'default_route': {'name': 'default', 'path_prefix': '/', 'pool_idx': 0, 'strip_prefix': False},
        'pools': [
            {'name': 'api-pool',
             'upstreams': [{'host': '127.0.0.1', 'port': api.port, 'idx': 0, 'tls': False},
                           {'host': '127.0.0.2', 'port': api.port, 'idx': 1, 'tls': False}],
             'lb_config': {'enable_probing': True, 'probe_interval_ms': 5000, 'health_path': '/healthz'}},
            {'name': 'static-pool', 'upstreams': [{'host': '127.0.0.1', 'port': static.port, 'idx': 2, 'tls': False}],
             'lb_config': {'enable_probing': False}}]}
    answer = router.update(update)
    assert (answer.status, answer.json) == (200, {'status': 'ok', 'routes_updated': 2, 'pools_updated': 2, 'generation': 2})
    assert port_of(router, path='/static/x') == static.port
    shown = router.ask('GET', '/routes').json
    assert shown['routes'] == update['routes'] and shown['generation'] == 2
    assert {key: shown['default_route'][key] for key in ('name', 'path_prefix', 'pool_idx')} == \
        {'name': 'default', 'path_prefix': '/', 'pool_idx': 0}
    assert [pool['name'] for pool in router.ask('GET', '/pools').json['pools']] == ['api-pool', 'static-pool']
    update['routes'][0]['pool_idx'] = 5
    answer = router.update(update)
    assert (answer.status, answer.json) == (400, {
        'status': 'error', 'error': 'InvalidPoolIndex', 'message': "Route 'api' references pool_idx 5 but only 2 pools defined"})
    assert router.get('/healthz') == router.get('/readyz') == (200, 'ok\n')
    assert router.metrics().one('maglev_router_generation') == 2


def test_warnings_are_a_part_of_the_answer(serve, route):
    router = route(document(serve()))
    for path in ('/config/check', '/routes/update'):
        answer = router.update(document(), path)
        assert answer.status == 200 and answer.json['status'] == 'ok'
        warning, = answer.json['warnings']
        assert warning['message'].startswith("Pool 'pool'") and warning['line'] == 1 and warning['column'] > 1


def test_every_refusal_has_a_name(serve, route):
    router = route(document(serve()))
    for method, path, headers, status, error in (('GET', '/nowhere', None, 404, 'UnknownPath'), ('POST', '/routes', None, 405, 'WrongMethod'),
                                                 ('GET', '/generations/1/other', None, 404, 'UnknownPath'),
                                                 ('GET', '/routes', {'X': 'x' * 100000}, 431, 'HeadTooLarge'),
                                                 ('GET', '/routes', {'Content-Length': 'x'}, 400, 'MalformedRequest')):
        answer = router.ask(method, path, headers)
        assert (answer.status, answer.json['status'], answer.json['error']) == (status, 'error', error)


# ---- generations ----

def test_generations_say_what_changed(serve, route):
    one, two = serve(), serve()
    router = route(document(one))
    more = document(two)
    more['routes'].append({'name': 'api', 'path_prefix': '/api', 'pool': 'pool'})
    assert router.update(more).status == 200
    shown = router.ask('GET', '/generations').json
    assert shown['generation'] == 2
    newest, oldest = shown['generations']
    assert (newest['generation'], newest['source'], newest['in_force'], newest['held']) == (2, 'api', True, True)
    assert newest['peer'].startswith('127.0.0.1:') and newest['before'] == 1
    assert (newest['routes'], newest['pools'], newest['listeners']) == (2, 1, 1)
    assert newest['changes'] == {
        'routes': {'added': ['api'], 'removed': [], 'changed': [], 'moved': False, 'total': 1},
        'pools': {'added': [], 'removed': [], 'changed': ['pool'], 'moved': False, 'total': 1}}
    assert (oldest['generation'], oldest['source'], oldest['in_force'], oldest['peer']) == (1, 'file', False, '')
    assert oldest['changes']['routes']['added'] == ['all']
    diff = router.ask('GET', '/generations/2/diff').text.splitlines()
    assert diff[0] == '@@ routes: 1 added, 0 removed, 0 changed @@'
    assert json.loads(diff[1][1:])['name'] == 'api' and diff[1][0] == '+'
    assert diff[3][0] == '-' and f'{one.port}' in diff[3]
    assert diff[4][0] == '+' and f'{two.port}' in diff[4]
    assert router.ask('GET', '/generations/1/config').json['pools'][0]['upstreams'][0]['port'] == one.port
    for path in ('/generations/3/config', '/generations/x/config', '/generations/'):
        answer = router.ask('GET', path)
        assert (answer.status, answer.json['error']) == (404, 'UnknownGeneration'), path
    assert router.ask('GET', '/generations/1/other').status == 404


def test_a_rollback_applies_an_earlier_generation(serve, route):
    servers = [serve() for _ in range(3)]
    router = route(document(servers[0]))
    for server in servers[1:]:
        router.update(document(server))
    answer = router.ask('POST', '/rollback')
    assert (answer.status, answer.json['generation']) == (200, 4)
    assert port_of(router) == servers[1].port
    answer = router.ask('POST', '/rollback', body='{"generation": 1}')
    assert (answer.status, answer.json['generation']) == (200, 5)
    assert port_of(router) == servers[0].port
    newest = router.ask('GET', '/generations').json['generations'][0]
    assert (newest['source'], newest['of'], newest['before']) == ('rollback', 1, 4)
    assert newest['changes']['pools']['changed'] == ['pool']
    router.wait('rolled-back', generation=5, of=1)
    for body, status, error in (('{"generation": 99}', 404, 'UnknownGeneration'), ('{"generation": "x"}', 400, 'InvalidValue'),
                                ('{', 400, 'InvalidValue'), ('{"other": 1}', 400, 'InvalidValue')):
        answer = router.ask('POST', '/rollback', body=body)
        assert (answer.status, answer.json['error']) == (status, error)
    assert router.metrics().one('maglev_router_generation') == 5


def test_only_the_last_ten_can_come_back(serve, route):
    server = serve()
    router = route(document(server))
    for _ in range(20):
        router.update(document(server))
    assert [one['generation'] for one in router.ask('GET', '/generations').json['generations']] == list(range(21, 11, -1))
    assert router.ask('POST', '/rollback', body='{"generation": 11}').status == 404
    assert router.ask('POST', '/rollback', body='{"generation": 12}').status == 200
    router.wait_metric('maglev_router_generations_held', 1)


def test_a_rollback_opens_its_listeners_again(serve, route):
    server = serve()
    router = route(document(server, listeners=[{'name': 'a', 'address': '127.0.0.1:0'}]))
    router.update(document(server, listeners=[{'name': 'b', 'address': '127.0.0.2:0'}]))
    router.wait('listener-closed', **{'for': 'a'})
    since = router.mark()
    assert router.ask('POST', '/rollback').status == 200
    port = int(router.wait('listening', since, **{'for': 'a'})['addr'].rsplit(':', 1)[1])
    with Wire(port) as client:
        assert client.get()[0].status == 200


def test_without_an_earlier_generation_there_is_no_rollback(serve, route):
    router = route(document(serve()))
    answer = router.ask('POST', '/rollback')
    assert (answer.status, answer.json['error']) == (404, 'UnknownGeneration')


# ---- the servers of one pool ----

def set_servers(router, pool, body):
    return router.ask('POST', f'/pools/{quote(pool, safe="")}/endpoints', body=json.dumps(body))


def test_the_servers_of_one_pool_are_replaced(serve, route):
    one, two, other = serve(), serve(), serve()
    router = route({'routes': [{'name': 'a', 'path_prefix': '/a', 'pool': 'ns/a b'}, {'name': 'rest', 'pool': 'rest'}],
                    'pools': [{'name': 'rest', 'servers': [f'127.0.0.1:{other.port}']},
                              {'name': 'ns/a b', 'servers': [f'127.0.0.1:{one.port}'], 'balance': 'least_request'}]})
    assert port_of(router, path='/a') == one.port
    answer = set_servers(router, 'ns/a b', {'servers': [f'127.0.0.1:{two.port}']})
    assert (answer.status, answer.json) == (200, {'status': 'ok', 'pool': 'ns/a b', 'servers': 1, 'generation': 2})
    assert port_of(router, path='/a') == two.port
    assert port_of(router, path='/b') == other.port
    pool = router.ask('GET', '/pools').json['pools'][1]
    assert pool['balance'] == 'least_request'
    assert [(one['port'], one['idx']) for one in pool['upstreams']] == [(two.port, 1)]
    answer = set_servers(router, 'ns/a b', {'upstreams': [{'host': '127.0.0.1', 'port': server.port, 'weight': 3}
                                                          for server in (one, two)]})
    assert answer.json['servers'] == 2
    assert {port_of(router, path='/a') for _ in range(6)} == {one.port, two.port}
    newest = router.ask('GET', '/generations').json['generations'][0]
    assert (newest['source'], newest['changes']) == ('endpoints', {
        'pools': {'added': [], 'removed': [], 'changed': ['ns/a b'], 'moved': False, 'total': 1}})
    # what the next whole update is compared with has the servers of that update
    assert router.update(router.ask('GET', '/config').json).status == 200
    assert router.ask('GET', '/generations').json['generations'][0]['changes'] == {}
    assert router.ask('POST', '/rollback', body='{"generation": 2}').status == 200
    assert {port_of(router, path='/a') for _ in range(4)} == {two.port}


def test_an_update_of_servers_keeps_their_connections(serve, route):
    one, two = serve(named), serve(named)
    router = route(document(one), threads=1)
    with router.client() as client:
        client.get()
        for _ in range(50):
            set_servers(router, 'pool', {'servers': [f'127.0.0.1:{one.port}', f'127.0.0.1:{two.port}']})
            client.get()
            set_servers(router, 'pool', {'servers': [f'127.0.0.1:{one.port}']})
            client.get()
    assert one.connections == 1


def test_bad_servers_are_refused_whole(serve, route):
    server = serve()
    router = route(document(server))
    for pool, body, status, error, words in (
            ('nowhere', {'servers': []}, 404, 'UnknownPool', "there is no pool 'nowhere'"),
            ('pool', {'servers': ['127.0.0.1:x']}, 400, 'InvalidUpstream', "Pool 'pool': servers[0]"),
            ('pool', {'upstreams': [{'host': '127.0.0.1'}]}, 400, 'InvalidUpstream', "Pool 'pool': upstreams[0].port"),
            ('pool', {}, 400, 'EmptyPool', "Pool 'pool'"), ('pool', {'balance': 'random'}, 400, 'UnknownKey', 'balance'),
            ('pool', [], 400, 'InvalidValue', '')):
        answer = set_servers(router, pool, body)
        assert (answer.status, answer.json['error']) == (status, error), answer.text
        assert words in answer.json['message']
    assert router.ask('POST', '/pools/pool', body='{}').status == 404
    assert router.ask('POST', '/pools/%zz/endpoints', body='{"servers": []}').status == 404
    assert router.ask('POST', '/pools/a%00b/endpoints', body='{"servers": []}').status == 404
    assert router.metrics().one('maglev_router_generation') == 1
    assert router.request().status == 200


# ---- programs that drive routers ----

def current(router):
    return router.ask('GET', '/generation').json


def test_drivers_see_what_is_in_force_and_who_was_first(serve, route):
    one, two = serve(named), serve(named)
    router = route(document(one))
    instance = current(router)['instance']
    assert current(router) == {'generation': 1, 'instance': instance}
    assert router.update(document(two), '/routes/update?generation=1&tag=first').status == 200
    assert current(router) == {'generation': 2, 'tag': 'first', 'instance': instance}
    # the other driver still believes in generation 1
    for path, body in (('/routes/update', document(one)), ('/pools/pool/endpoints', {'servers': []})):
        answer = router.update(body, path + '?generation=1&tag=late')
        assert (answer.status, answer.json['error']) == (409, 'OtherGeneration')
        assert answer.json['message'] == 'generation 2 is in force, not 1'
    assert current(router)['tag'] == 'first' and port_of(router) == two.port
    assert router.update({'servers': [f'127.0.0.1:{one.port}']}, '/pools/pool/endpoints?generation=2&tag=second').status == 200
    assert current(router) == {'generation': 3, 'tag': 'second', 'instance': instance}
    # a tag belongs to one generation
    assert router.ask('POST', '/rollback').status == 200
    assert current(router) == {'generation': 4, 'instance': instance}
    text = json.dumps(document(one)).replace('"pools"', '\n"pools"').replace('"name": "pool"', '"name": ""')
    answer = router.ask('POST', '/routes/update?errors=all', body=text)
    assert [(error['error'], error['line']) for error in answer.json['errors']][-1] == ('InvalidName', 2), answer.json
    for query in ('tag=' + 'x' * 65, 'generation=x'):
        assert router.update(document(one), '/routes/update?' + query).json['error'] == 'InvalidValue'
    assert current(router)['generation'] == 4


def test_a_router_that_has_restarted_is_another_instance(serve, route):
    router = route(document(serve()))
    before = current(router)['instance']
    router.kill()
    router.start()
    assert current(router)['instance'] != before


# ---- sizes ----

def many(server, n):
    return {'routes': [{'name': f'route-{i}', 'host': f'h{i}.example.com', 'path_prefix': '/', 'pool_idx': 0, 'strip_prefix': True}
                       for i in range(n)], 'pools': document(server)['pools']}


def test_answers_have_a_limit_and_lists_have_pages(serve, route):
    server = serve()
    router = route(many(server, 200), '--admin-max-answer', '4')
    for path in ('/routes', '/config', '/generations/1/config'):
        answer = router.ask('GET', path)
        assert (answer.status, answer.json['error']) == (400, 'AnswerTooLarge') and '4096' in answer.json['message']
    page = router.ask('GET', '/routes?from=190&limit=20').json
    assert [one['name'] for one in page['routes']] == [f'route-{i}' for i in range(190, 200)]
    assert (page['total'], page['generation']) == (200, 1)
    assert router.ask('GET', '/routes?from=200').json['routes'] == []
    assert router.ask('GET', '/pools?limit=1').json['total'] == 1
    assert router.ask('GET', '/routes?limit=x').json['error'] == 'InvalidValue'
    assert router.ask('GET', '/generations').json['generations'][0]['routes'] == 200


def test_larger_bodies_need_a_flag(serve, route):
    server = serve()
    body = json.dumps(many(server, 10000))
    assert len(body) > 1 << 20
    router = route(document(server))
    answer = router.ask('POST', '/routes/update', body=body)
    assert (answer.status, answer.json['error']) == (413, 'BodyTooLarge')
    router = route(document(server), '--admin-max-body', '8192')
    assert router.ask('POST', '/routes/update', body=body).json['routes_updated'] == 10000
    assert router.request(headers={'Host': 'h9999.example.com'}).status == 200
    body = json.dumps(many(server, 10001), indent=20)
    assert 4 << 20 < len(body) < 8 << 20
    assert router.ask('POST', '/routes/update', body=body).json['routes_updated'] == 10001


# ---- who may ask ----

TOKEN = 'a token of 16 b.'.replace(' ', '-')


@pytest.fixture
def token(folders):
    path = os.path.join(str(folders()), 'token')

    def write(text=TOKEN, mode=0o600):
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text + '\n')
        os.chmod(path, mode)
        return path
    write.path = path
    return write


def bearer(token):
    return {'Authorization': f'Bearer {token}'}


def test_a_token_is_needed_for_all_but_the_probes(serve, route, token):
    router = route(document(serve()), '--admin-token-file', token())
    for path in ('/routes', '/config', '/metrics', '/generations', '/nowhere'):
        for headers in (None, bearer('x' * 16), bearer(TOKEN[:-1]), {'Authorization': f'Basic {TOKEN}'}, bearer('')):
            answer = router.ask('GET', path, headers)
            assert (answer.status, answer.json['error']) == (401, 'InvalidToken'), path
            assert answer.headers['www-authenticate'].startswith('Bearer')
    assert router.ask('POST', '/routes/update', body='{}').status == 401
    for path in ('/healthz', '/readyz'):
        assert router.get(path) == (200, 'ok\n')
    for headers in (bearer(TOKEN), {'authorization': f'bearer  {TOKEN}'}, {**bearer(TOKEN), 'Host': 'router.example'}):
        assert router.ask('GET', '/routes', headers).status == 200
        assert router.ask('GET', '/metrics', headers).status == 200
    assert router.ask('POST', '/config/check', bearer(TOKEN), '{}').status == 200


def test_the_token_is_read_again(serve, route, token):
    router = route(document(serve()), '--admin-token-file', token())
    new = 'another-token-of-bytes'
    token(new)
    router.signal(signal.SIGHUP)
    router.wait('token-reloaded')
    assert router.ask('GET', '/routes', bearer(TOKEN)).status == 401
    assert router.ask('GET', '/routes', bearer(new)).status == 200
    token('short')
    router.signal(signal.SIGHUP)
    assert '16 bytes' in router.wait('token-failed')['error']
    assert router.ask('GET', '/routes', bearer(new)).status == 200


@pytest.mark.parametrize('text, mode, words', [('short', 0o600, '16 bytes'), (TOKEN, 0o644, 'by others'),
                                               (TOKEN, 0o602, 'by others'), ('two words of a token', 0o600, 'one word'),
                                               ('x' * 5000, 0o600, 'too large')])
def test_a_token_that_protects_nothing_is_refused(running, folders, token, text, mode, words):
    router = Router(folders(), {'pools': []}, '--admin-token-file', token(text, mode))
    running(router).start(ready=False)
    assert words in router.wait('token-failed', file=token.path)['error']
    assert router.end() == 3


@pytest.fixture(scope='module')
def authority(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp('admin'))
    authority.client = authority.issue('client', 'client')
    return authority


def tls_answer(port, authority, pair=None, path='/routes', headers=None, name='www.example.net', body=None):
    """(status, body)"""
    context = ssl.create_default_context(cafile=authority.ca)
    context.check_hostname = False
    if pair:
        context.load_cert_chain(*pair)
    connection = http.client.HTTPSConnection('127.0.0.1', port, timeout=PATIENCE, context=context)
    try:
        connection.request('POST' if body else 'GET', path, body, {'Host': name, **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def ask_tls(*words, **more):
    return tls_answer(*words, **more)[0]


def test_clients_show_a_certificate(serve, route, authority, folders):
    cert, key = (shutil.copy(path, folders()) for path in authority.good)
    router = route(document(serve()), '--admin-tls-cert', cert, '--admin-tls-key', key, '--admin-tls-client-ca', authority.ca)
    assert ask_tls(router.port, authority, authority.client) == 200
    assert ask_tls(router.port, authority, authority.client, '/healthz') == 200
    assert ask_tls(router.port, authority, authority.client, '/routes/update', body=json.dumps(document(serve()))) == 200
    shown = json.loads(tls_answer(router.port, authority, authority.client, '/generations')[1])['generations']
    assert shown[0]['operator'] == 'client' and 'operator' not in shown[-1]
    # a browser may have the certificate, too
    assert ask_tls(router.port, authority, authority.client, headers={'Origin': 'https://evil.example'}) == 403
    for pair in (None, authority.self_signed):
        with pytest.raises((ssl.SSLError, OSError)):
            ask_tls(router.port, authority, pair)
    with pytest.raises((http.client.HTTPException, OSError)):
        router.get('/routes')
    renewed, renewed_key = authority.issue('renewed', 'www.example.net')
    shutil.copy(renewed_key, key)
    shutil.copy(renewed, cert)
    router.signal(signal.SIGHUP)
    router.wait('tls-reloaded', **{'for': 'admin'})
    assert ask_tls(router.port, authority, authority.client) == 200
    shutil.copy(authority.ca, cert)
    router.signal(signal.SIGHUP)
    router.wait('tls-failed', **{'for': 'admin'})
    assert ask_tls(router.port, authority, authority.client) == 200


def test_tls_without_certificates_of_clients_needs_the_token(serve, route, authority, token):
    cert, key = authority.good
    router = route(document(serve()), '--admin-tls-cert', cert, '--admin-tls-key', key, '--admin-token-file', token())
    assert ask_tls(router.port, authority) == 401
    assert ask_tls(router.port, authority, headers=bearer(TOKEN)) == 200
    assert ask_tls(router.port, authority, path='/readyz') == 200


def test_other_addresses_need_a_token_or_certificates(running, folders, net, token, authority):
    address = net.address()
    cert, key = authority.good
    tls = ('--admin-tls-cert', cert, '--admin-tls-key', key)
    for flags, starts in (((), False), (tls, False), (('--admin-token-file', token()), True),
                          ((*tls, '--admin-tls-client-ca', authority.ca), True)):
        router = Router(folders(), {'pools': []}, '--admin-addr', f'{address}:0', *flags, namespace=net.servers)
        running(router).start(ready=starts)
        if starts:
            assert router.wait('listening', **{'for': 'admin'})['addr'].startswith(f'{address}:')
        else:
            assert '--admin-token-file or --admin-tls-client-ca' in router.wait('listen-failed', flag='--admin-addr')['error']
            assert router.end() == 3


def test_flags_that_belong_together():
    for flags in (('--admin-tls-cert', 'x'), ('--admin-tls-key', 'x'), ('--admin-tls-client-ca', 'x')):
        done = subprocess.run([program('maglev-router'), *flags], capture_output=True, text=True, check=False)
        assert done.returncode == 64 and '--admin-tls-cert' in done.stderr


# ---- rollouts ----

FAILING = answering(b'HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n')


def clients(router, n, each=1, path='/'):
    """The statuses of the requests of n clients with an address each, and who answered: [(status, {ports})]."""
    found = []
    for i in range(n):
        sock = socket.create_connection(('127.0.0.1', router.port_of('default')), PATIENCE, source_address=(f'127.1.{i // 250}.{i % 250 + 1}', 0))
        with Wire(sock=sock) as wire:
            heads = [wire.get(path)[0] for _ in range(each)]
        found.append(([head.status for head in heads], {int(head.get('x-port') or 0) for head in heads}))
    return found


def update(router, document, **how):
    query = '&'.join(f'{key}={value}' for key, value in how.items())
    return router.ask('POST', f'/routes/update?{query}', body=json.dumps(document))


def test_a_rollout_gives_each_client_one_generation(serve, route):
    old, new = serve(named), serve(named)
    router = route(document(old))
    answer = update(router, document(new), rollout=30, step=0)
    assert (answer.status, answer.json['generation'], answer.json['rollout']) == (200, 2, 30)
    found = clients(router, 200, each=3)
    assert all(len(ports) == 1 for _, ports in found)
    share = sum(ports == {new.port} for _, ports in found)
    assert 30 <= share <= 90  # 60, and 6 is its deviation
    assert clients(router, 200) == [(statuses[:1], ports) for statuses, ports in found]
    # a request is counted after its client has the answer
    shown = until(lambda: (it := router.ask('GET', '/rollout').json)['new']['answers'] + it['old']['answers'] == 800 and it,
                  what='all answers')
    assert (shown['state'], shown['generation'], shown['from'], shown['percent'], shown['by']) == ('running', 2, 1, 30, 'client')
    assert shown['new'] == {'answers': share * 4, 'errors': 0} and shown['old'] == {'answers': (200 - share) * 4, 'errors': 0}
    assert router.ask('GET', '/routes').json['generation'] == 1
    assert router.metrics().one('maglev_router_rollout_percent') == 30
    newest = router.ask('GET', '/generations').json['generations'][0]
    assert (newest['source'], newest['in_force'], newest['held']) == ('rollout', False, True)
    assert router.ask('POST', '/rollout/promote').json == {'status': 'ok', 'generation': 2}
    assert {next(iter(ports)) for _, ports in clients(router, 20)} == {new.port}
    router.wait_metric('maglev_router_generations_held', 1)
    assert router.ask('GET', '/rollout').json['state'] == 'finished'
    assert router.ask('POST', '/rollback').json['generation'] == 3
    assert port_of(router) == old.port


def test_a_rollout_by_connection(serve, route):
    old, new = serve(named), serve(named)
    router = route(document(old))
    update(router, document(new), rollout=50, step=0, by='connection')
    found = set()
    for _ in range(60):
        with router.client() as client:
            ports = {int(client.get()[0].get('x-port')) for _ in range(3)}
        assert len(ports) == 1
        found |= ports
    assert found == {old.port, new.port}


def test_a_good_rollout_reaches_everybody(serve, route):
    old, new = serve(named), serve(named)
    router = route(document(old))
    update(router, document(new), rollout=20, step=40, interval='100ms', min_requests=5)
    until(lambda: clients(router, 30) and router.ask('GET', '/rollout').json['state'] == 'finished')
    router.wait('rollout-finished', generation=2, errors=0)
    assert [line['percent'] for line in router.all('rollout-step')] == [60, 100]
    assert router.metrics().one('maglev_router_generation') == 2
    assert router.metrics().one('maglev_router_rollouts_total', result='finished') == 1
    assert {next(iter(ports)) for _, ports in clients(router, 20)} == {new.port}
    assert router.ask('GET', '/rollout').json['percent'] == 100


def test_a_bad_rollout_returns_by_itself(serve, route):
    old, bad = serve(named), serve(FAILING)
    router = route(document(old))
    update(router, document(bad), rollout=20, step=20, interval='10s', min_requests=20)
    statuses = []
    until(lambda: statuses.extend(status for one, _ in clients(router, 50) for status in one) or
          router.ask('GET', '/rollout').json['state'] == 'returned')
    line = router.wait('rollout-returned', generation=2, percent=20)
    assert line['answers'] == line['errors'] >= 20 and line['errors_before'] == 0
    assert 20 <= statuses.count(500) < 60
    assert {status for one, _ in clients(router, 100) for status in one} == {200}
    newest = router.ask('GET', '/generations').json['generations'][0]
    assert (newest['generation'], newest['in_force'], newest['returned']) == (2, False, True)
    assert router.metrics().one('maglev_router_generation') == 1
    assert router.metrics().one('maglev_router_rollouts_total', result='returned') == 1
    router.wait_metric('maglev_router_generations_held', 1)
    assert router.update(document(old)).json['generation'] == 3


def test_what_a_rollout_allows_meanwhile(serve, route):
    old, new, third = serve(named), serve(named), serve(named)
    router = route(document(old))
    assert router.ask('GET', '/rollout').json == {'state': 'none'}
    update(router, document(new, rule={'path_prefix': '/'}), rollout=100, step=0)
    for answer in (router.update(document(third)), update(router, document(third), rollout=5), router.ask('POST', '/rollback')):
        assert (answer.status, answer.json['error']) == (409, 'RolloutUnderWay')
    router.write(document(third))
    router.signal(signal.SIGHUP)
    assert 'rollout' in router.wait('config-apply-failed')['error']
    assert port_of(router) == new.port
    # servers that come and go are those of both generations
    assert set_servers(router, 'pool', {'servers': [f'127.0.0.1:{third.port}']}).json['generation'] == 4
    shown = until(lambda: (it := router.ask('GET', '/rollout').json)['new']['answers'] and it, what='the answer being counted')
    assert (shown['generation'], shown['from'], shown['new']['answers']) == (3, 4, 1)
    assert port_of(router) == third.port
    assert router.ask('POST', '/rollout/abort').json == {'status': 'ok', 'generation': 4}
    router.wait('rollout-aborted', generation=3)
    assert port_of(router) == third.port
    for path in ('/rollout/abort', '/rollout/promote'):
        answer = router.ask('POST', path)
        assert (answer.status, answer.json['error']) == (409, 'NoRollout')


def test_rollouts_under_load_fail_no_request(serve, route):
    """Sixty of them, with other servers meanwhile, that end in turn as the new generation and as the old one."""
    servers = [serve(named) for _ in range(3)]
    router = route(document(servers[0]), threads=2)
    load = Load(router.port_of('default'), lambda asked, status, body: status == 200).start()
    for i in range(60):
        assert update(router, document(*servers[:1 + i % 3]), rollout=50, by='connection').status == 200
        assert set_servers(router, 'pool', {'servers': [f'127.0.0.1:{servers[i % 2].port}']}).status == 200
        if i % 5 == 0:
            load.goes_on(2)
        assert router.ask('POST', f'/rollout/{("promote", "abort")[i % 2]}').status == 200
        if i % 5 == 2:
            load.goes_on(2)
    done = load.end()
    assert done > 100
    router.wait_metric('maglev_router_generations_held', 1)
    metrics = router.metrics()
    assert metrics.one('maglev_router_rollouts_total', result='finished') == metrics.one('maglev_router_rollouts_total', result='aborted') == 30
    router.wait_metric('maglev_router_answers_total', done, **{'class': '2xx'})  # counted after the client has the answer
    assert router.metrics().one('maglev_router_aborts_total') == 0


def test_rollouts_that_are_refused(serve, route, running, folders):
    server = serve()
    router = route(document(server))
    for how in ({'rollout': 0}, {'rollout': 101}, {'rollout': 'x'}, {'rollout': 5, 'step': 101}, {'rollout': 5, 'interval': '1ms'},
                {'rollout': 5, 'by': 'moon'}, {'rollout': 5, 'min_requests': -1}, {'rollout': 5, 'max_error_increase': 'x'}):
        answer = update(router, document(server), **how)
        assert (answer.status, answer.json['error']) == (400, 'InvalidRollout'), how
    answer = update(router, document(server, listeners=[{'name': 'b', 'address': '127.0.0.2:0'}]), rollout=5)
    assert (answer.status, answer.json['error']) == (409, 'RolloutListeners')
    assert router.metrics().one('maglev_router_generations_held') == 1
    assert router.update(document(server)).json['generation'] == 2
    empty = Router(folders(), document(server))
    where = empty.command.index('--config')
    del empty.command[where:where + 2]
    running(empty).start()
    answer = update(empty, document(server), rollout=5)
    assert (answer.status, answer.json['error']) == (409, 'NoGeneration')


# ---- connections ----

def connections(router, query=''):
    answer = router.ask('GET', f'/connections{query}')
    assert answer.status == 200, answer.text
    return answer.json


def test_connections_of_all_threads_are_shown(serve, route):
    go, arrived = threading.Event(), threading.Event()

    def slow(wire):
        wire.message()
        arrived.set()
        go.wait(PATIENCE)
        wire.send(OK)

    server, late = serve(named), serve(slow)
    router = route({'routes': [{'name': 'slow', 'path_prefix': '/slow', 'pool': 'late'}, {'name': 'rest', 'pool': 'rest'}],
                    'pools': [{'name': 'rest', 'servers': [f'127.0.0.1:{server.port}']},
                              {'name': 'late', 'servers': [f'127.0.0.1:{late.port}'], 'limits': {'connections': 1}}]})
    assert connections(router) == {'clients': [], 'sessions': [], 'servers': [], 'clients_total': 0, 'sessions_total': 0,
                                   'servers_total': 0, 'truncated': False}
    with router.client() as idle, router.client() as reading, router.client() as busy:
        for _ in range(3):
            idle.get()
        reading.send('GET / HT')
        busy.send('POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi')
        assert arrived.wait(PATIENCE)
        until(lambda: {one['state'] for one in connections(router)['clients']} == {'idle', 'reading', 'waiting'})
        shown = connections(router)
        of = {one['peer']: one for one in shown['clients']}
        mine = of['127.0.0.1:%d' % idle.sock.getsockname()[1]]
        assert (mine['state'], mine['requests'], mine['listener']) == ('idle', 3, 'default')
        assert mine['received'] > 0 and mine['sent'] > 0 and mine['thread'] in (0, 1)
        other = of['127.0.0.1:%d' % busy.sock.getsockname()[1]]
        assert other['request'] == {'generation': 1, 'tries': 1, 'method': 'POST', 'route': 'slow', 'pool': 'late',
                                    'server': f'127.0.0.1:{late.port}'}
        states = {one['server']: (one['state'], one['requests'], one.get('pool')) for one in shown['servers']}
        assert states == {f'127.0.0.1:{server.port}': ('kept', 3, None), f'127.0.0.1:{late.port}': ('busy', 1, 'late')}
        assert (shown['clients_total'], shown['servers_total'], shown['truncated']) == (3, 2, False)
        assert [one['since'] for one in shown['clients']] == sorted(one['since'] for one in shown['clients'])
        with router.client() as queued:
            queued.send('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
            until(lambda: {one['state'] for one in connections(router)['clients']} == {'idle', 'reading', 'waiting', 'queued'})
        go.set()
        assert busy.message()[1] == b'ok'


def test_many_connections_are_cut_to_the_oldest(serve, route):
    router = route(document(serve(named)), threads=2)
    held = [router.client() for _ in range(300)]
    for client in held:
        client.get()
    shown = connections(router)
    assert len(shown['clients']) == shown['clients_total'] == 300 and not shown['truncated']
    assert {one['peer'] for one in shown['clients']} == {'127.0.0.1:%d' % client.sock.getsockname()[1] for client in held}
    few = connections(router, '?limit=10')
    assert len(few['clients']) == 10 and few['truncated'] and few['clients_total'] == 300
    assert [one['peer'] for one in few['clients']] == [one['peer'] for one in shown['clients'][:10]]
    assert connections(router, '?limit=0')['clients'] == []
    assert router.ask('GET', '/connections?limit=10001').json['error'] == 'InvalidValue'
    for client in held:
        client.close()


def test_an_answer_about_connections_fits_its_limit(serve, route):
    router = route(document(serve(named)), '--admin-max-answer', '4')
    held = [router.client() for _ in range(60)]
    for client in held:
        client.get()
    answer = router.ask('GET', '/connections')
    assert answer.status == 200 and len(answer.body) <= 4096 and answer.json['truncated']
    assert 0 < len(answer.json['clients']) < 60 and answer.json['clients_total'] == 60
    for client in held:
        client.close()


def test_connections_are_shown_while_they_come_and_go(serve, route):
    """Inquiries, some of them left by their clients, and a stop in the midst of them."""
    router = route(document(serve(named)), threads=2)
    stop, failures = threading.Event(), []

    def load():
        while not stop.is_set():
            with router.client() as client:
                for _ in range(3):
                    if client.get()[0].status != 200:
                        failures.append(client)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(60):
        connections(router, f'?limit={i * 7}')
        with socket.create_connection(('127.0.0.1', router.port), PATIENCE) as sock:
            sock.sendall(b'GET /connections HTTP/1.1\r\nHost: localhost\r\n\r\n')
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    with router.client() as client, socket.create_connection(('127.0.0.1', router.port), PATIENCE) as sock:
        client.get()
        sock.sendall(b'GET /connections HTTP/1.1\r\nHost: localhost\r\n\r\n' * 5)
        router.signal(signal.SIGTERM)
        client.rest()
    assert router.end() == 0


# ---- the rate of updates ----

def wrk(router, seconds):
    """Requests, those that failed, and the 50th percentile of their times in ms."""
    out = subprocess.run(['wrk', '-t1', '-c16', f'-d{seconds}s', '--latency', f'http://127.0.0.1:{router.port_of("default")}/'],
                         capture_output=True, text=True, check=True).stdout
    failed = sum(int(n) for n in re.findall(r'(?:connect|read|write|timeout|responses:) (\d+)', out))
    value, unit = re.search(r'50%\s+([\d.]+)(us|ms|s)\b', out).groups()
    return int(re.search(r'(\d+) requests in', out)[1]), failed, float(value) * {'us': .001, 'ms': 1, 's': 1000}[unit]


def control_time(router):
    """Seconds of a processor that the control thread has used: the first thread of the process."""
    with open(f'/proc/{router.pid}/task/{router.pid}/schedstat', encoding='ascii') as file:
        return int(file.read().split()[0]) / 1e9


def test_a_hundred_updates_a_second_are_not_felt(route):
    """Of one pool and of the whole configuration in turn, on a router with 1,000 routes. The servers are routers, too."""
    redirect = {'routes': [{'name': 'r', 'filters': {'redirect': {'hostname': 'x.example'}}}], 'pools': []}
    servers = [route(redirect, threads=1, level='info').port_of('default') for _ in range(2)]
    documents = [{'routes': [{'name': 'all', 'pool': 'pool'}, *({'name': f'r{i}', 'host': f'h{i}.example.com', 'pool': 'pool'}
                                                                 for i in range(999))],
                  'pools': [{'name': 'pool', 'servers': [f'127.0.0.1:{port}' for port in servers[:1 + k]]}]} for k in range(2)]
    router = route(documents[0], threads=1, level='info')
    before = wrk(router, 2)
    stop, done, used = threading.Event(), [], control_time(router)

    def change():
        connection = router.http()
        due = time.monotonic()
        while not stop.wait(max(0, due - time.monotonic())):
            n, due = len(done), due + .01
            if n % 50:
                connection.request('POST', '/pools/pool/endpoints', json.dumps({'servers': documents[n % 2]['pools'][0]['servers']}))
            else:
                connection.request('POST', '/routes/update', json.dumps(documents[n // 50 % 2]))
            answer = connection.getresponse()
            done.append(json.loads(answer.read())['generation'])

    thread = threading.Thread(target=change)
    thread.start()
    busy = wrk(router, 5)
    stop.set()
    thread.join()
    used = control_time(router) - used
    after = wrk(router, 2)
    assert done == list(range(2, len(done) + 2)) and len(done) > 100
    assert used / len(done) < .005  # s: a hundred of them take less than half of a processor
    assert before[1] == busy[1] == after[1] == 0 and min(before[0], busy[0], after[0]) > 100
    assert busy[2] < 2 * max(before[2], after[2]) + 5
    router.wait_metric('maglev_router_generations_held', 1)
    assert router.metrics().one('maglev_router_aborts_total') <= 48  # wrk ends in the midst of requests
