# SPDX-License-Identifier: Apache-2.0
"""maglev-router and clients that abuse HTTP/2: what they can cost it, and what others notice."""
import itertools
import os
import struct
import threading

import pytest

from lab import until
from lab.flood import CALM, GET, POST, Bystander, Flood
from lab.h2 import (CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PREFACE, PRIORITY, RST_STREAM, SETTINGS,
                    WINDOW_UPDATE, field, frame)
from lab.router import OK, document, echo

SMALL = {'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':quarantine_size_mb=1'}  # so that memory can be weighed
SECONDS = 1.5  # that a flood lasts which is not ended
WORST, USUAL = 2, 0.25  # s that a bystander may wait; mostly less than 10 ms
ROOM = 12 << 20  # bytes
STREAMS = 100  # at once on a connection


@pytest.fixture
def hall(serve, route):
    """A router of one thread, so that flood and bystander share it."""
    def start(handler=echo, more=None):
        server = serve(handler)
        rules = document(server)
        if more:
            rules = {'routes': more['routes'], 'pools': rules['pools'] + more['pools']}
        router = route(rules, threads=1, env=SMALL)
        router.server, router.bystander = server, Bystander(router)
        for _ in range(50):  # its memory has its size
            router.bystander.ask()
        router.bystander.waits.clear()
        return router
    return start


def suffer(router, pieces, floods=1, ready=None, lasting=False, room=ROOM, **how):
    """The floods, which have ended or lasted for SECONDS; the bystander was served meanwhile and memory is bounded."""
    before, port = router.rss(), router.port_of('default')
    running = [Flood(port, pieces() if callable(pieces) else pieces, **how) for _ in range(floods)]
    if ready:
        ready()
    router.bystander.while_running(None if lasting else running[-1], SECONDS)
    grown = router.peak() - before
    for flood in running:
        flood.close()
    assert router.bystander.worst < WORST and router.bystander.usual < USUAL, router.bystander.waits
    assert grown < room, grown
    return running


def gone(router, abuse=0):
    """Nothing is left of the floods, and so many of them were ended for abuse."""
    until(lambda: router.metrics().one('maglev_router_protocol_connections', protocol='HTTP/2') == 1)
    router.wait_metric('maglev_router_refused_total', abuse, reason='abuse')  # counted after the connection
    assert not router.bystander.client.goaway


def requests(block=GET, flags=END_HEADERS | END_STREAM):
    """HEADERS of one stream after the other."""
    return ((stream, frame(HEADERS, flags, stream, block)) for stream in range(1, 1 << 24, 2))


def batches(frames, n=500):
    frames = iter(frames)
    while batch := b''.join(itertools.islice(frames, n)):
        yield batch


# ---- rates: the connection is ended ----

def test_rapid_reset(hall):
    """CVE-2023-44487: requests that are cancelled at once cost work and no stream."""
    router = hall()
    flood, = suffer(router, batches(head + frame(RST_STREAM, 0, stream, struct.pack('>I', 8)) for stream, head in requests()))
    assert flood.code == CALM and flood.closed
    assert len(router.server.requests) < 1500
    gone(router, abuse=1)


def test_resets_that_the_router_is_made_to_send(hall):
    """CVE-2025-8671: a frame that is wrong makes the server reset the stream, which then does not count any more."""
    router = hall()
    wrong = struct.pack('>I', (1 << 31) - 1)  # the window becomes larger than it can be (RFC 9113, 6.9.1)
    flood, = suffer(router, batches(head + frame(WINDOW_UPDATE, 0, stream, wrong)
                                    for stream, head in requests(POST, END_HEADERS)))
    assert flood.code == CALM and len(router.server.requests) < 1500
    gone(router, abuse=1)


NOISE = {'ping': frame(PING, 0, 0, bytes(8)), 'settings': frame(SETTINGS),
         'settings with a value': frame(SETTINGS, 0, 0, struct.pack('>HI', 4, 65535)),
         'priority': frame(PRIORITY, 0, 1, bytes(4) + b'\x10')}


@pytest.mark.parametrize('kind', NOISE)
def test_frames_that_carry_nothing(kind, hall):
    """CVE-2019-9512, 9515, 9513."""
    router = hall()
    flood, = suffer(router, itertools.repeat(NOISE[kind] * 500))
    assert flood.code == CALM and flood.closed
    gone(router, abuse=1)


@pytest.mark.parametrize('kind', ['ping', 'settings'])
def test_frames_whose_answers_are_not_read(kind, hall):
    router = hall()
    suffer(router, itertools.repeat(NOISE[kind] * 500), deaf=True)
    gone(router, abuse=1)


def test_empty_data(hall):
    """CVE-2019-9518: frames without content need no window."""
    router = hall()
    empty = frame(DATA, 0, 1) * 500
    flood, = suffer(router, itertools.chain([frame(HEADERS, END_HEADERS, 1, POST)], itertools.repeat(empty)))
    assert flood.code == CALM
    gone(router, abuse=1)


# ---- fields ----

PARTS = {'empty': b'', 'small': field('a', 'b'), 'large': field('a', 'b' * 16000)}


@pytest.mark.parametrize('part', PARTS.values(), ids=PARTS)
def test_a_head_that_never_ends(part, hall):
    """CVE-2024-27316: CONTINUATION frames without end."""
    router = hall()
    start = frame(HEADERS, END_STREAM, 1, GET)
    more = frame(CONTINUATION, 0, 1, part)
    flood, = suffer(router, itertools.chain([start], itertools.repeat(more * (500 if len(more) < 100 else 4))))
    assert flood.code == CALM and flood.closed
    assert all('bystander' in head.start for head in router.server.requests)
    gone(router, abuse=1)


def bomb(n):
    """A field of 4,000 bytes that enters the table, and then n times one byte for it (CVE-2016-6581)."""
    return GET + b'\x40' + field('x', 'v' * 4000)[1:] + b'\xbe' * n


def test_fields_that_unfold(hall):
    router = hall()
    client = router.bystander.client
    # within a frame: 12,000 bytes that stand for 32 MB
    flood, = suffer(router, batches((frame(HEADERS, END_HEADERS | END_STREAM, stream, bomb(8000))
                                     for stream in range(1, 20001, 2)), 1))
    assert flood.code == CALM and flood.closed
    # less, in many streams: each is refused, and costs no more than its fields
    block = bomb(20)
    flood, = suffer(router, batches((frame(HEADERS, END_HEADERS | END_STREAM, stream, block)
                                     for stream in range(1, 2001, 2)), 10))
    assert not [head for head in router.server.requests if b'vvvv' in head.text]
    assert client.get('/after').status == 200
    gone(router, abuse=1)


# ---- windows ----

MUCH = 50_000_000
OPEN = struct.pack('>HI', 4, (1 << 31) - 1)  # INITIAL_WINDOW_SIZE
SHUT = struct.pack('>HI', 4, 0)
WIDE = frame(WINDOW_UPDATE, 0, 0, struct.pack('>I', (1 << 31) - 65536))
HELD = 176 << 10  # bytes that a stream may hold: 80 KiB of its request and 96 KiB of its answer


def either(wire):
    """Answers /SIZE as large() does, and else with OK; /deaf: takes no more."""
    while True:
        head = wire.head()
        wire.server.requests.append(head)
        path = head.start.split()[1].strip('/')
        if path == 'deaf':
            wire.server.deaf.wait()
        elif path.isdigit():
            wire.send(b'HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n' % path.encode())
            for _ in range(int(path) // 10000):
                wire.send(b'z' * 10000)
        else:
            wire.send(OK)


def asking(path, method=b'\x82', flags=END_HEADERS | END_STREAM):
    """HEADERS of as many streams as there may be."""
    block = method + b'\x86\x41\x01a\x04' + bytes([len(path)]) + path.encode()
    return b''.join(frame(HEADERS, flags, stream, block) for stream in range(1, 2 * STREAMS, 2))


def busy(router, n):
    """As many requests have reached the server."""
    until(lambda: len([head for head in router.server.requests if 'bystander' not in head.start]) >= n)


def test_answers_that_are_not_read(hall):
    """CVE-2019-9517: the windows are wide open and nothing is read from the socket. What servers send must wait there."""
    router = hall(either)
    floods = suffer(router, lambda: [WIDE, asking(f'/{MUCH}')], floods=3, deaf=True, settings=OPEN, lasting=True,
                    ready=lambda: busy(router, 3 * STREAMS), room=3 * STREAMS * HELD + ROOM)
    assert len(floods) == 3
    gone(router)


def test_windows_that_never_open(hall):
    """CVE-2019-9511: as many streams as there may be, all without a window."""
    router = hall(either)
    floods = suffer(router, lambda: [asking(f'/{MUCH}')], floods=3, settings=SHUT, lasting=True,
                    ready=lambda: busy(router, 3 * STREAMS), room=3 * STREAMS * HELD + ROOM)
    assert sum(flood.data for flood in floods) == 0
    gone(router)


def test_windows_of_one_byte(hall):
    """CVE-2019-9511: each byte of an answer costs a frame of either side."""
    router = hall(either)
    sips = b''.join(frame(WINDOW_UPDATE, 0, stream, struct.pack('>I', 1)) for stream in range(1, 2 * STREAMS, 2))
    flood, = suffer(router, itertools.chain([asking(f'/{MUCH}')], itertools.repeat(sips * 5)), settings=SHUT,
                    ready=lambda: busy(router, STREAMS), room=STREAMS * HELD + ROOM)
    assert flood.code in (None, CALM)
    assert flood.data < 10_000_000
    gone(router)


def test_bodies_that_the_server_does_not_take(hall):
    """The server reads heads only: what clients may send ahead is one window for each stream."""
    router = hall(either)
    router.server.deaf = threading.Event()
    bodies = b''.join(frame(DATA, 0, stream, bytes(16384)) for stream in range(1, 2 * STREAMS, 2))
    begin = asking('/deaf', b'\x83', END_HEADERS)
    floods = suffer(router, lambda: itertools.chain([begin], itertools.repeat(bodies, 4)), floods=3, lasting=True,
                    ready=lambda: busy(router, 3 * STREAMS), room=3 * STREAMS * HELD + ROOM)
    assert all(flood.code is None and not flood.resets for flood in floods)
    assert router.bystander.waits
    router.server.deaf.set()
    gone(router)


# ---- servers that do the same ----

ANSWER = b'\x88'  # :status 200


def continued(part):
    return itertools.chain([frame(HEADERS, 0, 1, ANSWER)], itertools.repeat(frame(CONTINUATION, 0, 1, part) * 50))


EVIL = {
    **{kind: lambda noise=noise: itertools.repeat(noise * 500) for kind, noise in NOISE.items()},
    'empty data': lambda: itertools.chain([frame(HEADERS, END_HEADERS, 1, ANSWER)], itertools.repeat(frame(DATA, 0, 1) * 500)),
    'a head without end': lambda: continued(PARTS['small']),
    'a head of empty frames': lambda: continued(b''),
    'fields that unfold': lambda: [frame(HEADERS, END_HEADERS, 1, b'\x88\x40' + field('x', 'v' * 4000)[1:] + b'\xbe' * 8000)],
}


@pytest.mark.parametrize('kind', EVIL)
def test_a_server_that_floods(kind, hall, serve):
    """The client gets 502, or the head of an answer that is cut, the connection to the server ends with GOAWAY."""
    floods = []

    def evil(wire):
        wire.until(PREFACE)
        wire.send(frame(SETTINGS))
        while (head := wire.exactly(9))[3] != HEADERS:
            wire.exactly(int.from_bytes(head[:3], 'big'))
        floods.append(Flood(None, EVIL[kind](), accepted=wire.sock))
        until(lambda: not floods[-1].running)

    server = serve(evil)
    router = hall(more={'routes': [{'name': 'evil', 'path_prefix': '/evil', 'pool': 'evil'}, {'name': 'all', 'pool': 'pool'}],
                        'pools': [{'name': 'evil', 'protocol': 'h2', 'servers': [f'127.0.0.1:{server.port}']}]})
    before = router.rss()
    with router.client() as client:
        client.send('GET /evil HTTP/1.1\r\nHost: a\r\n\r\n')
        until(lambda: floods)
        router.bystander.while_running(floods[0], SECONDS)
        until(lambda: not floods[0].running)
        assert client.head().status == (200 if kind == 'empty data' else 502)
    assert floods[0].code == CALM
    assert router.peak() - before < ROOM
    assert router.bystander.worst < WORST and router.bystander.usual < USUAL
    gone(router)
