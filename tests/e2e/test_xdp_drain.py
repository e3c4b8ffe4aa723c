# SPDX-License-Identifier: Apache-2.0
"""XDP: slots and live flows of each server are shown, and a drain comes to an end that can be waited for."""
import subprocess

import pytest

from lab import VIPS4, frontend, pool, until

VIP = VIPS4[0]


@pytest.fixture
def plane(balanced):
    """Flows are over after 3 s without a packet."""
    return balanced(frontends={'www': frontend(VIP, pool('all', web1=100, web2=50))}, lb={'flow-timeout': '3s'},
                    xdp={'table-size': 1009})


def web1(plane):
    """Its row in the data plane."""
    servers = plane.json('show', 'lb', 'state')['vips'][0]['application_servers']
    return next(one for one in servers if one['backend'] == 'web1')


def open_flows(plane, backend, n):
    """n downloads from one server, which go on as far as they are read."""
    held = []
    while len(held) < n:
        flow = plane.download(VIP, 1 << 30)
        if flow.server == backend:
            held.append(flow)
        else:
            flow.close()
    return held


def keep_alive(held):
    """Packets of each flow, in both directions."""
    for flow in held:
        flow.read(200000)
    return True


def begin(plane, *words):
    return subprocess.Popen(plane.maglevc_command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_slots_and_flows_are_shown_under_traffic(plane):
    """1009 slots, 2 to 1; and the flows of a server rise and fall"""
    held = open_flows(plane, 'web1', 20)
    until(lambda: keep_alive(held) and int(web1(plane)['flows']) >= 20, what='20 flows of web1')
    servers = plane.json('show', 'lb', 'state')['vips'][0]['application_servers']
    assert sum(one['buckets'] for one in servers) == 1009 and abs(web1(plane)['buckets'] - 673) <= 2
    for flow in held:
        flow.close()
    until(lambda: web1(plane)['flows'] == '0', what='the end of all flows')
    assert not web1(plane)['drained'], 'new flows may come at any time'


def test_a_pause_can_wait_until_no_flow_is_left(plane):
    """while a flow lives it is not drained, however often it is counted; after its end maglevc returns"""
    held = open_flows(plane, 'web1', 1)
    waiting = begin(plane, 'set', 'backend', 'web1', 'pause', 'wait', '60s')
    until(lambda: web1(plane)['weight'] == 0, what='the pause in the data plane')
    counts = set()
    while len(counts) < 3:
        keep_alive(held)
        counts.add(plane.json('show', 'lb', 'state')['counted'])
        assert waiting.poll() is None and not web1(plane)['drained']
    held[0].close()
    out, err = waiting.communicate(timeout=40)
    assert (waiting.returncode, err) == (0, '')
    assert out.startswith('backend web1: paused') and '\nbackend web1: drained after ' in out
    assert web1(plane)['drained'] and plane.maglevc('show', 'lb', 'state').count('[drained]') == 1
    plane.maglevc('set', 'backend', 'web1', 'resume')
    until(lambda: web1(plane)['weight'] == 100, what='the weight')
    assert not web1(plane)['drained']


def test_a_wait_gives_up_after_its_time_and_a_disable_drains_at_once(plane):
    held, = open_flows(plane, 'web1', 1)
    given_up = begin(plane, 'set', 'backend', 'web1', 'pause', 'wait', '1s')
    until(lambda: keep_alive([held]) and given_up.poll() is not None, what='the end of the wait')
    out, err = given_up.communicate(timeout=20)
    assert given_up.returncode == 4 and out.startswith('backend web1: paused')
    assert 'backend web1 is not drained, and the time is over: ' in err
    done = begin(plane, 'set', 'backend', 'web1', 'disable', 'wait')
    out, err = done.communicate(timeout=40)
    assert done.returncode == 0 and 'backend web1: drained after' in out, err
    held.close()
