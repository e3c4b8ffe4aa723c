# SPDX-License-Identifier: Apache-2.0
"""The resources of metallb.io on a cluster of lab.kube: kinds and rights exactly as deploy/kubernetes ships them.

    metal = Metal(kube).install()
    metal.pool('blue', '192.0.2.0/24')
    metal.service('web')

The shipped files are for the namespace metallb-system; a story puts its own in its place.
"""
import glob
import os
import re

from lab.programs import ROOT
from lab.wait import PATIENCE, until

FOLDER = os.path.join(ROOT, 'deploy/kubernetes')
SHIPPED = 'metallb-system'
PLURALS = {'CustomResourceDefinition': 'customresourcedefinitions', 'ClusterRole': 'clusterroles', 'Role': 'roles', 'RoleBinding': 'rolebindings',
           'ClusterRoleBinding': 'clusterrolebindings', 'ServiceAccount': 'serviceaccounts', 'Service': 'services', 'Deployment': 'deployments',
           'ValidatingWebhookConfiguration': 'validatingwebhookconfigurations', 'Secret': 'secrets', 'DaemonSet': 'daemonsets',
           'Namespace': 'namespaces', 'ConfigMap': 'configmaps'}
POOLS, ADVERTISEMENTS, L2, BFD, COMMUNITIES = (f'v1beta1/{kind}' for kind in (
    'ipaddresspools', 'bgpadvertisements', 'l2advertisements', 'bfdprofiles', 'communities'))
PEERS, OLD_PEERS = 'v1beta2/bgppeers', 'v1beta1/bgppeers'
KINDS = {'ipaddresspools': 'IPAddressPool', 'bgpadvertisements': 'BGPAdvertisement', 'l2advertisements': 'L2Advertisement',
         'bfdprofiles': 'BFDProfile', 'communities': 'Community', 'bgppeers': 'BGPPeer'}


def documents(path, namespace):
    """(path of the API, kind, text) of each document of a shipped file."""
    with open(path, encoding='utf-8') as file:
        text = file.read().replace(SHIPPED, namespace)
    for part in re.split(r'^---$', text, flags=re.M):
        found = re.search(r'^kind: (\S+)$', part, re.M)
        if not found:
            continue
        kind, version = found[1], re.search(r'^apiVersion: (\S+)$', part, re.M)[1]
        meta = re.search(r'^metadata:\n((?:  .*\n)+)', part, re.M)[1]
        name, inside = re.search(r'^  name: (\S+)$', meta, re.M)[1], re.search(r'^  namespace: (\S+)$', meta, re.M)
        place = ('/api/' if '/' not in version else '/apis/') + version + (f'/namespaces/{inside[1]}' if inside else '')
        yield f'{place}/{PLURALS[kind]}/{name}', kind, part


