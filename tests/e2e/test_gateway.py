# SPDX-License-Identifier: Apache-2.0
"""maglev-gateway on a real API server with real routers: objects become traffic, and status says what became of them.

It runs with the shipped rights (deploy/kubernetes/gateway/rbac.yaml) and nothing else.
"""
import contextlib
import json
import os
import re
import subprocess

import pytest

import lab
from lab.gateway import CLASS, GROUP, USER, World, apply_crds, documents, field
from lab.kube import APPLY
from lab.programs import ROOT

ACCEPTED = {'Accepted': ('True', 'Accepted'), 'ResolvedRefs': ('True', 'ResolvedRefs')}


@pytest.fixture(scope='module')
def installed(kube):
    World(kube, None, None).install()
    return kube


@pytest.fixture
def world(installed, folders, running):
    it = World(installed, folders, running)
    yield it
    it.close()


@pytest.fixture
def namespace(installed):
    """A namespace whose Gateways go with the story, so that the next one does not get their listeners."""
    name = installed.namespace()
    yield name
    for plural in ('gateways', 'httproutes'):
        installed.do('DELETE', f'{GROUP}/namespaces/{name}/{plural}')


def condition(world, kind, namespace, name, wanted):
    lab.until(lambda: wanted.items() <= world.conditions(kind, namespace, name).items(),
              what=f'{kind} {name} having {wanted}')


def current(gateway, router):
    lab.until(lambda: gateway.metrics().one('maglev_gateway_router_current', router=router.admin) == 1, what='the router being current')


def test_a_route_reaches_traffic_and_status(world, namespace):
    router = world.router()
    gateway = world.gateway(router)
    one, two = world.backend('one'), world.backend('two')
    world.service(namespace, 'one', one)
    world.service(namespace, 'two', two)
    address = world.http_gateway(namespace)
    world.route(namespace, 'web', 'www.example.com', 'one')
    world.reaches(address, 'www.example.com', 'one')
    condition(world, 'HTTPRoute', namespace, 'web', ACCEPTED)
    condition(world, 'GatewayClass', None, CLASS, {'Accepted': ('True', 'Accepted')})
    lab.until(lambda: world.get('Gateway', namespace, 'gw')['status']['listeners'][0]['attachedRoutes'] == 1, what='attachedRoutes')
    world.route(namespace, 'web', 'www.example.com', 'two')
    world.reaches(address, 'www.example.com', 'two')
    # a change of endpoints takes the small way; what a router took is counted when it has answered
    current(gateway, router)
    sent = gateway.metrics().one('maglev_gateway_documents_total')
    world.slice(namespace, 'two', one)
    world.reaches(address, 'www.example.com', 'one')
    current(gateway, router)
    assert gateway.metrics().one('maglev_gateway_servers_total') >= 1
    assert gateway.metrics().one('maglev_gateway_documents_total') == sent
    world.slice(namespace, 'two')
    world.reaches(address, 'www.example.com', 503)
    world.delete('HTTPRoute', namespace, 'web')
    world.reaches(address, 'www.example.com', 404)
    current(gateway, router)
    world.delete('Gateway', namespace, 'gw')
    router.wait('listener-closed')


def test_a_router_that_restarts_is_filled_within_a_second(world, namespace):
    router = world.router()
    gateway = world.gateway(router)
    world.service(namespace, 'one', world.backend('one'))
    address = world.http_gateway(namespace)
    world.route(namespace, 'web', 'www.example.com', 'one')
    world.reaches(address, 'www.example.com', 'one')
    router.kill()
    gateway.wait('router-lost')
    mark = gateway.mark()
    began = router.mark()
    router.start()
    started = next(line for line in router.lines[began:] if line['msg'] == 'listening')
    filled = gateway.wait('pushed', mark)
    assert filled.at - started.at < 1 * lab.SLACK
    world.reaches(address, 'www.example.com', 'one')


def test_one_bad_object_does_not_hold_back_the_others(world, namespace):
    router = world.router()
    gateway = world.gateway(router)
    world.service(namespace, 'one', world.backend('one'))
    world.make('Gateway', namespace, 'gw', gatewayClassName=CLASS, listeners=[
        {'name': 'http', 'protocol': 'HTTP', 'port': 80},
        {'name': 'tls', 'protocol': 'HTTPS', 'port': 443, 'tls': {'certificateRefs': [{'name': 'missing'}]}}])
    match = {'path': {'type': 'RegularExpression', 'value': '/(['}}
    world.route(namespace, 'bad', 'bad.example.com', 'one', matches=[match])
    world.route(namespace, 'lost', 'lost.example.com', 'nowhere')
    world.route(namespace, 'good', 'good.example.com', 'one')
    address = lab.until(lambda: (world.get('Gateway', namespace, 'gw')['status'].get('addresses') or [{}])[0].get('value'), what='an address')
    world.reaches(address, 'good.example.com', 'one')
    world.reaches(address, 'lost.example.com', 500)
    condition(world, 'HTTPRoute', namespace, 'lost', {'ResolvedRefs': ('False', 'BackendNotFound')})
    condition(world, 'HTTPRoute', namespace, 'bad', {'Accepted': ('False', 'UnsupportedValue')})
    assert not gateway.all('entry-refused')
    assert not router.all('update-refused')


