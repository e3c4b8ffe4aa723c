# SPDX-License-Identifier: Apache-2.0
"""TCP and ICMP: servers that are there or not."""
import subprocess

import pytest

from lab import VIP, Check, Watched, config, frontend, pool

FAMILIES = pytest.mark.parametrize('family', [4, 6], ids=['ipv4', 'ipv6'])


@FAMILIES
def test_a_tcp_server_that_is_killed_goes_down_and_heals(family, start_fake, net, servers):
    """FR-1.1, FR-1.2, FR-4.1"""
    server = servers.open(family=family)
    story = Watched.of(start_fake, net, server, type='tcp').settle()
    story.expect_down(server.refuse(), 'L4CON', reason='refused')
    story.expect_up(server.listen())


@FAMILIES
def test_a_tcp_server_that_is_silent_times_out_and_heals(family, start_fake, net, servers):
    """FR-1.4"""
    server = servers.open(family=family)
    story = Watched.of(start_fake, net, server, type='tcp', timeout=0.3).settle()
    story.expect_down(net.mute(server.address), 'L4TOUT', silent=True)
    story.expect_up(net.unmute(server.address), silent=True)


def test_a_hung_tcp_server_is_up_since_its_kernel_answers(start_fake, net, servers):
    """FR-1.1: TCP asks for a connection and nothing else."""
    server = servers.open()
    story = Watched.of(start_fake, net, server, type='tcp').settle()
    server.behave('hang')
    story.daemon.wait('probe-done', story.seen, count=8, backend='web')
    assert story.daemon.state('web') == 'up'
    assert not server.requests


def test_probes_leave_no_connections_behind(start_fake, net, servers):
    """FR-1.1: closed by reset, so that no TIME_WAIT is left on either side; HTTP too."""
    server = servers.open()
    checks = {kind: Check(kind, server.port, interval=0.05) for kind in ('tcp', 'http')}
    daemon = start_fake(config(checks, {k: (server.address, k) for k in checks}, netns=net.probes.name,
                               dataplane='vpp'))
    for kind in checks:
        daemon.wait('probe-done', count=15, backend=kind)
    for namespace in (net.probes, net.servers):
        listed = subprocess.run(namespace.command('ss', '-Htan', 'state', 'time-wait'), capture_output=True, text=True,
                                check=True).stdout
        assert [line for line in listed.splitlines() if f':{server.port}' in line] == []


def test_tcp_probes_come_from_the_address_that_was_asked_for(start_fake, net, servers):
    """FR-1.1: a source that the machine does not have fails, and is called what it is."""
    server = servers.open()
    checks = {'good': Check('tcp', server.port, more={'probe-ipv4-src': net.SOURCES4[1]}),
              'bad': Check('tcp', server.port, more={'probe-ipv4-src': '203.0.113.77'})}
    daemon = start_fake(config(checks, {k: (server.address, k) for k in checks}, netns=net.probes.name,
                               dataplane='vpp'))
    daemon.wait_state('good', 'up')
    assert '203.0.113.77' in daemon.wait_state('bad', 'down')['reason'] or \
        'assign' in daemon.wait_state('bad', 'down')['reason']


@FAMILIES
def test_a_machine_that_answers_pings_no_more_goes_down_and_heals(family, start_fake, net):
    """FR-1.1, FR-1.2, FR-1.4: its address is taken away and given back."""
    address = net.address(family)
    story = Watched(start_fake, net, Check('icmp', timeout=0.3), address).settle()
    net.remove(address)
    line = story.daemon.wait_state('web', 'down', story.seen)
    assert line['code'] in ('L4TOUT', 'L4CON')
    story.follows_the_rule()
    net.add(address)
    up = story.daemon.wait_state('web', 'up', story.seen)
    story.agrees('up', {address: 100, story.spare: 0}, up)


@FAMILIES
def test_a_machine_that_is_silent_times_out(family, start_fake, net, servers):
    """FR-1.4"""
    server = servers.open(family=family)
    story = Watched(start_fake, net, Check('icmp', timeout=0.3), server.address).settle()
    story.expect_down(net.mute(server.address), 'L4TOUT', silent=True)
    story.expect_up(net.unmute(server.address), silent=True)


