# SPDX-License-Identifier: Apache-2.0
"""The node on which the pods of the Gateway API conformance suite run (tests/conformance/agent)."""
import contextlib
import datetime
import http.client
import json
import socket
import ssl
import time

import pytest

from lab import until
from lab.conformance import NODE, Cluster

INFRA, APP = 'gateway-conformance-infra', 'gateway-conformance-app-backend'
PODS = 23  # of base.yaml
GONE = 5  # s, for a pod without anything to wait for


@pytest.fixture(scope='module')
def cluster(tmp_path_factory):
    it = Cluster(tmp_path_factory.mktemp('conformance'), 'v1.6.3')
    try:
        yield it.start()
    finally:
        it.close()


@pytest.fixture(scope='module')
def pods(cluster, tmp_path_factory):
    """The pods of the suite, by the name of their container. Their Secrets are made after them, as the suite does it."""
    cluster.apply_base()
    until(lambda: len(cluster.pods(ready=False)) == PODS, what='all pods')
    until(lambda: len(cluster.pods()) == PODS - 5, what='the pods without volumes')
    certificate, key = (read(path) for path in cluster.kube.issue('backend', '/CN=abc.example.com', 'DNS:abc.example.com'))
    for namespace, name in ((INFRA, 'tls-checks-certificate'), (INFRA, 'tls-passthrough-checks-certificate'),
                            (APP, 'tls-passthrough-checks-certificate')):
        cluster.kube.create(f'/api/v1/namespaces/{namespace}/secrets', name, type='kubernetes.io/tls',
                            stringData={'tls.crt': certificate, 'tls.key': key})
    until(lambda: len(cluster.pods()) == PODS, what='all pods being ready')
    return {pod['spec']['containers'][0]['name']: pod for pod in cluster.pods(INFRA)}


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


@contextlib.contextmanager
def connected(cluster, pod, port):
    with cluster.kube.netns.socket() as it:
        it.settimeout(10)
        it.connect((pod['status']['podIP'], port))
        yield it


def ask(stream, path='/'):
    connection = http.client.HTTPConnection('pod')
    connection.sock = stream
    connection.request('GET', path)
    return json.loads(connection.getresponse().read())


def test_pods_are_processes_with_addresses_of_their_own(cluster, pods):
    for name in ('infra-backend-v1', 'infra-backend-v3'):
        with connected(cluster, pods[name], 3000) as stream:
            said = ask(stream)
        assert (said['pod'], said['namespace']) == (pods[name]['metadata']['name'], INFRA)
    addresses = [pod['status']['podIP'] for pod in cluster.pods()]
    assert len(set(addresses)) == PODS and NODE not in addresses


def test_volumes_and_protocols_are_those_of_the_manifest(cluster, pods):
    trust = ssl.create_default_context(cafile=cluster.kube.ca)
    with connected(cluster, pods['tls-backend'], 8443) as stream:
        assert ask(trust.wrap_socket(stream, server_hostname='abc.example.com'))['tls']['serverName'] == 'abc.example.com'
    with connected(cluster, pods['tcp-backend'], 3000) as stream:
        assert b'TCP Server' in stream.recv(100)
    with connected(cluster, pods['grpc-infra-backend-v1'], 3000) as stream:
        stream.sendall(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + bytes(3) + b'\x04' + bytes(5))
        assert stream.recv(100)[3] == 4  # its own settings
    question = b'\x12\x34\x01\x00\x00\x01' + bytes(6) + b'\x03foo\x03bar\x03com\x00\x00\x01\x00\x01'
    with cluster.kube.netns.socket(kind=socket.SOCK_DGRAM) as dns:
        dns.settimeout(10)
        dns.sendto(question, (pods['coredns']['status']['podIP'], 53))
        assert dns.recv(500).startswith(b'\x12\x34\x85\x00')


def test_a_port_that_the_program_leaves_closed_is_refused(cluster, pods):
    with pytest.raises(ConnectionRefusedError), connected(cluster, pods['infra-backend-v1'], 8443):
        pass


def test_the_log_of_a_pod_is_read_through_the_api(cluster, pods):
    pod = pods['infra-backend-v2']
    name, container = pod['metadata']['name'], pod['spec']['containers'][0]['name']
    with connected(cluster, pod, 3000) as stream:
        ask(stream, '/before')
    now = datetime.datetime.now(datetime.timezone.utc)
    later = (now + datetime.timedelta(minutes=1)).strftime('%Y-%m-%dT%H:%M:%SZ')
    earlier = (now - datetime.timedelta(minutes=1)).strftime('%Y-%m-%dT%H:%M:%SZ')
    until(lambda: 'request made to /before ' in cluster.log(INFRA, name, container=container, sinceTime=earlier), what='the line')
    assert cluster.log(INFRA, name, container=container, sinceTime=later) == ''


def test_a_deleted_pod_is_gone_in_seconds(cluster, pods):
    """... and the slice of its Service has its successor."""
    pod = pods['infra-backend-v3']
    path = f'/api/v1/namespaces/{INFRA}/pods/{pod["metadata"]["name"]}'
    began = time.monotonic()
    cluster.kube.do('DELETE', path)
    until(lambda: cluster.kube.ask('GET', path)[0] == 404, what='the end of the pod')
    assert time.monotonic() - began < GONE

    def endpoints():
        slices = cluster.kube.do('GET', f'/apis/discovery.k8s.io/v1/namespaces/{INFRA}/endpointslices'
                                 '?labelSelector=kubernetes.io/service-name=infra-backend-v3')['items']
        return [row['addresses'][0] for one in slices for row in one['endpoints'] or () if row['conditions']['ready']]

    until(lambda: len(endpoints()) == 1 and endpoints() != [pod['status']['podIP']], what='the successor')
