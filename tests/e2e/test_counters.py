# SPDX-License-Identifier: Apache-2.0
"""What a data plane counts, and who it is: through the API, maglevc and metrics, all the same."""
import http.client
import itertools
import socket
import subprocess
import time

import pytest

from lab import SPARE, VIP, config, frontend, pool
from lab.api import Maglevc, Status, as_json
from lab.metrics import Metrics

A, B = '10.99.0.11', '10.99.0.12'
OTHER, STALE = '198.51.100.20', '203.0.113.5'
VIP_BYTES, AS_TRAFFIC, AS_BUCKETS, AS_FLOWS, SERVER_TRAFFIC = (1 << bit for bit in range(5))
ALL = 31
FILE = config(backends={'a': A, 'b': B, 'twin': A, 'spare': SPARE},
              frontends={'www': frontend(VIP, pool('first', 'a', 'b'), pool('second', 'spare')),
                         'more': frontend(OTHER, pool('only', 'twin'))}, dataplane='vpp', lb={'sync-interval': '1h'})
# count-vip: next first untracked no-server bytes buckets; count-as: packets bytes buckets flows
COUNTED = [f'count-vip {VIP} 6 80 1000 20 3 4 50000 1024', f'count-vip {OTHER} 6 80 7 1 0 0 600 1024',
           f'count-vip {STALE} 17 53 0 0 0 9 0 16',
           f'count-as {VIP} 6 80 {A} 600 30000 512 11', f'count-as {VIP} 6 80 {B} 400 20000 512 9',
           f'count-as {OTHER} 6 80 {A} 8 600 1024 1', f'count-as {OTHER} 6 80 10.9.9.9 18446744073709551615 1 0 0',
           f'count-server {A} 608 44000', f'count-server {B} 400 29000', f'count-server 10.9.9.9 5 6',
           'count-event too-big 3', 'count-event fragment 0']
VPP = f'info 26.10-rc0 2026-04-01T00:00:00 /build 4711 {int(time.time() - 90) * 10**9} {int(time.time() - 30) * 10**9}'


@pytest.fixture
def daemon(start_api):
    daemon = start_api(FILE)
    daemon.plane.wait_weights(VIP, {A: 100, B: 100, SPARE: 0})
    return daemon


def count(daemon, has=ALL):
    daemon.plane.seed([f'counters {has}', *COUNTED])


def check_page(text):
    done = subprocess.run(['promtool', 'check', 'metrics'], input=text, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, '', ''), done


def test_before_the_first_reading_it_says_so(daemon):
    """And nothing of it is on the page of metrics, but for whether VPP is there"""
    daemon.api.refused('GetVPPLBCounters', Status.UNAVAILABLE, 'not been read yet')
    daemon.api.refused('GetVPPInfo', Status.UNAVAILABLE, 'nothing is known of')
    daemon.maglevc.refused(1, 'not been read yet', 'show', 'lb', 'counters')
    page = daemon.metrics()
    assert not {name for name in page.names() if name.startswith(('maglev_vip_', 'maglev_server_', 'maglev_vpp_'))} - \
        {'maglev_vpp_connected', 'maglev_vpp_problem', 'maglev_vpp_lbsync_total'}
    assert page.one('maglev_vpp_connected') == page.one('maglev_vpp_problem') == 0
    check_page(page.text)


def test_a_data_plane_that_counts_nothing_says_so(start):
    """The real program without a data plane"""
    daemon = start(config(backends={'a': A}, frontends={'www': frontend(VIP, pool('first', 'a'))}, dataplane='none'),
                   grpc='127.0.0.1:0')
    maglevc = Maglevc(daemon.grpc_port())
    maglevc.refused(1, 'the data plane none counts nothing', 'show', 'vpp', 'lb', 'counters')
    maglevc.refused(1, 'the data plane is none, not vpp', 'show', 'vpp', 'info')
    page = daemon.metrics().text
    assert 'maglev_vpp_' not in page and 'maglev_vip_' not in page and 'maglev_dataplane_packets' not in page


