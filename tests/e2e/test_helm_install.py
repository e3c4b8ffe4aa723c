# SPDX-License-Identifier: Apache-2.0
"""The chart on a real API server: installed, upgraded and removed by Helm. The programs run with the accounts that it made, confined as
its pods say (lab/confined.py), and do their work without a single refusal; with one right less they are refused, and the audit log says so."""
import json
import os
import re
import secrets
import shutil
import subprocess
import tempfile

import lab
import pytest
from lab.confined import prefix
from lab.gateway import GROUP, apply_crds
from lab.helm import CHART, EVERYTHING, Helm
from lab.kplane import ANNOTATION
from lab.kube import AUDIT, Kube
from lab.metal import POOLS, Metal
from lab.mux import Muxes
from lab.programs import ROOT, program

RIGHTS = '/apis/rbac.authorization.k8s.io/v1'
HOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/metallb-webhook-configuration'
BGPPEERS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bgppeers.metallb.io'
NO_LEAKS = {'ASAN_OPTIONS': 'detect_leaks=0'}  # it would trace the process, which a file with rights forbids


@pytest.fixture(scope='module')
def kube():
    """What accounts read is in the audit log, too. Its folder may be read by every user, as kubeconfigs are in it."""
    folder = tempfile.mkdtemp(prefix='maglev-story.')
    os.chmod(folder, 0o755)
    it = Kube(folder, apiserver=[f'--audit-policy-file={folder}/accounts.yaml'])
    it.write('accounts.yaml', {**AUDIT, 'rules': [{'level': 'Metadata', 'userGroups': ['system:serviceaccounts']}, *AUDIT['rules']]})
    try:
        yield it.start()
    finally:
        it.close()
        shutil.rmtree(folder)


class Release:
    """The chart with all programs, in a namespace of its own."""

    def __init__(self, kube, helm):
        self.kube, self.helm, self.namespace = kube, helm, kube.namespace('maglev')
        self.metal = Metal(kube, self.namespace)

    def call(self, *words, **how):
        return self.helm.do(*words, f'--namespace={self.namespace}', kubeconfig=self.kube.kubeconfig(), namespace=self.kube.netns, **how)

    def install(self):
        said = self.call('install', 'maglev', CHART, values=EVERYTHING)
        self.hook = self.kube.do('GET', self.metal.service_path('metallb-webhook-service'))['spec']['clusterIP']
        # kube-proxy's part: the address of the Service, and its port for a program without rights
        self.kube.netns.run('ip', 'address', 'add', f'{self.hook}/32', 'dev', 'lo')
        self.kube.netns.sysctl(ipv4__ip_unprivileged_port_start=443)
        return said

    def objects(self, group, plural):
        found = self.kube.do('GET', f'/{group}/namespaces/{self.namespace}/{plural}')['items']
        return {one['metadata']['name']: one for one in found}

    def pods(self):
        return {name: one['spec']['template']['spec'] for kind in ('deployments', 'daemonsets')
                for name, one in self.objects('apis/apps/v1', kind).items()}

    def confined(self, pod, container, *volumes):
        return {'prefix': prefix(self.pods()[pod], container, *volumes), 'namespace': self.kube.netns}

    def refused(self, account):
        """(verb, resource) of everything that was refused for want of a right."""
        self.kube.writes_settled()
        return [(line['verb'], line['objectRef'].get('resource')) for line in self.kube.audit(f'system:serviceaccount:{self.namespace}:{account}')
                if line.get('responseStatus', {}).get('code') == 403]


@pytest.fixture(scope='module')
def release(kube, tmp_path_factory):
    it = Release(kube, Helm(tmp_path_factory.mktemp('helm')))
    apply_crds(kube)
    it.said = it.install()
    return it


# ---- the work of each program: makes objects, starts it, and returns a question whether it has done its work ----


