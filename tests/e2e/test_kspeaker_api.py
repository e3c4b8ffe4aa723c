# SPDX-License-Identifier: Apache-2.0
"""maglevc and the dashboard with a maglev-speaker in a real cluster: the Services are its announcements."""
import json
import subprocess
import threading

import lab
import pytest
from lab.dashboard import Dashboard
from lab.kspeaker import KubeSite

EXCLUDE = 'node.kubernetes.io__exclude-from-external-load-balancers'


@pytest.fixture(scope='module')
def site(kube):
    it = KubeSite(kube)
    try:
        it.node(bgp=True)
        it.node()
        it.start_router()
        it.pool()
        it.metal.pool('lan', '10.78.0.128/25')
        it.metal.pool('six', 'fd40::/112')
        it.peer(dualStackAddressFamily=True)
        it.advertise(ipAddressPools=['blue', 'six'])
        it.advertise_l2(ipAddressPools=['lan'])
        for node in it.nodes:
            node.speak('--drain-time', '1s')
        yield it
    finally:
        it.close()


@pytest.fixture
def speaker(site):
    it = site.nodes[0].speaker
    lab.until(lambda: show(it, 'sessions')['sessions'][0]['up'], what='the session')
    return it


def show(speaker, *words):
    return speaker.maglevc().json('show', *words)


def announcement(speaker, name):
    found = [one for one in show(speaker, 'announcements')['announcements'] if one['vip'] == name]
    return found[0] if found else None


def wait_shown(speaker, name, **wanted):
    lab.until(lambda: (one := announcement(speaker, name)) and all(one[key] == value for key, value in wanted.items()),
              what=f'{name} with {wanted}: {announcement(speaker, name)}')
    return announcement(speaker, name)


def test_services_are_announcements(site, speaker):
    name = f'{site.namespace}/web'
    site.service('web', 1, site.nodes)
    site.bird.wait(site.route(1))
    shown = wait_shown(speaker, name, attracts=True, summary='announced to tor')
    assert (shown['address'], shown['state'], shown['reason']) == (site.address(1), 'announced', 'announced')
    assert shown['bgp'] == {'prefix': site.route(1), 'advertisement': 'all', 'peers': ['tor'], 'established': ['tor']}
    text = speaker.maglevc().text('show', 'announcements', name)
    for line in ('advertisement  all', 'established    tor'):
        assert line in text.splitlines(), text
    row = next(line for line in speaker.maglevc().text('show', 'announcements').splitlines() if line.startswith(name))
    assert row.split()[1:3] == [site.address(1), 'announced'] and row.endswith('announced to tor')
    site.endpoints('web', [])
    shown = wait_shown(speaker, name, state='withdrawn', attracts=False)
    assert (shown['reason'], shown['summary']) == ('noEndpoints', 'withdrawn: no endpoint of the Service is ready or serving')
    assert int(shown['transitions']) >= 1
    site.remove('web')
    lab.until(lambda: announcement(speaker, name) is None, what='the Service being gone from the list')


def test_two_families_are_two_announcements(site, speaker):
    name = f'{site.namespace}/dual'
    site.service('dual', None, site.nodes)
    site.metal.pool('mixed', f'{site.range.replace("198.18", "198.19")}.0/24', 'fd41::/112')
    site.metal.change('v1beta1/bgpadvertisements', 'all', ipAddressPools=['blue', 'six', 'mixed'])
    first = f'{site.range.replace("198.18", "198.19")}.1'
    site.assign('dual', first, 'fd41::1')
    wait_shown(speaker, f'{name}/ipv4', address=first, attracts=True)
    wait_shown(speaker, f'{name}/ipv6', address='fd41::1', attracts=True)
    assert announcement(speaker, name) is None
    site.remove('dual')


def test_the_owner_of_an_address_is_shown_on_every_node(site):
    name = f'{site.namespace}/lan'
    site.service('lan', None, site.nodes)
    site.assign('lan', '10.78.0.200')
    site.wait_status('servicel2statuses', 'lan', reason='')
    lab.until(lambda: site.status('servicel2statuses', 'lan')['node'], what='an owner')
    owner = next(node for node in site.nodes if node.name_in_cluster == site.status('servicel2statuses', 'lan')['node'])
    heir = next(node for node in site.nodes if node is not owner)
    shown = wait_shown(owner.speaker, name, attracts=True, summary='announced on all interfaces')
    assert (shown['l2']['state'], shown['l2']['owner'], shown['l2']['group']) == ('owner', owner.name_in_cluster, 'lan')
    assert [one['name'] for one in shown['l2']['members']] == [heir.name_in_cluster]
    shown = wait_shown(heir.speaker, name, attracts=False, summary=f'standby, {owner.name_in_cluster} owns it')
    assert (shown['state'], shown['l2']['state'], shown['l2']['reason']) == ('announced', 'backup', 'outranked')
    site.remove('lan')


