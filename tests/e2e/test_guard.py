# SPDX-License-Identifier: Apache-2.0
"""The all-down guard and the probes' namespace: when this machine itself is at fault."""
import resource
import socket
import time

import pytest

from lab import VIP, Check, config, frontend, pool


@pytest.fixture
def farm(start_fake, own_net, own_servers):
    """Three backends of different kinds in one frontend."""
    patience = {'timeout': 0.5}

    class Farm:
        net = own_net
        servers = [own_servers.open(f's{i}') for i in range(3)]
        checks = {'s0': Check('http', servers[0].port, **patience), 's1': Check('tcp', servers[1].port, **patience),
                  's2': Check('icmp', **patience)}

        def keep(self, n):
            """Only the first n of them."""
            self.servers = self.servers[:n]
            self.checks = {s.name: self.checks[s.name] for s in self.servers}
            return self

        def start(self, **healthchecker):
            backends = {s.name: (s.address, s.name) for s in self.servers}
            self.daemon = start_fake(config(self.checks, backends, {'www': frontend(VIP, pool('all', *backends))},
                                            netns=own_net.probes.name, dataplane='vpp', **healthchecker))
            self.plane = self.daemon.plane
            self.settle()
            self.plane.clear_journal()
            return self

        def settle(self):
            for name, check in self.checks.items():
                self.daemon.wait_settled(name, check)
            self.plane.wait_weights(VIP, self.weights(100))

        def weights(self, weight):
            return {s.address: weight for s in self.servers}

        def all_down(self, since):
            return [self.daemon.wait_state(s.name, 'down', since) for s in self.servers]

    return Farm()


def guard(daemon):
    return daemon.metrics().one('maglev_guard_active')


def assert_held(farm, mark):
    farm.daemon.wait('guard-active', mark)
    lines = farm.all_down(mark)
    assert guard(farm.daemon) == 1
    for server in farm.servers:
        assert farm.daemon.state(server.name) == 'down', 'states are shown as they are'
    farm.daemon.wait('probe-done', farm.daemon.mark(), count=6)
    assert farm.plane.weights(VIP) == farm.weights(100)
    assert farm.plane.journal() == []
    return lines


def assert_released(farm, mark):
    farm.daemon.wait('guard-released', mark)
    farm.settle()
    assert guard(farm.daemon) == 0
    assert not [op for op in farm.plane.journal() if '->0' in op], 'nothing was taken away in between'


def test_a_namespace_that_vanishes_holds_all_weights_and_its_return_heals(farm):
    """FR-1.5, all-down guard: down with `enter netns`, held; the same name again, and all is well"""
    farm.start()
    assert guard(farm.daemon) == 0
    mark = farm.daemon.mark()
    farm.net.probes.delete()
    for line in assert_held(farm, mark):
        assert line['code'] == 'L4CON' and f'enter netns {farm.net.probes.name}' in line['reason']
    mark = farm.daemon.mark()
    farm.net.bring_back()
    assert_released(farm, mark)


def test_running_out_of_descriptors_holds_all_weights(farm):
    """All-down guard: EMFILE, until there are descriptors again; a scrape meanwhile makes no busy loop"""
    farm.keep(2).start()  # a ping would not need a new one
    daemon, mark = farm.daemon, farm.daemon.mark()
    pid = daemon.process.pid
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))
    with socket.create_connection(('127.0.0.1', daemon.port)):
        daemon.wait('guard-active', mark)
        for line in farm.all_down(mark):
            assert line['code'] == 'SOCKERR' and 'too many open files' in line['reason'].lower()
        used, began = daemon.cpu(), time.monotonic()
        daemon.wait('probe-done', daemon.mark(), count=10)
        assert daemon.cpu() - used < 0.5 * (time.monotonic() - began) + 0.05
    mark = daemon.mark()
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard, hard))
    assert_released(farm, mark)
    assert farm.plane.journal() == []


def test_a_route_that_is_gone_holds_all_weights(farm):
    """All-down guard: connect() itself says that there is no way"""
    farm.start()
    mark = farm.daemon.mark()
    farm.net.probes.ip('link set veth down')
    assert_held(farm, mark)
    mark = farm.daemon.mark()
    farm.net.probes.ip('link set veth up')
    assert_released(farm, mark)


def test_an_outage_of_all_servers_is_no_reason_to_hold(farm):
    """All-down guard: refused, muted, gone: the weights follow"""
    farm.start()
    mark = farm.daemon.mark()
    farm.servers[0].refuse()
    farm.net.mute(farm.servers[1].address)
    farm.net.remove(farm.servers[2].address)
    farm.all_down(mark)
    farm.plane.wait_weights(VIP, farm.weights(0))
    assert guard(farm.daemon) == 0 and not farm.daemon.all('guard-active')


def test_one_backend_that_sees_the_world_outvotes_the_rest(start_fake, own_net, own_servers):
    """All-down guard: only some probes fail by our own fault, so weights follow"""
    near = own_servers.open()
    far = '203.0.113.1'  # there is no route to it
    checks = {'c': Check(port=near.port)}
    daemon = start_fake(config(checks, {'near': (near.address, 'c'), 'far': (far, 'c')},
                               {'www': frontend(VIP, pool('all', 'near', 'far'))},
                               netns=own_net.probes.name, dataplane='vpp'))
    daemon.wait_state('far', 'down')
    daemon.plane.wait_weights(VIP, {near.address: 100, far: 0})
    assert guard(daemon) == 0


def test_the_guard_can_be_switched_off(farm):
    """DESIGN 4"""
    farm.start(all_down_guard=False)
    mark = farm.daemon.mark()
    farm.net.probes.delete()
    farm.all_down(mark)
    farm.plane.wait_weights(VIP, farm.weights(0))
    assert guard(farm.daemon) == 0


def test_probes_run_in_the_namespace_and_the_rest_outside(farm):
    """FR-1.5: the servers see the namespace's addresses; metrics are served in the namespace of the process"""
    farm.start()
    assert {r['peer'] for r in farm.servers[0].requests} == {farm.net.SOURCES4[0]}
    assert farm.daemon.get('/healthz') == (200, 'ok\n')


def test_a_namespace_may_be_named_by_its_path(start_fake, own_net, own_servers):
    """FR-1.5"""
    server = own_servers.open()
    check = Check(port=server.port)
    daemon = start_fake(config({'c': check}, {'b': (server.address, 'c')}, netns=own_net.probes.path, dataplane='vpp'))
    daemon.wait_settled('b', check)


def test_a_namespace_that_is_not_there_yet_is_waited_for(start_fake, own_net, own_servers):
    """FR-1.5: a start without it, then it comes"""
    server = own_servers.open()
    check = Check(port=server.port)
    own_net.probes.delete()
    daemon = start_fake(config({'c': check}, {'b': (server.address, 'c')}, netns=own_net.probes.name, dataplane='vpp'))
    assert 'enter netns' in daemon.wait_state('b', 'down')['reason']
    own_net.bring_back()
    daemon.wait_state('b', 'up')
