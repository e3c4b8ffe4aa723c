# SPDX-License-Identifier: Apache-2.0
"""VIPs on a plain network without a router: two speakers elect an owner, and the neighbours follow it.

No FRR is there. The client's kernel shows where the VIPs are.
"""
import os
import re
import signal
import socket
import struct
import subprocess
import time

import pytest
from lab import PATIENCE, SLACK, program, until
from lab.heartbeats import OWNER, Beat, Listener
from lab.member import Member
from lab.segment import VIP4, VIP6, Segment

NOBODY = 65534
HEARTBEAT = 0.2
SILENCE = 3 * HEARTBEAT  # the shortest that means death
TIMESTAMPNS = 35  # SO_TIMESTAMPNS: when the kernel got a frame, and not when we read it


@pytest.fixture
def segment():
    it = Segment()
    yield it
    it.close()


@pytest.fixture
def join(segment, running, folders):
    """Starts a member on a machine; its name is a or b unless given."""

    def join(machine, priority, name=None, family=4, group=None, ready=True, **how):
        group = {'priority': priority, 'preempt': False, 'family': f'ipv{family}', **(group or {})}
        return running(Member(folders(), name or 'ab'[machine], group=group, namespace=segment.machines[machine],
                              **how)).start(ready)

    return join


class Pair:
    """a, which owns the VIPs, and b; the client knows it."""

    def __init__(self, segment, join, family=4, priorities=(200, 100), **how):
        self.segment, (self.at_a, self.at_b) = segment, segment.machines
        self.a = join(0, priorities[0], family=family, **how)
        self.a.owns()
        self.b = join(1, priorities[1], family=family, **how)
        for vip in (VIP4, VIP6):
            segment.ask(vip)
            assert segment.at(vip) == self.at_a.mac
        # its listening is over once it speaks with its priority
        with Listener(segment.client, family) as heard:
            heard.wait(lambda beat: beat.name == 'b' and beat.vips[VIP4][1] == priorities[1])

    def moves_to(self, host, since):
        """Waits until the client has both VIPs there; returns how long that took."""
        return max(self.segment.neighbours.wait(vip, host, since) for vip in (VIP4, VIP6)) - since


PREEMPT = {'preempt': True}


def is_owner(name):
    return lambda beat: beat.name == name and beat.vips[VIP4][0] & OWNER


# ---- the hand-over ----

@pytest.mark.parametrize('family', [4, 6])
def test_a_killed_owner_is_replaced_within_a_second(segment, join, family):
    pair = Pair(segment, join, family=family, measured=True)
    since = time.time()
    pair.a.kill()
    took = pair.moves_to(pair.at_b, since)
    print(f'the client followed {took * 1000:.0f} ms after the kill')
    assert SILENCE - HEARTBEAT < took < 1.0
    for vip in (VIP4, VIP6):
        segment.ask(vip)
        assert segment.at(vip) == pair.at_b.mac


@pytest.mark.parametrize('family', [4, 6])
def test_one_that_leaves_is_replaced_at_once(segment, join, family):
    pair = Pair(segment, join, family=family, measured=True)
    since = time.time()
    pair.a.signal(signal.SIGTERM)
    took = pair.moves_to(pair.at_b, since)
    print(f'the client followed {took * 1000:.0f} ms after the signal')
    assert took < 0.1
    assert pair.a.end() == 0
    pair.a.yields(to='leaving', reason='left')


def test_without_pre_emption_the_better_one_waits(segment, join):
    pair = Pair(segment, join)
    pair.a.stop()
    pair.b.owns()
    again = join(0, 200)
    with Listener(segment.client) as heard:
        heard.wait(lambda beat: beat.name == 'a' and beat.vips[VIP4] == (0, 200), count=5)
    assert not again.transitions()
    assert not pair.b.all('l2-transition', to='backup')
    assert segment.at(VIP4) == pair.at_b.mac


def test_with_pre_emption_the_better_one_takes_the_vips_back(segment, join):
    """As is the default."""
    pair = Pair(segment, join, group=PREEMPT)
    pair.a.stop()
    pair.b.owns()
    since = time.time()
    again = join(0, 200, group=PREEMPT)
    again.owns(reason='pre-empts')
    pair.b.yields()
    pair.moves_to(pair.at_a, since)
    again.wait('l2-announced-again', vip='v4')  # announced once more when the other has yielded


