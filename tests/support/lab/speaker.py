# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker with FRR's daemons, frr-reloader, maglevd and BIRD as the peer."""
import json
import os
import re
import signal
import socket
import subprocess

from lab.api import Api, Service, as_json
from lab.bird import Bird
from lab.daemon import Daemon
from lab.frr import Frr
from lab.net import Namespace
from lab.process import Process
from lab.reloader import Reloader
from lab.wait import PATIENCE, until

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

    def config(self):
        """Of a maglevd with the frontend www."""
        names = {f's{i}': address for i, address in enumerate(self.addresses, 1)}
        check = {'type': 'tcp', 'port': self.port, 'interval': '100ms', 'timeout': '1s', 'rise': 1, 'fall': 1}
        return {'maglev': {
            'dataplane': 'none',
            'healthchecks': {'tcp': check},
            'backends': {name: {'address': address, 'healthcheck': 'tcp'} for name, address in names.items()},
            'frontends': {'www': {'address': VIP, 'protocol': 'tcp', 'port': 80,
                                  'pools': [{'name': 'all', 'backends': {name: {} for name in names}}]}}}}


class SpeakerApi(Api):
    service = Service('speaker.protoset')


class Speaker(Daemon):
    """maglev-speaker for one maglevd, one FRR and one peer; vip: more keys of the VIP."""

    def __init__(self, folder, frr, reloader, maglevd, args=(), peer=None, **vip):
        self.path, self.connections, self.api = os.path.join(folder, 'speaker.yaml'), [], None
        self.drains = os.path.join(folder, 'drains')
        self.peer, self.port_of_maglevd = peer or {}, maglevd.grpc_port()
        self.write(**vip)
        super().__init__(folder, 'maglev-speaker', '--config', self.path, '--grpc-addr', '127.0.0.1:0', '--vty-dir', frr.run,
                         '--frr-conf', os.path.join(reloader.folder, 'frr.conf'), '--reloader-socket', reloader.socket,
                         '--retry', '500ms', '--drain-file', self.drains, *args)
        self.tls = '--grpc-tls-cert' in args

    def start(self, ready=True):
        super().start(ready)
        if ready and not self.tls:
            self.api = self.connect()
        return self

    def end(self, timeout=PATIENCE):
        while self.connections:
            self.connections.pop().close()
        return super().end(timeout)

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

    def connect(self, **how):
        """A connection to its API, which is closed with the process."""
        self.connections.append(SpeakerApi(self.port_of('grpc'), **how))
        return self.connections[-1]

    def call(self, method, **fields):
        """The answer as JSON."""
        return as_json(self.api.call(method, **fields))

    def vip(self, name='www'):
        return self.call('GetAnnouncement', vip=name)

    def session(self):
        return self.call('ListSessions')['sessions'][0]

    def wait_vip(self, **wanted):
        until(lambda: all(self.vip()[key] == value for key, value in wanted.items()), what=f'a VIP with {wanted}')


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
