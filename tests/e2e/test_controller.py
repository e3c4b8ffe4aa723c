# SPDX-License-Identifier: Apache-2.0
"""maglev-controller with a real API server and exactly the rights that are shipped: who gets which address, and what is said about it."""
import lab
import pytest
from lab.metal import POOLS, Metal

NORMAL, WARNING = 'Normal', 'Warning'


@pytest.fixture(scope='module')
def kinds(kube):
    return Metal(kube).install()


@pytest.fixture
def metal(kube, kinds):
    return Metal(kube)


@pytest.fixture
def controller(metal, start_daemon):
    return metal.controller(start_daemon, '--webhook-addr=')


def test_a_service_gets_an_address_and_gives_it_back(metal, controller):
    metal.pool('blue', '192.0.2.0/31')
    for name in ('a', 'b'):
        metal.service(name)
    metal.wait_addresses('a', '192.0.2.0')
    metal.wait_addresses('b', '192.0.2.1')
    assert metal.annotation('a') == 'blue'
    metal.wait_event('a', NORMAL, 'IPAllocated', 'Assigned IP ["192.0.2.0"]')
    metal.wait_usage('blue', services=2, assignedIPv4=2, availableIPv4=0, assignedIPV4=2, availableIPV4=0, assignedIPv6=0)
    metal.service('c')
    metal.wait_event('c', WARNING, 'AllocationFailed', f'Failed to allocate IP for "{metal.namespace}/c": no available IPs')
    controller.wait_metric('maglev_controller_services', 1, state='pending')
    metal.kube.do('DELETE', metal.service_path('a'))
    metal.wait_addresses('c', '192.0.2.0')  # at once, and without being asked
    controller.wait_metric('maglev_controller_services', 0, state='pending')
    assert controller.metrics().one('metallb_allocator_addresses_in_use_total', pool='blue') == 2
    assert controller.metrics().one('metallb_allocator_services_allocated_total', pool='blue') == 2


def test_services_share_an_address_with_a_key(metal, controller):
    metal.pool('blue', '192.0.2.1/32')
    key = {'metallb.io/allow-shared-ip': 'k'}
    metal.service('a', ports=(80,), annotations=key)
    metal.wait_addresses('a', '192.0.2.1')
    metal.service('b', ports=(443,), annotations={'metallb.universe.tf/allow-shared-ip': 'k'})
    metal.wait_addresses('b', '192.0.2.1')
    metal.wait_event('b', WARNING, 'deprecatedAnnotation', 'Service uses deprecated annotation metallb.universe.tf/allow-shared-ip')
    metal.wait_usage('blue', services=2, assignedIPv4=1)
    metal.service('c', ports=(80,), annotations=key, loadBalancerIP='192.0.2.1')
    metal.wait_event('c', WARNING, 'AllocationFailed',
                     f'Failed to allocate IP for "{metal.namespace}/c": port TCP/80 is already in use on "192.0.2.1"')
    metal.kube.patch(metal.service_path('a'), {'spec': {'ports': [{'name': 'p81', 'port': 81}]}})
    metal.wait_addresses('c', '192.0.2.1')  # the port is free now


def test_a_changed_key_lets_others_in(metal, controller):
    metal.pool('blue', '192.0.2.1/32')
    metal.service('a', ports=(80,))
    metal.wait_addresses('a', '192.0.2.1')
    metal.service('b', ports=(443,), annotations={'metallb.io/allow-shared-ip': 'k'})
    metal.wait_event('b', WARNING, 'AllocationFailed', f'Failed to allocate IP for "{metal.namespace}/b": no available IPs')
    metal.kube.patch(metal.service_path('a'), {'metadata': {'annotations': {'metallb.io/allow-shared-ip': 'k'}}})
    metal.wait_addresses('b', '192.0.2.1')


def test_addresses_and_pools_can_be_requested(metal, controller):
    metal.pool('auto', '192.0.2.0/28')
    metal.pool('manual', '198.51.100.0/28', autoAssign=False)
    metal.service('by-spec', loadBalancerIP='192.0.2.7')
    metal.service('by-annotation', annotations={'metallb.io/loadBalancerIPs': '198.51.100.9'})
    metal.service('by-pool', annotations={'metallb.io/address-pool': 'manual'})
    metal.wait_addresses('by-spec', '192.0.2.7')
    metal.wait_addresses('by-annotation', '198.51.100.9')
    metal.wait_addresses('by-pool', '198.51.100.0')
    metal.kube.patch(metal.service_path('by-pool'), {'metadata': {'annotations': {'metallb.io/address-pool': 'auto'}}})
    metal.wait_addresses('by-pool', '192.0.2.0')
    assert metal.annotation('by-pool') == 'auto'


def test_both_families_follow_the_policy_of_the_service(metal, controller):
    metal.pool('four', '192.0.2.0/31')
    metal.pool('two', '198.51.100.0/32', '2001:db8::/127')
    metal.service('require', ipFamilyPolicy='RequireDualStack')
    metal.wait_addresses('require', '198.51.100.0', '2001:db8::')
    metal.service('prefer', ipFamilyPolicy='PreferDualStack')
    metal.wait_addresses('prefer', '192.0.2.0')
    metal.service('six', ipFamilies=['IPv6'])
    metal.wait_addresses('six', '2001:db8::1')
    metal.wait_usage('two', services=2, assignedIPv4=1, assignedIPv6=2, availableIPv6=0)