def test_of_equal_members_one_owns_the_vips(segment, join):
    members = join(0, 100, group=PREEMPT), join(1, 100, group=PREEMPT)
    until(lambda: any(one.all('l2-transition', to='owner') for one in members), what='an owner')
    with Listener(segment.client) as heard:
        heard.wait(lambda beat: beat.vips[VIP4][1] == 100, count=10)
    states = [[labels['state'] for labels, _ in one.metrics().of('maglev_speaker_l2_state', vip='v4')] for one in members]
    assert sorted(states) == [['backup'], ['owner']]


# ---- a network that breaks ----

def test_a_partition_heals_with_the_higher_owner(segment, join):
    pair = Pair(segment, join, measured=True)
    mark = pair.a.mark()
    since = pair.at_a.isolate()
    assert pair.moves_to(pair.at_b, since) < 1.0
    assert not pair.a.transitions(mark)  # nobody told it: two owners, each alone
    since = pair.at_a.isolate(False)
    pair.moves_to(pair.at_a, since)
    pair.b.yields(reason='outranked')
    pair.a.wait('l2-announced-again', mark, vip='v4')
    with Listener(segment.client) as heard:
        heard.wait(lambda beat: beat.name == 'b' and not beat.vips[VIP4][0] & OWNER, count=3)
    assert segment.at(VIP4) == segment.at(VIP6) == pair.at_a.mac


def test_a_machine_without_a_cable_does_not_stand(segment, join):
    pair = Pair(segment, join)
    since = pair.at_a.unplug()
    pair.moves_to(pair.at_b, since)
    pair.a.yields(reason='unfit')
    assert pair.a.wait('l2-problem')['reason'] == 'eth0 is down or has no carrier'
    pair.a.wait_metric('maglev_speaker_l2_usable', 0, group='lan')
    pair.at_a.plug()
    with Listener(segment.client) as heard:
        heard.wait(lambda beat: beat.name == 'a' and beat.vips[VIP4] == (0, 200), count=3)
    pair.a.wait_metric('maglev_speaker_l2_usable', 1, group='lan')
    assert not pair.b.all('l2-transition', to='backup')
    assert segment.at(VIP4) == pair.at_b.mac


def test_an_interface_that_is_created_again_is_used_again(segment, join):
    pair = Pair(segment, join)
    since = time.time()
    mark = pair.a.mark()
    pair.at_a.ip('link del eth0')
    pair.moves_to(pair.at_b, since)
    pair.a.yields(mark, reason='unfit')
    assert pair.a.wait('l2-problem', mark)['reason'] == 'there is no interface eth0'
    shown = pair.a.wait_shown('not announced: there is no interface eth0')
    assert (shown['l2']['problem'], shown['l2']['state']) == ('there is no interface eth0', '')
    pair.at_a.connect()
    pair.a.wait('l2-usable', mark)
    with Listener(segment.client) as heard:  # it has listened first, and does not pre-empt
        heard.wait(lambda beat: beat.name == 'a' and beat.vips[VIP4] == (0, 200), count=3)
    assert not pair.b.all('l2-transition', to='backup')
    since = time.time()
    pair.b.stop()
    pair.moves_to(pair.at_a, since)


def test_an_interface_may_come_after_the_start(segment, join):
    machine = segment.machines[0]
    machine.ip('link del eth0')
    a = join(0, 100)
    a.wait('l2-problem', reason='there is no interface eth0')
    assert a.get('/readyz') == (200, 'ok\n')
    machine.connect()
    a.owns()
    assert a.wait('l2-usable').at < a.owns() - SILENCE  # it has listened
    segment.ask(VIP4)
    assert segment.at(VIP4) == machine.mac


def test_a_member_that_was_late_does_not_take_the_owner_for_dead(segment, join):
    pair = Pair(segment, join)
    pair.b.signal(signal.SIGSTOP)
    with Listener(segment.client) as heard:
        heard.wait(is_owner('a'), count=8)  # twice the time that means death
        pair.b.signal(signal.SIGCONT)
        heard.wait(lambda beat: beat.name == 'b')
        heard.wait(is_owner('a'), count=3)
    assert not pair.b.transitions()