def test_a_cut_cable_is_a_real_outage(start_fake, own_net):
    """All-down guard: the servers' link goes; backends time out and weights follow."""
    backends = {f'b{i}': (own_net.address(), 'ping') for i in (1, 2)}
    check = Check('icmp', timeout=0.3)
    daemon = start_fake(config({'ping': check}, backends, {'www': frontend(VIP, pool('all', *backends))},
                               netns=own_net.probes.name, dataplane='vpp'))
    for name in backends:
        daemon.wait_settled(name, check)
    own_net.servers.ip('link set veth down')
    for name in backends:
        daemon.wait_state(name, 'down')
    daemon.plane.wait_weights(VIP, {address: 0 for address, _ in backends.values()})
    assert not daemon.all('guard-active')
    own_net.servers.ip('link set veth up')
    for name in backends:
        daemon.wait_settled(name, check)
    daemon.plane.wait_weights(VIP, {address: 100 for address, _ in backends.values()})


def test_a_router_that_says_unreachable_is_believed(start_fake, own_net):
    """FR-1.1: ICMP errors end the probe at once, for pings and connections alike, and are no fault of ours."""
    far = '10.78.0.1'
    own_net.servers.ip(f'route add unreachable {far}')
    own_net.probes.ip(f'route add {far} via 10.77.0.254')
    settings = 'cd /proc/sys/net/ipv4; echo 1 >ip_forward; echo 0 >icmp_ratelimit'
    subprocess.run(own_net.servers.command('sh', '-c', settings), check=True)
    slow = {'interval': 1, 'fast': 1, 'down': 1, 'timeout': 5}  # routers do not like to repeat themselves
    checks = {'icmp': Check('icmp', **slow), 'tcp': Check('tcp', 80, **slow)}
    daemon = start_fake(config(checks, {k: (far, k) for k in checks}, netns=own_net.probes.name, dataplane='vpp'))
    for kind in checks:
        assert daemon.wait_state(kind, 'down')['code'] == 'L4CON'
    assert not daemon.all('guard-active')


def test_pings_are_counted_once_per_interval(start_fake, own_net):
    """FR-1.1: the machine sees as many requests as probes were started, and answers each."""
    address = own_net.address()
    check = Check('icmp', interval=0.1, fast=0.1)
    daemon = start_fake(config({'ping': check}, {'b': (address, 'ping')}, {
        f'f{i}': frontend(f'198.51.100.{i}', pool('p', 'b')) for i in range(1, 6)},
        netns=own_net.probes.name, dataplane='vpp'))
    daemon.wait('probe-done', count=12, backend='b')
    started, seen = len(daemon.all('probe-start', backend='b')), own_net.servers.counter('Icmp', 'InEchos')
    assert started - 1 <= seen <= len(daemon.all('probe-start', backend='b')) + 1


def test_pings_come_from_the_address_that_was_asked_for(start_fake, own_net):
    """FR-1.1: only that source has a way back."""
    address = own_net.address()
    own_net.servers.ip(f'route add blackhole {own_net.SOURCES4[0]}/32')
    checks = {'one': Check('icmp', timeout=0.2, more={'probe-ipv4-src': own_net.SOURCES4[0]}),
              'two': Check('icmp', timeout=0.2, more={'probe-ipv4-src': own_net.SOURCES4[1]})}
    daemon = start_fake(config(checks, {k: (address, k) for k in checks}, netns=own_net.probes.name, dataplane='vpp'))
    assert daemon.wait_state('one', 'down')['code'] == 'L4TOUT'
    daemon.wait_state('two', 'up')


def test_two_daemons_do_not_take_each_others_echoes(start_fake, net):
    """FR-1.1: identifier and cookie tell whose an answer is; a raw socket sees everybody's."""
    here, gone = net.address(), net.address()
    net.mute(gone)
    check = Check('icmp', timeout=0.3)
    first = start_fake(config({'c': check}, {'b': (here, 'c')}, netns=net.probes.name, dataplane='vpp'))
    second = start_fake(config({'c': check}, {'b': (gone, 'c')}, netns=net.probes.name, dataplane='vpp'))
    first.wait_settled('b', check)
    second.wait_state('b', 'down')
    first.wait('probe-done', count=20, backend='b')
    assert not second.all('probe-done', code='L4OK') and not first.all('probe-done', code='L4TOUT')
