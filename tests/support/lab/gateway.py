# SPDX-License-Identifier: Apache-2.0
"""A cluster with the Gateway API, routers and maglev-gateway in its network namespace.

    world = World(kube, folders, running)         # CRDs, a GatewayClass, an address pool
    router = world.router()
    gateway = world.gateway(router)
    world.make('Gateway', namespace, 'gw', listeners=[...])

Every address of 198.18.0.0/16 and 10.244.0.0/16 is local there: the first is for Gateways, the second for servers, which
are threads of the test (EndpointSlices refuse loopback addresses).
"""
import contextlib
import functools
import glob
import http.client
import itertools
import json
import os
import re
import socket
import subprocess
import threading
import time

import pytest

from lab.daemon import Daemon
from lab.programs import ROOT
from lab.wait import PATIENCE, until

GROUP = '/apis/gateway.networking.k8s.io/v1'
CLASS, POOL = 'maglev', '198.18.0.0/16'
ACCOUNT = 'maglev-system:maglev-gateway'
USER = 'system:serviceaccount:maglev-system:maglev-gateway'
PLURALS = {'GatewayClass': 'gatewayclasses', 'BackendTLSPolicy': 'backendtlspolicies'}


@functools.cache
def crds(version='v1.6.3', channel='standard'):
    """The files of the CRDs; skips the test where they cannot be had."""
    got = subprocess.run([os.path.join(ROOT, 'tests/support/kube/crds'), version, channel], capture_output=True, text=True, check=False)
    if got.returncode == 4:
        pytest.skip(got.stderr.strip())
    assert got.returncode == 0, got.stderr
    found = sorted(glob.glob(os.path.join(got.stdout.strip(), 'gateway.networking.k8s.io_*.yaml')))
    return [path for path in found if '_vap_' not in path]


def documents(path):
    """The documents of a YAML file, as texts."""
    with open(path, encoding='utf-8') as file:
        return [text for text in re.split(r'(?m)^---$', file.read()) if re.search(r'(?m)^kind:', text)]


def field(text, key):
    return re.search(rf'(?m)^ *{key}: *(\S+)$', text)[1].strip('"')


def apply_crds(kube, **which):
    for path in crds(**which):
        for text in documents(path):
            name = re.search(r'(?m)^  name: (\S+)$', text)[1]
            kube.apply(f'/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}', text)
    for path in crds(**which):
        plural = re.search(r'_(\w+)\.yaml$', path)[1]
        until(lambda: kube.ask('GET', f'{GROUP}/{plural}')[0] == 200, what=plural)


RBAC = {'Namespace': '/api/v1/namespaces/{name}', 'ServiceAccount': '/api/v1/namespaces/{namespace}/serviceaccounts/{name}',
        'ClusterRole': '/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}',
        'ClusterRoleBinding': '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{name}',
        'Role': '/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/{name}',
        'RoleBinding': '/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{name}'}


def apply_rbac(kube):
    """The rights as they are shipped."""
    for text in (text for name in ('namespaces', 'gateway/rbac') for text in documents(os.path.join(ROOT, f'deploy/kubernetes/{name}.yaml'))):
        namespace = re.search(r'(?m)^  namespace: (\S+)$', text)
        kube.apply(RBAC[field(text, 'kind')].format(name=re.search(r'(?m)^  name: (\S+)$', text)[1],
                                                   namespace=namespace[1] if namespace else ''), text)


class Backend:
    """An HTTP server in a thread: answers with its name. hold: seconds before an answer."""

    def __init__(self, netns, address, port=8080, name=None):
        self.address, self.port, self.name = address, port, name or address
        self.requests, self.hold, self.closed = 0, 0, False
        self.sock = netns.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind((address, port))
        self.sock.listen(128)
        self.wires = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                wire, _ = self.sock.accept()
                self.wires.add(wire)
                threading.Thread(target=self._serve, args=(wire,), daemon=True).start()

    def _serve(self, wire):
        held = b''
        with contextlib.suppress(OSError), wire:
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                while b'\r\n\r\n' not in held:
                    piece = wire.recv(65536)
                    if not piece:
                        return
                    held += piece
                head, held = held.split(b'\r\n\r\n', 1)
                self.requests += 1
                if self.hold:
                    threading.Event().wait(self.hold)
                path = head.split(b' ', 2)[1].decode()
                body = json.dumps({'name': self.name, 'path': path}).encode()
                wire.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nX-Name: %s\r\n\r\n%s'
                             % (len(body), self.name.encode(), body))
        self.wires.discard(wire)

    def close(self):
        """As a pod that ends: no new connections, and idle ones are closed."""
        self.closed = True
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self.sock.close()
        for wire in list(self.wires):
            with contextlib.suppress(OSError):
                wire.shutdown(socket.SHUT_RDWR)


