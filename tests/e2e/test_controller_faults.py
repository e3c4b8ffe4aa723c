# SPDX-License-Identifier: Apache-2.0
"""maglev-controller when things die, come in bursts, or do not change at all."""
import contextlib
import json
import os
import signal
import time

import lab
import pytest
from lab.kube import MERGE, READY, Kube
from lab.metal import POOLS, Metal

BURST = int(os.environ.get('MAGLEV_TEST_BURST', 100))  # make test-burst: 1,000

SMALL = {'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':quarantine_size_mb=1'}  # so that memory can be weighed


@pytest.fixture(scope='module')
def kinds(kube):
    return Metal(kube).install()


@pytest.fixture
def metal(kube, kinds):
    return Metal(kube)


def test_a_restart_takes_nothing_from_anybody(metal, start_daemon):
    metal.pool('blue', '192.0.2.0/31')
    controller = metal.controller(start_daemon, '--webhook-addr=')
    for name in ('m', 'n'):
        metal.service(name)
    metal.wait_addresses('m', '192.0.2.0')
    metal.wait_addresses('n', '192.0.2.1')
    metal.wait_usage('blue', services=2)
    metal.wait_config(True)
    lab.until(lambda: metal.status('configurationstates', 'controller'), what='the state')
    controller.kill()
    metal.service('a')  # comes first in every list, and has no address
    metal.kube.writes_settled()
    before = metal.writes()
    controller = metal.controller(start_daemon, '--webhook-addr=')
    metal.wait_event('a', 'Warning', 'AllocationFailed', f'Failed to allocate IP for "{metal.namespace}/a": no available IPs')
    assert (metal.addresses('m'), metal.addresses('n'), metal.addresses('a')) == (['192.0.2.0'], ['192.0.2.1'], [])
    metal.kube.writes_settled()
    assert [path for verb, path in metal.writes()[len(before):]] == [f'/apis/events.k8s.io/v1/namespaces/{metal.namespace}/events']
    metal.kube.do('DELETE', metal.service_path('m'))
    metal.wait_addresses('a', '192.0.2.0')


def test_nothing_is_written_when_nothing_has_changed(metal, start_daemon):
    metal.pool('blue', '192.0.2.0/30')
    controller = metal.controller(start_daemon, '--webhook-addr=')
    metal.service('a')
    metal.wait_addresses('a', '192.0.2.0')
    metal.wait_usage('blue', services=1)
    metal.wait_event('a', 'Normal', 'IPAllocated', 'Assigned IP ["192.0.2.0"]')
    metal.wait_config(True)
    lab.until(lambda: metal.status('configurationstates', 'controller'), what='the state')
    turns = controller.metrics().one('metallb_k8s_client_updates_total')
    metal.kube.writes_settled()
    before = metal.writes()
    # changes that need no write: a label, a node, a pool with another label, an advertisement
    metal.kube.patch(metal.service_path('a'), {'metadata': {'labels': {'x': 'y'}}})
    metal.kube.node(f'node-{metal.namespace}')
    metal.kube.patch(metal.path(POOLS, 'blue'), {'metadata': {'labels': {'x': 'y'}}})
    metal.make('v1beta1/l2advertisements', 'any')
    lab.until(lambda: controller.metrics().one('metallb_k8s_client_updates_total') > turns + 3, what='the changes being looked at')
    lab.until(lambda: controller.metrics().one('maglev_controller_queue_keys', state='waiting') == 0, what='an empty queue')
    metal.kube.writes_settled()
    assert metal.writes() == before


def test_one_of_two_controllers_writes(metal, start_daemon):
    metal.pool('blue', '192.0.2.0/24')
    first = metal.controller(start_daemon, '--webhook-addr=')
    first.wait('active', active=True)
    second = metal.controller(start_daemon, '--webhook-addr=')
    second.wait('synced')
    assert second.get('/readyz')[0] == 200  # it is ready to take over, and to answer
    metal.service('a')
    metal.wait_addresses('a', '192.0.2.0')
    assert not second.all('active', active=True)
    first.signal(signal.SIGKILL)
    first.end()
    second.wait('active', active=True)
    metal.service('b')
    metal.wait_addresses('b', '192.0.2.1')
    assert metal.addresses('a') == ['192.0.2.0']


def test_a_controller_that_ends_gives_the_lease_back(metal, start_daemon):
    first = metal.controller(start_daemon, '--webhook-addr=', '--lease-duration=60s')
    first.wait('active', active=True)
    second = metal.controller(start_daemon, '--webhook-addr=', '--lease-duration=60s')
    second.wait('synced')
    first.signal(signal.SIGTERM)
    assert first.end() == 0
    second.wait('active', active=True)


def test_a_missing_right_is_told(metal, start_daemon):
    metal.pool('blue', '192.0.2.0/30')
    controller = metal.controller(start_daemon, '--webhook-addr=')
    controller.wait('active', active=True)
    place = f'/apis/rbac.authorization.k8s.io/v1/clusterroles/{metal.namespace}:controller'
    rules = metal.kube.do('GET', place)['rules']
    metal.kube.patch(place, {'rules': [rule for rule in rules if rule['resources'] != ['services/status']]})
    token = metal.kube.token(metal.namespace, 'controller')
    lab.until(lambda: metal.kube.ask('PATCH', metal.service_path('none') + '/status', {}, kind=MERGE, token=token)[0] == 403,
              what='the right being gone')
    metal.service('a')
    assert 'cannot patch resource' in controller.wait('write-failed', kind='services', code='forbidden')['error']
    metal.kube.patch(place, {'rules': rules})
    metal.wait_addresses('a', '192.0.2.0')


def make_many(metal, count):
    """Services over one connection, which is much faster than one for each."""
    with contextlib.closing(metal.kube.connect(context=metal.kube._context)) as connection:
        for number in range(count):
            connection.request('POST', metal.service_path(), json.dumps(metal.service_body(f's{number:04}')),
                               {'Content-Type': 'application/json'})
            answer = connection.getresponse()
            assert answer.status == 201, answer.read()
            answer.read()


def test_a_burst_of_services_leaves_no_memory_behind(metal, start_daemon):
    metal.pool('wide', '10.200.0.0/16')
    controller = metal.controller(start_daemon, '--webhook-addr=', '--api-rate=2000', env=SMALL)
    controller.wait('active', active=True)
    sizes, began = [], time.monotonic()
    for _ in range(3):
        make_many(metal, BURST)
        controller.wait_metric('metallb_allocator_services_allocated_total', BURST, pool='wide', timeout=60)
        metal.wait_usage('wide', services=BURST)
        metal.kube.do('DELETE', metal.service_path())
        controller.wait_metric('metallb_allocator_services_allocated_total', 0, pool='wide', timeout=60)
        metal.wait_usage('wide', services=0)
        sizes.append(controller.rss())
    assert sizes[2] < sizes[1] * 1.05, sizes
    took = time.monotonic() - began
    metal.kube.writes_settled()
    pools = [one for one in metal.writes() if 'ipaddresspools' in one[1]]
    assert len(pools) < 5 * took + 10, 'the status of a pool is written at most five times a second'
    services = [one for one in metal.writes() if one[0] == 'patch' and '/services/' in one[1]]
    assert len(services) == 3 * BURST  # each service once


@pytest.fixture
def own(tmp_path):
    kube = Kube(tmp_path)
    yield Metal(kube.start())
    kube.close()


def test_kinds_may_come_late_and_servers_may_die(own, start_daemon):
    own.service('a')
    own.kube.patch(own.service_path('a') + '/status', {'status': {'loadBalancer': {'ingress': [{'ip': '192.0.2.0'}]}}})
    controller = own.controller(start_daemon, '--webhook-addr=')
    controller.wait('active', active=True)
    controller.wait_metric('metallb_k8s_client_config_stale_bool', 1)
    assert own.addresses('a') == ['192.0.2.0']  # a cluster without the kind is not one without pools
    own.install().pool('blue', '192.0.2.0/24')
    lab.until(lambda: own.annotation('a') == 'blue', what='the pool being used')
    own.kube.restart_apiserver()
    own.service('b')
    # what failed while there was no server is tried again after up to 30 s
    own.wait_addresses('b', '192.0.2.1', timeout=READY)
    own.kube.etcd.kill()
    own.kube.start_etcd()
    own.kube.wait_ready()
    began = time.monotonic()
    own.kube.do('DELETE', own.service_path('a'))
    own.service('c')
    own.wait_addresses('c', '192.0.2.0')
    assert time.monotonic() - began < lab.wait.PATIENCE
    assert own.addresses('b') == ['192.0.2.1']
    assert controller.get('/healthz')[0] == 200
