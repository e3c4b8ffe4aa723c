# SPDX-License-Identifier: Apache-2.0
"""Why is my Service not announced? What `kubectl get servicebgpstatuses,servicel2statuses` answers, for each way to be wrong, on a
real cluster with two nodes and a router."""
import itertools

import lab
import pytest
from lab.kspeaker import KubeSite
from lab.metal import ADVERTISEMENTS, L2, PEERS

BGP, LAYER2 = 'servicebgpstatuses', 'servicel2statuses'
GOLD = [{'matchLabels': {'tier': 'gold'}}]
_last = itertools.count(1)


@pytest.fixture(scope='module')
def cluster(kube):
    it = KubeSite(kube)
    try:
        it.node({'rack': 'a'}, bgp=True)
        it.node({'rack': 'b'})
        it.start_router()
        it.pool()
        it.peer()
        for node in it.nodes:
            node.speak()
        for node in it.nodes:
            for other in it.nodes:
                lab.until(lambda: node.speaker.metrics().one('maglev_speaker_node_alive', node=other.name_in_cluster) == 1,
                          what=f'{other.name_in_cluster} being alive')
        yield it
    finally:
        it.close()


@pytest.fixture
def site(cluster):
    yield cluster
    for kind in (ADVERTISEMENTS, L2):
        for one in cluster.kube.do('GET', cluster.metal.path(kind))['items']:
            cluster.metal.remove(kind, one['metadata']['name'])


def serve(site, name, nodes=None, **how):
    last = next(_last)
    site.service(name, last, site.nodes if nodes is None else nodes, **how)
    return last


def why(site, plural, name):
    """{(reason, message)} of the rows of a Service."""
    return {(row['Reason'], row['Message']) for row in site.columns(plural, name, wide=True)}


def wait_why(site, plural, name, *wanted):
    lab.until(lambda: why(site, plural, name) == set(wanted), what=f'{plural} of {name}: {wanted}, not {why(site, plural, name)}')


def test_a_pool_that_nothing_advertises(site):
    """The usual mistake of a beginner. One node says it, for both protocols."""
    serve(site, 'forgotten')
    text = 'no BGPAdvertisement and no L2Advertisement selects the pool blue'
    for plural in (BGP, LAYER2):
        wait_why(site, plural, 'forgotten', ('noMatchingAdvertisement', text))
    assert len(site.columns(BGP, 'forgotten')) == 1
    row, = site.columns(LAYER2, 'forgotten')
    assert (row['Allocated Node'], row['Reason']) == (None, 'noMatchingAdvertisement')
    made = site.statuses(LAYER2)['forgotten']['metadata']
    assert [(one['kind'], one['name']) for one in made['ownerReferences']] == [('Service', 'forgotten')]
    site.advertise_l2()
    lab.until(lambda: (site.status(LAYER2, 'forgotten') or {}).get('node'), what='an owner')
    row, = site.columns(LAYER2, 'forgotten')
    assert row['Allocated Node'] in [node.name_in_cluster for node in site.nodes] and not row['Reason']
    lab.until(lambda: not site.columns(BGP, 'forgotten'), what='no reason over BGP: it is not meant to be announced so')
    site.remove('forgotten')
    lab.until(lambda: not site.columns(LAYER2, 'forgotten'), what='the status going with the Service')


def test_labels_that_no_advertisement_selects(site):
    site.advertise('gold', serviceSelectors=GOLD)
    site.advertise_l2('gold-lan', serviceSelectors=GOLD)
    last = serve(site, 'iron')
    wait_why(site, BGP, 'iron', ('noMatchingAdvertisement', 'no BGPAdvertisement of the pool blue selects the labels of the Service'))
    wait_why(site, LAYER2, 'iron', ('noMatchingAdvertisement', 'no L2Advertisement of the pool blue selects the labels of the Service'))
    site.kube.patch(f'/api/v1/namespaces/{site.namespace}/services/iron', {'metadata': {'labels': {'tier': 'gold'}}})
    site.bird.wait(site.route(last))
    wait_why(site, BGP, 'iron', ('', ''))
    lab.until(lambda: (site.status(LAYER2, 'iron') or {}).get('node'), what='an owner')


def test_peers_that_do_not_get_it(site):
    """The name of the peer is wrong; the family is not that of the session."""
    site.advertise(peers=['tor-b'])
    last = serve(site, 'unheard')
    wait_why(site, BGP, 'unheard', ('noMatchingPeer', 'no BGPPeer of a node that all selects gets it and carries its family'))
    site.metal.change(ADVERTISEMENTS, 'all', peers=['tor'])
    site.bird.wait(site.route(last))
    site.metal.pool('six', 'fd20::/112')
    site.service('six', None, site.nodes)
    site.assign('six', 'fd20::7')
    wait_why(site, BGP, 'six', ('noMatchingPeer', 'no BGPPeer of a node that all selects gets it and carries its family'))
    site.metal.change(PEERS, 'tor', dualStackAddressFamily=True)
    site.bird.wait('fd20::7/128', table='master6')
    lab.until(lambda: {row['Node']: row['Reason'] for row in site.columns(BGP, 'six')} == {
        node.name_in_cluster: '' for node in site.nodes}, what='both nodes announcing it')
    site.metal.change(PEERS, 'tor', dualStackAddressFamily=False)
    site.remove('six')