def test_the_speaker_and_its_sessions(site, speaker):
    node = site.nodes[0].name_in_cluster
    shown = show(speaker, 'speaker')
    assert (shown['name'], shown['problem'], shown['bgp'], shown['frr']['current']) == (node, '', True, True)
    peer, = show(speaker, 'sessions')['sessions']
    assert (peer['peer'], peer['address'], peer['asn'], peer['state']) == ('tor', site.router.address[4], '64513', 'Established')
    metrics = speaker.metrics()
    assert metrics.one('maglev_speaker_grpc_calls_total', method='GetSpeaker', status='OK') >= 1
    site.metal.make('v1beta2/bgppeers', 'bad', myASN=64999, peerASN=64513, peerAddress='10.78.0.98')
    lab.until(lambda: 'myAsn' in show(speaker, 'speaker')['config_error'], what='the mistake')
    site.metal.remove('v1beta2/bgppeers', 'bad')
    lab.until(lambda: show(speaker, 'speaker')['config_error'] == '', what='no mistake')
    other = site.nodes[1].speaker
    lab.until(lambda: show(other, 'speaker')['problem'] != '', what='a speaker without bgpd saying so')


def test_a_drain_belongs_to_the_node(site, speaker):
    name = f'{site.namespace}/drain'
    site.service('drain', 9, site.nodes)
    wait_shown(speaker, name, attracts=True)
    speaker.maglevc().refused(1, 'exclude-from-external-load-balancers', 'set', 'vip', name, 'drain')
    watch = Watch(speaker.maglevc())  # the drain takes a second, in which a busy machine may not have asked twice
    try:
        watch.wait('the Service', lambda one: one['vip'] == name and one['attracts'])
        site.nodes[0].label(**{EXCLUDE: ''})
        watch.wait('the drain', lambda one: one['vip'] == name and one['state'] == 'draining')
    finally:
        watch.close()
    wait_shown(speaker, name, state='withdrawn', reason='nodeLabeledExcludeBalancers')
    site.nodes[0].label(**{EXCLUDE: None})
    wait_shown(speaker, name, state='announced', attracts=True)


class Watch:
    """Lines of `maglevc watch announcements`."""

    def __init__(self, client):
        self.process = subprocess.Popen([*client.command, '-o', 'json', 'watch', 'announcements'], stdout=subprocess.PIPE, text=True)
        self.lines = []
        threading.Thread(target=lambda: self.lines.extend(map(json.loads, self.process.stdout)), daemon=True).start()

    def of(self, kind):
        return [line[kind] for line in list(self.lines) if kind in line]

    def wait(self, what, holds, kind='announcement'):
        lab.until(lambda: any(holds(one) for one in self.of(kind)), what=what)

    def generation(self):
        return max((int(one['generation']) for one in self.of('speaker')), default=0)

    def after(self, generation):
        """What came with, and after, the first state that is newer."""
        lines = list(self.lines)
        return next((lines[i:] for i, line in enumerate(lines)
                     if 'speaker' in line and int(line['speaker']['generation']) > generation), [])

    def close(self):
        self.process.kill()
        self.process.wait()


def test_a_stream_has_the_state_and_then_what_changes(site, speaker):
    name, watch = f'{site.namespace}/stream', Watch(speaker.maglevc())
    try:
        lab.until(lambda: watch.of('session'), what='the first state')
        first = watch.generation()
        site.service('stream', 20, site.nodes)
        watch.wait('the new Service', lambda one: one['vip'] == name and one['attracts'])
        assert watch.generation() > first
        site.endpoints('stream', [])
        watch.wait('its end', lambda one: one['vip'] == name and one['reason'] == 'noEndpoints')
        before = watch.generation()
        site.remove('stream')
        lab.until(lambda: any('session' in line for line in watch.after(before)), what='a list without it')  # sessions come last
        assert name not in [line['announcement']['vip'] for line in watch.after(before) if 'announcement' in line]
    finally:
        watch.close()


def test_the_dashboard_has_the_services_of_a_node(site, speaker):
    name = f'{site.namespace}/board'
    site.service('board', 30, site.nodes)
    site.bird.wait(site.route(30))
    dashboard = site.add(Dashboard(site.folder(), ['127.0.0.1:1'], args=('--speaker', f'n1=127.0.0.1:{speaker.port_of("grpc")}'),
                                   namespace=site.nodes[0])).start()
    dashboard.wait_speaker('n1')

    def shown():
        return {one['vip']: one for one in dashboard.speaker('n1')['announcements']}.get(name, {})
    lab.until(lambda: shown().get('attracts'), what='the Service in the dashboard')
    assert (shown()['address'], shown()['summary']) == (site.address(30), 'announced to tor')
    site.endpoints('board', [])
    lab.until(lambda: shown().get('reason') == 'noEndpoints', what='why it is not announced')
    site.remove('board')
    lab.until(lambda: not shown(), what='the Service being gone')
