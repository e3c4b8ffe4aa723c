# SPDX-License-Identifier: Apache-2.0
"""A cluster on which the Gateway API conformance suite can run: the API of lab.kube with the controllers of Deployments, the
CRDs of one version, and a node whose pods are processes (tests/conformance/agent).

    cluster = Cluster(folder, 'v1.6.3').start()
    cluster.apply_base()
    cluster.log('namespace', 'pod', since='2026-01-01T00:00:00Z')

Everything is in one network namespace: the API, the agent, the routers, the gateway and the suite. Pods have namespaces of their own
behind a bridge (10.244.0.0/16). All addresses of POOL are local, so that a router may listen on any of them.
"""
import json
import os
import re
import subprocess
import urllib.parse

import pytest

from lab.daemon import Daemon
from lab.gateway import ACCOUNT, POOL, apply_crds, apply_rbac, documents
from lab.kube import Kube
from lab.process import Process
from lab.programs import BUILD, ROOT
from lab.wait import until

FOLDER = os.path.join(ROOT, 'tests/conformance')
VERSIONS = sorted(name for name in os.listdir(FOLDER) if name.startswith('v'))
# with v1.6 the field `retry` of HTTPRoutes is in the experimental channel
CHANNELS = {'v1.6.3': 'experimental'}
CONTROLLERS = ('deployment-controller', 'replicaset-controller')
NODE, KUBELET = '10.244.0.1', 'kubelet'
USABLE, UNUSABLE = '198.18.200.1', '203.0.113.7'  # in the pool, and not here
CLASS, CONTROLLER = 'gateway-conformance', 'maglev.dev/gateway-controller'
PROFILES = tuple(f'GATEWAY-{name}' for name in ('HTTP', 'GRPC', 'TLS', 'TCP', 'UDP'))
START = 30  # s
PLACES = {'Namespace': '/api/v1/namespaces', 'Service': '/api/v1/namespaces/{}/services', 'ConfigMap': '/api/v1/namespaces/{}/configmaps',
          'Deployment': '/apis/apps/v1/namespaces/{}/deployments',
          'Gateway': '/apis/gateway.networking.k8s.io/v1/namespaces/{}/gateways'}


def folder_of(what):
    """The folder with a version of the suite, or with the agent, which is built if it is not there; skips the test without a toolchain."""
    done = subprocess.run([os.path.join(FOLDER, 'build'), what], capture_output=True, text=True, check=False)
    if done.returncode == 4:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class Router(Daemon):
    listener = 'admin'


class Agent(Process):
    """It logs to standard error."""

    def check_words(self):
        pass


