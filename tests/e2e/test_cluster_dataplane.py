# SPDX-License-Identifier: Apache-2.0
"""Services of a real cluster on the XDP data plane: two announcing nodes behind a router with ECMP, pods on other nodes.

The programs have the rights that are shipped."""
import contextlib
import signal

import pytest
from lab import until
from lab.fabric import VIPS4
from lab.flows import Talks, ask, traffic
from lab.kplane import Plane, Pod
from lab.metal import L2

VIP, OTHER = VIPS4
CANDIDATES = 60  # requests that show which servers have a weight: one with a quarter of the weight is met but for 1 in 10^7


@pytest.fixture(scope='module')
def plane(kube, can_forward):
    it = Plane(kube)
    try:
        yield it.start()
    finally:
        it.close()


def everywhere(plane, state='ready'):
    return {server: state for server in plane.fabric.servers}


def answering(plane, vip):
    """The servers that answer new connections."""
    return {ask(plane.fabric.client, vip) for _ in range(CANDIDATES)}


def is_left_out(plane, server):
    """While a server is taken out, a request may end with it."""
    try:
        return server.label not in answering(plane, VIP)
    except ConnectionError:
        return False


def in_force(plane, node):
    """{backend: weight} of the Service there."""
    found = node.maglevd.metrics().of('maglev_frontend_pool_backend_effective_weight', frontend=plane.frontend('web', VIP))
    return {labels['backend']: weight for labels, weight in found}


def has_all(plane, node):
    """Whether all servers are up there: a Service is announced as soon as one of them is."""
    weights = in_force(plane, node)
    return len(weights) == len(plane.fabric.servers) and all(weight > 0 for weight in weights.values())


def survivors(plane, vip):
    """The same while open connections may be reset; those are left out."""
    found = set()
    for _ in range(CANDIDATES):
        with contextlib.suppress(ConnectionError):
            found.add(ask(plane.fabric.client, vip))
    return found


@pytest.fixture
def web(plane):
    """A Service with a pod on each of the servers, announced by both nodes."""
    plane.service('web', VIP, everywhere(plane))
    plane.wait_next_hops(VIP, *plane.fabric.balancers)
    for node in plane.nodes:
        until(lambda: has_all(plane, node), what='all servers being up')
    until(lambda: answering(plane, VIP) == {server.label for server in plane.fabric.servers}, what='all servers answering')
    yield plane
    plane.remove('web')
    plane.wait_next_hops(VIP)
    for node in plane.nodes:
        until(lambda: not plane.weights(node, 'web', VIP), what='the frontend being gone')


def test_a_service_that_asks_is_served_by_xdp(web, desk):
    """Its nodes become servers, and both announcing nodes have the same weights and the address of the node as GRE source."""
    assert answering(web, VIP) == {server.label for server in web.fabric.servers}
    expected = {server.name_in_cluster: 1 for server in web.fabric.servers}
    for node in web.nodes:
        assert web.weights(node, 'web', VIP) == expected
        assert node.maglevd.metrics().one('maglev_kube_synced') == 1
    status = web.site.wait_status('servicebgpstatuses', f'web-{web.fabric.balancers[0].name_in_cluster}', reason='')
    assert status['prefixes'] == [f'{VIP}/32']
    said = desk(web.fabric.balancers[0]).run('cluster-dataplane.md#see-that-it-works')
    assert web.frontend('web', VIP) in said and web.fabric.servers[0].address in said


def test_endpoints_leave_and_return(web):
    one, two, *others = web.fabric.servers
    web.endpoints('web', {**everywhere(web), one: 'unready'})
    rest = {server.name_in_cluster: 1 for server in (two, *others)}
    for node in web.nodes:
        until(lambda: web.weights(node, 'web', VIP) == rest, what='the node without a ready endpoint being gone')
    until(lambda: is_left_out(web, one), what='the node being left out')
    assert answering(web, VIP) == {server.label for server in (two, *others)}
    web.endpoints('web', everywhere(web))
    until(lambda: one.label in answering(web, VIP), what='the node being back')


def test_a_node_whose_pods_end_keeps_its_connections(web):
    """Terminating and still serving: open connections go on, new ones go elsewhere. kube-proxy has no ready endpoint then."""
    with contextlib.closing(Talks(web.fabric.client, VIP, n=40)) as talks:
        one, health = web.fabric.servers[0], web.health['web'][web.fabric.servers[0]]
        web.endpoints('web', {**everywhere(web), one: 'leaving'})
        for node in web.nodes:
            until(lambda: web.weights(node, 'web', VIP).get(one.name_in_cluster) == 0, what='weight 0')
            node.maglevd.wait_metric('maglev_frontend_pool_backend_effective_weight', 0, frontend=web.frontend('web', VIP),
                                     backend=web.backend('web', one))
        until(lambda: one.label not in answering(web, VIP), what='new connections to others')
        health.has_endpoints = False
        enough = health.asked + 4 * len(web.nodes)  # three failures would take it down
        until(lambda: health.asked >= enough, what='more probes')
        talks.wait_round()
        assert not talks.lost
        assert {node.maglevd.state(web.backend('web', one)) for node in web.nodes} == {'up'}


def test_a_node_that_says_it_has_no_endpoints_leaves(web):
    """kube-proxy's answer counts before the endpoints change."""
    one = web.fabric.servers[0]
    web.health['web'][one].has_endpoints = False
    for node in web.nodes:
        node.maglevd.wait_state(web.backend('web', one), 'down')
    until(lambda: is_left_out(web, one), what='the node being left out')


