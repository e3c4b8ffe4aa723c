# SPDX-License-Identifier: Apache-2.0
"""maglevd and the data plane xdp: what it takes, what it leaves, and how it goes. Packets have stories of their own."""
import json
import os
import re
import signal
import subprocess

import pytest

from lab import config, frontend, pool, program, until
from test_capabilities import NOBODY, as_nobody, sets_of

BPF, NET_ADMIN, PERFMON = 1 << 39, 1 << 12, 1 << 38
NEEDED = ('bpf', 'net_admin', 'perfmon')


@pytest.fixture
def pins(folders):
    """A BPF file system, with a folder that everybody may make folders in."""
    path = folders()
    subprocess.run(['mount', '-t', 'bpf', '-o', 'mode=0777', 'bpf', path], check=True)
    yield path
    subprocess.run(['umount', path], check=True)


@pytest.fixture
def device(own_net):
    own_net.probes.ip('link add x0 type veth peer name x1', 'link set x0 up', 'link set x1 up')
    return 'x0'


def wanted(pins, device, **xdp):
    text = config(backends={'b1': '10.77.1.1', 'b2': '10.77.1.2'}, dataplane='xdp',
                  frontends={'www': frontend('198.51.100.10', pool('p', 'b1', b2=50))})
    text['maglev']['xdp'] = {'interfaces': [device], 'pin': f'{pins}/maglev', 'flow-table-size': 4096, **xdp}
    return text


def program_on(net, device):
    """The id of the program on a device; None without."""
    shown = subprocess.run(net.probes.command('ip', '-j', '-d', 'link', 'show', device), capture_output=True, text=True,
                           check=True).stdout
    return json.loads(shown)[0].get('xdp', {}).get('prog', {}).get('id')


def detach(daemon, prefix=()):
    return subprocess.run([*prefix, program(), '--config', daemon.path, '--xdp-detach'], capture_output=True, text=True)


def test_an_unprivileged_user_with_three_capabilities_is_enough(pins, start, own_net, device):
    """NFR-4.1: and nothing is in force between the calls"""
    daemon = start(wanted(pins, device), prefix=own_net.probes.command(*as_nobody(*NEEDED)), ready=False)
    daemon.wait('lb-sync-vip', as_added=2)
    assert not daemon.all('capability-missing')
    assert program_on(own_net, device)
    sets = sets_of(daemon)
    assert sets['Prm'] == BPF | NET_ADMIN | PERFMON and sets['Eff'] == 0
    assert os.stat(f'{pins}/maglev').st_uid == NOBODY.pw_uid
    assert not daemon.all('xdp-flows-unknown')


@pytest.mark.parametrize('missing', NEEDED)
def test_each_of_them_is_needed_and_named(missing, pins, start, own_net, device):
    """NFR-4.1"""
    held = [name for name in NEEDED if name != missing]
    daemon = start(wanted(pins, device), prefix=own_net.probes.command(*as_nobody(*held)), ready=False)
    line = daemon.wait('capability-missing')
    assert (line['capability'], line['feature']) == (f'CAP_{missing.upper()}', 'the data plane xdp')
    assert f'CAP_{missing.upper()}' in daemon.wait('xdp-down')['error']
    assert not daemon.all('dataplane-connect')


def test_root_keeps_what_the_data_plane_needs(pins, start, own_net, device):
    """NFR-4.1"""
    daemon = start(wanted(pins, device), prefix=own_net.probes.command(), ready=False)
    daemon.wait('dataplane-connect')
    assert sets_of(daemon)['Prm'] == BPF | NET_ADMIN | PERFMON


