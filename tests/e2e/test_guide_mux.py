# SPDX-License-Identifier: Apache-2.0
"""docs/guide/from-svc-lb-mux.md as it stands, on a real API server: what the original has left is adopted, and every port stays."""
import json
import os

from lab import Daemon, until
from lab.mux import hashed
from lab.programs import ROOT

PREFIX, KOPF = 'svc-mux.nowake.ai', 'kopf.zalando.org/last-handled-configuration'
CHANNELS = {'api': ('http:80->20003', 20003, 'auto'), 'web': ('http:80->80', 80, 'static')}
OLD = {'metadata': {'name': 'svc-mux'}, 'spec': {'replicas': 1, 'selector': {'matchLabels': {'app': 'old'}}, 'template': {
    'metadata': {'labels': {'app': 'old'}}, 'spec': {'containers': [{'name': 'c', 'image': 'none'}]}}}}


def left_behind(kube):
    """The objects as the original leaves them, when it was stopped without being removed."""
    for name in ('svc-mux', 'app'):
        kube.do('POST', '/api/v1/namespaces', {'metadata': {'name': name}})
    meta = {'finalizers': [f'{PREFIX}/finalizer', 'example.com/other'], 'annotations': {KOPF: '{}'}}
    claims = [{'namespace': 'app', 'service': name, 'portName': 'http', 'protocol': 'TCP', 'channelPort': 80, 'muxPort': number, 'port': number,
               'source': source} for name, (_, number, source) in CHANNELS.items()]
    state = {'schemaVersion': 1, 'mux': {'namespace': 'svc-mux', 'name': 'mux'}, 'portClaims': claims, 'allocations': claims[:1]}
    kube.do('POST', '/api/v1/namespaces/svc-mux/configmaps', {
        'metadata': {'name': 'mux-port-allocations', 'annotations': {f'{PREFIX}/mux': 'svc-mux/mux'},
                     'labels': {'app.kubernetes.io/name': 'svc-lb-mux', 'app.kubernetes.io/component': 'mux-state'}},
        'data': {'allocations.json': json.dumps(state, indent=2, sort_keys=True)}})
    ports = [{'name': hashed('app', name, 'http'), 'port': number, 'protocol': 'TCP'} for name, (_, number, _) in CHANNELS.items()]
    kube.do('POST', '/api/v1/namespaces/svc-mux/services', {
        'metadata': {'name': 'mux', **meta, 'annotations': {**meta['annotations'], f'{PREFIX}/multiplexer': 'true', f'{PREFIX}/port-range': '20000-20099'}},
        'spec': {'type': 'LoadBalancer', 'ports': ports}})
    for name, (shown, _, source) in CHANNELS.items():
        notes = {**meta['annotations'], f'{PREFIX}/ports': shown, **({f'{PREFIX}/external-ports': 'http:auto'} if source == 'auto' else {})}
        kube.do('POST', '/api/v1/namespaces/app/services', {
            'metadata': {'name': name, **meta, 'annotations': notes},
            # a class without a namespace: that of the controller counts
            'spec': {'type': 'LoadBalancer', 'loadBalancerClass': f'{PREFIX}/mux', 'selector': {'app': name}, 'allocateLoadBalancerNodePorts': False,
                     'ports': [{'name': 'http', 'port': 80}]}})
    kube.do('POST', '/apis/apps/v1/namespaces/svc-mux/deployments', OLD)
    return {port['name']: (port['port'], port.get('nodePort')) for port in mux(kube)['spec']['ports']}


def mux(kube):
    return kube.do('GET', '/api/v1/namespaces/svc-mux/services/mux')


def finalizers(kube):
    return {tuple(kube.do('GET', f'/api/v1/namespaces/{path}').get('metadata').get('finalizers', ())) for path in
            ('svc-mux/services/mux', 'app/services/api', 'app/services/web')}


def test_what_the_original_left_is_adopted(kube, desk, running, folders):
    had = left_behind(kube)
    home = desk(kube.netns, env={'KUBECONFIG': kube.kubeconfig()})
    home.link('deploy', os.path.join(ROOT, 'deploy'))
    said = home.run('from-svc-lb-mux.md#see-what-is-there')
    assert 'http:80->20003' in said and f'{PREFIX}/finalizer' in said and 'mux-port-allocations' in said
    with home.started('from-svc-lb-mux.md#see-what-would-change') as plan:
        until(lambda: home.read('started').count('would-write') >= 3, what='the plan')
        assert plan.poll() is None
    assert 'api' in home.read('started')
    assert finalizers(kube) == {(f'{PREFIX}/finalizer', 'example.com/other')}, 'a plan changes nothing'
    home.run('from-svc-lb-mux.md#change')
    home.run('from-svc-lb-mux.md#change/2')
    assert kube.do('GET', '/apis/apps/v1/namespaces/svc-mux/deployments/svc-mux')['spec']['replicas'] == 0
    token = kube.token('maglev-system', 'maglev-mux', 3600)
    program = running(Daemon(folders(), 'maglev-mux', f'--kubeconfig={kube.kubeconfig(name="mux", credentials={"token": token}, namespace="maglev-system")}',
                             '--default-mux-namespace=svc-mux', '--debug-web=false', namespace=kube.netns)).start()
    program.wait('active')
    until(lambda: finalizers(kube) == {('example.com/other',)}, what='the finalizers going')
    assert {port['name']: (port['port'], port.get('nodePort')) for port in mux(kube)['spec']['ports']} == had
    assert KOPF not in mux(kube)['metadata']['annotations']
    after = home.run('from-svc-lb-mux.md#change/3')
    assert 'same\n' in after and f'{PREFIX}/finalizer' not in after and 'http:80->20003' in after
