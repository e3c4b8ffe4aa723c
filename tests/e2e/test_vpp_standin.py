# SPDX-License-Identifier: Apache-2.0
"""The stand-in of VPP on its sockets: that it behaves, and that it misbehaves as it is told.

What it answers is tested against recorded bytes beside its sources; here it is the sockets' turn.
"""
import os
import socket
import struct

import pytest

from lab import Standin, until
from lab.vpp_client import Client, Stats, segment

VIP = struct.pack('>B16sBBH', 0, socket.inet_aton('192.0.2.1'), 32, 6, 80)
ADD_VIP = VIP + struct.pack('>IBIHHIBB', 0, 0, 0, 0, 0, 1024, 0, 0)


@pytest.fixture
def client(standin):
    it = Client(standin.api)
    yield it
    it.close()


def test_what_is_sent_is_kept_with_its_bytes(standin, client):
    assert client.retval('lb_add_del_vip_v2', ADD_VIP) == 0
    log = standin.log()
    assert [one.name for one in log] == ['sockclnt_create', 'lb_add_del_vip_v2']
    assert log[1].fields == ADD_VIP and log[1].body[2:6] == client.index
    assert standin.writes() == [('lb_add_del_vip_v2', ADD_VIP.hex())]
    assert standin.clients() == ['story']
    assert [vip.key for vip in standin.vips()] == [('192.0.2.1/32', 6, 80)]


def test_clients_have_a_number_each_and_replies_go_to_whom_they_name(standin, client):
    other = Client(standin.api)
    assert client.index != other.index
    other.send_raw(struct.pack('>H', client.ids['control_ping_51077d14']) + client.index + b'abcd')
    assert client.receive()[2:6] == b'abcd'
    other.close()
    until(lambda: standin.clients() == ['story'], what='the end of the other client')


def test_the_end_of_a_client_changes_nothing(standin, client):
    client.retval('lb_add_del_vip_v2', ADD_VIP)
    assert client.ask('sockclnt_delete', client.index) == struct.pack('>i', 1)
    assert client.receive() is None
    assert standin.weights('192.0.2.1') == {}


def test_it_hangs_and_answers_everything_afterwards(standin, client):
    standin.ask('hang 1')
    with socket.socket(socket.AF_UNIX) as late:
        late.connect(standin.api)  # the backlog takes it
    client.send('control_ping', context=1)
    client.send('control_ping', context=2)
    client.socket.settimeout(0.2)
    with pytest.raises(TimeoutError):
        client.receive()
    client.socket.settimeout(20)
    standin.ask('hang 0')
    assert [client.receive()[2:6] for _ in range(2)] == [b'\0\0\0\1', b'\0\0\0\2']


def test_a_reply_is_lost_though_the_deed_is_done(standin, client):
    standin.ask('drop lb_add_del_vip_v2 1')
    client.send('lb_add_del_vip_v2', ADD_VIP)
    client.send('control_ping', context=9)
    assert client.receive()[2:6] == b'\0\0\0\x09'
    assert standin.weights('192.0.2.1') == {}
    assert client.retval('lb_add_del_vip_v2', ADD_VIP) == -81


def test_a_reply_ends_in_the_middle(standin, client):
    standin.ask('cut control_ping 1')
    client.send('control_ping')
    assert client._read(17) and client._read(1) is None


def test_a_reply_has_an_absurd_length(standin, client):
    standin.ask('garbage control_ping 1')
    client.send('control_ping')
    assert client._read(16)[8:12] == b'\xff\xff\xff\xff'


def test_a_request_is_refused_without_a_reason(standin, client):
    standin.ask('fail lb_add_del_vip_v2 -1 1')
    assert client.retval('lb_add_del_vip_v2', ADD_VIP) == -1
    assert standin.vips() == []
    assert client.retval('lb_add_del_vip_v2', ADD_VIP) == 0


def test_replies_come_late_and_in_small_pieces(standin, client):
    standin.ask('delay 0.05')
    standin.ask('split 3')
    assert client.retval('lb_add_del_vip_v2', ADD_VIP) == 0
    standin.ask('split 0')
    assert client.ask('control_ping')


def test_a_restart_is_another_vpp_with_nothing_in_it(standin, client):
    client.retval('lb_add_del_vip_v2', ADD_VIP)
    before = standin.info()
    standin.restart()
    after = standin.info()
    assert client.receive() is None
    assert standin.vips() == [] and after['pid'] != before['pid'] and after['boottime'] > before['boottime']
    again = Client(standin.api)
    assert again.retval('lb_add_del_vip_v2', ADD_VIP) == 0
    again.close()