def test_the_program_stays_and_the_next_maglevd_takes_it_over(pins, start, own_net, device):
    """NFR-1.1: after SIGTERM and after SIGKILL; nothing has to be written again"""
    text, prefix = wanted(pins, device), own_net.probes.command()
    daemon = start(text, prefix=prefix, ready=False)
    daemon.wait('lb-sync-vip', as_added=2)
    for end in ('stop', 'kill'):
        getattr(daemon, end)()
        assert program_on(own_net, device)
        daemon = start(text, prefix=prefix, ready=False)
        assert daemon.wait('xdp-open')['adopted'] and daemon.wait('xdp-attach')['adopted']
        daemon.wait('lb-sync-all')
        assert not daemon.all('lb-sync-op')


def test_detach_takes_everything_away_while_no_maglevd_runs(pins, start, own_net, device):
    prefix = own_net.probes.command()
    daemon = start(wanted(pins, device), prefix=prefix, ready=False)
    daemon.wait('dataplane-connect')
    refused = detach(daemon, prefix)
    assert refused.returncode == 3 and 'another maglevd uses' in refused.stderr
    daemon.stop()
    done = detach(daemon, prefix)
    assert (done.returncode, done.stderr) == (0, '')
    assert f'{device}: detached' in done.stdout and f'{pins}/maglev: its pins are removed' in done.stdout
    assert not program_on(own_net, device) and os.listdir(f'{pins}/maglev') == []
    assert detach(daemon, prefix).returncode == 0


def test_detach_leaves_what_the_operator_made(pins, folders, start, own_net, device):
    """the folder and what else is in it; also a folder that is not in a BPF file system at all"""
    prefix = own_net.probes.command()
    os.makedirs(f'{pins}/maglev/mine')
    daemon = start(wanted(pins, device), prefix=prefix, ready=False)
    daemon.wait('dataplane-connect')
    daemon.stop()
    assert detach(daemon, prefix).returncode == 0
    assert os.listdir(f'{pins}/maglev') == ['mine']
    plain = folders()
    daemon.write(wanted(pins, device, pin=plain))
    refused = detach(daemon, prefix)
    assert refused.returncode == 3 and 'is not in a BPF file system' in refused.stderr
    assert os.path.isdir(plain)


def test_detach_needs_a_good_configuration(pins, start, own_net, device):
    daemon = start(wanted(pins, device), prefix=own_net.probes.command(), ready=False)
    daemon.wait('dataplane-connect')
    daemon.stop()
    daemon.write('maglev: [')
    assert detach(daemon).returncode == 1
    daemon.write(wanted(pins, device, mode='fast'))
    broken = detach(daemon)
    assert broken.returncode == 2 and 'maglev.xdp.mode' in broken.stderr


def test_another_pin_needs_a_restart_and_other_sizes_do_not(pins, start, own_net, device):
    daemon = start(wanted(pins, device), prefix=own_net.probes.command(), ready=False)
    daemon.wait('lb-sync-vip', as_added=2)
    text = wanted(pins, device, pin=f'{pins}/other')
    daemon.write(text)
    daemon.signal(signal.SIGHUP)
    assert 'xdp.pin cannot change' in daemon.wait('config-reload-failed')['error']
    before = program_on(own_net, device)
    daemon.write(wanted(pins, device, **{'table-size': 2003}))
    daemon.signal(signal.SIGHUP)
    assert daemon.wait('xdp-remade')['table_size'] == 2003
    assert program_on(own_net, device) != before
    assert not daemon.all('dataplane-disconnect')


def test_an_interface_that_goes_takes_the_data_plane_down(pins, start, own_net, device):
    """and its return brings it up, with what was programmed"""
    daemon = start(wanted(pins, device), prefix=own_net.probes.command())
    daemon.wait('lb-sync-vip', as_added=2)
    own_net.probes.ip(f'link del {device}')
    assert re.search(f'not on {device}: there is no such interface', daemon.wait('dataplane-disconnect')['reason'])
    own_net.probes.ip(f'link add {device} type veth peer name x1')
    daemon.wait('dataplane-connect', count=2)
    until(lambda: program_on(own_net, device), what='the program on the new device')
    assert len(daemon.all('lb-sync-op', op='vip-add 198.51.100.10:80/tcp gre4')) == 1
