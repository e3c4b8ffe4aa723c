# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker on a balancer with FRR, frr-reloader and maglevd, and the routers that it announces to."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile

from lab.api import Api, Service, as_json
from lab.bird import Bird
from lab.daemon import Daemon
from lab.frr import Frr
from lab.maglevd import Maglevd
from lab.net import Namespace
from lab.process import Process, Running
from lab.programs import BUILD
from lab.reloader import Reloader
from lab.wait import PATIENCE, until

OURS, THEIRS = '10.0.0.1', '10.0.0.2'
OURS6, THEIRS6 = 'fd00::1', 'fd00::2'
VIP, ROUTE = '198.51.100.10', '198.51.100.10/32'

BIRD = f'''
log stderr all;
router id {THEIRS};
protocol device {{ }}
protocol bgp speaker {{
  local {THEIRS} as 64513;
  neighbor {OURS} as 64512;
  hold time 9;
  error wait time 1, 1;
  strict bind;
  debug {{ routes }};
  ipv4 {{ import all; export none; }};
}}
'''


class Peer(Bird):
    """The router that is announced to."""

    def start(self, stdout=None):
        return super().start(subprocess.DEVNULL)

    def check_words(self):
        """It logs to standard error."""

    def route(self, prefix=ROUTE, table='master4'):
        """Its attributes; None: there is none."""
        return self.routes(table).get(prefix)

    def withdrawals(self):
        """Received since it started."""
        return int(re.search(r'Import withdraws:\s+(\d+)', self.ask('show protocols all speaker'))[1])

    def wait(self, prefix=ROUTE, there=True, table='master4'):
        """Returns the attributes of a route, once it is there."""
        until(lambda: (self.route(prefix, table) is not None) == there,
              what=f'{prefix} {"at" if there else "gone from"} the peer')
        return self.route(prefix, table)

    def history(self, prefix=ROUTE):
        """What happened to a route since the start: 'added', 'updated', 'removed', ... A second update that says the same
        is nothing."""
        verbs = re.findall(rf' speaker\.ipv4 > (\w+) .*{re.escape(prefix)} ', self.said())
        return [verb for verb in verbs if verb != 'ignored']


class Servers:
    """Listeners on loopback that health checks of maglevd see; all have one port."""

    def __init__(self, n=2):
        self.addresses = [f'127.0.0.{i + 1}' for i in range(n)]
        first = socket.create_server((self.addresses[0], 0))
        self.port = first.getsockname()[1]
        self.sockets, self.held = {self.addresses[0]: first}, {}
        for address in self.addresses[1:]:
            self.up(address)

    def up(self, address):
        if address in self.held:
            self.held.pop(address).close()
        self.sockets[address] = socket.create_server((address, self.port))

    def down(self, address):
        """Connections are refused, and nobody else gets the port meanwhile."""
        self.sockets.pop(address).close()
        self.held[address] = it = socket.socket()
        it.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        it.bind((address, self.port))

    def close(self):
        for one in [*self.sockets.values(), *self.held.values()]:
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


class SpeakerApi(Api):
    service = Service('speaker.protoset')


