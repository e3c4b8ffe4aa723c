# SPDX-License-Identifier: Apache-2.0
"""The frame of controllers (lib/operator) with a real API server: who acts, when, and how it ends."""
import lab

MAPS = '/api/v1/namespaces/{}/configmaps'
LEASE = '/apis/coordination.k8s.io/v1/namespaces/{}/leases/l'


def put(kube, namespace, name, value):
    kube.create(MAPS.format(namespace), name, data={'value': value})


def echo(kube, namespace, name):
    return kube.do('GET', f'{MAPS.format(namespace)}/{name}')['metadata'].get('annotations', {}).get('maglev.example/echo')


def echoed(kube, namespace, name, value):
    lab.until(lambda: echo(kube, namespace, name) == value, what=f'{name} being {value}')


def operate(kube, kube_tool, namespace, *more):
    """As a user of its own, whose writes can be counted."""
    user = f'operator-{namespace}'
    if kube.ask('GET', f'/apis/rbac.authorization.k8s.io/v1/clusterroles/{user}')[0] == 404:
        kube.bind(user, user, [{'apiGroups': ['*'], 'resources': ['*'], 'verbs': ['*']}])
    return kube_tool('operate', namespace, *more, kubeconfig=kube.kubeconfig(user))


def writes(kube, namespace):
    kube.writes_settled()
    return [line for line in kube.audit(f'operator-{namespace}') if line['objectRef']['resource'] == 'configmaps']


def test_every_object_gets_one_write_and_then_none(kube, kube_tool):
    namespace = kube.namespace()
    for number in range(20):
        put(kube, namespace, f'm{number}', 'a')
    tool = operate(kube, kube_tool, namespace, '--parallel=4')
    tool.wait(active='yes')
    for number in range(20):
        echoed(kube, namespace, f'm{number}', 'a')
    kube.patch(f'{MAPS.format(namespace)}/m0', {'data': {'value': 'b'}})
    echoed(kube, namespace, 'm0', 'b')
    assert len(writes(kube, namespace)) == 21
    events = kube.do('GET', f'/apis/events.k8s.io/v1/namespaces/{namespace}/events')['items']
    assert {event['reason'] for event in events} == {'Echo'}
    tool.say('stats')
    page = tool.wait(metrics=True)['metrics']
    assert 'tool_kube_objects{kind="configmaps"} 21\n' in page  # one is kube-root-ca.crt
    assert 'tool_leader 1\n' in page and 'tool_kube_synced 1\n' in page
    assert int(page.split('tool_kube_requests_total{code="ok"} ')[1].split('\n')[0]) >= 21


def test_a_dry_run_takes_turns_and_writes_nothing(kube, kube_tool):
    namespace = kube.namespace()
    put(kube, namespace, 'm', 'a')
    tool = operate(kube, kube_tool, namespace, '--dry-run', '--lease=l')
    tool.wait(active='yes')
    tool.wait(turn='m')
    tool.wait(wrote='not-allowed')
    kube.writes_settled()
    assert kube.audit(f'operator-{namespace}') == []
    assert kube.ask('GET', LEASE.format(namespace))[0] == 404


def test_only_the_one_that_leads_takes_turns(kube, kube_tool):
    namespace = kube.namespace()
    put(kube, namespace, 'm', 'a')
    first = operate(kube, kube_tool, namespace, '--lease=l')
    first.wait(active='yes')
    echoed(kube, namespace, 'm', 'a')
    second = operate(kube, kube_tool, namespace, '--lease=l')
    lab.until(lambda: second.seen(synced='yes') and second.seen(holder=True), what='caches, and the other one as holder')
    kube.patch(f'{MAPS.format(namespace)}/m', {'data': {'value': 'b'}})
    echoed(kube, namespace, 'm', 'b')
    assert not second.seen(turn=True) and not second.seen(active=True)
    first.kill()
    kube.patch(f'{MAPS.format(namespace)}/m', {'data': {'value': 'c'}})
    second.wait(active='yes')
    echoed(kube, namespace, 'm', 'c')


def test_a_drain_gives_the_lease_back_and_the_next_one_acts_at_once(kube, kube_tool):
    namespace = kube.namespace()
    first = operate(kube, kube_tool, namespace, '--lease=l', '--duration=60000')
    first.wait(active='yes')
    second = operate(kube, kube_tool, namespace, '--lease=l', '--duration=30000')
    second.wait(holder=True)
    first.say('drain')
    gone = first.wait(drained='yes')['ms']
    assert second.wait(active='yes')['ms'] - gone < 30_000  # not the minute of the lease
    first.wait(ended=True)


def test_no_turn_before_the_lists_are_complete(kube, kube_tool):
    """Without the right to list there is trouble and no turn; with it the turns begin."""
    namespace = kube.namespace()
    user = f'operator-{namespace}'
    put(kube, namespace, 'm', 'a')
    kube.bind(user, user, [{'apiGroups': ['coordination.k8s.io'], 'resources': ['leases'], 'verbs': ['*']}])
    tool = operate(kube, kube_tool, namespace, '--lease=l')
    lab.until(lambda: tool.seen(trouble='forbidden', what='configmaps') and tool.seen(holder=True), what='trouble, and itself as holder')
    assert not tool.seen(active=True)
    kube.bind(user, f'{user}-more', [{'apiGroups': [''], 'resources': ['configmaps'], 'verbs': ['list', 'watch', 'patch']}])
    tool.wait(active='yes')
    echoed(kube, namespace, 'm', 'a')