def test_counters_have_the_names_of_the_configuration(daemon):
    """FR-6.4: each frontend's own backend behind an address that two have"""
    count(daemon)
    all_ = daemon.api.call('GetVPPLBCounters')
    assert [(vip.address, vip.protocol, vip.port, vip.frontend) for vip in all_.vips] == \
        [(VIP, 'tcp', 80, 'www'), (OTHER, 'tcp', 80, 'more'), (STALE, 'udp', 53, '')]
    www, more, stale = all_.vips
    assert (www.next_packets, www.first_packets, www.untracked_packets, www.no_server_packets, www.bytes,
            www.buckets) == (1000, 20, 3, 4, 50000, 1024)
    assert [(one.address, one.backend, one.packets, one.bytes, one.buckets, one.flows)
            for one in www.application_servers] == [(A, 'a', 600, 30000, 512, 11), (B, 'b', 400, 20000, 512, 9)]
    assert [(one.address, one.backend) for one in more.application_servers] == [('10.9.9.9', ''), (A, 'twin')]
    assert not stale.application_servers and stale.no_server_packets == 9
    assert [(one.address, list(one.backends), one.packets, one.bytes) for one in all_.servers] == \
        [('10.9.9.9', [], 5, 6), (A, ['a', 'twin'], 608, 44000), (B, ['b'], 400, 29000)]
    assert [(one.name, one.packets) for one in all_.events] == [('too-big', 3), ('fragment', 0)]
    assert abs(all_.at / 1e9 - time.time()) < 60
    state = daemon.api.call('GetVPPLBState').vips[0].application_servers
    assert {one.address: (one.buckets, one.flows) for one in state} == {A: (512, 11), B: (512, 9), SPARE: (0, 0)}


def test_maglevc_shows_the_same(daemon):
    """As JSON, and as tables that have all of it"""
    count(daemon)
    all_ = as_json(daemon.api.call('GetVPPLBCounters'))
    assert daemon.maglevc.json('show', 'lb', 'counters') == daemon.maglevc.json('show', 'vpp', 'lb', 'counters') == all_
    rows = [line.split() for line in daemon.maglevc.text('show', 'lb', 'counters').splitlines()]
    assert [f'{VIP}:80/tcp', 'www', '20', '1000', '3', '4', '50000'] in rows
    assert [f'{VIP}:80/tcp', A, 'a', '600', '30000', '512', '11'] in rows
    assert [A, 'a,', 'twin', '608', '44000'] in rows and ['too-big', '3'] in rows


def test_every_figure_is_a_metric(daemon):
    """FR-6.2, FR-6.4: facts 7 and DESIGN 4"""
    count(daemon)
    page = daemon.metrics()
    check_page(page.text)
    www = {'vip': VIP, 'protocol': 'tcp', 'port': '80'}
    kinds = {'next': 1000, 'first': 20, 'untracked': 3, 'no-server': 4}
    assert {have['kind']: value for have, value in page.of('maglev_vip_packets_total', **www)} == kinds
    assert page.one('maglev_vip_packets_total', vip=STALE, protocol='udp', port='53', kind='no-server') == 9
    assert page.one('maglev_vip_bytes_total', **www) == 50000 and page.one('maglev_vip_buckets', **www) == 1024
    a = {**www, 'backend': 'a', 'address': A}
    assert [page.one(f'maglev_backend_{what}', **a)
            for what in ('packets_total', 'bytes_total', 'buckets', 'flows')] == [600, 30000, 512, 11]
    assert {(have['vip'], have['backend'], have['address']) for have, _ in page.of('maglev_backend_packets_total')} == \
        {(VIP, 'a', A), (VIP, 'b', B), (OTHER, 'twin', A), (OTHER, '', '10.9.9.9')}
    assert ' 18446744073709551615\n' in page.text
    assert page.one('maglev_server_packets_total', address=A) == 608
    assert page.one('maglev_server_bytes_total', address=A) == 44000
    assert {have['fate']: value for have, value in page.of('maglev_dataplane_packets_total')} == \
        {'too-big': 3, 'fragment': 0}
    assert abs(page.one('maglev_dataplane_counters_timestamp_seconds') - time.time()) < 60


