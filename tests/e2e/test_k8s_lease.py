# SPDX-License-Identifier: Apache-2.0
"""Leader election of lib/k8s with several processes and a real API server: at no time do two of them write."""
import signal
import threading

import lab
from lab.kube_gate import Door, Gate

TIMES = ('--duration=3000', '--renew=2000', '--retry=300')


def lease(kube, namespace):
    return kube.do('GET', f'/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/l')['spec']


def stand(kube, kube_tool, namespace, identity, *more):
    return kube_tool('lead', namespace, 'l', identity, *more, *TIMES)  # the first of two equal flags counts


def test_one_of_two_leads_and_the_other_takes_over(kube, kube_tool):
    namespace = kube.namespace()
    first = stand(kube, kube_tool, namespace, 'first')
    first.wait(leads='yes')
    second = stand(kube, kube_tool, namespace, 'second')
    second.wait(holder='first')
    renewed = lease(kube, namespace)['renewTime']
    lab.until(lambda: lease(kube, namespace)['renewTime'] != renewed, what='a renewal')
    assert not second.seen(leads=True)
    first.kill()
    second.wait(leads='yes')
    spec = lease(kube, namespace)
    assert (spec['holderIdentity'], spec['leaseTransitions'], spec['leaseDurationSeconds']) == ('second', 1, 3)


def test_a_lease_that_is_given_back_is_taken_at_once(kube, kube_tool):
    namespace = kube.namespace()
    long = ('--duration=120000', '--renew=80000')
    first = stand(kube, kube_tool, namespace, 'first', *long)
    first.wait(leads='yes')
    second = stand(kube, kube_tool, namespace, 'second', *long)
    second.wait(holder='first')
    first.say('release')
    gone = first.wait(released='yes')['ms']
    assert second.wait(leads='yes')['ms'] - gone < 60000  # not the 120 s of the lease


def test_a_lease_is_given_back_though_its_renewal_was_on_its_way(kube, kube_tool):
    """The renewal arrives, its answer does not: the version that the process knows is an old one when it gives the lease back."""
    namespace, renewed, told = kube.namespace(), threading.Event(), threading.Event()
    rules = [{'apiGroups': ['coordination.k8s.io'], 'resources': ['leases'], 'verbs': ['get', 'create', 'patch']}]
    kube.bind(f'{namespace}:default', f'leader-{namespace}', rules, namespace)

    def hold(method, path):
        if method == 'PATCH' and not renewed.is_set():
            renewed.set()
            told.wait(lab.PATIENCE)

    def conflicts():
        return [line for line in kube.audit(f'system:serviceaccount:{namespace}:default') if line['responseStatus']['code'] == 409]
    gate = Gate(kube, after=hold, passed=())
    try:
        config = kube.kubeconfig(name=f'kubeconfig-{namespace}', credentials={'token': kube.token(namespace)}, server=gate.url)
        first = kube_tool('lead', namespace, 'l', 'first', '--duration=120000', '--renew=80000', '--retry=300', kubeconfig=config)
        first.wait(leads='yes')
        assert renewed.wait(lab.PATIENCE)
        first.say('release')
        lab.until(conflicts, what='the lease being given back with an old version')
        told.set()
        first.wait(released='yes')
        assert lease(kube, namespace)['holderIdentity'] == ''
    finally:
        gate.close()


def writers(kube, namespace):
    """Who wrote the ConfigMap, in order, as the API server recorded it."""
    return [line['userAgent'] for line in kube.audit('admin')
            if line['verb'] == 'patch' and line['objectRef'].get('namespace') == namespace and line['objectRef']['resource'] == 'configmaps'
            and line['responseStatus']['code'] == 200]


def test_a_leader_that_was_stopped_longer_than_its_lease_does_not_write(kube, kube_tool):
    namespace = kube.namespace()
    kube.create(f'/api/v1/namespaces/{namespace}/configmaps', 'l')
    first = stand(kube, kube_tool, namespace, 'first', '--write=500')  # it does not wait for answers: rarely, so that one is on its way
    first.wait(wrote='ok')
    second = stand(kube, kube_tool, namespace, 'second', '--write=50')
    second.wait(wrote='not-allowed')
    first.signal(signal.SIGSTOP)
    second.wait(leads='yes')
    second.wait(wrote='ok')
    marked = len(first.lines)
    first.signal(signal.SIGCONT)
    first.wait(leads='no')
    first.wait(wrote='not-allowed')
    # what was on its way when it was stopped may still be answered, but nothing is sent after it
    first.wait(holder='second')
    after = [line for line in first.lines[marked:] if line.get('wrote') == 'ok']
    assert len(after) <= 1, after
    value = kube.do('GET', f'/api/v1/namespaces/{namespace}/configmaps/l')['data']['value']
    assert value.startswith('second '), value
    for _ in range(20):
        second.wait(wrote='ok')
    assert kube.do('GET', f'/api/v1/namespaces/{namespace}/configmaps/l')['data']['value'].startswith('second ')


def test_a_write_whose_handshake_takes_longer_than_the_lease_is_not_sent(kube, kube_tool):
    namespace, door = kube.namespace(), Door(kube)
    path = f'/api/v1/namespaces/{namespace}/configmaps'
    kube.create(path, 'l')
    times = ('--duration=2000', '--renew=1400', '--retry=300')
    try:
        config = kube.kubeconfig(name=f'kubeconfig-{namespace}', server=door.url)
        first = kube_tool('lead', namespace, 'l', 'first', '--write=200', *times, kubeconfig=config)
        first.wait(wrote='ok')
        second = kube_tool('lead', namespace, 'l', 'second', *times)
        second.wait(holder='first')
        door.shut()
        second.wait(leads='yes')  # meanwhile the writes of the first wait for their connections
        value, marked = kube.do('GET', f'{path}/l')['data']['value'], len(first.lines)
        door.open()
        lab.until(lambda: any(line.get('under-way') == 0 for line in first.lines[marked:]), what='the end of all writes')
        written = [line['wrote'] for line in first.lines[marked:] if 'wrote' in line]
        assert 'not-allowed' in written and 'ok' not in written, written
        assert kube.do('GET', f'{path}/l')['data']['value'] == value
    finally:
        door.close()


def test_a_leader_without_a_server_stops_to_lead_before_its_lease_ends(kube, kube_tool):
    namespace = kube.namespace()
    first = stand(kube, kube_tool, namespace, 'first', '--write=50')
    leads = first.wait(leads='yes')
    lab.until(lambda: len(first.seen(wrote=True)) > 5, what='writes')
    kube.apiserver.signal(signal.SIGSTOP)
    try:
        stopped = leads['ms']
        lost = first.wait(leads='no')
    finally:
        kube.apiserver.signal(signal.SIGCONT)
    assert lost['ms'] > stopped
    first.wait(leads='yes')  # nobody else stands


def test_the_lease_survives_a_restart_of_the_server(kube, kube_tool):
    namespace = kube.namespace()
    first = stand(kube, kube_tool, namespace, 'first')
    first.wait(leads='yes')
    kube.restart_apiserver()
    first.say('ask')
    first.wait(held=True)
    lab.until(lambda: first.lines[-1].get('held') == 'yes' or first.say('ask'), what='the lease being held')
    assert lease(kube, namespace)['holderIdentity'] == 'first'
