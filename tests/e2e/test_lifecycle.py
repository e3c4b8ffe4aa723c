# SPDX-License-Identifier: Apache-2.0
"""Start, listeners, signals, end."""
import contextlib
import fcntl
import http.client
import json
import signal
import socket
import subprocess
import time

import pytest

from lab import SLACK, Check, config, until

PLAIN = config({}, {'b': '10.0.0.1'})


def test_health_and_readiness_are_served(start):
    """DESIGN 3: and what is not there is not found"""
    daemon = start(PLAIN)
    assert daemon.get('/healthz') == (200, 'ok\n')
    assert daemon.get('/readyz') == (200, 'ok\n')
    assert daemon.get('/')[0] == 404
    assert daemon.get('/metrics/../etc')[0] in (400, 404)


def test_only_reading_is_allowed(start):
    daemon = start(PLAIN)
    connection = http.client.HTTPConnection('127.0.0.1', daemon.port, timeout=5)
    connection.request('POST', '/metrics', 'x')
    assert connection.getresponse().status == 405


def test_the_content_type_is_that_of_prometheus(start):
    """FR-6.2"""
    daemon = start(PLAIN)
    connection = http.client.HTTPConnection('127.0.0.1', daemon.port, timeout=5)
    connection.request('GET', '/metrics')
    answer = connection.getresponse()
    assert answer.getheader('Content-Type').startswith('text/plain; version=0.0.4')


def test_without_a_metrics_address_nothing_listens(start, net, servers):
    """facts 3: empty means off"""
    server = servers.open()
    daemon = start(config({'c': Check(port=server.port)}, {'b': (server.address, 'c')}, netns=net.probes.name),
                   metrics='', grpc='', ready=False)
    daemon.wait_state('b', 'up')
    assert not daemon.all('listening')
    listening = [line.split()[9] for line in open('/proc/net/tcp', encoding='ascii').readlines()[1:]
                 if line.split()[3] == '0A']
    assert not [one for one in daemon.fds().values() if one[8:-1] in listening]


@pytest.mark.parametrize('address', ['[::1]:0', 'localhost:http', '127.0.0.1', 'nonsense', '127.0.0.1:70000'])
def test_metrics_addresses(address, start):
    """One that is none ends the start, with a word about the flag"""
    daemon = start(PLAIN, metrics=address, ready=False)
    if address == '[::1]:0':
        assert daemon.wait('listening', **{'for': 'metrics'})['addr'].startswith('[::1]:')
        return
    failed = daemon.wait('listen-failed')
    assert (failed['flag'], failed['addr']) == ('--metrics-addr', address)
    assert daemon.end() == 3


def test_a_port_that_is_taken_ends_the_start(start):
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        daemon = start(PLAIN, metrics=f'127.0.0.1:{taken.getsockname()[1]}', ready=False)
        assert 'in use' in daemon.wait('listen-failed')['error']
        assert daemon.end() == 3


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT], ids=['SIGTERM', 'SIGINT'])
def test_a_signal_ends_it_with_0(number, start, net, servers):
    """NFR-1.1: also with probes in flight, and in time"""
    server = servers.open()
    server.behave('hang')
    daemon = start(config({'c': Check(port=server.port, timeout=60)}, {'b': (server.address, 'c')},
                          netns=net.probes.name))
    server.wait_requests(1)
    sent = time.time()
    daemon.signal(number)
    assert daemon.end() == 0
    assert daemon.wait('stopping') and daemon.lines[-1]['msg'] == 'stopped'
    assert daemon.lines[-1].at - sent < SLACK  # sanitizers look for leaks after that


def test_a_request_under_way_is_finished(start):
    """DESIGN 3: drain: an answer that was begun arrives whole, however slowly it is read"""
    backends = {f'b{i}': f'10.{i // 65536}.{i // 256 % 256}.{i % 256}' for i in range(1, 4001)}
    daemon = start(config({}, backends), level='info')
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(('127.0.0.1', daemon.port))
        slow.sendall(b'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n')
        answer = http.client.HTTPResponse(slow)
        answer.begin()
        daemon.signal(signal.SIGTERM)
        daemon.wait('stopping')
        with pytest.raises(OSError):
            daemon.get('/healthz', timeout=1)
        assert answer.status == 200 and b'maglev_backend_' in answer.read()
    assert daemon.end() == 0