def test_nothing_is_written_when_nothing_changed(world, namespace):
    router = world.router()
    gateway = world.gateway(router)
    world.service(namespace, 'one', world.backend('one'))
    address = world.http_gateway(namespace)
    world.route(namespace, 'web', 'www.example.com', 'one')
    condition(world, 'HTTPRoute', namespace, 'web', ACCEPTED)
    world.reaches(address, 'www.example.com', 'one')
    lab.until(lambda: world.get('Gateway', namespace, 'gw')['status']['listeners'][0]['attachedRoutes'] == 1, what='attachedRoutes')
    gateway.stop()
    before = len(world.writes())
    generation = router.ask('GET', '/generation').json
    second = world.gateway(router)
    second.wait('router-connected')
    second.wait('leading', leads=True)
    # a change of another route shows that it works, and is all that is written
    world.route(namespace, 'other', 'other.example.com', 'one')
    condition(world, 'HTTPRoute', namespace, 'other', ACCEPTED)
    lab.until(lambda: world.get('Gateway', namespace, 'gw')['status']['listeners'][0]['attachedRoutes'] == 2, what='attachedRoutes')
    written = [(line['objectRef']['resource'], line['objectRef']['name']) for line in world.writes()[before:]]
    assert sorted(set(written)) == [('gateways', 'gw'), ('httproutes', 'other')], written
    assert len(written) == 2, written
    # the router kept its configuration: the new process saw that it has the right one
    assert router.ask('GET', '/generation').json['generation'] == generation['generation'] + 1
    # the address is still the same
    assert world.address(namespace) == address


def test_a_status_that_changes_while_it_is_written_is_written_again(world, namespace):
    """The first status of each Gateway says that its Secret is missing, because Secrets are read when they are referred to. The
    Secret is there a moment later, often while that status is being written."""
    certificate, key = world.kube.issue('first-status', '/CN=a.example', 'DNS:a.example')
    with open(certificate, encoding='ascii') as one, open(key, encoding='ascii') as other:
        world.kube.create(f'/api/v1/namespaces/{namespace}/secrets', 'pair', type='kubernetes.io/tls',
                          stringData={'tls.crt': one.read(), 'tls.key': other.read()})
    world.gateway(world.router())
    for i in range(10):
        world.make('Gateway', namespace, f'gw{i}', gatewayClassName=CLASS, listeners=[
            {'name': 'https', 'protocol': 'HTTPS', 'port': 443, 'tls': {'certificateRefs': [{'name': 'pair'}]}}])
        world.address(namespace, f'gw{i}')
        world.delete('Gateway', namespace, f'gw{i}')


def test_addresses_are_requested_kept_or_refused(world, namespace):
    world.gateway(world.router())
    assert world.http_gateway(namespace, 'asked', addresses=[{'type': 'IPAddress', 'value': '198.18.7.7'}]) == '198.18.7.7'
    for name, value in (('outside', '203.0.113.7'), ('taken', '198.18.7.7')):
        world.make('Gateway', namespace, name, gatewayClassName=CLASS, addresses=[{'type': 'IPAddress', 'value': value}],
                   listeners=[{'name': 'http', 'protocol': 'HTTP', 'port': 80}])
        condition(world, 'Gateway', namespace, name, {'Accepted': ('True', 'Accepted'), 'Programmed': ('False', 'AddressNotUsable')})
    world.delete('Gateway', namespace, 'asked')
    assert world.address(namespace, 'taken') == '198.18.7.7'


def test_an_address_that_routers_do_not_have_is_said(world, namespace):
    router = world.router()
    gateway = world.gateway(router, pool='198.18.0.0/16,203.0.113.9')
    world.service(namespace, 'one', world.backend('one'))
    world.make('Gateway', namespace, 'lost', gatewayClassName=CLASS, addresses=[{'type': 'IPAddress', 'value': '203.0.113.9'}],
               listeners=[{'name': 'http', 'protocol': 'HTTP', 'port': 80}])
    condition(world, 'Gateway', namespace, 'lost', {'Programmed': ('False', 'AddressNotUsable')})
    address = world.http_gateway(namespace)
    world.route(namespace, 'web', 'www.example.com', 'one')
    world.reaches(address, 'www.example.com', 'one')
    message = next(one['message'] for one in world.get('Gateway', namespace, 'lost')['status']['conditions'] if one['type'] == 'Programmed')
    assert 'routers cannot listen on 203.0.113.9' in message, message
    assert gateway.metrics().one('maglev_gateway_addresses_unusable_total') >= 1


