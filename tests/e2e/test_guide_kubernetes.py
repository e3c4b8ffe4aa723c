# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/guide/kubernetes.md, with helm and kubectl on a real API server: installed, upgraded, removed, and installed
again from the plain manifests. test_helm_install.py runs the programs."""
import os

import pytest

from lab import helm
from lab.gateway import apply_crds
from lab.guide import example
from lab.kube import Kube
from lab.programs import ROOT

PROGRAMS = {'deployment.apps/controller', 'daemonset.apps/maglev-speaker'}


@pytest.fixture
def kube(tmp_path):
    it = Kube(tmp_path)
    try:
        yield it.start()
    finally:
        it.close()


@pytest.fixture
def home(desk, kube):
    it = desk(kube.netns)
    it.link('.kube/config', kube.kubeconfig())
    it.link('deploy', os.path.join(ROOT, 'deploy'))
    os.symlink(helm.program(), os.path.join(it.bin, 'helm'))
    return it


def programs(home):
    return set(home.say('kubectl -n metallb-system get deployments,daemonsets -o name').split())


def test_the_page(kube, home):
    home.run('kubernetes.md#with-helm')
    assert programs(home) == PROGRAMS
    kube.do('POST', '/api/v1/nodes', {'metadata': {'name': 'node1'}})
    home.run('kubernetes.md#with-helm/2', {'NODE': 'node1'})
    assert home.say('kubectl get nodes -l maglev.dev/speaker=true -o name').split() == ['node/node1']
    apply_crds(kube)  # the Gateway API's own, first
    home.put('values.yaml', example('kubernetes.md', 'with-helm'))
    home.say('helm upgrade maglev deploy/helm/maglev --namespace metallb-system --values values.yaml')
    everything = programs(home)
    assert {'daemonset.apps/maglevd', 'deployment.apps/maglev-mux'} < everything
    home.run('kubernetes.md#upgrading')
    assert programs(home) == everything
    home.run('kubernetes.md#removing')
    assert programs(home) == set()
    assert 'ipaddresspools.metallb.io' in home.say('kubectl get crds -o name')
    home.run('kubernetes.md#with-plain-manifests')
    assert programs(home) == PROGRAMS