def test_connections_survive_the_death_of_an_announcing_node(web):
    """All connections go on over the other node, each with the server that it had."""
    one, other = web.fabric.balancers
    before = sent(web)
    with contextlib.closing(Talks(web.fabric.client, VIP, n=100)) as talks, traffic(web.fabric.client, VIP) as new:
        talks.wait_round()
        assert all(after > old for old, after in zip(before, sent(web))), 'both nodes carry connections'
        web.nodes[0].power_off()
        web.wait_next_hops(VIP, other)
        talks.wait_round()
        assert not talks.lost, 'another server would have reset the connection'
        new.wait_more(20)
        web.nodes[0].power_on()
        web.wait_next_hops(VIP, one, other)
        talks.wait_round()
        assert not talks.lost
        print(f'open connections waited {talks.longest():.2f} s, new ones {new.longest():.2f} s')


def sent(plane):
    """Packets that the router has sent to each announcing node."""
    return [int(plane.fabric.router.run('cat', '/proc/self/net/dev').split(f'{one.port}:')[1].split()[9])
            for one in plane.fabric.balancers]


def test_restarts_cost_nothing(web):
    """maglevd and the speaker end with SIGKILL and start again: no route changes, no connection is lost."""
    node, (one, _) = web.nodes[0], web.fabric.balancers
    before = web.router.withdrawals(one)
    with contextlib.closing(Talks(web.fabric.client, VIP, n=40)) as talks:
        for program in (node.maglevd, node.speaker):
            since = node.speaker.mark()
            program.kill()
            talks.wait_round()
            program.start()
            node.speaker.wait('maglevd-connected', 0 if program is node.speaker else since)
            node.speaker.wait_ready()
            talks.wait_round()
        assert not talks.lost
    assert web.router.withdrawals(one) == before


def test_the_pods_of_an_announcing_node_itself(plane):
    """The program hands packets for its own node to the kernel as they came. The other node does not announce: this kernel has
    no GRE device, and XDP on eth0 is taken. Without the annotation only the pods of the announcing node get connections."""
    here, other = plane.fabric.balancers
    here.ip(f'addr add {OTHER}/32 dev lo')
    plane.exclude(other)
    try:
        with contextlib.closing(Pod(here, 'here')):
            plane.service('mixed', OTHER, {here: 'ready', plane.fabric.servers[0]: 'ready'})
            plane.wait_next_hops(OTHER, here)
            until(lambda: answering(plane, OTHER) == {'here', plane.fabric.servers[0].label}, what='both pods answering')
            plane.annotate('mixed', None)
            until(lambda: plane.fabric.servers[0].label not in survivors(plane, OTHER), what='kube-proxy serving the Service')
            assert answering(plane, OTHER) == {'here'}
            assert plane.router.next_hops(OTHER) == {here.port}
            plane.remove('mixed')
            plane.wait_next_hops(OTHER)
    finally:
        plane.exclude(other, False)
        here.ip(f'addr del {OTHER}/32 dev lo')


def test_what_cannot_be_served_is_told(plane):
    """The policy Cluster: maglevd warns, and the status of the Service says why no node announces it."""
    plane.service('wrong', OTHER, everywhere(plane), externalTrafficPolicy='Cluster')
    key = f'Service {plane.site.namespace}/wrong'
    for node in plane.nodes:
        until(lambda: [line for line in node.maglevd.all('config-warning') if key in str(line)], what='the warning')
    plane.site.wait_status('servicebgpstatuses', f'wrong-{plane.fabric.balancers[0].name_in_cluster}', reason='dataPlaneNotReady')
    assert plane.router.next_hops(OTHER) == set()
    plane.site.advertise_l2('lan')
    plane.site.wait_status('servicel2statuses', 'wrong', reason='dataPlaneNotReady')
    plane.site.metal.remove(L2, 'lan')
    plane.remove('wrong')


def test_the_shipped_manifests_are_accepted(plane):
    plane.site.metal.apply('maglevd')


def test_nothing_is_written_by_maglevd(plane):
    plane.site.kube.writes_settled()
    assert not plane.site.kube.audit(f'system:serviceaccount:{plane.site.metal.namespace}:maglevd')


def test_the_end_of_the_api_server_changes_nothing(web, kube):
    """Probes still take a node out. A maglevd that starts meanwhile waits, and the kernel forwards as it was told."""
    node, one = web.nodes[0], web.fabric.servers[0]
    before = [web.router.withdrawals(balancer) for balancer in web.fabric.balancers]
    kube.apiserver.signal(signal.SIGKILL)
    kube.apiserver.end()
    web.health['web'][one].has_endpoints = False
    for each in web.nodes:  # each asks by itself
        until(lambda: in_force(web, each).get(web.backend('web', one)) == 0, what='the node being left out')
    until(lambda: is_left_out(web, one), what='the node being left out by both kernels')
    with contextlib.closing(Talks(web.fabric.client, VIP, n=40)) as talks:
        node.maglevd.kill()
        again = node.maglevd.mark()
        node.maglevd.start(ready=False)
        node.maglevd.wait('kube-failed', again)
        talks.wait_round()
        assert one.label not in answering(web, VIP)
        assert not node.maglevd.all('config-loaded', again)
        kube.start_apiserver()
        node.maglevd.port = node.maglevd.port_of('metrics')
        talks.wait_round()
        assert not talks.lost
    assert [web.router.withdrawals(balancer) for balancer in web.fabric.balancers] == before
