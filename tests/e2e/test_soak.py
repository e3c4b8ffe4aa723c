# SPDX-License-Identifier: Apache-2.0
"""The soak in short: its lab under load for half a minute, with ten faults of different kinds. `make soak` is the long one;
docs/design/soak.md describes it."""
import contextlib
import dataclasses
import re
import socket
import subprocess

import pytest

from lab.programs import ROOT
from soak.cluster import Cluster
from soak.faults import FAULTS, LOST, allowed
from soak.lines import Lines, slope
from soak.load import Failure
from soak.means import filled, lossy
from soak.plan import EVERY, Event, plan
from soak.run import Done, Soak
from soak.site import Site

HOUR = 3600
# a program dies, one hangs, a link is cut, a disk is full, a server dies, upgrades, a wrong route
SHORT = ('kill', 'link', 'full-disk', 'server-kill', 'edge-upgrade',
         'control-kill', 'control-stop', 'router-kill', 'router-upgrade', 'bad-route')
SEED, SECONDS, PAUSE, RATE = 'short', 36, 3, 0.3


def halves():
    """(those that this machine can run, why the cluster is not among them)"""
    try:
        return [Site(), Cluster()], None
    except pytest.skip.Exception as why:
        return [Site()], why


def test_nothing_fails_that_the_design_does_not_allow(can_forward):
    lab, missing = halves()
    # a fault may follow as soon as the half is whole
    rows = [dataclasses.replace(row, heals=0) for row in FAULTS if row.name in SHORT]
    soak = Soak(lab, SEED, SECONDS, RATE, rows, every=PAUSE, calm=0)
    try:
        for half in lab:
            half.start()
        soak.run()
        soak.judge_lines(memory=False)  # sanitizers keep what is freed
    finally:
        soak.close()
    soak.report()
    assert not soak.problems
    assert {done.event.row.name for done in soak.done} == {row.name for row in rows if row.half in soak.halves}
    assert all(soak.load.count[kind] > 50 for half in lab for kind in half.kinds), soak.load.count
    if missing:
        pytest.skip(f'the site is good; there is no cluster: {missing}')


# ---- the plan ----

def test_a_seed_gives_the_same_faults_again():
    assert list(map(str, plan(7, HOUR, FAULTS))) == list(map(str, plan(7, HOUR, FAULTS)))
    assert list(map(str, plan(7, HOUR, FAULTS))) != list(map(str, plan(8, HOUR, FAULTS)))


def test_a_shorter_run_has_the_first_faults_of_a_longer_one():
    short, long = (list(map(str, plan(7, seconds, FAULTS))) for seconds in (600, HOUR))
    assert long[:len(short)] == short


@pytest.mark.parametrize('seed', range(20))
def test_every_fault_occurs(seed):
    """Of each kind in ten minutes, of each target in an hour"""
    assert {event.row.name for event in plan(seed, 600, FAULTS)} == {row.name for row in FAULTS}
    assert {(event.row.name, event.target) for event in plan(seed, HOUR, FAULTS)} == {
        (row.name, target) for row in FAULTS for target in row.targets}


@pytest.mark.parametrize('seed', range(20))
def test_faults_of_one_half_do_not_overlap(seed):
    """Two at once are more than the design promises to survive: both balancers, or a server that dies while maglevd is dead"""
    events = plan(seed, HOUR, FAULTS)
    for half in ('site', 'cluster'):
        mine = [event for event in events if event.row.half == half]
        assert all(one.at + one.row.lasts + one.row.heals <= later.at for one, later in zip(mine, mine[1:]))
    assert len({event.at for event in events}) == len(events) > HOUR / EVERY * 0.9


# ---- the judgement ----

def row(name):
    return next(one for one in FAULTS if one.name == name)


def failure(kind, began, took=0.5, server=''):
    return Failure(kind, began, began + took, 'refused', server)


