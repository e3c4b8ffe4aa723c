# SPDX-License-Identifier: Apache-2.0
"""Thousands of connections from few hosts: other hosts, and the machine itself, still get in."""
import resource
import socket

import pytest

from lab import PATIENCE, config, until
from lab.h2 import DATA, PREFACE, SETTINGS, Connection, frame, request

HERE, FLOOD, OTHER = '10.77.0.254', '10.77.0.1', '10.77.0.2'
ALL, PER_CLIENT, RESERVE = 4096, 1024, 64  # docs/reference/api.md, "Connections"
HELLO = PREFACE + frame(SETTINGS)
HEALTH = HELLO + request('/grpc.health.v1.Health/Watch')
EVENTS = HELLO + request('/maglev.Maglev/WatchEvents')


@pytest.fixture(autouse=True)
def many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def daemon(start, net):
    return start(config({}, {'a': '10.99.0.11'}), grpc=':0', metrics=':0', namespace=net.servers, level='info')


@pytest.fixture
def crowd(net):
    """Opens connections and sends each some bytes first."""
    made = []

    def add(count, port, hello, source=FLOOD):
        def connect():
            for _ in range(count):
                made.append(socket.create_connection((HERE, port), PATIENCE, (source, 0)))
                made[-1].sendall(hello)
        net.probes.inside(connect)
        return made

    yield add
    for one in made:
        one.close()


def ask(port, namespace, address, source=None):
    """Whether a call of the API is answered."""
    connected = namespace.inside(socket.create_connection, (address, port), PATIENCE, source and (source, 0))
    try:
        connection = Connection(port, connected=connected)
        connection.send(request('/maglev.Maglev/GetBackend', b'\x0a\x01a'))
        return connection.wait(DATA) is not None
    except ConnectionError:
        return False
    finally:
        connected.close()


def counted(daemon, what):
    return daemon.metrics().one(f'maglev_grpc_{what}')


def test_health_watches_of_one_host_lock_nobody_out(daemon, crowd, net):
    """4,096 connections with a Watch each: its own older ones make room, those of others do not"""
    port = daemon.grpc_port()
    idle = net.probes.inside(socket.create_connection, (HERE, port), PATIENCE, (OTHER, 0))
    idle.sendall(HELLO)
    crowd(ALL, port, HEALTH)
    until(lambda: counted(daemon, 'evicted_total') >= ALL - PER_CLIENT, what='the end of the older ones')
    assert ask(port, net.probes, HERE, OTHER)
    assert ask(port, net.servers, '127.0.0.1')
    assert counted(daemon, 'connections') in range(PER_CLIENT, PER_CLIENT + 5)
    assert counted(daemon, 'refused_total') == 0
    connection = Connection(port, preface=False, connected=idle)
    connection.send(request('/maglev.Maglev/GetBackend', b'\x0a\x01a'))
    assert connection.wait(DATA) is not None
    connection.close()


def test_calls_of_one_host_lock_nobody_out(daemon, crowd, net):
    """connections in use are not closed, so the host gets no more of them"""
    port = daemon.grpc_port()
    crowd(PER_CLIENT, port, EVENTS)
    daemon.wait_metric('maglev_watch_subscribers', PER_CLIENT)
    crowd(100, port, EVENTS)
    daemon.wait_metric('maglev_grpc_refused_total', 100)
    assert counted(daemon, 'connections') == PER_CLIENT and counted(daemon, 'evicted_total') == 0
    assert not ask(port, net.probes, HERE, FLOOD)
    assert ask(port, net.probes, HERE, OTHER)
    assert ask(port, net.servers, '127.0.0.1')


def test_many_hosts_leave_room_for_the_machine_itself(start, crowd, net):
    """all that remote clients may have is in use: a local client still gets in"""
    daemon = start(config({}, {'a': '10.99.0.11'}), grpc=':0', metrics=':0', namespace=net.servers, level='info',
                   args=('--grpc-max-per-client', '2000'))
    port = daemon.grpc_port()
    sources = FLOOD, OTHER, '10.77.2.1'
    net.probes.ip(f'addr add {sources[2]}/16 dev veth')
    for source, count in zip(sources, (2000, 2000, ALL - RESERVE - 4000)):
        crowd(count, port, EVENTS, source)
    daemon.wait_metric('maglev_watch_subscribers', ALL - RESERVE)
    crowd(100, port, EVENTS, sources[2])
    daemon.wait_metric('maglev_grpc_refused_total', 100)
    assert counted(daemon, 'connections') == ALL - RESERVE
    assert not ask(port, net.probes, HERE, sources[2])
    for _ in range(3):
        assert ask(port, net.servers, '127.0.0.1')


@pytest.mark.parametrize('hello', [b'', b'GET /metrics HTTP/1.1\r\n'], ids=['silent', 'unfinished'])
def test_http_is_no_different(daemon, crowd, net, hello):
    """the metrics port: 1,000 connections, 250 of one client"""
    made = crowd(1000, daemon.port, hello)
    assert daemon.get('/healthz')[0] == 200
    assert daemon.get('/healthz', address=HERE, inside=net.probes)[0] == 200  # of the crowd's own host
    other = net.probes.inside(socket.create_connection, (HERE, daemon.port), PATIENCE, (OTHER, 0))
    other.sendall(b'GET /healthz HTTP/1.0\r\n\r\n')
    assert other.makefile('rb').readline().split()[1] == b'200'
    other.close()
    closed = until(lambda: len(ended := [one for one in made if ends(one)]) >= 750 and ended, what='750 closed ones')
    assert closed[0] is made[0]


def ends(one):
    one.setblocking(False)
    try:
        return one.recv(1) == b''
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