def test_endpoints_on_nodes_that_do_not_announce(site):
    node = site.nodes[1].name_in_cluster
    site.advertise(nodeSelectors=[{'matchLabels': {'rack': 'a'}}])
    site.advertise_l2(nodeSelectors=[{'matchLabels': {'rack': 'a'}}])
    serve(site, 'elsewhere', [site.nodes[1]], externalTrafficPolicy='Local')
    text = 'externalTrafficPolicy is Local, and no node that {} selects has a usable endpoint; those with one: ' + node
    wait_why(site, BGP, 'elsewhere', ('noLocalEndpoints', text.format('a BGPAdvertisement')))
    wait_why(site, LAYER2, 'elsewhere', ('noLocalEndpoints', text.format('an L2Advertisement')))
    site.endpoints('elsewhere', [])
    text = 'no endpoint of the Service is ready or serving'
    for plural in (BGP, LAYER2):
        wait_why(site, plural, 'elsewhere', ('noEndpoints', text))


def test_nodes_that_do_not_exist(site):
    site.advertise(nodeSelectors=[{'matchLabels': {'rack': 'c'}}])
    site.advertise_l2(nodeSelectors=[{'matchLabels': {'rack': 'c'}}])
    serve(site, 'nowhere')
    wait_why(site, BGP, 'nowhere', ('notOwner', 'no node with a living speaker is selected by all'))
    wait_why(site, LAYER2, 'nowhere', ('noMatchingAdvertisement', 'no L2Advertisement selects a node with a living speaker'))


def test_addresses_that_no_pool_has(site):
    """Two that are not of one pool are told; one that another program has given, or none yet, is not."""
    site.advertise_l2()
    site.service('pending', None, site.nodes)  # which `kubectl get services` shows
    site.service('foreign', None, site.nodes)
    site.assign('foreign', '10.99.0.1')
    site.service('half', None, site.nodes)
    site.assign('half', site.address(next(_last)), 'fd99::1')
    wait_why(site, LAYER2, 'half', ('ipNotAllowed', 'no IPAddressPool has all of its addresses'))
    for name in ('pending', 'foreign'):
        assert not site.columns(BGP, name) and not site.columns(LAYER2, name)


def test_the_reason_is_taken_over_and_written_once(site):
    """Once by the audit log; after the reporter has left, by the other one."""
    marks = [node.speaker.mark() for node in site.nodes]
    site.advertise('gold', serviceSelectors=GOLD)
    for node, mark in zip(site.nodes, marks):  # or another reason would be written first
        node.speaker.wait('config-loaded', mark, bgp_advertisements=1)
    serve(site, 'reported')
    wait_why(site, BGP, 'reported', ('noMatchingAdvertisement', 'no BGPAdvertisement of the pool blue selects the labels of the Service'))
    name, = (row['Name'] for row in site.columns(BGP, 'reported'))
    reporter = next(node for node in site.nodes if name == f'reported-{node.name_in_cluster}')
    heir = next(node for node in site.nodes if node is not reporter)
    heir.label(story='look')  # all Services are judged again
    serve(site, 'later')
    lab.until(lambda: site.columns(BGP, 'later'), what='the reason of another Service')
    assert [one for one in site.writes() if one[1] == BGP and one[2] == name] == [('create', BGP, name), ('patch', BGP, name)]
    reporter.speaker.stop()
    lab.until(lambda: f'reported-{heir.name_in_cluster}' in site.statuses(BGP), what='the other node saying it')
    reporter.speak()
    lab.until(lambda: set(site.statuses(BGP)) & {name, f'reported-{heir.name_in_cluster}'} == {name}, what='the first one saying it again')


def test_an_event_tells_when_it_begins_and_not_that_it_does_not(site):
    site.advertise()
    last = serve(site, 'quiet', [])

    def notes():
        found = site.kube.do('GET', f'/apis/events.k8s.io/v1/namespaces/{site.namespace}/events')['items']
        return [one['note'] for one in found if one['reason'] == 'nodeAssigned' and one['regarding']['name'] == 'quiet']
    wait_why(site, BGP, 'quiet', ('noEndpoints', 'no endpoint of the Service is ready or serving'))
    assert not notes()
    site.endpoints('quiet', site.nodes)
    site.bird.wait(site.route(last))
    lab.until(lambda: sorted(notes()) == sorted(f'announcing from node "{node.name_in_cluster}" with protocol "bgp"' for node in site.nodes),
              what='an event of each node')
