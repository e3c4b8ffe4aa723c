# SPDX-License-Identifier: Apache-2.0
"""maglev-mux beside a real API server, with exactly the rights that it is shipped with.

Each story has a namespace and a prefix of its own, so that the stories of one cluster do not meet:

    world = Muxes(kube, running, folders)
    mux = world.mux()                       # a Service of type LoadBalancer with the annotation
    world.start()                           # the program
    world.channel('api', {'http': 80})
    world.served('api', http=80)
"""
import hashlib
import json
import os
import re
import secrets

from lab.daemon import Daemon
from lab.programs import ROOT
from lab.wait import PATIENCE, until

RBAC = 'deploy/kubernetes/mux/rbac.yaml'
PLACES = {'ServiceAccount': '/api/v1/namespaces/{}/serviceaccounts',
          'Role': '/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles',
          'RoleBinding': '/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings',
          'ClusterRole': '/apis/rbac.authorization.k8s.io/v1/clusterroles',
          'ClusterRoleBinding': '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
          'Deployment': '/apis/apps/v1/namespaces/{}/deployments',
          'Service': '/api/v1/namespaces/{}/services'}
PLACEHOLDER = {101: 'placeholder'}


def documents(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return re.split(r'^---\n', file.read(), flags=re.M)


def ship(kube, path, namespace):
    """Applies a file of deploy/kubernetes to a namespace; what belongs to the cluster gets a name of its own."""
    for text in documents(path):
        kind = re.search(r'^kind: (\w+)', text, re.M)[1]
        text = text.replace('maglev-system', namespace)
        if kind.startswith('Cluster'):
            text = text.replace('\n  name: maglev-mux', f'\n  name: maglev-mux-{namespace}', 2)  # not that of the account
        name = re.search(r'^metadata:\n  name: (\S+)', text, re.M)[1]
        kube.apply(f'{PLACES[kind].format(namespace)}/{name}', text)


def hashed(namespace, service, port):
    """The name of a port of a mux."""
    return hashlib.sha256(f'{namespace}/{service}/{port}'.encode()).hexdigest()[:7]


class Mux(Daemon):
    """The program."""

    def __init__(self, folder, kubeconfig, *args, **how):
        super().__init__(folder, 'maglev-mux', f'--kubeconfig={kubeconfig}', *args, **how)


class Muxes:
    def __init__(self, kube, running, folders, namespace=None):
        """namespace: one that has the account already."""
        self.kube, self.running, self.folders = kube, running, folders
        self.namespace = namespace or kube.namespace('mux')
        self.prefix = f'm{secrets.token_hex(4)}.example'
        if not namespace:
            ship(kube, RBAC, self.namespace)
        self.user = f'system:serviceaccount:{self.namespace}:maglev-mux'

    # ---- the program ----

    def kubeconfig(self, **how):
        token = self.kube.token(self.namespace, 'maglev-mux', 3600)
        return self.kube.kubeconfig(name=f'kubeconfig-{secrets.token_hex(4)}', credentials={'token': token},
                                    namespace=self.namespace, **how)

    def start(self, *args, kubeconfig=None, active=True, ready=True, env=None, **how):
        """active: waits until it acts; ready: until it listens."""
        flags = (f'--api-prefix={self.prefix}', '--api-rate=1000', '--lease-duration=3s', *args)
        environment = {'DEBUG_WEB_PORT': '0', **(env or {})}
        program = self.running(Mux(self.folders(), kubeconfig or self.kubeconfig(), *flags, namespace=self.kube.netns,
                                   env=environment, **how)).start(ready)
        if active:
            program.wait('active')
        return program

    # ---- objects ----

    def key(self, name):
        return f'{self.prefix}/{name}'

    def path(self, name, kind='services', namespace=None):
        group = '/apis/discovery.k8s.io/v1' if kind == 'endpointslices' else '/api/v1'
        return f'{group}/namespaces/{namespace or self.namespace}/{kind}' + (f'/{name}' if name else '')

    def get(self, name, kind='services', namespace=None):
        return self.kube.do('GET', self.path(name, kind, namespace))

    def exists(self, name, kind='services', namespace=None):
        return self.kube.ask('GET', self.path(name, kind, namespace))[0] == 200

    def delete(self, name, kind='services', namespace=None):
        self.kube.do('DELETE', self.path(name, kind, namespace))

    def annotate(self, name, namespace=None, **notes):
        """None removes. Dashes are written as underscores."""
        self.kube.patch(self.path(name, namespace=namespace), {'metadata': {'annotations': {
            self.key(key.replace('_', '-')): value for key, value in notes.items()}}})

    def service(self, name, ports, notes, namespace=None, labels=None, **spec):
        listed = [{'name': key, 'port': value, 'protocol': 'TCP'} if isinstance(value, int) else
                  {'name': key, **value} for key, value in ports.items()]
        self.kube.do('POST', self.path('', namespace=namespace), {
            'metadata': {'name': name, 'labels': labels or {}, 'annotations': {
                key if '/' in key else self.key(key): value for key, value in notes.items()}},
            'spec': {'type': 'LoadBalancer', 'allocateLoadBalancerNodePorts': False, 'ports': listed, **spec}})
        return name

    def mux(self, name='mux', notes=None, **spec):
        return self.service(name, {'placeholder': 101}, {'multiplexer': 'true', **(notes or {})}, **spec)

    def channel(self, name, ports, external=None, mux='mux', notes=None, namespace=None, **spec):
        """ports: {name: number, or more of its fields}. Its pods have the label app: NAME."""
        notes = {**(notes or {}), **({'external-ports': external} if external else {})}
        return self.service(name, ports, notes, namespace, loadBalancerClass=f'{self.prefix}/{mux}.{self.namespace}',
                            **{'selector': {'app': name}, **spec})

    def pod(self, channel, address, ready=True, namespace=None):
        """A pod of a channel."""
        self.kube.pod(namespace or self.namespace, f'{channel}-{address.replace(".", "-").replace(":", "-")}', address,
                      {'app': channel}, ready)

    def address(self, *ingress, mux='mux'):
        """What a cloud would do: the mux gets addresses."""
        self.kube.patch(self.path(mux) + '/status', {'status': {'loadBalancer': {'ingress': list(ingress)}}})

    # ---- what is seen ----

    def notes(self, name, namespace=None):
        """Annotations with our prefix."""
        found = self.get(name, namespace=namespace)['metadata'].get('annotations', {})
        return {key.split('/')[1]: value for key, value in found.items() if key.startswith(self.prefix + '/')}

    def ports(self, mux='mux'):
        """{number: name} of a mux; {(number, protocol): name} where it is not TCP."""
        return {port['port'] if port['protocol'] == 'TCP' else (port['port'], port['protocol']): port['name']
                for port in self.get(mux)['spec']['ports']}

    def wanted(self, **channels):
        """The ports of a mux with these channels: api={'http': 80}."""
        return {number: hashed(self.namespace, name, port) for name, ports in channels.items()
                for port, number in ports.items()} or PLACEHOLDER

    def settled(self, mux='mux', timeout=PATIENCE, **channels):
        """Waits until the mux has exactly the ports of these channels."""
        wanted = self.wanted(**channels)
        until(lambda: self.ports(mux) == wanted, timeout, f'{mux} having {channels}: {self.ports(mux)} {wanted}')

    def state(self, name='mux-port-allocations'):
        return json.loads(self.get(name, 'configmaps')['data']['allocations.json'])

    def claims(self, **how):
        """{(service, port): number}"""
        return {(claim['service'], claim['portName']): claim['muxPort'] for claim in self.state(**how)['portClaims']}

    def slices(self, mux='mux'):
        found = self.kube.do('GET', self.path('', 'endpointslices') + f'?labelSelector=kubernetes.io/service-name={mux}')
        return found['items']

    def backends(self, mux='mux'):
        """{name of a port: sorted ready 'address:port'}, from the slices."""
        found = {}
        for one in self.slices(mux):
            for port in one.get('ports') or []:
                found.setdefault(port['name'], []).extend(
                    f'{endpoint["addresses"][0]}:{port["port"]}' for endpoint in one.get('endpoints') or []
                    if endpoint['conditions'].get('ready', True))
        return {name: sorted(addresses) for name, addresses in found.items()}

    def events(self, name, namespace=None):
        """[(type, reason, note)] of the mux about a Service; the API server itself has events about Services, too."""
        place = f'/apis/events.k8s.io/v1/namespaces/{namespace or self.namespace}/events'
        return [(event['type'], event['reason'], event['note']) for event in self.kube.do('GET', place)['items']
                if event['regarding']['name'] == name and event['reportingController'] == 'maglev.dev/mux']

    def told(self, name, reason, note='', namespace=None):
        """Waits for an event; note: a part of its text."""
        until(lambda: any(reason == event[1] and note in event[2] for event in self.events(name, namespace)),
              what=f'the event {reason} {note!r} of {name}')

    def writes(self):
        """What the program has written so far, without leases and events."""
        self.kube.writes_settled()
        return [line for line in self.kube.audit(self.user) if line['objectRef']['resource'] not in ('leases', 'events')]

    def all_writes(self):
        self.kube.writes_settled()
        return self.kube.audit(self.user)
