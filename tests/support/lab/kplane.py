# SPDX-License-Identifier: Apache-2.0
"""Services of a cluster of lab.kube on the XDP data plane: a Fabric whose balancers are nodes with maglevd, maglev-speaker,
frr-reloader and FRR, and whose servers are nodes with pods.

    client ---- router (BIRD, ECMP) ---- node b1: maglevd --kubernetes, maglev-speaker --kubernetes ---- node w1: a pod
                                    ---- node b2: the same                                         ---- node w2: a pod ...

A pod is the web server of a Fabric's server. The address of the Service on its loopback interface stands for kube-proxy's
rule with the policy Local: packets to it are delivered on that node. The port for health checks of the Service is answered
as kube-proxy does.
"""
import contextlib
import os
import socket
import subprocess
import sys
import threading

from lab.ecmp import BFD_MS, BOOT, GRPC, MULTIPLIER, Announced, Router
from lab.fabric import WEB, Fabric, child
from lab.frr import Frr
from lab.kspeaker import Forward, KubeSite, KubeSpeaker
from lab.kube import SECURE
from lab.maglevd import Maglevd
from lab.metal import BFD
from lab.programs import program
from lab.reloader import Reloader
from lab.wait import until

ANNOTATION = {'maglev.dev/data-plane': 'maglev'}
ACCOUNT = 'maglevd'
STATES = {'ready': (True, True, False), 'leaving': (False, True, True), 'unready': (False, False, False)}