def test_a_crash_leaves_the_files(standin, client):
    standin.crash()
    assert client.receive() is None
    with socket.socket(socket.AF_UNIX) as s, pytest.raises(ConnectionRefusedError):
        s.connect(standin.api)
    assert os.path.exists(standin.stats)
    standin.restart()
    Client(standin.api).close()


@pytest.mark.parametrize('personality, lacks, has', [
    ('old', 'lb_as_set_weight_2d89bdbd', 'lb_add_del_vip_v2_7c520e0f'),
    ('none', 'lb_conf_56cd3261', 'show_version_51077d14'),
    ('crc', 'lb_as_set_weight_2d89bdbd', 'lb_as_set_weight_2c72979e')])
def test_other_vpps_have_other_tables(personality, lacks, has, vpps):
    client = Client(vpps(personality).api)
    assert lacks not in client.ids and has in client.ids
    client.close()


def test_what_crashes_vpp_ends_it(folders):
    standin = Standin(folders()).start()
    client = Client(standin.api)
    client.send('lb_add_del_vip_v2', VIP + struct.pack('>IBIHHIBB', 0, 0, 0, 0, 0, 0, 0, 0))
    assert client.receive() is None
    assert standin.end() == 70 and 'a table length of 0' in standin.said()
    client.close()


def test_removed_servers_go_when_their_time_has_come(standin):
    for line in ('vip 192.0.2.1/32 protocol tcp port 80', 'as 192.0.2.1/32 protocol tcp port 80 10.0.0.1',
                 'as 192.0.2.1/32 protocol tcp port 80 10.0.0.1 del'):
        assert 'error' not in standin.cli(f'lb {line}')
    assert [one.used for one in standin.vip('192.0.2.1').servers] == [False]
    standin.ask('advance 120')
    assert standin.vip('192.0.2.1').servers == []


# ---- statistics ----

def test_packets_are_counted_where_everybody_can_read_it(standin):
    standin.cli('lb vip 192.0.2.1/32 protocol tcp port 80')
    standin.cli('lb as 192.0.2.1/32 protocol tcp port 80 10.0.0.1')
    stats = Stats(standin.stats)
    standin.packets('192.0.2.1', 10)
    until(lambda: stats.column('first session packet', 1) == (10,), what='ten flows')
    standin.packets('192.0.2.1', 10)
    until(lambda: stats.column('packet from existing sessions', 1) == (10,), what='ten packets more')
    assert stats.column('/net/route/to', 8, '<QQ') == (20, 2000)
    assert stats.column('/net/route/via', 9, '<QQ') == (20, 2480)
    assert stats.value('/sys/boottime') == standin.info()['boottime']


def test_its_heart_beats(standin):
    stats = Stats(standin.stats)
    first = stats.value('/sys/heartbeat')
    until(lambda: stats.value('/sys/heartbeat') > first, what='a heartbeat')


def test_the_segment_can_be_busy_and_restless(standin):
    stats = Stats(standin.stats)
    standin.ask('busy 1')
    assert stats.header()[3] == 1
    standin.ask('busy 0')
    standin.ask('spin 1')
    first = stats.header()[2]
    until(lambda: stats.header()[2] != first, what='another epoch')
    standin.ask('spin 0')


def test_the_segment_moves_without_a_new_epoch(standin):
    stats = Stats(standin.stats)
    epoch, at = stats.header()[2], stats.header()[4]
    standin.ask('move')
    assert stats.header()[2] == epoch and stats.header()[4] != at
    assert stats.map[at - stats.header()[1]] == 0xa5


def test_any_byte_of_the_segment_can_be_wrong(standin):
    stats = Stats(standin.stats)
    standin.poke(int(standin.ask('where /sys/boottime')) + 8, 4711)
    assert stats.value('/sys/boottime') == 4711
    standin.ask('freeze 0')
    until(lambda: stats.value('/sys/boottime') != 4711, what='the truth')


@pytest.mark.parametrize('mode, size', [('empty', 0), ('short', 20), ('close', None)])
def test_something_else_is_handed_out(mode, size, standin):
    standin.ask(f'stats {mode}')
    fd = segment(standin.stats)
    assert (fd and os.fstat(fd).st_size) == size
    if fd:
        os.close(fd)
