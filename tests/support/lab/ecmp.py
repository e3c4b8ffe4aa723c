# SPDX-License-Identifier: Apache-2.0
"""Two balancers behind a router with ECMP: a Fabric whose routes to the VIPs come from BGP.

    client ---- router (BIRD) ---- balancer 1: maglevd on XDP, maglev-speaker, frr-reloader, FRR ---- web1 ...
                              ---- balancer 2: the same

The router has the settings of docs/guide/announce.md.
"""
import json
import os
import re
import subprocess
import threading
import time

from lab.bird import Bird
from lab.daemon import Daemon
from lab.fabric import VIPS4, VIPS6, Balancer, Fabric
from lab.frr import Frr
from lab.maglevd import Maglevd
from lab.process import DIE_WITH_PARENT, Running
from lab.programs import program
from lab.reloader import Reloader
from lab.wait import PATIENCE, until

VIPS = {'www': VIPS4[0], 'www6': VIPS6[0]}
GRPC, SPEAKER = 9090, 9095
BFD_MS, MULTIPLIER = 300, 4
DETECTION = BFD_MS * MULTIPLIER / 1000  # s until BFD takes a balancer out
BOOT = 3 * PATIENCE  # s; FRR is configured by frr-reload.py, which takes seconds
OURS = ('reloader', 'speaker', 'maglevd')

ROUTER = '''
router id 10.0.1.1;
protocol device {{ }}
protocol kernel {{ merge paths on; ipv4 {{ export where source = RTS_BGP; }}; }}
protocol kernel {{ merge paths on; ipv6 {{ export where source = RTS_BGP; }}; }}
protocol bfd {{ interface "b*" {{ min rx interval {bfd_ms} ms; min tx interval {bfd_ms} ms; multiplier {multiplier}; }}; }}
filter vips {{
  if (65535, 0) ~ bgp_community then bgp_local_pref = 0;   # graceful shutdown, RFC 8326
  accept;
}}
template bgp balancer {{
  local as 64513;
  hold time 9;
  error wait time 1, 2;
  connect retry time 1;
  graceful restart aware;
  bfd on;
  ipv4 {{ import filter vips; export none; }};
  ipv6 {{ import filter vips; export none; }};
}}
{peers}
'''


class Router(Bird):
    """The router's BGP: a session with each balancer, and both next hops in the kernel."""

    def __init__(self, fabric, bfd_ms, multiplier, vips=None):
        self.vips = vips or VIPS
        peers = '\n'.join(f'protocol bgp {one.port} from balancer {{ neighbor {one.address} as 64512; }}'
                          for one in fabric.balancers)
        super().__init__(fabric.folder, fabric.router, ROUTER.format(bfd_ms=bfd_ms, multiplier=multiplier, peers=peers))

    def start(self, stdout=None):
        return super().start(subprocess.DEVNULL)

    def check_words(self):
        """It logs to standard error."""

    def next_hops(self, vip):
        """The ports that the kernel sends packets for the VIP to."""
        found = json.loads(self.namespace.run('ip', '-j', *(['-6'] if ':' in vip else []), 'route', 'show', vip))
        return {hop['dev'] for route in found for hop in route.get('nexthops', [route])}

    def wait_next_hops(self, *balancers):
        """Waits until each VIP is reached through exactly these balancers; returns the time."""
        ports = {one.port for one in balancers}
        until(lambda: all(self.next_hops(vip) == ports for vip in self.vips.values()), BOOT, f'next hops {ports}')
        return time.time()

    def withdrawals(self, balancer):
        """Received from it since the session's first start, in both families."""
        found = re.findall(r'Import withdraws:\s+(\d+)', self.ask(f'show protocols all {balancer.port}'))
        return sum(map(int, found))


