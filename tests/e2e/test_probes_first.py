# SPDX-License-Identifier: Apache-2.0
"""Probes go first: whatever clients and servers do to maglevd, no healthy server goes down for it.

Each story attacks one maglevd. A second one beside it, with the same file and the same servers, is left alone and shows
what this machine can do at that moment. Both are those that are shipped, and run before all else on this
machine, so that the story shows their own doing and not that of other processes.
"""
import contextlib
import itertools
import os
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

from lab import VIP, Check, Servers, config, frontend, pool, until
from lab.h2 import END_HEADERS, HEADERS, PREFACE, SETTINGS, frame

ATTACK = 80  # probes of the bystander, about 4 s
NAMES = ('one', 'two')
SHARE = 0.9  # of the probes that the bystander makes
GOODBYE = 1.0  # s from SIGTERM to the end


class Pair:
    """The attacked one and the bystander, both with two healthy servers."""

    def __init__(self, start, net, servers, args=(), more=(), **options):
        good = [servers.open(name) for name in NAMES]
        checks = {name: Check(port=server.port) for name, server in zip(NAMES, good)}
        backends = {name: (server.address, name) for name, server in zip(NAMES, good)}
        file = config(checks, backends, {'www': frontend(VIP, pool('all', *NAMES))}, netns=net.probes.name)
        self.bystander = start(file, level='info', measured=True)
        for name, check, address in more:
            file['maglev']['healthchecks'][name] = check.yaml()
            file['maglev']['backends'][name] = {'address': address, 'healthcheck': name}
            file['maglev']['frontends']['www']['pools'][0]['backends'][name] = {}
        self.attacked = start(file, level='info', measured=True, args=args, **options)
        for daemon, name in itertools.product((self.attacked, self.bystander), NAMES):
            daemon.wait_state(name, 'up')

    @staticmethod
    def _count(daemon, result):
        metrics = daemon.metrics()
        return sum(metrics.sum('maglev_probe_total', backend=name, result=result) for name in NAMES)

    def survives(self, attack):
        """Attacks for a while, and then tells the attacked one to end under attack."""
        both = (self.attacked, self.bystander)
        before = [self._count(daemon, 'success') for daemon in both]
        with attack:
            until(lambda: self._count(self.bystander, 'success') - before[1] >= ATTACK, 60, 'probes of the bystander')
            made = [self._count(daemon, 'success') - n for daemon, n in zip(both, before)]
            assert self._count(self.attacked, 'failure') == 0
            assert made[0] >= SHARE * made[1], f'{made[0]} probes, {made[1]} beside it'
            assert all(self.attacked.state(name) == 'up' for name in NAMES)
            began = time.time()
            self.attacked.signal(signal.SIGTERM)
            assert self.attacked.end() == 0
            assert self.attacked.wait('stopped').at - began < GOODBYE


@contextlib.contextmanager
def many(n, client):
    """n clients in threads, each doing its worst again and again until the end of the story."""
    over = threading.Event()

    def run():
        while not over.is_set():
            with contextlib.suppress(OSError):
                client()

    threads = [threading.Thread(target=run, daemon=True) for _ in range(n)]
    for thread in threads:
        thread.start()
    yield
    over.set()
    for thread in threads:
        thread.join()


@contextlib.contextmanager
def running(*command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield
    process.kill()
    process.wait()


def test_very_many_calls(start, net, servers, folders):
    """250 connections with 100 calls each, of a method that only reads"""
    pair = Pair(start, net, servers)
    body = os.path.join(folders(), 'body')
    with open(body, 'wb') as file:
        file.write(struct.pack('>BI', 0, 5) + b'\x0a\x03one')
    pair.survives(running('h2load', '-c', '250', '-m', '100', '-D', '60', '-d', body,
                          '-H', 'content-type: application/grpc', '-H', 'te: trailers',
                          f'http://127.0.0.1:{pair.attacked.grpc_port()}/maglev.Maglev/GetBackend'))


def test_headers_of_one_byte_references(start, net, servers):
    """Ten connections that send header blocks in which every byte is a field of 3,900 bytes"""
    pair = Pair(start, net, servers)
    port = pair.attacked.grpc_port()
    large = b'\x40\x01x\x7f\xbd\x1d' + b'x' * 3900  # x: 127 + 61 + 29 * 128 bytes, to be indexed
    blocks = [large + b'\xbe' * 12000] + [b'\xbe' * 16000] * 20
    bomb = b''.join(frame(HEADERS, END_HEADERS, 2 * n + 1, block) for n, block in enumerate(blocks))

    def client():
        with socket.create_connection(('127.0.0.1', port), 10) as connection:
            connection.sendall(PREFACE + frame(SETTINGS) + bomb)
            while connection.recv(65536):
                pass

    pair.survives(many(10, client))


def test_a_handshake_in_records_of_one_byte(start, net, servers, authority):
    """Three clients whose ClientHello comes byte by byte, before any certificate is asked for"""
    certificate, key = authority.good
    pair = Pair(start, net, servers, args=['--grpc-tls-cert', certificate, '--grpc-tls-key', key])
    port = pair.attacked.grpc_port()
    hello = b'\x01\x01\xff\xff\x03\x03' + bytes(0x1ffff)
    records = b''.join(b'\x16\x03\x01\x00\x01' + bytes([byte]) for byte in hello)

    def client():
        with socket.create_connection(('127.0.0.1', port), 10) as connection:
            connection.sendall(records)

    pair.survives(many(3, client))


@pytest.fixture
def odd_servers(net):
    """In a process of their own: what they do must not slow the healthy ones down."""
    it = Servers(net)
    yield it
    it.close()


@pytest.mark.parametrize('mode', ['tls-crumbs', 'tls-hello-crumbs'])
def test_servers_that_answer_in_tiny_records(mode, start, net, servers, odd_servers, authority):
    """HTTPS servers that send records of one byte without end, in their handshake or in their answer"""
    more = []
    for n in range(4):
        server = odd_servers.open(f'odd{n}', certificate=authority.good)
        server.behave(mode)
        check = Check('https', server.port, params={'response-regexp': 'never', 'insecure-skip-verify': True})
        more.append((f'odd{n}', check, server.address))
    pair = Pair(start, net, servers, more=more)
    pair.survives(contextlib.nullcontext())
