# SPDX-License-Identifier: Apache-2.0
"""maglevd drives VPP: everything is programmed, kept so, and outlives the restart of either.

Told of the stand-in, and of a real VPP where there is one.
"""
import signal

import pytest

from lab import VIP, config, frontend, pool, until
from lab.api import Status

A, B, C = '10.99.0.11', '10.99.0.12', '10.99.0.13'
A6, B6 = 'fd99::11', 'fd99::12'
OTHER, VIP6, STALE = '198.51.100.20', '2001:db8::80', '203.0.113.5'
BACKENDS = {'a': A, 'b': B, 'c': C, 'a6': A6, 'b6': B6}
FAST = {'sync-interval': '100ms'}
NEVER = {'sync-interval': '1h'}
WARM_UP = {'startup-min-delay': '1s', 'startup-max-delay': '3s'}


def file(frontends, lb=None, backends=None):
    return config(backends=backends or BACKENDS, frontends=frontends, dataplane='vpp', lb=lb)


def www(*first, **more):
    return frontend(VIP, pool('first', *(first or 'ab')), pool('second', 'c'), **more)


PLAIN = {'www': www(), 'more': frontend(OTHER, pool('only', 'a'), port=443)}


def settled(daemon):
    """Everything is as wanted, and VPP was asked whether it is."""
    daemon.wait('lb-sync-all')
    until(lambda: not daemon.api.call('SyncVPPLBState', plan=True).operations, what='nothing to do')
    return daemon


def quiet(daemon):
    """Full syncs, one after the other, find nothing to do."""
    daemon.wait('lb-sync-all', daemon.mark(), count=2)  # whatever was under way is done then, and told
    mark = daemon.mark()
    daemon.wait('lb-sync-all', mark, count=3)
    assert not daemon.all('lb-sync-op', mark)


def test_everything_is_programmed_as_the_file_says(vpp, start_on):
    """FR-4.1, facts 13: families by backends, all ports, both protocols, stickiness, table length"""
    frontends = {'four': frontend(VIP, pool('p', 'a', b=30)),
                 'mixed': frontend(OTHER, pool('p', 'a6', b6=7), port=53, protocol='udp', src_ip_sticky=True),
                 'six': frontend(VIP6, pool('p', 'a6')),
                 'back': frontend('2001:db8::81', pool('p', 'a'), port=443),
                 'all': frontend('198.51.100.30', pool('p', 'b'), port=None)}
    settled(start_on(vpp, file(frontends, {'new-flows-table-length': 2048})))
    assert vpp.state() == {
        (f'{VIP}/32', 6, 80): ('ip4-gre4', False, 2048, {A: 100, B: 30}),
        (f'{OTHER}/32', 17, 53): ('ip4-gre6', True, 2048, {A6: 100, B6: 7}),
        (f'{VIP6}/128', 6, 80): ('ip6-gre6', False, 2048, {A6: 100}),
        ('2001:db8::81/128', 6, 443): ('ip6-gre4', False, 2048, {A: 100}),
        ('198.51.100.30/32', 255, 0): ('ip4-gre4', False, 2048, {B: 100})}


def test_the_settings_reach_vpp(standin, start_on):
    """Addresses, buckets, timeout; and once they are there nobody sends them again"""
    daemon = settled(start_on(standin, file(PLAIN, {**FAST, 'flow-timeout': '77s', 'sticky-buckets-per-core': 2048})))
    assert standin.conf() == ('192.0.2.1', '2001:db8::1', 2048, 77)
    mark = daemon.mark()
    daemon.wait('lb-sync-all', mark, count=3)
    assert [name for name, _ in standin.writes()].count('lb_conf') == 1


