# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker on nodes of a real cluster without BGP: one node owns an address, answers ARP and NDP for it, and another one
takes over when it dies."""
import itertools
import socket
import time

import lab
import pytest
from lab.kspeaker import KubeSite

EXCLUDE = 'node.kubernetes.io__exclude-from-external-load-balancers'
HANDOVER = 1.0  # s
CLOSED_PORT = 9
_last = itertools.count(1)


@pytest.fixture(scope='module')
def cluster(kube):
    it = KubeSite(kube)
    try:
        it.pool()
        it.metal.pool('six', 'fd18::/112')
        for labels in ({'rack': 'a'}, {'rack': 'b'}):
            it.node(labels)
        for node in it.nodes:
            node.speak()
        yield it
    finally:
        it.close()


@pytest.fixture
def site(cluster):
    """With both nodes alive, and the usual advertisement."""
    for node in cluster.nodes:
        if not node.speaker.is_running():
            node.speak()
    for node in cluster.nodes:
        for other in cluster.nodes:
            lab.until(lambda: node.speaker.metrics().one('maglev_speaker_node_alive', node=other.name_in_cluster) == 1,
                      what=f'{other.name_in_cluster} being alive for {node.name_in_cluster}')
    cluster.advertise_l2()
    yield cluster
    for name in [one['metadata']['name'] for one in cluster.kube.do('GET', cluster.metal.path('v1beta1/l2advertisements'))['items']]:
        cluster.metal.remove('v1beta1/l2advertisements', name)


def owner_of(site, name):
    """The node that the status names, once it does."""
    site.wait_status('servicel2statuses', name)
    node = lab.until(lambda: (site.status('servicel2statuses', name) or {}).get('node'), what='a node in the status')
    return next(one for one in site.nodes if one.name_in_cluster == node)


def other_than(site, node):
    return next(one for one in site.nodes if one is not node)


def serve(site, name, **how):
    """A new Service, once a node owns its address; returns (address, owner)."""
    last = next(_last)
    site.service(name, last, site.nodes, **how)
    return site.address(last), owner_of(site, name)


def resolve(site, address, node):
    """The router asks for the address, and the node answers."""
    site.router.ip(f'route replace {address} dev eth0')
    with site.router.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b'', (address, CLOSED_PORT))
    lab.until(lambda: node.mac in site.router.run('ip', 'neigh', 'show', address), what=f'{address} at {node.name_in_cluster}')


def test_one_node_owns_an_address_and_answers_for_it(site):
    address, owner = serve(site, 'web')
    resolve(site, address, owner)
    status = site.status('servicel2statuses', 'web')
    assert sorted(status['candidates']) == sorted(node.name_in_cluster for node in site.nodes)
    assert status['candidates'][0] == owner.name_in_cluster and status['advertisements'] == ['lan'] and status['interfaces'] == []
    made = site.statuses('servicel2statuses')['web']['metadata']
    assert made['labels']['metallb.io/node'] == owner.name_in_cluster and made['labels']['metallb.io/service'] == 'web'
    key = f'{site.namespace}/web'
    assert owner.speaker.metrics().one('metallb_speaker_announced', service=key, protocol='layer2',
                                       node=owner.name_in_cluster, ip=address) == 1
    # a gratuitous one may have told the router before its question was answered
    lab.until(lambda: owner.speaker.metrics().one('metallb_layer2_responses_sent', ip=address) >= 1, what='an answer')
    idle = other_than(site, owner).speaker
    lab.until(lambda: idle.metrics().one('maglev_speaker_service', service=key, protocol='layer2', reason='notOwner') == 1,
              what='the other node having judged it, too')
    assert not idle.metrics().of('metallb_speaker_announced', service=key)


def test_an_ipv6_address_is_answered_with_neighbour_advertisements(site):
    site.service('six', None, site.nodes)
    site.assign('six', 'fd18::7')
    owner = owner_of(site, 'six')
    resolve(site, 'fd18::7', owner)


def test_a_node_that_dies_is_replaced_within_a_second(site):
    neighbours = site.neighbours()
    address, owner = serve(site, 'dies')
    heir = other_than(site, owner)
    resolve(site, address, owner)
    at = time.time()
    owner.speaker.kill()
    took = neighbours.wait(address, heir, at) - at
    print(f'hand-over after a kill: {took * 1000:.0f} ms')
    assert took < HANDOVER
    site.wait_status('servicel2statuses', 'dies', node=heir.name_in_cluster)


def test_a_node_that_leaves_is_replaced_at_once(site):
    neighbours = site.neighbours()
    address, owner = serve(site, 'leaves')
    heir = other_than(site, owner)
    resolve(site, address, owner)
    at = time.time()
    owner.speaker.stop()
    took = neighbours.wait(address, heir, at) - at
    print(f'hand-over after SIGTERM: {took * 1000:.0f} ms')
    assert took < HANDOVER / 2


def test_an_excluded_node_hands_over(site):
    _, owner = serve(site, 'excluded')
    owner.label(**{EXCLUDE: ''})
    site.wait_status('servicel2statuses', 'excluded', node=other_than(site, owner).name_in_cluster)
    owner.label(**{EXCLUDE: None})
    site.wait_status('servicel2statuses', 'excluded', node=owner.name_in_cluster)


def test_selectors_and_preferences_choose_the_node(site):
    """Without them the hash chooses; preferences outweigh it, and node selectors outweigh both."""
    _, owner = serve(site, 'chosen')
    rack = {'a': site.nodes[0], 'b': site.nodes[1]}
    theirs = 'b' if owner is rack['a'] else 'a'
    prefer = [{'weight': 50, 'preference': {'matchLabels': {'rack': theirs}}}]
    site.metal.change('v1beta1/l2advertisements', 'lan', preferredNodeSelectors=prefer)
    site.wait_status('servicel2statuses', 'chosen', node=rack[theirs].name_in_cluster)
    site.metal.change('v1beta1/l2advertisements', 'lan', nodeSelectors=[{'matchLabels': {'rack': 'a' if theirs == 'b' else 'b'}}])
    site.wait_status('servicel2statuses', 'chosen', node=owner.name_in_cluster, candidates=[owner.name_in_cluster])


def test_local_policy_follows_the_endpoint(site):
    serve(site, 'follows', externalTrafficPolicy='Local')
    for node in (*site.nodes, site.nodes[0]):
        site.endpoints('follows', [node])
        site.wait_status('servicel2statuses', 'follows', node=node.name_in_cluster, candidates=[node.name_in_cluster])
    site.endpoints('follows', [])
    site.wait_status('servicel2statuses', 'follows', node=None, reason='noEndpoints')


def test_interfaces_that_do_not_exist_are_told(site):
    _, owner = serve(site, 'nowhere')
    site.metal.change('v1beta1/l2advertisements', 'lan', interfaces=['bond7'])

    def events():
        found = site.kube.do('GET', f'/apis/events.k8s.io/v1/namespaces/{site.namespace}/events')['items']
        return [one['type'] for one in found if one['reason'] == 'announceFailed' and one['regarding']['name'] == 'nowhere']
    lab.until(events, what='the event')
    assert events() == ['Warning']
    site.wait_status('servicel2statuses', 'nowhere', node=None, reason='noSuchInterface')
    site.metal.change('v1beta1/l2advertisements', 'lan', interfaces=['eth0', 'bond7'])
    site.wait_status('servicel2statuses', 'nowhere', node=owner.name_in_cluster, interfaces=[{'name': 'bond7'}, {'name': 'eth0'}])


def test_the_owner_stays_while_the_api_server_is_away(site):
    """And a node that dies meanwhile is replaced."""
    neighbours = site.neighbours()
    address, owner = serve(site, 'alone')
    heir = other_than(site, owner)
    resolve(site, address, owner)
    site.kube.apiserver.kill()
    try:
        since = heir.speaker.mark()
        heir.speaker.wait('kubernetes-failed', since)
        at = time.time()
        owner.speaker.kill()
        assert neighbours.wait(address, heir, at) - at < HANDOVER
    finally:
        site.kube.start_apiserver()
    site.wait_status('servicel2statuses', 'alone', node=heir.name_in_cluster)