@pytest.mark.parametrize('has, metrics, field', [
    (VIP_BYTES, {'maglev_vip_bytes_total'}, 'has_vip_bytes'),
    (AS_TRAFFIC, {'maglev_backend_packets_total', 'maglev_backend_bytes_total'}, 'has_as_traffic'),
    (AS_BUCKETS, {'maglev_backend_buckets', 'maglev_vip_buckets'}, 'has_as_buckets'),
    (AS_FLOWS, {'maglev_backend_flows'}, 'has_as_flows'),
    (SERVER_TRAFFIC, {'maglev_server_packets_total', 'maglev_server_bytes_total'}, 'has_server_traffic'),
])
def test_what_a_data_plane_has_not_is_not_there(has, metrics, field, daemon):
    """A 0 that means nothing is nowhere"""
    count(daemon, has)
    traffic = ('maglev_vip_', 'maglev_backend_packets', 'maglev_backend_bytes', 'maglev_backend_buckets',
               'maglev_backend_flows', 'maglev_server_')
    assert {name for name in daemon.metrics().names() if name.startswith(traffic)} == metrics | {'maglev_vip_packets_total'}
    assert {name for name, value in as_json(daemon.api.call('GetVPPLBCounters')).items()
            if name.startswith('has_') and value} == {field}
    row = next(line.split() for line in daemon.maglevc.text('show', 'lb', 'counters').splitlines()
               if line.startswith(f'{VIP}:80/tcp') and A in line)
    assert row[3:] == ['600' if has & AS_TRAFFIC else '-', '30000' if has & AS_TRAFFIC else '-',
                       '512' if has & AS_BUCKETS else '-', '11' if has & AS_FLOWS else '-']


def test_names_follow_a_reload(daemon):
    """What the file no longer has is nobody's; what has another name has it everywhere"""
    count(daemon)
    daemon.write(config(backends={'renamed': A, 'b': B}, frontends={'web': frontend(VIP, pool('first', 'renamed'))},
                        dataplane='vpp', lb={'sync-interval': '1h'}))
    daemon.api.call('ReloadConfig')
    www, more, _ = daemon.api.call('GetVPPLBCounters').vips
    assert (www.frontend, more.frontend) == ('web', '')
    assert [one.backend for one in www.application_servers] == ['renamed', '']
    names = {(have['vip'], have['address']): have['backend']
             for have, _ in daemon.metrics().of('maglev_backend_packets_total')}
    assert names == {(VIP, A): 'renamed', (VIP, B): '', (OTHER, A): '', (OTHER, '10.9.9.9'): ''}


@pytest.mark.parametrize('vips, servers', [(1000, 10), (1, 10000)])
def test_a_page_of_many_counters_is_whole(vips, servers, daemon):
    """FR-6.2: written in slices; no sample twice and none left out"""
    daemon.plane.seed([f'counters {AS_TRAFFIC | AS_FLOWS}', f'count-many {vips} {servers}'])
    page = daemon.metrics()
    for name in ('maglev_backend_packets_total', 'maglev_backend_bytes_total', 'maglev_backend_flows'):
        assert len(page.of(name)) == vips * servers
    assert len(page.of('maglev_vip_packets_total')) == vips * 4
    assert len(page.samples) == len({(name, tuple(sorted(labels.items()))) for name, labels, _ in page.samples})
    assert page.sum('maglev_backend_packets_total') == vips * servers * (servers - 1) / 2


def slowly(port, meanwhile):
    """The page of metrics, taken in small pieces with something happening before each."""
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # so that it is not written ahead of us
    slow.connect(('127.0.0.1', port))
    connection = http.client.HTTPConnection('127.0.0.1', port)
    connection.sock = slow
    connection.request('GET', '/metrics')
    answer, pieces = connection.getresponse(), []
    while not pieces or pieces[-1]:
        meanwhile()
        pieces.append(answer.read(100_000))
    connection.close()
    return Metrics(b''.join(pieces).decode())


