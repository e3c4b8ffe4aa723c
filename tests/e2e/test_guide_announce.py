# SPDX-License-Identifier: Apache-2.0
"""The commands of announcing VIPs, of the way of a packet and of a reverse proxy, on a balancer with FRR, its router, and a
maglev-router behind it. All three run with the configurations of the pages."""
import contextlib
import os
import signal

import pytest

from lab import PATIENCE, Frr, until
from lab.guide import block, example
from lab.net import Namespace
from lab.reloader import Reloader
from lab.router import Server, echo
from lab.speaker import BIRD, OURS, THEIRS, Peer

BOOT = 3 * PATIENCE
# lb2 is another name of lb1 here
HOSTS = {'lb1': OURS, 'lb2': '10.0.0.3', 'rt1': '127.0.0.1'}
# two more VIPs than the page has, and a shorter drain
SPEAKER = example('announce.md', 'set-up').replace('min-up: 2s', 'min-up: 0s, drain-time: 1s') + \
    '    mail: { address: 198.51.100.11, frontends: [local/mail] }\n' \
    '    l7: { address: 198.51.100.20, frontends: [local/l7] }\n'
# both pools have a server that answers
ROUTER = example('router.md', 'set-up').replace('web.internal:9000', '10.0.1.5:8001')
CHECK = {'type': 'tcp', 'interval': '100ms', 'timeout': '1s', 'rise': 1, 'fall': 1}


def maglevd(port=80):
    """www and l7 lead to the router, mail to nobody. The data plane is the fake one."""
    vips = {'www': ('198.51.100.10', 'rt1'), 'mail': ('198.51.100.11', 'mail1'), 'l7': ('198.51.100.20', 'rt1')}
    return {'maglev': {
        'dataplane': 'vpp', 'lb': {'ipv4-src-address': OURS, 'ipv6-src-address': 'fd00::1', 'startup-min-delay': '0s', 'startup-max-delay': '1s'},
        'healthchecks': {'tcp': {**CHECK, 'port': port}, 'mail': {**CHECK, 'port': 25}},
        'backends': {'rt1': {'address': OURS, 'healthcheck': 'tcp'}, 'mail1': {'address': OURS, 'healthcheck': 'mail'}},
        'frontends': {name: {'address': address, 'protocol': 'tcp', 'port': port, 'pools': [{'name': 'all', 'backends': {backend: {}}}]}
                      for name, (address, backend) in vips.items()}}}


@pytest.fixture
def machine():
    """The balancer, with a link to its router."""
    here, there = Namespace('l'), Namespace('r')
    here.ip(f'link add veth type veth peer name veth netns {there.name}', 'link set veth up', f'addr add {OURS}/24 dev veth',
            'addr add 10.0.0.3/24 dev veth', 'addr add 10.0.1.5/32 dev lo')
    there.ip('link set veth up', f'addr add {THEIRS}/24 dev veth')
    here.router = there
    yield here
    here.delete()
    there.delete()


@pytest.fixture
def home(machine, desk):
    it = desk(machine, hosts=HOSTS)
    it.put('/etc/maglev/speaker.yaml', SPEAKER)
    it.put('/etc/maglev/router.yaml', ROUTER)
    return it


@pytest.fixture
def router(machine, home, start_daemon):
    """maglev-router with the file of the page, one server of which answers."""
    server = machine.inside(lambda: Server(echo, address='10.0.1.5', port=8001))
    it = start_daemon('maglev-router', '--config', home.path('/etc/maglev/router.yaml'), namespace=machine, metrics=None, ready=False)
    it.port_of('grpc')
    yield it
    server.close()


@pytest.fixture
def speaker(machine, home, running, start_fake, start_daemon, folders, router):
    frr = Frr(machine).start()
    running(Peer(folders(), machine.router, BIRD)).start()
    reloader = running(Reloader(folders(), frr, namespace=machine)).start()
    start_fake(maglevd(), grpc='0.0.0.0:9090', namespace=machine)
    it = start_daemon('maglev-speaker', '--config', home.path('/etc/maglev/speaker.yaml'), '--vty-dir', frr.run, '--frr-conf',
                      os.path.join(reloader.folder, 'frr.conf'), '--reloader-socket', reloader.socket, '--drain-file',
                      home.path('drains'), namespace=machine)
    for name in ('www', 'l7'):
        until(lambda: 'announced to tor1' in home.say(f'maglevc show announcements {name}'), BOOT, f'{name} being announced')
    yield it
    it.stop()
    frr.close()


def test_announcing_and_the_way_of_a_packet(home, speaker):
    said = home.run('announce.md#why-is-a-vip-announced-or-not')
    assert 'withdrawn: local/mail is down' in said and 'Established' in said
    home.run('announce.md#maintenance')
    speaker.wait('vip-transition', to='draining')
    until(lambda: 'announced to tor1' in home.say('maglevc show announcements www'), what='www being announced again')
    with contextlib.suppress(AssertionError):
        until(lambda: home.say(block('way-of-a-packet.md#the-way-of-a-packet'), None).count('\nwhole\n') == 2)
    assert home.run('way-of-a-packet.md#the-way-of-a-packet').count('\nwhole\n') == 2


def test_without_bgp(home):
    home.run('announce.md#without-bgp')
    assert len(home.read('/etc/maglev/l2.key')) == 45
    home.put('/etc/maglev/speaker.yaml', example('announce.md', 'without-bgp'))
    home.say('maglev-speaker --check')


def test_a_reverse_proxy(home, router):
    home.say('maglev-router --check --config /etc/maglev/router.yaml')
    assert 'to pool api' in home.run('router.md#what-happens-to-a-request')
    home.put('/etc/maglev/router.yaml', ROUTER.replace(', "10.0.1.6:8001"', ''))
    router.signal(signal.SIGHUP)
    until(lambda: '\n2 ' in home.say('maglevc show generations'), what='a second generation')
    assert 'generation 3 is in force' in home.run('router.md#changes-that-can-go-wrong')
