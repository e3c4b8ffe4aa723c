# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker and routers by other authors, over every kind of session: what they see of VIPs.

All stories share one balancer. BIRD is most of the peers, gobgpd is one, and another FRR the unnumbered one.
"""
import json
import re
import signal
import time

import pytest

from lab import until
from lab.gobgp import GoBgp
from lab.speaker import BIRD, OURS, OURS6, ROUTE, THEIRS6, Site
from lab.spine import Spine

ROUTE6, WIDE, WIDE6, STAYS = '2001:db8::10/128', '203.0.113.0/24', '2001:db8:1::/64', '198.51.100.99/32'
SHUTDOWN = '65535:0'

# BIRD runs one protocol at a time for an address and port of a neighbour; passive ones do not use the port.
MORE = f'''
ipv6 table six_6; ipv4 table both_4; ipv6 table both_6; ipv4 table core_4; ipv6 table core_6; ipv4 table far_4;
ipv4 table secret_4;
protocol bfd {{ interface "veth" {{ min rx interval 200 ms; min tx interval 200 ms; multiplier 3; }}; }}
protocol bgp six {{
  local {THEIRS6} as 64513; neighbor {OURS6} as 64512; passive; strict bind;
  ipv6 {{ table six_6; import all; export none; }};
}}
protocol bgp both {{
  local 10.0.0.3 as 64515; neighbor {OURS} port 1 as 64512; passive; strict bind;
  ipv4 {{ table both_4; import all; export none; }};
  ipv6 {{ table both_6; import all; export none; }};
}}
protocol bgp core {{
  local 10.0.0.4 as 64512; neighbor {OURS} port 2 as 64512; passive; strict bind;
  ipv4 {{ table core_4; import all; export none; }};
  ipv6 {{ table core_6; import all; export none; }};
}}
protocol bgp far {{
  local 10.9.0.1 as 64516; neighbor {OURS} port 3 as 64512; multihop; passive; strict bind;
  ipv4 {{ table far_4; import all; export none; }};
}}
protocol bgp secret {{
  local 10.0.0.6 as 64517; neighbor {OURS} port 4 as 64512; password "open-sesame"; passive; strict bind;
  ipv4 {{ table secret_4; import all; export none; }};
}}
protocol bgp closed {{
  local 10.0.0.7 as 64518; neighbor {OURS} port 5 as 64512; password "another"; passive; strict bind;
  ipv4 {{ import none; export none; }};
}}
'''

GO = {'asn': 64514, 'address': '10.0.0.5', 'neighbor': OURS, 'peer_asn': 64512}
QUICK = {'connect-time': '1s', 'hold-time': '30s'}
BOTH = {'families': ['ipv4', 'ipv6']}
PEERS = {
    'six': {'address': THEIRS6, 'asn': 64513, **QUICK},
    'both': {'address': '10.0.0.3', 'asn': 64515, **BOTH, **QUICK},
    'core': {'address': '10.0.0.4', 'asn': 'internal', **BOTH, **QUICK},
    'far': {'address': '10.9.0.1', 'asn': 64516, 'ebgp-multihop': True, **QUICK},
    'secret': {'address': '10.0.0.6', 'asn': 64517, 'password': 'open-sesame', **QUICK},
    'closed': {'address': '10.0.0.7', 'asn': 64518, 'password': 'open-sesame', **QUICK},
    'go': {'address': '10.0.0.5', 'asn': 64514, **BOTH, **QUICK},
    'spine': {'interface': 'uplink', 'asn': 'external', **QUICK},
    'inner': {'address': '10.0.0.9', 'asn': 64519, 'vrf': 'red', **QUICK},
}
SECTIONS = {
    'bfd-profiles': {'fast': {'receive-interval': '200ms', 'transmit-interval': '200ms', 'detect-multiplier': 3}},
    'peers': PEERS,
    'advertisements': {'wide': {'communities': ['large:64512:1:2', 'no-export'], 'local-preference': 150,
                                'aggregation-length': 24, 'aggregation-length-v6': 64, 'peers': ['both', 'core', 'go']}},
    'vips': {'www6': {'address': '2001:db8::10', 'frontends': ['a/www'], 'drain-time': '6s'},
             'wide': {'address': '203.0.113.77', 'frontends': ['a/www'], 'advertisement': 'wide'},
             'wide6': {'address': '2001:db8:1::7', 'frontends': ['a/www'], 'advertisement': 'wide'},
             'stays': {'address': '198.51.100.99'}},
}
# prefixes of each peer: both, core and go get three of IPv4, of which one is wide, and two of IPv6
SENT = {'tor': 2, 'six': 1, 'far': 2, 'secret': 2, 'both': 5, 'go': 5, 'core': 5, 'spine': 3}


def wait_sent(site):
    """FRR is asked once a second; the first configuration of an empty one may end sessions again."""
    until(lambda: site.speaker.frr().current, what='the latest configuration in FRR')
    for peer, prefixes in SENT.items():
        site.speaker.wait_session(peer, up=True, prefixes_sent=str(prefixes))


@pytest.fixture(scope='module')
def site():
    it = Site(conf=BIRD.replace('strict bind;', 'strict bind; bfd on;') + MORE,
              addresses=['10.9.0.1/32', *(f'10.0.0.{n}/24' for n in (3, 4, 5, 6, 7))])
    it.names[0].ip('route add 10.9.0.1 via 10.0.0.2')
    it.go = it.add(GoBgp(it.folder(), it.names[1], **GO)).start()
    it.spine = Spine(it.names[0])
    it.speak(peer={'bfd': 'fast'}, sections=SECTIONS, **{'drain-time': '6s'})
    wait_sent(it)
    yield it
    it.spine.close()
    it.close()


def at_go(site, prefix=ROUTE, family='ipv4'):
    return site.go.routes(family).get(prefix)


def everywhere(site, prefix4=ROUTE, prefix6=ROUTE6):
    """Where a VIP of each family is seen: names of peers."""
    seen = {name for name, table in (('tor', 'master4'), ('both', 'both_4'), ('core', 'core_4'), ('far', 'far_4'),
                                     ('secret', 'secret_4')) if site.bird.route(prefix4, table)}
    seen |= {f'{name}6' for name, table in (('six', 'six_6'), ('both', 'both_6'), ('core', 'core_6'))
             if site.bird.route(prefix6, table)}
    seen |= {'go'} if at_go(site, prefix4) else set()
    seen |= {'go6'} if at_go(site, prefix6, 'ipv6') else set()
    seen |= {'spine'} if site.spine.route(prefix4) else set()
    return seen | ({'spine6'} if site.spine.route(prefix6, 'ipv6') else set())


ALL = {'tor', 'both', 'core', 'far', 'secret', 'six6', 'both6', 'core6', 'go', 'go6', 'spine', 'spine6'}


def test_every_peer_follows_the_frontend(site):
    until(lambda: everywhere(site) == ALL, what='the route at all peers')
    age, before, stays = at_go(site, STAYS)['age'], site.bird.history(), site.bird.history(STAYS)
    site.all_down()
    until(lambda: not everywhere(site), what='no route at any peer')
    for address in site.servers.addresses:
        site.servers.up(address)
    until(lambda: everywhere(site) == ALL, what='the route at all peers')
    assert site.bird.history() == [*before, 'removed', 'added']
    assert site.bird.history(STAYS) == stays and at_go(site, STAYS)['age'] == age


def test_gobgp_sees_the_attributes(site):
    until(lambda: at_go(site) and at_go(site, WIDE), what='routes at gobgpd')
    route, wide = at_go(site), at_go(site, WIDE)
    assert (route['as_path'], route['med'], route['communities'], route['large']) == ([64512], 50, ['64512:100'], [])
    assert (wide['communities'], wide['large']) == (['65535:65281'], ['64512:1:2'])


def test_peers_see_a_drain(site):
    """RFC 8326: the community for other AS, local preference 0 in the own one; then no route."""
    until(lambda: everywhere(site) == ALL, what='the route at all peers')
    age = at_go(site, STAYS)['age']
    for vip, family, prefix in (('www', 'ipv4', ROUTE), ('www6', 'ipv6', ROUTE6)):
        site.speaker.drain(vip)
        until(lambda: SHUTDOWN in at_go(site, prefix, family)['communities'], what='graceful shutdown at gobgpd')
        assert at_go(site, prefix, family)['communities'] == ['64512:100', SHUTDOWN]
        table = 'core_4' if family == 'ipv4' else 'core_6'
        until(lambda: site.bird.wait(prefix, table=table)['local_pref'] == '0', what='local preference 0 at the internal peer')
        assert site.bird.wait(prefix, table=table)['community'] == '(64512,100) (65535,0)'
        until(lambda: at_go(site, prefix, family) is None, what='no route at gobgpd')
        site.speaker.undrain(vip)
        until(lambda: at_go(site, prefix, family), what='the route at gobgpd')
        assert at_go(site, prefix, family)['communities'] == ['64512:100']
    assert at_go(site, STAYS)['age'] == age


def test_prefixes_are_aggregated_and_only_named_peers_get_them(site):
    for table, prefix in (('both_4', WIDE), ('core_4', WIDE), ('both_6', WIDE6), ('core_6', WIDE6)):
        route = site.bird.wait(prefix, table=table)
        assert route['community'] == '(65535,65281)' and route['large_community'] == '(64512, 1, 2)'
    assert at_go(site, WIDE6, 'ipv6') and at_go(site, WIDE)
    for table, prefix in (('master4', WIDE), ('far_4', WIDE), ('six_6', WIDE6)):
        assert site.bird.routes(table) and not site.bird.route(prefix, table)
    assert not site.spine.route(WIDE) and not site.spine.route(WIDE6, 'ipv6')


def test_an_internal_peer_gets_local_preferences(site):
    wide, usual = site.bird.wait(WIDE, table='core_4'), site.bird.wait(ROUTE, table='core_4')
    assert (wide['as_path'], wide['local_pref']) == ('', '150')
    assert (usual['as_path'], usual['local_pref'], usual['med']) == ('', '100', '50')
    assert site.bird.wait(WIDE, table='both_4')['local_pref'] == '100'  # BIRD's own


def test_next_hops_are_of_the_family(site):
    assert re.match(OURS, site.bird.wait(ROUTE, table='both_4')['next_hop'])
    for table in ('six_6', 'both_6', 'core_6'):
        assert site.bird.wait(ROUTE6, table=table)['next_hop'].startswith(OURS6)
    assert site.spine.route(ROUTE)['nexthops'][0]['afi'] == 'ipv6'  # RFC 8950: the link has no IPv4


def test_a_wrong_password_is_a_session_that_is_down(site):
    """TCP drops the segments, so FRR has nothing to say about it."""
    assert site.speaker.session('secret')['up']
    closed = site.speaker.session('closed')
    assert not closed['up'] and closed['state'] in ('Active', 'Connect', 'Idle') and closed['prefixes_sent'] == '0'
    assert site.speaker.metrics().one('metallb_bgp_session_up', peer='10.0.0.7:179', vrf='') == 0
    assert 'open-sesame' not in json.dumps([dict(line) for line in site.speaker.lines])
    assert 'open-sesame' not in json.dumps([dict(line) for line in site.reloader.lines])


def test_sessions_count_what_they_sent(site):
    """An unnumbered session has the name of its interface."""
    wait_sent(site)
    metrics = site.speaker.metrics()
    for peer, prefixes in SENT.items():
        address = site.speaker.session(peer)['address']
        name = {'spine': address, 'six': f'[{address}]:179'}.get(peer, f'{address}:179')
        assert metrics.one('metallb_bgp_announced_prefixes_total', peer=name, vrf='') == prefixes
        assert metrics.one('metallb_bgp_session_up', peer=name, vrf='') == 1


def test_a_peer_that_hangs_is_noticed_by_bfd(site):
    """Its kernel still acknowledges what bgpd sends, so that only the hold timer of 9 s would end the session."""
    speaker = site.speaker
    speaker.wait_session(up=True, bfd='up')
    since, began = speaker.mark(), time.monotonic()
    site.bird.signal(signal.SIGSTOP)
    try:
        line = speaker.wait('session-down', since, peer='tor')
        took = time.monotonic() - began
        speaker.wait_session(up=False, bfd='down', last_error=line['reason'])
        metrics = speaker.metrics()
        assert metrics.one('metallb_bgp_session_up', peer='10.0.0.2:179', vrf='') == 0
        assert metrics.one('metallb_bfd_session_up', peer='10.0.0.2', vrf='') == 0
    finally:
        site.bird.signal(signal.SIGCONT)
    assert 'BFD Down' in line['reason'] and took < 5
    speaker.wait_session(up=True, bfd='up')
    assert speaker.metrics().one('metallb_bfd_session_up', peer='10.0.0.2', vrf='') == 1
    site.bird.wait()
    assert not speaker.all('session-down', since, peer='go') and not speaker.all('session-down', since, peer='six')


def test_a_peer_in_a_vrf_has_a_router_of_its_own(site):
    """FRR takes the configuration also while the kernel does not have the VRF; then the session is not there."""
    running = site.frr.running()
    own, family = 'router bgp 64512 vrf red', 'address-family ipv4 unicast'
    assert (own, 'neighbor 10.0.0.9 remote-as 64519') in running
    assert (own, family, 'neighbor 10.0.0.9 route-map maglev-in in') in running
    assert {line[-1].split()[1] for line in running if line[:2] == (own, family) and line[-1].startswith('network')} == \
        {ROUTE, STAYS}
    inner = site.speaker.session('inner')
    assert (inner['vrf'], inner['up']) == ('red', False)
    assert site.speaker.metrics().one('metallb_bgp_session_up', peer='10.0.0.9:179', vrf='red') == 0
