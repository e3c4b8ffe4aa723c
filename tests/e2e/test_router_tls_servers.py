# SPDX-License-Identifier: Apache-2.0
"""TLS from maglev-router to servers: who is trusted, what is shown, what is resumed, and what a failure looks like."""
import concurrent.futures
import json
import os

import grpc
import pytest

from lab import PATIENCE, until
from lab.backends import Backends
from lab.router import OK, answering, document
from lab.upgrades import Upgradable

NAME = 'www.example.net'


@pytest.fixture
def backends(folders):
    with Backends(folders()) as them:
        yield them


@pytest.fixture(scope='session')
def certificates(authority):
    """Paths of pairs, by name."""
    return {'good': authority.good, 'wrong': authority.wrong_name, 'expired': authority.expired, 'self': authority.self_signed,
            'uri': authority.issue('uri', 'spiffe', names='URI:spiffe://cluster/web'),
            'address': authority.issue('address', 'address', names='IP:127.0.0.1'),
            'client': authority.issue('client', 'the router')}


def nginx(backends, pair, more='', **how):
    return backends.nginx('ssl', f'ssl_certificate {pair[0]}; ssl_certificate_key {pair[1]}; {more}', **how)


def text_of(path):
    with open(path, encoding='ascii') as file:
        return file.read()


def secured(*servers, **tls):
    return document(*servers, pool={'tls': tls}, access_log={})


# ---- who is trusted ----

def test_a_server_is_verified_by_its_authority_and_name(backends, certificates, authority, route):
    server = nginx(backends, certificates['good'])
    router = route(secured(server, ca=authority.ca, name=NAME))
    assert router.request().text == 'HTTP/1.1 '
    until(lambda: NAME in server.seen.read_text(), what='the name in SNI')
    assert router.metrics().one('maglev_router_server_handshakes_total', result='full') == 1


def test_an_authority_may_be_text(backends, certificates, authority, route):
    router = route(secured(nginx(backends, certificates['good']), ca=text_of(authority.ca), name=NAME))
    assert router.request().status == 200


@pytest.mark.parametrize('pair, tls, words', [
    ('wrong', {}, 'hostname mismatch'), ('expired', {}, 'certificate has expired'), ('self', {}, 'self-signed certificate'),
    ('good', {'name': 'other.example.org'}, 'hostname mismatch'), ('good', {'ca': None}, 'issuer certificate'),
    ('good', {'names': ['spiffe://cluster/web']}, 'mismatch'), ('uri', {'names': ['spiffe://cluster/other', 'a.b']}, 'mismatch')])
def test_a_server_that_is_not_the_right_one_gets_nothing(backends, certificates, authority, route, pair, tls, words):
    server = nginx(backends, certificates[pair])
    tls = {key: value for key, value in {'ca': authority.ca, 'name': NAME, **tls}.items() if value}
    router = route(secured(server, **tls))
    assert router.request().status == 502
    assert words in router.wait('server-tls-failed', server=f'127.0.0.1:{server.port}')['error']
    assert router.wait('access')['why'] == 'tls-verify'
    assert not server.seen.exists() or not server.seen.read_text()
    metrics = router.metrics()
    assert metrics.one('maglev_router_server_handshakes_total', result='refused') >= 1
    assert metrics.one('maglev_router_server_handshakes_total', result='full') == 0


@pytest.mark.parametrize('pair, tls', [
    ('uri', {'names': ['a.b', 'spiffe://cluster/web']}), ('good', {'names': [NAME], 'name': 'sni.example.org'}),
    ('address', {'name': '127.0.0.1'}), ('address', {}), ('self', {'verify': False, 'ca': None, 'name': NAME})])
def test_other_names_may_do(backends, certificates, authority, route, pair, tls):
    tls = {key: value for key, value in {'ca': authority.ca, **tls}.items() if value is not None}
    server = nginx(backends, certificates[pair])
    assert route(secured(server, **tls)).request().status == 200
    if 'names' in tls and 'name' in tls:
        until(lambda: tls['name'] in server.seen.read_text(), what='SNI is the name, not one of the names')


