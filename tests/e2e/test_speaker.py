# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker with FRR's daemons, frr-reloader, maglevd and BIRD as the peer: what the peer sees of a VIP."""
import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess

import pytest

from lab import PATIENCE, Daemon, Frr, Process, program, until
from lab.bird import Bird
from lab.net import Namespace

OURS, THEIRS = '10.0.0.1', '10.0.0.2'
VIP, ROUTE = '198.51.100.10', '198.51.100.10/32'


BIRD = '''
router id {theirs};
protocol device {{ }}
protocol bgp speaker {{
  local {theirs} as 64513;
  neighbor {ours} as 64512;
  hold time 9;
  error wait time 1, 1;
  ipv4 {{ import all; export none; }};
}}
'''


class Peer(Bird):
    """The router that is announced to."""

    def __init__(self, folder, namespace):
        super().__init__(folder, namespace, BIRD.format(theirs=THEIRS, ours=OURS))

    def start(self, stdout=None):
        return super().start(subprocess.DEVNULL)

    def check_words(self):
        """It logs to standard error."""

    def route(self, prefix=ROUTE):
        """Its attributes; None: there is none."""
        return self.routes('master4').get(prefix)

    def withdrawals(self):
        """Received since it started."""
        return int(re.search(r'Import withdraws:\s+(\d+)', self.ask('show protocols all speaker'))[1])

    def wait(self, prefix=ROUTE, there=True):
        """Returns the attributes of a route, once it is there."""
        until(lambda: (self.route(prefix) is not None) == there, what=f'{prefix} {"at" if there else "gone from"} the peer')
        return self.route(prefix)


class Servers:
    """Listeners on loopback that health checks of maglevd see; all have one port."""

    def __init__(self, n=2):
        self.addresses = [f'127.0.0.{i + 1}' for i in range(n)]
        first = socket.create_server((self.addresses[0], 0))
        self.port = first.getsockname()[1]
        self.sockets = {self.addresses[0]: first}
        for address in self.addresses[1:]:
            self.up(address)

    def up(self, address):
        self.sockets[address] = socket.create_server((address, self.port))

    def down(self, address):
        self.sockets.pop(address).close()

    def close(self):
        for one in self.sockets.values():
            one.close()

    def config(self, warmup='0s'):
        """Of a maglevd with the frontend www."""
        names = {f's{i}': address for i, address in enumerate(self.addresses, 1)}
        check = {'type': 'tcp', 'port': self.port, 'interval': '100ms', 'timeout': '1s', 'rise': 1, 'fall': 1}
        return {'maglev': {
            'dataplane': 'none',
            'vpp': {'lb': {'startup-min-delay': warmup}},
            'healthchecks': {'tcp': check},
            'backends': {name: {'address': address, 'healthcheck': 'tcp'} for name, address in names.items()},
            'frontends': {'www': {'address': VIP, 'protocol': 'tcp', 'port': 80,
                                  'pools': [{'name': 'all', 'backends': {name: {} for name in names}}]}}}}


class Speaker(Daemon):
    """maglev-speaker for one maglevd, one FRR and one peer; vip: more keys of the VIP."""

    def __init__(self, folder, frr, reloader, maglevd, args=(), peer=None, **vip):
        self.path, self.socket = os.path.join(folder, 'speaker.yaml'), os.path.join(folder, 'speaker.sock')
        self.peer, self.port_of_maglevd = peer or {}, maglevd.grpc_port()
        self.write(**vip)
        super().__init__(folder, 'maglev-speaker', '--config', self.path, '--socket', self.socket, '--vty-dir', frr.run,
                         '--frr-conf', os.path.join(reloader.folder, 'frr.conf'), '--reloader-socket', reloader.socket,
                         '--retry', '500ms', *args)

    def write(self, text=None, **vip):
        config = {'speaker': {
            'router': {'asn': 64512, 'router-id': OURS},
            'peers': {'tor': {'address': THEIRS, 'asn': 64513, 'connect-time': '1s', 'hold-time': '9s', **self.peer}},
            'advertisements': {'default': {'communities': ['64512:100'], 'med': 50}},
            'maglevds': {'a': {'address': f'127.0.0.1:{self.port_of_maglevd}'}},
            'vips': {'www': {'address': VIP, 'frontends': ['a/www'], **vip}}}}
        with open(self.path + '.new', 'w', encoding='ascii') as file:
            file.write(text or json.dumps(config))
        os.rename(self.path + '.new', self.path)

    def reload(self, text=None, **vip):
        """Replaces the file and sends SIGHUP."""
        since = self.mark()
        self.write(text, **vip)
        self.signal(signal.SIGHUP)
        return since

    def call(self, method, path):
        connection = http.client.HTTPConnection('speaker', timeout=PATIENCE)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self.socket)
        connection.request(method, path)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def state(self):
        status, text = self.call('GET', '/state')
        assert status == 200, text
        return json.loads(text)

    def vip(self):
        return self.state()['vips'][0]

    def wait_vip(self, **wanted):
        until(lambda: all(self.vip()[key] == value for key, value in wanted.items()), what=f'a VIP with {wanted}')


