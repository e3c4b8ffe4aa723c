# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes API in a network namespace of its own: etcd, kube-apiserver and kube-controller-manager, with TLS
and RBAC, without nodes and containers.

    kube = Kube(folder).start()
    status, answer = kube.ask('GET', '/api/v1/services')
    path = kube.kubeconfig('admin')

tests/support/kube/build finds or builds the servers. Ports are fixed, since nothing else is in the namespace. A program under
test runs there too: Process(..., namespace=kube.netns).
"""
import base64
import contextlib
import functools
import http.client
import itertools
import json
import os
import secrets
import signal
import socket
import ssl
import subprocess

import pytest

from lab.net import Namespace
from lab.process import Process
from lab.programs import ROOT
from lab.wait import PATIENCE, until

ETCD, PEER, SECURE = 2379, 2380, 6443
CONTROLLERS = ('endpointslice-controller', 'endpointslice-mirroring-controller', 'endpoints-controller', 'namespace-controller',
               'garbage-collector-controller', 'serviceaccount-controller', 'root-ca-certificate-publisher-controller')
READY = max(60, PATIENCE)  # s, on a busy machine
# writes only; an answer is sent before its line is
AUDIT = {'apiVersion': 'audit.k8s.io/v1', 'kind': 'Policy', 'omitStages': ['RequestReceived'], 'rules': [
    {'level': 'Metadata', 'verbs': ['create', 'update', 'patch', 'delete', 'deletecollection']}, {'level': 'None'}]}
TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
MERGE, PATCH, APPLY = (f'application/{kind}' for kind in ('merge-patch+json', 'json-patch+json', 'apply-patch+yaml'))


@functools.cache
def servers():
    """The folder with the programs; skips the test where they cannot be had."""
    build = os.path.join(ROOT, 'tests/support/kube/build')
    seen = subprocess.run([build, '--check'], capture_output=True, text=True, check=False)
    if seen.returncode == 4:
        pytest.skip(seen.stderr.strip())
    done = subprocess.run([build], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _openssl(*words):
    subprocess.run(['openssl', *words], check=True, capture_output=True)


class Server(Process):
    """One of the servers: it logs to standard error, and is ended without ceremony."""

    def stop(self):
        if self.is_running():
            self.kill()

    def tail(self):
        return self.said()[-3000:]


class Kube:
    def __init__(self, folder, apiserver=(), controllers=()):
        """apiserver: more flags for it. controllers: more than those that every story gets."""
        self.folder, self.more, self.chosen = str(folder), apiserver, (*CONTROLLERS, *controllers)
        self.netns = Namespace('k')
        self.programs, self.url = servers(), f'https://127.0.0.1:{SECURE}'
        self._serial, self._users = itertools.count(1), {}
        self.ca = self.path('ca.pem')

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, content):
        """A file that another process may read at any time."""
        text = content if isinstance(content, str) else json.dumps(content)
        with open(self.path(name + '.new'), 'w', encoding='utf-8') as file:
            file.write(text)
        os.replace(self.path(name + '.new'), self.path(name))
        return self.path(name)

    # ---- certificates ----

    def _key(self, stem):
        return ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', self.path(stem + '.key')]

    def _authority(self):
        _openssl('req', '-x509', *self._key('ca'), '-subj', '/CN=test-ca', '-days', '30', '-addext',
                 'basicConstraints=critical,CA:TRUE', '-out', self.ca)
        _openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', self.path('sa.key'))
        _openssl('ec', '-in', self.path('sa.key'), '-pubout', '-out', self.path('sa.pub'))

    def issue(self, stem, subject, names=''):
        """(certificate, key) signed by the cluster's authority."""
        out, request = self.path(stem + '.pem'), self.path(stem + '.csr')
        extensions = self.write(stem + '.ext', f'subjectAltName={names}\n' if names else 'basicConstraints=CA:FALSE\n')
        _openssl('req', '-new', *self._key(stem), '-subj', subject, '-out', request)
        _openssl('x509', '-req', '-in', request, '-CA', self.ca, '-CAkey', self.path('ca.key'), '-set_serial',
                 str(next(self._serial)), '-days', '30', '-extfile', extensions, '-out', out)
        return out, self.path(stem + '.key')

    def user(self, name, group=None):
        """(certificate, key) of a user; without a binding it may do nothing."""
        if name not in self._users:
            self._users[name] = self.issue(f'user-{name.replace(":", "-")}', (f'/O={group}' if group else '') + f'/CN={name}')
        return self._users[name]

    # ---- life ----

    def start(self):
        self._authority()
        self._serving = self.issue('server', '/CN=kube-apiserver', 'DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1')
        self.user('admin', 'system:masters')
        self.user('system:kube-controller-manager')
        self.write('audit.yaml', AUDIT)
        self._context = ssl.create_default_context(cafile=self.ca)
        self._context.load_cert_chain(*self.user('admin'))
        self.start_servers()
        self.start_controllers()
        return self

    def _server(self, name, *flags):
        return Server(self.folder, name, [os.path.join(self.programs, name), *flags], namespace=self.netns).start()

    def start_etcd(self):
        at, peer = f'http://127.0.0.1:{ETCD}', f'http://127.0.0.1:{PEER}'
        self.etcd = self._server(
            'etcd', f'--data-dir={self.path("etcd")}', f'--listen-client-urls={at}', f'--advertise-client-urls={at}',
            f'--listen-peer-urls={peer}', f'--initial-advertise-peer-urls={peer}', f'--initial-cluster=default={peer}',
            '--unsafe-no-fsync', '--log-level=warn')

    def start_apiserver(self, wait=True):
        certificate, key = self._serving
        self.apiserver = self._server(
            'kube-apiserver', f'--etcd-servers=http://127.0.0.1:{ETCD}', f'--secure-port={SECURE}', '--bind-address=127.0.0.1',
            '--advertise-address=127.0.0.1', '--endpoint-reconciler-type=none', f'--tls-cert-file={certificate}',
            f'--tls-private-key-file={key}', f'--client-ca-file={self.ca}', '--authorization-mode=RBAC',
            '--service-account-issuer=https://kubernetes.default.svc', f'--service-account-signing-key-file={self.path("sa.key")}',
            f'--service-account-key-file={self.path("sa.pub")}', '--service-cluster-ip-range=10.96.0.0/12,fd00:96::/112',
            '--shutdown-watch-termination-grace-period=1s', f'--audit-policy-file={self.path("audit.yaml")}',
            f'--audit-log-path={self.path("audit.log")}', '--audit-log-mode=blocking', *self.more)
        if wait:
            self.wait_ready()

    def start_controllers(self):
        self.controllers = self._server(
            'kube-controller-manager', f'--kubeconfig={self.kubeconfig("system:kube-controller-manager")}',
            f'--controllers={",".join(self.chosen)}', '--leader-elect=false', '--secure-port=0', '--use-service-account-credentials',
            f'--root-ca-file={self.ca}', f'--service-account-private-key-file={self.path("sa.key")}')

    def is_ready(self):
        assert self.apiserver.is_running(), self.apiserver.tail()
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.ask('GET', '/readyz')[0] == 200
        return False

    def wait_ready(self):
        until(self.is_ready, READY, 'the API server being ready')

    def restart_apiserver(self, number=signal.SIGKILL, wait=True):
        """Ends it and starts it again on the same data."""
        self.apiserver.signal(number)
        self.apiserver.end(READY)
        self.start_apiserver(wait)

    def start_servers(self):
        """Storage and API only."""
        self.start_etcd()
        self.start_apiserver()

    def stop_servers(self):
        for name in ('controllers', 'apiserver', 'etcd'):
            if hasattr(self, name):
                getattr(self, name).stop()

    def close(self):
        self.stop_servers()
        self.netns.delete()

    # ---- asking ----

    def connect(self, port=SECURE, context=None):
        """A new connection of http.client from within the namespace."""
        connection = http.client.HTTPConnection('127.0.0.1', port, timeout=READY)
        connection.sock = self.netns.socket()
        connection.sock.settimeout(READY)
        connection.sock.connect(('127.0.0.1', port))
        if context:
            connection.sock = context.wrap_socket(connection.sock, server_hostname='127.0.0.1')
        return connection

    def ask(self, method, path, body=None, kind='application/json', token=None, accept=None):
        """(status, answer): the answer is what its JSON says, else text. Without a token the admin asks."""
        context = ssl.create_default_context(cafile=self.ca) if token else self._context
        with contextlib.closing(self.connect(context=context)) as connection:
            headers = {'Content-Type': kind, **({'Authorization': f'Bearer {token}'} if token else {}), **({'Accept': accept} if accept else {})}
            connection.request(method, path, body if body is None or isinstance(body, (str, bytes)) else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, json.loads(text) if text.startswith('{') else text

    def do(self, method, path, body=None, **how):
        """The same for a request that must succeed; returns the answer. 429 means later: a kind of object is not loaded yet after a start of the server."""
        def settled():
            got = self.ask(method, path, body, **how)
            return got if got[0] != 429 else None
        status, answer = until(settled, READY, f'{method} {path} being taken')
        assert status in (200, 201, 202), (method, path, answer)
        return answer

    def table(self, path, wide=False):
        """What `kubectl get` prints: a dict of columns for each row; wide: as with -o wide."""
        got = self.do('GET', path, accept=TABLE)
        shown = [i for i, one in enumerate(got['columnDefinitions']) if wide or not one['priority']]
        return [{got['columnDefinitions'][i]['name']: row['cells'][i] for i in shown} for row in got['rows']]

    def patch(self, path, body, kind=MERGE):
        return self.do('PATCH', path, body, kind=kind)

    def apply(self, path, body, manager='story'):
        """Server-side apply; body: a dict, or the text of one YAML document."""
        return self.do('PATCH', f'{path}?fieldManager={manager}&force=true', body, kind=APPLY)

    def namespace(self, prefix='story'):
        """A new one, in which pods may be made. It is not deleted: that takes seconds."""
        name = f'{prefix}-{secrets.token_hex(4)}'
        self.do('POST', '/api/v1/namespaces', {'metadata': {'name': name}})
        for made in ('serviceaccounts/default', 'configmaps/kube-root-ca.crt'):
            until(lambda: self.ask('GET', f'/api/v1/namespaces/{name}/{made}')[0] == 200, READY, made)
        return name

    def create(self, path, name, **parts):
        return self.do('POST', path, {'metadata': {'name': name}, **parts})

    def service(self, namespace, name, ports=(80,), **spec):
        """A Service without a cluster address, which is the cheapest kind."""
        spec = {'clusterIP': 'None', 'ports': [{'name': f'p{port}', 'port': port} for port in ports], **spec}
        return self.create(f'/api/v1/namespaces/{namespace}/services', name, spec=spec)

    def node(self, name='node-1'):
        if self.ask('GET', f'/api/v1/nodes/{name}')[0] == 404:
            self.create('/api/v1/nodes', name)
        return name

    def pod(self, namespace, name, address, labels=None, ready=True, ports=()):
        """A pod that a kubelet would have started: it has an address, and is ready or not."""
        place = f'/api/v1/namespaces/{namespace}/pods'
        self.do('POST', place, {'metadata': {'name': name, 'labels': labels or {}}, 'spec': {
            'nodeName': self.node(), 'containers': [{'name': 'c', 'image': 'none', 'ports': list(ports)}]}})
        self.patch(f'{place}/{name}/status', {'status': {
            'phase': 'Running', 'podIP': address, 'podIPs': [{'ip': address}],
            'conditions': [{'type': 'Ready', 'status': 'True' if ready else 'False'}]}})

    def bind(self, subject, role, rules, namespace=None):
        """A role with these rules for a user, or for an account 'namespace:name'."""
        place = '/apis/rbac.authorization.k8s.io/v1' + (f'/namespaces/{namespace}' if namespace else '')
        kind = 'Role' if namespace else 'ClusterRole'
        where, _, account = subject.partition(':')
        who = {'kind': 'ServiceAccount', 'namespace': where, 'name': account} if account and where != 'system' else \
            {'kind': 'User', 'name': subject, 'apiGroup': 'rbac.authorization.k8s.io'}
        self.create(f'{place}/{kind.lower()}s', role, rules=rules)
        self.create(f'{place}/{kind.lower()}bindings', role, subjects=[who],
                    roleRef={'apiGroup': 'rbac.authorization.k8s.io', 'kind': kind, 'name': role})

    def token(self, namespace, account='default', seconds=600):
        return self.do('POST', f'/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token',
                       {'spec': {'expirationSeconds': seconds}})['status']['token']

    # ---- what programs under test get ----

    def kubeconfig(self, user='admin', name=None, server=None, cluster=None, credentials=None, namespace='default'):
        """Writes the file; cluster, credentials: members that are added, or replace those of a client certificate."""
        def data(path):
            with open(path, 'rb') as file:
                return base64.b64encode(file.read()).decode()
        if credentials is None:
            certificate, key = self.user(user)
            credentials = {'client-certificate-data': data(certificate), 'client-key-data': data(key)}
        return self.write(name or f'kubeconfig-{user.replace(":", "-")}', {
            'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'test',
            'clusters': [{'name': 'test', 'cluster': {'server': server or self.url, 'certificate-authority-data': data(self.ca),
                                                      **(cluster or {})}}],
            'users': [{'name': 'test', 'user': credentials}],
            'contexts': [{'name': 'test', 'context': {'cluster': 'test', 'user': 'test', 'namespace': namespace}}]})

    # ---- storage and audit ----

    def ask_etcd(self, path, body):
        with contextlib.closing(self.connect(ETCD)) as connection:
            connection.request('POST', path, json.dumps(body))
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            return json.loads(answer.read())

    def revision(self):
        return int(self.ask_etcd('/v3/kv/range', {'key': base64.b64encode(b'none').decode()})['header']['revision'])

    def compact(self):
        """Forgets all older revisions."""
        self.ask_etcd('/v3/kv/compaction', {'revision': self.revision(), 'physical': True})

    def _each(self, path, bodies):
        """One write each on one connection: a revision may have one object only, where objects are watched."""
        with contextlib.closing(self.connect(ETCD)) as connection:
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for body in bodies:
                connection.request('POST', path, json.dumps(body))
                answer = connection.getresponse()
                assert answer.status == 200, answer.read()
                answer.read()

    def put_each(self, objects):
        """Puts {key: object} straight into the storage, one after the other, as users would."""
        self._each('/v3/kv/put', ({'key': base64.b64encode(key.encode()).decode(),
                                   'value': base64.b64encode(json.dumps(value).encode()).decode()} for key, value in objects.items()))

    def remove_each(self, keys):
        self._each('/v3/kv/deleterange', ({'key': base64.b64encode(key.encode()).decode()} for key in keys))

    def put(self, objects):
        """Puts {key: object} straight into the storage, for thousands of them; nothing is validated."""
        rows = [{'requestPut': {'key': base64.b64encode(key.encode()).decode(),
                                'value': base64.b64encode(json.dumps(value).encode()).decode()}}
                for key, value in objects.items()]
        for at in range(0, len(rows), 100):
            self.ask_etcd('/v3/kv/txn', {'success': rows[at:at + 100]})

    def audit(self, user):
        """The writes of a user so far."""
        with open(self.path('audit.log'), encoding='utf-8') as file:
            lines = [json.loads(line) for line in file if line.endswith('\n')]  # the last one may be unfinished
        return [line for line in lines if line['user']['username'] == user]

    def writes_settled(self, path='/api/v1/namespaces/default/configmaps'):
        """Waits until every write before this call is in the audit log."""
        mark = f'mark-{secrets.token_hex(4)}'
        self.create(path, mark)
        until(lambda: any(line['objectRef'].get('name') == mark or mark in line['requestURI']
                          for line in self.audit('admin')), PATIENCE, 'the audit line of a write')