def test_a_server_may_have_tls_for_itself(backends, certificates, authority, serve, route):
    """tls: true of an upstream is verified by the authorities of the system, here a file."""
    server, plain = nginx(backends, certificates['address']), serve(answering(OK))
    doc = document()
    doc['pools'][0] = {'name': 'pool', 'upstreams': [{'host': '127.0.0.1', 'port': server.port, 'tls': True},
                                                     {'host': '127.0.0.1', 'port': plain.port, 'tls': False}]}
    router = route(doc, env={'SSL_CERT_FILE': authority.ca})
    assert {router.request().text for _ in range(4)} == {'HTTP/1.1 ', 'ok'}


def test_a_failed_handshake_is_tried_at_another_server(backends, certificates, authority, route):
    bad, good = nginx(backends, certificates['wrong']), nginx(backends, certificates['good'])
    router = route(secured(bad, good, ca=authority.ca, name=NAME))
    assert [router.request('POST', body='x').status for _ in range(6)] == [200] * 6


def test_a_server_without_tls_is_a_failed_handshake(backends, authority, route):
    router = route(secured(backends.nginx(''), ca=authority.ca, name=NAME))
    assert router.request().status == 502
    assert router.wait('access')['why'] == 'tls-failed'


# ---- what is shown ----

def test_a_server_may_want_a_certificate(backends, certificates, authority, route):
    server = backends.openssl('-cert', certificates['good'][0], '-key', certificates['good'][1], '-CAfile', authority.ca, '-Verify', '1',
                              '-verify_return_error')
    pair = dict(zip(('certificate', 'key'), certificates['client']))
    with_it = {key: text_of(path) for key, path in pair.items()}
    for shown, status in ((pair, 200), (with_it, 200), ({}, 502)):
        router = route(secured(server, ca=authority.ca, name=NAME, **shown))
        answer = router.request()
        assert answer.status == status
        assert ('the router' in answer.text) == (status == 200)


def test_a_version_may_be_too_old(backends, certificates, authority, route):
    server = backends.openssl('-cert', certificates['good'][0], '-key', certificates['good'][1], '-tls1_2')
    assert route(secured(server, ca=authority.ca, name=NAME)).request().status == 200
    assert route(secured(server, ca=authority.ca, name=NAME, min_version='1.3')).request().status == 502


def test_a_proxy_header_comes_before_tls(backends, certificates, authority, route):
    pair = certificates['good']
    server = backends.nginx('ssl proxy_protocol', f'ssl_certificate {pair[0]}; ssl_certificate_key {pair[1]}; '
                            'add_header X-From $proxy_protocol_addr always;')
    doc = secured(server, ca=authority.ca, name=NAME)
    doc['pools'][0]['send_proxy'] = True
    answer = route(doc).request()
    assert (answer.status, answer.headers['x-from']) == (200, '127.0.0.1')


# ---- connections ----

def test_connections_are_kept_and_sessions_resumed(backends, certificates, authority, route):
    server = nginx(backends, certificates['good'], 'keepalive_requests 2;')
    router = route(secured(server, ca=authority.ca, name=NAME), threads=1)
    assert [router.request().status for _ in range(8)] == [200] * 8
    until(lambda: len(server.seen.read_text().splitlines()) == 8)
    resumed = [line.split()[0] for line in server.seen.read_text().splitlines()]
    assert resumed == ['.', '.'] + ['r'] * 6, 'one whole handshake, then resumed ones'
    metrics = router.metrics()
    assert metrics.one('maglev_router_server_handshakes_total', result='full') == 1
    assert metrics.one('maglev_router_server_handshakes_total', result='resumed') == 3