def test_pools_can_be_kept_for_namespaces_and_services(metal, controller):
    metal.pool('here', '192.0.2.0/30', serviceAllocation={'priority': 10, 'namespaceSelectors': [
        {'matchLabels': {'kubernetes.io/metadata.name': metal.namespace}}], 'serviceSelectors': [{'matchLabels': {'tier': 'front'}}]})
    metal.pool('open', '198.51.100.0/30')
    metal.service('front', labels={'tier': 'front'})
    metal.service('back')
    metal.wait_addresses('front', '192.0.2.0')
    metal.wait_addresses('back', '198.51.100.0')


def test_addresses_outlive_a_renamed_pool_but_not_a_removed_one(metal, controller):
    metal.pool('old', '192.0.2.0/30')
    metal.service('a')
    metal.wait_addresses('a', '192.0.2.0')
    metal.change(POOLS, 'old', addresses=['192.0.2.2/31'])
    metal.wait_addresses('a', '192.0.2.2')
    assert [reason for _, reason, _ in metal.events('a')].count('ClearAssignment') <= 1
    metal.remove(POOLS, 'old')
    lab.until(lambda: metal.addresses('a') == [] and metal.annotation('a') is None, what='the address being taken away')
    metal.pool('new', '192.0.2.0/30')
    metal.wait_addresses('a', '192.0.2.0')


def test_a_bad_configuration_is_told_and_the_old_one_stays(metal, controller):
    metal.pool('good', '192.0.2.0/30')
    metal.service('a')
    metal.wait_addresses('a', '192.0.2.0')
    metal.wait_config(True)
    metal.pool('bad', '192.0.2.2/31')
    error = 'CIDR "192.0.2.0/30" in pool "good" overlaps with already defined CIDR "192.0.2.2/31"'
    metal.wait_config(False, error)
    assert metal.status('configurationstatuses', 'config-status')['inForce'] == 'previous'
    lab.until(lambda: metal.status('configurationstates', 'controller')['result'] == 'Invalid', what='Invalid')
    state = metal.status('configurationstates', 'controller')
    assert state['errorSummary'] == f'configuration error: {error}'
    assert [(one['type'], one['status'], one['reason']) for one in state['conditions']] == [
        ('poolReconcilerValid', 'False', 'ConfigurationError')]
    assert controller.metrics().one('metallb_k8s_client_config_stale_bool') == 1
    metal.service('b')
    metal.wait_addresses('b', '192.0.2.1')  # from the old pools
    metal.remove(POOLS, 'bad')
    metal.wait_config(True)
    lab.until(lambda: metal.status('configurationstates', 'controller')['result'] == 'Valid', what='Valid')
    assert controller.metrics().one('metallb_k8s_client_config_stale_bool') == 0


def test_a_bad_peer_does_not_stop_the_allocation(metal, controller):
    metal.make('v1beta2/bgppeers', 'bad', myASN=64512, peerAddress='10.0.0.1')
    metal.wait_config(False, 'parsing peer bad missing peer ASN and dynamicASN')
    metal.pool('good', '192.0.2.0/30')
    metal.service('a')
    metal.wait_addresses('a', '192.0.2.0')
    lab.until(lambda: (metal.status('configurationstates', 'controller') or {}).get('result') == 'Valid', what='Valid')


def test_edited_statuses_are_put_right(metal, controller):
    metal.pool('blue', '192.0.2.0/30')
    metal.service('a')
    metal.wait_usage('blue', services=1, availableIPv4=3)
    metal.kube.patch(metal.path(POOLS, 'blue') + '/status', {'status': {'services': 77}})
    metal.wait_usage('blue', services=1)
    metal.wait_config(True)
    for kind, name in (('configurationstatuses', 'config-status'), ('configurationstates', 'controller')):
        metal.remove(f'v1beta1/{kind}', name)
        lab.until(lambda: metal.status(kind, name), what=f'{name} being made again')


def test_a_service_that_is_no_load_balancer_any_more_has_no_address(metal, controller):
    metal.pool('blue', '192.0.2.0/30')
    metal.service('a')
    metal.wait_addresses('a', '192.0.2.0')
    metal.kube.patch(metal.service_path('a'), {'spec': {'type': 'ClusterIP', 'loadBalancerClass': None, 'allocateLoadBalancerNodePorts': None}})
    metal.wait_usage('blue', services=0)


def test_a_dry_run_tells_and_writes_nothing(metal, start_daemon):
    metal.pool('blue', '192.0.2.0/30')
    metal.service('a')
    controller = metal.controller(start_daemon, '--webhook-addr=', '--dry-run')
    line = controller.wait('would-write', kind='services', name=f'{metal.namespace}/a')
    assert '"ip":"192.0.2.0"' in line['body']
    metal.kube.writes_settled()
    assert metal.kube.audit(metal.account) == []