def test_what_the_api_says_is_what_vpp_has(vpp, start_on):
    """GetVPPLBState beside GetVPPInfo: flags and buckets from VPP, names from us"""
    daemon = settled(start_on(vpp, file(PLAIN)))
    state = daemon.api.call('GetVPPLBState')
    assert state.dataplane == 'vpp' and state.connected and not state.problem
    assert (state.ipv4_src_address, state.ipv6_src_address) == ('192.0.2.1', '2001:db8::1')
    rows = {(vip.address, one.address): (one.weight, one.backend, one.present, one.wanted)
            for vip in state.vips for one in vip.application_servers}
    assert rows == {(VIP, A): (100, 'a', True, True), (VIP, B): (100, 'b', True, True), (VIP, C): (0, 'c', True, True),
                    (OTHER, A): (100, 'a', True, True)}
    assert A in daemon.maglevc.text('show', 'vpp', 'lb', 'state')
    info = daemon.api.call('GetVPPInfo')
    assert info.version and info.pid and info.boottime_ns and info.connecttime_ns and not info.problem
    assert info.version in daemon.maglevc.text('show', 'vpp', 'info')
    page = daemon.metrics()
    assert page.one('maglev_vpp_connected') == 1 and page.one('maglev_vpp_problem') == 0
    assert page.one('maglev_vpp_info', version=info.version, pid=str(info.pid)) == 1


def test_every_message_is_in_the_log_and_in_the_metrics(vpp, start_on):
    """FR-6.1, facts 8: the level debug has what was said to VPP and what it answered"""
    daemon = settled(start_on(vpp, file(PLAIN, NEVER)))
    said, heard = daemon.all('vpp-api-send'), daemon.all('vpp-api-recv')
    assert said and heard and {line['level'] for line in said + heard} == {'DEBUG'}
    assert [line['result'] for line in said if line['message'].startswith('lb_add_del_as')] == ['success'] * 4
    counted = {(have['msg'], have['direction']) for have, _ in daemon.metrics().of('maglev_vpp_api_total')}
    assert {(line['message'], 'send') for line in said} | {(line['message'], 'recv') for line in heard} <= counted


def test_a_weight_reaches_vpp_at_once(vpp, start_on):
    """FR-4.1, facts 13: not with the next full sync"""
    daemon = settled(start_on(vpp, file(PLAIN, NEVER)))
    daemon.api.call('SetFrontendPoolBackendWeight', frontend='www', pool='first', backend='a', weight=30)
    vpp.wait_weights(VIP, {A: 30, B: 100, C: 0})


def test_a_weight_is_one_message(standin, start_on):
    """One round trip: the picture of VPP is good, so nothing is read before or after"""
    daemon = settled(start_on(standin, file(PLAIN, NEVER), brisk=True))
    until(lambda: daemon.api.call('GetVPPLBCounters').at, what='the first counters')
    standin.clear_log()
    daemon.api.call('SetFrontendPoolBackendWeight', frontend='www', pool='first', backend='a', weight=30)
    standin.wait_weights(VIP, {A: 30, B: 100, C: 0})
    daemon.wait('lb-sync-op', op=f'as-weight {VIP}:80/tcp {A} 100->30')
    log = [one for one in standin.log() if one.name.startswith('lb_')]
    assert [one.name for one in log] == ['lb_as_set_weight']
    assert log[0].fields[-2:] == bytes([30, 0])


@pytest.mark.parametrize('how', [signal.SIGTERM, signal.SIGKILL], ids=['stopped', 'killed'])
def test_a_restart_of_maglevd_changes_nothing(how, standin, start_on):
    """NFR-1.1, NFR-1.2: nothing is written on the way out, nor by the next one that finds all as it should be"""
    daemon = settled(start_on(standin, file(PLAIN)))
    standin.packets(VIP, 50)
    before = standin.state(), standin.vip(VIP)
    standin.clear_log()
    daemon.signal(how)
    daemon.end()
    until(lambda: not standin.clients(), what='the end of the connection')
    assert (standin.state(), standin.vip(VIP)) == before and not standin.writes()
    again = settled(start_on(standin, file(PLAIN, WARM_UP)))
    until(lambda: again.api.call('GetVPPLBState').warmup == 'done', what='the end of the warm-up')
    again.api.call('SyncVPPLBState')
    assert (standin.state(), standin.vip(VIP)) == before, 'with the flows that it had'
    assert not standin.writes()


