# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker with several maglevds, and over TLS: whose word counts, and for how long."""
import pytest

from lab import Authority, Maglevd, until
from lab.speaker import Servers, Site

STAYS = '198.51.100.99/32'


@pytest.fixture
def site():
    it = Site()
    it.more = []
    yield it
    it.close()
    for servers in it.more:
        servers.close()


def add_maglevd(site, *args):
    """Another one, with servers of its own: (maglevd, servers)."""
    servers = Servers(1)
    site.more.append(servers)
    return site.add(Maglevd(site.folder(), servers.config(), args=args)).start(), servers


def test_all_maglevds_of_a_vip_must_agree(site):
    second, servers = add_maglevd(site)
    port = second.grpc_port()
    speaker = site.speak(frontends=['a/www', 'b/www'], hold='8s', sections={
        'maglevds': {'b': {'address': f'127.0.0.1:{port}'}}, 'vips': {'stays': {'address': '198.51.100.99'}}})
    # one says down
    servers.down(servers.addresses[0])
    site.bird.wait(there=False)
    assert (speaker.vip()['reason'], speaker.vip()['culprit']) == ('frontend-down', 'b/www')
    servers.up(servers.addresses[0])
    site.bird.wait()
    # one is unreachable: what it said last counts, but it is no reason to announce
    second.kill()
    speaker.wait_vip(state='announced', reason='maglevd-unreachable', culprit='b/www')
    site.all_down()
    site.bird.wait(there=False)
    assert (speaker.vip()['reason'], speaker.vip()['culprit']) == ('frontend-down', 'a/www')
    site.servers.up(site.servers.addresses[0])
    speaker.wait_vip(state='withdrawn', reason='maglevd-lost', culprit='b/www')
    assert site.bird.route() is None
    assert [one['reachable'] for one in speaker.vip()['frontends']] == [True, False]
    assert 'refused' in speaker.maglevd('b')['error'].lower() and not speaker.maglevd('b')['connected']
    # it comes back
    site.restart_maglevd(port, second)
    site.bird.wait()
    speaker.wait_vip(state='announced', reason='frontend-up')
    assert site.bird.history() == ['added', 'removed', 'added', 'removed', 'added']
    assert site.bird.history(STAYS) == ['added']


def test_a_maglevd_that_was_never_reached_announces_nothing(site):
    speaker = site.speak(sections={'maglevds': {'b': {'address': '127.0.0.1:1'}}, 'vips': {
        'stays': {'address': '198.51.100.99', 'frontends': ['a/www', 'b/www'], 'hold': '1s'}}})
    speaker.wait_vip('stays', state='withdrawn', reason='maglevd-lost', culprit='b/www')
    assert site.bird.history(STAYS) == [] and site.bird.history() == ['added']


def test_tls_with_certificates_on_both_sides(site, tmp_path_factory):
    """A connection that fails is a maglevd that is not reachable: held, then withdrawn, and the state says why."""
    ours, others = (Authority(tmp_path_factory.mktemp('authority'), 'localhost') for _ in range(2))
    client, stranger = ours.issue('client', 'speaker'), others.issue('client', 'speaker')

    def maglevd(pair):
        return add_maglevd(site, '--grpc-tls-cert', pair[0], '--grpc-tls-key', pair[1], '--grpc-client-ca', ours.ca)[0]

    def entry(of, pair=client, ca=ours.ca):
        return {'address': f'localhost:{of.grpc_port()}', 'ca': ca,
                **({'certificate': pair[0], 'key': pair[1]} if pair else {})}

    good, expired, wrong = (maglevd(pair) for pair in (ours.good, ours.expired, ours.wrong_name))
    speaker = site.speak(sections={'maglevds': {'a': entry(good)}})
    assert speaker.maglevd()['connected']
    for change, why in ((entry(good, ca=others.ca), 'certificate'), (entry(expired), 'expired'), (entry(wrong), 'name'),
                        (entry(good, pair=None), 'certificate'), (entry(good, pair=stranger), 'unknown ca'),
                        ({'address': f'localhost:{good.grpc_port()}'}, '')):
        speaker.sections['maglevds'] = {'a': change}
        since = speaker.reload(hold='1h')
        assert why in speaker.wait('maglevd-lost', since, maglevd='a')['reason'].lower()
        speaker.wait_vip(state='announced')
        until(lambda: why in speaker.maglevd()['error'].lower(), what=f'an error with {why}')
    assert site.bird.history() == ['added']
    speaker.reload(hold='1s')
    site.bird.wait(there=False)
    assert speaker.vip()['reason'] == 'maglevd-lost'
    speaker.sections['maglevds'] = {'a': entry(good)}
    speaker.reload(hold='1s')
    site.bird.wait()
    speaker.wait_vip(state='announced', reason='frontend-up')