class Reloader(Daemon):
    def __init__(self, folder, frr):
        self.socket = os.path.join(folder, 'frr-reloader.sock')
        super().__init__(folder, 'frr-reloader', '--shared-volume', folder, '--config', os.path.join(folder, 'frr.conf'),
                         '--pathspace', frr.pathspace)


class Site:
    """A balancer with FRR and maglevd, and its peer."""

    def __init__(self, running, folders, start, n=2):
        self.running, self.folders = running, folders
        self.names = Namespace('l'), Namespace('r')
        self.names[0].ip(f'link add veth type veth peer name veth netns {self.names[1].name}', 'link set veth up',
                         f'addr add {OURS}/24 dev veth')
        self.names[1].ip('link set veth up', f'addr add {THEIRS}/24 dev veth')
        self.frr = Frr(self.names[0]).start()
        self.bird = running(Peer(folders(), self.names[1])).start()
        self.reloader = running(Reloader(folders(), self.frr)).start()
        self.servers = Servers(n)
        self.maglevd = start(self.servers.config())
        self.speaker = None

    def speak(self, *args, **how):
        """Starts the speaker; returns when the peer has the route and bgpd has sent the session its whole table."""
        self.speaker = self.running(Speaker(self.folders(), self.frr, self.reloader, self.maglevd, args, **how)).start()
        self.bird.wait()
        until(self.has_table, what='a session that has its whole table')
        return self.speaker

    def has_table(self):
        """Whether bgpd has sent the session its whole table, which takes a second. Until then FRR 8.4 loses a withdrawal
        if a route map takes effect at the same time."""
        return 'End-of-RIB send: IPv4 Unicast' in self.frr.ask(f'show bgp neighbors {THEIRS}')

    def restart_maglevd(self, port):
        """After its end; on the port that the speaker knows."""
        command = [*self.maglevd.command, '--grpc-addr', f'127.0.0.1:{port}']
        self.running(Process(self.folders(), 'maglevd-again', command)).start(subprocess.DEVNULL)

    def all_down(self):
        for address in list(self.servers.sockets):
            self.servers.down(address)

    def close(self):
        self.servers.close()
        self.frr.close()
        for name in self.names:
            name.delete()


@pytest.fixture
def site(running, folders, start):
    it = Site(running, folders, start)
    yield it
    it.close()


# ---- a VIP follows its frontend ----

def test_a_route_follows_its_frontend(site):
    speaker = site.speak()
    route = site.bird.wait()
    assert (route['community'], route['med'], route['as_path']) == ('(64512,100)', '50', '64512')
    assert speaker.vip()['state'] == 'announced' and speaker.vip()['reason'] == 'frontend-up'
    site.all_down()
    site.bird.wait(there=False)
    assert speaker.vip()['reason'] == 'frontend-down' and speaker.vip()['culprit'] == 'a/www'
    site.servers.up(site.servers.addresses[0])
    site.bird.wait()
    assert speaker.wait('vip-transition', to='withdrawn')['reason'] == 'frontend-down'


def test_it_comes_back_after_min_up(site):
    speaker = site.speak(**{'min-up': '1s'})
    site.all_down()
    site.bird.wait(there=False)
    since = speaker.mark()
    site.servers.up(site.servers.addresses[0])
    speaker.wait_vip(state='withdrawn', reason='waiting')
    site.bird.wait()
    up = speaker.wait('vip-transition', since, to='announced')
    transitions = site.maglevd.all('frontend-transition', to='up')
    assert up['time'] > transitions[-1]['time']


