# SPDX-License-Identifier: Apache-2.0
"""maglev-mux when things break: killed between any two writes, two replicas, a server that restarts, state that is lost, broken
or another's, leftovers of svc-lb-mux, rights that are missing."""
import json

import lab
import pytest
from lab.kube import MERGE
from lab.kube_gate import Gate
from lab.mux import Muxes, hashed

FOREIGN = 'Use one state ConfigMap per mux.'


@pytest.fixture
def world(kube, running, folders):
    return Muxes(kube, running, folders)


@pytest.fixture
def gate(kube):
    made = []

    def start(**how):
        made.append(Gate(kube, **how))
        return made[-1]

    yield start
    for one in made:
        one.close()


def three_channels(world):
    world.mux(notes={'port-range': '20000-20009'})
    world.channel('a', {'p': 80}, 'p:auto')
    world.channel('b', {'p': 80}, 'p:auto')
    world.channel('c', {'p': 443})
    world.pod('a', '10.2.0.1')
    return {'a': {'p': 20000}, 'b': {'p': 20001}, 'c': {'p': 443}}


def exposed_is_claimed(world, before):
    """What must hold at any moment: a port that the mux has belongs to the owner that the state names, or is not taken back yet."""
    new = {number: name for number, name in world.ports().items() if before.get(number) != name and name != 'placeholder'}
    owners = {number: hashed(world.namespace, *key) for key, number in world.claims().items()} if new else {}
    assert all(owners.get(number) == name for number, name in new.items()), (new, owners)


def start_until_a_write(world, gate, made):
    """Starts the program behind a gate of its own: a late answer to a write of a former process must not kill this one."""
    def before(method, path):  # not after: the server may show a write before its answer is here
        made.append((method, path))
        return True

    def after(method, path):
        program.process.kill()

    door = gate(before=before, after=after)
    with door.lock:  # after() is not called before the program is known
        program = world.start('--leader-elect=false', '--resync=1s', kubeconfig=world.kubeconfig(server=door.url), active=False,
                              ready=False)
    return program


def write_by_write(world, gate):
    """Starts the program again and again; each time it is killed after its first write, before it hears of that. Returns the
    writes when a process had nothing left to do."""
    made, ports = [], world.ports()
    for _ in range(60):
        program = start_until_a_write(world, gate, made)
        lab.until(lambda: not program.is_running() or len(program.all('mux-pass')) >= 2, what='a write, or two passes')
        if program.is_running() and not any(one['writes'] for one in program.all('mux-pass')):
            program.stop()
            return made
        program.end()
        exposed_is_claimed(world, ports)
    raise AssertionError(f'no end of writes: {made}')


def test_killed_after_each_write(world, gate):
    wanted = three_channels(world)
    made = write_by_write(world, gate)
    assert world.ports() == world.wanted(**wanted)
    assert len(made) >= 7  # the state, a slice, Endpoints, ports and annotations of the mux, three channels
    world.delete('a')
    world.annotate('b', external_ports='p:8080')
    world.channel('d', {'p': 80}, 'p:auto')
    made = write_by_write(world, gate)
    assert world.ports() == world.wanted(b={'p': 8080}, c={'p': 443}, d={'p': 20000})
    assert world.claims() == {('b', 'p'): 8080, ('c', 'p'): 443, ('d', 'p'): 20000}
    assert [world.notes(name)['ports'] for name in 'bcd'] == ['p:80->8080', 'p:443->443', 'p:80->20000']
    assert world.slices() == [] and len(made) >= 5, made


