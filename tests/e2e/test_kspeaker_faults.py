# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker in a cluster whose parts are killed one after the other: the routes stay, and what changed meanwhile arrives."""
import base64
import json

import lab
import pytest
from lab.gobgp import GoBgp
from lab.kspeaker import ASN, ROUTER_ASN, KubeSite, Node
from lab.metal import BFD, PEERS
from lab.reloader import Reloader
from lab.wait import PATIENCE


@pytest.fixture(scope='module')
def cluster(kube):
    """One node whose router keeps routes while bgpd restarts."""
    it = KubeSite(kube)
    try:
        it.node(bgp=True)
        it.start_router(node0='graceful restart on; long lived graceful restart off;')
        it.pool()
        it.peer(enableGracefulRestart=True, holdTime='30s')
        it.advertise()
        it.nodes[0].speak('--lease-duration', '3s')
        it.service('stays', 1, it.nodes)
        it.bird.wait(it.route(1))
        yield it
    finally:
        it.close()


def session_age(node):
    """Seconds since the youngest session of the node came up."""
    peers = json.loads(node.frr.ask('show bgp neighbors json'))
    return min(peer.get('bgpTimerUpMsec', 0) for peer in peers.values()) / 1000


@pytest.fixture
def site(cluster):
    """
    The route was never removed, whatever the story did. With graceful restart bgpd of FRR 8.4 can lose a withdrawal in the
    first two seconds of a session (docs/guide/announce.md), so stories begin after that.
    """
    cluster.bird.wait(cluster.route(1))
    lab.until(lambda: session_age(cluster.nodes[0]) > 3, what='a session of three seconds')
    yield cluster
    assert cluster.bird.history(cluster.route(1)).count('removed') == 0


def test_the_speaker_is_killed(site):
    """A Service that came, and one that went, while it was away are found by the next one."""
    site.service('goes', 2, site.nodes)
    site.bird.wait(site.route(2))
    site.nodes[0].speaker.kill()
    site.remove('goes')
    site.service('comes', 3, site.nodes)
    site.nodes[0].speak('--lease-duration', '3s')
    site.bird.wait(site.route(2), there=False)
    site.bird.wait(site.route(3))
    name = f'goes-{site.nodes[0].name_in_cluster}'
    lab.until(lambda: name not in site.statuses('servicebgpstatuses'), what='the status of the Service that went being gone')


def test_the_reloader_is_killed(site):
    node = site.nodes[0]
    node.reloader.kill()
    since = node.speaker.mark()
    site.service('unheard', 4, site.nodes)
    node.speaker.wait('frr-refused', since)
    again = Reloader(node.reloader.folder, node.frr)
    node.reloader = site.add(again).start()
    site.bird.wait(site.route(4))


def test_bgpd_is_killed(site):
    """With graceful restart the router keeps the routes until it is back, with what was saved."""
    frr = site.nodes[0].frr
    site.service('before', 5, site.nodes)
    site.bird.wait(site.route(5))
    lab.until(lambda: site.route(5) in frr.saved(), what='the saved file')
    since = site.nodes[0].speaker.mark()
    frr.kill('bgpd')
    frr.revive('bgpd')
    site.nodes[0].speaker.wait('bgpd-restarted', since)
    site.service('after', 6, site.nodes)
    site.bird.wait(site.route(6))
    site.bird.wait(site.route(5))


def test_the_api_server_is_killed(site):
    speaker, since = site.nodes[0].speaker, site.nodes[0].speaker.mark()
    site.kube.apiserver.kill()
    speaker.wait('lease-not-renewed', since)
    assert speaker.get('/readyz')[0] == 200
    site.kube.start_apiserver()
    site.service('server', 7, site.nodes)
    site.bird.wait(site.route(7))


def test_the_storage_is_killed(site):
    speaker, since = site.nodes[0].speaker, site.nodes[0].speaker.mark()
    site.kube.etcd.kill()
    speaker.wait('lease-not-renewed', since, timeout=2 * PATIENCE)
    site.kube.start_etcd()
    site.kube.wait_ready()
    site.service('storage', 8, site.nodes)
    site.bird.wait(site.route(8))


