# SPDX-License-Identifier: Apache-2.0
"""docs/guide/vpp.md and docs/guide/from-vpp.md as they stand, on the imitation of VPP: its servers are probed, and one that was set up by hand is taken over with its flows."""
import pytest

from lab import until
from lab.guide import example
from lab.machine import Machine

VPPCTL = '''exec python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(("cli " + " ".join(sys.argv[2:]) + "\\n").encode())
print(s.makefile().read(), end="")' {} "$@"'''
BY_HAND = ('lb conf ip4-src-address 10.0.2.2 ip6-src-address 2001:db8:2::2 timeout 60',
           'lb vip 198.51.100.10/32 protocol tcp port 80 encap gre4 new_len 1024',
           'lb as 198.51.100.10/32 protocol tcp port 80 10.0.11.2 weight 100',
           'lb as 198.51.100.10/32 protocol tcp port 80 10.0.12.2 weight 50',
           'lb vip 198.51.100.11/32 protocol udp port 53 encap gre4 new_len 1024 src_ip_sticky',
           'lb as 198.51.100.11/32 protocol udp port 53 10.0.11.2 weight 100')


@pytest.fixture(scope='module')
def machine():
    it = Machine('10.0.11.2', '10.0.12.2')
    yield it
    it.close()


@pytest.fixture
def home(desk, machine, standin):
    it = desk(machine)
    it.stand_in('vppctl', VPPCTL.format(standin.control))
    it.put('/etc/default/maglevd', ''.join(f'{name}={value}\n' for name, value in standin.environment().items()))
    return it


def test_vpp_is_driven_and_made_good_after_its_restart(home, standin):
    home.put('/etc/maglev/maglev.yaml', example('vpp.md', 'write-a-configuration'))
    home.say('maglevd --check && systemctl start maglevd')
    want = {'10.0.11.2': 100, '10.0.12.2': 50, '10.0.13.2': 0}
    standin.wait_weights('198.51.100.10', want, timeout=60)
    standin.packets('198.51.100.10', 200)
    said = home.run('vpp.md#see-that-it-works')
    assert 'connected' in said and '10.0.12.2 weight:50' in said and 'NO-SERVER' in said
    standin.restart()
    standin.wait_weights('198.51.100.10', want)
    home.say('systemctl stop maglevd')
    assert standin.weights('198.51.100.10') == want


def rows(text):
    """{server: [words after it]} of show lb state."""
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.startswith('    ')}


def test_a_vpp_that_was_set_up_by_hand_is_taken_over(home, standin):
    for line in BY_HAND:
        assert 'error' not in standin.cli(line)
    standin.packets('198.51.100.10', 200)
    before = home.run('from-vpp.md#read-what-is-there')
    shown = example('from-vpp.md', 'read-what-is-there', 'text')
    assert all(line in before for line in shown.splitlines() if 'weight:' in line or 'new_size' in line or 'timeout' in line)
    file = example('from-vpp.md', 'write-the-same-as-a-file')
    home.put('/etc/maglev/maglev.yaml', file)
    standin.clear_log()
    said = home.run('from-vpp.md#compare-without-writing')
    assert 'hands-off' in said and rows(said)['10.0.12.2'][:3] == ['web2', '50', '50']
    home.put('/etc/maglev/maglev.yaml', file.replace('24h', '0s'))
    assert 'vpp: nothing to do' in home.run('from-vpp.md#take-over')
    until(lambda: 'done' in home.say('maglevc show lb state'), what='the end of the warm-up')
    after = home.run('from-vpp.md#take-over/2')
    assert not standin.writes() and standin.cli('show lb vips verbose') in after
    assert standin.cli('show lb vips verbose') in before, 'with its flows'


def test_what_the_file_does_not_have_is_shown_before_it_is_removed(home, standin):
    """The table of the page"""
    for line in (*BY_HAND, 'lb as 198.51.100.10/32 protocol tcp port 80 10.0.99.2 weight 7',
                 'lb vip 198.51.100.99/32 protocol tcp port 80 encap gre4', 'lb vip 203.0.113.0/24 encap gre4'):
        assert 'error' not in standin.cli(line)
    file = example('from-vpp.md', 'write-the-same-as-a-file').replace('weight: 50', 'weight: 60')
    home.put('/etc/maglev/maglev.yaml', file)
    said = home.run('from-vpp.md#compare-without-writing')
    assert rows(said)['10.0.99.2'][0] == '-' and rows(said)['10.0.12.2'][1:3] == ['50', '60'], said
    assert '198.51.100.99' in said
    home.put('/etc/maglev/maglev.yaml', file.replace('24h', '0s'))
    home.say('maglevc config reload')
    until(lambda: [vip.key[0] for vip in standin.vips()] == ['198.51.100.10/32', '198.51.100.11/32', '203.0.113.0/24'], what='the VIP of nobody going')
    standin.wait_weights('198.51.100.10', {'10.0.11.2': 100, '10.0.12.2': 60})