class Speaker(Daemon):
    """maglev-speaker for one maglevd, one FRR and one peer; vip: more keys of the VIP. sections: more entries of the
    sections of its file, by name."""

    def __init__(self, folder, frr, reloader, maglevd, args=(), peer=None, sections=None, build=BUILD, **vip):
        self.path, self.connections, self.api = os.path.join(folder, 'speaker.yaml'), [], None
        self.drains = os.path.join(folder, 'drains')
        self.peer, self.port_of_maglevd, self.sections = peer or {}, maglevd.grpc_port(), sections or {}
        self.write(**vip)
        super().__init__(folder, 'maglev-speaker', '--config', self.path, '--grpc-addr', '127.0.0.1:0', '--vty-dir', frr.run,
                         '--frr-conf', os.path.join(reloader.folder, 'frr.conf'), '--reloader-socket', reloader.socket,
                         '--retry', '500ms', '--drain-file', self.drains, *args, build=build)
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
        for name, entries in self.sections.items():
            config['speaker'].setdefault(name, {}).update(entries)
        with open(self.path + '.new', 'w', encoding='ascii') as file:
            file.write(text or json.dumps(config))
        os.rename(self.path + '.new', self.path)

    def reload(self, text=None, **vip):
        """Replaces the file and sends SIGHUP."""
        since = self.mark()
        self.write(text, **vip)
        self.signal(signal.SIGHUP)
        return since

    # ---- its state ----

    def connect(self, **how):
        """A connection to its API, which is closed with the process."""
        self.connections.append(SpeakerApi(self.port_of('grpc'), **how))
        return self.connections[-1]

    def call(self, method, **fields):
        """The answer as JSON."""
        return as_json(self.api.call(method, **fields))

    def vips(self):
        return self.call('ListAnnouncements')['announcements']

    def vip(self, name='www'):
        return self.call('GetAnnouncement', vip=name)

    def wait_vip(self, name='www', **wanted):
        until(lambda: all(self.vip(name)[key] == value for key, value in wanted.items()),
              what=f'a VIP {name} with {wanted}')

    def maglevd(self, name='a'):
        return next(one for one in self.call('GetSpeaker')['maglevds'] if one['name'] == name)

    def frr(self):
        """What it asked of the reloader."""
        return self.api.call('GetSpeaker').frr

    def sessions(self):
        return self.call('ListSessions')['sessions']

    def session(self, peer='tor'):
        return next(session for session in self.sessions() if session['peer'] == peer)

    def wait_session(self, peer='tor', **wanted):
        until(lambda: all(self.session(peer)[key] == value for key, value in wanted.items()),
              what=f'a session with {peer} that has {wanted}')

    def drain(self, vip='www'):
        self.call('DrainVIP', vip=vip)

    def undrain(self, vip='www'):
        self.call('UndrainVIP', vip=vip)


class Site:
    """A balancer with FRR and maglevd, and its peer."""

    def __init__(self, n=2, conf=BIRD, addresses=(), system=None, build=BUILD):
        """n: servers; conf: BIRD's; addresses: more of the peer; system: whose FRR; build: of speaker and reloader."""
        self.build = build
        self.processes, self.folders = Running(), []
        self.names = Namespace('l'), Namespace('r')
        self.names[0].ip(f'link add veth type veth peer name veth netns {self.names[1].name}', 'link set veth up',
                         f'addr add {OURS}/24 dev veth')
        self.names[1].ip('link set veth up', *(f'addr add {one} dev veth' for one in (f'{THEIRS}/24', *addresses)))
        self.names[0].ip(f'addr add {OURS6}/64 dev veth nodad')
        self.names[1].ip(f'addr add {THEIRS6}/64 dev veth nodad')
        self.frr = Frr(self.names[0], system=system).start()
        self.bird = self.add(Peer(self.folder(), self.names[1], conf)).start()
        self.reloader = self.add(Reloader(self.folder(), self.frr, build=build)).start()
        self.servers = Servers(n)
        self.maglevd = self.add(Maglevd(self.folder(), self.servers.config())).start()
        self.speaker = None

    def folder(self):
        """A new one, readable for every user."""
        self.folders.append(tempfile.mkdtemp(prefix='maglev-story.'))
        os.chmod(self.folders[-1], 0o755)
        return self.folders[-1]

    def add(self, process):
        """Takes a process that is about to be started; in the end it is stopped and looked at."""
        return self.processes.add(process)

    def speak(self, *args, **how):
        """Starts the speaker; returns when the peer has the route."""
        self.speaker = self.add(Speaker(self.folder(), self.frr, self.reloader, self.maglevd, args, build=self.build, **how)
                                ).start()
        self.bird.wait()
        return self.speaker

    def restart_maglevd(self, port, which=None):
        """After its end; on the port that the speaker knows."""
        command = [*(which or self.maglevd).command, '--grpc-addr', f'127.0.0.1:{port}']
        self.add(Process(self.folder(), 'maglevd-again', command)).start(subprocess.DEVNULL)

    def all_down(self):
        for address in list(self.servers.sockets):
            self.servers.down(address)

    def close(self):
        try:
            self.processes.stop()
        finally:
            self.servers.close()
            self.frr.close()
            for name in self.names:
                name.delete()
            for path in self.folders:
                shutil.rmtree(path)
