# SPDX-License-Identifier: Apache-2.0
"""Nodes of a cluster of lab.kube: a network namespace each, with maglev-speaker, FRR and frr-reloader, and the router that
they announce to.

    site = KubeSite(kube)
    node = site.node(bgp=True)
    site.metal.pool('blue', '192.0.2.0/24')
    site.service('web', '192.0.2.1')
    site.bird.wait('192.0.2.1/32')
"""
import contextlib
import itertools
import os
import re
import secrets
import shutil
import socket
import tempfile
import threading
import time

from lab.api import Maglevc
from lab.daemon import Daemon
from lab.frr import Frr
from lab.kube import SECURE
from lab.metal import ADVERTISEMENTS, L2, PEERS, Metal
from lab.net import Namespace
from lab.process import Running
from lab.reloader import Reloader
from lab.segment import Host, Neighbours
from lab.speaker import Peer
from lab.wait import PATIENCE, until

ROUTER, ASN, ROUTER_ASN = '10.60.0.1', 64512, 64513
ACCOUNT = 'maglev-speaker'
_ranges = itertools.count(1)

BIRD = '''
log stderr all;
router id {router};
protocol device {{ }}
template bgp node {{
  local {router} as {asn};
  hold time 9;
  error wait time 1, 1;
  strict bind;
  debug {{ routes }};
  ipv4 {{ import all; export none; }};
  ipv6 {{ import all; export none; }};
}}
'''
NEIGHBOR = 'protocol bgp node{number} from node {{ neighbor {address} as {asn}; {more} }}\n'


class Forward:
    """A port of one namespace that leads to the same port of another one."""

    def __init__(self, inside, to, port):
        self.to, self.there = to, ('127.0.0.1', port)
        self.listener = inside.inside(lambda: socket.create_server(('127.0.0.1', port), backlog=128))
        self.pairs = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                here = self.listener.accept()[0]
            except OSError:
                return
            try:
                there = self.to.inside(socket.create_connection, self.there)
            except OSError:
                here.close()
                continue
            self.pairs.append((here, there))
            for one, other in ((here, there), (there, here)):
                threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    @staticmethod
    def _pump(one, other):
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for pair in self.pairs:
            for one in pair:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()


class KubeSpeaker(Daemon):
    """maglev-speaker of a node; restarted with the same flags by again()."""

    def __init__(self, folder, site, node, *args, frr=None, reloader=None, **how):
        shared = reloader.folder if reloader else folder
        super().__init__(folder, 'maglev-speaker', '--kubernetes', '--node-name', node.name_in_cluster, '--namespace',
                         site.metal.namespace, '--kubeconfig', site.kubeconfig, '--vty-dir', frr.run if frr else os.path.join(folder, 'no-frr'),
                         '--frr-conf', os.path.join(shared, 'frr.conf'), '--reloader-socket', os.path.join(shared, 'frr-reloader.sock'),
                         '--retry', '500ms', '--status-interval', '200ms', '--l2-exclude', 'up*', '--grpc-addr', '127.0.0.1:0', *args,
                         namespace=node, **how)

    def maglevc(self):
        """maglevc on the node."""
        client = Maglevc(1, '--speaker', f'127.0.0.1:{self.port_of("grpc")}')
        client.command = self.namespace.command(*client.command)
        return client

    def wait_ready(self):
        until(lambda: self.get('/readyz')[0] == 200, what=f'{self.name} being ready')
        return self


class PlainNode:
    """A node of which only the speaker exists; it runs beside the API server."""

    def __init__(self, site, name):
        self.name_in_cluster, self.inside = name, site.kube.netns.inside
        self.command = site.kube.netns.command
        site.kube.do('POST', '/api/v1/nodes', {'metadata': {'name': name}})


