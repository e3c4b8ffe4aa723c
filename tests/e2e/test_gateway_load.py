# SPDX-License-Identifier: Apache-2.0
"""maglev-gateway under load: what changes, ends or is killed in the cluster costs no request on established routes."""
import base64
import concurrent.futures
import json
import ssl
import time

import pytest

import lab
from lab.gateway import CLASS, GROUP, Load, World
from lab.kube import Kube


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    """A cluster that is killed."""
    kube = Kube(tmp_path_factory.mktemp('kube'))
    try:
        World(kube.start(), None, None).install()
        yield kube
    finally:
        kube.close()


@pytest.fixture
def world(installed, folders, running):
    it = World(installed, folders, running)
    yield it
    it.close()


@pytest.fixture
def namespace(installed):
    name = installed.namespace()
    yield name
    for plural in ('gateways', 'httproutes'):
        installed.do('DELETE', f'{GROUP}/namespaces/{name}/{plural}')


def serve(world, namespace, *backends):
    """A route to these servers; returns the address."""
    world.service(namespace, 'web', *backends)
    address = world.http_gateway(namespace)
    world.route(namespace, 'web', 'www.example.com', 'web')
    world.reaches(address, 'www.example.com', backends[0].name)
    return address


def test_a_rolling_update_loses_no_request(world, namespace):
    world.gateway(world.router())
    servers = [world.backend(f'old-{n}') for n in range(3)]
    address = serve(world, namespace, *servers)
    with Load(world, address, 'www.example.com', threads=4) as load:
        for n in range(3):
            old, new = servers[0], world.backend(f'new-{n}')
            servers = [*servers[1:], new]
            # as a Deployment does it: the new pod is ready, the old one terminates, then it is gone
            world.slice(namespace, 'web', old, *servers, **{old.name: {'ready': False, 'serving': True, 'terminating': True}})
            world.reaches(address, 'www.example.com', new.name)
            load.more()
            world.slice(namespace, 'web', *servers)
            served = None
            while served != old.requests:  # no new requests come, those under way have ended
                served = old.requests
                load.more(40)
            old.close()
            load.more()
    assert not load.failures, load.failures[:5]
    assert load.answers > 200


def secret(world, namespace, name, pair):
    data = {}
    for key, path in zip(('tls.crt', 'tls.key'), pair):
        with open(path, 'rb') as file:
            data[key] = base64.b64encode(file.read()).decode()
    world.kube.apply(f'/api/v1/namespaces/{namespace}/secrets/{name}', {
        'apiVersion': 'v1', 'kind': 'Secret', 'type': 'kubernetes.io/tls', 'metadata': {'name': name}, 'data': data})
    return data


def serial(world, address, context):
    connection = world.connect(address, 443, context, 'www.example.com')
    try:
        return connection.sock.getpeercert()['serialNumber']
    finally:
        connection.close()


def test_certificates_are_rotated_under_load(world, namespace, authority):
    router = world.router()
    gateway = world.gateway(router)
    world.service(namespace, 'web', world.backend('one'))
    data = secret(world, namespace, 'cert', authority.issue('first', 'www.example.com'))
    world.make('Gateway', namespace, 'gw', gatewayClassName=CLASS, listeners=[
        {'name': 'https', 'protocol': 'HTTPS', 'port': 443, 'tls': {'certificateRefs': [{'name': 'cert'}]}}])
    world.route(namespace, 'web', 'www.example.com', 'web')
    address = world.address(namespace)
    context = ssl.create_default_context(cafile=authority.ca)
    world.reaches(address, 'www.example.com', 'one', port=443, context=context)
    seen = {serial(world, address, context)}
    with Load(world, address, 'www.example.com', port=443, context=context) as load:
        for n in range(3):
            secret(world, namespace, 'cert', authority.issue(f'next-{n}', 'www.example.com'))
            lab.until(lambda: serial(world, address, context) not in seen, what='the next certificate')
            seen.add(serial(world, address, context))
            load.more()
    assert not load.failures, load.failures[:5]
    assert len(seen) == 4
    # keys are nowhere in the logs, and only what is referred to is read
    key = base64.b64decode(data['tls.key']).decode().splitlines()[1]
    for daemon in (gateway, router):
        assert not any(key.encode() in line.raw for line in daemon.lines)
    assert gateway.metrics().one('maglev_gateway_references') == 1


def test_what_is_killed_costs_no_request(world, namespace):
    kube = world.kube
    router = world.router()
    gateway = world.gateway(router)
    address = serve(world, namespace, world.backend('one'), world.backend('two'))
    with Load(world, address, 'www.example.com') as load:
        # the controller
        gateway.kill()
        load.more(50)
        gateway.start()
        gateway.wait('router-connected', gateway._began)
        load.more(50)
        # the API server
        kube.restart_apiserver(wait=False)
        load.more(50)
        kube.wait_ready()
        load.more(50)
        # the storage
        kube.etcd.kill()
        load.more(50)
        kube.start_etcd()
        kube.wait_ready()
        load.more(50)
        # and afterwards changes arrive again
        three = world.backend('three')
        world.slice(namespace, 'web', three)
        world.reaches(address, 'www.example.com', 'three')
    assert not load.failures, load.failures[:5]


