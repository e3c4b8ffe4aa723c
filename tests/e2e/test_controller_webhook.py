# SPDX-License-Identifier: Apache-2.0
"""The webhooks of maglev-controller, called by a real API server over TLS, with the rights and objects that are shipped."""
import base64
import subprocess

import lab
import pytest
from lab.metal import ADVERTISEMENTS, BFD, COMMUNITIES, L2, OLD_PEERS, PEERS, POOLS, Metal

ROUTER = {'myASN': 64512, 'peerASN': 64513, 'peerAddress': '10.0.0.1'}
HOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/metallb-webhook-configuration'
DEFINITION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bgppeers.metallb.io'


@pytest.fixture(scope='module')
def metal(kube):
    """The API server calls the cluster address of the Service, which is one of the namespace's own."""
    it = Metal(kube).install()
    it.apply('controller/webhooks.yaml', only=['Service'])
    it.hook = kube.do('GET', it.service_path('metallb-webhook-service'))['spec']['clusterIP']
    kube.netns.run('ip', 'address', 'add', f'{it.hook}/32', 'dev', 'lo')
    return it


@pytest.fixture
def controller(metal, start_daemon):
    metal.apply('controller/webhooks.yaml', only=['ValidatingWebhookConfiguration'])
    it = metal.controller(start_daemon, '--webhook-addr', f'{metal.hook}:443')
    it.port_of('webhook')
    lab.until(lambda: is_trusted(metal), what='the caBundle being written')
    lab.until(lambda: is_asked(metal, it), what='the API server knowing of it')
    yield it
    metal.kube.do('DELETE', HOOKS)  # others could not be made without the controller


def bundles(metal):
    hooks = [one['clientConfig'].get('caBundle') for one in metal.kube.do('GET', HOOKS)['webhooks']]
    return [*hooks, metal.kube.do('GET', DEFINITION)['spec']['conversion']['webhook']['clientConfig'].get('caBundle')]


def is_trusted(metal):
    found = bundles(metal)
    return found[0] and len(set(found)) == 1


def counted(controller, result):
    return controller.metrics().one('maglev_controller_webhook_requests_total', result=result)


def is_asked(metal, controller):
    """The API server asks by a copy of the configuration, which may be older than what can be read."""
    before = counted(controller, 'allowed')
    status, _ = metal.kube.ask('POST', metal.path(POOLS) + '?dryRun=All', metal.body(POOLS, 'probe', addresses=['198.18.0.0/28']))
    return status == 201 and counted(controller, 'allowed') > before


def refusal(metal, kind, name, spec, namespace=None):
    path = metal.path(kind) if namespace is None else metal.path(kind).replace(metal.namespace, namespace)
    status, answer = metal.kube.ask('POST', path, metal.body(kind, name, **spec))
    assert status == 403, answer
    return answer['message'].partition('denied the request: ')[2]


def denied(controller):
    return counted(controller, 'denied')


def test_what_would_be_invalid_is_refused_in_the_words_of_the_status(metal, controller):
    metal.pool('good', '192.0.2.0/28')
    metal.wait_usage('good', services=0)  # the controller knows it
    assert refusal(metal, POOLS, 'bad', {'addresses': ['192.0.2.8/29']}) == \
        'CIDR "192.0.2.0/28" in pool "good" overlaps with already defined CIDR "192.0.2.8/29"'
    assert refusal(metal, PEERS, 'bad', {'myASN': 64512, 'peerAddress': '10.0.0.1'}) == 'parsing peer bad missing peer ASN and dynamicASN'
    assert refusal(metal, ADVERTISEMENTS, 'bad', {'aggregationLength': 24}) == \
        'invalid aggregation length 24: prefix 28 in this pool is more specific than the aggregation length for addresses 192.0.2.0/28'
    assert refusal(metal, L2, 'bad', {'ipAddressPools': ['a', 'a']}) == 'duplicate definition of ipAddressPools "a"'
    assert refusal(metal, COMMUNITIES, 'bad', {'communities': [{'name': 'x', 'value': '1:70000'}]}).startswith(
        'parsing community "x": invalid community value')
    other = metal.kube.namespace()
    assert refusal(metal, POOLS, 'elsewhere', {'addresses': ['198.51.100.0/28']}, other) == \
        f'resource must be created in {metal.namespace} namespace'
    assert denied(controller) == 6
    status, answer = metal.kube.ask('PATCH', metal.path(POOLS, 'good'), {'spec': {'addresses': ['nonsense']}}, kind=lab.kube.MERGE)
    assert status == 403 and 'invalid CIDR "nonsense"' in answer['message']
    # the API server asks again if its own copy of the object was old, for example because a status has just been written
    assert denied(controller) >= 7


