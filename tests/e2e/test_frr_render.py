# SPDX-License-Identifier: Apache-2.0
"""What peers receive from an FRR with the configuration of a model: core/frr/model_test.conf, which model_test.c renders.

BIRD is four of the peers; the unnumbered one is another FRR. test_frr_10_render.py runs the same with FRR 10.
"""
import json
import os
import re

import pytest

from lab import Frr, until
from lab.bird import Bird
from lab.net import Namespace
from lab.reloader import Reloader

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONF = os.path.join(TREE, 'core/frr/model_test.conf')

# BIRD runs one protocol at a time for an address and port of a neighbour; passive ones do not use the port.
BIRD = '''
log stderr { error, bug };
router id 10.0.0.2;
protocol device { }
ipv4 table tor_4; ipv6 table tor6_6; ipv4 table core_4; ipv6 table core_6; ipv4 table away_4;
protocol static { ipv4 { table tor_4; }; route 203.0.113.0/24 blackhole; }
protocol bgp tor {
    local 10.0.0.2 as 64513; neighbor 10.0.0.1 as 64512; password "open-sesame"; strict bind; connect retry time 1;
    ipv4 { table tor_4; import all; export all; };
}
protocol bgp tor6 {
    local fd00::2 as 64513; neighbor fd00::1 as 64512; connect retry time 1;
    ipv6 { table tor6_6; import all; export none; };
}
protocol bgp core {
    local 10.0.0.3 as 64512; neighbor 10.0.0.1 port 2 as 64512; passive; strict bind;
    ipv4 { table core_4; import all; export none; };
    ipv6 { table core_6; import all; export none; };
}
protocol bgp away {
    local 10.0.0.4 port 1790 as 64515; neighbor 10.0.0.1 port 1 as 64999; multihop; passive;
    ipv4 { table away_4; import all; export none; };
}
'''

SPINE = '''
router bgp 64600
 bgp router-id 10.0.0.5
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor downlink interface remote-as external
 neighbor downlink timers connect 1
 neighbor downlink bfd
 address-family ipv4 unicast
  neighbor downlink activate
 exit-address-family
 address-family ipv6 unicast
  neighbor downlink activate
 exit-address-family
exit
'''

COMMUNITIES = '(64512,2) (64512,10) (65535,65281)'
LARGE = '(64512, 1, 3) (64512, 1, 20)'


def link(near, name, far, far_name):
    near.ip(f'link add {name} type veth peer name {far_name} netns {far.name}', f'link set {name} up')
    far.ip(f'link set {far_name} up')


def received(bird, table):
    """{prefix: (AS path, communities, large communities, MED, local preference)}"""
    names = ('as_path', 'community', 'large_community', 'med', 'local_pref')
    return {prefix: tuple(route.get(name, '') for name in names) for prefix, route in bird.routes(table).items()}


@pytest.fixture(scope='module')
def system():
    """The FRR under test; None: that of this machine."""
    return None


@pytest.fixture(scope='module')
def node(system):
    it = Frr(system=system).start()
    yield it
    it.close()


@pytest.fixture(scope='module')
def peers(node, tmp_path_factory):
    """BIRD, with a table for each session and family."""
    namespace = Namespace('b')
    link(node.namespace, 'peers', namespace, 'peers')
    node.namespace.ip('addr add 10.0.0.1/24 dev peers', 'addr add fd00::1/64 dev peers nodad')
    namespace.ip(*(f'addr add 10.0.0.{n}/24 dev peers' for n in (2, 3, 4)), 'addr add fd00::2/64 dev peers nodad')
    bird = Bird(str(tmp_path_factory.mktemp('bird')), namespace, BIRD).start()
    yield bird
    bird.stop()
    namespace.delete()


@pytest.fixture(scope='module')
def spine(node):
    """The unnumbered peer."""
    it = Frr(listens=True).start()
    link(node.namespace, 'uplink', it.namespace, 'downlink')
    it.load(SPINE)
    yield it
    it.close()


@pytest.fixture(scope='module')
def text():
    with open(CONF, encoding='ascii') as file:
        return file.read()


@pytest.fixture(scope='module')
def loaded(node, peers, spine, text):
    node.load(text)
    for name in ('tor', 'tor6', 'core', 'away'):
        until(lambda name=name: peers.is_established(name), what=f'the session with {name}')


