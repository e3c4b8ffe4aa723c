# SPDX-License-Identifier: Apache-2.0
"""A VPP that stops answering, loses replies, ends in the middle of them, and scribbles over its statistics."""
import pytest

from lab import SLACK, VIP, Check, config, frontend, pool, until

B = '10.99.0.12'
RETRY = 5.0  # of the driver, as is its patience for an answer
KEEPALIVE = 10.0
WARM_UP = {'startup-min-delay': '1s', 'startup-max-delay': '2s', 'sync-interval': '1h'}


@pytest.fixture
def story(standin, start_on, net, servers):
    """One probed backend in the first pool, a static one behind it."""
    class Story:
        vpp, server, check = standin, servers.open('a'), None

        def start(self, lb=None):
            self.check = Check(port=self.server.port)
            self.daemon = start_on(standin, config(
                {'check': self.check}, {'a': (self.server.address, 'check'), 'b': B},
                {'www': frontend(VIP, pool('first', 'a'), pool('second', 'b'))},
                netns=net.probes.name, dataplane='vpp', lb=lb or {'sync-interval': '1h'}))
            self.daemon.wait_settled('a', self.check)
            self.expect_up()
            self.daemon.wait('lb-sync-all')
            return self.daemon

        def expect_up(self):
            standin.wait_weights(VIP, {self.server.address: 100, B: 0})

        def expect_down(self):
            standin.wait_weights(VIP, {self.server.address: 0, B: 100})

        def fail_over(self, since=0):
            """The server dies, and maglevd sees it."""
            self.server.refuse()
            self.daemon.wait_state('a', 'down', since)

    return Story()


def test_a_vpp_that_stops_answering(story):
    """NFR-2.4, NFR-1.3: found out, said, and made good when it answers again; probes and the API go on meanwhile"""
    daemon = story.start(WARM_UP)
    story.vpp.ask('hang 1')
    story.fail_over()
    lost = daemon.wait('dataplane-disconnect')
    assert lost['level'] == 'WARN' and lost['error'], lost
    assert daemon.metrics().one('maglev_dataplane_connected') == 0
    assert daemon.get('/healthz')[0] == 200
    state = daemon.api.call('GetVPPLBState')
    assert not state.connected and state.problem and state.warmup == 'done'
    story.vpp.ask('hang 0')
    story.expect_down()
    up = daemon.wait('dataplane-connect', count=2)
    assert daemon.wait('lb-sync-all', daemon.lines.index(up)).at - up.at < 1
    daemon.wait_metric('maglev_vpp_connected', 1)


def test_a_vpp_that_stops_answering_when_nothing_is_asked(story):
    """The sign of life is missed"""
    daemon = story.start()
    story.vpp.ask('hang 1')
    daemon.wait('dataplane-disconnect', timeout=KEEPALIVE + RETRY + SLACK)
    story.vpp.ask('hang 0')
    daemon.wait('dataplane-connect', count=2)


@pytest.mark.parametrize('message', ['lb_as_set_weight', 'control_ping'])
@pytest.mark.parametrize('how', ['drop', 'cut', 'garbage'])
def test_one_bad_reply(how, message, story):
    """Done or not, that is not known: the connection ends, and the next one finds out"""
    daemon = story.start()
    story.vpp.ask(f'{how} {message} 1')
    if message == 'lb_as_set_weight':
        story.fail_over()
    else:
        daemon.api.start('SyncVPPLBState')
    daemon.wait('dataplane-disconnect')
    daemon.wait('dataplane-connect', count=2)
    if message == 'lb_as_set_weight':
        story.expect_down()
        assert story.vpp.vip(VIP).used
    daemon.wait('lb-sync-all', count=2)
    mark = daemon.mark()
    assert not daemon.api.call('SyncVPPLBState').operations and not daemon.all('lb-sync-op', mark)


def test_a_reply_that_is_cut_during_the_connect(story):
    daemon = story.start()
    story.vpp.ask('cut sockclnt_create 1')
    story.vpp.restart()
    daemon.wait('vpp-connect-failed')
    story.expect_up()
    assert daemon.metrics().one('maglev_vpp_connected') == 1


def test_a_write_that_is_refused(story):
    """Counted, tried again, and done in the end"""
    daemon = story.start()
    story.vpp.ask('fail lb_as_set_weight -1 2')
    story.fail_over()
    assert daemon.wait('vpp-refused')['retval'] == -1
    daemon.wait('lb-sync-failed')
    story.expect_down()
    page = daemon.metrics()
    assert page.sum('maglev_lbsync_failures_total') >= 1
    assert page.sum('maglev_vpp_api_total', direction='recv', result='failure') >= 1
    assert len(daemon.all('dataplane-connect')) == 1


def test_a_slow_vpp_with_small_pieces(story):
    """Not a reason to give up"""
    daemon = story.start()
    story.vpp.ask('delay 0.3')
    story.vpp.ask('split 7')
    story.fail_over()
    story.expect_down()
    mark = daemon.mark()
    story.server.listen()
    daemon.wait_state('a', 'up', mark)
    story.expect_up()
    assert not daemon.all('dataplane-disconnect')


