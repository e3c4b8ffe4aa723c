# SPDX-License-Identifier: Apache-2.0
"""The corpus of lab/smuggling.py through maglev-router, HAProxy and nginx. docs/design/smuggling.md has the results."""
import os
import re
import threading

import pytest

from lab import PATIENCE
from lab.downgrades import CASES, tell
from lab.programs import ROOT
from lab.proxies import KINDS, Proxies, version
from lab.router import document
from lab.smuggling import REQUESTS, RESPONSES, Liar, Recorder, ask, hear

PAGE = os.path.join(ROOT, 'docs/design/smuggling.md')
SHORT = .4  # s after which a proxy that gives no answer is left alone


def wrong(results):
    """Those that are not as they should be, to be shown."""
    return {name: (got, want) for name, got, want in results if got != want}


# ---- maglev-router ----

def whole(data):
    yield [data]


def single_bytes(data):
    yield [data[i:i + 1] for i in range(len(data))]


def halves(data):
    """Every cut of the first 300 bytes, which have the head and the first chunks."""
    for i in range(1, min(len(data), 300)):
        yield [data[:i], data[i:]]


@pytest.mark.parametrize('cut', [whole, single_bytes, halves])
def test_requests_have_one_meaning_however_they_arrive(serve, route, cut):
    recorder = Recorder()
    router = route(document(serve(recorder)))
    port = router.port_of('default')
    results = []
    for case in REQUESTS:
        if cut is not whole and len(case.data) > 2000:
            continue
        for pieces in cut(case.data):
            results.append(((case.name, len(pieces[0])), ask(port, case.data, recorder, pieces), case.verdict))
    assert not wrong(results)
    assert len(REQUESTS) >= 60


def test_what_is_refused_at_once_sends_no_byte_to_a_server(serve, route):
    recorder = Recorder()
    router = route(document(serve(recorder)))
    for case in REQUESTS:
        if case.verdict == 'refused':
            assert ask(router.port_of('default'), case.data, recorder) == 'refused', case.name
            assert not any(recorder.raw.values()), case.name


def test_what_is_passed_on_is_one_request_in_its_plainest_form(serve, route):
    recorder = Recorder()
    router = route(document(serve(recorder)))
    for case in REQUESTS:
        if case.verdict != 'passed':
            continue
        assert ask(router.port_of('default'), case.data, recorder) == 'passed', case.name
        raw = b''.join(recorder.raw.values())
        head = raw.split(b'\r\n\r\n')[0].decode('latin-1')
        assert re.fullmatch(r'(GET|POST) /case HTTP/1\.1(\r\n[-A-Za-z0-9]+: ?[^\r\n\0]*)+', head), case.name
        names = [line.split(':')[0].lower() for line in head.split('\r\n')[1:]]
        assert names.count('host') == 1, case.name
        assert names.count('content-length') + names.count('transfer-encoding') <= 1, case.name
        assert not {'connection', 'upgrade', 'te', 'http2-settings'} & set(names), case.name


def test_answers_have_one_meaning(serve, route):
    server = Liar()
    router = route(document(serve(server), rule={'retry': {'attempts': 0}}))
    results = [(case.name, hear(router.port_of('default'), case.data, server), case.verdict) for case in RESPONSES]
    assert not wrong(results)
    assert len(RESPONSES) >= 30


def test_an_answer_before_its_request_is_not_used(wired):
    """A server that sends more than was asked for loses its connection; the next request goes to a new one."""
    def serve(wire):
        wire.head()
        wire.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ncase')
        if wire.server.connections == 1:
            wire.send('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled')
        wire.rest()

    client = wired(serve)
    assert client.get()[1] == b'case'
    client.router.wait_metric('maglev_router_server_connections', 0)
    assert client.get()[1] == b'case'
    assert client.server.connections == 2


@pytest.mark.parametrize('method, status', [('HEAD', 200), ('GET', 304), ('GET', 204)])
def test_a_body_that_cannot_be_is_no_answer_to_the_next_request(wired, method, status):
    """Also if the server sends it late, when the router could already have used the connection again."""
    asked = threading.Event()

    def serve(wire):
        if '/case' in wire.head().start:
            wire.send(f'HTTP/1.1 {status} Fine\r\nContent-Length: 49\r\n\r\n')
            asked.wait(PATIENCE)
            wire.send('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled')
        else:
            asked.set()
            wire.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext')
        wire.rest()

    client = wired(serve)
    client.send(f'{method} /case HTTP/1.1\r\nHost: a\r\n\r\n')
    assert client.message(bodiless=True)[0].status == status
    client.sock.settimeout(5)
    assert client.get('/next')[1] == b'next'
    assert client.server.connections == 2