class Node(Host):
    """A node: eth0 on the switch of the site, where the router and other nodes are."""

    def __init__(self, site, number, labels=None, name=None):
        super().__init__(site.switch, number)
        self.site, self.name_in_cluster = site, name or f'node{number}-{site.tag}'
        self.forward = Forward(self, site.kube.netns, SECURE)
        self.frr = self.reloader = self.speaker = None
        site.kube.do('POST', '/api/v1/nodes', {'metadata': {'name': self.name_in_cluster, 'labels': labels or {}}})

    def start_frr(self, **how):
        self.frr = Frr(self, **how).start()
        self.reloader = self.site.add(Reloader(self.site.folder(), self.frr)).start()

    def speak(self, *args, ready=True, **how):
        self.speaker = self.site.add(KubeSpeaker(self.site.folder(), self.site, self, *args, frr=self.frr, reloader=self.reloader, **how))
        self.speaker.start()
        return self.speaker.wait_ready() if ready else self.speaker

    def label(self, **labels):
        """None removes one."""
        self.site.kube.patch(f'/api/v1/nodes/{self.name_in_cluster}', {'metadata': {'labels': {
            key.replace('__', '/'): value for key, value in labels.items()}}})

    def close(self):
        if self.frr:
            self.frr.close()
        self.forward.close()
        self.delete()