def services_of(world, namespace):
    return world.kube.do('GET', f'/api/v1/namespaces/{namespace}/services?labelSelector=gateway.networking.k8s.io/gateway-name')['items']


def test_the_address_of_a_service_becomes_the_gateways(world, namespace):
    router = world.router()
    world.kube.service('maglev-system', f'routers-{namespace}', (9901,))
    world.kube.apply(f'/apis/discovery.k8s.io/v1/namespaces/maglev-system/endpointslices/routers-{namespace}', {
        'apiVersion': 'discovery.k8s.io/v1', 'kind': 'EndpointSlice', 'addressType': 'IPv4',
        'metadata': {'name': f'routers-{namespace}', 'labels': {'kubernetes.io/service-name': f'routers-{namespace}'}},
        'ports': [{'name': 'admin', 'port': int(router.admin.rsplit(':', 1)[1])}],
        'endpoints': [{'addresses': ['10.244.9.9'], 'conditions': {'ready': False}}]})
    gateway = world.gateway(pool=None, args=['--service-addresses', '--router-service', f'maglev-system/routers-{namespace}'])
    gateway.wait('router-found', router=f'10.244.9.9:{router.admin.rsplit(":", 1)[1]}')
    world.make('Gateway', namespace, 'gw', gatewayClassName=CLASS, listeners=[{'name': 'http', 'protocol': 'HTTP', 'port': 80}],
               infrastructure={'labels': {'team': 'blue'}, 'annotations': {'example.com/note': 'yes'}})
    service, = lab.until(lambda: services_of(world, namespace), what='the Service')
    assert service['spec']['type'] == 'LoadBalancer' and service['metadata']['labels']['team'] == 'blue'
    assert service['metadata']['annotations']['example.com/note'] == 'yes'
    assert [(port['port'], port['protocol']) for port in service['spec']['ports']] == [(80, 'TCP')]
    assert service['metadata']['ownerReferences'][0]['name'] == 'gw'
    made = f'{service["metadata"]["name"]}-v4'
    endpoints = world.kube.do('GET', f'/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices/{made}')['endpoints']
    assert endpoints[0]['addresses'] == ['10.244.9.9']
    condition(world, 'Gateway', namespace, 'gw', {'Programmed': ('False', 'AddressNotAssigned')})
    world.kube.patch(f'/api/v1/namespaces/{namespace}/services/{service["metadata"]["name"]}/status',
                     {'status': {'loadBalancer': {'ingress': [{'ip': '198.18.9.1'}]}}})
    assert world.address(namespace) == '198.18.9.1'
    # labels that are gone are gone from the Service, too
    world.kube.patch(world.path('Gateway', namespace, 'gw'), {'spec': {'infrastructure': {'labels': {'team': 'red'}, 'annotations': None}}})
    lab.until(lambda: services_of(world, namespace)[0]['metadata']['labels'].get('team') == 'red', what='the new label')
    assert 'example.com/note' not in services_of(world, namespace)[0]['metadata']['annotations']


def test_a_kind_that_is_not_installed_is_picked_up(world, namespace):
    kind = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/httproutes.gateway.networking.k8s.io'
    router = world.router()
    gateway = world.gateway(router)
    world.service(namespace, 'one', world.backend('one'))
    address = world.http_gateway(namespace)
    world.route(namespace, 'web', 'www.example.com', 'one')
    world.reaches(address, 'www.example.com', 'one')
    world.kube.do('DELETE', kind)
    try:
        world.reaches(address, 'www.example.com', 404)
    finally:
        lab.until(lambda: world.kube.ask('GET', kind)[0] == 404, what='the kind being gone')
        apply_crds(world.kube)
    world.route(namespace, 'web', 'www.example.com', 'one')
    world.reaches(address, 'www.example.com', 'one')
    assert gateway.is_running()