def test_during_the_warm_up_new_flows_are_not_lost(standin, start_on):
    """NFR-1.2: what is not probed yet keeps the weights that it had"""
    checks = {'never': {'type': 'tcp', 'port': 1, 'interval': '1h', 'fast-interval': '1h', 'timeout': '1h'}}
    settled(start_on(standin, file(PLAIN))).stop()
    standin.clear_log()
    daemon = start_on(standin, config(checks, {**BACKENDS, 'a': (A, 'never')}, PLAIN, dataplane='vpp', lb={
        'startup-min-delay': '1h', 'startup-max-delay': '1h'}))
    daemon.wait('dataplane-connect')
    assert daemon.api.call('GetVPPLBState').warmup == 'hands-off'
    daemon.api.refused('SyncVPPLBState', Status.FAILED_PRECONDITION, 'warm-up', frontend='www')
    assert standin.weights(VIP) == {A: 100, B: 100, C: 0} and not standin.writes()


def test_a_restart_of_vpp_is_made_good(vpp, start_on):
    """FR-4.4: it is empty then, and gets everything at once, warm-up or not"""
    daemon = settled(start_on(vpp, file(PLAIN, {**NEVER, **WARM_UP})))
    before, info = vpp.state(), daemon.api.call('GetVPPInfo')
    mark = daemon.mark()
    vpp.restart()
    daemon.wait('dataplane-disconnect', mark)
    up = daemon.wait('dataplane-connect', mark)
    synced = daemon.wait('lb-sync-all', mark)
    assert synced.at - up.at < 1, 'the clock of the warm-up is not started again'
    assert vpp.state() == before
    now = daemon.api.call('GetVPPInfo')
    assert now.pid != info.pid and now.connecttime_ns > info.connecttime_ns
    assert daemon.api.call('GetVPPLBState').warmup == 'done'


def test_an_empty_vpp_gets_the_same_bytes_every_time(standin, start_on):
    """NFR-2.1: the same sequence of calls after a restart of VPP as in the beginning"""
    daemon = settled(start_on(standin, file(PLAIN, NEVER), brisk=True))
    first = standin.writes()
    mark = daemon.mark()
    standin.clear_log()
    standin.restart()
    daemon.wait('lb-sync-all', mark)
    assert standin.writes() == first and len(first) == 7


@pytest.mark.parametrize('by_hand, repaired', [
    (f'lb as {VIP}/32 protocol tcp port 80 {A} weight 7', 'as-weight'),
    (f'lb as {VIP}/32 protocol tcp port 80 {A} del', 'as-add'),
    (f'lb as {VIP}/32 protocol tcp port 80 10.9.9.9 weight 50', 'as-del'),
    (f'lb vip {VIP}/32 protocol tcp port 80 del', 'vip-add'),
    (f'lb vip {STALE}/32 protocol udp port 53 encap gre4', 'vip-del'),
    ('lb conf ip4-src-address 192.0.2.99', 'conf')],
    ids=['weight', 'server-gone', 'server-more', 'vip-gone', 'vip-more', 'conf'])
def test_what_was_changed_by_hand_is_put_right(by_hand, repaired, vpp, start_on):
    """FR-4.2: within a sync interval"""
    daemon = settled(start_on(vpp, file(PLAIN, FAST)))
    before, mark = vpp.state(), daemon.mark()
    assert 'error' not in vpp.cli(by_hand)
    assert repaired in daemon.wait('lb-sync-op', mark)['op']
    daemon.wait('lb-sync-all', daemon.mark(), count=2)
    assert vpp.state() == before and '192.0.2.99' not in vpp.cli('show lb')


def test_what_vpp_has_deleted_and_still_lists_is_not_there(standin, start_on):
    """facts 9: removed servers stay in the dumps for minutes; nobody takes them for servers"""
    daemon = settled(start_on(standin, file({'www': www('a', 'b')}, FAST)))
    daemon.write(file({'www': www('a')}, FAST))
    daemon.signal(signal.SIGHUP)
    standin.wait_weights(VIP, {A: 100, C: 0})
    assert {one.address: one.used for one in standin.vip(VIP).servers} == {A: True, B: False, C: True}
    quiet(daemon)
    assert {one.address for vip in daemon.api.call('GetVPPLBState').vips for one in vip.application_servers} == {A, C}
    standin.ask('advance 121')
    assert [one.address for one in standin.vip(VIP).servers] == [A, C]
    quiet(daemon)


