# SPDX-License-Identifier: Apache-2.0
"""maglev-speaker as a member of a group on a local network, without FRR."""
import json
import os
import signal

from lab.daemon import Daemon
from lab.heartbeats import KEY
from lab.segment import VIP4, VIP6

VIPS = {'v4': VIP4, 'v6': VIP6}


class Member(Daemon):
    """group, vip: more keys of the group and of each VIP. more: more mappings of the file. of_vip: {name: keys} of one VIP."""

    def __init__(self, folder, name='a', key=KEY, vips=None, vip=None, more=None, group=None, **options):
        self.path, self.key_path = os.path.join(folder, 'speaker.yaml'), os.path.join(folder, 'l2.key')
        self.socket, self.frr_conf = os.path.join(folder, 'speaker.sock'), os.path.join(folder, 'frr.conf')
        self.member, self.vips, self.vip, self.more, self.group = name, vips or VIPS, vip or {}, more or {}, group or {}
        self.of_vip = {}
        self.write_key(key)
        self.write()
        super().__init__(folder, 'maglev-speaker', '--config', self.path, '--socket', self.socket, '--frr-conf', self.frr_conf,
                         '--vty-dir', os.path.join(folder, 'no-frr'), '--reloader-socket', os.path.join(folder, 'no-reloader'),
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