class HealthPort:
    """The healthCheckNodePort of a Service on a node: 200 while it has endpoints here, else 503."""

    def __init__(self, host, port):
        self.has_endpoints, self.asked = True, 0
        self.listener = host.inside(lambda: socket.create_server(('', port), backlog=64))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                self.asked += connection.recv(4096).count(b'GET /healthz ')
                status = b'200 OK' if self.has_endpoints else b'503 Service Unavailable'
                connection.sendall(b'HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' % status)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Pod:
    """A web server on a node that has none, for the addresses of its loopback interface."""

    def __init__(self, host, label):
        self.process = child(host.command(sys.executable, WEB, label, os.devnull + '.broken'), stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == 'ready\n', f'{label} did not start'

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class PlaneNode:
    """The programs of an announcing node."""

    def __init__(self, plane, balancer):
        self.plane, self.balancer = plane, balancer
        self.folder = os.path.join(plane.fabric.folder, balancer.port)
        os.mkdir(self.folder)
        self.forward = Forward(balancer, plane.site.kube.netns, SECURE)
        plane.register(balancer, balancer.port, router=balancer.port)
        self.frr = Frr(balancer, listens=True)
        self.reloader = Reloader(self.folder, self.frr, namespace=balancer)
        self.maglevd = Maglevd(self.folder, self.config(), grpc=f':{GRPC}', namespace=balancer,
                               args=('--kubernetes', '--node-name', balancer.name_in_cluster, '--kubeconfig', plane.kubeconfig))
        self.speaker = KubeSpeaker(self.folder, plane.site, balancer, '--maglevd', f'127.0.0.1:{GRPC}', frr=self.frr,
                                   reloader=self.reloader)

    def config(self):
        """The same on all nodes, but for the folder of the pins, which is of one kernel here."""
        return {'maglev': {'dataplane': 'xdp', 'xdp': self.balancer.xdp(),
                           'vpp': {'lb': {'startup-min-delay': '0s', 'startup-max-delay': '5s'}}}}

    def begin(self):
        """Starts everything and waits for nothing that needs the others."""
        self.frr.start()
        for one in (self.reloader, self.maglevd, self.speaker):
            one.start(ready=False)

    def wait(self):
        for one in self.processes():
            one.port = one.port_of(one.listener)

    def start(self):
        self.begin()
        self.wait()

    def processes(self):
        return self.speaker, self.maglevd, self.reloader

    def power_off(self):
        """No packet reaches it or leaves it any more, and all its programs end; the router's port stays up."""
        self.balancer.carry(False)
        self.balancer.run('tc', 'qdisc', 'replace', 'dev', 'eth0', 'root', 'pfifo', 'limit', '0')  # no farewell of its kernel
        for one in self.processes():
            one.kill()
        for name in self.frr.daemons:
            self.frr.kill(name)

    def power_on(self):
        """As after a boot: nothing of the data plane is left."""
        self.balancer.run(program(), '--config', self.maglevd.path, '--xdp-detach')
        self.balancer.run('tc', 'qdisc', 'del', 'dev', 'eth0', 'root')
        self.balancer.carry(True)
        self.start()

    def close(self):
        self.frr.close()
        self.forward.close()


class Plane:
    """Announcing nodes b1 and b2, and nodes with pods w1, w2, ... Each has .name_in_cluster."""

    def __init__(self, kube, servers=4):
        self.site = KubeSite(kube)
        self.fabric = Fabric(servers=servers, balancers=2, balancer=Announced)
        self.fabric.router.sysctl(ipv4__fib_multipath_hash_policy=1)
        self.site.metal.apply('maglevd/rbac.yaml')
        namespace = self.site.metal.namespace
        self.kubeconfig = kube.kubeconfig(name=f'kubeconfig-plane-{self.site.tag}', namespace=namespace,
                                          credentials={'token': kube.token(namespace, ACCOUNT, 7200)})
        for server in self.fabric.servers:
            self.register(server, server.port)
        self.nodes = [PlaneNode(self, one) for one in self.fabric.balancers]
        self.router = self.site.add(Router(self.fabric, BFD_MS, MULTIPLIER))
        self.health = {}  # {name of a Service: {host: HealthPort}}
        self.configure()

    def register(self, host, tag, **labels):
        """Makes a Node of it, as its kubelet would."""
        host.name_in_cluster = f'{tag}-{self.site.tag}'
        addresses = [{'type': 'InternalIP', 'address': host.address}, {'type': 'InternalIP', 'address': host.address6}]
        self.site.kube.do('POST', '/api/v1/nodes', {'metadata': {'name': host.name_in_cluster, 'labels': labels}})
        self.site.kube.patch(f'/api/v1/nodes/{host.name_in_cluster}/status', {'status': {'addresses': addresses}})

    def configure(self):
        metal = self.site.metal
        metal.pool('plane', '198.51.100.0/24')
        metal.make(BFD, 'fast', receiveInterval=BFD_MS, transmitInterval=BFD_MS, detectMultiplier=MULTIPLIER)
        for one in self.fabric.balancers:
            self.site.peer(one.port, peerAddress=one.gateway, bfdProfile='fast', nodeSelectors=[{'matchLabels': {'router': one.port}}])
        self.site.advertise()

    def start(self):
        self.fabric.start()
        self.router.start()
        for node in self.nodes:
            node.begin()
        for node in self.nodes:
            node.wait()
        for one in self.fabric.balancers:
            until(lambda: self.router.is_established(one.port), BOOT, f'the session of {one.port}')
        return self

    def exclude(self, host, excluded=True):
        """Whether the node is excluded from external load balancers."""
        self.site.kube.patch(f'/api/v1/nodes/{host.name_in_cluster}', {'metadata': {'labels': {
            'node.kubernetes.io/exclude-from-external-load-balancers': '' if excluded else None}}})

    # ---- Services ----

    def service(self, name, vip, states, **spec):
        """states: {server: 'ready', 'leaving' or 'unready'}"""
        self.site.service(name, None, annotations=ANNOTATION, **{'externalTrafficPolicy': 'Local', **spec})
        made = self.site.kube.do('GET', f'/api/v1/namespaces/{self.site.namespace}/services/{name}')
        port = made['spec'].get('healthCheckNodePort')
        self.health[name] = {host: HealthPort(host, port) for host in (*self.fabric.servers, *self.fabric.balancers)} if port else {}
        self.endpoints(name, states)
        self.site.assign(name, vip)

    def annotate(self, name, value):
        """None removes the annotation."""
        self.site.kube.patch(f'/api/v1/namespaces/{self.site.namespace}/services/{name}', {'metadata': {
            'annotations': dict.fromkeys(ANNOTATION, value)}})

    def endpoints(self, name, states):
        """Writes its slice, with one endpoint for each node."""
        body = {'apiVersion': 'discovery.k8s.io/v1', 'kind': 'EndpointSlice', 'addressType': 'IPv4', 'ports': [{'port': 80}],
                'metadata': {'name': f'{name}-slice', 'labels': {'kubernetes.io/service-name': name}},
                'endpoints': [{'addresses': [f'10.244.0.{i + 1}'], 'nodeName': host.name_in_cluster,
                               'conditions': dict(zip(('ready', 'serving', 'terminating'), STATES[state]))}
                              for i, (host, state) in enumerate(states.items())]}
        self.site.kube.apply(f'/apis/discovery.k8s.io/v1/namespaces/{self.site.namespace}/endpointslices/{name}-slice', body)

    def frontend(self, name, vip):
        return f'{self.site.namespace}/{name}/{vip}:80/tcp'

    def backend(self, name, host):
        return f'{self.site.namespace}/{name}@{host.name_in_cluster}'

    def weights(self, node, name, vip):
        """{name of a node: weight in force} of a frontend in one maglevd."""
        found = node.maglevd.metrics().of('maglev_frontend_pool_backend_weight', frontend=self.frontend(name, vip))
        return {labels['backend'].rpartition('@')[2]: value for labels, value in found}

    def wait_next_hops(self, vip, *balancers):
        ports = {one.port for one in balancers}
        until(lambda: self.router.next_hops(vip) == ports, BOOT, f'next hops {ports} of {vip}')

    def remove(self, name):
        self.site.remove(name)
        for one in self.health.pop(name).values():
            one.close()

    def close(self):
        for name in list(self.health):
            for one in self.health.pop(name).values():
                one.close()
        for node in self.nodes:
            for one in node.processes():
                self.site.add(one)
        try:
            self.site.close()
        finally:
            for node in self.nodes:
                node.close()
            self.fabric.close()
