# SPDX-License-Identifier: Apache-2.0
"""HTTP servers: killed, hung, slow, lying, healed."""
import statistics

import pytest

from lab import SLACK, VIP, Check, Servers, Watched, config, frontend, pool
from lab.turns import stolen, waited

OK = {'response-regexp': '^ok$', 'response-code': '200'}
REDIRECT = {'status': 302, 'headers': ['Location: /elsewhere']}
NO_CHUNK = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n'.hex()
TWO_LENGTHS = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!'.hex()

# what the server does, the code it earns, whether only the timeout finds out
FAULTS = {
    'hangs': ('hang', {}, 'L7TOUT', True),
    'drips': ('drip', {}, 'L7TOUT', True),
    'is_too_late': ('late', {'delay': 2}, 'L7TOUT', True),
    'closes_without_a_word': ('close', {}, 'L7RSP', False),
    'cuts_its_body_short': ('cut', {}, 'L7RSP', False),
    'resets': ('reset', {}, 'L7RSP', False),
    'talks_garbage': ('raw', {'bytes': '00ff1b5b410d0a' * 20}, 'L7RSP', False),
    'sends_a_bad_chunk': ('raw', {'bytes': NO_CHUNK}, 'L7RSP', False),
    'sends_two_lengths': ('raw', {'bytes': TWO_LENGTHS}, 'L7RSP', False),
    'never_ends_its_body': ('endless', {}, 'L7RSP', False),
    'never_ends_its_headers': ('headers', {}, 'L7RSP', False),
    'says_503': ('answer', {'status': 503}, 'L7STS', False),
    'redirects': ('answer', REDIRECT, 'L7STS', False),
    'has_another_body': ('answer', {'body': 'not ok'}, 'L7RSP', False),
}


@pytest.fixture(params=[4, 6], ids=['ipv4', 'ipv6'])
def server(request, servers):
    return servers.open(family=request.param)


@pytest.mark.parametrize('fault', FAULTS)
def test_a_server_that(fault, start_fake, net, servers):
    """FR-1.1, FR-1.2, FR-1.4, FR-2.2, FR-4.1: goes down in time with its own code, and heals."""
    mode, how, code, silent = FAULTS[fault]
    server = servers.open()
    story = Watched.of(start_fake, net, server, params=OK, timeout=0.3 if silent else 2).settle()
    asked = len(server.requests)
    story.expect_down(server.behave(mode, **how), code, silent)
    assert all(r['request'] == 'GET / HTTP/1.1' for r in server.requests[asked:])
    story.expect_up(server.answer(), silent)


def test_a_server_that_is_killed_goes_down_and_heals_when_it_is_back(start_fake, net, server):
    """FR-1.2, FR-1.3, FR-2.2, FR-4.1: refused connections, for both families."""
    story = Watched.of(start_fake, net, server, params=OK).settle()
    story.expect_down(server.refuse(), 'L4CON', reason='refused')
    story.expect_up(server.listen())


def test_a_server_whose_process_dies_goes_down(start_fake, net, servers):
    """FR-1.2: the real thing, SIGKILL, in the middle of a kept-alive connection."""
    doomed = Servers(net)
    server = doomed.open('doomed')
    story = Watched.of(start_fake, net, server, params=OK, more={'keep-alive': True}).settle()
    story.expect_down(doomed.kill(), 'L4CON')


def test_a_server_that_nothing_comes_back_from_times_out(start_fake, net, server):
    """FR-1.4: packets vanish; the connection times out, for both families."""
    story = Watched.of(start_fake, net, server, timeout=0.3).settle()
    story.expect_down(net.mute(server.address), 'L4TOUT', silent=True)
    story.expect_up(net.unmute(server.address), silent=True)


@pytest.mark.parametrize('how', [
    {'framing': 'length'}, {'framing': 'chunked'}, {'framing': 'close'}, {'status': 204, 'body': ''},
    {'status': 399}, {'headers': [f'X-Header-{i}: {"x" * 100}' for i in range(60)]},
], ids=['length', 'chunked', 'close-delimited', 'no-content', 'edge-of-range', 'many-headers'])
def test_answers_that_pass(how, start_fake, net, servers):
    """FR-1.1: every framing of a body, the default codes 200-399, a large header block."""
    server = servers.open()
    story = Watched.of(start_fake, net, server, params={'response-regexp': '^(ok)?$'}).settle()
    server.answer(**how)
    story.stays_up(server, 6)


