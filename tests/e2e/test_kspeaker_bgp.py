# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker on a node of a real cluster: Services as routes at a router, with FRR in the node's namespace, and the rights
that are shipped."""
import os
import shutil

import lab
import pytest
from lab.kspeaker import KubeSite
from lab.metal import ADVERTISEMENTS, COMMUNITIES, PEERS
from lab.reloader import Reloader

EXCLUDE = 'node.kubernetes.io__exclude-from-external-load-balancers'
SHUTDOWN = '(65535,0)'


def announcing(kube, router='', **frr):
    """A site with one node and its router; router: more of its configuration; frr: see Frr."""
    it = KubeSite(kube)
    try:
        it.node(bgp=True, **frr)
        it.start_router(router, node0='bfd on;' if router else '')
        it.pool()
        it.peer()
        it.advertise(communities=['64512:7'])
        it.nodes[0].speak('--drain-time', '2s')
        yield it
    finally:
        it.close()


@pytest.fixture(scope='module')
def site(kube):
    yield from announcing(kube)


def test_a_service_with_an_address_is_a_route_and_a_status(site):
    node = site.nodes[0].name_in_cluster
    site.service('web', 1, site.nodes)
    assert site.bird.wait(site.route(1))['community'] == '(64512,7)'
    status = site.wait_status('servicebgpstatuses', f'web-{node}', peers=['tor'])
    assert status == {'node': node, 'serviceName': 'web', 'serviceNamespace': site.namespace, 'peers': ['tor'], 'bgpPeers': ['tor'],
                      'prefixes': [site.route(1)], 'advertisements': ['all'], 'reason': '', 'message': ''}
    made = site.statuses('servicebgpstatuses')[f'web-{node}']['metadata']
    assert made['labels'] == {'metallb.io/node': node, 'metallb.io/service': 'web', 'metallb.io/service-name': 'web',
                              'metallb.io/service-namespace': site.namespace}
    assert [(one['kind'], one['name']) for one in made['ownerReferences']] == [('Service', 'web')]
    metrics = site.nodes[0].speaker.metrics()
    assert metrics.one('metallb_speaker_announced', service=f'{site.namespace}/web', protocol='bgp', node=node, ip=site.address(1)) == 1

    def events():
        found = site.kube.do('GET', f'/apis/events.k8s.io/v1/namespaces/{site.namespace}/events')['items']
        return [one['note'] for one in found if one['reason'] == 'nodeAssigned' and one['regarding']['name'] == 'web']
    lab.until(lambda: events() == [f'announcing from node "{node}" with protocol "bgp"'], what='the event')
    site.remove('web')
    site.bird.wait(site.route(1), there=False)
    lab.until(lambda: f'web-{node}' not in site.statuses('servicebgpstatuses'), what='the status being gone')


def test_the_last_usable_endpoint_decides(site):
    """Facts of MetalLB: ready, or terminating and still serving."""
    node = f'ends-{site.nodes[0].name_in_cluster}'
    site.service('ends', 2, site.nodes)
    site.bird.wait(site.route(2))
    since = site.nodes[0].speaker.mark()
    site.endpoints('ends', site.nodes, ready=False, serving=True, terminating=True)
    site.service('later', 3, site.nodes)
    site.bird.wait(site.route(3))  # so the change before was looked at, too
    assert not site.nodes[0].speaker.all('service-withdrawn', since)
    site.endpoints('ends', site.nodes, ready=False, serving=False, terminating=True)
    site.bird.wait(site.route(2), there=False)
    site.wait_status('servicebgpstatuses', node, peers=[], reason='noEndpoints')
    site.endpoints('ends', site.nodes)
    site.bird.wait(site.route(2))
    site.wait_status('servicebgpstatuses', node, peers=['tor'], reason='')


def test_local_policy_needs_an_endpoint_here(site):
    speaker, other = site.nodes[0].speaker, site.node()
    site.service('local', 4, [other], externalTrafficPolicy='Local')
    # without its address or its slice, which come by themselves, it is judged in another way at first
    lab.until(lambda: speaker.metrics().one('maglev_speaker_service', service=f'{site.namespace}/local', protocol='bgp',
                                            reason='noLocalEndpoints') == 1, what='the Service being judged')
    assert not site.bird.route(site.route(4))
    site.endpoints('local', site.nodes)
    site.bird.wait(site.route(4))
    site.endpoints('local', [other])
    site.bird.wait(site.route(4), there=False)


def test_classes_of_load_balancers_are_left_to_others(site):
    speaker = site.nodes[0].speaker
    site.service('theirs', 5, site.nodes, loadBalancerClass='example.net/other')
    site.service('ours', 6, site.nodes)
    site.bird.wait(site.route(6))
    assert not site.bird.route(site.route(5))
    assert not speaker.metrics().of('maglev_speaker_service', service=f'{site.namespace}/theirs')


def test_advertisements_add_up(site):
    """Two advertisements of one prefix join their communities; one with an aggregation length is a route of its own."""
    site.metal.make(COMMUNITIES, 'names', communities=[{'name': 'blackhole', 'value': '64512:666'}])
    site.advertise('gold', communities=['blackhole', 'large:64512:1:2'], serviceSelectors=[{'matchLabels': {'tier': 'gold'}}])
    site.service('gold', 7, site.nodes, labels={'tier': 'gold'})
    site.service('plain', 8, site.nodes)
    site.bird.wait(site.route(7))
    lab.until(lambda: (site.bird.route(site.route(7))['community'], site.bird.route(site.route(7)).get('large_community')) == (
        '(64512,7) (64512,666)', '(64512, 1, 2)'), what='both communities, and the large one')
    assert site.bird.wait(site.route(8))['community'] == '(64512,7)'
    site.wait_status('servicebgpstatuses', f'gold-{site.nodes[0].name_in_cluster}', advertisements=['all', 'gold'])
    site.advertise('whole', aggregationLength=24)
    site.bird.wait(site.route(0, 24))
    site.metal.remove(ADVERTISEMENTS, 'whole')
    site.bird.wait(site.route(0, 24), there=False)
    site.metal.remove(ADVERTISEMENTS, 'gold')
    lab.until(lambda: site.bird.route(site.route(7))['community'] == '(64512,7)', what='one community')


def test_an_excluded_node_drains_and_withdraws(site):
    site.service('drain', 9, site.nodes)
    site.bird.wait(site.route(9))
    site.nodes[0].label(**{EXCLUDE: ''})
    lab.until(lambda: SHUTDOWN in (site.bird.route(site.route(9)) or {}).get('community', ''), what='graceful shutdown')
    site.bird.wait(site.route(9), there=False)
    site.wait_status('servicebgpstatuses', f'drain-{site.nodes[0].name_in_cluster}', peers=[], reason='nodeLabeledExcludeBalancers')
    site.nodes[0].label(**{EXCLUDE: None})
    assert SHUTDOWN not in site.bird.wait(site.route(9))['community']


def test_a_node_without_a_network_announces_nothing(site):
    site.service('network', 10, site.nodes)
    site.bird.wait(site.route(10))
    place = f'/api/v1/nodes/{site.nodes[0].name_in_cluster}/status'

    def set_condition(status):
        site.kube.patch(place, {'status': {'conditions': [{'type': 'NetworkUnavailable', 'status': status}]}})
    set_condition('True')
    site.bird.wait(site.route(10), there=False)
    set_condition('False')
    site.bird.wait(site.route(10))


def test_sessions_are_shown_under_both_names(site):
    node, namespace = site.nodes[0].name_in_cluster, site.metal.namespace
    site.wait_status('bgpsessionstatuses', f'{node}-tor', namespace=namespace, bgpStatus='Established', bfdStatus='N/A')
    peer = site.router.address[4]
    state = site.wait_status('bgpsessionstates', f'{node}-{peer}', 'frrk8s.metallb.io/v1beta1', namespace, bgpStatus='Established')
    assert (state['node'], state['peer'], state['vrf']) == (node, peer, '')
    made = site.statuses('bgpsessionstatuses', namespace=namespace)[f'{node}-tor']['metadata']
    assert made['labels'] == {'metallb.io/node': node, 'metallb.io/peer': 'tor'}
    assert [(one['kind'], one['name']) for one in made['ownerReferences']] == [('Node', node)]
    assert site.nodes[0].speaker.metrics().one('metallb_bgp_session_up', peer=f'{peer}:179', vrf='') == 1
    site.metal.make(PEERS, 'second', myASN=64512, peerASN=64513, peerAddress='10.78.0.99')
    site.wait_status('bgpsessionstatuses', f'{node}-second', namespace=namespace)
    site.metal.remove(PEERS, 'second')
    lab.until(lambda: f'{node}-second' not in site.statuses('bgpsessionstatuses', namespace=namespace), what='the session being gone')
    assert f'{node}-tor' in site.statuses('bgpsessionstatuses', namespace=namespace)


def test_a_bad_configuration_is_told_and_the_old_one_stays(site):
    node, namespace = site.nodes[0].name_in_cluster, site.metal.namespace
    site.service('stays', 11, site.nodes)
    site.bird.wait(site.route(11))
    site.wait_status('configurationstates', f'speaker-{node}', namespace=namespace, result='Valid', errorSummary='')
    site.metal.make(PEERS, 'bad', myASN=64999, peerASN=64513, peerAddress='10.78.0.98')
    status = site.wait_status('configurationstates', f'speaker-{node}', namespace=namespace, result='Invalid')
    assert 'myAsn' in status['errorSummary']
    assert [(one['type'], one['status'], one['reason']) for one in status['conditions']] == [
        ('configReconcilerValid', 'False', 'ConfigurationError')]
    assert site.nodes[0].speaker.metrics().one('metallb_k8s_client_config_stale_bool') == 1
    site.service('with-old', 12, site.nodes)
    site.bird.wait(site.route(12))
    assert site.bird.history(site.route(11)).count('removed') == 0
    site.metal.remove(PEERS, 'bad')
    site.wait_status('configurationstates', f'speaker-{node}', namespace=namespace, result='Valid', errorSummary='')


def test_nothing_is_written_when_nothing_changed(site):
    """Also after a restart: the new process finds everything as it should be."""
    speaker = site.nodes[0].speaker
    site.service('quiet', 13, site.nodes)
    site.bird.wait(site.route(13))
    site.wait_status('servicebgpstatuses', f'quiet-{site.nodes[0].name_in_cluster}', peers=['tor'])
    before = site.writes()
    assert speaker.stop() is None
    again = site.nodes[0].speak('--drain-time', '2s')
    site.service('marker', 14, site.nodes)
    site.bird.wait(site.route(14))
    site.wait_status('servicebgpstatuses', f'marker-{site.nodes[0].name_in_cluster}', peers=['tor'])
    lab.until(lambda: again.metrics().one('metallb_bgp_session_up', peer=f'{site.router.address[4]}:179', vrf='') == 1, what='the session')
    name = f'marker-{site.nodes[0].name_in_cluster}'
    new = [one for one in site.writes()[len(before):] if one[1] != 'events' and one[2] != name and one[0] != 'create']
    assert new == []
    assert site.bird.history(site.route(13)).count('removed') == 0


def test_the_shipped_daemonset_is_accepted_and_its_rights_are_enough(site):
    """FRR has the files that it needs at its start; its user, with the one right of the pod, talks to its sockets."""
    site.metal.apply('speaker/daemonset.yaml')
    got = site.kube.do('GET', f'/apis/apps/v1/namespaces/{site.metal.namespace}/daemonsets/maglev-speaker')
    pod = got['spec']['template']['spec']
    speaker, reloader, frr = pod['containers']
    assert [one['name'] for one in (speaker, reloader, frr)] == ['speaker', 'reloader', 'frr']
    files = next(one['configMap']['name'] for one in pod['volumes'] if 'configMap' in one)
    data = site.kube.do('GET', f'/api/v1/namespaces/{site.metal.namespace}/configmaps/{files}')['data']
    assert {'bgpd=yes', 'bfdd=yes'} <= set(data['daemons'].splitlines()) and set(data) == {'daemons', 'frr.conf', 'vtysh.conf'}
    assert speaker['securityContext']['capabilities'] == {'drop': ['ALL'], 'add': ['NET_RAW']}
    assert reloader['securityContext']['capabilities'] == {'drop': ['ALL']}
    node = site.nodes[0]
    node.speaker.stop()
    node.reloader.stop()
    folder, (user, group) = node.reloader.folder, node.frr.system.owner()
    for path in (folder, *(os.path.join(folder, name) for name in os.listdir(folder))):
        os.chown(path, user, group)
    confined = ('setpriv', f'--reuid={user}', f'--regid={group}', '--init-groups', '--no-new-privs')
    node.reloader = site.add(Reloader(folder, node.frr, prefix=(*confined, '--bounding-set=-all', '--inh-caps=-all'))).start()
    site.kubeconfig = shutil.copy(site.kubeconfig, folder)  # others may not read that of the cluster
    os.chown(site.kubeconfig, user, group)
    again = node.speak('--drain-time', '2s', prefix=(*confined, '--bounding-set=-all,+net_raw', '--inh-caps=-all,+net_raw', '--ambient-caps=+net_raw'))
    lab.until(lambda: again.metrics().one('metallb_bgp_session_up', peer=f'{site.router.address[4]}:179', vrf='') == 1, what='the session')
    assert again.metrics().one('maglev_speaker_l2_interfaces') >= 1 and not again.all('l2-interface-failed')


def test_a_session_says_why_it_is_not_known(site):
    """bgpd does not answer: that is not the fault of the peer."""
    node, namespace = site.nodes[0].name_in_cluster, site.metal.namespace
    site.nodes[0].frr.kill('bgpd')
    status = site.wait_status('bgpsessionstatuses', f'{node}-tor', namespace=namespace, bgpStatus='Unknown')
    assert 'bgpd' in status['message']
    site.nodes[0].frr.start_daemon('bgpd')
    site.wait_status('bgpsessionstatuses', f'{node}-tor', namespace=namespace, bgpStatus='Established', message='')
