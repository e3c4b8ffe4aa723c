# SPDX-License-Identifier: Apache-2.0
"""Two speakers on a plain network, each with its own maglevd: a VIP leaves the machine that cannot serve it."""
import os
import socket
import time

import pytest
from lab import until
from lab.member import Member
from lab.segment import VIP4, VIP6, Segment
from lab.turns import waited

CHECK = {'type': 'tcp', 'interval': '50ms', 'timeout': '1s', 'rise': 1, 'fall': 1}


class Site:
    """A machine with a server, a maglevd that probes it, and a speaker."""

    def __init__(self, machine, start):
        self.machine, self.server, self.port = machine, None, 0
        self.serve()
        vips = {'v4': VIP4, 'v6': VIP6}
        self.maglevd = start({'maglev': {
            'dataplane': 'none', 'healthchecks': {'tcp': {**CHECK, 'port': self.port}},
            'backends': {'s': {'address': '127.0.0.1', 'healthcheck': 'tcp'}},
            'frontends': {name: {'address': vip, 'protocol': 'tcp', 'port': 80,
                                 'pools': [{'name': 'all', 'backends': {'s': {}}}]} for name, vip in vips.items()}}},
                             namespace=machine)
        self.maglevd.wait('frontend-transition', frontend='v6', to='up')

    def serve(self):
        self.server = self.machine.inside(socket.create_server, ('127.0.0.1', self.port))
        self.port = self.server.getsockname()[1]

    def fail(self):
        """Returns the time."""
        self.server.close()
        return time.time()

    def heard(self):
        return self.member.metrics().one('maglev_speaker_l2_heartbeats_received_total', group='lan')

    def speak(self, running, folder, name, priority, group, **vip):
        maglevds = {'maglevds': {'m': {'address': f'127.0.0.1:{self.maglevd.grpc_port()}'}}}
        self.member = Member(folder, name, group={'priority': priority, **group}, more=maglevds, vip=vip, namespace=self.machine)
        self.member.of_vip = {one: {'frontends': [f'm/{one}']} for one in self.member.vips}
        self.member.write()
        return running(self.member).start()


class Pair:
    """a, which owns the VIPs, and b."""

    def __init__(self, segment, start, running, folders):
        self.segment, self.running, self.folders = segment, running, folders
        self.sites = [Site(machine, start) for machine in segment.machines]

    def speak(self, group=None, **vip):
        a, b = self.sites
        a.speak(self.running, self.folders(), 'a', 200, group or {}, **vip).owns()
        b.speak(self.running, self.folders(), 'b', 100, group or {}, **vip)
        for one in ('v4', 'v6'):
            b.member.wait('vip-transition', vip=one, to='announced')
        for vip_ in (VIP4, VIP6):
            self.segment.ask(vip_)
            assert self.segment.at(vip_) == a.machine.mac
        self.listened()
        return a, b

    def listened(self):
        """b has heard a for long enough to stand."""
        b = self.sites[1].member
        b.wait_metric('maglev_speaker_l2_state', 1, vip='v4', group='lan', state='backup', reason='owned')

    def moves_to(self, site, since):
        """Waits until the client has both VIPs there; returns how long that took."""
        return max(self.segment.neighbours.wait(vip, site.machine, since) for vip in (VIP4, VIP6)) - since

    def waited(self):
        """Seconds for which the programs, or this process, had no processor."""
        return waited(os.getpid(), *(one.pid for site in self.sites for one in (site.maglevd, site.member)))

    def close(self):
        for site in self.sites:
            site.server.close()


@pytest.fixture
def pair(start, running, folders):
    segment = Segment()
    it = Pair(segment, start, running, folders)
    yield it
    it.close()
    segment.close()


def test_a_frontend_that_is_down_gives_its_vip_away(pair):
    a, b = pair.speak()
    late = pair.waited()
    since = a.fail()
    print(f'the client followed {pair.moves_to(b, since) * 1000:.0f} ms after the server failed')
    late = pair.waited() - late
    a.member.yields(reason='unfit')
    assert a.member.shown()['culprit'] == 'm/v4' and not a.member.shown()['attracts']
    a.member.wait_shown('withdrawn, b owns it: m/v4 is down')
    down = a.maglevd.wait('frontend-transition', frontend='v4', to='down')
    assert b.member.wait('l2-transition', vip='v4', to='owner').at - down.at - late < 0.5
    mark, since = b.member.mark(), time.time()
    a.serve()
    pair.moves_to(a, since)
    b.member.yields(mark, reason='outranked')


def test_a_drain_hands_over_at_once_and_an_undrain_takes_back(pair):
    a, b = pair.speak(**{'drain-time': '60s'})
    late, since = pair.waited(), time.time()
    a.member.call('DrainVIP', vip='v4', reason='new kernel')
    took = pair.segment.neighbours.wait(VIP4, b.machine, since) - since
    assert took - (pair.waited() - late) < 0.5
    assert a.member.wait('l2-transition', vip='v4', to='backup')['reason'] == 'unfit'
    assert pair.segment.at(VIP6) == a.machine.mac
    shown = a.member.wait_shown('withdrawn, b owns it: drained, new kernel')
    assert not shown['attracts'] and shown['state'] == 'draining'
    a.member.stop()
    a.member.start()  # drains survive a restart
    a.member.wait_shown('withdrawn, b owns it: drained, new kernel')
    pair.segment.neighbours.wait(VIP6, a.machine, since)
    since = time.time()
    a.member.call('UndrainVIP', vip='v4')
    pair.segment.neighbours.wait(VIP4, a.machine, since)
    assert a.member.wait_shown('announced on eth0')['attracts']


def test_one_that_is_worse_is_the_last_resort(pair):
    """Also if the other one does not pre-empt; and it serves if no other can."""
    a, b = pair.speak({'preempt': False}, **{'when-down': 'worse'})
    since = a.fail()
    pair.moves_to(b, since)
    a.member.yields(reason='outranked')
    mark = a.member.mark()
    b.fail()
    b.member.wait('vip-transition', vip='v4', to='worse')
    b.member.wait('vip-transition', vip='v6', to='worse')
    assert not b.member.all('l2-transition', to='backup')  # of equals the owner stays
    since = time.time()
    b.member.kill()
    pair.moves_to(a, since)
    a.member.owns(mark)
    assert a.member.wait_shown('announced on eth0 as the last resort: m/v4 is down')['attracts']


def test_a_maglevd_that_is_gone_changes_nothing_for_a_time(pair):
    a, b = pair.speak(hold='5s')
    since = time.time()
    a.maglevd.kill()
    a.member.wait('maglevd-lost')
    a.member.wait_metric('maglev_speaker_vip_state', 1, vip='v4', state='announced', reason='maglevd-unreachable')
    assert pair.segment.at(VIP4) == a.machine.mac
    assert pair.moves_to(b, since) > 4.9


def test_a_speaker_that_starts_with_a_failed_server_does_not_stand(pair):
    """With a higher priority than the owner."""
    a, b = pair.speak()
    a.member.stop()
    b.member.owns()
    a.fail()
    a.maglevd.wait('frontend-transition', frontend='v4', to='down')
    mark = b.member.mark()
    a.member.start()
    a.member.wait('maglevd-connected', a.member._began)
    a.member.wait_metric('maglev_speaker_l2_state', 1, vip='v4', group='lan', state='backup', reason='unfit')
    heard = b.heard()
    until(lambda: b.heard() > heard + 5, what='more heartbeats')
    assert not b.member.transitions(mark)
    assert pair.segment.at(VIP4) == b.machine.mac