def controller(release, start, _folders, _running):
    metal, name = release.metal, f's-{secrets.token_hex(3)}'
    start('maglev-controller', '--kubeconfig', metal.kubeconfig(), '--lb-class', metal.lb_class, '--lease-duration=3s', '--webhook-addr',
          f'{release.hook}:443', **release.confined('controller', 'controller')).port_of('webhook')
    lab.until(lambda: bundles(release)[0] and len(set(bundles(release))) == 1, what='the caBundle being written')
    if metal.ask('GET', POOLS, 'blue')[0] == 404:
        # the API server trusts the webhook as soon as its own copy of the caBundle is as new
        lab.until(lambda: metal.ask('POST', POOLS, body=metal.body(POOLS, 'blue', addresses=['192.0.2.0/24']))[0] == 201, what='the pool')
    metal.service(name)
    return lambda: metal.addresses(name) and (metal.status('configurationstates', 'controller') or {}).get('result') == 'Valid'


def speaker(release, start, folders, _running):
    node, folder, metal = release.kube.node(f'node-{secrets.token_hex(3)}'), folders(), release.metal
    start('maglev-speaker', '--kubernetes', '--node-name', node, '--namespace', release.namespace, '--kubeconfig', metal.kubeconfig('maglev-speaker'),
          '--vty-dir', f'{folder}/none', '--frr-conf', f'{folder}/frr.conf', '--reloader-socket', f'{folder}/none.sock', '--status-interval=200ms',
          '--grpc-addr=127.0.0.1:0', ready=False, **release.confined('maglev-speaker', 'speaker', folder))
    return lambda: (metal.status('configurationstates', f'speaker-{node}') or {}).get('result') == 'Valid'


def maglevd(release, _start, folders, running):
    kube, metal, name = release.kube, release.metal, f's-{secrets.token_hex(3)}'
    node = kube.node(f'node-{secrets.token_hex(3)}')
    kube.patch(f'/api/v1/nodes/{node}/status', {'status': {'addresses': [{'type': 'InternalIP', 'address': '10.9.0.1'}]}})
    metal.service(name, annotations=ANNOTATION, externalTrafficPolicy='Local')
    kube.patch(metal.service_path(name) + '/status', {'status': {'loadBalancer': {'ingress': [{'ip': '198.51.100.9'}]}}})
    kube.apply(f'/apis/discovery.k8s.io/v1/namespaces/{release.namespace}/endpointslices/{name}', {
        'apiVersion': 'discovery.k8s.io/v1', 'kind': 'EndpointSlice', 'addressType': 'IPv4', 'ports': [{'port': 80}],
        'metadata': {'name': name, 'labels': {'kubernetes.io/service-name': name}},
        'endpoints': [{'addresses': ['10.244.0.1'], 'nodeName': node, 'conditions': {'ready': True}}]})
    it = running(lab.Maglevd(folders(), {'maglev': {'dataplane': 'none'}}, **release.confined('maglevd', 'maglevd'), args=(
        '--kubernetes', '--node-name', node, '--kubeconfig', metal.kubeconfig('maglevd')))).start(ready=False)

    def serves():
        if not any(line['for'] == 'metrics' for line in it.all('listening')):
            return False
        it.port = it.port_of('metrics')
        return any(name in labels['frontend'] for labels, _ in it.metrics().of('maglev_frontend_pool_backend_weight'))
    return serves