class Metal:
    def __init__(self, kube, namespace=None):
        self.kube = kube
        self.namespace = namespace or kube.namespace('metallb')

    # ---- what is shipped ----

    def apply(self, name, only=None, but=()):
        """Applies a file, or all files of a folder, of deploy/kubernetes."""
        path = os.path.join(FOLDER, name)
        for file in sorted(glob.glob(os.path.join(path, '*.yaml'))) if os.path.isdir(path) else [path]:
            for place, kind, text in documents(file, self.namespace):
                if (only is None or kind in only) and kind not in but:
                    self.kube.apply(place, text)

    def conditions(self, name):
        got = self.kube.do('GET', f'/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}')
        return {one['type']: one['status'] for one in got.get('status', {}).get('conditions', ())}

    def install(self):
        """The kinds; returns when the API server serves all of them."""
        self.apply('crds')
        for file in glob.glob(os.path.join(FOLDER, 'crds/*.yaml')):
            for place, _, _ in documents(file, self.namespace):
                name = place.rsplit('/', 1)[1]
                until(lambda: self.conditions(name).get('Established') == 'True', what=f'{name} being served')
        until(lambda: self.ask('GET', POOLS)[0] == 200 and self.ask('GET', PEERS)[0] == 200, what='the kinds being served')
        return self

    # ---- resources ----

    def path(self, kind, name=None):
        return f'/apis/metallb.io/{kind.split("/")[0]}/namespaces/{self.namespace}/{kind.split("/")[1]}' + (f'/{name}' if name else '')

    def ask(self, method, kind, name=None, body=None, **how):
        return self.kube.ask(method, self.path(kind, name), body, **how)

    def get(self, kind, name):
        return self.kube.do('GET', self.path(kind, name))

    def make(self, kind, name, labels=None, **spec):
        return self.kube.do('POST', self.path(kind), self.body(kind, name, labels, **spec))

    def body(self, kind, name, labels=None, **spec):
        version, plural = kind.split('/')
        return {'apiVersion': f'metallb.io/{version}', 'kind': KINDS[plural], 'metadata': {'name': name, 'labels': labels or {}}, 'spec': spec}

    def change(self, kind, name, **spec):
        return self.kube.patch(self.path(kind, name), {'spec': spec})

    def remove(self, kind, name):
        return self.kube.do('DELETE', self.path(kind, name))

    def pool(self, name, *addresses, labels=None, **spec):
        return self.make(POOLS, name, labels, addresses=list(addresses), **spec)

    # ---- the controller and services ----

    @property
    def account(self):
        """The name of the controller's account in the audit log."""
        return f'system:serviceaccount:{self.namespace}:controller'

    @property
    def lb_class(self):
        """Of the services of this story: other stories have the same cluster."""
        return f'story.example/{self.namespace}'

    def kubeconfig(self, account='controller'):
        """Of an account with exactly the rights that are shipped."""
        return self.kube.kubeconfig(name=f'kubeconfig-{self.namespace}-{account}', namespace=self.namespace,
                                    credentials={'token': self.kube.token(self.namespace, account, 3600)})

    def controller(self, start, *args, **how):
        """maglev-controller with these rights; start is the fixture start_daemon."""
        self.apply('controller/rbac.yaml')
        return start('maglev-controller', '--kubeconfig', self.kubeconfig(), '--lb-class', self.lb_class, '--lease-duration=3s', *args,
                     namespace=self.kube.netns, **how)

    def service_path(self, name=None):
        return f'/api/v1/namespaces/{self.namespace}/services' + (f'/{name}' if name else '')

    def service_body(self, name, ports=(80,), annotations=None, labels=None, **spec):
        return {'metadata': {'name': name, 'annotations': annotations or {}, 'labels': labels or {}}, 'spec': {
            'type': 'LoadBalancer', 'loadBalancerClass': self.lb_class, 'allocateLoadBalancerNodePorts': False,
            'ports': [{'name': f'p{port}', 'port': port} for port in ports], **spec}}

    def service(self, name, **how):
        return self.kube.do('POST', self.service_path(), self.service_body(name, **how))

    def addresses(self, name):
        got = self.kube.do('GET', self.service_path(name))
        return [one['ip'] for one in got['status'].get('loadBalancer', {}).get('ingress', ())]

    def wait_addresses(self, name, *expected, timeout=PATIENCE):
        """Waits for these addresses; for any, if none are given."""
        if expected:
            until(lambda: self.addresses(name) == list(expected), timeout, f'{name} having {expected}')
        else:
            until(lambda: self.addresses(name), timeout, f'{name} having an address')
        return self.addresses(name)

    def annotation(self, name, key='ip-allocated-from-pool'):
        return self.kube.do('GET', self.service_path(name))['metadata'].get('annotations', {}).get(f'metallb.io/{key}')

    def events(self, name):
        """(type, reason, note) of the controller's events about a service; the API server itself has some, too."""
        got = self.kube.do('GET', f'/apis/events.k8s.io/v1/namespaces/{self.namespace}/events?limit=500')
        return [(one['type'], one['reason'], one['note']) for one in got['items']
                if one['regarding'].get('name') == name and one['reportingController'] == 'metallb-controller']

    def wait_event(self, name, *expected):
        return until(lambda: expected in self.events(name), what=f'the event {expected} of {name}')

    def usage(self, pool):
        return self.get(POOLS, pool).get('status', {})

    def wait_usage(self, pool, **expected):
        return until(lambda: {key: self.usage(pool).get(key) for key in expected} == expected, what=f'{pool} showing {expected}')

    def status(self, kind, name):
        status, answer = self.ask('GET', f'v1beta1/{kind}', name)
        return answer.get('status', {}) if status == 200 else None

    def wait_config(self, valid, error=''):
        return until(lambda: (self.status('configurationstatuses', 'config-status') or {}).get('validConfig') is valid and
                     self.status('configurationstatuses', 'config-status')['error'] == error, what=f'validConfig {valid} {error}')

    def writes(self):
        """(verb, path) of the controller's writes, without those of its lease."""
        return [(line['verb'], line['requestURI'].partition('?')[0]) for line in self.kube.audit(self.account)
                if line['objectRef']['resource'] != 'leases']
