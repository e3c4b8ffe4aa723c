# SPDX-License-Identifier: Apache-2.0
"""The commands of the pages about clusters, with kubectl on a real API server: from MetalLB, the Gateway API, the mux, and Services on
the Maglev data plane. The cluster has no kubelets: a thread of the story says that pods are ready."""
import contextlib
import os
import threading

import pytest

from lab import until
from lab.gateway import apply_crds
from lab.guide import block, example
from lab.kspeaker import KubeSite
from lab.kube import Kube
from lab.metal import SHIPPED, Metal
from lab.programs import ROOT

# what MetalLB's manifests have made
METALLB = '''
kubectl create namespace metallb-system --dry-run=client -o yaml | kubectl apply -f -
kubectl -n metallb-system create serviceaccount speaker
kubectl -n metallb-system create role pod-lister --verb=list --resource=pods
kubectl -n metallb-system create rolebinding pod-lister --role=pod-lister --serviceaccount=metallb-system:speaker
kubectl create clusterrole metallb-system:speaker --verb=get --resource=services
kubectl create clusterrolebinding metallb-system:speaker --clusterrole=metallb-system:speaker --serviceaccount=metallb-system:speaker
kubectl apply -f - <<END
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: speaker, namespace: metallb-system }
spec:
  selector: { matchLabels: { app: metallb } }
  template:
    metadata: { labels: { app: metallb } }
    spec: { containers: [{ name: speaker, image: none }] }
END
'''


class Kubelets:
    """Starts every pod of a namespace at once, and ends it at once."""

    def __init__(self, kube, namespace):
        self.kube, self.place, self.over = kube, f'/api/v1/namespaces/{namespace}/pods', threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while not self.over.wait(0.1):
            for pod in self.kube.do('GET', self.place)['items']:
                path = f'{self.place}/{pod["metadata"]["name"]}'
                if 'deletionTimestamp' in pod['metadata']:
                    self.kube.ask('DELETE', f'{path}?gracePeriodSeconds=0')
                elif pod['status']['phase'] == 'Pending':
                    self.kube.ask('PATCH', path + '/status', {'status': {'phase': 'Running', 'conditions': [
                        {'type': 'Ready', 'status': 'True'}]}}, kind='application/merge-patch+json')

    def close(self):
        self.over.set()
        self.thread.join()


@pytest.fixture(scope='module')
def kube(tmp_path_factory):
    it = Kube(tmp_path_factory.mktemp('kube'), controllers=('daemonset-controller',))
    try:
        yield it.start()
    finally:
        it.close()


@pytest.fixture
def admin(desk, kube):
    """A shell with the kubeconfig of an administrator, in a checkout."""
    def admin(namespace='default'):
        it = desk(kube.netns)
        it.link('.kube/config', kube.kubeconfig(name=f'kubeconfig-{namespace}', namespace=namespace))
        it.link('deploy', os.path.join(ROOT, 'deploy'))
        return it
    return admin


def test_from_metallb(kube, admin):
    admin().say(METALLB)
    metal = Metal(kube, SHIPPED).install()
    metal.apply('speaker')
    site = KubeSite(kube, metal)
    home = admin(site.namespace)
    with contextlib.closing(site), contextlib.closing(Kubelets(kube, SHIPPED)):
        node = site.node(bgp=True)
        home.run('from-metallb.md#bgp-one-node-after-the-other')
        site.start_router()
        site.pool()
        site.peer()
        site.advertise()
        node.speak()
        site.service('web', 1, site.nodes)
        site.bird.wait(site.route(1))
        home.run('from-metallb.md#bgp-one-node-after-the-other/2', {'NODE': node.name_in_cluster})
        site.bird.wait(site.route(1))
        with home.started('from-metallb.md#the-controller'):
            until(lambda: 'would-write' in home.read('started'), what='what the controller would write')
        until(lambda: 'web' in home.say('kubectl get servicebgpstatuses -A'), what='a status of the Service')
        assert node.name_in_cluster in home.run('from-metallb.md#why-is-my-service-not-announced', {'NAME': 'web'})
        assert 'Established' in home.run('from-metallb.md#afterwards')
        assert 'daemonset.apps "speaker" deleted' in home.run('from-metallb.md#afterwards/2')


def test_a_service_on_the_data_plane(kube, admin):
    """test_cluster_dataplane.py has what follows from it"""
    home = admin(kube.namespace())
    home.say('kubectl create service loadbalancer web --tcp=80')
    home.run('cluster-dataplane.md#services-on-the-maglev-data-plane')
    assert 'maglev.dev/data-plane: maglev' in home.say('kubectl get service web -o yaml')


def test_the_gateway_api(kube, admin, authority):
    apply_crds(kube)
    home = admin()
    home.put('shop.yaml', example('gateway.md', 'set-up'))
    home.say('kubectl create namespace shop && kubectl apply -f shop.yaml && kubectl -n shop create service clusterip shop --tcp=80')
    home.say(f'kubectl -n shop create secret tls shop-tls --cert={authority.good[0]} --key={authority.good[1]}')
    assert 'shop' in home.run('gateway.md#why-does-a-request-not-arrive')


def test_the_debug_page_of_the_mux(kube, admin):
    """A port cannot be forwarded without kubelets; the pod is found"""
    home = admin()
    home.say('kubectl create namespace maglev-system && kubectl apply -f deploy/kubernetes/mux')
    until(lambda: kube.ask('GET', '/api/v1/namespaces/maglev-system/serviceaccounts/default')[0] == 200, what='the account of the pod')
    kube.pod('maglev-system', 'mux', '10.244.0.9', labels={'app.kubernetes.io/name': 'maglev-mux'}, ports=[{'containerPort': 8080}])
    home.run('mux.md#the-debug-page')
    home.say(block('mux.md#the-debug-page/2'), 1)