def test_one_of_two_replicas_leads_and_the_other_takes_over(world):
    world.mux()
    first = world.start()
    second = world.start(active=False)
    second.wait('synced')
    second.wait('leader')
    assert second.get('/readyz')[0] == 200
    world.channel('a', {'p': 80})
    world.settled(a={'p': 80})
    assert second.metrics().one('maglev_mux_passes_total') == 0 and second.metrics().one('maglev_mux_leader') == 0
    first.kill()
    world.channel('b', {'p': 81})
    second.wait('active')
    world.settled(a={'p': 80}, b={'p': 81})
    third = world.start(active=False)
    third.wait('leader')
    second.stop()
    third.wait('active')
    world.channel('c', {'p': 82})
    world.settled(a={'p': 80}, b={'p': 81}, c={'p': 82})


def test_a_deleted_state_comes_back_with_the_ports_that_are_live(world):
    world.mux(notes={'port-range': '20000-20009'})
    world.start()
    world.channel('a', {'p': 80}, 'p:auto')
    world.channel('b', {'p': 80}, 'p:auto')
    world.settled(a={'p': 20000}, b={'p': 20001})
    world.delete('a')
    world.settled(b={'p': 20001})
    world.delete('mux-port-allocations', 'configmaps')
    lab.until(lambda: world.exists('mux-port-allocations', 'configmaps'), what='the state again')
    assert world.claims() == {('b', 'p'): 20001}
    assert world.ports() == world.wanted(b={'p': 20001})


@pytest.mark.parametrize('broken', ['{', '"text"', '[]', '{"portClaims": [{"port": 1}]}'])
def test_broken_state_freezes_the_mux(world, broken):
    world.mux(notes={'port-range': '20000-20009'})
    program = world.start()
    world.channel('a', {'p': 80}, 'p:auto')
    world.pod('a', '10.2.1.1')
    world.settled(a={'p': 20000})
    lab.until(world.backends, what='the backend')
    good = world.get('mux-port-allocations', 'configmaps')['data']
    world.kube.patch(world.path('mux-port-allocations', 'configmaps'), {'data': {'allocations.json': broken}})
    world.told('mux', 'PortAllocationStoreInvalid', 'Invalid mux state ConfigMap JSON')
    world.channel('b', {'p': 80}, 'p:auto')
    world.pod('a', '10.2.1.2')
    lab.until(lambda: [len(found) for found in world.backends().values()] == [2], what='the new backend of a frozen mux')
    assert world.ports() == world.wanted(a={'p': 20000})
    assert world.get('mux-port-allocations', 'configmaps')['data']['allocations.json'] == broken
    assert program.metrics().one('maglev_mux_muxes', condition='frozen') == 1
    world.kube.patch(world.path('mux-port-allocations', 'configmaps'), {'data': good})
    world.settled(a={'p': 20000}, b={'p': 20001})


def test_a_bad_limit_freezes_the_mux(world):
    world.mux(notes={'max-ports': '2'})
    world.start()
    world.channel('a', {'p': 80})
    world.settled(a={'p': 80})
    world.annotate('mux', max_ports='none')
    world.told('mux', 'InvalidMaxPorts', "Invalid {}/max-ports value 'none'; expected integer".format(world.prefix))
    world.channel('b', {'p': 81})
    world.annotate('mux', max_ports='1')
    world.told('b', 'MuxPortLimitExceeded', 'limited to 1 port(s)')
    assert world.ports() == world.wanted(a={'p': 80})


def test_the_state_of_another_mux_is_not_touched(world):
    world.mux()
    world.start()
    world.channel('a', {'p': 80})
    world.settled(a={'p': 80})
    before = world.get('mux-port-allocations', 'configmaps')
    world.mux('second', notes={'allocation-configmap': 'mux-port-allocations'})
    world.channel('b', {'p': 80}, mux='second')
    world.told('second', 'PortAllocationStoreInvalid', FOREIGN)
    after = world.get('mux-port-allocations', 'configmaps')
    assert after['data'] == before['data'] and after['metadata']['resourceVersion'] == before['metadata']['resourceVersion']


