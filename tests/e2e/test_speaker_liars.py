# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker with peers that lie, flood, break off or say nothing: other peers and the VIPs are not affected."""
import json

import pytest

from lab import until
from lab.bgp import KEEPALIVE, BgpPeer, attribute, attributes, message, open_message, prefix, update, updates
from lab.speaker import ROUTE, Site

STAYS = '198.51.100.99/32'
FLOOD = 10000


def claim(peer):
    """Says that the VIP is its own, and all that is around it."""
    peer.establish()
    peer.send(*updates(peer.asn, peer.address, [ROUTE, STAYS, '198.51.100.0/24', '0.0.0.0/0']))
    peer.stay()


def flood(peer):
    peer.establish()
    peer.send(*updates(peer.asn, peer.address, (f'100.64.{n >> 8}.{n & 255}/32' for n in range(FLOOD))))
    peer.stay()


def bad_version(peer):
    peer.read()
    peer.send(open_message(peer.asn, peer.address, version=3))
    peer.stay()


def other_as(peer):
    peer.read()
    peer.send(open_message(peer.asn - 1000, peer.address), message(KEEPALIVE))
    peer.stay()


def bad_update(peer):
    """An attribute is cut off."""
    peer.establish()
    broken = attributes(peer.asn, peer.address)[:-1]
    peer.send(update(broken, prefix('192.0.2.0/24')))
    peer.stay()


def bad_path(peer):
    """Its AS path is of an unknown kind."""
    peer.establish()
    attrs = attribute(1, b'\0') + attribute(2, b'\x09\x01\0\0\0\x01') + attribute(3, b'\x0a\0\0\x02')
    peer.send(update(attrs, prefix('192.0.2.0/24')))
    peer.stay()


def no_bgp(peer):
    peer.send(b'HTTP/1.1 400 Bad Request\r\n\r\n')
    peer.stay()


def resets(peer):
    peer.establish()
    peer.pause(1)
    peer.reset()


def no_keepalives(peer):
    peer.establish(hold=3)
    while True:
        peer.read()


def silent(peer):
    while True:
        peer.read()


# what FRR says about it; None: the session stays
LIARS = {
    'claim': (claim, None),
    'flood': (flood, None),
    'bad-version': (bad_version, 'OPEN Message Error/Unsupported Version Number'),
    'other-as': (other_as, 'OPEN Message Error/Bad Peer AS'),
    'bad-update': (bad_update, 'UPDATE Message Error/Attribute Length Error'),
    'bad-path': (bad_path, 'UPDATE Message Error/'),
    'no-bgp': (no_bgp, 'Message Header Error/Connection Not Synchronized'),
    'resets': (resets, 'Peer closed the session'),
    'no-keepalives': (no_keepalives, 'Hold Timer Expired'),
    'silent': (silent, 'Hold Timer Expired'),
}


@pytest.fixture(scope='module')
def site():
    """One balancer, one peer that is what it says, and all others."""
    addresses = {name: f'10.0.0.{n}' for n, name in enumerate(LIARS, 20)}
    it = Site(addresses=[f'{address}/24' for address in addresses.values()])
    it.liars = {name: BgpPeer(it.names[1], addresses[name], 65000 + n, play) for n, (name, (play, _))
                in enumerate(LIARS.items())}
    # sessions that stay are of threads of this process, which may get no processor for a time
    peers = {name: {'address': one.address, 'asn': one.asn, 'connect-time': '1s', 'hold-time': '3s' if LIARS[name][1] else '30s'}
             for name, one in it.liars.items()}
    it.speak(sections={'peers': peers, 'vips': {'stays': {'address': '198.51.100.99'}}})
    it.bird.wait(STAYS)
    yield it
    for one in it.liars.values():
        one.close()
    it.close()


def established(site):
    return {session['peer'] for session in site.speaker.sessions() if session['up']}


@pytest.mark.parametrize('name', [name for name, (_, why) in LIARS.items() if why])
def test_a_session_that_fails_says_why(site, name):
    until(lambda: LIARS[name][1] in site.speaker.session(name)['last_error'], what=f'the reason of {name}')


@pytest.mark.parametrize('name', ['claim', 'flood', 'tor'])
def test_a_session_that_never_ended_has_no_reason(site, name):
    site.speaker.wait_session(name, up=True, last_error='')


def test_nothing_of_a_peer_is_taken_or_passed_on(site):
    until(lambda: {'claim', 'flood', 'tor'} <= established(site), what='sessions with liars')

    def heard(name):
        return json.loads(site.frr.ask(f'show bgp neighbors {site.liars[name].address} json')
                          )[site.liars[name].address]['messageStats']['updatesRecv']

    until(lambda: heard('claim') >= 1 and heard('flood') >= 13, what='updates of the liars')
    until(lambda: site.liars['resets'].sessions >= 2, what='a second session with one that resets')
    assert set(json.loads(site.frr.ask('show bgp ipv4 unicast json'))['routes']) == {ROUTE, STAYS}
    assert not json.loads(site.frr.ask('show ip route bgp json', 'zebra'))
    assert set(site.bird.routes('master4')) == {ROUTE, STAYS}
    path, = json.loads(site.frr.ask(f'show bgp ipv4 unicast {ROUTE} json'))['paths']
    assert path['sourced'] and path['bestpath']['overall']


def test_the_other_peer_sees_only_the_frontend(site):
    speaker = site.speaker
    site.all_down()
    site.bird.wait(there=False)
    site.servers.up(site.servers.addresses[0])
    site.bird.wait()
    assert site.bird.history() == ['added', 'removed', 'added']
    assert site.bird.history(STAYS) == ['added']
    assert not speaker.all('session-down', peer='tor') and speaker.session()['up']
    assert {vip['state'] for vip in speaker.vips()} == {'announced'}
    assert speaker.frr().failures == 0
    dropped = json.loads(site.frr.ask('show bgp neighbors 10.0.0.2 json'))['10.0.0.2']['connectionsDropped']
    assert dropped == 0


def test_memory_does_not_grow_with_what_peers_send(site):
    """Each answer about the sessions is read and dropped."""
    speaker = site.speaker
    rss = speaker.rss()
    sessions = site.liars['resets'].sessions
    until(lambda: site.liars['resets'].sessions >= sessions + 2, what='two more sessions')
    assert speaker.rss() - rss < 4 << 20