@pytest.mark.parametrize('answer', [b'HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n',
                                    b'HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n'])
def test_an_answer_without_a_body_announces_none(wired, answer):
    def serve(wire):
        while True:
            wire.message()
            wire.send(answer)

    client = wired(serve)
    head, _ = client.get()
    assert head.status == 204 and head.get('content-length') is None and head.get('transfer-encoding') is None


def test_a_tunnel_needs_the_word_of_both_sides(wired):
    upgrade = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
    answers = iter([b'HTTP/1.1 101 Go\r\n\r\n', b'HTTP/1.1 101 Go\r\nUpgrade: websocket\r\n\r\n',
                    b'HTTP/1.1 101 Go\r\nConnection: upgrade\r\n\r\n'])

    def serve(wire):
        wire.head()
        wire.send(next(answers))
        wire.rest()

    client = wired(serve, rule={'retry': {'attempts': 0}})
    for _ in range(3):
        with client.router.client() as other:
            assert other.send(upgrade).head().status == 502


# ---- HAProxy and nginx ----

@pytest.fixture
def proxies(tmp_path):
    with Proxies(tmp_path) as started:
        yield started


def rows(heading):
    """The table of a section of the page: {name: (maglev-router, HAProxy, nginx)}."""
    with open(PAGE, encoding='utf-8') as file:
        section = file.read().split(f'## {heading}\n')[1].split('\n## ')[0]
    found = [[cell.strip() for cell in line.strip('|').split(' | ')] for line in section.splitlines() if line.startswith('| ')]
    return {row[0].strip('`'): tuple(cell.strip('*') for cell in row[1:4]) for row in found[1:]}


def test_the_page_has_our_verdicts():
    for heading, cases in (('Requests', REQUESTS), ('Answers', RESPONSES), ('Requests by HTTP/2', CASES)):
        assert {name: row[0] for name, row in rows(heading).items()} == {case.name: case.verdict for case in cases}


@pytest.mark.parametrize('name', KINDS)
def test_the_page_says_what_others_do(serve, proxies, name):
    """With the versions that the page names; with others, the corpus must only come to an end."""
    column = 1 + list(KINDS).index(name)
    known = {heading: {case: row[column] for case, row in rows(heading).items()} for heading in ('Requests', 'Answers')}

    def patience(heading, case):
        return SHORT if known[heading][case.name] == 'waits' else PATIENCE

    recorder, server = Recorder(), Liar()
    port = proxies.start(name, serve(recorder))
    requests = {case.name: ask(port, case.data, recorder, patience=patience('Requests', case)) for case in REQUESTS}
    port = proxies.start(name, serve(server))
    answers = {case.name: hear(port, case.data, server, patience=patience('Answers', case)) for case in RESPONSES}
    with open(PAGE, encoding='utf-8') as file:
        same = f'{name} {version(name)}' in file.read()
    if same:
        assert requests == known['Requests']
        assert answers == known['Answers']


# ---- from HTTP/2 ----

def test_requests_of_http_2_have_one_meaning(serve, route):
    recorder = Recorder()
    router = route(document(serve(recorder)), threads=1)
    results = [(case.name, tell(router.port_of('default'), case, recorder), case.verdict) for case in CASES]
    assert not wrong(results)
    assert len(CASES) >= 70


@pytest.mark.parametrize('name', KINDS)
def test_the_page_says_what_others_do_with_http_2(serve, proxies, name):
    column = 1 + list(KINDS).index(name)
    known = {case: row[column] for case, row in rows('Requests by HTTP/2').items()}
    recorder = Recorder()
    port = proxies.start(name, serve(recorder), http2=True)
    found = {case.name: tell(port, case, recorder) for case in CASES}
    with open(PAGE, encoding='utf-8') as file:
        same = f'{name} {version(name)}' in file.read()
    if same:
        assert {case: (found[case], known[case]) for case in found if found[case] not in known[case].split(' or ')} == {}