def test_an_interim_answer_is_skipped(start_fake, net, servers):
    """FR-1.1"""
    server = servers.open()
    story = Watched.of(start_fake, net, server, params=OK).settle()
    server.behave('raw', bytes=b'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'
                               b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'.hex())
    story.stays_up(server, 6)


def test_without_a_pattern_the_body_does_not_matter(start_fake, net, servers):
    """FR-1.1: an endless body holds nothing up."""
    server = servers.open()
    story = Watched.of(start_fake, net, server).settle()
    server.behave('endless')
    story.stays_up(server, 6)


def test_a_pattern_that_would_run_for_ever_fails_the_probe_and_nothing_else(start_fake, net, servers):
    """FR-1.1: catastrophic backtracking ends at the match limit with L7RSP, and the loop goes on."""
    server = servers.open()
    late = stolen()
    story = Watched.of(start_fake, net, server, params={'response-regexp': '^(a+)+$|^ok$'}).settle()
    story.expect_down(server.answer(body='a' * 5000 + 'b'), 'L7RSP')
    slow = story.daemon.metrics()
    # a turn may also be long because the process had no processor
    assert slow.one('maglev_loop_lag_seconds_count') == slow.one('maglev_loop_lag_seconds_bucket', le='0.5') or \
        waited(story.daemon.pid) - late > 0.5


def test_an_alternating_server_stays_up(start_fake, net, servers):
    """FR-1.2: a flap that never adds up to fall moves nothing."""
    server = servers.open()
    story = Watched.of(start_fake, net, server).settle()
    server.behave('flap', pattern=[503, 200])
    story.stays_up(server, 16)
    codes = {d['code'] for d in story.daemon.all('probe-done', story.seen)}
    assert codes == {'L7STS', 'L7OK'}


def test_a_server_that_fails_more_than_it_passes_goes_down(start_fake, net, servers):
    """FR-1.2: one counter, one step up or down per probe."""
    server = servers.open()
    story = Watched.of(start_fake, net, server).settle()
    server.behave('flap', pattern=[503, 503, 200])
    story.daemon.wait_state('web', 'down', story.seen)
    story.daemon.wait('backend-transition', story.seen, backend='web', count=3)
    story.follows_the_rule()


def test_the_first_result_decides(start_fake, net, servers):
    """FR-1.6: unknown to up or down at once, whatever rise and fall say."""
    good, bad = servers.open(), servers.open()
    bad.answer(503)
    checks = {s.name: Check(port=s.port, rise=10, fall=10) for s in (good, bad)}
    daemon = start_fake(config(checks, {s.name: (s.address, s.name) for s in (good, bad)}, netns=net.probes.name,
                               dataplane='vpp'))
    for server, state in ((good, 'up'), (bad, 'down')):
        line = daemon.wait('backend-transition', backend=server.name)
        assert (line['from'], line['to']) == ('unknown', state)
        assert len([d for d in daemon.all('probe-done', backend=server.name) if d.at <= line.at]) == 1


def test_a_backend_without_a_check_is_up_and_never_asked(start_fake, net, servers):
    """FR-1.7"""
    static, probed = servers.open(), servers.open()
    daemon = start_fake(config({'c': Check(port=probed.port)}, {'s': static.address, 'p': (probed.address, 'c')},
                               {'www': frontend(VIP, pool('only', 's'))}, netns=net.probes.name, dataplane='vpp'))
    assert daemon.wait_state('s', 'up')['code'] == 'static'
    probed.wait_requests(8)
    assert not static.connections
    assert daemon.plane.weights(VIP) == {static.address: 100}


def test_a_backend_of_many_frontends_is_asked_once(start_fake, net, servers):
    """FR-1.1: one worker per backend; requests come one per interval, not one per frontend."""
    server = servers.open()
    check = Check(port=server.port, interval=0.1, fast=0.1)
    frontends = {f'f{i}': frontend(f'198.51.100.{i}', pool('p', 'b')) for i in range(1, 9)}
    daemon = start_fake(config({'c': check}, {'b': (server.address, 'c')}, frontends, netns=net.probes.name,
                               dataplane='vpp'))
    daemon.wait_settled('b', check)
    seen = server.wait_more(12)
    assert seen[-1]['at'] - seen[0]['at'] > 11 * 0.1 * 0.9 - 0.02
    assert all(daemon.plane.weights(f'198.51.100.{i}') == {server.address: 100} for i in range(1, 9))


def test_the_request_is_what_the_configuration_says(start_fake, net, server):
    """FR-1.1: path, Host header, a User-Agent with the version; source addresses of both families."""
    check = Check(port=server.port, params={'path': '/healthz?x=1', 'host': 'www.example.net'},
                  more={'probe-ipv4-src': net.SOURCES4[1], 'probe-ipv6-src': net.SOURCES6[1]})
    Watched(start_fake, net, check, server.address).settle()
    request = server.requests[0]
    assert request['request'] == 'GET /healthz?x=1 HTTP/1.1'
    assert request['headers']['host'] == 'www.example.net'
    assert request['headers']['user-agent'].startswith('maglevd/')
    assert request['headers']['connection'] == 'close'
    assert request['peer'] in (net.SOURCES4[1], net.SOURCES6[1])


def test_without_a_host_the_address_is_asked_for(start_fake, net, server):
    """FR-1.1: an IPv6 address in brackets."""
    Watched.of(start_fake, net, server).settle()
    address = f'[{server.address}]' if ':' in server.address else server.address
    assert server.requests[0]['headers']['host'] == f'{address}:{server.port}'
    assert server.requests[0]['peer'] in (net.SOURCES4[0], net.SOURCES6[0])


def test_a_kept_connection_is_used_again_and_renewed(start_fake, net, servers):
    """keep-alive: one connection for ten probes, then another."""
    server = servers.open()
    Watched.of(start_fake, net, server, params=OK, more={'keep-alive': True}).settle()
    server.wait_requests(31)
    by_connection = {}
    for request in server.requests[:30]:
        by_connection[request['n']] = by_connection.get(request['n'], 0) + 1
    assert list(by_connection.values()) == [10, 10, 10]


def test_a_kept_connection_that_the_server_closes_is_no_failure(start_fake, net, servers):
    """keep-alive: the probe is asked again on a new connection."""
    server = servers.open()
    story = Watched.of(start_fake, net, server, params=OK, more={'keep-alive': True}).settle()
    server.refuse()
    server.listen()
    story.stays_up(server, 6)
    assert {d['code'] for d in story.daemon.all('probe-done', story.seen)} <= {'L7OK', 'L4CON'}


def test_a_slow_server_does_not_delay_the_schedule(start_fake, net, servers):
    """FR-1.3: intervals go from start to start; the time a probe takes is deducted."""
    server = servers.open()
    story = Watched.of(start_fake, net, server, interval=0.1, fast=0.1).settle()
    server.behave('late', delay=0.06)
    server.wait_more(2)
    seen = server.wait_more(11)
    gaps = [b['at'] - a['at'] for a, b in zip(seen, seen[1:])]
    # a pause of this machine makes one gap longer, not most
    assert 0.09 - 0.005 < statistics.mean(gaps) and statistics.median(gaps) < 0.16, gaps
    story.stays_up(server, 1)


def test_a_timeout_longer_than_the_interval_never_asks_twice_at_once(start_fake, net, servers):
    """FR-1.4: the next probe starts when the last one has given up."""
    server = servers.open()
    story = Watched.of(start_fake, net, server, interval=0.05, timeout=0.3).settle()
    story.expect_down(server.behave('hang'), 'L7TOUT', silent=True)
    lines = [line for line in story.daemon.lines if line['msg'] in ('probe-start', 'probe-done')
             and line['backend'] == 'web']
    kinds = [line['msg'] for line in lines]
    assert kinds == [('probe-start', 'probe-done')[i % 2] for i in range(len(kinds))]
    slow = [b.at - a.at for a, b in zip(lines, lines[1:])
            if b['msg'] == 'probe-start' and a['msg'] == 'probe-done' and a['code'] == 'L7TOUT']
    assert slow and max(slow[:story.check.fall - 1]) < 0.05 + SLACK / 4


def test_the_three_intervals(start_fake, net, servers):
    """FR-1.3, NFR-2.3: interval when well, fast-interval in between, down-interval when down; with jitter."""
    server = servers.open()
    late = waited(servers.process.pid)
    story = Watched.of(start_fake, net, server, interval=0.3, fast=0.04, down=0.15, rise=3, fall=3).settle()
    daemon, check = story.daemon, story.check
    server.wait_more(6)
    server.answer(503)
    daemon.wait_metric('maglev_backend_health', 0, backend='web')
    server.wait_more(5)
    server.answer()
    daemon.wait_settled('web', check)

    counter, gaps, last = None, {check.interval: [], check.fast: [], check.down: []}, None
    for line in daemon.lines:
        if line.get('backend') != 'web' or line['msg'] not in ('probe-start', 'probe-done'):
            continue
        if line['msg'] == 'probe-done':
            passed = line['code'] == 'L7OK'
            if counter is None:
                counter = check.rise if passed else 0
            else:
                counter = min(counter + 1, check.top) if passed else max(counter - 1, 0)
            continue
        if last is not None:
            due = check.interval if counter == check.top else check.down if counter == 0 else check.fast
            gaps[due].append(line.at - last)
        last = line.at
    late = waited(daemon.pid, servers.process.pid) - late  # without a processor there is no probe and no answer
    for due, seen in gaps.items():
        assert len(seen) >= 4
        # a line that was written late makes one gap longer and the next one shorter
        assert due * 0.9 - 0.005 < statistics.mean(seen) and max(seen) < due * 1.1 + SLACK / 2 + late, (due, seen, late)
        assert len({round(gap, 4) for gap in seen}) > 1, 'no jitter'


def test_first_probes_are_spread_over_the_interval(start_fake, net, servers):
    """NFR-2.3: not all at once after a start."""
    server = servers.open()
    check = Check(port=server.port, interval=2, fast=2)
    backends = {f'b{i}': (server.address, 'c') for i in range(30)}
    daemon = start_fake(config({'c': check}, backends, netns=net.probes.name, dataplane='vpp'))
    first = [daemon.wait('probe-start', backend=name).at for name in backends]
    assert 2 / 4 < max(first) - min(first) < 2 + SLACK
    assert len({round(at, 3) for at in first}) > 10