def test_order_does_not_matter_but_use_does(metal, controller):
    metal.make(PEERS, 'router', **ROUTER, bfdProfile='later', passwordSecret={'name': 'later'})
    metal.make(ADVERTISEMENTS, 'tagged', communities=['later'])
    metal.make(BFD, 'later')
    lab.until(lambda: metal.kube.ask('DELETE', metal.path(BFD, 'later') + '?dryRun=All')[0] == 403, what='the controller knowing the peer')
    status, answer = metal.kube.ask('DELETE', metal.path(BFD, 'later'))
    assert status == 403 and 'failed to delete BFDProfile later, used by BGPPeer router' in answer['message']
    metal.remove(PEERS, 'router')
    metal.remove(ADVERTISEMENTS, 'tagged')
    lab.until(lambda: metal.kube.ask('DELETE', metal.path(BFD, 'later'))[0] == 200, what='the profile being deleted')


def test_old_peers_are_converted_and_keep_their_timers_unset(metal, controller):
    metal.make(OLD_PEERS, 'old', **ROUTER, nodeSelectors=[{'matchLabels': {'a': 'b'}}])
    spec = metal.get(PEERS, 'old')['spec']
    assert 'holdTime' not in spec and 'keepaliveTime' not in spec
    assert spec['nodeSelectors'] == [{'matchLabels': {'a': 'b'}}] and spec['peerASN'] == 64513
    metal.make(PEERS, 'new', **{**ROUTER, 'peerAddress': '10.0.0.2'}, holdTime='90s', vrf='red')
    assert metal.get(OLD_PEERS, 'new')['spec']['holdTime'] == '90s'
    for name in ('old', 'new'):
        metal.remove(PEERS, name)


def test_the_bundle_is_mended_and_the_certificate_renewed(metal, controller):
    secret = f'/api/v1/namespaces/{metal.namespace}/secrets/metallb-webhook-cert'
    before = metal.kube.do('GET', secret)['data']
    assert base64.b64decode(bundles(metal)[0]) == base64.b64decode(before['ca.crt'])
    metal.kube.patch(secret, {'data': {'tls.crt': before['ca.crt']}})  # one that does not fit
    lab.until(lambda: metal.kube.do('GET', secret)['data']['tls.crt'] not in (before['tls.crt'], before['ca.crt']), what='a new certificate')
    assert metal.kube.do('GET', secret)['data']['ca.crt'] == before['ca.crt']
    metal.pool('after', '203.0.113.0/28')  # the API server trusts the new one
    metal.kube.do('DELETE', secret)
    lab.until(lambda: is_trusted(metal) and bundles(metal)[0] != before['ca.crt'], what='another authority')
    metal.remove(POOLS, 'after')
    text = subprocess.run(['openssl', 'x509', '-noout', '-ext', 'subjectAltName'], input=base64.b64decode(metal.kube.do('GET', secret)['data']['tls.crt']),
                          capture_output=True, check=True).stdout.decode()
    assert f'DNS:metallb-webhook-service.{metal.namespace}.svc' in text


def test_an_invalid_configuration_can_be_mended(metal, controller):
    hooks = metal.kube.do('GET', HOOKS)
    metal.kube.do('DELETE', HOOKS)
    lab.until(lambda: not is_asked(metal, controller), what='the webhook not being called')
    metal.pool('one', '192.0.2.64/28')
    metal.pool('two', '192.0.2.64/29')
    metal.wait_config(False, 'CIDR "192.0.2.64/29" in pool "two" overlaps with already defined CIDR "192.0.2.64/28"')
    del hooks['metadata']['resourceVersion'], hooks['metadata']['uid']
    metal.kube.do('POST', HOOKS.rpartition('/')[0], hooks)
    lab.until(lambda: metal.kube.ask('POST', metal.path(POOLS) + '?dryRun=All', metal.body(POOLS, 'x', addresses=[]))[0] == 403,
              what='the webhook being called')
    metal.change(POOLS, 'two', addresses=['192.0.2.80/29'])
    metal.wait_config(True)
