# SPDX-License-Identifier: Apache-2.0
"""Statistics of a VPP that does not keep still, lies, or hands out something else."""
import pytest

from lab import SPARE, VIP, config, frontend, pool, until

BASE, SIZE = 0x7f7b3340b000, 32 << 20  # of the stand-in's segment


def counters_at(daemon):
    return daemon.api.call('GetVPPLBCounters').at


def first_packets(daemon):
    """Of the VIP; None while it is not counted."""
    return next((vip.first_packets for vip in daemon.api.call('GetVPPLBCounters').vips if vip.address == VIP), None)


@pytest.mark.parametrize('mode', ['hang', 'close', 'empty', 'short', 'pipe'])
def test_a_stats_socket_that_hands_out_nonsense(mode, vpps, start_on):
    """Both sockets or none; it says what is wrong, and heals"""
    vpp = vpps()
    vpp.ask(f'stats {mode}')
    daemon = start_on(vpp, config(backends={'b': SPARE}, frontends={'www': frontend(VIP, pool('p', 'b'))}, dataplane='vpp'),
                      brisk=True)
    assert daemon.wait('vpp-connect-failed')['error']
    assert not vpp.vips() and daemon.metrics().one('maglev_dataplane_connected') == 0
    vpp.ask('stats good')
    vpp.wait_weights(VIP, {SPARE: 100})


@pytest.mark.parametrize('what', ['busy', 'spin'])
def test_a_segment_that_is_never_at_rest(what, on_vpp):
    """NFR-3.3: it is not waited for; the last counters stay, with their age, and writing goes on"""
    daemon = on_vpp.start()
    until(lambda: counters_at(daemon), what='the first counters')
    on_vpp.vpp.ask(f'{what} 1')
    at = until(lambda: counters_at(daemon), what='counters')
    on_vpp.fail()
    on_vpp.expect(0, 100)
    on_vpp.vpp.packets(VIP, 10)
    daemon.wait_metric('maglev_vpp_connected', 1)
    on_vpp.vpp.ask(f'{what} 0')
    until(lambda: counters_at(daemon) > at, what='newer counters')
    until(lambda: first_packets(daemon) == 10, what='ten flows')
    assert not daemon.all('dataplane-disconnect')


def test_a_segment_that_moves_without_a_word(on_vpp):
    """facts 8: no pointer is kept between two readings"""
    daemon = on_vpp.start()
    until(lambda: counters_at(daemon), what='the first counters')
    on_vpp.vpp.ask('move')
    on_vpp.vpp.packets(VIP, 10)
    until(lambda: first_packets(daemon) == 10, what='ten flows')
    assert not daemon.all('vpp-stats-failed')


def read_again(daemon, at):
    """There was another attempt: newer counters, or a complaint."""
    until(lambda: daemon.all('vpp-stats-failed') or counters_at(daemon) > at, what='another reading')


@pytest.mark.parametrize('at, value', [(0, 3), (8, 0), (32, 1 << 62), (32, BASE + SIZE - 1), (32, BASE - 8)],
                         ids=['version', 'base', 'directory-far', 'directory-at-the-end', 'directory-before'])
def test_a_hostile_header(at, value, on_vpp):
    """Never a crash, never a loop; VPP is driven all the same, and the next one is read again"""
    daemon = on_vpp.start()
    seen = until(lambda: counters_at(daemon), what='the first counters')
    on_vpp.vpp.poke(at, value)
    read_again(daemon, seen)
    on_vpp.fail()
    on_vpp.expect(0, 100)
    assert not daemon.all('dataplane-disconnect')
    on_vpp.vpp.restart()
    on_vpp.expect(0, 100)
    on_vpp.vpp.packets(VIP, 10)
    until(lambda: first_packets(daemon) == 10, what='ten flows')


@pytest.mark.parametrize('entry, value', [('first session packet', 1 << 63), ('first session packet', BASE + SIZE - 4),
                                          ('/net/route/to', 8), ('/sys/boottime', (1 << 64) - 1)])
def test_a_hostile_entry(entry, value, on_vpp):
    daemon = on_vpp.start()
    on_vpp.vpp.packets(VIP, 10)
    until(lambda: first_packets(daemon) == 10, what='ten flows')
    seen = counters_at(daemon)
    on_vpp.vpp.poke(int(on_vpp.vpp.ask(f'where {entry}')) + 8, value)
    read_again(daemon, seen)
    on_vpp.fail()
    on_vpp.expect(0, 100)
    on_vpp.vpp.packets(VIP, 10, first=1000)
    on_vpp.vpp.ask('freeze 0')
    until(lambda: first_packets(daemon) == 20, what='twenty flows')
    assert not daemon.all('dataplane-disconnect')