def test_a_failure_is_allowed_only_for_its_kind_its_time_and_its_server():
    dead = Event(0, row('server-kill'), 'web1')
    noticed = dead.row.allows['new']
    assert dead.row.allows['open'] == LOST
    assert allowed(dead, 100, 110, failure('new', 100.1))
    assert allowed(dead, 100, 110, failure('new', 99.8))  # it was under way
    assert not allowed(dead, 100, 110, failure('new', 99))
    assert not allowed(dead, 100, 110, failure('new', 100.1 + noticed))
    assert not allowed(dead, 100, 110, failure('shop', 100.1))  # the router tries another server
    assert allowed(dead, 100, 110, failure('open', 105, server='web1'))
    assert not allowed(dead, 100, 110, failure('open', 105, server='web2'))
    assert not allowed(Event(0, row('kill'), 'maglevd 1'), 100, 110, failure('new', 101))


def test_a_failure_without_a_fault_is_a_problem():
    soak = Soak([], SEED, 0)
    soak.began = 90
    soak.done.append(Done(Event(0, row('server-kill'), 'web1')))
    soak.done[0].began, soak.done[0].ended = 100, 110
    soak.load.failures += [failure('new', 101), failure('new', 120)]
    soak.judge()
    assert len(soak.problems) == 1 and '30.0 s: 1 new' in soak.problems[0] and soak.allowed == {('new', 'server-kill web1'): 1}


def lines(**grows):
    """Samples of ten minutes: a program that holds 10 MB and 20 descriptors, and gets more of either each minute."""
    found = Lines()
    for second in range(0, 600, 5):
        memory, fds = (grows.get(what, 0) * second / 60 for what in ('memory', 'fds'))
        found.seen.setdefault('maglevd', []).append((second, 1, int(10e6 + memory), int(20 + fds), second))
    return found


def test_a_line_that_grows_is_a_problem():
    assert lines().steep(['maglevd']) == []
    assert lines(memory=1e5).steep(['maglevd']) == []  # within its bound
    grown, = lines(memory=2e6).steep(['maglevd'])
    assert 'bytes in the middle third' in grown
    grown, = lines(fds=4).steep(['maglevd'])
    assert 'descriptors in the middle third' in grown
    assert lines(memory=2e6).steep(['maglevd'], memory=False) == []
    assert round(slope(lines(memory=1024e3).seen['maglevd'])) == 1000


def test_a_start_is_no_slope():
    """A program that is started again begins below"""
    found = lines(memory=0)
    found.seen['maglevd'] += [(second, 2, 5 << 20, 20, second - 600) for second in range(600, 900, 5)]
    assert round(slope(found.seen['maglevd'])) == 0


# ---- the means ----

def test_a_lossy_link_loses_as_much_as_it_is_told_to(net):
    """Of 1,000 datagrams each, over a link that loses none, half of them, and none again"""
    address = net.address()
    receiver, sender = net.servers.socket(kind=socket.SOCK_DGRAM), net.probes.socket(kind=socket.SOCK_DGRAM)
    receiver.bind((address, 9))

    def read(patience):
        """Until nothing comes any more: a busy kernel delivers them later."""
        receiver.settimeout(patience)
        found = 0
        with contextlib.suppress(TimeoutError):
            while True:
                found += len(receiver.recv(9))
        return found

    def arrived():
        found = 0
        for _ in range(10):
            for _ in range(100):
                sender.sendto(b'x', (address, 9))
            found += read(0.1)
        return found + read(1)
    with receiver, sender:
        sender.sendto(b'x', (address, 9))
        receiver.recv(9)  # the neighbours know each other
        assert arrived() == 1000
        with lossy(net.probes, 'veth', 50):
            assert 300 < arrived() < 700
        assert arrived() == 1000


def test_a_full_disk_takes_no_byte(tmp_path):
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'soak', str(tmp_path)], check=True)
    try:
        with filled(tmp_path), pytest.raises(OSError, match='No space left'):
            (tmp_path / 'more').write_text('x')
        (tmp_path / 'more').write_text('x')
    finally:
        subprocess.run(['umount', str(tmp_path)], check=True)


def test_the_page_has_a_row_for_each_fault():
    with open(f'{ROOT}/docs/design/soak.md', encoding='utf-8') as file:
        page = re.search(r'^## The faults$(.*?)^## ', file.read(), re.M | re.S)[1]
    assert re.findall(r'^\| `([\w-]+)` \|', page, re.M) == [one.name for one in FAULTS]