def test_clients_that_never_finish_do_not_spoil_the_end(start):
    """DESIGN 3: half a request and an answer that nobody takes: the drain is bounded, and the end is one with 0"""
    backends = {f'b{i}': f'10.{i // 65536}.{i // 256 % 256}.{i % 256}' for i in range(1, 4001)}
    daemon = start(config({}, backends), level='info')
    with socket.socket() as deaf, socket.create_connection(('127.0.0.1', daemon.port)) as half:
        half.sendall(b'GET /metr')
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(('127.0.0.1', daemon.port))
        deaf.sendall(b'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n')
        deaf.recv(1)
        daemon.signal(signal.SIGTERM)
        assert daemon.end() == 0
    assert daemon.lines[-1]['msg'] == 'stopped'


def test_a_hangup_during_the_end_is_ignored(start):
    daemon = start(PLAIN)
    daemon.signal(signal.SIGTERM)
    try:
        daemon.signal(signal.SIGHUP)
    except ProcessLookupError:
        pass
    assert daemon.end() == 0


def test_slow_and_rude_clients_hold_nothing_up(start, net, servers):
    """DESIGN 3: half requests, endless headers, silence; metrics and probes go on"""
    server = servers.open()
    check = Check(port=server.port)
    daemon = start(config({'c': check}, {'b': (server.address, 'c')}, netns=net.probes.name))
    rude = []
    for text in (b'', b'GET /metr', b'GET / HTTP/1.1\r\nX: ' + b'x' * 100_000, b'\xff' * 1000,
                 b'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' * 50):
        s = socket.create_connection(('127.0.0.1', daemon.port))
        with contextlib.suppress(OSError):  # refused before its end
            s.sendall(text)
        rude.append(s)
    daemon.wait_settled('b', check)
    server.wait_more(5)
    assert daemon.get('/healthz')[0] == 200
    for s in rude:
        s.close()


def narrow(pipe):
    """Leaves the pipe one page. The kernel refuses that as long as more is in it."""
    def shrink():
        with contextlib.suppress(OSError):
            return fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
    until(shrink, what='an empty pipe')


def test_an_output_that_nobody_reads_holds_nothing_up(start, net, servers):
    """FR-6.1: some lines wait, then they are dropped and counted; probes go on"""
    server = servers.open()
    check = Check(port=server.port, interval=0.02, fast=0.02)
    daemon = start(config({'c': check}, {'b': (server.address, 'c')}, netns=net.probes.name))
    narrow(daemon.process.stdout)
    with daemon.unread():
        until(lambda: [daemon.get('/' + 'x' * 4000) for _ in range(100)] and
              daemon.metrics().one('maglev_log_dropped_total') > 0)
        server.wait_more(10)
    daemon.wait_settled('b', check)


def test_a_burst_of_lines_is_not_lost(start):
    """FR-6.1: more backends change at once than a pipe has room for; the reader gets the line of each"""
    backends = {f'b{i}': f'10.{i // 65536}.{i // 256 % 256}.{i % 256}' for i in range(1, 4001)}
    daemon = start(config({}, backends), level='info', ready=False)
    narrow(daemon.process.stdout)
    daemon.wait('backend-transition', count=len(backends))
    daemon.signal(signal.SIGTERM)
    assert daemon.end() == 0 and daemon.lines[-1]['msg'] == 'stopped'


# Standard output is a pipe without a reader; python ignores SIGPIPE, which the program must not inherit.
UNHEARD = ('/usr/bin/python3', '-c', '''
import os, signal, sys
reader, writer = os.pipe()
os.dup2(writer, 1)
os.close(reader)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
''')