def test_an_external_peer_receives_the_attributes_of_the_classes(loaded, peers):
    until(lambda: len(peers.routes('tor_4')) == 4, what='three routes beside its own')
    routes = received(peers, 'tor_4')
    del routes['203.0.113.0/24']
    assert routes == {
        '192.0.2.1/32': ('64512', '', '', '0', '100'),
        '192.0.2.2/32': ('64512', COMMUNITIES, LARGE, '50', '100'),
        '192.0.2.10/32': ('64512 64512 64512 64512', '', '', '0', '100')}


def test_a_peer_over_ipv6_receives_the_ipv6_prefixes(loaded, peers):
    until(lambda: len(peers.routes('tor6_6')) == 3, what='three routes')
    assert received(peers, 'tor6_6') == {
        '2001:db8::1/128': ('64512', '', '', '0', '100'),
        '2001:db8::2/128': ('64512', COMMUNITIES, LARGE, '50', '100'),
        '2001:db8::10/128': ('64512 64512 64512 64512', '', '', '0', '100')}


def test_an_internal_peer_receives_local_preferences_and_no_prepends(loaded, peers):
    until(lambda: len(peers.routes('core_4')) == 4 and len(peers.routes('core_6')) == 3, what='seven routes')
    assert received(peers, 'core_4') == {
        '192.0.2.1/32': ('', '', '', '0', '120'),
        '192.0.2.2/32': ('', COMMUNITIES, LARGE, '50', '150'),
        '192.0.2.10/32': ('', '', '', '0', '120'),
        '198.51.100.0/24': ('', '(65535,0)', '', '0', '0')}
    assert received(peers, 'core_6') == {
        '2001:db8::1/128': ('', '', '', '0', '120'),
        '2001:db8::2/128': ('', COMMUNITIES, LARGE, '50', '150'),
        '2001:db8::10/128': ('', '', '', '0', '120')}


def test_a_peer_with_attributes_receives_them_and_only_classes_that_it_gets(loaded, peers):
    """Its communities are added to those of a class; the MED of a class wins."""
    until(lambda: len(peers.routes('away_4')) == 2, what='two routes')
    assert received(peers, 'away_4') == {
        '192.0.2.1/32': ('64999', '(64512,10) (64512,777)', '(64512, 1, 9)', '70', '100'),
        '192.0.2.2/32': ('64999', '(64512,2) (64512,10) (64512,777) (65535,65281)',
                         '(64512, 1, 3) (64512, 1, 9) (64512, 1, 20)', '50', '100')}


def test_an_unnumbered_peer_receives_both_families(loaded, spine):
    def count(family):
        return len(json.loads(spine.ask(f'show bgp {family} unicast json'))['routes'])
    until(lambda: count('ipv4') == 2 and count('ipv6') == 2, what='four routes')
    route, = json.loads(spine.ask('show bgp ipv4 unicast 192.0.2.2/32 json'))['paths']
    assert route['community']['string'] == '64512:2 64512:10 no-export'
    assert route['largeCommunity']['string'] == '64512:1:3 64512:1:20'
    assert (route['metric'], route['aspath']['string']) == (50, '64512')
    assert 'tag' not in route


def test_nothing_is_accepted_from_a_peer(loaded, node):
    def heard():
        return json.loads(node.ask('show bgp neighbors 10.0.0.2 json'))['10.0.0.2']['messageStats']['updatesRecv']
    until(lambda: heard() >= 1, what='an update of the peer')
    assert '203.0.113.0/24' not in json.loads(node.ask('show bgp ipv4 unicast json'))['routes']


def test_bfd_watches_the_session(loaded, node):
    def status():
        return json.loads(node.ask('show bgp neighbors uplink json'))['uplink'].get('peerBfdInfo', {}).get('status')
    until(lambda: status() == 'Up', what='BFD up')
    bfd, = [one for one in json.loads(node.ask('show bfd peers json', 'bfdd')) if one.get('interface') == 'uplink']
    assert (bfd['transmit-interval'], bfd['detect-multiplier']) == (100, 5)