class Routerd(Daemon):
    """maglev-router without a file, on a fixed admin port, so that it is found again after a restart."""
    listener = 'admin'

    def __init__(self, world, port, *args, **how):
        super().__init__(world.folders(), 'maglev-router', '--threads', '1', '--admin-addr', f'127.0.0.1:{port}', '--grpc-addr', '',
                         '--admin-max-body', '65536', *args, metrics=None, namespace=world.netns, level='info', **how)
        self.admin = f'127.0.0.1:{port}'


class Load:
    """
    Requests over kept connections until it is stopped; every failure is kept. With repeats, a request whose connection broke
    is sent once more on a new one, as clients do with GET.
    """

    def __init__(self, world, address, host, port=80, threads=2, context=None, repeats=False):
        self.world, self.at, self.host, self.context = world, (address, port), host, context
        self.failures, self.answers, self.broken, self.over = [], 0, 0, threading.Event()
        self.repeats = repeats
        self.threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        until(lambda: self.answers or self.failures, what='the first answer')
        return self

    def _ask(self, connection):
        """Returns the connection if it is kept."""
        connection = connection or self.world.connect(*self.at, context=self.context, name=self.host)
        connection.request('GET', '/', headers={'Host': self.host})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            self.failures.append((time.time(), answer.status))
        self.answers += 1
        if answer.headers.get('connection') != 'close':
            return connection
        connection.close()
        return None

    def _run(self):
        connection, again = None, False
        while not self.over.is_set():
            try:
                connection, again = self._ask(connection), False
            except (OSError, http.client.HTTPException) as error:
                connection = None
                self.broken += 1
                if not self.repeats or again:
                    self.failures.append((time.time(), repr(error)))
                again = self.repeats and not again
            self.over.wait(0.002)

    def more(self, n=20):
        """Waits until that many further requests were answered."""
        goal = self.answers + n
        until(lambda: self.answers >= goal, what=f'{n} more answers')

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join(PATIENCE)


