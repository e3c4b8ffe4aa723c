# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker on a node of a real cluster, with every kind of session that a BGPPeer can have, and with both ways to announce at
once. BIRD is most of the peers, gobgpd is one, and another FRR the unnumbered one."""
import itertools
import json
import signal
import socket

import lab
import pytest
from lab.gobgp import GoBgp
from lab.kspeaker import ASN, ROUTER_ASN, KubeSite
from lab.metal import ADVERTISEMENTS, BFD, L2, PEERS
from lab.spine import Spine

NUMBERS = {'both': 3, 'go': 5, 'inner': 9}  # more addresses of the router
RED = 21  # of the node in its VRF
# BIRD runs one protocol at a time for an address and port of a neighbour; passive ones do not use the port
MORE = f'''
ipv6 table six_6; ipv4 table both_4; ipv6 table both_6; ipv4 table inner_4;
protocol bfd {{ interface "*" {{ min rx interval 100 ms; min tx interval 100 ms; idle tx interval 100 ms; multiplier 3; }}; }}
protocol bgp six {{
  local fd78::1 as {ROUTER_ASN}; neighbor fd78::11 as {ASN}; passive; strict bind;
  ipv6 {{ table six_6; import all; export none; }};
}}
protocol bgp both {{
  local 10.78.0.3 as 64515; neighbor 10.78.0.11 port 1 as {ASN}; passive; strict bind;
  ipv4 {{ table both_4; import all; export none; }};
  ipv6 {{ table both_6; import all; export none; }};
}}
protocol bgp inner {{
  local 10.78.0.9 as 64519; neighbor 10.78.0.{RED} as {ASN}; passive; strict bind;
  ipv4 {{ table inner_4; import all; export none; }};
}}
'''
SIX = 'fd30::'
FRRK8S = 'frrk8s.metallb.io/v1beta1'
_last = itertools.count(1)


@pytest.fixture(scope='module')
def site(kube):
    it = KubeSite(kube)
    spine = None
    try:
        node = it.node(bgp=True, vrfs=True)
        it.router.ip(*(f'addr add 10.78.0.{number}/24 dev eth0' for number in NUMBERS.values()))
        it.start_router(MORE, node0='bfd on;')
        it.go = it.add(GoBgp(it.folder(), it.router, asn=64514, address='10.78.0.5', neighbor='10.78.0.11', peer_asn=ASN)).start()
        it.spine = spine = Spine(node)
        it.metal.pool('blue', f'{it.range}.0/24', f'{SIX}/112')
        # with 100 ms a process that gets no processor for 300 ms, beside other stories, would lose its session
        it.metal.make(BFD, 'fast', receiveInterval=400, transmitInterval=400)
        it.peer(bfdProfile='fast')
        it.peer('six', peerAddress='fd78::1')
        it.peer('both', peerAddress='10.78.0.3', peerASN=64515, dualStackAddressFamily=True)
        it.peer('go', peerAddress='10.78.0.5', peerASN=64514, dualStackAddressFamily=True)
        it.metal.make(PEERS, 'spine', myASN=ASN, dynamicASN='external', interface='uplink', connectTime='1s')
        it.peer('inner', peerAddress='10.78.0.9', peerASN=64519, vrf='red')
        it.peer('nowhere', peerAddress='10.78.0.8', peerASN=64519, vrf='blue')
        it.advertise()
        node.speak()
        yield it
    finally:
        it.close()
        if spine:
            spine.close()


@pytest.fixture
def service(site):
    """A Service with an address of each family; returns (number of IPv4, address of IPv6)."""
    def make(name, **how):
        last = next(_last)
        site.service(name, None, site.nodes, **how)
        site.assign(name, site.address(last), f'{SIX}{last:x}')
        return last, f'{SIX}{last:x}/128'
    return make


def session(site, peer, **wanted):
    return site.wait_status('bgpsessionstatuses', f'{site.nodes[0].name_in_cluster}-{peer}', namespace=site.metal.namespace, **wanted)


def test_each_session_carries_its_families(site, service):
    """IPv4 over IPv4, IPv6 over IPv6, both over either with dualStackAddressFamily, and both over a link without addresses."""
    last, six = service('web')
    four = site.route(last)
    site.bird.wait(four)
    site.bird.wait(six, table='six_6')
    site.bird.wait(four, table='both_4')
    site.bird.wait(six, table='both_6')
    lab.until(lambda: site.go.routes().get(four) and site.go.routes('ipv6').get(six), what='both at gobgpd')
    lab.until(lambda: site.spine.route(four) and site.spine.route(six, 'ipv6'), what='both at the unnumbered router')
    assert not site.bird.route(six, 'master6')
    assert site.spine.route(four)['nexthops'][0]['afi'] == 'ipv6'  # RFC 8950
    node = site.nodes[0].name_in_cluster
    status = site.wait_status('servicebgpstatuses', f'web-{node}', prefixes=[four, six])
    assert status['peers'] == ['both', 'go', 'inner', 'nowhere', 'six', 'spine', 'tor']
    site.remove('web')
    for prefix, table in ((four, 'master4'), (six, 'six_6'), (four, 'both_4'), (six, 'both_6')):
        site.bird.wait(prefix, there=False, table=table)
    lab.until(lambda: not site.spine.route(six, 'ipv6') and not site.go.routes('ipv6').get(six), what='it being gone everywhere')


def test_each_session_has_its_status(site):
    """Labels cannot have colons; an unnumbered session is known by its interface, one in a VRF by its VRF, too."""
    node, namespace = site.nodes[0].name_in_cluster, site.metal.namespace
    for peer in ('tor', 'six', 'both', 'go', 'spine'):
        session(site, peer, bgpStatus='Established', vrf='')
    full = 'fd78-0000-0000-0000-0000-0000-0000-0001'
    for name, peer, vrf in ((full, 'fd78::1', ''), ('uplink', 'uplink', ''), ('10.78.0.3', '10.78.0.3', '')):
        site.wait_status('bgpsessionstates', f'{node}-{name}', FRRK8S, namespace, bgpStatus='Established', peer=peer, vrf=vrf)
    made = site.statuses('bgpsessionstates', FRRK8S, namespace)[f'{node}-{full}']['metadata']
    assert made['labels'] == {'frrk8s.metallb.io/node': node, 'frrk8s.metallb.io/peer': full, 'frrk8s.metallb.io/vrf': ''}
    metrics = site.nodes[0].speaker.metrics()
    for peer in ('10.78.0.1:179', '[fd78::1]:179', '10.78.0.3:179', 'uplink'):
        assert metrics.one('metallb_bgp_session_up', peer=peer, vrf='') == 1


def test_a_peer_in_a_vrf(site, service):
    """A VRF that the node does not have is waited for, and disturbs nothing. Once it is there, the session and its routes are those
    of the VRF."""
    node, namespace = site.nodes[0].name_in_cluster, site.metal.namespace
    last, _ = service('inside')
    site.bird.wait(site.route(last))
    assert session(site, 'inner', vrf='red')['bgpStatus'] != 'Established'
    site.nodes[0].frr.add_vrf('red', site.switch_host(RED))
    assert site.bird.wait(site.route(last), table='inner_4')['next_hop'] == f'10.78.0.{RED}'
    session(site, 'inner', vrf='red', bgpStatus='Established')
    site.wait_status('bgpsessionstates', f'{node}-10.78.0.9-red', FRRK8S, namespace, vrf='red', bgpStatus='Established')
    made = site.statuses('bgpsessionstates', FRRK8S, namespace)[f'{node}-10.78.0.9-red']['metadata']
    assert made['labels']['frrk8s.metallb.io/vrf'] == 'red'
    metrics = site.nodes[0].speaker.metrics()
    assert metrics.one('metallb_bgp_session_up', peer='10.78.0.9:179', vrf='red') == 1
    assert metrics.one('metallb_bgp_session_up', peer='10.78.0.8:179', vrf='blue') == 0
    assert session(site, 'nowhere', vrf='blue')['bgpStatus'] != 'Established'
    site.remove('inside')
    site.bird.wait(site.route(last), there=False, table='inner_4')


def test_bfd_is_shown_and_takes_the_session_down(site):
    node, namespace = site.nodes[0].name_in_cluster, site.metal.namespace
    address = site.router.address[4]
    session(site, 'tor', bgpStatus='Established', bfdStatus='Up')
    session(site, 'six', bfdStatus='N/A')
    site.wait_status('bgpsessionstates', f'{node}-{address}', FRRK8S, namespace, bfdStatus='Up')
    speaker = site.nodes[0].speaker
    lab.until(lambda: speaker.metrics().one('metallb_bfd_session_up', peer=address, vrf='') == 1, what='BFD in the metrics')
    assert speaker.metrics().one('metallb_bfd_session_up_events', peer=address, vrf='') >= 1
    site.bird.signal(signal.SIGSTOP)
    try:
        session(site, 'tor', bfdStatus='Down')
        # bgpd is told by bfdd, and asked by itself: a second later at most, and long before the hold time of 9 s
        lab.until(lambda: session(site, 'tor')['bgpStatus'] != 'Established', 4, 'the session being down, too')
        assert speaker.metrics().one('metallb_bfd_session_up', peer=address, vrf='') == 0
    finally:
        site.bird.signal(signal.SIGCONT)
    session(site, 'tor', bgpStatus='Established', bfdStatus='Up', message='')
    # BIRD finds that its own timer of BFD has run out, too, and may end the session once more
    lab.until(lambda: json.loads(site.nodes[0].frr.ask(f'show bgp neighbors {address} json'))[address].get('bgpTimerUpMsec', 0) > 3000,
              what='a session of three seconds')


def resolve(site, address, node):
    site.router.ip(f'route replace {address} dev eth0')
    with site.router.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b'', (address, 9))
    lab.until(lambda: node.mac in site.router.run('ip', 'neigh', 'show', address), what=f'{address} at {node.name_in_cluster}')


def test_both_ways_at_once(site, service):
    """The same Service over BGP and on the local network; then one of each, chosen by labels; ends of one leave the other."""
    node = site.nodes[0]
    last, _ = service('twice', labels={'way': 'both'})
    address = site.address(last)
    site.bird.wait(site.route(last))
    site.advertise_l2()
    site.wait_status('servicel2statuses', 'twice', node=node.name_in_cluster, advertisements=['lan'])
    resolve(site, address, node)
    site.wait_status('servicebgpstatuses', f'twice-{node.name_in_cluster}', reason='')
    metrics = node.speaker.metrics()
    for protocol in ('bgp', 'layer2'):
        assert metrics.one('metallb_speaker_announced', service=f'{site.namespace}/twice', protocol=protocol,
                           node=node.name_in_cluster, ip=address) == 1
    site.metal.change(L2, 'lan', serviceSelectors=[{'matchLabels': {'way': 'lan'}}])
    site.metal.change(ADVERTISEMENTS, 'all', serviceSelectors=[{'matchExpressions': [{'key': 'way', 'operator': 'NotIn', 'values': ['lan']}]}])
    try:
        lan, _ = service('lan-only', labels={'way': 'lan'})
        site.wait_status('servicel2statuses', 'lan-only', node=node.name_in_cluster)
        resolve(site, site.address(lan), node)
        site.wait_status('servicel2statuses', 'twice', node=None, reason='noMatchingAdvertisement')
        assert not site.bird.route(site.route(lan)) and site.bird.route(site.route(last))
        assert site.bird.history(site.route(last)).count('removed') == 0
        lab.until(lambda: [row['Reason'] for row in site.columns('servicebgpstatuses', 'lan-only')] == ['noMatchingAdvertisement'],
                  what='why it is not announced over BGP')
    finally:
        site.metal.change(ADVERTISEMENTS, 'all', serviceSelectors=None)
        site.metal.remove(L2, 'lan')
    site.bird.wait(site.route(lan))


def test_a_class_of_its_own(kube):
    """--lb-class: this speaker announces Services of that class, and leaves those without a class to others."""
    site = KubeSite(kube)
    try:
        node = site.node(bgp=True)
        site.start_router()
        site.pool()
        site.peer()
        site.advertise()
        node.speak('--lb-class', 'example.net/ours')
        site.service('plain', 1, site.nodes)
        site.service('theirs', 2, site.nodes, loadBalancerClass='example.net/theirs')
        site.service('ours', 3, site.nodes, loadBalancerClass='example.net/ours')
        site.bird.wait(site.route(3))
        assert site.bird.count() == 1
        lab.until(lambda: set(site.statuses('servicebgpstatuses')) == {f'ours-{node.name_in_cluster}'}, what='its status alone')
    finally:
        site.close()


def test_long_names(kube):
    """A node may be called by a name of 253 bytes, and so may a peer; labels have 63. Two nodes whose names begin alike are two."""
    site = KubeSite(kube)
    try:
        long = '.'.join([site.tag + 'x' * 57, *(['y' * 63] * 2)]) + '.' + 'z' * 60
        names = [f'{long}{number}' for number in (1, 2)]
        assert len(names[0]) == 253
        for name in names:
            site.node({'rack': name[-1]}, bgp=True, name=name)
        site.start_router()
        site.pool()
        peer = f'tor.{"p" * 60}.example.net'
        site.peer(peer)
        site.advertise()
        site.advertise_l2()
        for node in site.nodes:
            node.speak()
        site.service('web', 1, site.nodes)
        lab.until(lambda: len(site.bird.nexthops(site.route(1))) == 2, what='the routes of both nodes')
        lab.until(lambda: {one['status'].get('node') for one in site.statuses('servicebgpstatuses').values()
                           if one.get('status')} == set(names), what='a status of each node')
        for node in site.nodes:
            lab.until(lambda: sum(value for _, value in node.speaker.metrics().of('maglev_speaker_node_alive')) == 2, what='two living nodes')
        status = site.wait_status('servicel2statuses', 'web', reason='')
        lab.until(lambda: sorted(site.status('servicel2statuses', 'web').get('candidates', [])) == names, what='two candidates')
        owner = next(node for node in site.nodes if node.name_in_cluster == site.status('servicel2statuses', 'web')['node'])
        assert status['serviceName'] == 'web'

        def sessions(*kind):
            found = site.statuses(*kind, namespace=site.metal.namespace).values()
            return {(one['status']['node'], one['status']['peer'], one['status']['bgpStatus']) for one in found if one.get('status')}
        for kind, of in ((('bgpsessionstatuses',), peer), (('bgpsessionstates', FRRK8S), site.router.address[4])):
            lab.until(lambda: sessions(*kind) == {(name, of, 'Established') for name in names}, what=f'{kind[0]} of each node')
        for one in site.statuses('bgpsessionstatuses', namespace=site.metal.namespace).values():
            assert all(len(value) <= 63 for value in one['metadata']['labels'].values())
        states = site.statuses('configurationstates', namespace=site.metal.namespace)
        assert len([name for name in states if name.startswith('speaker-')]) == 2
        before = site.writes()
        owner.speaker.stop()
        heir = next(node for node in site.nodes if node is not owner)
        site.wait_status('servicel2statuses', 'web', node=heir.name_in_cluster)
        owner.speak()
        site.wait_status('servicel2statuses', 'web', node=owner.name_in_cluster)
        again = [one for one in site.writes()[len(before):] if one[1] not in ('events', 'servicel2statuses')]
        assert again == []
    finally:
        site.close()