class Monitor:
    """Every change of a route to a VIP in the router's kernel, as `ip monitor` prints it: a line each."""

    def __init__(self, namespace):
        self.lines = []
        self.process = subprocess.Popen([*DIE_WITH_PARENT, *namespace.command('ip', '-o', 'monitor', 'route')],
                                        stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.process.stdout:
            if line.split()[line.startswith('Deleted')] in VIPS.values():
                self.lines.append(line.rstrip())

    def close(self):
        self.process.kill()
        self.process.wait()
        self.thread.join(PATIENCE)


class Speaker(Daemon):
    """Announces the VIPs of one balancer."""

    def __init__(self, node, *args, **vip):
        self.balancer, path = node.balancer, os.path.join(node.folder, 'speaker.yaml')
        with open(path, 'w', encoding='ascii') as file:
            json.dump(self.config(node, vip), file, indent=1)
        super().__init__(node.folder, 'maglev-speaker', '--config', path, '--grpc-addr', f':{SPEAKER}',
                         '--vty-dir', node.frr.run, '--drain-file', os.path.join(node.folder, 'drains'),
                         '--frr-conf', os.path.join(node.folder, 'frr.conf'), '--reloader-socket', node.reloader.socket,
                         '--retry', '500ms', *args, namespace=node.balancer, level=node.level)

    @staticmethod
    def config(node, vip):
        peer = {'address': node.balancer.gateway, 'asn': 64513, 'hold-time': '9s', 'connect-time': '1s',
                'families': ['ipv4', 'ipv6'], 'graceful-restart': True, 'bfd': 'fast'}
        bfd = {'receive-interval': f'{node.bfd_ms}ms', 'transmit-interval': f'{node.bfd_ms}ms',
               'detect-multiplier': node.multiplier}
        return {'speaker': {
            'router': {'asn': 64512, 'router-id': node.balancer.address},
            'bfd-profiles': {'fast': bfd}, 'peers': {'router': peer}, 'advertisements': {'default': {'med': 50}},
            'maglevds': {'local': {'address': f'127.0.0.1:{GRPC}'}},
            'vips': {name: {'address': address, 'frontends': [f'local/{name}'], **vip} for name, address in node.vips.items()}}}

    def maglevc(self, *words):
        return self.balancer.run(program('maglevc'), '--speaker', f'127.0.0.1:{SPEAKER}', *words)

    def drain(self, vip, drained=True):
        """Drains a VIP, or ends its drain."""
        self.maglevc('set', 'vip', vip, 'drain' if drained else 'undrain')

    def states(self):
        listed = json.loads(self.maglevc('-o', 'json', 'show', 'announcements'))
        return {vip['vip']: vip['state'] for vip in listed['announcements']}


class Node:
    """The programs of one balancer. config: of maglevd, as text or dict. vips: others than VIPS."""

    def __init__(self, balancer, config, bfd_ms=BFD_MS, multiplier=MULTIPLIER, level='debug', vips=None, **vip):
        self.vips = vips or VIPS
        self.balancer, self.level, self.bfd_ms, self.multiplier = balancer, level, bfd_ms, multiplier
        self.number = int(balancer.port[1:])
        self.folder = os.path.join(balancer.fabric.folder, balancer.port)
        os.mkdir(self.folder)
        self.frr = Frr(balancer, listens=True)
        self.maglevd = Maglevd(self.folder, config, grpc=f':{GRPC}', namespace=balancer, level=level)
        self.reloader = Reloader(self.folder, self.frr, namespace=balancer, level=level)
        self.speaker = Speaker(self, **vip)

    def speak(self):
        """Starts all but maglevd."""
        self.since = self.speaker.mark()
        self.frr.start()
        self.reloader.start()
        self.speaker.start()

    def balance(self):
        """Starts maglevd, last: the session is there before the data plane is."""
        self.speaker.wait('session-up', self.since, BOOT)
        self.maglevd.start()

    def names(self):
        return (*self.frr.daemons, *OURS)

    def process(self, name):
        return getattr(self, name).process if name in OURS else self.frr.processes[name]

    def start_one(self, name):
        """Starts one of the programs, as its supervisor would; returns when it answers."""
        if name in OURS:
            getattr(self, name).start()
        else:
            self.frr.revive(name)

    def kill(self, name):
        """With SIGKILL."""
        if name in OURS:
            getattr(self, name).kill()
        else:
            self.frr.kill(name)

    def power_off(self):
        """From now on no packet reaches it or leaves it, but the router's port stays up; returns the time."""
        at = time.time()
        self.balancer.carry(False)
        for name in self.names():
            self.kill(name)
        return at

    def power_on(self):
        """As after a boot: nothing of the data plane is left."""
        self.balancer.run(program(), '--config', self.maglevd.path, '--xdp-detach')
        self.balancer.carry(True)
        self.speak()
        self.balance()


class Pair:
    """config: a function that makes the configuration of a balancer's maglevd."""

    def __init__(self, config, **how):
        self.fabric = Fabric(balancers=2, balancer=Announced)
        for name in ('ipv4', 'ipv6'):
            self.fabric.router.sysctl(**{f'{name}__fib_multipath_hash_policy': 1})  # by addresses and ports
        self.running = Running()
        self.nodes = [Node(one, config(one), **how) for one in self.fabric.balancers]
        self.router = self.running.add(Router(self.fabric, self.nodes[0].bfd_ms, self.nodes[0].multiplier, self.nodes[0].vips))

    def start(self):
        self.fabric.start()
        self.router.start()
        for node in self.nodes:
            node.speak()
        for node in self.nodes:
            node.balance()
        self.router.wait_next_hops(*self.fabric.balancers)
        return self

    def sent(self):
        """Packets that the router has sent to each balancer."""
        links = json.loads(self.fabric.router.run('ip', '-j', '-s', 'link'))
        count = {link['ifname']: link['stats64']['tx']['packets'] for link in links}
        return [count[one.port] for one in self.fabric.balancers]

    def kill(self):
        """Ends everything at once, whatever state it is in."""
        for process in (self.router, *(getattr(node, name) for node in self.nodes for name in OURS)):
            if process.is_running():
                process.kill()
        for node in self.nodes:
            node.frr.close()
        self.fabric.close()

    def close(self):
        for node in self.nodes:
            for name in OURS:
                self.running.add(getattr(node, name))
        try:
            self.running.stop()
        finally:
            for node in self.nodes:
                node.frr.close()
            self.fabric.close()


class Announced(Balancer):
    """The router knows it from BGP only."""

    @property
    def gateway(self):
        return f'10.0.{self.number}.1'

    def announce(self):
        pass

    def carry(self, on):
        """Whether the link carries packets."""
        self.fabric.router.run('tc', 'qdisc', 'replace', 'dev', self.port, 'root', 'pfifo', 'limit', '1000' if on else '0')