def test_a_pool_that_is_in_use_cannot_vanish(site):
    """The old configuration stays until the Service has another address, or none."""
    node, namespace = site.nodes[0].name_in_cluster, site.metal.namespace
    site.metal.pool('brief', '203.0.113.0/28')
    site.service('brief', None, site.nodes)
    site.assign('brief', '203.0.113.1')
    site.bird.wait('203.0.113.1/32')
    site.metal.remove('v1beta1/ipaddresspools', 'brief')
    status = site.wait_status('configurationstates', f'speaker-{node}', namespace=namespace, result='Invalid')
    assert status['errorSummary'] == f'service {site.namespace}/brief has no configuration under new config'
    site.bird.wait('203.0.113.1/32')
    site.remove('brief')
    site.bird.wait('203.0.113.1/32', there=False)
    site.wait_status('configurationstates', f'speaker-{node}', namespace=namespace, result='Valid')


def test_statuses_that_people_change_are_mended(site):
    name = f'stays-{site.nodes[0].name_in_cluster}'
    place = f'/apis/metallb.io/v1beta1/namespaces/{site.namespace}/servicebgpstatuses/{name}'
    site.kube.patch(place + '/status', {'status': {'peers': ['nobody']}})
    site.wait_status('servicebgpstatuses', name, peers=['tor'])
    uid = site.statuses('servicebgpstatuses')[name]['metadata']['uid']
    site.kube.do('DELETE', place)
    lab.until(lambda: site.statuses('servicebgpstatuses').get(name, {}).get('metadata', {}).get('uid', uid) != uid, what='a new one')
    site.wait_status('servicebgpstatuses', name, peers=['tor'])


def test_a_second_node_with_a_secret_bfd_and_another_router(site):
    """gobgpd as the peer; the password is in a Secret, which comes after the peer. What the node has written goes with it."""
    node = Node(site, 31, {'rack': 'b'})
    site.nodes.append(node)
    node.start_frr()
    other = site.switch_host(41)
    secret = {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'tcp-md5'}, 'type': 'kubernetes.io/basic-auth',
              'data': {'username': '', 'password': base64.b64encode(b'hidden').decode()}}
    site.metal.make(BFD, 'fast', receiveInterval=100, transmitInterval=100)
    site.metal.make(PEERS, 'gobgp', myASN=ASN, peerASN=ROUTER_ASN, peerAddress=other.address[4], connectTime='1s', bfdProfile='fast',
                    passwordSecret={'name': 'tcp-md5'}, nodeSelectors=[{'matchLabels': {'rack': 'b'}}])
    speaker = node.speak('--lease-duration', '3s', ready=False)
    namespace = site.metal.namespace
    status = site.wait_status('configurationstates', f'speaker-{node.name_in_cluster}', namespace=namespace, result='Invalid')
    assert 'secret' in status['errorSummary']
    assert site.status('configurationstates', f'speaker-{site.nodes[0].name_in_cluster}', namespace=namespace)['result'] == 'Valid'
    site.kube.do('POST', f'/api/v1/namespaces/{namespace}/secrets', secret)
    site.wait_status('configurationstates', f'speaker-{node.name_in_cluster}', namespace=namespace, result='Valid')
    speaker.wait_ready()
    lab.until(lambda: 'neighbor 10.78.0.41 password hidden' in ' '.join(' '.join(line) for line in node.frr.running()), what='the password')
    site.wait_status('bgpsessionstatuses', f'{node.name_in_cluster}-gobgp', namespace=namespace, bfdStatus='Down')
    site.metal.change(PEERS, 'gobgp', passwordSecret=None)
    peer = site.add(GoBgp(site.folder(), other, asn=ROUTER_ASN, address=other.address[4], neighbor=node.address[4], peer_asn=ASN)).start()
    lab.until(lambda: site.route(1) in peer.routes(), what='the route at gobgpd')
    site.wait_status('bgpsessionstatuses', f'{node.name_in_cluster}-gobgp', namespace=namespace, bgpStatus='Established')
    name = f'stays-{node.name_in_cluster}'
    site.wait_status('servicebgpstatuses', name, peers=['gobgp', 'tor'])
    # the node dies: the other speaker removes what it has left
    speaker.kill()
    lab.until(lambda: name not in site.statuses('servicebgpstatuses') and
              f'{node.name_in_cluster}-gobgp' not in site.statuses('bgpsessionstatuses', namespace=namespace) and
              f'speaker-{node.name_in_cluster}' not in site.statuses('configurationstates', namespace=namespace), 3 * PATIENCE, 'a clean cluster')
    leases = f'/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases'
    lab.until(lambda: f'maglev-speaker-{node.name_in_cluster}' not in [
        one['metadata']['name'] for one in site.kube.do('GET', leases)['items']], 2 * PATIENCE, 'no Lease of a dead node')
    assert f'stays-{site.nodes[0].name_in_cluster}' in site.statuses('servicebgpstatuses')