def test_a_maglevd_that_is_gone_holds_the_route_for_a_time(site):
    speaker = site.speak(hold='2s')
    site.maglevd.kill()
    speaker.wait_vip(state='announced', reason='maglevd-unreachable')
    assert site.bird.route()
    site.bird.wait(there=False)
    assert speaker.vip()['reason'] == 'maglevd-lost'


def test_a_restart_of_maglevd_withdraws_nothing(site):
    speaker = site.speak(**{'min-servers': 2})
    port = site.maglevd.grpc_port()
    site.maglevd.kill()
    speaker.wait_vip(reason='maglevd-unreachable')
    site.restart_maglevd(port)
    speaker.wait_vip(state='announced', reason='frontend-up')
    assert site.bird.withdrawals() == 0
    assert not speaker.all('vip-transition', to='withdrawn')


def test_servers_that_are_not_probed_yet_withdraw_nothing(site):
    """The second server accepts connections and answers no request, so its first result takes the whole timeout."""
    speaker = site.speak(**{'min-servers': 2})
    port, config = site.maglevd.grpc_port(), site.servers.config()
    config['maglev']['healthchecks']['slow'] = {'type': 'http', 'port': site.servers.port, 'interval': '3s', 'timeout': '3s',
                                                'params': {'path': '/'}}
    config['maglev']['backends']['s2']['healthcheck'] = 'slow'
    site.maglevd.kill()
    site.maglevd.write(config)
    since = speaker.mark()
    site.restart_maglevd(port)
    speaker.wait('maglevd-connected', since)
    vip = speaker.vip()
    assert (vip['state'], vip['reason']) == ('announced', 'maglevd-unreachable')
    assert site.bird.withdrawals() == 0
    site.bird.wait(there=False)
    assert speaker.vip()['reason'] == 'few-servers'


def test_a_vip_is_announced_when_the_data_plane_has_it(site):
    """Servers are up at once, but nothing is written in the warm-up: packets would have nowhere to go."""
    site.maglevd.kill()
    site.maglevd.write(site.servers.config(warmup='2s'))
    mark = site.maglevd.mark()
    site.maglevd.start()
    speaker = site.speak()
    up = site.maglevd.wait('frontend-transition', mark, to='up')
    written = site.maglevd.wait('lb-sync-vip', mark)
    announced = speaker.wait('vip-transition', to='announced')
    assert up.at < written.at < announced.at


# ---- restarts ----

def test_a_restart_of_the_speaker_withdraws_nothing(site):
    speaker = site.speak()
    for end in (speaker.kill, speaker.stop):
        end()
        assert site.bird.route()
        speaker.start()
        assert speaker.wait('adopted', speaker._began)['vips'] == 1
        speaker.wait_vip(state='announced', reason='frontend-up')
    site.all_down()
    site.bird.wait(there=False)
    assert site.bird.withdrawals() == 1


def test_a_speaker_that_starts_while_all_is_down_withdraws(site):
    speaker = site.speak()
    speaker.kill()
    site.all_down()
    site.maglevd.wait('frontend-transition', to='down')
    speaker.start()
    site.bird.wait(there=False)


def test_a_restart_of_the_reloader_withdraws_nothing(site):
    speaker = site.speak()
    site.reloader.kill()
    since = speaker.mark()
    site.all_down()
    speaker.wait('frr-refused', since)
    assert site.bird.route() and not speaker.state()['reload']['current']
    site.reloader.start()
    site.bird.wait(there=False)
    site.servers.up(site.servers.addresses[0])
    site.bird.wait()
    assert site.bird.withdrawals() == 1


# ---- fewer servers, worse routes, drains ----

def test_too_few_servers(site):
    speaker = site.speak(**{'min-servers': 2})
    site.servers.down(site.servers.addresses[1])
    site.bird.wait(there=False)
    assert speaker.vip()['reason'] == 'few-servers'
    assert speaker.vip()['frontends'][0]['servers'] == 1
    site.servers.up(site.servers.addresses[1])
    site.bird.wait()