def test_other_rules_need_other_connections(backends, certificates, authority, route):
    """A connection that was verified by one authority is not used when another one is trusted."""
    server = nginx(backends, certificates['good'])
    router = route(secured(server, ca=authority.ca, name=NAME), threads=1)
    assert router.request().status == 200
    assert router.update(secured(server, ca=certificates['self'][0], name=NAME)).status == 200
    assert router.request().status == 502
    assert router.update(secured(server, ca=authority.ca, name=NAME)).status == 200
    assert router.request().status == 200
    before = router.metrics().one('maglev_router_server_handshakes_total', result='full')
    doc = secured(server, ca=authority.ca, name=NAME)
    doc['routes'][0]['path_prefix'] = '/'
    assert router.update(doc).status == 200
    assert router.request().status == 200
    assert router.metrics().one('maglev_router_server_handshakes_total', result='full') == before, 'the same rules, so it was kept'


def test_new_servers_of_a_pool_keep_its_tls(backends, certificates, authority, route):
    one, two = nginx(backends, certificates['good']), nginx(backends, certificates['good'])
    router = route(secured(one, ca=authority.ca, name=NAME))
    assert router.ask('POST', '/pools/pool/endpoints', body=json.dumps({'servers': [f'127.0.0.1:{two.port}']})).status == 200
    assert router.request().status == 200
    until(lambda: NAME in two.seen.read_text())


# ---- documents ----

@pytest.mark.parametrize('key, value, words', [
    ('ca', '/nowhere/ca.pem', 'No such file'), ('ca', '-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n', ''),
    ('ca', '/etc/passwd', 'has no PEM text'), ('certificate', '/nowhere', 'No such file'), ('key', 'OTHER', '')])
def test_what_cannot_be_used_is_refused_by_name(certificates, authority, serve, route, key, value, words):
    server = serve()
    router = route(document(server))
    tls = {'ca': authority.ca, **dict(zip(('certificate', 'key'), certificates['client'])), 'name': NAME}
    tls[key] = certificates['good'][1] if value == 'OTHER' else value
    answer = router.update(secured(server, **tls))
    assert answer.status == 400 and answer.json['error'] == 'InvalidTls'
    assert f'tls.{key}' in answer.json['message'] and words in answer.json['message'], answer.json
    assert 'PRIVATE' not in answer.text
    assert router.request().status == 200, 'the old document holds'


def test_a_file_is_read_with_the_document(backends, certificates, authority, route, folders):
    """What a generation trusts does not change with the file; a rollback brings it back."""
    path = os.path.join(folders(), 'ca.pem')
    with open(path, 'w', encoding='ascii') as file:
        file.write(text_of(authority.ca))
    server = nginx(backends, certificates['good'], 'keepalive_requests 1;')
    router = route(secured(server, ca=path, name=NAME), threads=1)
    assert router.request().status == 200
    with open(path, 'w', encoding='ascii') as file:
        file.write(text_of(certificates['self'][0]))
    assert router.request().status == 200
    assert router.update(secured(server, ca=path, name=NAME)).status == 200
    assert router.request().status == 502
    assert router.ask('POST', '/rollback').status == 200
    assert router.request().status == 200


def test_private_keys_are_not_shown(certificates, authority, serve, route):
    pair = {key: text_of(path) for key, path in zip(('certificate', 'key'), certificates['client'])}
    router = route(secured(serve(), ca=authority.ca, name=NAME, **pair))
    for path in ('/config', '/pools'):
        text = router.ask('GET', path).text
        assert 'BEGIN CERTIFICATE' in text and '(hidden, digest ' in text and 'PRIVATE KEY' not in text
        assert pair['key'].splitlines()[1] not in text


# ---- probes and copies ----

def health_server(pair, state):
    """gRPC with TLS; state['status'] is what it says about itself (grpc.health.v1: 1 is SERVING)."""
    certificate, key = (text_of(path).encode() for path in pair)
    check = grpc.unary_unary_rpc_method_handler(lambda request, context: bytes([8, state['status']]))
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler('grpc.health.v1.Health', {'Check': check}),))
    port = server.add_secure_port('127.0.0.1:0', grpc.ssl_server_credentials([(key, certificate)]))
    server.start()
    return server, port


