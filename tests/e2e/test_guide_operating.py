# SPDX-License-Identifier: Apache-2.0
"""The commands of operating, testing, troubleshooting, upgrading and of the XDP data plane, on three balancers with traffic."""
import json
import os
import subprocess

import pytest

from lab import PATIENCE, VIPS4, Fabric, config, frontend, pool, until
from lab.guide import block
from lab.net import Namespace

HOSTS = {'lb1': '10.0.2.2', 'lb1.example.net': '10.0.2.2', 'lb2': '10.0.3.2', 'lb3': '10.0.4.2', 'web1': '10.0.11.2'}
UNIT = 'MAGLEV_GRPC_ADDR=0.0.0.0:9090\n'


@pytest.fixture(scope='module')
def fabric(can_forward):
    it = Fabric(servers=3, balancers=3).start()
    yield it
    it.close()


@pytest.fixture
def run_maglevd(balanced):
    """On a balancer. A flow is over after 1 s of silence, so that drains are quick."""
    return lambda one: balanced(one, frontends={'www': frontend(VIPS4[0], pool('primary', 'web1', 'web2'), pool('fallback', 'web3'))},
                                lb={'flow-timeout': '1s'}, grpc='0.0.0.0:9090')


@pytest.fixture
def plane(run_maglevd, fabric):
    return run_maglevd(fabric.balancers[0])


@pytest.fixture
def home(desk, plane):
    """A shell on the first balancer."""
    it = desk(plane.balancer, hosts=HOSTS)
    it.link('/etc/maglev/maglev.yaml', plane.daemon.path)
    it.put('/etc/default/maglevd', UNIT)
    it.adopt(plane.daemon)
    return it


def overrides(home, server):
    return json.loads(home.say(f'maglevc --server {server} -o json show overrides')).get('overrides', [])


def test_operating(home, plane, run_maglevd, fabric):
    daemon, _ = plane.daemon, [run_maglevd(one) for one in fabric.balancers[1:]]
    home.put('drain-web1', 'set backend web1 pause\nset backend web1 resume\n')
    home.run('operating.md#look-around')
    changed = plane.config()
    changed['maglev']['frontends']['www']['description'] = 'public web'
    daemon.write(changed)
    assert 'www' in home.run('operating.md#change-the-configuration')
    since = daemon.mark()
    home.run('operating.md#change-the-configuration/2')
    daemon.wait('config-loaded', since)
    home.adopt(daemon)
    assert '"config-loaded"' in home.run('operating.md#change-the-configuration/3')

    home.run('operating.md#take-a-backend-out')
    assert home.read('ssh') == 'web1 poweroff\n'
    home.say('maglevc set backend web1 resume')
    home.run('operating.md#take-a-backend-out/2')
    for name in ('lb1', 'lb2', 'lb3'):
        assert 'new kernel' in json.dumps(overrides(home, name))


def test_certificates_of_operators(desk, authority):
    machine = Namespace('t')
    home = desk(machine, hosts={'lb1.example.net': '127.0.0.1'})
    for stem, name in (('server', 'lb1.example.net'), ('alice', 'alice')):
        for path in authority.issue(stem, name):
            home.link(os.path.basename(path), path)
    home.link('ca.pem', authority.ca)
    home.put('/etc/maglev/maglev.yaml', json.dumps(config(backends={'web1': '10.0.0.11'}, frontends={
        'www': frontend(VIPS4[0], pool('primary', 'web1'))})))
    with home.started('operating.md#who-may-use-the-api'):
        until(lambda: 'web1' in home.say(block('operating.md#who-may-use-the-api/2'), None), what='an answer over TLS')
    machine.delete()


def test_troubleshooting(home, plane, fabric):
    daemon = plane.daemon
    assert 'web1' in home.run('troubleshooting.md#a-backend-is-down')
    assert 'prog/xdp' in home.run('xdp.md#finding-faults')
    assert 'web1 answers' in home.run('troubleshooting.md#a-backend-is-down/2', {
        'NETNS': plane.balancer.name, 'SOURCE': '10.0.2.2', 'HOST': 'www.example.com', 'ADDRESS': '10.0.11.2', 'PORT': '80', 'PATH': ''})
    fabric.servers[0].kill()
    daemon.wait_state('web1', 'down')
    home.adopt(daemon)
    assert 'connection refused' in home.run('troubleshooting.md#the-guard-is-active')
    assert 'maglevd' in home.run('upgrading.md#upgrading')


def test_vips_from_the_side_of_clients(desk, plane, terminal):
    client = desk(plane.client, hosts=HOSTS)
    client.link('/etc/maglev/maglev.yaml', plane.daemon.path)
    batch = subprocess.Popen(client.command(block('testing.md#in-a-pipeline')), env=client.env)
    screen = terminal(client.command(block('testing.md#testing-vips')), env=client.env)
    screen.wait_text('198.51.100.10:80')
    screen.type('q')
    assert screen.end() == 0
    assert batch.wait(3 * PATIENCE) == 0
    assert json.loads(client.read('vips.json'))


def test_a_downgrade_of_the_data_plane(home, plane):
    """Removes maps and program, and starts another maglevd, which writes them again"""
    before = plane.balancer.program()
    home.run('xdp.md#upgrade')
    assert plane.daemon.end() == 0
    until(lambda: plane.balancer.program() not in (None, before), what='another XDP program')
    until(lambda: plane.answers(VIPS4[0]), what='an answer')
    home.say('systemctl stop maglevd')