def test_a_router_that_is_killed_is_replaced_by_the_other(world, namespace):
    """Two routers have the same address. A client that repeats a request once, as all do for GET, loses none."""
    routers = [world.router(), world.router()]
    world.gateway(*routers)
    address = serve(world, namespace, world.backend('one'))
    lab.until(lambda: all(router.ask('GET', '/generation').json['generation'] > 1 for router in routers), what='both routers')
    with Load(world, address, 'www.example.com', threads=4, repeats=True) as load:
        load.more(50)
        for router in routers:
            router.kill()
            load.more(50)
            router.start()
            lab.until(lambda: router.ask('GET', '/generation').json['generation'], what='its configuration')
            load.more(50)
    assert not load.failures, load.failures[:5]
    assert load.broken <= 8  # only connections to the one that was killed, each once


def test_two_replicas_push_and_one_writes(world, namespace):
    router = world.router()
    first, second = (world.gateway(router, args=['--lease-duration', '3s']) for _ in range(2))
    one = world.backend('one')
    address = serve(world, namespace, one)
    writers = lambda: {line['userAgent'] for line in world.writes()}  # noqa: E731
    assert len(writers()) >= 1
    # both have the same wishes: the router changes only when they do
    lab.until(lambda: all(one.metrics().one('maglev_gateway_router_current', router=router.admin) == 1 for one in (first, second)),
              what='both agreeing')
    generation = router.ask('GET', '/generation').json['generation']
    polls = second.metrics().one('maglev_gateway_polls_total')
    lab.until(lambda: second.metrics().one('maglev_gateway_polls_total') > polls + 8, what='further polls')
    assert router.ask('GET', '/generation').json['generation'] == generation
    leads = lab.until(lambda: [one for one in (first, second) if one.metrics().one('maglev_gateway_leader') == 1], what='a leader')
    assert len(leads) == 1
    other = second if leads[0] is first else first
    leads[0].kill()
    # traffic follows at once, status when the lease is over
    world.slice(namespace, 'web', world.backend('next'))
    world.reaches(address, 'www.example.com', 'next')
    other.wait('leading', leads=True)
    world.route(namespace, 'more', 'more.example.com', 'web')
    lab.until(lambda: world.conditions('HTTPRoute', namespace, 'more').get('Accepted') == ('True', 'Accepted'), what='the status of a route')


def test_a_thousand_routes_in_a_burst(world, namespace):
    router = world.router()
    gateway = world.gateway(router, args=['--api-rate', '400'])
    address = serve(world, namespace, world.backend('one'))
    began = time.monotonic()

    def make(n):
        world.kube.do('POST', f'{GROUP}/namespaces/{namespace}/httproutes', {
            'apiVersion': 'gateway.networking.k8s.io/v1', 'kind': 'HTTPRoute', 'metadata': {'name': f'r{n}'},
            'spec': {'parentRefs': [{'name': 'gw'}], 'hostnames': [f'r{n}.example.com'],
                     'rules': [{'backendRefs': [{'name': 'web', 'port': 80}]}]}})

    with Load(world, address, 'www.example.com') as load, concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(1000)))
        made = time.monotonic()
        world.reaches(address, 'r999.example.com', 'one')
        reached = time.monotonic()
    lab.until(lambda: gateway.metrics().one('maglev_gateway_entries', part='routes') == 1001, what='all routes')
    lab.until(lambda: world.get('Gateway', namespace, 'gw')['status']['listeners'][0]['attachedRoutes'] == 1001, what='attachedRoutes')

    def told():
        routes = world.kube.do('GET', f'{GROUP}/namespaces/{namespace}/httproutes')['items']
        return all(route.get('status', {}).get('parents') for route in routes)
    lab.until(told, what='the status of all')
    print(json.dumps({'created_s': round(made - began, 1), 'last_reached_ms': round(1000 * (reached - made)),
                      'documents': gateway.metrics().one('maglev_gateway_documents_total'),
                      'status_s': round(time.monotonic() - began, 1)}))
    assert not load.failures, load.failures[:5]
    # each route is written once, and the Gateway far less often than there are routes
    written = [line['objectRef'] for line in world.writes() if line['objectRef'].get('namespace') == namespace]
    assert sum(ref['resource'] == 'httproutes' for ref in written) <= 1001 + 10
    assert sum(ref['resource'] == 'gateways' for ref in written) < 300