def gateway(release, start, folders, _running):
    kube, name, token = release.kube, f'g-{secrets.token_hex(3)}', f'{folders()}/token'
    with open(token, 'w', encoding='ascii') as file:
        file.write('secret\n')
    kube.do('POST', f'{GROUP}/namespaces/{release.namespace}/gateways', {
        'apiVersion': 'gateway.networking.k8s.io/v1', 'kind': 'Gateway', 'metadata': {'name': name},
        'spec': {'gatewayClassName': 'maglev', 'listeners': [{'name': 'http', 'protocol': 'HTTP', 'port': 80}]}})
    start('maglev-gateway', '--kubeconfig', release.metal.kubeconfig('maglev-gateway'), f'--router-service={release.namespace}/maglev-router',
          '--router-token-file', token, '--address-pool=198.51.100.0/28', '--lease-duration=3s', **release.confined('maglev-gateway', 'gateway'))

    def accepted(path):
        conditions = kube.do('GET', f'{GROUP}/{path}').get('status', {}).get('conditions', ())
        return any(one['type'] == 'Accepted' and one['status'] == 'True' for one in conditions)
    return lambda: accepted('gatewayclasses/maglev') and accepted(f'namespaces/{release.namespace}/gateways/{name}')


def mux(release, _start, folders, running):
    world = Muxes(release.kube, running, folders, release.namespace)
    one, other = world.mux(f'm-{secrets.token_hex(3)}'), f'c-{secrets.token_hex(3)}'
    world.channel(other, {'http': 80}, mux=one)
    world.start(active=False, prefix=prefix(release.pods()['maglev-mux'], 'maglev-mux'))
    return lambda: world.ports(one) == world.wanted(**{other: {'http': 80}})


# the program: its work, its account, and the right that is taken away: the resource, and where it stands
PROGRAMS = {
    'controller': (controller, 'controller', 'services/status', 'clusterroles/{}:controller'),
    'speaker': (speaker, 'maglev-speaker', 'configurationstates/status', 'namespaces/{}/roles/maglev-speaker'),
    'maglevd': (maglevd, 'maglevd', 'endpointslices', 'clusterroles/maglevd'),
    'gateway': (gateway, 'maglev-gateway', 'gateways/status', 'clusterroles/maglev-gateway'),
    'mux': (mux, 'maglev-mux', 'configmaps', 'clusterroles/maglev-mux'),
}


def bundles(release):
    hooks = [one['clientConfig'].get('caBundle') for one in release.kube.do('GET', HOOKS)['webhooks']]
    return [*hooks, release.kube.do('GET', BGPPEERS)['spec']['conversion']['webhook']['clientConfig'].get('caBundle')]


def test_what_was_installed_says_what_comes_next(release):
    for part in ('maglev.dev/speaker=true', 'maglev.dev/router=true', 'maglev.dev/data-plane=true', 'secret generic maglev-router-token', 'port-forward'):
        assert part in release.said, part
    assert set(release.pods()) == {'controller', 'maglev-speaker', 'maglevd', 'maglev-gateway', 'maglev-router', 'maglev-mux', 'maglevd-frontend'}


def test_every_container_is_confined(release):
    """Only FRR, which changes its user itself, and the one that gives maglevd its folder, start as root."""
    roots, added = set(), {}
    for pod in release.pods().values():
        assert pod['securityContext']['runAsNonRoot'] and pod['securityContext']['runAsUser'] > 0
        assert pod['securityContext']['seccompProfile'] == {'type': 'RuntimeDefault'}
        for one in (*pod['containers'], *pod.get('initContainers', ())):
            context = one['securityContext']
            assert context['readOnlyRootFilesystem'] and context['capabilities']['drop'] == ['ALL'], one['name']
            added[one['name']] = context['capabilities'].get('add', [])
            if context.get('runAsUser') == 0:
                roots.add(one['name'])
            if one['name'] != 'frr':
                assert context['allowPrivilegeEscalation'] is False, one['name']
    assert roots == {'frr', 'pins'}
    assert {name: rights for name, rights in added.items() if rights and name not in roots} == {
        'speaker': ['NET_RAW'], 'maglevd': ['BPF', 'NET_ADMIN', 'PERFMON'], 'router': ['NET_BIND_SERVICE']}