class KubeSite:
    """A switch with a router (BIRD), a client, and nodes. Each site has its own range of addresses, nodes and namespaces."""

    def __init__(self, kube, metal=None):
        self.kube, self.metal = kube, metal or Metal(kube).install()
        self.tag = secrets.token_hex(3)
        self.range = f'198.18.{next(_ranges)}'
        self.namespace = kube.namespace()
        self.processes, self.folders, self.nodes, self.hosts = Running(), [], [], []
        self.switch = Namespace('sw')
        self.switch.ip('link add br0 type bridge', 'link set br0 up')
        self.router = Host(self.switch, 1)
        self.bird = None
        if not metal:
            self.metal.apply('speaker/rbac.yaml')
        token = kube.token(self.metal.namespace, ACCOUNT, 7200)
        self.kubeconfig = kube.kubeconfig(name=f'kubeconfig-{self.tag}', credentials={'token': token}, namespace=self.metal.namespace)
        self.user = f'system:serviceaccount:{self.metal.namespace}:{ACCOUNT}'

    def folder(self):
        self.folders.append(tempfile.mkdtemp(prefix='maglev-story.'))
        os.chmod(self.folders[-1], 0o755)
        return self.folders[-1]

    def add(self, process):
        return self.processes.add(process)

    # ---- nodes and the router ----

    def node(self, labels=None, bgp=False, name=None, **frr):
        """frr: see Frr."""
        self.nodes.append(Node(self, 11 + len(self.nodes), labels, name))
        if bgp:
            self.nodes[-1].start_frr(**frr)
        return self.nodes[-1]

    def plain_node(self, name):
        return PlainNode(self, name)

    def switch_host(self, number):
        """Another machine on the switch, at 10.78.0.NUMBER."""
        self.hosts.append(Host(self.switch, number))
        return self.hosts[-1]

    def start_router(self, more='', **of_node):
        """BIRD with a session for each node so far; of_node: more lines of the session of a node, by its number."""
        conf = BIRD.format(router=self.router.address[4], asn=ROUTER_ASN) + more + ''.join(
            NEIGHBOR.format(number=i, address=node.address[4], asn=ASN, more=of_node.get(f'node{i}', ''))
            for i, node in enumerate(self.nodes))
        self.bird = self.add(KubePeer(self.folder(), self.router, conf)).start()
        return self.bird

    def peer(self, name='tor', **spec):
        return self.metal.make(PEERS, name, **{'myASN': ASN, 'peerASN': ROUTER_ASN, 'peerAddress': self.router.address[4],
                                               'connectTime': '1s', 'holdTime': '9s', **spec})

    def advertise(self, name='all', **spec):
        return self.metal.make(ADVERTISEMENTS, name, **spec)

    def advertise_l2(self, name='lan', **spec):
        return self.metal.make(L2, name, **spec)

    def pool(self, name='blue', suffix='0/24', **spec):
        return self.metal.pool(name, f'{self.range}.{suffix}', **spec)

    def address(self, last):
        return f'{self.range}.{last}'

    def route(self, last, length=32):
        return f'{self.range}.{last}/{length}'

    # ---- Services ----

    def service(self, name, last=None, nodes=(), ready=True, labels=None, annotations=None, **spec):
        """A Service with an address (of which maglev-controller is not asked) and an endpoint on each of the nodes."""
        place = f'/api/v1/namespaces/{self.namespace}/services'
        body = {'metadata': {'name': name, 'labels': labels or {}, 'annotations': annotations or {}},
                'spec': {'type': 'LoadBalancer', 'ports': [{'port': 80}], 'allocateLoadBalancerNodePorts': False, **spec}}
        self.kube.do('POST', place, body)
        self.endpoints(name, nodes, ready=ready)
        if last is not None:
            self.assign(name, last)

    def assign(self, name, *lasts):
        ingress = [{'ip': last if isinstance(last, str) else self.address(last)} for last in lasts]
        self.kube.patch(f'/api/v1/namespaces/{self.namespace}/services/{name}/status', {'status': {'loadBalancer': {'ingress': ingress}}})

    def endpoints(self, name, nodes, ready=True, serving=None, terminating=False):
        """Writes its slice; no controller makes one, because the Service has no selector."""
        conditions = {'ready': ready, 'serving': ready if serving is None else serving, 'terminating': terminating}
        body = {'apiVersion': 'discovery.k8s.io/v1', 'kind': 'EndpointSlice', 'addressType': 'IPv4',
                'metadata': {'name': f'{name}-slice', 'labels': {'kubernetes.io/service-name': name}},
                'ports': [{'port': 80}],
                'endpoints': [{'addresses': [f'10.0.0.{i + 1}'], 'nodeName': node.name_in_cluster, 'conditions': conditions}
                              for i, node in enumerate(nodes)]}
        self.kube.apply(f'/apis/discovery.k8s.io/v1/namespaces/{self.namespace}/endpointslices/{name}-slice', body)
        return time.time()

    def remove(self, name):
        self.kube.do('DELETE', f'/api/v1/namespaces/{self.namespace}/services/{name}')

    # ---- what it says ----

    def statuses(self, plural, group='metallb.io/v1beta1', namespace=None):
        """{name: object}"""
        place = f'/apis/{group}/namespaces/{namespace or self.namespace}/{plural}'
        return {one['metadata']['name']: one for one in self.kube.do('GET', place)['items']}

    def status(self, plural, name, group='metallb.io/v1beta1', namespace=None):
        return self.statuses(plural, group, namespace).get(name, {}).get('status')

    def wait_status(self, plural, name, group='metallb.io/v1beta1', namespace=None, **wanted):
        def holds():
            status = self.status(plural, name, group, namespace)
            return status is not None and all(status.get(key) == value for key, value in wanted.items())
        until(holds, PATIENCE, f'{plural} {name} with {wanted}: {self.status(plural, name, group, namespace)}')
        return self.status(plural, name, group, namespace)

    def columns(self, plural, service, wide=False):
        """The rows of `kubectl get` about a Service, without its name and namespace, and without the age."""
        rows = self.kube.table(f'/apis/metallb.io/v1beta1/namespaces/{self.namespace}/{plural}', wide)
        return [{key: value for key, value in row.items() if key not in ('Service Name', 'Service Namespace', 'Age')}
                for row in rows if row['Service Name'] == service]

    def writes(self, but=('leases',), refused=True):
        """What the speakers asked to be written so far: (verb, resource, name); with or without what the server refused."""
        self.kube.writes_settled()
        return [(line['verb'], line['objectRef']['resource'], line['objectRef'].get('name')) for line in self.kube.audit(self.user)
                if line['objectRef']['resource'] not in but and (refused or line['responseStatus']['code'] < 300)]

    def neighbours(self):
        return Neighbours(self.router)

    def close(self):
        try:
            self.processes.stop()
        finally:
            for node in self.nodes:
                node.close()
            for one in (*self.hosts, self.router, self.switch):
                one.delete()
            for path in self.folders:
                shutil.rmtree(path)


class KubePeer(Peer):
    """The router; the nodes are its protocols node0, node1, ..."""

    def history(self, prefix, node=0):
        """What happened to a route of a node since the start, but for updates that say the same."""
        verbs = re.findall(rf' node{node}\.ipv[46] > (\w+) .*{re.escape(prefix)} ', self.said())
        return [verb for verb in verbs if verb != 'ignored']

    def count(self, table='master4'):
        return len(self.routes(table))

    def nexthops(self, prefix, table='master4'):
        """The nodes that announce a prefix, as addresses."""
        text = self.ask(f'show route table {table} for {prefix} all') if '/' not in prefix else \
            self.ask(f'show route {prefix} table {table} all')
        return sorted(re.findall(r'BGP\.next_hop: (\S+)', text))
