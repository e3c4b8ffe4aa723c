# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker as a member of a group on a local network, without FRR."""
import json
import os
import signal
import socket
import threading

from lab.api import as_json
from lab.daemon import Daemon
from lab.heartbeats import KEY
from lab.segment import VIP4, VIP6
from lab.speaker import SpeakerApi
from lab.wait import PATIENCE, until

VIPS = {'v4': VIP4, 'v6': VIP6}


class Tunnel:
    """A port of ours that leads to a port inside a namespace."""

    def __init__(self, namespace, port):
        self.namespace, self.there = namespace, ('127.0.0.1', port)
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port, self.sockets = self.listener.getsockname()[1], []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                pair = self.listener.accept()[0], self.namespace.inside(socket.create_connection, self.there)
            except OSError:
                return
            self.sockets += pair
            for one, other in (pair, pair[::-1]):
                threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    @staticmethod
    def _pump(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        for one in (self.listener, *self.sockets):
            one.close()


class Member(Daemon):
    """group, vip: more keys of the group and of each VIP. more: more mappings of the file. of_vip: {name: keys} of one VIP."""

    def __init__(self, folder, name='a', key=KEY, vips=None, vip=None, more=None, group=None, **options):
        self.path, self.key_path = os.path.join(folder, 'speaker.yaml'), os.path.join(folder, 'l2.key')
        self.frr_conf, self.tunnel, self.api = os.path.join(folder, 'frr.conf'), None, None
        self.member, self.vips, self.vip, self.more, self.group = name, vips or VIPS, vip or {}, more or {}, group or {}
        self.of_vip = {}
        self.write_key(key)
        self.write()
        super().__init__(folder, 'maglev-speaker', '--config', self.path, '--grpc-addr', '127.0.0.1:0', '--frr-conf', self.frr_conf,
                         '--vty-dir', os.path.join(folder, 'no-frr'), '--reloader-socket', os.path.join(folder, 'no-reloader'),
                         '--drain-file', os.path.join(folder, 'drains'),
                         **options)

    def write_key(self, key):
        with open(self.key_path, 'w', encoding='utf-8') as file:
            file.write(key + '\n')
        os.chmod(self.key_path, 0o640)

    def write(self):
        config = {'name': self.member, **self.more,
                  'l2': {'lan': {'interface': 'eth0', 'key-file': self.key_path, **self.group}},
                  'vips': {name: {'address': address, 'l2': 'lan', **self.vip, **self.of_vip.get(name, {})}
                           for name, address in self.vips.items()}}
        with open(self.path + '.new', 'w', encoding='ascii') as file:
            json.dump({'speaker': config}, file)
        os.rename(self.path + '.new', self.path)

    def reload(self, **changes):
        """Changes attributes, writes the file, and waits until it is in force; returns the position in the log before."""
        since = self.mark()
        for name, value in changes.items():
            assert hasattr(self, name)
            setattr(self, name, value)
        self.write()
        self.signal(signal.SIGHUP)
        self.wait('config-loaded', since)
        return since

    def call(self, method, **fields):
        """The answer of its API as JSON."""
        if not self.api:
            self.tunnel = Tunnel(self.namespace, self.port_of('grpc'))
            self.api = SpeakerApi(self.tunnel.port)
        return as_json(self.api.call(method, **fields))

    def shown(self, vip='v4'):
        """The VIP as the API shows it."""
        return self.call('GetAnnouncement', vip=vip)

    def wait_shown(self, summary, vip='v4'):
        """Waits until the API says this of the VIP; returns all that it says."""
        until(lambda: self.shown(vip)['summary'] == summary, what=f'"{summary}" of {vip}')
        return self.shown(vip)

    def end(self, timeout=PATIENCE):
        if self.api:
            self.api.close()
            self.tunnel.close()
            self.api = None
        return super().end(timeout)

    def owns(self, since=0, reason=None):
        """Waits until it owns all VIPs; returns when the last was taken."""
        more = {'reason': reason} if reason else {}
        return max(self.wait('l2-transition', since, vip=vip, to='owner', **more).at for vip in self.vips)

    def yields(self, since=0, to='backup', **more):
        return max(self.wait('l2-transition', since, vip=vip, to=to, **{'from': 'owner'}, **more).at for vip in self.vips)

    def transitions(self, since=0):
        return self.all('l2-transition', since)

    def refused(self, reason):
        return self.metrics().one('maglev_speaker_l2_heartbeats_refused_total', group='lan', reason=reason)
