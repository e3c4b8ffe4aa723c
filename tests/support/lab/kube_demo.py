# SPDX-License-Identifier: Apache-2.0
"""The cluster of `make run-kube`: a real API, our programs for Kubernetes, Services to look at, and what to try.

PROGRAMS has a row for each program. The cluster has no nodes and no cloud: pods are objects whose addresses are on the
loopback of the namespace, where a small server answers for each of them, and the mux gets its address from here.
"""
import functools
import http.server
import json
import os
import queue
import shutil
import socket
import tempfile
import threading

import pytest

from lab.demo import line_text, say
from lab.kube import SECURE, Kube
from lab.process import Process
from lab.programs import program
from lab.mux import ship
from lab.wait import until
from lab.window import door

SYSTEM = 'maglev-system'  # as in deploy/kubernetes
PREFIX = 'svc-mux.nowake.ai'
PODS, TARGET = {'api': ('10.1.0.1', '10.1.0.2'), 'web': ('10.1.0.3',), 'admin': ('10.1.0.4',)}, 8080
ADDRESS = '203.0.113.10'


class Unable(Exception):
    pass


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f'this is {self.server.server_address[0]}\n'.encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def channel(name, external=None, port=80):
    """A Service that maglev-mux puts behind the mux."""
    notes = {f'{PREFIX}/external-ports': external} if external else {}
    return {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': name, 'annotations': notes}, 'spec': {
        'type': 'LoadBalancer', 'loadBalancerClass': f'{PREFIX}/edge.{SYSTEM}', 'allocateLoadBalancerNodePorts': False,
        'selector': {'app': name}, 'ports': [{'name': 'http', 'port': port, 'targetPort': TARGET}]}}


MUX = {'metadata': {'name': 'edge', 'annotations': {f'{PREFIX}/multiplexer': 'true', f'{PREFIX}/port-range': '20000-20099'}},
       'spec': {'type': 'LoadBalancer', 'allocateLoadBalancerNodePorts': False,
                'ports': [{'name': 'placeholder', 'port': 101}]}}


class Mux:
    """maglev-mux with a mux and four channels: a port of its own, two that are chosen, and one that is refused."""

    name, files, account = 'maglev-mux', ('mux/rbac.yaml',), 'maglev-mux'
    flags = ('--debug-web-listen=127.0.0.1:0', '--debug-web-actions', '--metrics-addr=127.0.0.1:0')
    listeners = ('debug-web', 'metrics')

    def seed(self, demo):
        kube = demo.kube
        kube.do('POST', f'/api/v1/namespaces/{SYSTEM}/services', MUX)
        kube.patch(f'/api/v1/namespaces/{SYSTEM}/services/edge/status', {'status': {'loadBalancer': {'ingress': [{'ip': ADDRESS}]}}})
        for one in (channel('api'), channel('web', 'http:auto'), channel('admin', 'http:auto'), channel('late')):
            kube.do('POST', f'/api/v1/namespaces/{demo.namespace}/services', one)
        self.more = kube.write('channel.json', json.dumps(channel('shop', 'http:auto'), indent=2) + '\n')

    def is_up(self, demo):
        """All three ports are there, and the fourth channel is refused."""
        ports = demo.kube.do('GET', f'/api/v1/namespaces/{SYSTEM}/services/edge')['spec']['ports']
        return {one['port'] for one in ports} == {80, 20000, 20001}

    def tell(self, demo, at):
        app = demo.namespace
        return f'''
  maglev-mux: {PREFIX}/edge.{SYSTEM} is a mux; api, web and admin in {app} share it. late wants port 80, which api has.

    the page          http://{at['debug-web']}/    (in a browser on this machine)
    the mux           kubectl -n {SYSTEM} get service edge -o wide
    its ports         kubectl -n {SYSTEM} get service edge -o jsonpath='{{.metadata.annotations.svc-mux\\.nowake\\.ai/topology}}'
    a channel         kubectl -n {app} get service web -o yaml
    why not           kubectl -n {app} describe service late
    another port      kubectl -n {app} annotate service late {PREFIX}/external-ports=http:8081
    a new channel     kubectl -n {app} apply -f {self.more}    (a file to change and try)
    a pod goes        kubectl -n {app} delete pod api-2 --grace-period=0 --force
    the endpoints     kubectl -n {SYSTEM} get endpointslices -l kubernetes.io/service-name=edge
    the state         kubectl -n {SYSTEM} get configmap edge-port-allocations -o jsonpath='{{.data.allocations\\.json}}'
    the API           curl -s http://{at['debug-web']}/api/topology
    the metrics       curl -s http://{at['metrics']}/metrics | grep ^maglev_mux
'''


