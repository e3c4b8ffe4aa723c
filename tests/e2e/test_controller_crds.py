# SPDX-License-Identifier: Apache-2.0
"""The kinds of metallb.io as deploy/kubernetes ships them: a real API server accepts them, and checks resources by them."""
import glob
import os

import lab
import pytest
from lab.metal import ADVERTISEMENTS, BFD, COMMUNITIES, FOLDER, L2, PEERS, POOLS, Metal, documents

ROUTER = {'myASN': 64512, 'peerASN': 64513, 'peerAddress': '10.0.0.1'}
ACCEPTED = [
    (POOLS, {'addresses': ['192.168.10.0/24', '192.168.9.1-192.168.9.5', 'fc00:f853:0ccd:e799::/124']}),
    (POOLS, {'addresses': ['192.168.20.0/24'], 'autoAssign': False, 'avoidBuggyIPs': True, 'serviceAllocation': {
        'priority': 50, 'namespaces': ['namespace-a'], 'namespaceSelectors': [{'matchLabels': {'foo': 'bar'}}],
        'serviceSelectors': [{'matchExpressions': [{'key': 'app', 'operator': 'In', 'values': ['bar']}]}]}}),
    (PEERS, ROUTER),
    (PEERS, {**ROUTER, 'peerPort': 1790, 'holdTime': '30s', 'keepaliveTime': '10s', 'connectTime': '10s', 'ebgpMultiHop': True, 'bfdProfile': 'fast',
             'passwordSecret': {'name': 's'}, 'nodeSelectors': [{'matchLabels': {'rack': 'a'}}], 'vrf': 'red', 'routerID': '10.10.10.10'}),
    (PEERS, {'myASN': 64512, 'dynamicASN': 'external', 'interface': 'eth0', 'enableGracefulRestart': True, 'dualStackAddressFamily': True}),
    (ADVERTISEMENTS, {}),
    (ADVERTISEMENTS, {'ipAddressPools': ['first'], 'aggregationLength': 32, 'localPref': 100, 'communities': ['vpn-only', '65535:65282'], 'peers': ['a']}),
    (L2, {'ipAddressPools': ['first'], 'interfaces': ['eth0'], 'nodeSelectors': [{'matchLabels': {'kubernetes.io/hostname': 'n'}}],
          'preferredNodeSelectors': [{'weight': 50, 'preference': {'matchLabels': {'zone': 'a'}}}]}),
    (BFD, {'receiveInterval': 380, 'transmitInterval': 270, 'detectMultiplier': 3, 'echoMode': False, 'minimumTtl': 254}),
    (COMMUNITIES, {'communities': [{'name': 'vpn-only', 'value': '1234:1'}, {'name': 'big', 'value': 'large:1:2:3'}]}),
]
REFUSED = [
    (POOLS, {}, 'spec.addresses: Required value'),
    (PEERS, {**ROUTER, 'myASN': 4294967296}, 'less than or equal to 4294967295'),
    (PEERS, {**ROUTER, 'connectTime': '1500ms'}, 'connect time should contain a whole number of seconds'),
    (PEERS, {**ROUTER, 'connectTime': '70000s'}, 'connect time should be between 1 seconds to 65535'),
    (PEERS, {**ROUTER, 'dynamicASN': 'other'}, 'supported values: "internal", "external"'),
    (ADVERTISEMENTS, {'aggregationLength': 24, 'serviceSelectors': [{}]}, 'serviceSelectors can only be set when'),
    (L2, {'preferredNodeSelectors': [{'weight': 101, 'preference': {}}]}, 'less than or equal to 100'),
    (BFD, {'detectMultiplier': 1}, 'greater than or equal to 2'),
]


@pytest.fixture(scope='module')
def metal(kube):
    return Metal(kube).install()


def test_every_kind_has_a_structural_schema(metal):
    names = [place.rsplit('/', 1)[1] for file in glob.glob(os.path.join(FOLDER, 'crds/*.yaml')) for place, _, _ in documents(file, 'x')]
    assert len(names) == 12
    for name in names:
        conditions = metal.conditions(name)
        assert conditions['NamesAccepted'] == conditions['Established'] == 'True', name
        assert conditions.get('NonStructuralSchema', 'False') == 'False', name


@pytest.mark.parametrize('row', range(len(ACCEPTED)))
def test_resources_for_metallb_are_accepted(metal, row):
    kind, spec = ACCEPTED[row]
    made = metal.make(kind, f'accepted-{row}', **spec)
    assert {key: value for key, value in made['spec'].items() if key in spec} == spec


@pytest.mark.parametrize('row', range(len(REFUSED)))
def test_the_schema_refuses_what_cannot_be_right(metal, row):
    kind, spec, words = REFUSED[row]
    status, answer = metal.ask('POST', kind, body=metal.body(kind, f'refused-{row}', **spec))
    assert status == 422 and words in answer['message'], answer


def test_graceful_restart_cannot_be_changed_later(metal, kube):
    metal.make(PEERS, 'graceful', **ROUTER, enableGracefulRestart=False)
    status, answer = kube.ask('PATCH', metal.path(PEERS, 'graceful'), {'spec': {'enableGracefulRestart': True}}, kind=lab.kube.MERGE)
    assert status == 422 and 'EnableGracefulRestart cannot be changed after creation' in answer['message']


def test_columns_say_how_much_of_a_pool_is_used(metal, kube):
    metal.pool('columns', '203.0.113.0/24')
    kube.patch(metal.path(POOLS, 'columns') + '/status', {'status': {'services': 3, 'availableIPv4': 253}})
    table = kube.connect(context=kube._context)  # kubectl's own request
    table.request('GET', metal.path(POOLS, 'columns'), headers={'Accept': 'application/json;as=Table;v=v1;g=meta.k8s.io'})
    answer = lab.daemon.Answer(table.getresponse()).json
    table.close()
    row = dict(zip([column['name'] for column in answer['columnDefinitions']], answer['rows'][0]['cells']))
    assert (row['Services'], row['Free IPv4'], row['Auto Assign']) == (3, 253, True)


def test_the_shipped_objects_of_the_controller_are_accepted(metal, kube):
    metal.apply('controller')
    path = f'/apis/apps/v1/namespaces/{metal.namespace}/deployments/controller'
    pod = kube.do('GET', path)['spec']['template']['spec']
    assert pod['serviceAccountName'] == 'controller' and pod['containers'][0]['securityContext']['readOnlyRootFilesystem']
    kube.do('DELETE', '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/metallb-webhook-configuration')
