# SPDX-License-Identifier: Apache-2.0
"""What maglevd tells: log lines and metrics."""
import subprocess

import pytest

from lab import SPARE, VIP, Check, Watched, config, frontend, pool, until

# facts 7 and DESIGN 4, as far as they do not belong to VPP or XDP
NAMES = {
    'maglev_probe_total': {'backend', 'type', 'result', 'code'},
    'maglev_probe_duration_seconds_bucket': {'backend', 'type', 'le'},
    'maglev_probe_duration_seconds_sum': {'backend', 'type'},
    'maglev_probe_duration_seconds_count': {'backend', 'type'},
    'maglev_backend_transitions_total': {'backend', 'from', 'to'},
    'maglev_backend_state': {'backend', 'state'},
    'maglev_backend_health': {'backend'},
    'maglev_backend_enabled': {'backend'},
    'maglev_frontend_state': {'frontend', 'state'},
    'maglev_frontend_pool_backend_weight': {'frontend', 'pool', 'backend'},
    'maglev_lbsync_total': {'scope', 'kind'},
    'maglev_vpp_lbsync_total': {'scope', 'kind'},
    'maglev_guard_active': set(),
    'maglev_build_info': {'version', 'commit', 'date'},
    'maglev_loop_lag_seconds_count': set(),
    'process_cpu_seconds_total': set(),
    'process_resident_memory_bytes': set(),
    'process_open_fds': set(),
    'process_start_time_seconds': set(),
}
BUCKETS = ['0.001', '0.0025', '0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '+Inf']


@pytest.fixture
def farm(start_fake, net, servers):
    """Five backends in one frontend, at the level that is asked for."""
    class Farm:
        servers_ = [servers.open(f's{i}') for i in range(5)]
        checks = {s.name: Check(port=s.port) for s in servers_}

        def start(self, level='debug'):
            self.daemon = start_fake(config(self.checks, {s.name: (s.address, s.name) for s in self.servers_},
                                            {'www': frontend(VIP, pool('all', *self.checks))},
                                            netns=net.probes.name, dataplane='vpp'), level=level)
            for name, check in self.checks.items():
                self.daemon.wait_settled(name, check)
            self.daemon.plane.wait_weights(VIP, {s.address: 100 for s in self.servers_})
            return self

    return Farm()


def check_page(text):
    done = subprocess.run(['promtool', 'check', 'metrics'], input=text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr + done.stdout
    assert not done.stdout and not done.stderr, done.stdout + done.stderr


def test_the_page_is_what_prometheus_expects(farm):
    """FR-6.2: promtool has nothing to say, before and after incidents"""
    farm.start()
    check_page(farm.daemon.metrics().text)
    farm.servers_[0].refuse()
    farm.daemon.wait_state('s0', 'down')
    check_page(farm.daemon.metrics().text)


def test_names_and_labels(farm):
    """FR-6.2: facts 7 and DESIGN 4"""
    page = farm.start().daemon.metrics()
    for name, labels in NAMES.items():
        found = page.of(name)
        assert found, name
        assert all(set(have) == labels for have, _ in found), (name, found[0])
    bounds = [have['le'] for have, _ in page.of('maglev_probe_duration_seconds_bucket', backend='s0')]
    assert bounds == BUCKETS
    states = {have['state'] for have, _ in page.of('maglev_backend_state', backend='s0')}
    assert states >= {'unknown', 'up', 'down', 'paused', 'disabled'}
    assert {have['result'] for have, _ in page.of('maglev_probe_total')} == {'success'}


def test_probe_counters_add_up(start_fake, net, servers):
    """FR-6.2: probes by code, the histogram, the log and the server's own count are the same number"""
    server = servers.open()
    story = Watched.of(start_fake, net, server, timeout=60).settle()
    server.behave('flap', pattern=[200, 200, 503])
    server.wait_more(12)
    server.behave('hang')
    server.wait_more(1)  # those before it have ended, and no other one begins
    asked = len(server.requests)
    story.daemon.wait('probe-done', count=asked - 1, backend='web')
    page = story.daemon.metrics()
    done = [d for d in story.daemon.all('probe-done', backend='web')]
    counted = page.sum('maglev_probe_total', backend='web')
    assert counted == page.one('maglev_probe_duration_seconds_count', backend='web')
    assert counted == page.one('maglev_probe_duration_seconds_bucket', backend='web', le='+Inf')
    assert abs(counted - asked) <= 1 and abs(counted - len(done)) <= 1
    assert page.one('maglev_probe_total', backend='web', result='failure', code='L7STS') in \
        range(3, asked // 3 + 2)
    assert 0 <= page.one('maglev_probes_started_total') - counted <= 2


def test_transitions_are_counted_as_they_are_logged(farm):
    """FR-6.2: one log line and one count for each"""
    farm.start()
    server = farm.servers_[2]
    for i in range(3):
        server.refuse()
        farm.daemon.wait('backend-transition', backend='s2', to='down', count=i + 1)
        server.listen()
        farm.daemon.wait('backend-transition', backend='s2', to='up', count=i + 2)
    page = farm.daemon.metrics()
    assert page.one('maglev_backend_transitions_total', backend='s2', **{'from': 'up', 'to': 'down'}) == 3
    assert page.one('maglev_backend_transitions_total', backend='s2', **{'from': 'down', 'to': 'up'}) == 3
    assert page.one('maglev_backend_transitions_total', backend='s2', **{'from': 'unknown', 'to': 'up'}) == 1
    until(lambda: farm.daemon.metrics().sum('maglev_lbsync_total', scope='vip', kind='as_weight_updated') >= 6)


def test_an_incident_is_two_lines(farm):
    """FR-6.1: one of several backends dies; at info that is its transition and the sync, no more"""
    farm.start('info')
    mark = farm.daemon.mark()
    farm.servers_[3].refuse()
    farm.daemon.wait('lb-sync-vip', mark)
    farm.servers_[0].wait_more(6)
    lines = farm.daemon.lines[mark:]
    assert [line['msg'] for line in lines] == ['backend-transition', 'lb-sync-vip'], lines
    transition, sync = lines
    assert {'backend', 'from', 'to', 'code', 'reason'} <= set(transition)
    assert transition['code'] == 'L4CON' and 'refused' in transition['reason']
    assert sync['as_weight_updated'] == 1 and sync['vips'] == 1
    mark = farm.daemon.mark()
    farm.servers_[3].listen()
    farm.daemon.wait('lb-sync-vip', mark)
    farm.servers_[0].wait_more(6)
    assert [line['msg'] for line in farm.daemon.lines[mark:]] == ['backend-transition', 'lb-sync-vip']


def test_warnings_and_errors_tell_of_every_outage(start_fake, net, servers):
    """FR-6.1: the search that docs/reference/logs.md recommends finds failovers and frontends without servers"""
    first, second = servers.open('first'), servers.open('second')
    checks = {s.name: Check(port=s.port) for s in (first, second)}
    daemon = start_fake(config(checks, {s.name: (s.address, s.name) for s in (first, second)},
                               {'www': frontend(VIP, pool('primary', 'first'), pool('backup', 'second'))},
                               netns=net.probes.name, dataplane='vpp'), level='info')
    for name, check in checks.items():
        daemon.wait_settled(name, check)
    mark = daemon.mark()
    for server, to in ((first, 'down'), (second, 'down'), (second, 'up'), (first, 'up')):
        since = daemon.mark()
        (server.refuse if to == 'down' else server.listen)()
        daemon.wait('backend-transition', since, backend=server.name, to=to)
    told = [(line['level'], line.get('frontends_up'), line.get('frontends_down'), line.get('failovers'))
            for line in daemon.all('backend-transition', mark)]
    assert told == [('WARN', None, None, 'www: primary -> backup'), ('ERROR', None, 'www', None),
                    ('INFO', 'www', None, None), ('INFO', None, None, 'www: backup -> primary')], told
    assert [line['msg'] for line in daemon.lines[mark:] if line['level'] in ('WARN', 'ERROR')] == 2 * ['backend-transition']


def test_info_is_silent_while_nothing_happens(farm):
    """FR-6.1: no line per probe"""
    farm.start('info')
    mark = farm.daemon.mark()
    farm.servers_[0].wait_more(10)
    assert farm.daemon.lines[mark:] == []


def test_debug_has_every_probe(farm):
    """FR-6.1: facts 8"""
    farm.start()
    for server in farm.servers_:
        farm.daemon.wait('probe-done', count=3, backend=server.name)
        lines = list(farm.daemon.lines)  # of one moment
        starts, ends = ([line for line in lines if line.matches(msg, {'backend': server.name})]
                        for msg in ('probe-start', 'probe-done'))
        assert 0 <= len(starts) - len(ends) <= 1 and len(ends) >= 3
        assert all(line['level'] == 'DEBUG' and line['type'] == 'http' for line in starts + ends)
        assert ends[0]['code'] == 'L7OK' and ends[0]['status'] == 200


@pytest.mark.parametrize('level, least', [('warn', 'WARN'), ('error', 'ERROR')])
def test_levels_hold_back_what_is_below(level, least, start_fake, net, servers):
    """FR-6.1"""
    server = servers.open()
    check = Check(port=server.port)
    daemon = start_fake(config({'c': check}, {'b': (server.address, 'c')}, netns=net.probes.name, dataplane='vpp'),
                        level=level, ready=False)
    server.wait_requests(5)
    daemon.plane.ask('down')
    daemon.plane.ask('up')
    if level == 'warn':
        daemon.wait('dataplane-disconnect')
    order = ['DEBUG', 'INFO', 'WARN', 'ERROR']
    assert all(order.index(line['level']) >= order.index(least) for line in daemon.lines)


GARBAGE = [
    b'\x00\x01\x02\xff\xfe\xfd\r\n\r\n',
    b'HTTP/1.1 200 \xff\xfe\x80\x81\r\n\r\n',
    b'HTTP/1.1 503 "quotes" \\ and \x1b[31mcolour\x07\r\nX: \xc3\x28\xe2\x82\r\n\r\n\xf0\x9f',
    b'{"time":"now","level":"INFO","msg":"forged"}\n' * 20,
    b'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n\xed\xa0\x80\xef\xbf\xbe',
    b'\n\n\n\n',
    b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\xff\xff\xff\r\n',
    bytes(range(256)) * 64,
]


def test_whatever_a_server_sends_the_log_stays_json(start_fake, net, servers):
    """FR-6.1: valid UTF-8 and JSON, no line that was not ours; the same for the metrics"""
    server = servers.open()
    story = Watched.of(start_fake, net, server, params={'response-regexp': 'never'}, interval=0.05, fast=0.03,
                       down=0.03)
    for text in GARBAGE:
        server.behave('raw', bytes=text.hex())
        server.wait_more(3)
    assert not story.daemon.broken
    assert not story.daemon.all('forged')
    check_page(story.daemon.metrics().text)


def test_names_of_all_kinds_are_told_as_they_are(start_fake):
    """FR-6.1, FR-6.2: quotes, backslashes and letters of all languages in names"""
    names = ['näme', 'with space', 'quote"d', 'back\\slash', '名前', '{curly}', '🦆']
    daemon = start_fake(config({}, {n: f'10.0.0.{i + 1}' for i, n in enumerate(names)},
                               {n: frontend(f'198.51.100.{i + 1}', pool(n, n)) for i, n in enumerate(names)},
                               dataplane='vpp'))
    for name in names:
        daemon.wait_state(name, 'up')
    page = daemon.metrics()
    check_page(page.text)
    shown = {have['backend'].replace('\\"', '"').replace('\\\\', '\\') for have, _ in page.of('maglev_backend_health')}
    assert shown == set(names)


def test_the_start_is_told(start_fake):
    """FR-6.1: version, configuration, the address of the listener with the port that port 0 became"""
    daemon = start_fake(config({}, {'b': SPARE}, {'www': frontend(VIP, pool('p', 'b'))}, dataplane='vpp'))
    daemon.plane.wait_weights(VIP, {SPARE: 100})
    assert {'version', 'commit', 'date'} <= set(daemon.wait('starting'))
    loaded = daemon.wait('config-loaded')
    assert (loaded['file'], loaded['backends'], loaded['frontends']) == (daemon.path, 1, 1)
    assert daemon.port > 0
    for msg in ('dataplane-connect', 'warmup-done', 'lb-sync-all'):
        assert daemon.wait(msg)['level'] == 'INFO'


def test_a_page_of_many_backends_is_whole(start_fake):
    """FR-6.2: written in slices, read in one piece"""
    backends = {f'b{i:04}': f'10.{i // 65536}.{i // 256 % 256}.{i % 256}' for i in range(1, 3001)}
    daemon = start_fake(config({}, backends, {'www': frontend(VIP, pool('p', *list(backends)[:100]))},
                               dataplane='vpp'), level='warn', ready=False, grpc='')
    daemon.port = port_of(daemon.process.pid)
    page = daemon.metrics()
    assert len(page.of('maglev_backend_health')) == 3000
    assert len(page.samples) == len({(n, tuple(sorted(labels.items()))) for n, labels, _ in page.samples})


def port_of(pid):
    """Of a daemon that does not tell: from the kernel's table of listening sockets."""
    def look():
        listed = subprocess.run(['ss', '-Hltnp'], capture_output=True, text=True, check=True).stdout
        found = [line.split()[3] for line in listed.splitlines() if f'pid={pid},' in line]
        return int(found[0].rsplit(':', 1)[1]) if found else None
    return until(look, what='the listener')