def test_newer_counters_may_come_while_a_page_is_written(daemon):
    """NFR-3.3: nothing of the older ones is held or touched; the page is whole"""
    plane = daemon.plane
    plane.seed([f'counters {AS_TRAFFIC}', 'count-many 100 40'])
    page = slowly(daemon.port, lambda: plane.ask('count-many 100 40'))
    assert len(page.of('maglev_backend_packets_total')) == len(page.of('maglev_backend_bytes_total')) == 4000
    check_page(page.text)
    sizes = itertools.cycle(['count-many 3 4000', 'count-many 100 4', 'count-many 0 0'])
    check_page(slowly(daemon.port, lambda: plane.ask(next(sizes))).text)


def test_vpp_is_told_of(daemon):
    """Version, pid, ages, messages"""
    daemon.plane.seed([f'{VPP} -', 'message lb_as_set_weight 12 1 10 2', 'message control_ping 5 0 5 0'])
    info = daemon.api.call('GetVPPInfo')
    assert (info.version, info.build_date, info.build_directory, info.pid, info.problem, info.connected) == \
        ('26.10-rc0', '2026-04-01T00:00:00', '/build', 4711, '', True)
    assert 60 <= (info.connecttime_ns - info.boottime_ns) / 1e9 <= 61
    assert [(one.name, one.sent, one.send_failures, one.received, one.receive_failures) for one in info.messages] == \
        [('lb_as_set_weight', 12, 1, 10, 2), ('control_ping', 5, 0, 5, 0)]
    assert daemon.maglevc.json('show', 'vpp', 'info') == as_json(info)
    rows = [line.split() for line in daemon.maglevc.text('show', 'vpp', 'info').splitlines()]
    assert ['version', '26.10-rc0'] in rows and ['lb_as_set_weight', '12', '1', '10', '2'] in rows


def test_vpp_is_told_of_in_metrics(daemon):
    """FR-6.2: facts 7"""
    daemon.plane.seed([f'{VPP} -', 'message lb_as_set_weight 12 1 10 2', 'message control_ping 5 0 5 0'])
    page = daemon.metrics()
    check_page(page.text)
    assert page.one('maglev_vpp_connected') == 1 and page.one('maglev_vpp_problem') == 0
    assert 85 <= page.one('maglev_vpp_uptime_seconds') < 600
    assert 25 <= page.one('maglev_vpp_connected_seconds') < page.one('maglev_vpp_uptime_seconds')
    assert page.of('maglev_vpp_info') == [({'version': '26.10-rc0', 'build_date': '2026-04-01T00:00:00',
                                            'pid': '4711'}, 1)]
    assert {(have['msg'], have['direction'], have['result']): value for have, value in page.of('maglev_vpp_api_total')} == {
        ('lb_as_set_weight', 'send', 'success'): 12, ('lb_as_set_weight', 'send', 'failure'): 1,
        ('lb_as_set_weight', 'recv', 'success'): 10, ('lb_as_set_weight', 'recv', 'failure'): 2,
        ('control_ping', 'send', 'success'): 5, ('control_ping', 'recv', 'success'): 5}


def test_a_vpp_with_a_problem_says_which(daemon):
    """Connected but not to be programmed, and then gone: it is an answer, not a failure"""
    daemon.plane.ask(f'{VPP} VPP_is_too_old')
    assert daemon.api.call('GetVPPInfo').problem == daemon.api.call('GetVPPLBState').problem == 'VPP is too old'
    assert daemon.maglevc.text('show', 'vpp', 'info').splitlines()[0].split() == ['problem', 'VPP', 'is', 'too', 'old']
    page = daemon.metrics()
    assert page.one('maglev_vpp_problem') == page.one('maglev_vpp_connected') == 1
    daemon.plane.ask('info - - - 0 0 0 cannot_connect')
    info = daemon.api.call('GetVPPInfo')
    assert (info.connected, info.version, info.problem) == (False, '', 'cannot connect')
    page = daemon.metrics()
    assert page.one('maglev_vpp_connected') == 0
    assert not page.names() & {'maglev_vpp_uptime_seconds', 'maglev_vpp_connected_seconds', 'maglev_vpp_info'}
    check_page(page.text)
    assert 'no' in next(line for line in daemon.maglevc.text('show', 'vpp', 'info').splitlines() if 'connected' in line)
