# SPDX-License-Identifier: Apache-2.0
"""SIGKILL while a child process is at work: no child is left, and none keeps the ports from the next start."""
import os
import random
import signal

import pytest

from lab import config, frontend, pool, until

ROUNDS = 25
GRPC, METRICS = 9090, 9091  # in a namespace of their own
SEED = 4


def children(pid):
    try:
        with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def has_ended(pid):
    """An orphan may wait for a moment to be reaped."""
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as file:
            return file.read().rsplit(') ', 1)[1][0] in 'ZX'
    except OSError:
        return True


def sockets(pid):
    try:
        return {os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd')}
    except OSError:
        return set()


def kill(daemon):
    """Returns the children that it had. Does not wait for the end of its output: a child would have that open too."""
    left, shared = children(daemon.pid), {it for it in sockets(daemon.pid) if it.startswith('socket:')}
    daemon.process.kill()
    daemon.process.wait()
    for pid in left:  # closing what it inherited is the first that a child does, as soon as it gets a processor
        until(lambda one=pid: not sockets(one) & shared, what=f'the child {pid} having closed the ports')
    return left


def check_ended(pids):
    for pid in pids:
        until(lambda one=pid: has_ended(one), what=f'the end of the child {pid}')


@pytest.fixture
def alone(own_net):
    """A namespace in which no other story uses the ports."""
    return own_net.servers


def test_during_reloads(start, alone):
    """a child reads the file"""
    names = [f'b{i}' for i in range(1, 20001)]
    large = config({}, {name: f'10.0.{i >> 8}.{i & 255}' for i, name in enumerate(names)},
                   {'www': frontend('198.51.100.10', pool('all', *names))})
    moments, left = random.Random(SEED), []
    for number in range(ROUNDS):
        daemon = start(config({}, {'a': '10.0.0.1'}), grpc=f'127.0.0.1:{GRPC}', metrics=f'127.0.0.1:{METRICS}', namespace=alone, level='info')
        assert daemon.grpc_port() == GRPC
        daemon.write(large)  # reading it takes longer than the next start
        daemon.signal(signal.SIGHUP)
        if number % 2:  # just after the fork
            until(lambda: children(daemon.pid), what='a child')
        else:  # anywhere, also when it has ended
            for _ in range(moments.randrange(200)):
                children(daemon.pid)
        left += kill(daemon)
    assert len(left) >= ROUNDS // 2
    check_ended(left)


def test_during_lookups(start_daemon, alone, tmp_path):
    """a child asks for the address of a server, and there is no answer"""
    servers = tmp_path / 'resolv.conf'
    servers.write_text('nameserver 10.77.99.99\noptions timeout:30\n')  # nobody has that address
    prefix = ('unshare', '-m', 'sh', '-c', 'mount --bind "$0" /etc/resolv.conf && exec "$@"', str(servers))
    left = []
    for _ in range(ROUNDS):
        daemon = start_daemon('maglevd-frontend', '--listen', f'127.0.0.1:{GRPC}', '--server', 'lb.example.net:9090',
                              metrics=f'127.0.0.1:{METRICS}', namespace=alone, prefix=prefix)
        until(lambda: children(daemon.pid), what='a child')
        left += kill(daemon)
    assert len(left) >= ROUNDS
    check_ended(left)


def test_during_loads_of_the_xdp_program(balanced):
    """a child loads the program into the kernel and pins its maps"""
    xdp = balanced(grpc=f'127.0.0.1:{GRPC}', metrics=f'127.0.0.1:{METRICS}')
    kill(xdp.daemon)
    left = []
    for _ in range(10):
        daemon = xdp.begin()
        until(lambda: children(daemon.pid), what='a child')
        left += kill(daemon)
    assert len(left) >= 10
    check_ended(left)
    xdp.launch()
