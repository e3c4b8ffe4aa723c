# SPDX-License-Identifier: Apache-2.0
"""XDP missing on an interface: shown in the log, the API, maglevc and the metrics, and never called connected."""
import json
import subprocess

import pytest

from lab import program, until
from test_xdp_daemon import detach, pins, program_on, wanted  # noqa: F401

ABSENT, TAKEN = 'there is no such interface', 'it has another XDP program'


@pytest.fixture
def devices(own_net):
    for name in ('x0', 'mgmt'):
        own_net.probes.ip(f'link add {name} type veth peer name {name}p', f'link set {name} up', f'link set {name}p up')
    return own_net.probes


def show(daemon, *flags):
    command = daemon.namespace.command(program('maglevc'), '--server', f'127.0.0.1:{daemon.grpc_port()}', *flags,
                                       'show', 'lb', 'state')
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def state(daemon):
    return json.loads(show(daemon, '-o', 'json'))


def test_a_data_plane_that_misses_interfaces_is_degraded(pins, start, own_net, devices):  # noqa: F811
    """interfaces: one good, one absent, one with the program of another maglevd; then, one by one, all of them"""
    other = start(wanted(pins, 'mgmt', pin=f'{pins}/other'), namespace=devices)
    other.wait('dataplane-connect')
    daemon = start(wanted(pins, 'x0', interfaces=['x0', 'nope0', 'mgmt']), namespace=devices)
    reason = daemon.wait('dataplane-degrade')['reason']
    assert reason == f'the program is on 1 of 3 interfaces; nope0: {ABSENT}; mgmt: {TAKEN}'

    said = state(daemon)
    assert (said['status'], said['connected'], said['problem']) == ('degraded', True, reason)
    assert said['interfaces'] == [
        {'name': 'x0', 'attached': True, 'mode': 'native', 'problem': ''},
        {'name': 'nope0', 'attached': False, 'mode': '', 'problem': ABSENT},
        {'name': 'mgmt', 'attached': False, 'mode': '', 'problem': TAKEN}]
    assert 'status                   degraded\n' in show(daemon) and f'[not attached] {ABSENT}\n' in show(daemon)
    found = daemon.metrics()
    assert [found.one('maglev_xdp_interface_up', interface=one) for one in ('x0', 'nope0', 'mgmt')] == [1, 0, 0]
    assert found.one('maglev_xdp_interface_mode', interface='x0', mode='native') == 1
    assert found.sum('maglev_xdp_interface_mode') == 1
    assert found.one('maglev_dataplane_status', status='degraded') == found.one('maglev_dataplane_connected') == 1

    devices.ip('link add nope0 type veth peer name nope1')
    assert daemon.wait('dataplane-degrade', count=2)['reason'] == f'the program is on 2 of 3 interfaces; mgmt: {TAKEN}'
    other.stop()
    assert detach(other, devices.command()).returncode == 0
    daemon.wait('dataplane-recover')
    said = state(daemon)
    assert (said['status'], said['problem']) == ('connected', '') and all(one['attached'] for one in said['interfaces'])
    assert not daemon.all('dataplane-disconnect') and len(daemon.all('dataplane-connect')) == 1
    found = daemon.metrics()
    assert found.sum('maglev_xdp_interface_up') == 3 and found.one('maglev_dataplane_status', status='connected') == 1

    devices.ip('link del nope0')
    assert f'nope0: {ABSENT}' in daemon.wait('dataplane-degrade', count=3)['reason']
    until(lambda: state(daemon)['status'] == 'degraded', what='the status')
    assert program_on(own_net, 'x0')
