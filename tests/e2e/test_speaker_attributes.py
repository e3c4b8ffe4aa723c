# SPDX-License-Identifier: Apache-2.0
"""Attributes of peers: what two peers of maglev-speaker see of a VIP, with those of its advertisement."""
import json
import re

import pytest

from lab import until
from lab.bird import Bird
from lab.speaker import OURS, ROUTE, THEIRS, VIP, Site, Speaker

OTHER, PORT = '10.0.0.3', 1790
BIRD = f'''
log stderr {{ error, bug }};
router id {OTHER};
protocol device {{ }}
protocol bgp speaker {{
  local {OTHER} port {PORT} as 64512;
  neighbor {OURS} as 64512;
  strict bind;
  hold time 9;
  ipv4 {{ import all; export none; }};
}}
'''


def seen(bird):
    """(communities, MED, local preference) of the route; None: there is none."""
    route = bird.routes('master4').get(ROUTE)
    return route and tuple(route.get(name, '') for name in ('community', 'med', 'local_pref'))


def wait_seen(bird, *wanted):
    until(lambda: seen(bird) == wanted, what=f'{wanted} at {bird.name}')


def updates(bird):
    """Received since it started."""
    return int(re.search(r'Import updates:\s+(\d+)', bird.ask('show protocols all speaker'))[1])


class ForTwo(Speaker):
    """Announces to `tor`, which is external, and to `other`, which is internal."""

    def __init__(self, *args, advertisement, other, **how):
        self.advertisement, self.other = advertisement, other
        super().__init__(*args, **how)

    def write(self, text=None, **vip):
        times = {'connect-time': '1s', 'hold-time': '9s'}
        super().write(text or json.dumps({'speaker': {
            'router': {'asn': 64512, 'router-id': OURS},
            'peers': {'tor': {'address': THEIRS, 'asn': 64513, **times, **self.peer},
                      'other': {'address': OTHER, 'port': PORT, 'asn': 'internal', **times, **self.other}},
            'advertisements': {'default': self.advertisement},
            'maglevds': {'a': {'address': f'127.0.0.1:{self.port_of_maglevd}'}},
            'vips': {'www': {'address': VIP, 'frontends': ['a/www'], **vip}}}}))


class Pair(Site):
    """A site with a second router."""

    def __init__(self):
        super().__init__(addresses=[f'{OTHER}/24'])
        self.other = self.add(Bird(self.folder(), self.names[1], BIRD, name='other')).start()

    def announce(self, advertisement, tor, other, **vip):
        """Starts the speaker with these attributes."""
        speaker = self.add(ForTwo(self.folder(), self.frr, self.reloader, self.maglevd, advertisement=advertisement,
                                      peer=tor, other=other, **vip)).start()
        until(lambda: seen(self.bird) and seen(self.other), what='the route at both peers')
        return speaker

    def settle(self):
        """Returns when bgpd has no update left to send. A few seconds after a change of route maps it sends all routes once
        more, and once again with the next change of a route; the one after that is sent last."""
        until(lambda: 'route_map_update' not in self.frr.ask('show thread timers'), what='the evaluation of route maps')
        for _ in range(2):
            self.all_down()
            until(lambda: not seen(self.bird) and not seen(self.other), what='no route')
            self.servers.up(self.servers.addresses[0])
            until(lambda: seen(self.bird) and seen(self.other), what='the route at both peers again')

    def drops(self):
        """Sessions that have ended since bgpd knows them."""
        neighbors = json.loads(self.frr.ask('show bgp neighbors json'))
        return [neighbors[address]['connectionsDropped'] for address in (THEIRS, OTHER)]


@pytest.fixture
def pair():
    it = Pair()
    yield it
    it.close()


def test_communities_are_added_and_other_values_are_defaults(pair):
    """The advertisement has no MED, so each peer gets its own; its local preference wins."""
    pair.announce({'communities': ['64512:100'], 'local-preference': 200},
                  tor={'communities': ['64512:7', 'no-export'], 'med': 70},
                  other={'med': 30, 'local-preference': 50})
    assert seen(pair.bird) == ('(64512,7) (64512,100) (65535,65281)', '70', '100')
    assert seen(pair.other) == ('(64512,100)', '30', '200')


def test_the_advertisement_and_the_state_of_a_vip_win(pair):
    speaker = pair.announce({'med': 50}, tor={'communities': ['64512:7'], 'med': 70},
                            other={'local-preference': 300},
                            **{'when-down': 'worse', 'worse': {'med': 1000}, 'drain-time': '1h'})
    assert (seen(pair.bird), seen(pair.other)) == (('(64512,7)', '50', '100'), ('', '50', '300'))
    pair.all_down()
    wait_seen(pair.bird, '(64512,7)', '1000', '100')
    wait_seen(pair.other, '', '1000', '300')
    for address in pair.servers.addresses:
        pair.servers.up(address)
    wait_seen(pair.bird, '(64512,7)', '50', '100')
    assert speaker.call('DrainVIP', vip='www')['state'] == 'draining'
    wait_seen(pair.bird, '(64512,7) (65535,0)', '50', '100')
    wait_seen(pair.other, '(65535,0)', '50', '0')


def test_a_change_of_a_peer_touches_only_its_routes_and_no_session(pair):
    speaker = pair.announce({}, tor={'med': 70}, other={'med': 30})
    pair.settle()
    before = updates(pair.other)
    mark = pair.reloader.mark()
    speaker.peer = {'med': 71, 'communities': ['64512:8']}
    speaker.reload()
    wait_seen(pair.bird, '(64512,8)', '71', '100')
    assert pair.reloader.wait('reloaded', mark)['way'] == 'fast'
    assert seen(pair.other) == ('', '30', '100')
    assert updates(pair.other) == before
    assert pair.drops() == [0, 0]