def test_a_prefix_that_changes_its_class_changes_its_attributes(loaded, node, peers):
    """Nothing but the tag of its origin differs, which is not sent."""
    for number, med in ((2, '50'), (1, '0')):
        node.configure('router bgp 64512', 'address-family ipv4 unicast',
                       f'network 192.0.2.1/32 route-map maglev-origin-{number}')
        until(lambda med=med: peers.routes('tor_4')['192.0.2.1/32']['med'] == med, what=f'a MED of {med}')


def metric(node, number, value):
    """Changes the outbound route map of the peer tor, and has it take effect as frr-reloader does."""
    node.configure(f'route-map maglev-out-tor permit {number}', f'set metric {value}')
    node.ask('clear bgp ipv4 unicast * soft out')


def test_a_withdrawal_at_the_start_of_a_session_reaches_the_peer(loaded, node, peers):
    """Also while a route map takes effect. bgpd of FRR 8.4 sends a new session its table after a second; a change of a route
    map sends it earlier, and a withdrawal in between would never be sent. The line is rendered for routers whose peers have no
    graceful restart; here some have it."""
    family = ('router bgp 64512', 'address-family ipv4 unicast')
    node.configure('router bgp 64512', 'coalesce-time 0')
    node.configure(*family, 'network 192.0.2.77/32 route-map maglev-origin-2')
    until(lambda: '192.0.2.77/32' in peers.routes('tor_4'), what='the route')
    peers.ask('disable tor')
    until(lambda: '192.0.2.77/32' not in peers.routes('tor_4'), what='the end of the session')
    peers.ask('enable tor')
    until(lambda: peers.is_established('tor'), what='a new session')
    metric(node, 2, 60)
    until(lambda: peers.routes('tor_4').get('192.0.2.77/32', {}).get('med') == '60', what='the changed route')
    node.configure(*family, 'no network 192.0.2.77/32')
    until(lambda: '192.0.2.77/32' not in peers.routes('tor_4'), what='the route gone from the peer')
    until(lambda: 'End-of-RIB send: IPv4 Unicast' in node.ask('show bgp neighbors 10.0.0.2'), what='the End-of-RIB')
    metric(node, 2, 50)
    until(lambda: peers.routes('tor_4')['192.0.2.2/32']['med'] == '50', what='the first MED')
    node.configure('router bgp 64512', 'no coalesce-time 0')


def drops(node):
    """{peer: how often its session has ended}"""
    neighbors = json.loads(node.ask('show bgp neighbors json'))
    return {name: one['connectionsDropped'] for name, one in neighbors.items() if isinstance(one, dict)}


def test_a_prefix_more_is_one_command_and_touches_no_session(loaded, node, peers, text, running, folders):
    """What FRR prints is what was rendered; otherwise there would be other commands."""
    it = running(Reloader(folders(), node, '--log-level', 'debug')).start()
    before = drops(node)
    assert it.reload(text)['result'] and it.way() == 'full'
    for changed, commands in ((text, 0), (text.replace('  network 192.0.2.1/32', '  network 192.0.2.99/32 route-map '
                                                       'maglev-origin-3\n  network 192.0.2.1/32'), 1), (text, 1)):
        assert it.reload(changed)['result'] and it.way() == 'fast'
        assert it.all('fast-path')[-1]['commands'] == commands
        until(lambda: ('192.0.2.99/32' in peers.routes('tor_4')) == (changed != text), what='the change at the peer')
    assert drops(node) == before


def med_of(spine):
    route, = json.loads(spine.ask('show bgp ipv4 unicast 192.0.2.2/32 json'))['paths']
    return route['metric']


def test_an_attribute_of_one_peer_is_one_command_and_in_effect_at_once(loaded, node, peers, spine, text, running, folders):
    """Long before bgpd would evaluate the route map by itself, and only for this peer, which is unnumbered."""
    it = running(Reloader(folders(), node, '--log-level', 'debug')).start()
    assert it.reload(text)['result']
    until(lambda: med_of(spine) == 50, what='the first MED')
    changed = re.sub(r'(maglev-out-spine permit 2\n(?: .*\n)*? set metric) 50', r'\1 51', text)
    for wanted, med in ((changed, 51), (text, 50)):
        assert it.reload(wanted)['result'] and it.way() == 'fast'
        assert it.all('fast-path')[-1]['commands'] == 1
        until(lambda med=med: med_of(spine) == med, timeout=4, what=f'a MED of {med}')