def test_a_server_that_comes_back_before_it_was_collected(standin, start_on):
    """facts 9: the add revives it, with its new weight and without its old flows"""
    daemon = settled(start_on(standin, file({'www': www('a', 'b')})))
    standin.packets(VIP, 100)
    for backends, weights in (('a', {A: 100, C: 0}), ('ab', {A: 100, B: 100, C: 0})):
        daemon.write(file({'www': www(*backends)}))
        daemon.signal(signal.SIGHUP)
        standin.wait_weights(VIP, weights)
    assert [one.flows for one in standin.vip(VIP).servers if one.address == B] == [0]


# ---- flows ----

def flows(vpp):
    return {one.address: one.flows for one in vpp.vip(VIP).servers}


def test_a_disabled_backend_loses_its_flows_and_a_drained_one_keeps_them(standin, start_on):
    """FR-4.3"""
    daemon = settled(start_on(standin, file(PLAIN)))
    standin.packets(VIP, 200)
    had = flows(standin)
    assert had[A] > 50 and had[B] > 50 and had[C] == 0
    daemon.api.call('SetFrontendPoolBackendWeight', frontend='www', pool='first', backend='a', weight=0)
    standin.wait_weights(VIP, {A: 0, B: 100, C: 0})
    standin.packets(VIP, 200)
    assert flows(standin) == had
    daemon.api.call('DisableBackend', name='a')
    until(lambda: flows(standin)[A] == 0, what='the flush')
    standin.packets(VIP, 200)
    assert flows(standin) == {A: 0, B: had[A] + had[B], C: 0}


def test_a_drain_of_vpp_can_be_waited_for(standin, start_on):
    """flows are those of its own text: left after a pause, gone after a disable"""
    daemon = settled(start_on(standin, file(PLAIN), brisk=True))
    standin.packets(VIP, 200)
    had = flows(standin)[A]
    until(lambda: had == sum(one.flows for vip in daemon.api.call('GetVPPLBState', backend='a').vips
                             for one in vip.application_servers), what='a count of its flows')
    over = daemon.maglevc.run('set', 'backend', 'a', 'pause', 'wait', '1s')
    assert over.returncode == 4 and f'{had} flows left' in over.stderr, over
    assert 'backend a: drained after ' in daemon.maglevc.text('set', 'backend', 'a', 'disable', 'wait')
    assert flows(standin)[A] == 0 and daemon.maglevc.text('show', 'lb', 'state').count('[drained]') >= 1


def test_a_weight_can_be_set_with_a_flush(standin, start_on):
    daemon = settled(start_on(standin, file(PLAIN)))
    standin.packets(VIP, 200)
    daemon.api.call('SetFrontendPoolBackendWeight', frontend='www', pool='first', backend='a', weight=0, flush=True)
    until(lambda: flows(standin)[A] == 0, what='the flush')
    assert flows(standin)[B] > 50


def test_a_vip_that_goes_takes_its_flows_along(standin, start_on):
    """facts 9: deleting a VIP flushes nothing, so its servers go first, with a flush"""
    daemon = settled(start_on(standin, file(PLAIN)))
    standin.packets(VIP, 200)
    standin.clear_log()
    daemon.write(file({'more': PLAIN['more']}))
    daemon.signal(signal.SIGHUP)
    until(lambda: standin.vip(VIP) is None, what='the end of the VIP')
    assert [name for name, _ in standin.writes()] == ['lb_add_del_as_v2'] * 3 + ['lb_add_del_vip_v2']
    gone, = [vip for vip in standin.vips(removed=True) if not vip.used]
    assert [one.flows for one in gone.servers] == [0, 0, 0]
    standin.ask('advance 121')
    assert len(standin.vips(removed=True)) == 1


# ---- what VPP cannot change in place ----

@pytest.mark.parametrize('ports', [[80], [80, 443], [None]], ids=['one', 'two', 'all'])
def test_a_vip_whose_servers_change_family_is_made_again(ports, vpp, start_on):
    """facts 13: another encapsulation; all ports of an address have to change together (-73)"""
    def frontends(name):
        return {f'f{port}': frontend(VIP, pool('p', name), port=port) for port in ports}

    daemon = settled(start_on(vpp, file(frontends('a'), FAST)))
    assert {vip.type for vip in vpp.vips()} == {'ip4-gre4'}
    daemon.write(file(frontends('a6'), FAST))
    daemon.signal(signal.SIGHUP)
    until(lambda: [(vip.type, [one.address for one in vip.servers if one.used]) for vip in vpp.vips()] ==
          [('ip4-gre6', [A6])] * len(ports), what='the other family')
    quiet(daemon)


