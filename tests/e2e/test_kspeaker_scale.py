# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker in numbers: Services in bursts, and many speakers that write no more than they must.

`make test-speakers` runs these stories with 1,000 Services and 100 speakers.
"""
import collections
import os
import time
import uuid

import lab
import pytest
from lab.kspeaker import KubeSite, KubeSpeaker
from lab.metal import PEERS
from lab.programs import RELEASE

SPEAKERS = int(os.environ.get('SPEAKERS', 6))
BURST, ROUNDS = int(os.environ.get('SERVICES', 200)), 3
GROWTH = 1.15  # of the resident memory between the first round and the last
PATIENCE = 120


@pytest.fixture
def site(kube):
    it = KubeSite(kube)
    yield it
    it.close()


def objects(site, node):
    """Services with an address and an endpoint each, as the storage has them. No uid is used twice: owners are found by it."""
    made = {}

    def metadata(name, **more):
        return {'name': name, 'namespace': site.namespace, 'uid': str(uuid.uuid4()), 'creationTimestamp': '2026-01-01T00:00:00Z', **more}
    for i in range(BURST):
        made[f'/registry/services/specs/{site.namespace}/s{i}'] = {
            'apiVersion': 'v1', 'kind': 'Service', 'metadata': metadata(f's{i}'),
            'spec': {'type': 'LoadBalancer', 'clusterIP': 'None', 'clusterIPs': ['None'], 'ipFamilies': ['IPv4'],
                     'ports': [{'port': 80, 'protocol': 'TCP', 'targetPort': 80}]},
            'status': {'loadBalancer': {'ingress': [{'ip': f'198.19.{i // 250}.{i % 250 + 1}'}]}}}
        made[f'/registry/endpointslices/{site.namespace}/s{i}'] = {
            'apiVersion': 'discovery.k8s.io/v1', 'kind': 'EndpointSlice', 'addressType': 'IPv4',
            'metadata': metadata(f's{i}', labels={'kubernetes.io/service-name': f's{i}'}), 'ports': [{'port': 80}],
            'endpoints': [{'addresses': ['10.0.0.1'], 'nodeName': node.name_in_cluster, 'conditions': {'ready': True}}]}
    return made


def test_services_come_and_go_without_a_trace(site):
    """Memory is flat, FRR is asked a few times, and no status is left."""
    node = site.node(bgp=True)
    site.start_router()
    site.metal.pool('wide', '198.19.0.0/16')
    site.peer()
    site.advertise()
    speaker = node.speak('--api-rate', '3000', build=RELEASE)
    sizes, times = [], []
    for _ in range(ROUNDS):
        burst = objects(site, node)
        since = time.monotonic()
        site.kube.put_each(burst)
        lab.until(lambda: site.bird.count() == BURST, PATIENCE, 'all routes')
        times.append(time.monotonic() - since)
        name = 'metallb_speaker_announced'
        assert len(speaker.metrics().of(name)) == BURST
        lab.until(lambda: speaker.metrics().one('maglev_speaker_kube_objects', kind='servicebgpstatuses') == BURST, PATIENCE, 'all statuses')
        site.kube.remove_each(burst)
        lab.until(lambda: site.bird.count() == 0, PATIENCE, 'no route')
        lab.until(lambda: speaker.metrics().one('maglev_speaker_kube_objects', kind='servicebgpstatuses') == 0, PATIENCE, 'no status')
        lab.until(lambda: speaker.metrics().sum('maglev_speaker_queue_keys') == 0, PATIENCE, 'an empty queue')
        sizes.append(speaker.rss())
    metrics = speaker.metrics()
    print(f'{BURST} services at the router after {min(times):.1f} s; resident {[size >> 20 for size in sizes]} MiB; '
          f'{metrics.one("maglev_speaker_frr_applies_total"):.0f} applies')
    assert sizes[-1] < sizes[0] * GROWTH
    changes = 2 * ROUNDS * BURST  # each Service is announced and withdrawn in a round
    assert metrics.one('maglev_speaker_frr_applies_total') < changes / 2  # those that come while FRR is asked go together


def test_many_speakers_write_what_they_must(site):
    """Each object once, and nothing while nothing changes but Leases."""
    site.metal.pool('wide', '198.19.0.0/16')
    site.metal.make(PEERS, 'tor', myASN=64512, peerASN=64513, peerAddress='10.78.0.1')
    site.advertise()
    speakers, nodes = [], [site.plain_node(f'n{i}-{site.tag}') for i in range(SPEAKERS)]
    for node in nodes:
        speaker = site.add(KubeSpeaker(site.folder(), site, node, build=RELEASE, level='info'))
        speakers.append(speaker.start())
    for speaker in speakers:
        speaker.wait_ready()

    def written():
        return sum(speaker.metrics().sum('maglev_speaker_status_writes_total') for speaker in speakers)

    def settled(n):
        lab.until(lambda: written() == n, PATIENCE, f'{n} writes of statuses')
        return collections.Counter(one[:2] for one in site.writes(refused=False) if one[1] != 'secrets')

    # a ConfigurationState, a BGPSessionStatus and a BGPSessionState for each node, each created and given a status
    start = settled(6 * SPEAKERS)
    assert set(start.values()) == {SPEAKERS}, start
    # slices and Services are watched by themselves: a Service whose address comes first has a status of its own for that
    slices = [speaker.metrics().one('maglev_speaker_kube_objects', kind='endpointslices') for speaker in speakers]
    for i in range(10):
        site.service(f's{i}', None, nodes[:1])
    for speaker, before in zip(speakers, slices):
        speaker.wait_metric('maglev_speaker_kube_objects', before + 10, kind='endpointslices')
    for i in range(10):
        site.assign(f's{i}', f'198.19.0.{i + 1}')
    after = settled(26 * SPEAKERS) - start
    lab.until(lambda: sum(1 for one in site.writes(refused=False) if one[1] == 'events') == 10 * SPEAKERS, PATIENCE, 'an event for each')
    assert after[('create', 'servicebgpstatuses')] == after[('patch', 'servicebgpstatuses')] == 10 * SPEAKERS
    before = len(site.writes())
    # changes that change nothing: another endpoint, a status of a node, a label
    for i in range(10):
        site.endpoints(f's{i}', nodes[:2])
    site.kube.patch(f'/api/v1/nodes/{nodes[0].name_in_cluster}/status', {'status': {'conditions': [{'type': 'Ready', 'status': 'True'}]}})
    site.kube.patch(f'/api/v1/namespaces/{site.namespace}/services/s0', {'metadata': {'labels': {'colour': 'blue'}}})
    renewed = len(site.kube.audit(site.user))
    lab.until(lambda: len(site.kube.audit(site.user)) >= renewed + SPEAKERS, PATIENCE, 'a Lease of each')
    assert len(site.writes()) == before
    print(f'{SPEAKERS} speakers: {before / SPEAKERS:.1f} writes each for 10 services, then none but Leases; '
          f'the server refused {before - len(site.writes(refused=False))} at first')
