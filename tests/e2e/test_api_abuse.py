# SPDX-License-Identifier: Apache-2.0
"""Clients that do it wrong, on purpose or not, and the end of the server: nobody else is harmed."""
import contextlib
import gzip
import os
import resource
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

from lab import PATIENCE, SLACK, VIP, config, frontend, pool, until
from lab.api import Api, Refused, Status
from lab.h2 import DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PREFACE, RST_STREAM, Connection, field, frame, request
from lab.turns import waited

A = '10.99.0.11'
FILE = config(backends={'a': A}, frontends={'www': frontend(VIP, pool('all', 'a'))}, dataplane='vpp')
GET = '/maglev.Maglev/GetBackend'
NAME_A = b'\x0a\x01a'  # field 1, "a"
PER_CONNECTION = 64 << 10  # bytes; about 25 KiB are taken, more under the sanitizers


@pytest.fixture
def daemon(start_api):
    daemon = start_api(FILE)
    daemon.plane.wait_weights(VIP, {A: 100})
    return daemon


@pytest.fixture
def connect(daemon):
    made = []

    def connect(**how):
        made.append(Connection(daemon.api_port, **how))
        return made[-1]

    yield connect
    for one in made:
        one.close()


@pytest.fixture(autouse=True)
def others_are_unharmed(daemon):
    """One who watches and one who asks, through whatever the story does."""
    watch = daemon.api.watch(backend=True)
    watch.wait('backend', backend='a', replay=True)
    yield
    if daemon.is_running():
        daemon.api.call('PauseBackend', name='a')
        watch.wait('backend', to='paused', replay=False)
        assert daemon.connect().backend('a').state == 'paused'


@pytest.mark.parametrize('name', [b'\xff\xfe', b'a\0b', b'\xed\xa0\x80', b'\xc0\x80'])
def test_strings_that_are_none_are_invalid_arguments(daemon, name):
    """In names and reasons; the field is named"""
    request_ = b'\x0a' + bytes([len(name)]) + name
    for path, body in ((GET, request_), ('/maglev.Maglev/PauseBackend', NAME_A + b'\x12' + request_[1:])):
        with pytest.raises(Refused) as refused:
            daemon.api.raw(path, body)
        assert refused.value.status == Status.INVALID_ARGUMENT
        assert ('name' if path == GET else 'reason') in refused.value.text
    assert daemon.api.backend('a').state == 'up'


@pytest.mark.parametrize('body', [b'\x0a\x05', b'\xff' * 20, b'\x0a\xff\xff\xff\xff\x0f', b'\x0b'])
def test_bytes_that_are_no_message_are_invalid_arguments(daemon, body):
    with pytest.raises(Refused) as refused:
        daemon.api.raw(GET, body)
    assert refused.value.status == Status.INVALID_ARGUMENT


def test_what_is_not_there_is_unimplemented(daemon):
    for path in ('/maglev.Maglev/Nothing', '/maglev.Nobody/GetBackend', '/nonsense', '/'):
        with pytest.raises(Refused) as refused:
            daemon.api.raw(path)
        assert refused.value.status == Status.UNIMPLEMENTED and path in refused.value.text


def test_a_request_that_is_too_long_is_refused_and_the_connection_stays(daemon):
    with pytest.raises(Refused) as refused:
        daemon.api.raw(GET, b'\x0a\x81\x80\x01' + b'x' * 16385)
    assert refused.value.status == Status.RESOURCE_EXHAUSTED and '16384 bytes' in refused.value.text
    assert daemon.api.backend('a').state == 'up'


def test_a_request_that_is_too_long_unpacked_is_refused(daemon, connect):
    """What a few bytes may become is bounded: otherwise those of one read would hold the loop"""
    bomb = gzip.compress(b'\x1a\0' * 8193)
    one = connect()
    one.send(request(GET, b'', grpc_encoding='gzip').split(frame(DATA, END_STREAM, 1, bytes(5)))[0] +
             frame(DATA, END_STREAM, 1, struct.pack('>BI', 1, len(bomb)) + bomb))
    one.wait(HEADERS)
    daemon.wait_metric('maglev_grpc_calls_total', 1, method='GetBackend', status='RESOURCE_EXHAUSTED')


def test_another_content_type_gets_http_415(connect):
    for kind in ('text/html', 'application/json', 'application/grpcx'):
        one = connect()
        one.send(request(GET, NAME_A, content_type=kind))
        assert b'415' in one.wait(HEADERS)


