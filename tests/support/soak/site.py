# SPDX-License-Identifier: Apache-2.0
"""The first half of the soak's lab: lab.ecmp.Pair, with two maglev-routers behind a VIP of their own, and its faults.
"""
import json
import os
import shutil
import subprocess

from lab import fabric
from lab.config import Check, config, frontend, pool
from lab.daemon import Daemon
from lab.ecmp import OURS, VIPS, Pair
from lab.upgrades import Upgrades
from lab.wait import PATIENCE, until
from soak import load
from soak.faults import EDGES, NODES, SERVERS
from soak.means import replace
from soak.site_acts import VIP, Acts

SHOP = fabric.VIPS4[1]
ANNOUNCED = {**VIPS, 'shop': SHOP}
WEB = {name: f'10.0.{11 + n}.2' for n, name in enumerate(SERVERS)}
CHECK = Check(port=80, interval=0.2, fast=0.1, down=0.2, timeout=1.5, params={'path': '/healthz'})
KNOCK = Check(type='tcp', port=80, interval=0.2, fast=0.1, down=0.2, timeout=1.5)
BOOT = 4 * PATIENCE  # s; a balancer that boots: FRR is configured by frr-reload.py
DISK = '4m'
BFD_MS = 500


def configure(balancer, interval=None):
    check = Check(**{**vars(CHECK), 'interval': interval or CHECK.interval})
    servers = {**{name: (address, 'web') for name, address in WEB.items()},
               **{name: (f'10.0.{15 + n}.2', 'port') for n, name in enumerate(EDGES)}}
    return config({'web': check, 'port': KNOCK}, servers, {
        **{name: frontend(vip, pool('all', *WEB)) for name, vip in VIPS.items()}, 'shop': frontend(SHOP, pool('all', *EDGES))},
        dataplane='xdp', xdp=balancer.xdp(), lb={**balancer.sources(), 'startup-min-delay': '3s', 'startup-max-delay': '10s'})


class EdgeRouter(Upgrades, Daemon):
    listener = 'admin'


class Edge(fabric.Server):
    """The machine of a maglev-router: a server as balancers see it. A request that a web server did not answer is tried at another one."""

    def __init__(self, of, number, level):
        super().__init__(of, number)
        self.label = f'rt{number - 4}'
        folder = os.path.join(of.folder, self.label)
        os.mkdir(folder)
        self.file = os.path.join(folder, 'router.json')
        replace(self.file, self.document())
        self.router = EdgeRouter(folder, 'maglev-router', '--config', self.file, '--threads', '1', '--admin-addr', '127.0.0.1:0',
                                 '--grpc-addr', '', metrics=None, level=level, namespace=self)

    @staticmethod
    def document(mark='0'):
        return {'listeners': [{'name': 'http', 'address': ':80'}],
                'routes': [{'name': 'shop', 'host': 'shop.example', 'pool': 'shop', 'timeouts': {'backend': '2s'},
                            'retry': {'attempts': 3, 'codes': [502, 504]}, 'filters': {'response_headers': {'set': {'X-Mark': mark}}}}],
                'pools': [{'name': 'shop', 'servers': [f'{one}:80' for one in WEB.values()], 'limits': {'retries': 100},
                           'probe': {'path': '/healthz', 'interval': '1s', 'timeout': '1s'}}]}


class Site(Acts):
    name = 'site'
    kinds = ('new', 'open', 'shop')

    def __init__(self, level='info'):
        self.pair = Pair(configure, level=level, vips=ANNOUNCED, bfd_ms=BFD_MS, **VIP)
        self.fabric = self.pair.fabric
        self.edges = {name: Edge(self.fabric, 5 + n, level) for n, name in enumerate(EDGES)}
        self.servers = {server.label: server for server in self.fabric.servers}
        self.nodes, self.open = dict(zip(NODES, self.pair.nodes)), None
        for node in self.nodes.values():
            self._small_disk(node.folder)
            node.maglevd.command += ['--override-file', os.path.join(node.folder, 'overrides')]

    @staticmethod
    def _small_disk(folder):
        """Puts what is in a folder on a file system of its own."""
        kept = folder + '.kept'
        os.rename(folder, kept)
        os.mkdir(folder)
        subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={DISK}', 'soak', folder], check=True)
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        shutil.rmtree(kept)

    # ---- life ----

    def start(self):
        for edge in self.edges.values():
            edge.router.start()
        self.pair.start()
        self.heal()
        return self

    def press(self, pressure, rate=1):
        """Starts the clients; rate: of 100 requests a second."""
        client = self.fabric.client
        for vip in VIPS.values():
            pressure.add('new', load.new(client, vip), 2, load.PAUSE / rate)
        pressure.add('shop', load.shop(client, SHOP), 2, load.PAUSE / rate)
        self.open = load.Open(pressure, client, *VIPS.values(), n=round(50 * min(rate, 1)))

    def heal(self):
        """Waits until all of it is whole: both balancers carry traffic, and use all servers."""
        self.pair.router.wait_next_hops(*self.fabric.balancers)
        for node in self.nodes.values():
            until(lambda: set(node.speaker.states().values()) == {'announced'}, BOOT, f'VIPs of {node.number} that are announced')
            until(lambda: self._ups(node) == len(WEB) + len(EDGES), BOOT, f'all servers of {node.number}')
            until(lambda: self._warm(node) == len(ANNOUNCED), BOOT, f'the end of the warm-up of {node.number}')
            until(lambda: self._synced(node), BOOT, f'a data plane of {node.number} that uses all of them')
        dead = [role for role, pid in self.pids().items() if not os.path.exists(f'/proc/{pid}')]
        assert not dead, f'{dead} did not come back'
        if self.open:
            self.open.refill()

    @staticmethod
    def configure(node, other):
        """The file of maglevd; other: with a change that matters little."""
        return configure(node.balancer, 0.3 if other else None)

    @staticmethod
    def _ups(node):
        return sum(value for _, value in node.maglevd.metrics().of('maglev_backend_state', state='up'))

    @staticmethod
    def _warm(node):
        """Frontends whose warm-up is over: before that no weight is lowered, so a server that dies is not taken out."""
        return sum(line['frontends'] for line in node.maglevd.all('warmup-released', node.maglevd._began))

    def _synced(self, node):
        """A server is up some milliseconds before the data plane uses it."""
        said = self._maglevc(node, '-o', 'json', 'sync', 'lb', 'state', 'plan')
        return said.returncode == 0 and not json.loads(said.stdout)['operations']

    def pids(self):
        """{role: pid}"""
        found = {f'{name} {number}': node.process(name).pid for number, node in self.nodes.items()
                 for name in (*OURS, *node.frr.processes)}
        return {**found, **{f'router {name}': edge.router.pid for name, edge in self.edges.items()}}

    def daemons(self):
        """{role: program} of ours: their lines must be flat."""
        found = {f'{name} {number}': getattr(node, name) for number, node in self.nodes.items() for name in OURS}
        return {**found, **{f'router {name}': edge.router for name, edge in self.edges.items()}}

    def close(self):
        if self.open:
            self.open.close()
        for edge in self.edges.values():
            self.pair.running.add(edge.router)
        try:
            self.pair.close()
        finally:
            self.fabric.close()