PROGRAMS = (Mux(),)


class KubeDemo:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix='maglev-kube.')
        self.kube, self.processes, self.namespace = None, [], 'app'
        self.lines, self.at = queue.Queue(), {}

    # ---- the cluster ----

    def start_cluster(self):
        say('-- starting etcd, kube-apiserver and kube-controller-manager (built once if there are none)')
        try:
            self.kube = Kube(self.folder)
        except pytest.skip.Exception as why:
            raise Unable(str(why)) from None
        self.kube.start()
        for name in (SYSTEM, self.namespace):
            self.kube.do('POST', '/api/v1/namespaces', {'metadata': {'name': name}})
            until(lambda: self.kube.ask('GET', f'/api/v1/namespaces/{name}/serviceaccounts/default')[0] == 200,
                  what=f'the account of {name}')
        self.config = self.kube.kubeconfig(name='kubeconfig', server=f'https://{door(self.kube.netns, f"127.0.0.1:{SECURE}")}',
                                           namespace=self.namespace)

    def start_pods(self):
        """Objects, and servers at their addresses."""
        addresses = [(app, number, address) for app, all_of in PODS.items() for number, address in enumerate(all_of, 1)]
        self.kube.netns.ip(*(f'addr add {address}/32 dev lo' for _, _, address in addresses))
        for app, number, address in addresses:
            listener = self.kube.netns.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, TARGET))
            server = http.server.ThreadingHTTPServer((address, TARGET), Handler, bind_and_activate=False)
            server.socket.close()
            server.socket, server.server_address = listener, (address, TARGET)
            server.server_activate()
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.kube.pod(self.namespace, f'{app}-{number}', address, labels={'app': app})

    # ---- the programs ----

    def start_program(self, row):
        for path in row.files:
            ship(self.kube, f'deploy/kubernetes/{path}', SYSTEM)
        token = self.kube.token(SYSTEM, row.account, 24 * 3600)
        path = self.kube.kubeconfig(name=f'kubeconfig-{row.name}', credentials={'token': token}, namespace=SYSTEM)
        process = Process(self.folder, row.name, [program(row.name), f'--kubeconfig={path}', *row.flags], namespace=self.kube.netns)
        read, write = os.pipe()
        process.start(stdout=write)
        os.close(write)
        self.processes.append(process)
        threading.Thread(target=self.read_log, args=(row, read), daemon=True).start()

    def read_log(self, row, pipe):
        with open(pipe, encoding='utf-8') as lines:
            for line in lines:
                self.lines.put((row, json.loads(line)))
        self.lines.put((row, None))

    def show_line(self):
        """Prints one line of a log; returns its program if that has ended."""
        row, line = self.lines.get()
        if line is None:
            return row
        say(line_text(line, f'{row.name} ' if len(PROGRAMS) > 1 else ''))
        if line['msg'] == 'listening':
            self.at.setdefault(row.name, {})[line['for']] = door(self.kube.netns, line['addr'].replace('[::]', '127.0.0.1'))
        return None

    def wait_up(self, row):
        up = functools.partial(row.is_up, self)
        while not (set(row.listeners) <= set(self.at.get(row.name, ())) and up()):
            if self.show_line():
                raise Unable(f'{row.name} ended: {self.processes[-1].said()}')

    # ---- the whole ----

    def run(self):
        self.start_cluster()
        self.start_pods()
        for row in PROGRAMS:
            row.seed(self)
            self.start_program(row)
            self.wait_up(row)
        say(self.tell())
        while not (ended := self.show_line()):
            pass
        raise Unable(f'{ended.name} ended')

    def tell(self):
        return f'''
  The cluster is up. The logs of the programs follow below. In another terminal try:

    first             export KUBECONFIG={self.config}
{''.join(row.tell(self, self.at[row.name]) for row in PROGRAMS)}
  Ctrl-C ends it all.
'''

    def end(self):
        for process in reversed(self.processes):
            if process.is_running():
                process.process.terminate()
                process.end()
        if self.kube:
            self.kube.close()
        shutil.rmtree(self.folder, ignore_errors=True)