class Cluster:
    def __init__(self, folder, version):
        self.suite, self.program = folder_of(version), os.path.join(folder_of('agent'), 'agent')
        self.folder, self.version = str(folder), version
        self.processes = []
        self.kube = Kube(folder, controllers=CONTROLLERS)

    def start(self):
        self.kube.netns.ip(f'route add local {POOL} dev lo')
        self.kube.start()
        apply_crds(self.kube, version=self.version, channel=CHANNELS.get(self.version, 'standard'))
        certificate, key = self.kube.issue(KUBELET, f'/CN={KUBELET}', f'IP:{NODE}')
        self.agent = self.begin(Agent(self.folder, 'agent', [
            self.program, f'--kubeconfig={self.kube.kubeconfig()}', f'--address={NODE}/16', f'--certificate={certificate}',
            f'--key={key}', f'--folder={os.path.join(self.folder, "pods")}', f'--echo={os.path.join(self.suite, "echo")}'],
            namespace=self.kube.netns))
        until(lambda: 'is ready' in self.agent.said() or not self.agent.is_running(), START, 'the node being ready')
        assert self.agent.is_running(), self.agent.said()
        return self

    def serve(self, *flags, build=BUILD):
        """Starts a router and the gateway, with no more rights than the shipped rules give it, and makes the class."""
        self.router = self.begin(Router(
            self.folder, 'maglev-router', '--admin-addr', '127.0.0.1:0', '--grpc-addr', '127.0.0.1:0', '--listen', '127.0.0.1:0',
            '--admin-max-body', '65536', '--drain-time', '1s', metrics=None, level='info', namespace=self.kube.netns, build=build))
        apply_rbac(self.kube)
        namespace, _, account = ACCOUNT.partition(':')
        token = self.kube.token(namespace, account, seconds=36000)
        config = self.kube.kubeconfig(name='kubeconfig-gateway', credentials={'token': token}, namespace=namespace)
        self.gateway = self.begin(Daemon(self.folder, 'maglev-gateway', '--kubeconfig', config, '--router',
                                         f'127.0.0.1:{self.router.port}', '--address-pool', POOL, *flags, level='info',
                                         namespace=self.kube.netns, build=build))
        self.kube.apply(f'/apis/gateway.networking.k8s.io/v1/gatewayclasses/{CLASS}', json.dumps({
            'apiVersion': 'gateway.networking.k8s.io/v1', 'kind': 'GatewayClass', 'metadata': {'name': CLASS},
            'spec': {'controllerName': CONTROLLER}}), 'conformance')
        until(self.features, START, 'the class being accepted')
        return self

    def features(self):
        """What the gateway says that it can do, which chooses the tests."""
        found = self.kube.do('GET', f'/apis/gateway.networking.k8s.io/v1/gatewayclasses/{CLASS}').get('status', {})
        return [feature['name'] for feature in found.get('supportedFeatures', ())]

    def begin(self, process):
        self.processes.append(process)
        return process.start()

    def close(self):
        """Ends everything, the last one first; a daemon of ours must end well."""
        try:
            for process in reversed(self.processes):
                process.stop()
        finally:
            for process in self.processes:
                if process.is_running():
                    process.kill()
            self.kube.close()

    # ---- objects ----

    def apply_base(self):
        """The objects that the suite's tests share."""
        for document in documents(os.path.join(self.suite, 'base.yaml')):
            kind, name = (re.search(pattern, document, re.M)[1] for pattern in (r'^kind: (\S+)', r'^  name: (\S+)'))
            namespace = re.search(r'^  namespace: (\S+)', document, re.M)
            path = PLACES[kind].format(namespace and namespace[1])
            self.kube.apply(f'{path}/{name}', document.replace('{GATEWAY_CLASS_NAME}', CLASS), 'conformance')

    # ---- pods ----

    def pods(self, namespace=None, ready=True):
        """The pods that are ready, or all of them."""
        place = f'/api/v1/namespaces/{namespace}/pods' if namespace else '/api/v1/pods'
        return [pod for pod in self.kube.do('GET', place)['items'] if not ready or any(
            row['type'] == 'Ready' and row['status'] == 'True' for row in pod['status'].get('conditions', ()))]

    def log(self, namespace, pod, **how):
        """Its log, through the API server; how: parameters of the request."""
        status, text = self.kube.ask('GET', f'/api/v1/namespaces/{namespace}/pods/{pod}/log?{urllib.parse.urlencode(how)}')
        assert status == 200, text
        return text

    # ---- the suite ----

    def run(self, *flags, only=None, profiles=PROFILES, timeout=3600, report=None):
        """Runs the suite in the cluster; returns {name of a test: PASS, FAIL or SKIP}, and leaves what it says in suite.log.

        only: names of tests; None: all. report: (path, {flag: value of the implementation's description})."""
        names = f'/^({"|".join(only)})$' if only else ''
        command = [os.path.join(self.suite, 'suite'), '-test.v', f'-test.timeout={timeout}s', f'-test.run=^TestConformance${names}',
                   f'--gateway-class={CLASS}', f'--conformance-profiles={",".join(profiles)}',
                   f'--usable-address={USABLE}', f'--unusable-address={UNUSABLE}', *flags]
        if report:
            command += [f'--report-output={report[0]}', *(f'--{flag}={value}' for flag, value in report[1].items())]
        self.said = os.path.join(self.folder, 'suite.log')
        with open(self.said, 'w', encoding='utf-8') as log:
            subprocess.run(self.kube.netns.command(*command), stdout=log, stderr=log, check=False, cwd=self.folder,
                           env={**os.environ, 'KUBECONFIG': self.kube.kubeconfig()})
        return self.results()

    def results(self):
        with open(self.said, encoding='utf-8', errors='replace') as log:
            return {found[2]: found[1] for found in re.finditer(r'^    --- (\w+): TestConformance/(\S+) \(', log.read(), re.M)}