@pytest.mark.parametrize('program', ['maglevd', 'maglevd-frontend'])
def test_a_log_that_nobody_reads_from_the_start_is_no_reason_to_end(program, start, start_daemon, tmp_path):
    """FR-6.1: the first line is written long before the event loop runs"""
    path = str(tmp_path / 'notify')
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(path)
        s.settimeout(10)
        options = {'prefix': UNHEARD, 'ready': False, 'env': {'NOTIFY_SOCKET': path}}
        if program == 'maglevd':
            daemon = start(PLAIN, **options)
        else:
            daemon = start_daemon(program, '--listen', '127.0.0.1:0', '--server', '127.0.0.1:1', **options)
        assert 'READY=1' in s.recv(4096).decode()
    daemon.signal(signal.SIGTERM)
    assert daemon.end() == 0 and not daemon.lines


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KiB."""
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'maglev-test', str(tmp_path)], check=True)
    yield tmp_path
    subprocess.run(['umount', '--lazy', str(tmp_path)], check=True)


def parsed(path):
    """The lines of a log; None: not JSON."""
    for line in path.read_bytes().split(b'\n')[:-1]:
        try:
            yield json.loads(line)
        except ValueError:
            yield None


def test_a_full_disk_costs_lines_and_glues_none(start, small_disk):
    """FR-6.1: a line that was cut is alone on its line, and the log says how many were lost"""
    path, filler = small_disk / 'log', small_disk / 'filler'
    daemon = start(PLAIN, level='debug', prefix=('sh', '-c', f'exec "$0" "$@" >{path}'), ready=False)

    def written(**fields):
        return [line for line in parsed(path) if line and fields.items() <= line.items()]
    daemon.port = int(until(lambda: path.exists() and written(msg='listening', **{'for': 'metrics'}))[0]['addr'].rsplit(':')[-1])
    for _ in range(3):
        lost = sum(line['lines'] for line in written(msg='log-lines-lost'))
        filler.write_bytes(bytes(1000))
        with contextlib.suppress(OSError), filler.open('ab', 0) as file:
            while file.write(bytes(1000)):
                pass
        until(lambda: [daemon.get('/' + 'x' * 1500) for _ in range(3)] and
              daemon.metrics().one('maglev_log_dropped_total') > lost)
        filler.unlink()
        daemon.get('/room-again')
        until(lambda: written(msg='http-request', target='/room-again'))
        dropped = daemon.metrics().one('maglev_log_dropped_total')
        until(lambda: sum(line['lines'] for line in written(msg='log-lines-lost')) == dropped)
    lines = list(parsed(path))
    assert 1 <= lines.count(None) <= 3, lines
    assert len(written(msg='log-lines-lost', level='WARN')) == 3, lines


def test_a_standard_output_that_is_closed_is_nobody_elses(start, tmp_path):
    """FR-6.1: what is logged never goes to a socket or into the event loop"""
    path = str(tmp_path / 'notify')
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(path)
        s.settimeout(10)
        daemon = start(PLAIN, prefix=('sh', '-c', 'exec "$0" "$@" >&-'), ready=False, env={'NOTIFY_SOCKET': path})
        assert 'READY=1' in s.recv(4096).decode()
    assert daemon.fds()[1] == '/dev/null'


def test_systemd_is_told(start, tmp_path):
    """DESIGN 3: READY=1 at the start, RELOADING and READY around a reload, STOPPING at the end"""
    path = str(tmp_path / 'notify')
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(path)
        s.settimeout(10)
        daemon = start(PLAIN, env={'NOTIFY_SOCKET': path})
        assert 'READY=1' in s.recv(4096).decode()
        daemon.signal(signal.SIGHUP)
        assert 'RELOADING=1' in s.recv(4096).decode()
        assert 'READY=1' in s.recv(4096).decode()
        daemon.signal(signal.SIGTERM)
        assert 'STOPPING=1' in s.recv(4096).decode()
        assert daemon.end() == 0


def test_two_daemons_run_side_by_side(start):
    """Nothing in the program is tied to one instance"""
    first, second = start(PLAIN), start(PLAIN)
    assert first.port != second.port
    assert first.get('/healthz')[0] == second.get('/healthz')[0] == 200


def test_nothing_grows_while_probes_run(start, net, servers):
    """NFR-3.2: descriptors stay, through failures and recoveries of every kind"""
    server = servers.open()
    check = Check(port=server.port, interval=0.02, fast=0.02, down=0.02, timeout=0.05)
    daemon = start(config({'c': check, 'i': Check('icmp', interval=0.02, fast=0.02)},
                          {'b': (server.address, 'c'), 'i': (server.address, 'i')}, netns=net.probes.name))
    daemon.wait_settled('b', check)
    fds = len(daemon.fds())
    for mode in ('hang', 'reset', 'close', 'endless', 'raw', 'answer'):
        server.behave(mode, bytes='ff')
        server.wait_more(5)
    server.refuse()
    daemon.wait('probe-done', daemon.mark(), code='L4CON', count=5)
    server.listen()
    daemon.wait_settled('b', check)
    until(lambda: len(daemon.fds()) <= fds + 1, what='descriptors being closed')