def test_leftovers_of_the_original_are_taken_over(world):
    """Finalizers are removed, the list of automatic ports becomes claims, and everybody keeps the port."""
    finalizer = world.key('finalizer')
    world.mux(notes={'port-range': '20000-20009'})
    world.channel('a', {'p': 80}, 'p:auto')
    for name in ('a', 'mux'):
        world.kube.patch(world.path(name), {'metadata': {
            'finalizers': [finalizer, 'example.net/other'], 'annotations': {'kopf.zalando.org/last-handled-configuration': '{}'}}})
    world.kube.create(world.path('', 'configmaps'), 'mux-port-allocations', data={'allocations.json': json.dumps({'allocations': [
        {'namespace': world.namespace, 'service': 'a', 'portName': 'p', 'protocol': 'TCP', 'port': 20007}]})})
    world.start()
    world.settled(a={'p': 20007})
    lab.until(lambda: world.claims() == {('a', 'p'): 20007}, what='claims instead of allocations')
    for name in ('a', 'mux'):
        lab.until(lambda: world.get(name)['metadata']['finalizers'] == ['example.net/other'], what=f'the finalizer of {name}')
        world.kube.patch(world.path(name), {'metadata': {'finalizers': None}})
    meta = world.get('mux-port-allocations', 'configmaps')['metadata']
    assert meta['annotations'][world.key('mux')] == f'{world.namespace}/mux'
    assert meta['labels']['app.kubernetes.io/component'] == 'mux-state'


def test_what_others_change_is_put_right(world):
    world.mux()
    world.start()
    world.channel('a', {'p': 80})
    world.pod('a', '10.2.2.1')
    world.settled(a={'p': 80})
    lab.until(world.backends, what='the backend')
    good = world.backends()
    world.kube.patch(world.path('mux'), {'spec': {'ports': [{'name': 'mine', 'port': 9999}]}})
    world.settled(a={'p': 80})
    for one in world.slices():
        world.delete(one['metadata']['name'], 'endpointslices')
    lab.until(lambda: world.backends() == good, what='the slices again')
    world.delete('mux', 'endpoints')
    lab.until(lambda: world.exists('mux', 'endpoints'), what='the Endpoints again')
    world.annotate('a', ports='nonsense')
    lab.until(lambda: world.notes('a')['ports'] == 'p:80->80', what='the annotation again')


def test_a_mux_that_is_deleted_and_made_again_gives_the_same_ports(world):
    world.mux(notes={'port-range': '20000-20009'})
    program = world.start()
    for name in 'abc':
        world.channel(name, {'p': 80}, 'p:auto')
    world.settled(a={'p': 20000}, b={'p': 20001}, c={'p': 20002})
    world.address({'ip': '203.0.113.1'})
    lab.until(lambda: world.get('b')['status']['loadBalancer'].get('ingress'), what='the address')
    world.delete('mux')
    program.wait('mux-gone')
    world.mux(notes={'port-range': '20000-20009'})
    world.settled(a={'p': 20000}, b={'p': 20001}, c={'p': 20002})


def test_a_right_that_is_missing_is_told(world):
    world.mux()
    name = f'/apis/rbac.authorization.k8s.io/v1/clusterroles/maglev-mux-{world.namespace}'
    rules = world.kube.do('GET', name)['rules']
    world.kube.patch(name, {'rules': [rule for rule in rules if rule['resources'] != ['endpointslices']]})
    program = world.start(active=False)
    program.wait('kube-trouble', what='endpointslices', code='forbidden')
    status, text = program.get('/readyz')
    assert status == 503 and 'not listed yet' in text
    assert program.get('/healthz')[0] == 200
    world.kube.patch(name, {'rules': rules})
    program.wait('active')
    world.channel('a', {'p': 80})
    world.settled(a={'p': 80})


