# SPDX-License-Identifier: Apache-2.0
"""maglevd with the XDP data plane on a balancer of a Fabric, and requests of a client through it."""
import json
import os
import subprocess

from lab import flows
from lab.config import Check, config, frontend, pool
from lab.fabric import VIPS4, VIPS6
from lab.programs import BUILD, program
from lab.wait import PATIENCE, until


class Balanced:
    """The servers web1, web2 ... by their IPv4 addresses, and web1v6 ... by their IPv6 ones. By default the
    four VIPs are the four mixes of families, with all servers in one pool each.
    """

    MIXES = {'www4': (VIPS4[0], ''), 'www46': (VIPS4[1], 'v6'), 'www6': (VIPS6[0], 'v6'), 'www64': (VIPS6[1], '')}

    def __init__(self, start, fabric, balancer, frontends=None, lb=None, xdp=None, check=None, **options):
        self.fabric, self.client, self.balancer, self._start = fabric, fabric.client, balancer, start
        self.check = check or Check(port=80, fast=0.05, params={'path': '/healthz'})
        servers = [server.label for server in fabric.servers]
        self.frontends = frontends or {name: frontend(vip, pool('all', *(server + kind for server in servers)))
                                       for name, (vip, kind) in self.MIXES.items()}
        self.lb, self.xdp, self.options = lb or {}, xdp or {}, options
        self.launch()

    def config(self):
        named = {name for f in self.frontends.values() for p in f['pools'] for name in p['backends']}
        backends = {}
        for server in self.fabric.servers:
            backends[server.label] = (server.address, 'check')
            backends[server.label + 'v6'] = (server.address6, 'check')
        return config({'check': self.check}, {k: v for k, v in backends.items() if k in named}, self.frontends,
                      dataplane='xdp', xdp=self.balancer.xdp(**self.xdp),
                      lb={**self.balancer.sources(), 'startup-max-delay': '10s', **self.lb})

    def begin(self):
        """Starts a new process with the same configuration; returns when it listens."""
        return self._start(self.config(), namespace=self.balancer, **self.options)

    def launch(self):
        """The same; returns when all servers have their weights."""
        self.daemon = self.begin()
        self.port = self.daemon.grpc_port()
        self.settle()
        return self

    def settle(self):
        """Waits until all VIPs answer: nothing is written for a frontend before all of its servers were probed."""
        until(lambda: sum(line['frontends'] for line in self.daemon.all('warmup-released')) == len(self.frontends),
              what='the end of the warm-up')
        for name in self.config()['maglev']['backends']:
            self.daemon.wait_state(name, 'up')
        until(self.is_written, what='the weights of all servers')
        for frontend_ in self.frontends.values():
            until(lambda vip=frontend_['address']: self.answers(vip), what=f'an answer of {frontend_["address"]}')

    def is_written(self):
        """Whether every VIP is there and every server has the weight that it should have: one may be up later than others."""
        done = subprocess.run(self.maglevc_command('-o', 'json', 'show', 'lb', 'state'), capture_output=True, text=True)
        vips = json.loads(done.stdout)['vips'] if done.returncode == 0 else []
        servers = [one for vip in vips for one in vip['application_servers']]
        return len(vips) == len(self.frontends) and all(one['weight'] == one['wanted_weight'] for one in servers)

    def answers(self, vip):
        """The name of the server that answers, or None."""
        try:
            return self.ask(vip)
        except OSError:
            return None

    def maglevc_command(self, *words):
        return self.balancer.command(program('maglevc'), '--server', f'127.0.0.1:{self.port}', *words)

    def maglevc(self, *words):
        """Runs a command that must succeed; returns what it prints."""
        done = subprocess.run(self.maglevc_command(*words), capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, f'{words}: {done.stdout}{done.stderr}'
        return done.stdout

    def json(self, *words):
        """What a command prints, which must succeed."""
        done = subprocess.run(self.maglevc_command('-o', 'json', *words), capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, f'{words}: {done.stderr}'
        return json.loads(done.stdout)

    def counters(self, vip, port=80):
        """The counters of a VIP, which maglevd reads every few seconds; the first reading may be older than the VIP."""
        def read():
            done = subprocess.run(self.maglevc_command('-o', 'json', 'show', 'lb', 'counters'), capture_output=True, text=True)
            vips = json.loads(done.stdout)['vips'] if done.returncode == 0 else []
            return next((one for one in vips if (one['address'], one['port']) == (vip, port)), None)
        return until(read, what=f'a reading of the counters of {vip}:{port}')

    def weigh(self, frontend_, backend, weight, pool_='all'):
        self.maglevc('set', 'frontend', frontend_, 'pool', pool_, 'backend', backend, 'weight', str(weight))

    def wait_synced(self, since):
        """Waits for the next write to the data plane."""
        return self.daemon.wait('lb-sync-vip', since)

    def ask(self, vip, **how):
        return flows.ask(self.client, vip, **how)

    def download(self, vip, size, **how):
        return flows.Download(self.client, vip, size, **how)

    def vips(self):
        return [one['address'] for one in self.frontends.values()]

    def carry(self, *sizes):
        """Downloads and uploads of these sizes through each VIP."""
        for vip in self.vips():
            for size in sizes:
                self.download(vip, size).finish()
                assert flows.upload(self.client, vip, size).startswith('web')

    def run_detach(self):
        maglevd = program(build=self.options.get('build', BUILD))
        command = self.balancer.command(maglevd, '--config', self.daemon.path, '--xdp-detach')
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)

    def detach(self):
        """Removes everything that outlives maglevd; returns the output of the program."""
        done = self.run_detach()
        # an older version also removes the folder
        gone = 'build' in self.options and not os.path.exists(self.balancer.pins)
        assert done.returncode == 0 and (gone or os.listdir(self.balancer.pins) == []), done.stdout + done.stderr
        until(lambda: self.balancer.program() is None, what='the end of the program')
        return done.stdout

    def end(self):
        self.daemon.stop()
        self.detach()