def test_a_dry_run_prints_and_writes_nothing(world, namespace):
    world.service(namespace, 'one', world.backend('one'))
    world.make('Gateway', namespace, 'gw', gatewayClassName=CLASS, listeners=[{'name': 'http', 'protocol': 'HTTP', 'port': 80}])
    world.route(namespace, 'web', 'www.example.com', 'one')
    before = len(world.writes())
    done = subprocess.run([*world.netns.command(), lab.program('maglev-gateway'), '--kubeconfig', world.kubeconfig(), '--dry-run',
                           '--address-pool', '198.18.0.0/16'], capture_output=True, text=True, timeout=lab.PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    head, rest = done.stdout.split('routers would get:\n', 1)
    document, end = json.JSONDecoder().raw_decode(rest)
    assert not head and f'{namespace}/gw/http' in [one['name'] for one in document['listeners']]
    assert f'HTTPRoute {namespace}/web would get: ' in rest[end:]
    assert len(world.writes()) == before
    assert 'status' not in world.get('HTTPRoute', namespace, 'web') or not world.get('HTTPRoute', namespace, 'web')['status'].get('parents')


def explain(world, *words):
    done = subprocess.run([*world.netns.command(), lab.program('maglev-gateway'), '--kubeconfig', world.kubeconfig(),
                           '--address-pool', '198.18.0.0/16', 'explain', *words], capture_output=True, text=True, timeout=lab.PATIENCE, check=False)
    return done.returncode, done.stdout + done.stderr


def test_explain_says_what_a_request_meets(world, namespace):
    world.service(namespace, 'one', world.backend('one'))
    world.make('Gateway', namespace, 'gw', gatewayClassName=CLASS, listeners=[{'name': 'http', 'protocol': 'HTTP', 'port': 80}])
    world.route(namespace, 'web', 'www.example.com', 'one', matches=[{'path': {'type': 'PathPrefix', 'value': '/shop'}}])
    status, text = explain(world, 'GET', 'http://www.example.com/shop/1')
    assert status == 0 and f'HTTPRoute {namespace}/web' in text and f'{namespace}/gw/http' in text and f'{namespace}/one' in text, text
    status, other = explain(world, 'HTTPRoute', f'{namespace}/web', 'GET', 'http://www.example.com/other')
    assert status == 0 and other != text and '404' in other, other
    status, text = explain(world, 'httproutes', f'{namespace}/web')
    assert status == 0 and f'Gateway {namespace}/gw' in text, text
    assert explain(world, 'HTTPRoute', f'{namespace}/none') == (1, f'maglev-gateway: {namespace}/none: there is no such route\n')
    assert explain(world, 'GET', 'ftp://www.example.com/')[0] == 1
    assert explain(world, 'GET')[0] == 64


def test_the_token_and_tls_of_routers(world, namespace, authority, folders):
    folder = folders()
    token, wrong = os.path.join(folder, 'token'), os.path.join(folder, 'ours')
    for path, text in ((token, 'a-token-for-the-router'), (wrong, 'another-one-for-routers')):
        with open(path, 'w', encoding='ascii') as file:
            file.write(text + '\n')
        os.chmod(path, 0o600)
    server, client = authority.issue('router', 'router', names='IP:127.0.0.1'), authority.issue('gateway', 'gateway')
    router = world.router('--admin-token-file', token, '--admin-tls-cert', server[0], '--admin-tls-key', server[1],
                          '--admin-tls-client-ca', authority.ca)
    gateway = world.gateway(router, args=['--router-token-file', wrong, '--router-ca', authority.ca, '--router-cert', client[0],
                                          '--router-key', client[1]])
    gateway.wait('router-lost', error='GET /generation is answered with 401')
    os.replace(token, wrong)  # the file is read again when it is refused
    gateway.wait('router-connected')
    gateway.wait('pushed')


SHIPPED = {'Deployment': '/apis/apps/v1/namespaces/maglev-system/deployments/{}', 'Service': '/api/v1/namespaces/maglev-system/services/{}',
           'DaemonSet': '/apis/apps/v1/namespaces/maglev-system/daemonsets/{}', 'GatewayClass': GROUP + '/gatewayclasses/{}'}


def test_the_shipped_files_are_valid_and_name_real_flags(world):
    for file, program in (('deployment', 'maglev-gateway'), ('router', 'maglev-router')):
        known = subprocess.run([lab.program(program), '--help'], capture_output=True, text=True, check=True).stdout
        for text in documents(os.path.join(ROOT, f'deploy/kubernetes/gateway/{file}.yaml')):
            path = SHIPPED[field(text, 'kind')].format(re.search(r'(?m)^  name: (\S+)$', text)[1])
            world.kube.do('PATCH', f'{path}?fieldManager=story&force=true&dryRun=All&fieldValidation=Strict', text, kind=APPLY)
            for flag in re.findall(r'(?m)^ +- (--[a-z-]+)=', text):
                assert f'  {flag} ' in known, flag


def test_writes_come_from_the_shipped_account(world, namespace):
    world.gateway(world.router())
    world.http_gateway(namespace)
    assert world.kube.audit(USER)
    refused = [line for line in world.kube.audit(USER) if line['responseStatus']['code'] == 403]
    assert not refused, refused[:3]
    with contextlib.suppress(KeyError):
        assert not [line for line in world.kube.audit(USER) if line['objectRef']['resource'] == 'secrets']