def test_a_request_that_is_cut_short(connect):
    """The length says more than comes: an end, and not a wait for ever"""
    one = connect()
    head = frame(HEADERS, END_HEADERS, 1, b''.join(field(k, v) for k, v in {
        ':method': 'POST', ':scheme': 'http', ':path': GET, ':authority': 't', 'content-type': 'application/grpc',
        'te': 'trailers'}.items()))
    one.send(head + frame(DATA, 1, 1, struct.pack('>BI', 0, 100) + NAME_A))
    assert one.wait(HEADERS) is not None


@pytest.mark.parametrize('garbage', [
    b'GET / HTTP/1.1\r\nHost: x\r\n\r\n', b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' + b'x' * 600, b'\0' * 4096,
    PREFACE + b'\xff' * 100, PREFACE + frame(4, 0, 1), PREFACE + frame(4) + frame(HEADERS, END_HEADERS, 1, b'\xff' * 64),
    PREFACE + frame(4) + frame(DATA, 0, 7, b'x')])
def test_garbage_ends_its_own_connection(connect, garbage):
    one = connect(preface=False)
    one.send(garbage)
    assert one.ended()


def test_rapid_reset_is_calmed(daemon, connect):
    """GOAWAY, and the connection is closed"""
    one = connect()
    with contextlib.suppress(ConnectionError):
        for stream in range(1, 4001, 2):
            one.send(request('/maglev.Maglev/WatchEvents', stream=stream) +
                     frame(RST_STREAM, 0, stream, struct.pack('>I', 8)))
    assert one.ended()
    daemon.wait_metric('maglev_watch_subscribers', 1)


def test_an_empty_flood_and_pings_are_calmed(connect):
    for noise in (frame(6, payload=b'12345678'), frame(4), frame(2, 0, 1, b'\0\0\0\0\1')):
        one = connect()
        with contextlib.suppress(ConnectionError):
            for _ in range(30):
                one.send(noise * 1000)
        assert one.ended()


def h2load(daemon, folder, *shape, method='GetBackend', body=NAME_A):
    """Started, with its summary on stdout."""
    path = os.path.join(folder, 'body')
    with open(path, 'wb') as file:
        file.write(struct.pack('>BI', 0, len(body)) + body)
    return subprocess.Popen(['h2load', *shape, '-d', path, '-H', 'content-type: application/grpc', '-H', 'te: trailers',
                             f'http://127.0.0.1:{daemon.api_port}/maglev.Maglev/{method}'], stdout=subprocess.PIPE, text=True)


def test_a_crowd_that_asks_as_fast_as_it_can(daemon, folders):
    """h2load, 50 connections with 128 calls each: all are answered, and others in between"""
    crowd = h2load(daemon, folders(), '-n', '20000', '-c', '50', '-m', '128')
    while crowd.poll() is None:
        assert daemon.api.call('GetBackend', 5, name='a').name == 'a'
    assert '20000 succeeded, 0 failed, 0 errored' in crowd.communicate()[0]


def test_crowds_that_vanish_in_the_middle(daemon, folders):
    """h2load killed with thousands of calls and subscriptions under way; nothing of them stays"""
    folder = folders()
    for method, body in (('ListBackends', b''), ('WatchEvents', b''), ('GetVPPLBState', b'')):
        crowd = h2load(daemon, folder, '-n', '1000000', '-c', '20', '-m', '100', method=method, body=body)
        until(lambda: daemon.metrics().one('maglev_grpc_connections') > 20, what='the crowd')
        daemon.api.backend('a')
        crowd.kill()
        crowd.communicate()
        until(lambda: daemon.metrics().one('maglev_grpc_connections') < 10, what='their end')
    daemon.wait_metric('maglev_watch_subscribers', 1)