@pytest.mark.parametrize('sticky, table', [(True, 16384), (False, 4096)], ids=['sticky', 'table'])
def test_what_a_vip_was_made_with_changes_by_making_it_again(sticky, table, vpp, start_on):
    daemon = settled(start_on(vpp, file({'www': www()}, FAST)))
    daemon.write(file({'www': www(src_ip_sticky=sticky)}, {**FAST, 'new-flows-table-length': table}))
    daemon.signal(signal.SIGHUP)
    wanted = {(f'{VIP}/32', 6, 80): ('ip4-gre4', sticky, table, {A: 100, B: 100, C: 0})}
    until(lambda: vpp.state() == wanted, what=f'{wanted}')
    quiet(daemon)


# ---- counters ----

def test_packets_and_bytes_are_counted(standin, start_on):
    """FR-6.4: through the API and the metrics, by VIP and kind; per server with the encapsulation"""
    daemon = settled(start_on(standin, file(PLAIN), brisk=True))
    standin.packets(VIP, 30)
    standin.packets(VIP, 20)
    standin.packets(OTHER, 5, port=443, length=1000)
    standin.packets(VIP, 3, port=81)

    def counted():
        vips = {vip.address: vip for vip in daemon.api.call('GetVPPLBCounters').vips}
        # a reading may fall between the packets; those to port 81 are the last, and show in the bytes alone
        return VIP in vips and vips[VIP].bytes >= 53 * 100 and vips

    vips = until(counted, what='the last packets')
    assert vips[VIP].first_packets == 30
    assert (vips[VIP].next_packets, vips[VIP].untracked_packets, vips[VIP].no_server_packets) == (20, 0, 0)
    assert vips[VIP].bytes == 53 * 100, 'to the address, whatever the port'
    assert (vips[OTHER].first_packets, vips[OTHER].bytes) == (5, 5000)
    # a reading takes the flows first: they may be older than its packets
    until(lambda: daemon.metrics().sum('maglev_backend_flows', vip=VIP) == 30, what='the flows')
    page = daemon.metrics()
    assert page.one('maglev_vip_packets_total', vip=VIP, kind='first') == 30
    assert page.one('maglev_vip_packets_total', vip=VIP, kind='next') == 20
    assert page.one('maglev_vip_bytes_total', vip=OTHER) == 5000
    assert page.one('maglev_dataplane_packets_total', fate='no-vip') == 3
    assert page.sum('maglev_server_packets_total') == 55
    assert page.sum('maglev_server_bytes_total') == 50 * 124 + 5 * 1024
    assert page.one('maglev_vip_buckets', vip=VIP) == page.sum('maglev_backend_buckets', vip=VIP) == 16384
    assert page.sum('maglev_backend_flows', vip=VIP) == 30
    told = {one.address: one for one in standin.vip(VIP).servers}
    for row in daemon.api.call('GetVPPLBState').vips[0].application_servers:
        assert (row.buckets, row.flows) == (told[row.address].buckets, told[row.address].flows), row


def test_counters_survive_the_comings_and_goings_of_vips(standin, start_on):
    """facts 9: columns are the pool's, and go to the next VIP; a VIP never shows another one's numbers"""
    daemon = settled(start_on(standin, file({'www': www(), 'more': PLAIN['more']}), brisk=True))
    standin.packets(VIP, 30)
    daemon.write(file({'more': PLAIN['more'], 'new': frontend('198.51.100.5', pool('p', 'a'))}))
    daemon.signal(signal.SIGHUP)
    standin.wait_weights('198.51.100.5', {A: 100})
    standin.ask('advance 121')
    standin.packets('198.51.100.5', 7)
    standin.packets(OTHER, 9, port=443)

    def counted():
        return {vip.address: vip.first_packets for vip in daemon.api.call('GetVPPLBCounters').vips}

    until(lambda: counted() == {'198.51.100.5': 7, OTHER: 9}, what='two VIPs with their own numbers')