# ---- heartbeats that are not what they seem ----

@pytest.mark.parametrize('family', [4, 6])
def test_a_stranger_is_heard_only_with_the_key_and_from_the_link(segment, join, family):
    a = join(0, 100, family=family)
    a.owns()
    mark = a.mark()
    stranger = Beat('stranger', {VIP4: (OWNER, 255), VIP6: (OWNER, 255)})
    with Listener(segment.client, family) as out:
        out.send(stranger.write('another key'))
        a.wait('l2-refused', mark, reason='signature')
        out.send(stranger.write(), ttl=254)
        a.wait('l2-refused', mark, reason='ttl')
        out.send(Beat('a', stranger.vips).write())
        a.wait('l2-refused', mark, reason='name', member='a')
        out.send(b'MGL2\x02' + stranger.write()[5:])
        a.wait('l2-refused', mark, reason='version')
        out.send(b'hello')
        a.wait('l2-refused', mark, reason='format')
        out.send(Beat('stranger', stranger.vips, group=2).write())
        until(lambda: a.refused('group') == 1, what='a heartbeat of another group')
        assert not a.all('l2-refused', mark, reason='group')  # which is nothing unusual
        assert not a.transitions(mark)
        out.send(stranger.write())  # as it should be
        a.yields(mark)
        assert a.wait('l2-transition', mark, vip='v4', to='backup')['owner'] == 'stranger'
        a.owns(a.mark() - 1)  # it was heard only once


def test_a_replayed_heartbeat_is_ignored(segment, join):
    pair = Pair(segment, join)
    with Listener(segment.client) as line:
        recorded = line.wait(is_owner('a'))
        pair.a.kill()
        pair.b.owns()
        mark = pair.b.mark()
        for _ in range(5):
            line.send(recorded)
        pair.b.wait('l2-refused', mark, reason='replay', member='a')
        until(lambda: pair.b.refused('replay') == 5, what='five refusals')
        line.wait(is_owner('b'), count=5)
    assert not pair.b.transitions(mark)
    # a real one with a new boot is heard
    join(0, 200, group=PREEMPT).owns()
    pair.b.yields(mark)


def test_members_with_another_key_do_not_trust_each_other_and_say_so(segment, join):
    """Each owns the VIPs, as without the other; one line a minute tells, and the counter the rest."""
    members = join(0, 200), join(1, 100, key='another key than that')
    for one in members:
        one.owns()
        until(lambda one=one: one.refused('signature') >= 10, what='refusals')
        lines = one.all('l2-refused')
        assert [(line['reason'], line['level'], line['count']) for line in lines] == [('signature', 'WARN', 1)]
        assert one.metrics().one('maglev_speaker_l2_members', vip='v4', group='lan') == 0


def test_two_members_with_one_name_are_reported(segment, join):
    members = join(0, 200, name='x'), join(1, 100, name='x')
    for one in members:
        one.wait('l2-refused', reason='name', member='x')


# ---- ARP and NDP ----

def test_only_the_owner_answers(segment, join):
    pair = Pair(segment, join)
    for _ in range(5):
        segment.client.run('ip', 'neigh', 'flush', 'all')
        for vip in (VIP4, VIP6):
            segment.ask(vip)
            assert segment.at(vip) == pair.at_a.mac
    for vip in (VIP4, VIP6):
        metrics = pair.a.metrics()
        assert metrics.one('metallb_layer2_requests_received', ip=vip) >= 5
        assert metrics.one('metallb_layer2_responses_sent', ip=vip) >= 5
        assert metrics.one('metallb_layer2_gratuitous_sent', ip=vip) >= 1
        assert pair.b.metrics().one('metallb_layer2_responses_sent', ip=vip) == 0


