# SPDX-License-Identifier: Apache-2.0
"""A VPP that stops answering, loses replies, ends in the middle of them, and comes and goes."""
import pytest

from lab import SLACK, VIP, config, frontend, pool
from lab.api import Status

TIMEOUT, KEEPALIVE = 1.0, 10.0  # of maglevd-brisk, for an answer; between two signs of life


def test_a_vpp_that_stops_answering(on_vpp):
    """NFR-2.4, NFR-1.3: found out, said, and made good when it answers again; probes and the API go on meanwhile"""
    daemon = on_vpp.start(startup_min_delay='1s', startup_max_delay='2s')
    on_vpp.vpp.ask('hang 1')
    on_vpp.fail()
    lost = daemon.wait('dataplane-disconnect')
    assert lost['level'] == 'WARN' and 'did not send' in lost['reason'], lost
    assert daemon.metrics().one('maglev_dataplane_connected') == 0
    assert daemon.get('/healthz')[0] == 200
    state = daemon.api.call('GetVPPLBState')
    assert not state.connected and state.problem and state.warmup == 'done'
    on_vpp.vpp.ask('hang 0')
    on_vpp.expect(0, 100)
    up = daemon.wait('dataplane-connect', count=2)
    assert daemon.wait('lb-sync-all', daemon.lines.index(up)).at - up.at < 1
    daemon.wait_metric('maglev_vpp_connected', 1)


def test_a_vpp_that_stops_answering_when_nothing_changes(on_vpp):
    """Counters and signs of life are asked for all the time"""
    daemon = on_vpp.start()
    on_vpp.vpp.ask('hang 1')
    daemon.wait('dataplane-disconnect', timeout=KEEPALIVE + TIMEOUT + SLACK)
    on_vpp.vpp.ask('hang 0')
    daemon.wait('dataplane-connect', count=2)


@pytest.mark.parametrize('message', ['lb_as_set_weight', 'control_ping'])
@pytest.mark.parametrize('how', ['drop', 'cut', 'garbage'])
def test_one_bad_reply(how, message, on_vpp):
    """Done or not, that is not known: the connection ends, and the next one finds out"""
    daemon = on_vpp.start()
    on_vpp.vpp.ask(f'{how} {message} 1')
    if message == 'lb_as_set_weight':
        on_vpp.fail()
    else:
        call = daemon.api.start('SyncVPPLBState')
    daemon.wait('dataplane-disconnect')
    daemon.wait('dataplane-connect', count=2)
    if message == 'lb_as_set_weight':
        on_vpp.expect(0, 100)
    else:
        assert call.code() in (Status.OK, Status.UNAVAILABLE), 'whoever asked is not left waiting'
    daemon.wait('lb-sync-all', count=2)
    mark = daemon.mark()
    assert not daemon.api.call('SyncVPPLBState').operations and not daemon.all('lb-sync-op', mark)


def test_a_reply_that_is_cut_during_the_connect(on_vpp):
    daemon = on_vpp.start()
    on_vpp.vpp.ask('cut sockclnt_create 1')
    on_vpp.vpp.restart()
    daemon.wait('vpp-connect-failed')
    on_vpp.expect(100, 0)
    assert daemon.metrics().one('maglev_vpp_connected') == 1


def test_a_write_that_is_refused(on_vpp):
    """Counted, tried again, and done in the end"""
    daemon = on_vpp.start()
    on_vpp.vpp.ask('fail lb_as_set_weight -1 2')
    on_vpp.fail()
    assert daemon.wait('vpp-refused')['retval'] == -1
    daemon.wait('lb-sync-failed')
    on_vpp.expect(0, 100)
    page = daemon.metrics()
    assert page.sum('maglev_lbsync_failures_total') >= 1
    assert page.sum('maglev_vpp_api_total', direction='recv', result='failure') >= 1
    assert len(daemon.all('dataplane-connect')) == 1


def test_a_slow_vpp_with_small_pieces(on_vpp):
    """Not a reason to give up"""
    daemon = on_vpp.start()
    on_vpp.vpp.ask('delay 0.3')
    on_vpp.vpp.ask('split 7')
    on_vpp.fail()
    on_vpp.expect(0, 100)
    mark = daemon.mark()
    on_vpp.server.listen()
    daemon.wait_state('web', 'up', mark)
    on_vpp.expect(100, 0)
    assert not daemon.all('dataplane-disconnect')


def test_the_clock_of_the_warm_up_is_the_process_s(standin, start_on):
    """NFR-1.3: VPP comes late and goes again; frontends are released when their time since our start has come"""
    never = {'type': 'tcp', 'port': 1, 'interval': '1h', 'fast-interval': '1h', 'timeout': '1h'}
    daemon = start_on(standin, config({'never': never}, {'a': ('192.0.2.77', 'never')}, {
        'www': frontend(VIP, pool('p', 'a'))}, dataplane='vpp', lb={
            'startup-min-delay': '3s', 'startup-max-delay': '3s', 'sync-interval': '1h'}), brisk=True)
    daemon.wait('dataplane-connect')
    standin.clear_log()
    standin.restart()
    daemon.wait('dataplane-connect', count=2)
    assert not standin.writes() and daemon.api.call('GetVPPLBState').warmup == 'hands-off'
    standin.wait_weights(VIP, {'192.0.2.77': 0})
    first = daemon.all('lb-sync-op')[0]
    assert 3 <= first.at - daemon.started, first.at - daemon.started
    since = first.at - daemon.wait('starting').at  # how long the program takes to begin is up to this machine
    assert since <= 3 + 0.25 + SLACK, since


def test_two_restarts_while_the_first_is_made_good(on_vpp):
    """Whatever was under way is void"""
    daemon = on_vpp.start()
    on_vpp.vpp.ask('delay 0.2')
    for n in (1, 2):
        on_vpp.vpp.restart()
        daemon.wait('dataplane-connect', count=n + 1)
    on_vpp.vpp.ask('delay 0')
    on_vpp.expect(100, 0)