def test_the_clock_of_the_warm_up_is_the_process_s(standin, start_on):
    """NFR-1.3: VPP comes late and goes again; frontends are released when their time since our start has come"""
    never = {'type': 'tcp', 'port': 1, 'interval': '1h', 'fast-interval': '1h', 'timeout': '1h'}
    daemon = start_on(standin, config({'never': never}, {'a': ('192.0.2.77', 'never')}, {
        'www': frontend(VIP, pool('p', 'a'))}, dataplane='vpp', lb={
            'startup-min-delay': '8s', 'startup-max-delay': '8s', 'sync-interval': '1h'}))
    daemon.wait('dataplane-connect')
    standin.restart()
    standin.clear_log()
    daemon.wait('dataplane-connect', count=2)
    assert not standin.writes() and daemon.api.call('GetVPPLBState').warmup == 'hands-off'
    standin.wait_weights(VIP, {'192.0.2.77': 0})
    first = daemon.all('lb-sync-op')[0]
    assert 8 <= first.at - daemon.started <= 8 + 1 + SLACK, first.at - daemon.started


def test_two_restarts_while_the_first_is_made_good(story):
    """Whatever was under way is void"""
    daemon = story.start()
    story.vpp.ask('delay 0.2')
    for n in (1, 2):
        story.vpp.restart()
        daemon.wait('dataplane-connect', count=n + 1)
    story.vpp.ask('delay 0')
    story.expect_up()


# ---- statistics ----

def counters_at(daemon):
    return daemon.api.call('GetVPPLBCounters').at


@pytest.mark.parametrize('mode', ['hang', 'close', 'empty', 'short', 'pipe'])
def test_a_stats_socket_that_hands_out_nonsense(mode, vpps, start_on):
    """Both sockets or none; it says what is wrong, and heals"""
    vpp = vpps()
    vpp.ask(f'stats {mode}')
    daemon = start_on(vpp, config(backends={'b': B}, frontends={'www': frontend(VIP, pool('p', 'b'))}, dataplane='vpp'))
    assert daemon.wait('vpp-connect-failed')['error']
    assert not vpp.vips() and daemon.metrics().one('maglev_dataplane_connected') == 0
    vpp.ask('stats good')
    vpp.wait_weights(VIP, {B: 100})


@pytest.mark.parametrize('what', ['busy', 'spin'])
def test_a_segment_that_is_never_at_rest(what, story):
    """NFR-3.3: it is not waited for; the last counters stay, with their age, and writing goes on"""
    daemon = story.start()
    until(lambda: counters_at(daemon), what='the first counters')
    story.vpp.ask(f'{what} 1')
    at = until(lambda: counters_at(daemon), what='counters')
    story.fail_over()
    story.expect_down()
    story.vpp.packets(VIP, 10)
    daemon.wait_metric('maglev_vpp_connected', 1)
    story.vpp.ask(f'{what} 0')
    until(lambda: counters_at(daemon) > at, what='newer counters')
    until(lambda: daemon.api.call('GetVPPLBCounters').vips[0].first_packets == 10, what='ten flows')
    assert not daemon.all('dataplane-disconnect')


def test_a_segment_that_moves_without_a_word(story):
    """facts 8: no pointer is kept between two readings"""
    daemon = story.start()
    until(lambda: counters_at(daemon), what='the first counters')
    story.vpp.ask('move')
    story.vpp.packets(VIP, 10)
    until(lambda: daemon.api.call('GetVPPLBCounters').vips[0].first_packets == 10, what='ten flows')
    assert not daemon.all('vpp-stats-failed')


HOSTILE = {'version': (0, 3, 8), 'base': (8, 0, 8), 'no-directory': (32, 0, 8), 'directory-outside': (32, 1 << 62, 8),
           'directory-at-the-end': (32, 0x7f7b3340b000 + (32 << 20) - 1, 8), 'epoch': (16, (1 << 64) - 1, 8),
           'directory-before': (32, 0x7f7b3340b000 - 8, 8)}


@pytest.mark.parametrize('where', HOSTILE)
def test_a_hostile_header(where, story):
    """Never a crash, never a loop; the truth is read again when it is back"""
    daemon = story.start()
    until(lambda: counters_at(daemon), what='the first counters')
    header = {name: (HOSTILE[name][0], size) for name, (_, _, size) in HOSTILE.items()}
    assert header
    story.vpp.packets(VIP, 10)
    story.vpp.poke(*HOSTILE[where])
    before = counters_at(daemon)
    story.fail_over()
    story.expect_down()
    story.vpp.restart()
    story.expect_down()
    until(lambda: counters_at(daemon) > before, what='newer counters')


@pytest.mark.parametrize('entry', ['first session packet', '/net/route/to', '/sys/boottime'])
@pytest.mark.parametrize('value', [0, 8, 1 << 63, 0x7f7b3340b000 + (32 << 20) - 4], ids=hex)
def test_a_hostile_entry(entry, value, story):
    daemon = story.start()
    until(lambda: counters_at(daemon), what='the first counters')
    story.vpp.poke(int(story.vpp.ask(f'where {entry}')) + 8, value)
    story.fail_over()
    story.expect_down()
    at = counters_at(daemon)
    story.vpp.ask('freeze 0')
    until(lambda: counters_at(daemon) > at, what='newer counters')
    assert not daemon.all('dataplane-disconnect')