def test_a_router_listens_on_a_low_port_by_the_right_of_its_file(release, start_daemon, folders):
    """As the image has it; a file without it, in the same pod, is refused the port."""
    with open(os.path.join(ROOT, 'deploy/docker/Dockerfile'), encoding='utf-8') as file:
        right = re.search(r'setcap (\S+) /out/usr/sbin/maglev-router', file.read())[1]
    for given in (right, None):
        build, config = folders(), f'{folders()}/router.yaml'
        with open(config, 'w', encoding='ascii') as file:
            file.write('listeners: [{name: http, address: "127.0.0.1:80"}]\n')
        os.makedirs(f'{build}/src/router')
        copy = shutil.copy(program('maglev-router'), f'{build}/src/router')
        if given:
            subprocess.run(['setcap', given, copy], check=True)
        it = start_daemon('maglev-router', '--config', config, ready=False, metrics=None, build=build, env=NO_LEAKS,
                          **release.confined('maglev-router', 'router'))
        if given:
            assert it.port_of('http') == 80
        else:
            assert it.end() != 0


@pytest.mark.parametrize('name', PROGRAMS)
def test_the_rights_are_enough(release, start_daemon, folders, running, name):
    work, account, _, _ = PROGRAMS[name]
    done = work(release, start_daemon, folders, running)
    lab.until(done, what=f'the work of {name}; refused so far: {release.refused(account)}')
    assert release.kube.audit(f'system:serviceaccount:{release.namespace}:{account}'), 'the log must have seen it'
    assert not release.refused(account)


@pytest.mark.parametrize('name', PROGRAMS)
def test_a_missing_right_is_seen(release, start_daemon, folders, running, name):
    """The check of the story above fails."""
    work, account, resource, place = PROGRAMS[name]
    path = f'{RIGHTS}/{place.format(release.namespace)}'
    role = release.kube.do('GET', path)
    without = [{**rule, 'resources': [one for one in rule['resources'] if one != resource]} for rule in role['rules']]
    release.kube.patch(path, {'rules': [rule for rule in without if rule['resources']]})
    try:
        done = work(release, start_daemon, folders, running)
        lab.until(lambda: release.refused(account), what='a refusal')
        base, _, part = resource.partition('/')
        assert {one for _, one in release.refused(account)} == {base}, part
        assert not done()
    finally:
        release.kube.patch(path, {'rules': role['rules']})


def test_an_upgrade_changes_what_it_should_and_nothing_else(release):
    """What the controller has written into the webhooks stays, and so do pools."""
    before, trusted = release.kube.do('GET', release.metal.path(POOLS, 'blue')), bundles(release)
    assert trusted[0]
    release.call('upgrade', 'maglev', CHART, values={**EVERYTHING, 'controller': {'replicas': 3}, 'mux': {'enabled': False}})
    pods = release.objects('apis/apps/v1', 'deployments')
    assert pods['controller']['spec']['replicas'] == 3 and 'maglev-mux' not in pods and 'maglev-gateway' in pods
    assert bundles(release) == trusted and release.kube.do('GET', release.metal.path(POOLS, 'blue')) == before
    assert release.kube.ask('GET', f'{RIGHTS}/clusterroles/maglev-mux')[0] == 404


def test_removal_leaves_only_the_kinds_and_their_resources(release):
    release.call('uninstall', 'maglev')
    lab.until(lambda: not release.pods(), what='the programs being gone')
    for role in (f'{release.namespace}:controller', 'maglev-speaker', 'maglevd', 'maglev-gateway'):
        for kind in ('clusterroles', 'clusterrolebindings'):
            assert release.kube.ask('GET', f'{RIGHTS}/{kind}/{role}')[0] == 404, role
    assert release.kube.ask('GET', HOOKS)[0] == 404
    assert set(release.objects('api/v1', 'serviceaccounts')) == {'default'}
    assert release.metal.get(POOLS, 'blue')['spec']['addresses'] == ['192.0.2.0/24']
    release.kube.do('DELETE', release.metal.path(POOLS, 'blue'))
    release.call('install', 'maglev', CHART, '--take-ownership', values={})
    release.call('uninstall', 'maglev')