@pytest.mark.parametrize('pair, state', [('good', 'up'), ('wrong', 'down')])
def test_probes_have_the_same_rules(backends, certificates, authority, route, pair, state):
    server = nginx(backends, certificates[pair])
    doc = secured(server, ca=authority.ca, name=NAME)
    doc['pools'][0]['probe'] = {'path': '/', 'interval': '1s', 'rise': 1, 'fall': 1}
    router = route(doc)  # an interval is also the time for an answer
    router.wait(f'server-{state}', timeout=PATIENCE)
    assert router.request().status == (200 if state == 'up' else 503)


def test_probes_send_a_proxy_header_before_tls(backends, certificates, authority, route):
    pair = certificates['good']
    server = backends.nginx('ssl proxy_protocol', f'ssl_certificate {pair[0]}; ssl_certificate_key {pair[1]};')
    doc = secured(server, ca=authority.ca, name=NAME)
    doc['pools'][0] |= {'send_proxy': True, 'probe': {'path': '/', 'interval': '1s', 'rise': 1, 'fall': 1}}
    router = route(doc)
    router.wait('server-up')
    assert router.request().status == 200


def test_probes_by_grpc_use_tls(certificates, authority, route):
    state = {'status': 1}
    server, port = health_server(certificates['good'], state)
    doc = document(pool={'protocol': 'h2', 'tls': {'ca': authority.ca, 'name': NAME},
                         'probe': {'type': 'grpc', 'interval': '100ms', 'rise': 1, 'fall': 1}})
    doc['pools'][0]['servers'] = [f'127.0.0.1:{port}']
    router = route(doc)
    router.wait('server-up')
    state['status'] = 2
    router.wait('server-down')
    server.stop(None)


def test_a_server_that_is_a_name_is_verified_for_it(backends, authority, route):
    server = nginx(backends, authority.issue('local', 'localhost'))
    doc = secured(ca=authority.ca)
    doc['pools'][0]['servers'] = [f'localhost:{server.port}']
    router = route(doc)
    until(lambda: router.request().status == 200, what='the address of the name')
    until(lambda: 'localhost' in server.seen.read_text())


def test_an_upgrade_keeps_what_is_trusted(backends, certificates, authority, running, folders):
    server = nginx(backends, certificates['good'])
    pair = {key: text_of(path) for key, path in zip(('certificate', 'key'), certificates['client'])}
    router = running(Upgradable(folders(), secured(server, ca=text_of(authority.ca), name=NAME, **pair))).start()
    assert router.request().status == 200
    router.gone(router.upgrade())
    assert router.request().status == 200


def test_copies_go_by_tls(backends, certificates, authority, serve, route):
    server, mirror = serve(), nginx(backends, certificates['good'])
    doc = document(server, rule={'filters': {'mirrors': [{'pool': 'copy'}]}})
    doc['pools'].append({'name': 'copy', 'servers': [f'127.0.0.1:{mirror.port}'], 'tls': {'ca': authority.ca, 'name': NAME}})
    router = route(doc)
    assert router.request().status == 200
    router.wait_metric('maglev_router_mirrored_total', 1, result='answered')
    until(lambda: NAME in mirror.seen.read_text(), what='the name in the log of the mirror')  # it is written after the answer


def test_a_probe_with_tls_begins_with_a_proxy_header_if_the_pool_does(backends, certificates, authority, route):
    pair = certificates['good']
    server = backends.nginx('ssl proxy_protocol', f'ssl_certificate {pair[0]}; ssl_certificate_key {pair[1]};')
    router = route(document(server, pool={'tls': {'ca': authority.ca, 'name': NAME}, 'send_proxy': True,
                                          'probe': {'path': '/', 'interval': '200ms'}}))
    assert router.wait('server-up')['code'] == 'L7OK'
    assert router.request().status == 200