def test_worse_instead_of_withdrawn(site):
    speaker = site.speak(**{'when-down': 'worse', 'worse': {'med': 1000, 'prepend': 3}})
    site.all_down()
    until(lambda: site.bird.route()['med'] == '1000', what='a worse MED')
    assert site.bird.route()['as_path'] == '64512 64512 64512 64512'
    assert speaker.vip()['state'] == 'worse'
    site.servers.up(site.servers.addresses[0])
    until(lambda: site.bird.route()['med'] == '50', what='the usual MED')
    assert site.bird.withdrawals() == 0


def test_a_drain_moves_traffic_away_first(site):
    speaker = site.speak(**{'drain-time': '1s'})
    assert stat.S_IMODE(os.stat(speaker.socket).st_mode) == 0o600
    assert speaker.call('POST', '/vips/www/drain')[0] == 200
    until(lambda: '(65535,0)' in (site.bird.route() or {}).get('community', ''), what='graceful shutdown at the peer')
    assert site.bird.withdrawals() == 0
    site.bird.wait(there=False)
    assert speaker.vip()['reason'] == 'drained' and speaker.vip()['drained']
    assert speaker.call('POST', '/vips/www/undrain')[0] == 200
    assert site.bird.wait()['community'] == '(64512,100)'
    assert speaker.call('POST', '/vips/none/drain')[0] == 404
    assert speaker.call('POST', '/vips/www/stop')[0] == 404
    assert speaker.ask('POST', '/vips/www/drain').status == 404  # only over the Unix socket


# ---- the file ----

def test_a_file_with_mistakes_changes_nothing(site):
    speaker = site.speak()
    since = speaker.reload('speaker: { router: { asn: 0 } }')
    assert speaker.wait('config-error', since)['key'] == 'speaker.router.asn'
    speaker.wait('config-reload-failed', since, phase='semantic')
    speaker.wait_metric('maglev_speaker_config_reloads_total', 1, result='failure')
    assert site.bird.withdrawals() == 0 and site.bird.route()
    since = speaker.reload(address='198.51.100.11')
    speaker.wait('config-loaded', since)
    site.bird.wait('198.51.100.11/32')
    site.bird.wait(there=False)


def test_the_example_passes_the_check():
    path = os.path.join(os.path.dirname(__file__), '../../deploy/examples/speaker.yaml')
    done = subprocess.run([program('maglev-speaker'), '--check', '--config', path], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f'{path}: ok\n', '')


def test_check_has_an_exit_status(folders):
    path = os.path.join(folders(), 'speaker.yaml')
    for text, status in (('speaker: { router: { asn: 1 } }', 0), ('speaker: { router: [] }', 1),
                         ('speaker: { router: { asn: 0 } }', 2)):
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        done = subprocess.run([program('maglev-speaker'), '--check', '--config', path], capture_output=True, text=True)
        assert done.returncode == status
        assert (f'{path}:1:' in done.stderr) == (status > 0)


# ---- what it shows ----

def test_sessions_and_metrics(site):
    speaker = site.speak()
    assert speaker.get('/readyz') == (200, 'ok\n')
    until(lambda: speaker.state()['sessions'][0]['prefixes_sent'] == 1, what='the session in the state')
    session = json.loads(speaker.get('/state')[1])['sessions'][0]
    assert session['peer'] == 'tor' and session['up'] and session['state'] == 'Established'
    metrics = speaker.metrics()
    assert metrics.one('metallb_bgp_session_up', peer=f'{THEIRS}:179', vrf='') == 1
    assert metrics.one('metallb_bgp_announced_prefixes_total', peer=f'{THEIRS}:179', vrf='') == 1
    assert metrics.one('maglev_speaker_vip_state', vip='www', state='announced', reason='frontend-up') == 1
    assert metrics.one('maglev_speaker_maglevd_connected', maglevd='a') == 1
    site.bird.kill()
    speaker.wait('session-down', peer='tor')
    speaker.wait_metric('metallb_bgp_session_up', 0, peer=f'{THEIRS}:179', vrf='')


def test_bgpd_is_told_again_after_its_restart(site):
    speaker = site.speak()
    site.frr.kill('bgpd')
    until(lambda: speaker.state()['problem'], what='a problem in the state')
    since = speaker.mark()
    site.frr.start_daemon('bgpd')
    site.frr.load(site.frr.saved())  # as watchfrr does
    speaker.wait('bgpd-restarted', since)
    speaker.wait('frr-applied', since)
    until(lambda: site.bird.is_established('speaker') and site.bird.route(), what='the route after the restart')