def test_a_claim_is_announced_for_five_seconds(segment, join):
    with segment.client.inside(socket.socket, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
        wire.bind(('eth0', 0))
        wire.settimeout(PATIENCE)
        wire.setsockopt(socket.SOL_SOCKET, TIMESTAMPNS, 1)
        join(0, 200)
        requests, replies, adverts = [], [], []
        while len(adverts) < 5 or len(replies) < 5:
            frame, ((_, _, stamp),), *_ = wire.recvmsg(2048, 64)
            at = sum(part * unit for part, unit in zip(struct.unpack('=qq', stamp), (1, 1e-9)))
            if frame[12:14] == b'\x08\x06' and frame[38:42] == socket.inet_aton(VIP4) == frame[28:32]:
                assert frame[:6] == b'\xff' * 6 and frame[6:12] == frame[22:28]
                (requests if frame[21] == 1 else replies).append(at)
            elif frame[12:14] == b'\x86\xdd' and frame[54] == 136 and \
                    frame[62:78] == socket.inet_pton(socket.AF_INET6, VIP6):
                assert frame[58] == 0x20 and frame[21] == 255  # override, not solicited; hop limit
                assert frame[78:80] == b'\x02\x01' and frame[80:86] == frame[6:12]
                adverts.append(at)
    assert len(requests) == len(replies) == 5
    for seen in (requests, replies, adverts):
        for one, next_one in zip(seen, seen[1:]):
            assert 1.0 < next_one - one < 1.2 + SLACK


def test_vips_that_cannot_be_announced_are_left_to_another(segment, join):
    """The kernel limits the memory for multicast groups of a socket, and each of these VIPs has its own group."""
    with open('/proc/sys/net/core/optmem_max', encoding='ascii') as file:
        n = int(file.read()) // 56 + 100
    assert n <= 4096, 'net.core.optmem_max is too large for this story'
    vips = {f'v{i}': f'fd78::1:{i:x}' for i in range(1, n + 1)}
    a, b = join(0, 200, vips=vips), join(1, 100, vips=vips)
    failed = a.wait('l2-claim-failed')

    def owned(member):
        return {labels['vip'] for labels, _ in member.metrics().of('maglev_speaker_l2_state', state='owner')}

    until(lambda: len(owned(a)) + len(owned(b)) == n and owned(b), timeout=3 * PATIENCE, what='an owner of every VIP')
    assert not owned(a) & owned(b) and failed['vip'] in owned(b)
    assert len(a.all('l2-claim-failed')) == len(owned(b))
    assert a.wait_shown(f'not announced: {failed["error"]}', failed['vip'])['l2']['state'] == ''


# ---- rights ----

def test_an_ordinary_user_with_one_capability_is_enough(segment, running, folders):
    """As under systemd; it is in force only while sockets are opened."""
    a = Member(folders(), 'a', namespace=segment.machines[0],
               prefix=('setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups', '--inh-caps=+net_raw',
                       '--ambient-caps=+net_raw'))
    for path in (a.folder, a.path, a.key_path):
        os.chown(path, NOBODY, NOBODY)
    running(a).start().owns()
    held = dict(re.findall(r'^(Cap\w+):\s+(\w+)$', a.proc('status'), re.M))
    assert (int(held['CapPrm'], 16), int(held['CapEff'], 16)) == (1 << 13, 0)  # CAP_NET_RAW
    segment.ask(VIP6)
    mark = a.mark()
    segment.machines[0].ip('link del eth0')
    segment.machines[0].connect()
    a.owns(mark)


def test_without_it_the_reason_is_clear(segment, join):
    a = join(0, 100, prefix=('setpriv', '--bounding-set', '-all'))
    assert 'need the capability CAP_NET_RAW' in a.wait('l2-problem')['reason']
    a.wait_metric('maglev_speaker_l2_usable', 0, group='lan')
    assert not a.transitions()


# ---- what it shows ----

def test_the_api_shows_the_election(segment, join):
    before = time.time()
    pair = Pair(segment, join)
    assert pair.b.call('GetSpeaker')['name'] == 'b'
    shown = pair.b.wait_shown('standby, a owns it')
    assert not shown['attracts'] and shown.get('bgp') is None
    l2, (member,) = shown['l2'], shown['l2']['members']
    assert (l2['group'], l2['interface'], l2['state'], l2['reason']) == ('lan', 'eth0', 'backup', 'owned')
    assert (l2['owner'], l2['priority'], l2['problem']) == ('a', 100, '')
    assert (member['name'], member['priority'], member['owner']) == ('a', 200, True)
    assert before < int(member['seen']) / 1e9 < time.time()
    assert pair.a.wait_shown('announced on eth0')['attracts']
    pair.a.stop()
    assert pair.b.wait_shown('announced on eth0')['l2']['members'][0]['priority'] == 0


def test_a_watcher_hears_of_elections_and_of_nothing_else(segment, join):
    """Heartbeats alone are no news."""
    a = join(0, 200)
    a.owns()
    a.shown()
    events = iter(a.api.start('WatchSpeaker'))
    for _ in range(3):  # the speaker and two VIPs
        assert next(events).replay
    b = join(1, 100)
    news = until_event(events, lambda one: one.l2.members and one.l2.members[0].priority == 100)
    shown = news.announcement.l2
    assert (shown.state, shown.members[0].name) == ('owner', 'b')
    with Listener(segment.client) as heard:
        heard.wait(lambda beat: beat.name == 'b', count=10)
    b.kill()
    gone = until_event(events, lambda one: not one.l2.members)
    assert gone.announcement.l2.state == 'owner' and gone.announcement.attracts
    assert gone.seq - news.seq <= 2  # the other VIP, that b stands for it


def test_a_watcher_hears_of_a_change_at_once(segment, join):
    """Not only when the sessions are looked at, which happens every second."""
    a = join(0, 200)
    a.owns()
    a.shown()
    events = iter(a.api.start('WatchSpeaker'))
    for _ in range(3):
        next(events)
    late = []
    for _ in range(5):
        for method, owns in (('DrainVIP', False), ('UndrainVIP', True)):
            mark = a.mark()
            a.call(method, vip='v4')
            at = a.wait('l2-transition', mark, vip='v4', to='owner' if owns else 'backup').at
            late.append(until_event(events, lambda one, owns=owns: one.attracts == owns).at / 1e9 - at)
    assert max(late) < 0.5, late


def test_a_watcher_gets_the_vips_of_a_new_file(segment, join):
    """Also if the group has to tell of a VIP that is released while the file is taken."""
    a = join(0, 200)
    a.owns()
    a.shown()
    events = iter(a.api.start('WatchSpeaker'))
    for generation, vips in enumerate(({'v4': VIP4, 'v6': VIP6}, {'v6': VIP6}, {'v4': VIP4, 'v6': VIP6, 'more': '10.78.0.101'}), 1):
        if generation > 1:
            a.reload(vips=vips)
        speaker = next(event for event in events if event.HasField('speaker') and event.speaker.generation == generation)
        assert speaker.replay
        replayed = [next(events) for _ in vips]
        assert all(one.replay for one in replayed)
        assert [one.announcement.vip for one in replayed] == sorted(vips)


def until_event(events, wanted):
    """The first event with an announcement that is wanted."""
    for event in events:
        assert event.HasField('announcement'), event
        if wanted(event.announcement):
            return event
    raise AssertionError('the stream has ended')


# ---- the file ----

def test_the_example_passes_the_check(folders):
    path, folder = os.path.join(os.path.dirname(__file__), '../../deploy/examples/speaker-l2.yaml'), folders()
    key, copy = os.path.join(folder, 'l2.key'), os.path.join(folder, 'speaker.yaml')
    with open(key, 'w', encoding='ascii', opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write('a key of sixteen bytes or more')
    with open(path, encoding='utf-8') as example, open(copy, 'w', encoding='utf-8') as file:
        file.write(example.read().replace('/etc/maglev/l2.key', key))
    done = subprocess.run([program('maglev-speaker'), '--check', '--config', copy], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f'{copy}: ok\n', '')


def test_no_frr_is_needed(segment, join):
    a = join(0, 100)
    a.owns()
    assert a.get('/readyz') == (200, 'ok\n') and a.get('/healthz')[0] == 200
    assert not os.path.exists(a.frr_conf)
    assert not a.all('bgpd-unreachable') and not a.all('frr-refused')


def test_vips_of_the_group_do_not_wait_for_bgpd(segment, join):
    bgp = {'router': {'asn': 64512}, 'peers': {'tor': {'address': '10.78.0.9', 'asn': 64513}},
           'advertisements': {'default': {}}}
    a = join(0, 100, more=bgp, vip={'advertisement': 'default'})
    a.owns()
    assert a.get('/readyz')[0] == 503
    a.reload(more={}, vip={})
    assert a.get('/readyz')[0] == 503  # what FRR has of it must still be removed


def test_a_new_priority_takes_effect_at_a_reload(segment, join):
    pair = Pair(segment, join, group=PREEMPT)
    mark, since = pair.b.mark(), time.time()
    pair.b.reload(group={**pair.b.group, 'priority': 250})
    pair.b.owns(mark, reason='pre-empts')
    pair.a.yields(reason='outranked')
    pair.moves_to(pair.at_b, since)
    # a lower one that is still the highest, and other keys: the owner stays
    mark = pair.b.mark()
    pair.b.reload(group={**pair.b.group, 'priority': 210, 'preempt': False, 'losses': 5, 'heartbeat': '100ms'})
    with Listener(segment.client) as heard:
        heard.wait(lambda beat: beat.name == 'b' and beat.vips[VIP4] == (OWNER, 210), count=10)
    assert not pair.b.transitions(mark) and not pair.a.all('l2-transition', to='owner')[2:]


def test_two_members_share_the_vips(segment, join):
    """Each is the better one for one of them, and owns both if the other ends."""
    pair = Pair(segment, join, group=PREEMPT)
    since = time.time()
    pair.b.reload(of_vip={'v6': {'l2-priority': 250}})
    assert segment.neighbours.wait(VIP6, pair.at_b, since)
    pair.a.wait('l2-transition', vip='v6', to='backup')
    segment.ask(VIP4)
    assert segment.at(VIP4) == pair.at_a.mac
    since = time.time()
    pair.a.stop()
    assert segment.neighbours.wait(VIP4, pair.at_b, since)
    assert segment.at(VIP6) == pair.at_b.mac


def test_a_vip_that_is_removed_is_released(segment, join):
    pair = Pair(segment, join)
    mark = pair.a.mark()
    pair.a.reload(vips={'v6': VIP6})
    pair.b.wait('l2-transition', vip='v4', to='owner')
    assert pair.a.wait('l2-transition', mark, vip='v4', to='leaving')['reason'] == 'left'
    assert segment.neighbours.wait(VIP4, pair.at_b)
    assert not pair.a.all('l2-transition', mark, vip='v6')
    mark = pair.a.mark()
    pair.a.reload(vips={'v6': VIP6, 'v4': VIP4})  # it does not pre-empt
    with Listener(segment.client) as heard:
        heard.wait(lambda beat: beat.name == 'a' and beat.vips.get(VIP4) == (0, 200), count=3)
    assert not pair.a.transitions(mark) and segment.at(VIP6) == pair.at_a.mac


def test_another_key_is_used_after_a_reload(segment, join):
    pair = Pair(segment, join)
    mark = pair.a.mark()
    pair.a.write_key('another key than that')
    pair.a.reload()
    pair.a.yields(mark, to='leaving')
    pair.b.owns()
    pair.b.wait('l2-refused', reason='signature')
    pair.b.write_key('another key than that')
    pair.b.reload()
    with Listener(segment.client) as heard:
        heard.wait(lambda beat: beat.name == 'b' and beat.vips[VIP4][1] == 100, count=3)
    assert pair.a.all('l2-transition', vip='v4')[-1]['to'] == 'owner'
    until(lambda: pair.a.metrics().one('maglev_speaker_l2_members', vip='v4', group='lan') == 1, what='b as a member')


def test_a_file_with_mistakes_changes_nothing(segment, join):
    pair = Pair(segment, join)
    mark = pair.a.mark()
    pair.a.write_key('short')
    pair.a.signal(signal.SIGHUP)
    assert 'must hold at least 16 bytes, not 5' in pair.a.wait('config-error', mark, key='speaker.l2.lan.key-file')['error']
    pair.a.wait('config-reload-failed', mark)
    with Listener(segment.client) as heard:
        heard.wait(is_owner('a'), count=3)
    assert not pair.a.transitions(mark)