class World:
    _hosts, _ports = itertools.count(1), itertools.count(20000)  # of all stories: they share a namespace

    def __init__(self, kube, folders, running):
        self.kube, self.netns, self.folders, self.running = kube, kube.netns, folders, running
        self.backends = []

    def install(self, **which):
        """Once for a cluster."""
        apply_crds(self.kube, **which)
        apply_rbac(self.kube)
        self.kube.apply(f'{GROUP}/gatewayclasses/{CLASS}', {
            'apiVersion': 'gateway.networking.k8s.io/v1', 'kind': 'GatewayClass', 'metadata': {'name': CLASS},
            'spec': {'controllerName': 'maglev.dev/gateway-controller'}})
        self.netns.ip('route add local 10.244.0.0/16 dev lo', f'route add local {POOL} dev lo')
        return self

    def close(self):
        for one in self.backends:
            one.close()

    # ---- programs ----

    def router(self, *args, port=None, **how):
        return self.running(Routerd(self, port or next(self._ports), *args, **how)).start()

    def kubeconfig(self):
        """That of the shipped account, with nothing but its rights."""
        token = self.kube.token('maglev-system', 'maglev-gateway', 7200)
        return self.kube.kubeconfig(name=f'gateway-{next(self._hosts)}', credentials={'token': token}, namespace='maglev-system')

    def gateway(self, *routers, ready=True, args=(), pool=POOL, **how):
        """maglev-gateway with the shipped rights."""
        given = ['--router', ','.join(router.admin for router in routers)] if routers else []
        given += ['--address-pool', pool] if pool else []
        it = self.running(Daemon(self.folders(), 'maglev-gateway', '--kubeconfig', self.kubeconfig(), *given, *args,
                                 namespace=self.netns, **how)).start()
        if ready:
            it.wait('translated')
        return it

    def backend(self, name=None, address=None, port=8080):
        n = next(self._hosts)
        self.backends.append(Backend(self.netns, address or f'10.244.{n // 250}.{n % 250 + 1}', port, name))
        return self.backends[-1]

    # ---- objects ----

    def path(self, kind, namespace, name=None):
        plural = PLURALS.get(kind, kind.lower() + 's')
        return f'{GROUP}/' + (f'namespaces/{namespace}/' if namespace else '') + plural + (f'/{name}' if name else '')

    def make(self, kind, namespace, name, **spec):
        return self.kube.apply(self.path(kind, namespace, name), {
            'apiVersion': 'gateway.networking.k8s.io/v1', 'kind': kind, 'metadata': {'name': name}, 'spec': spec})

    def get(self, kind, namespace, name):
        return self.kube.do('GET', self.path(kind, namespace, name))

    def delete(self, kind, namespace, name):
        self.kube.do('DELETE', self.path(kind, namespace, name))

    def service(self, namespace, name, *backends, port=80, **conditions):
        """A Service without a selector, and its slice."""
        if self.kube.ask('GET', f'/api/v1/namespaces/{namespace}/services/{name}')[0] == 404:
            self.kube.service(namespace, name, (port,))
        self.slice(namespace, name, *backends, port=port, **conditions)

    def slice(self, namespace, name, *backends, port=80, **conditions):
        """conditions: {address: {...}} instead of ready."""
        target = backends[0].port if backends else 8080
        self.kube.apply(f'/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices/{name}', {
            'apiVersion': 'discovery.k8s.io/v1', 'kind': 'EndpointSlice', 'addressType': 'IPv4',
            'metadata': {'name': name, 'labels': {'kubernetes.io/service-name': name}},
            'ports': [{'name': f'p{port}', 'port': target}],
            'endpoints': [{'addresses': [one.address], 'conditions': conditions.get(one.name, {'ready': True})} for one in backends]})

    def http_gateway(self, namespace, name='gw', port=80, **more):
        """One listener for HTTP; returns the address."""
        self.make('Gateway', namespace, name, gatewayClassName=CLASS,
                  listeners=[{'name': 'http', 'protocol': 'HTTP', 'port': port}], **more)
        return self.address(namespace, name)

    def address(self, namespace, name='gw'):
        """Waits until the Gateway is programmed."""
        def look():
            status = self.get('Gateway', namespace, name).get('status', {})
            conditions = {one['type']: one for one in status.get('conditions', ())}
            if conditions.get('Programmed', {}).get('status') == 'True' and status.get('addresses'):
                return status['addresses'][0]['value']
            return None
        return until(look, what=f'Gateway {name} being programmed')

    def route(self, namespace, name, host, service, port=80, gateway='gw', **more):
        return self.make('HTTPRoute', namespace, name, parentRefs=[{'name': gateway}], hostnames=[host],
                         rules=[{'backendRefs': [{'name': service, 'port': port}], **more}])

    def conditions(self, kind, namespace, name):
        """{type: (status, reason)} of the only parent."""
        status = self.get(kind, namespace, name).get('status', {})
        parents = status.get('parents') or [{'conditions': status.get('conditions', [])}]
        return {one['type']: (one['status'], one['reason']) for one in parents[0]['conditions']}

    # ---- traffic ----

    def connect(self, address, port=80, context=None, name=None):
        sock = self.netns.socket()
        sock.settimeout(PATIENCE)
        sock.connect((address, port))
        connection = http.client.HTTPConnection(address, port, timeout=PATIENCE)
        connection.sock = context.wrap_socket(sock, server_hostname=name) if context else sock
        return connection

    def request(self, address, host, path='/', port=80, context=None):
        """(status, name of the server)"""
        with contextlib.closing(self.connect(address, port, context, host)) as connection:
            connection.request('GET', path, headers={'Host': host})
            answer = connection.getresponse()
            answer.read()
            return answer.status, answer.headers.get('x-name')

    def reaches(self, address, host, expected, **how):
        """Waits until a request is answered by that server, or with that status."""
        def look():
            with contextlib.suppress(OSError, http.client.HTTPException):
                return expected in self.request(address, host, **how)
            return False
        until(look, what=f'{host} at {address} being answered by {expected}')

    def writes(self):
        """The writes of maglev-gateway so far, but for those of its lease."""
        self.kube.writes_settled()
        return [line for line in self.kube.audit(USER) if line['objectRef']['resource'] != 'leases']