def deny(kube, name, user, service):
    """An admission policy: this user may not change this Service."""
    place = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic'
    kube.create(f'{place}ies', name, spec={
        'failurePolicy': 'Fail',
        'matchConstraints': {'resourceRules': [{'apiGroups': [''], 'apiVersions': ['v1'], 'operations': ['UPDATE'], 'resources': ['services']}]},
        'matchConditions': [{'name': 'who', 'expression': f'request.userInfo.username == "{user}" && request.name == "{service}"'}],
        'validations': [{'expression': 'false', 'message': 'hands off'}]})
    kube.create(f'{place}ybindings', name, spec={'policyName': name, 'validationActions': ['Deny']})


def test_a_service_that_cannot_be_written_does_not_hold_up_the_others(world):
    world.mux()
    for name, port in (('a', 80), ('bad', 81), ('z', 82)):
        world.channel(name, {'p': port})
    deny(world.kube, world.namespace, world.user, 'bad')
    path = world.path('bad') + '?dryRun=All'
    token = world.kube.token(world.namespace, 'maglev-mux')
    lab.until(lambda: world.kube.ask('PATCH', path, {'metadata': {'labels': {'x': 'y'}}}, kind=MERGE, token=token)[0] == 422,
              what='the policy being in force')
    program = world.start()
    world.settled(a={'p': 80}, bad={'p': 81}, z={'p': 82})
    lab.until(lambda: [world.notes(name).get('ports') for name in ('a', 'bad', 'z')] == ['p:80->80', None, 'p:82->82'],
              what='the annotations of the others')
    world.told('mux', 'MuxWriteFailed', 'hands off')
    assert program.metrics().one('maglev_mux_failed_writes_total') >= 1
    world.kube.do('DELETE', f'/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/{world.namespace}')
    lab.until(lambda: world.notes('bad').get('ports') == 'p:81->81', 60, 'the annotation of the one')


def test_two_that_do_not_elect_a_leader_still_agree(world):
    """Nobody should do that; but a rollout of something else may. The state decides, and its version tells who was first."""
    world.mux(notes={'port-range': '20000-20099'})
    programs = [world.start('--leader-elect=false', level='info') for _ in range(2)]
    for number in range(20):
        world.channel(f'c{number}', {'p': 80}, 'p:auto')
    lab.until(lambda: len(world.ports()) == 20 and all(p.metrics().one('maglev_mux_ports', mux='mux') == 20 for p in programs), 60,
              'all ports')
    claims = world.claims()
    assert sorted(claims.values()) == list(range(20000, 20020))
    lab.until(lambda: world.ports() == {number: hashed(world.namespace, *key) for key, number in claims.items()}, what='one truth')
    assert world.claims() == claims


def test_an_end_in_the_middle_of_a_pass_is_orderly(world):
    world.mux(notes={'port-range': '20000-20099'})
    for number in range(40):
        world.channel(f'c{number}', {'p': 80}, 'p:auto')
    program = world.start('--api-rate=4')  # the status and annotations of the channels take many seconds
    lab.until(lambda: len(world.ports()) == 40, 60, 'the ports')
    program.stop()
    assert len(program.all('drained')) == 1
    lease = world.kube.do('GET', f'/apis/coordination.k8s.io/v1/namespaces/{world.namespace}/leases/maglev-mux')
    assert lease['spec']['holderIdentity'] == ''
    assert any('ports' not in world.notes(f'c{number}') for number in range(40))
    world.start()
    lab.until(lambda: all('ports' in world.notes(f'c{number}') for number in range(40)), what='the rest')


def test_the_api_server_restarts(tmp_path, running, folders):
    kube = lab.kube.Kube(tmp_path).start()
    try:
        world = Muxes(kube, running, folders)
        world.mux(notes={'port-range': '20000-20009'})
        program = world.start()
        world.channel('a', {'p': 80}, 'p:auto')
        world.settled(a={'p': 20000})
        kube.restart_apiserver()
        world.channel('b', {'p': 80}, 'p:auto')
        world.settled(a={'p': 20000}, b={'p': 20001}, timeout=60)
        assert program.metrics().one('maglev_mux_kube_failures_total', kind='services') >= 1
        program.stop()
    finally:
        kube.close()