def test_slow_ones_and_1000_idle_connections_hold_nobody_up(daemon):
    """Slow-loris: half a preface, half a header block; and many who only connect. 4096 are let in"""
    before = daemon.rss()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    crowd = []
    try:
        for i in range(1000):
            one = Connection(daemon.api_port, preface=i % 3 != 0)
            if i % 3 == 0:
                one.send(PREFACE[:i % 24])
            if i % 3 == 1:
                one.send(frame(HEADERS, 0, 1, field(':method', 'POST')))
            crowd.append(one)
        until(lambda: daemon.metrics().one('maglev_grpc_connections') >= 1000, what='1000 connections')
        pids = daemon.pid, os.getpid()
        began, late = time.monotonic(), waited(*pids)
        calls = [daemon.api.start('GetBackend', name='a') for _ in range(100)]
        assert all(call.result().name == 'a' for call in calls)
        assert time.monotonic() - began < 1 + max(0, waited(*pids) - late)
        assert daemon.rss() - before < 1000 * PER_CONNECTION
    finally:
        for one in crowd:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    until(lambda: daemon.metrics().one('maglev_grpc_connections') < 10, what='their end')


# ---- the end of the server ----

def test_sigterm_lets_calls_finish_and_ends_streams(daemon):
    """A watcher gets UNAVAILABLE, a call under way its answer, new ones nothing; exit 0"""
    watches = [daemon.api.watch(), daemon.connect().watch(log=True, log_level='debug')]
    watches[0].wait('backend', backend='a')
    until(lambda: daemon.api.backend('a') and watches[1].of('log'), what='the other subscription')
    daemon.plane.ask('lag 1.5')
    other = daemon.connect()
    sync = other.start('SyncVPPLBState')
    other.backend('a')  # behind it on the same connection
    assert not sync.done()
    daemon.signal(signal.SIGTERM)
    assert sync.result().dataplane
    assert [watch.wait_end() for watch in watches] == [Status.UNAVAILABLE] * 2
    assert daemon.end() == 0
    with pytest.raises(Refused) as refused:
        Api(daemon.api_port).call('GetBackend', name='a')
    assert refused.value.status == Status.UNAVAILABLE


def test_a_second_signal_does_not_wait_for_calls_under_way(daemon):
    """DESIGN 3: drain; then at once, with 1"""
    daemon.plane.ask('lag 3600')
    sync = daemon.api.start('SyncVPPLBState')
    daemon.api.backend('a')  # behind it on the same connection
    daemon.signal(signal.SIGTERM)
    daemon.wait('stopping')
    assert daemon.is_running() and not sync.done()
    daemon.signal(signal.SIGTERM)
    assert daemon.end() == 1
    assert daemon.wait('stopped-at-once')['reason'] == 'second signal while stopping'


def test_sigterm_does_not_wait_for_those_who_only_sit_there(daemon, connect):
    """Idle and stuck connections are closed"""
    idle, silent, stuck = connect(), connect(preface=False), connect(wide=False)
    stuck.send(request('/maglev.Maglev/WatchEvents'))
    assert stuck.wait(HEADERS)
    daemon.signal(signal.SIGTERM)
    assert idle.wait(GOAWAY)
    assert daemon.end(5) == 0
    assert silent.ended()


def test_sigterm_does_not_wait_for_clients_that_are_idle(daemon):
    """They get GOAWAY, and a moment; grpcio does not even look at it while nobody calls"""
    idle = [daemon.connect() for _ in range(5)]
    assert all(api.backend('a').name == 'a' for api in idle)
    daemon.signal(signal.SIGTERM)
    assert daemon.end() == 0
    assert daemon.wait('stopped').at - daemon.wait('stopping').at < 0.5 + SLACK


def test_callers_all_the_time_and_a_stop_in_between(daemon):
    """Every call ends, with an answer or with UNAVAILABLE"""
    ends, going = [], threading.Event()

    def ask():
        api = Api(daemon.api_port)
        while True:
            try:
                api.backend('a')
                going.set()
            except Refused as refused:
                ends.append(refused.status)
                return

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert going.wait(PATIENCE)
    daemon.signal(signal.SIGTERM)
    for thread in threads:
        thread.join(PATIENCE)
    assert set(ends) <= {Status.UNAVAILABLE} and len(ends) == 4
    assert daemon.end() == 0


def test_a_taken_port_stops_the_start(start, daemon):
    other = start(FILE, ready=False, name='maglevd-fake', grpc=f'127.0.0.1:{daemon.api_port}')
    assert other.end() == 3
    assert other.wait('listen-failed')['flag'] == '--grpc-addr'


def test_no_api_when_the_address_is_empty(start):
    daemon = start(FILE, name='maglevd-fake', grpc='')
    assert {line['for'] for line in daemon.all('listening')} == {'metrics'}
    with socket.socket() as probe:
        assert probe.connect_ex(('127.0.0.1', daemon.port)) == 0
