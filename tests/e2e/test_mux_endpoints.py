# SPDX-License-Identifier: Apache-2.0
"""Where the backends of a mux come from and where they go: Endpoints, slices, both at once, and channels that leave."""
import lab
import pytest
from lab.mux import Muxes, hashed

MANAGED = 'endpointslice.kubernetes.io/managed-by'
SKIP = {'endpointslice.kubernetes.io/skip-mirror': 'true'}


@pytest.fixture
def world(kube, running, folders):
    return Muxes(kube, running, folders)


def managers(world):
    return {one['metadata']['labels'][MANAGED] for one in world.slices()}


def subsets(world):
    return world.get('mux', 'endpoints').get('subsets') or []


def test_the_endpoints_of_the_original_are_taken_over(world):
    """Kubernetes has mirrored them to slices of its own; with ours beside them every backend would count twice."""
    world.mux()
    world.channel('api', {'http': 80})
    world.pod('api', '10.5.0.1')
    world.kube.create(world.path('', 'endpoints'), 'mux', subsets=[
        {'addresses': [{'ip': '10.5.0.1'}], 'ports': [{'name': hashed(world.namespace, 'api', 'http'), 'port': 80}]}])
    lab.until(lambda: managers(world) == {'endpointslicemirroring-controller.k8s.io'}, what='the mirrored slice')
    world.start()
    lab.until(lambda: managers(world) == {'maglev-mux'}, what='slices of maglev-mux alone')
    lab.until(lambda: world.backends() == {hashed(world.namespace, 'api', 'http'): ['10.5.0.1:80']}, what='the backend')
    assert world.get('mux', 'endpoints')['metadata']['labels'].items() >= SKIP.items()


@pytest.mark.parametrize('labels', [{}, SKIP], ids=['mirrored', 'not mirrored'])
def test_a_channel_without_selector_brings_its_own_endpoints(world, labels):
    """Without slices the Endpoints themselves are read."""
    name = hashed(world.namespace, 'db', 'sql')
    world.mux()
    world.channel('db', {'sql': 5432}, selector=None)
    world.kube.do('POST', world.path('', 'endpoints'), {'metadata': {'name': 'db', 'labels': labels}, 'subsets': [
        {'addresses': [{'ip': '192.0.2.7'}], 'notReadyAddresses': [{'ip': '192.0.2.8'}], 'ports': [{'name': 'sql', 'port': 15432}]}]})
    world.start()
    world.settled(db={'sql': 5432})
    lab.until(lambda: world.backends() == {name: ['192.0.2.7:15432']}, what='the backend')
    lab.until(lambda: subsets(world), what='the Endpoints')
    assert [one['ip'] for one in subsets(world)[0]['notReadyAddresses']] == ['192.0.2.8']
    world.kube.patch(world.path('db', 'endpoints'), {'subsets': [
        {'addresses': [{'ip': '192.0.2.9'}], 'ports': [{'name': 'sql', 'port': 15432}]}]})
    lab.until(lambda: world.backends() == {name: ['192.0.2.9:15432']}, what='the other backend')


def test_slices_have_all_addresses_and_endpoints_a_thousand(world):
    world.mux()
    world.channel('big', {'http': 80}, selector=None)
    for part in (1, 2):
        world.kube.do('POST', world.path('', 'endpointslices'), {
            'metadata': {'name': f'big-{part}', 'labels': {'kubernetes.io/service-name': 'big'}}, 'addressType': 'IPv4',
            'ports': [{'name': 'http', 'port': 8080, 'protocol': 'TCP'}],
            'endpoints': [{'addresses': [f'10.{part}.{i // 250}.{i % 250}'], 'conditions': {'ready': True}} for i in range(600)]})
    world.start()
    world.settled(big={'http': 80})
    lab.until(lambda: sum(map(len, world.backends().values())) == 1200, what='1200 backends')
    note = 'endpoints.kubernetes.io/over-capacity'
    lab.until(lambda: world.get('mux', 'endpoints')['metadata']['annotations'].get(note) == 'truncated', what='the mark')
    assert sum(len(one['addresses']) for one in subsets(world)) == 1000
    world.delete('big-2', 'endpointslices')
    lab.until(lambda: sum(len(one['addresses']) for one in subsets(world)) == 600, what='600 addresses')
    assert note not in world.get('mux', 'endpoints')['metadata']['annotations']


def test_a_channel_that_leaves_keeps_nothing_of_the_mux(world):
    """Refused, or a channel no longer: its mapping and its addresses go."""
    world.mux()
    world.address({'ip': '203.0.113.5'}, {'hostname': 'lb.example.net'})
    world.start()
    for name, port in (('a', 80), ('b', 81)):
        world.channel(name, {'http': port})
        world.pod(name, f'10.6.0.{port}')
        lab.until(lambda: len(world.get(name)['status']['loadBalancer'].get('ingress', [])) == 2, what=f'all addresses at {name}')
    world.annotate('b', external_ports='http:80')
    world.told('b', 'MuxPortConflict', f'80/TCP is already claimed by {world.namespace}/a:{hashed(world.namespace, "a", "http")}')
    lab.until(lambda: not world.get('b')['status']['loadBalancer'] and 'ports' not in world.notes('b'), what='b being clean')
    lab.until(lambda: list(world.backends()) == [hashed(world.namespace, 'a', 'http')], what='the backends of b being gone')
    world.kube.patch(world.path('a'), {'spec': {'type': 'ClusterIP', 'loadBalancerClass': None, 'allocateLoadBalancerNodePorts': None}})
    lab.until(lambda: 'ports' not in world.notes('a'), what='a being clean')
    world.settled(b={'http': 80})


def test_channels_that_cannot_be_understood_say_why(world):
    world.mux()
    world.start()
    world.service('lost', {'http': 80}, {}, loadBalancerClass=f'{world.prefix}/a.b.c')
    world.told('lost', 'InvalidLoadBalancerClass', f"Invalid LoadBalancerClass '{world.prefix}/a.b.c'")
    world.channel('typo', {'http': 80}, 'htp:8080')
    world.told('typo', 'InvalidPortMapping', f'{world.prefix}/external-ports references unknown port name(s): htp')
    world.channel('none', {'http': 80}, 'http:auto')
    world.told('none', 'InvalidPortMapping', 'automatic allocation requires a mux port range')
    world.kube.do('POST', world.path(''), {'metadata': {'name': 'mute'}, 'spec': {
        'type': 'LoadBalancer', 'loadBalancerClass': f'{world.prefix}/mux.{world.namespace}', 'ports': [{'port': 80}]}})
    world.told('mute', 'InvalidPort', 'Port name is required')
    world.told('mute', 'InvalidPortMapping', 'missing name at spec.ports index(es): 0')
    world.settled()
    world.annotate('typo', external_ports='http:8080')
    world.annotate('mux', port_range='20000')
    world.settled(typo={'http': 8080}, none={'http': 20000})
