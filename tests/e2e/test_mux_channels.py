# SPDX-License-Identifier: Apache-2.0
"""Channels and muxes as a user with kubectl sees them: ports, backends, status, annotations, events, on a real API server."""
import concurrent.futures
import itertools

import lab
import pytest
from lab.mux import RBAC, Muxes, documents, hashed, ship

MANY = 200


def at_once(action, numbers):
    """For each of them, eight at a time."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(action, numbers))


@pytest.fixture
def world(kube, running, folders):
    return Muxes(kube, running, folders)


def test_a_channel_gets_its_port_its_address_and_its_backends(world):
    world.mux(labels={'team': 'net'})
    program = world.start()
    world.channel('api', {'http': {'port': 80, 'targetPort': 8080}})
    world.settled(api={'http': 80})
    world.pod('api', '10.1.0.1')
    world.pod('api', '10.1.0.2', ready=False)
    name = hashed(world.namespace, 'api', 'http')
    lab.until(lambda: world.backends() == {name: ['10.1.0.1:8080']}, what='the backend')
    world.address({'ip': '203.0.113.10'}, {'hostname': 'lb.example.com'})
    lab.until(lambda: world.get('api')['status']['loadBalancer'].get('ingress') ==
              world.get('mux')['status']['loadBalancer']['ingress'], what='the status of the channel')
    lab.until(lambda: world.notes('api').get('ports') == 'http:80->80', what='the annotation of the channel')
    lab.until(lambda: world.notes('mux').get('summary') == '1 channel(s) | 1 port(s) | 1 pod(s) | DNS: 203.0.113.10',
              what=f'the summary: {world.notes("mux")}')
    assert world.notes('mux')['channels'] == f'["{world.namespace}/api"]'
    assert f'  - {world.namespace}/api\n' in world.notes('mux')['topology']
    ends = world.get('mux', 'endpoints')
    assert ends['metadata']['labels']['endpointslice.kubernetes.io/skip-mirror'] == 'true'
    assert ends['metadata']['labels']['team'] == 'net'
    lab.until(lambda: [(part['addresses'][0]['ip'], part['ports'][0]['name'], part['ports'][0]['port'])
                       for part in world.get('mux', 'endpoints').get('subsets', ()) if part.get('addresses')] ==
              [('10.1.0.1', name, 8080)], what='the Endpoints')
    assert {one['metadata']['labels']['endpointslice.kubernetes.io/managed-by'] for one in world.slices()} == {'maglev-mux'}
    for reason in ('MuxPortsChanged', 'MuxAnnotationsUpdated', 'MuxEndpointsCreated', 'MuxEndpointsChanged'):
        world.told('mux', reason)
    program.wait('event', reason='MuxPortsChanged')
    assert program.metrics().one('maglev_mux_ports', mux='mux') == 1
    assert program.metrics().one('maglev_mux_leader') == 1


def test_ports_of_nodes_stay_when_other_channels_come(world):
    """The names of ports persist, so the server keeps what it gave them."""
    world.mux(allocateLoadBalancerNodePorts=True)
    world.start()
    world.channel('m', {'p': 8000})
    world.settled(m={'p': 8000})
    given = world.get('mux')['spec']['ports'][0]['nodePort']
    world.channel('a', {'p': 80})
    world.channel('z', {'p': 9000})
    world.settled(a={'p': 80}, m={'p': 8000}, z={'p': 9000})
    assert {port['port']: port['nodePort'] for port in world.get('mux')['spec']['ports']}[8000] == given


def test_nothing_is_written_when_nothing_changes(world):
    world.mux(notes={'port-range': '20000-20099'})
    world.channel('api', {'http': 80}, 'http:auto')
    world.channel('web', {'http': 80})
    world.pod('api', '10.1.1.1')
    program = world.start('--resync=1s')
    world.settled(api={'http': 20000}, web={'http': 80})
    lab.until(lambda: 'ports' in world.notes('api') and 'ports' in world.notes('web') and world.backends(), what='all annotations')
    before = program.metrics().one('maglev_mux_full_passes_total')
    lab.until(lambda: program.metrics().one('maglev_mux_full_passes_total') >= before + 2, what='two passes in a row')
    quiet = len(world.writes())
    program.stop()
    again = world.start('--resync=1s')
    lab.until(lambda: again.metrics().one('maglev_mux_full_passes_total') >= 3, what='passes of a new process')
    assert len(world.writes()) == quiet, world.writes()[quiet:]


def test_hundreds_of_channels(world):
    world.mux(notes={'port-range': '20000-20999'})
    at_once(lambda number: world.channel(f'c{number:03}', {'http': 80, 'admin': 8080}, 'http:auto,admin:auto'), range(MANY))
    program = world.start(level='info')
    lab.until(lambda: len(world.ports()) == 2 * MANY, 60, 'all ports')
    lab.until(lambda: program.metrics().one('maglev_mux_channels', mux='mux', fate='served') == MANY, what='all channels served')
    claims = world.claims()
    assert sorted(claims.values()) == list(range(20000, 20000 + 2 * MANY))
    assert world.ports() == {number: hashed(world.namespace, *key) for key, number in claims.items()}
    lab.until(lambda: all('ports' in world.notes(f'c{number:03}') for number in (0, MANY // 2, MANY - 1)), 60, 'their annotations')
    at_once(lambda number: world.delete(f'c{number:03}'), range(0, MANY, 2))
    lab.until(lambda: len(world.ports()) == MANY, 60, 'half of the ports')
    kept = {key: number for key, number in claims.items() if int(key[0][1:]) % 2}
    lab.until(lambda: world.claims() == kept, what='the claims of the others, unchanged')


def test_channels_swap_their_ports(world):
    world.mux()
    world.start()
    world.channel('a', {'p': 80}, 'p:8000')
    world.channel('b', {'p': 80}, 'p:8001')
    world.settled(a={'p': 8000}, b={'p': 8001})
    world.annotate('a', external_ports='p:8001')
    world.told('a', 'MuxPortConflict', f'8001/TCP is already claimed by {world.namespace}/b:{hashed(world.namespace, "b", "p")}')
    world.annotate('b', external_ports='p:8000')
    world.settled(a={'p': 8001}, b={'p': 8000})
    lab.until(lambda: [world.notes(name).get('ports') for name in 'ab'] == ['p:80->8001', 'p:80->8000'], what='annotations')


def test_a_renamed_port_is_another_port_with_the_same_backends(world):
    world.mux()
    world.start()
    world.channel('api', {'http': {'port': 80, 'targetPort': 8080}})
    world.pod('api', '10.1.2.1')
    lab.until(lambda: world.backends() == {hashed(world.namespace, 'api', 'http'): ['10.1.2.1:8080']}, what='the backend')
    world.kube.patch(world.path('api'), {'spec': {'ports': [{'name': 'web', 'port': 80, 'targetPort': 8080}]}})
    world.settled(api={'web': 80})
    lab.until(lambda: world.backends() == {hashed(world.namespace, 'api', 'web'): ['10.1.2.1:8080']}, what='the new name')
    lab.until(lambda: list(world.claims()) == [('api', 'web')], what='the claim')


def test_the_last_channel_leaves_and_the_placeholder_comes(world):
    world.mux()
    world.start()
    world.channel('api', {'http': 80})
    world.channel('dns', {'tcp': 53, 'udp': {'port': 53, 'protocol': 'UDP'}})
    lab.until(lambda: set(world.ports()) == {80, 53, (53, 'UDP')}, what='all ports')
    world.delete('api')
    world.delete('dns')
    world.settled()
    lab.until(lambda: world.claims() == {} and world.slices() == [], what='nothing left')


def test_a_refused_channel_says_why_and_a_freed_port_goes_to_it(world):
    world.mux()
    world.start()
    world.channel('first', {'http': 80})
    world.settled(first={'http': 80})
    world.channel('early', {'http': 80})
    world.told('early', 'MuxPortConflict', f'80/TCP is already claimed by {world.namespace}/first')
    world.delete('first')
    world.settled(early={'http': 80})


def test_the_limits_of_gke(world):
    world.mux(notes={'cloud.google.com/l4-rbs': 'enabled', 'port-range': '20000-20199'})
    at_once(lambda number: world.channel(f'c{number:03}', {'http': 80}, 'http:auto'), range(100))
    world.start(level='info')
    world.told('mux', 'GkePortLimitApplied', 'applying the GKE Service LoadBalancer limit of 100 ports')
    lab.until(lambda: len(world.ports()) == 100, 60, '100 ports')
    world.channel('a-late-one', {'http': 80}, 'http:auto')
    world.told('a-late-one', 'MuxPortLimitExceeded', 'limited to 100 port(s)')
    assert len(world.ports()) == 100 and ('a-late-one', 'http') not in world.claims()


def test_a_disabled_channel_and_a_disabled_mux(world):
    world.mux(notes={'port-range': '20000-20099'})
    world.start()
    world.channel('a', {'p': 80}, 'p:auto')
    world.channel('b', {'p': 80}, 'p:auto')
    world.settled(a={'p': 20000}, b={'p': 20001})
    world.annotate('a', disabled='true')
    world.settled(b={'p': 20001})
    world.annotate('a', disabled=None)
    world.settled(a={'p': 20000}, b={'p': 20001})
    lab.until(lambda: 'ports' in world.notes('a'), what='the annotation again')
    world.annotate('mux', disabled='true')
    world.delete('b')
    world.channel('c', {'p': 80}, 'p:auto')
    world.annotate('mux', disabled=None)
    world.settled(a={'p': 20000}, c={'p': 20001})


def test_a_freed_automatic_port_rests_for_the_grace_period(world):
    world.mux(notes={'port-range': '20000-20009', 'release-grace': '1h'})
    world.start()
    world.channel('a', {'p': 80}, 'p:auto')
    world.settled(a={'p': 20000})
    world.delete('a')
    world.settled()
    world.channel('b', {'p': 80}, 'p:auto')
    world.settled(b={'p': 20001})
    assert world.state()['released']
    world.annotate('mux', release_grace='1s')
    lab.until(lambda: not world.state().get('released'), what='the end of the grace')
    world.channel('c', {'p': 80}, 'p:auto')
    world.settled(b={'p': 20001}, c={'p': 20000})


def test_a_mux_for_some_namespaces_only(world):
    other = world.kube.namespace('other')
    world.mux(notes={'allowed-namespaces': world.namespace})
    world.start()
    world.channel('mine', {'http': 80})
    world.channel('theirs', {'http': 81}, namespace=other)
    world.settled(mine={'http': 80})
    lab.until(lambda: any(event[0] == 'Warning' for event in world.events('theirs', other)), what='a warning for the other')
    world.annotate('mux', allowed_namespaces=None)
    lab.until(lambda: world.ports() == {80: hashed(world.namespace, 'mine', 'http'), 81: hashed(other, 'theirs', 'http')},
              what='both channels')


def test_backends_of_both_families(world):
    world.mux()
    world.start()
    world.channel('api', {'http': 80}, selector=None)
    for family, address in (('IPv4', '10.1.3.1'), ('IPv6', 'fd00:1::1')):
        world.kube.do('POST', world.path('', 'endpointslices'), {
            'metadata': {'name': f'api-{family.lower()}', 'labels': {'kubernetes.io/service-name': 'api'}},
            'addressType': family, 'endpoints': [{'addresses': [address], 'conditions': {'ready': True}}],
            'ports': [{'name': 'http', 'port': 8080, 'protocol': 'TCP'}]})
    lab.until(lambda: sorted((one['addressType'], one['endpoints'][0]['addresses'][0]) for one in world.slices()) ==
              [('IPv4', '10.1.3.1'), ('IPv6', 'fd00:1::1')], what='a slice of each family')


def test_two_ports_with_the_same_hash_are_both_served(world):
    """Names of ports are 28 bits of a hash, so that pairs are easily found."""
    seen = {}
    for number in itertools.count():
        name = f'p{number}'
        other = seen.setdefault(hashed(world.namespace, 'twins', name), name)
        if other != name:
            break
    world.mux()
    world.start()
    world.channel('twins', {other: 80, name: 81})
    lab.until(lambda: set(world.ports()) == {80, 81}, what='both ports')
    names = world.ports()
    assert names[80] != names[81] and hashed(world.namespace, 'twins', name) in names.values()
    world.annotate('twins', external_ports=f'{name}:82')
    lab.until(lambda: set(world.ports()) == {80, 82}, what='the other number')
    assert world.ports()[80] == names[80]


def test_names_for_external_dns_are_collected_on_the_mux(world):
    key = 'external-dns.alpha.kubernetes.io/hostname'
    world.mux()
    world.mux('owned', notes={key: 'mine.example.com'})
    world.start()
    world.channel('a', {'p': 80}, notes={'external-dns-hostname': 'a.example.com, both.example.com'})
    world.channel('b', {'p': 81}, notes={'external-dns-hostname': 'both.example.com,b.example.com'})
    world.channel('c', {'p': 82}, mux='owned', notes={'external-dns-hostname': 'c.example.com'})

    def names(mux):
        return world.get(mux)['metadata']['annotations'].get(key)
    lab.until(lambda: names('mux') == 'a.example.com,both.example.com,b.example.com', what='all names')
    world.told('c', 'MuxExternalDnsAnnotationConflict')
    assert names('owned') == 'mine.example.com'
    world.delete('a')
    world.delete('b')
    lab.until(lambda: names('mux') is None, what='no name')


def test_the_variables_of_the_original(world):
    """Prefix, namespaces, dry run and log level come from the environment; a class without a namespace means the default one."""
    other = world.kube.namespace('other')
    environment = {'API_PREFIX': f' {world.prefix} ', 'NAMESPACE': other, 'DEFAULT_MUX_NAMESPACE': world.namespace,
                   'SVC_LB_MUX_DEBUG': 'yes', 'DRYRUN_MODE': 'off', 'POD_NAME': 'pod-7'}
    ship(world.kube, RBAC, other)
    token = world.kube.token(other, 'maglev-mux')
    config = world.kube.kubeconfig(name=f'kubeconfig-{other}', credentials={'token': token})
    program = world.running(lab.Daemon(world.folders(), 'maglev-mux', f'--kubeconfig={config}', '--debug-web=false',
                                       namespace=world.kube.netns, env=environment)).start()
    program.wait('active')
    started = program.wait('started')
    assert (started['prefix'], started['default_mux_namespace'], started['dry_run']) == (world.prefix, world.namespace, False)
    world.mux()
    world.service('api', {'p': 80}, {}, loadBalancerClass=f'{world.prefix}/mux', selector={'app': 'api'})
    world.settled(api={'p': 80})
    program.wait('mux-pass')  # debug
    assert world.kube.ask('GET', f'/apis/coordination.k8s.io/v1/namespaces/{other}/leases/maglev-mux')[0] == 200
    world.told('mux', 'MuxPortsChanged')
    events = world.kube.do('GET', f'/apis/events.k8s.io/v1/namespaces/{world.namespace}/events')['items']
    assert {(event['reportingController'], event['reportingInstance']) for event in events if event['reason'].startswith('Mux')} == \
        {('maglev.dev/mux', 'pod-7')}  # the controllers of the cluster have events, too


def test_every_right_to_write_is_used(world):
    """What is shipped is not more than is needed; that it is enough, all stories show."""
    world.mux()
    world.start()
    lab.until(lambda: world.exists('mux-port-allocations', 'configmaps'), what='the state, which the channel changes')
    world.channel('a', {'p': 80})
    world.pod('a', '10.1.9.1')
    lab.until(world.backends, what='a backend')
    world.address({'ip': '203.0.113.9'})
    world.pod('a', '10.1.9.2')
    lab.until(lambda: [len(found) for found in world.backends().values()] == [2], what='two backends')
    lab.until(lambda: world.get('a')['status']['loadBalancer'].get('ingress'), what='the status')
    world.annotate('mux', multiplexer=None)
    lab.until(lambda: not world.exists('mux', 'endpoints') and not world.slices(), what='nothing of a mux that is none')
    world.told('mux', 'MuxEndpointsChanged')
    rules = world.kube.do('GET', f'/apis/rbac.authorization.k8s.io/v1/clusterroles/maglev-mux-{world.namespace}')['rules']
    granted = {(resource, verb) for rule in rules for resource in rule['resources'] for verb in rule['verbs']}
    used = {('/'.join(filter(None, (line['objectRef']['resource'], line['objectRef'].get('subresource')))), line['verb'])
            for line in world.all_writes()}
    reads = {(resource, verb) for resource, verb in granted if verb in ('list', 'watch')}
    assert {resource for resource, _ in reads} == {'services', 'endpoints', 'endpointslices', 'configmaps', 'namespaces'}
    assert granted - reads - used == {('events', 'patch')}, used  # a series is written after a minute
    assert {pair for pair in used if pair[0] != 'leases'} <= granted


def test_a_service_that_is_no_mux_says_so(world):
    world.start()
    world.mux('selective', selector={'app': 'x'})
    world.told('selective', 'NotSupported', 'Multiplexer service with selectors are not supported')
    world.kube.do('POST', world.path(''), {'metadata': {'name': 'plain', 'annotations': {world.key('multiplexer'): 'true'}},
                                           'spec': {'ports': [{'name': 'p', 'port': 80}]}})
    world.told('plain', 'NotLoadBalancer', 'Multiplexer service has to be of type LoadBalancer')
    world.service('odd', {'p': 80}, {}, loadBalancerClass=f'{world.prefix}/a.b.c', selector={'app': 'odd'})
    world.told('odd', 'InvalidLoadBalancerClass', "Invalid LoadBalancerClass")
    world.channel('unnamed', {'': 80}, mux='later')
    world.mux('later')
    world.told('unnamed', 'InvalidPortMapping', 'channel Service ports must be named')


def test_a_dry_run_prints_its_plan_and_writes_nothing(world):
    world.mux()
    world.channel('api', {'http': 80})
    role = f'/apis/rbac.authorization.k8s.io/v1/clusterroles/maglev-mux-{world.namespace}'
    world.kube.patch(role, {'rules': [{**rule, 'verbs': ['list', 'watch']} for rule in world.kube.do('GET', role)['rules']]})
    program = world.start(env={'DRYRUN_MODE': 'yes'})
    program.wait('dry-run', mux=f'{world.namespace}/mux')
    for part in ('configmap', '80/tcp'):
        lab.until(lambda: any(part in line['write'].lower() for line in program.all('would-write')), what=f'the plan with {part}')
    world.channel('web', {'http': 81})
    lab.until(lambda: any('81/TCP' in line['write'] for line in program.all('would-write')), what='the new plan')
    assert world.all_writes() == []
    assert world.ports() == {101: 'placeholder'} and world.events('mux') == []


def test_what_is_shipped_is_accepted_by_the_server_and_by_the_program(world):
    for name in ('deployment', 'service', 'example'):
        for text in documents(f'deploy/kubernetes/mux/{name}.yaml'):
            kind = text.split('\nkind: ')[1].split('\n')[0]
            place = '/apis/apps/v1/namespaces/{}/deployments' if kind == 'Deployment' else '/api/v1/namespaces/{}/services'
            space = world.namespace if 'maglev-system' in text.split('spec:')[0] else 'default'
            world.kube.do('POST', place.format(space) + '?dryRun=All&fieldValidation=Strict',
                          text.replace('maglev-system', world.namespace), kind='application/yaml')
            if kind == 'Deployment':
                flags = [line.split('- ')[1] for line in text.split('\n') if line.strip().startswith('- --')]
    world.start(*flags, f'--api-prefix={world.prefix}', '--metrics-addr=127.0.0.1:0')
