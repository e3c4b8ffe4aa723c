# SPDX-License-Identifier: Apache-2.0
"""The lab of `make run` as root: a Pair under traffic with a maglev-router behind it, whose programs are restarted when
they end, and its commands.

Commands come over a named pipe, from a script in the folder: off, on, drain or undrain, and the number of a balancer.
"""
import os
import re
import shutil
import socket
import threading
import time

from lab import fabric, flows
from lab.daemon import Daemon
from lab.demo import RESTART, Demo, example, line_text, say
from lab.ecmp import GRPC, OURS, SPEAKER, VIPS, Pair
from lab.frr import PROGRAMS
from lab.programs import program
from lab.window import Window, door

TALKS, ASKERS, PAUSE = 50, 4, 0.04  # connections that stay open; threads that make new ones, and s between two of each
SLOW = 0.5  # s; a request that takes longer is worth a line
SHOP, ROUTER = fabric.VIPS4[1], 9096  # the VIP that leads to maglev-router, and the port of its API
ANNOUNCED = {**VIPS, 'shop': SHOP}


def needs():
    """What this machine lacks; None if nothing."""
    missing = [name for name in ('bird', f'{PROGRAMS}/bgpd', f'{PROGRAMS}/frr-reload.py') if not shutil.which(name)]
    return fabric.needs() or (f'{", ".join(missing)}; make deps installs them' if missing else None)


def config_of(balancer):
    """deploy/examples/lab-xdp.yaml with what differs between balancers."""
    text = re.sub(r'pin: \S+', f'pin: {balancer.pins}', example('lab-xdp.yaml'))
    return re.sub(r'ipv4-src-address: \S+', f'ipv4-src-address: {balancer.address}', text)


class Meter:
    """The client: keeps connections open, makes new ones, and writes a line each second."""

    def __init__(self, pair, path, over):
        self.pair, self.over, self.lock = pair, over, threading.Lock()
        self.file = open(path, 'a', buffering=1, encoding='ascii')
        self.talks = flows.Talks(pair.fabric.client, *VIPS.values(), n=TALKS)
        self.times, self.failed, self.calm = [], 0, True
        for n in range(ASKERS):
            threading.Thread(target=self._ask, args=(list(VIPS.values())[n % len(VIPS)],), daemon=True).start()
        threading.Thread(target=self._count, daemon=True).start()

    def _ask(self, vip):
        while not self.over.wait(PAUSE):
            began, failed = time.monotonic(), 0
            try:
                flows.ask(self.pair.fabric.client, vip)
            except (OSError, AssertionError):
                failed = 1
            with self.lock:
                self.times.append(time.monotonic() - began)
                self.failed += failed

    def _count(self):
        before = self.pair.sent()
        while not self.over.wait(1):
            after = self.pair.sent()
            with self.lock:
                times, failed, self.times, self.failed = self.times, self.failed, [], 0
            self._tell(times, failed, [new - old for old, new in zip(before, after)])
            before = after

    def _tell(self, times, failed, packets):
        slowest, lost = max(times, default=1), len(self.talks.lost)
        total = sum(packets) or 1
        line = (f'{time.strftime("%H:%M:%S")} traffic  {len(times)} requests, {failed} failed, the slowest took '
                f'{slowest * 1000:.0f} ms; {TALKS - lost} of {TALKS} connections open; '
                + ', '.join(f'{100 * n / total:.0f} % to balancer {i}' for i, n in enumerate(packets, 1)))
        self.file.write(line + '\n')
        calm = not failed and slowest < SLOW
        if not calm or not self.calm:
            say(line)
        self.calm = calm


class Edge(fabric.Server):
    """The machine of maglev-router: a server as balancers see it. It has what a Node has for a supervisor."""

    def __init__(self, of):
        super().__init__(of, 5)
        self.label, path = 'rt1', os.path.join(of.folder, 'router.yaml')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(example('lab-router.yaml'))
        self.router = Daemon(of.folder, 'maglev-router', '--config', path, '--admin-addr', '127.0.0.1:0', '--grpc-addr', f'127.0.0.1:{ROUTER}',
                             metrics=None, level='info', namespace=self)
        self.router.listener = 'grpc'
        # Without TLS its API is on loopback only. The lab has a tunnel to it, as ssh would make one.
        door(self, f'127.0.0.1:{ROUTER}', self.inside(socket.create_server, (self.address, ROUTER)))

    def names(self):
        return ('router',)

    def process_of(self, _):
        return self.router.process

    def start_one(self, _):
        self.router.start()


class Packets(Demo):
    def __init__(self):
        self.pair = Pair(config_of, bfd_ms=200, multiplier=3, level='info', vips=ANNOUNCED, **{'drain-time': '10s', 'min-up': '1s'})
        self.fabric = self.pair.fabric
        super().__init__(self.fabric.folder)
        self.edge = Edge(self.fabric)
        self.by_name = {server.label: server for server in self.fabric.servers}
        self.names, self.meter, self.closed = list(self.by_name), None, False
        self.power = {node: threading.Event() for node in (*self.pair.nodes, self.edge)}
        self.pipe = os.path.join(self.folder, 'commands')
        os.mkfifo(self.pipe)
        self.write_scripts()

    def write_scripts(self):
        """Those that run commands in a namespace, and those that speak to the lab."""
        places = {'client': self.fabric.client, 'router': self.fabric.router,
                  **{f'balancer{i}': one for i, one in enumerate(self.fabric.balancers, 1)}}
        scripts = {name: f'exec {" ".join(place.command())} "$@"' for name, place in places.items()}
        scripts['lab'] = f'echo "$@" >{self.pipe}'
        scripts['traffic'] = f'exec tail -n 5 -f {self.folder}/traffic'
        scripts['maglevc'] = f'exec {program("maglevc")} "$@"'
        scripts['explain'] = f'exec {" ".join(self.fabric.router.command())} {self.asks_all()} explain "$@"'
        os.mkdir(os.path.join(self.folder, 'bin'))
        for name, text in scripts.items():
            path = os.path.join(self.folder, 'bin', name)
            with open(path, 'w', encoding='utf-8') as file:
                file.write(f'#!/bin/sh\n{text}\n')
            os.chmod(path, 0o755)

    def start(self, name):
        return self.by_name[name].start().process

    def asks_all(self):
        """maglevc with all servers of the lab."""
        balancers = ','.join(one.address for one in self.fabric.balancers)
        return f'{program("maglevc")} --server {balancers} --speaker {balancers} --router {self.edge.address}'

    # ---- the two balancers, and the maglev-router that is one of their servers ----

    def label(self, node, name):
        return f'maglev-router of {node.label}' if node is self.edge else f'{name} of balancer {node.number}'

    def process_of(self, node, name):
        return node.process_of(name) if node is self.edge else node.process(name)

    def show(self, node, name):
        """Prints the log of a program, in a thread of its own."""
        log, at = getattr(node, name).log, 0
        while not self.over.is_set():
            with log.changed:
                log.changed.wait_for(lambda: len(log.lines) > at)
                lines, at = log.lines[at:], len(log.lines)
            for line in lines:
                if name != 'reloader' or line['level'] != 'INFO':
                    say(line_text(line, ('router rt1' if node is self.edge else f'{name} {node.number}').ljust(12)))

    def keep(self, node, name):
        """Restarts one program whenever it ends while its balancer has power, in a thread of its own."""
        while not self.over.is_set():
            self.power[node].wait()
            process = self.process_of(node, name)
            say(f'-- {self.label(node, name)} runs as process {process.pid}')
            process.wait()
            if not self.power[node].is_set() or self.over.is_set():
                continue
            say(f'-- {self.label(node, name)} ended; it is started again in {RESTART} s')
            self.over.wait(RESTART)
            if self.power[node].is_set() and not self.over.is_set():
                node.start_one(name)

    def obey(self):
        """Carries out commands, in a thread of its own."""
        while not self.over.is_set():
            with open(self.pipe, encoding='ascii') as pipe:
                for line in pipe:
                    word, _, number = line.strip().partition(' ')
                    if word in ('off', 'on', 'drain', 'undrain') and number in ('1', '2'):
                        getattr(self, word)(self.pair.nodes[int(number) - 1])
                    else:
                        say(f'-- "{line.strip()}" is not off, on, drain or undrain, and the number of a balancer')

    def off(self, node):
        if self.power[node].is_set():
            self.power[node].clear()
            node.power_off()
            say(f'-- balancer {node.number} is off: all of its programs are dead, and its link carries nothing')

    def on(self, node):
        if not self.power[node].is_set():
            say(f'-- balancer {node.number} is started')
            node.power_on()
            self.power[node].set()

    def drain(self, node, drained=True):
        if self.power[node].is_set():
            for vip in ANNOUNCED:
                node.speaker.drain(vip, drained)

    def undrain(self, node):
        self.drain(node, False)

    # ---- life ----

    def run_daemon(self):
        for node in self.pair.nodes:
            for name in OURS:
                threading.Thread(target=self.show, args=(node, name), daemon=True).start()
        threading.Thread(target=self.show, args=(self.edge, 'router'), daemon=True).start()
        self.edge.router.start()
        self.pair.start()
        for power in self.power.values():
            power.set()
        servers, speakers = ([f'lb{node.number}={node.balancer.address}:{port}' for node in self.pair.nodes]
                             for port in (GRPC, SPEAKER))
        self.window = Window(servers, self.fabric.router, speakers, [f'rt1={self.edge.address}:{ROUTER}'])
        self.meter = Meter(self.pair, os.path.join(self.folder, 'traffic'), self.over)
        say(self.tell({name: server.pid for name, server in self.servers.items()}))
        for node in self.power:
            for name in node.names():
                threading.Thread(target=self.keep, args=(node, name), daemon=True).start()
        threading.Thread(target=self.obey, daemon=True).start()
        # Python runs its handlers in this thread, but the kernel may give a signal to another one, which does not wake it
        while not self.over.wait(1):
            pass
        return 0

    def tell(self, pids):
        url, vip = f'http://{VIPS["www"]}/', VIPS['www']
        first, vtysh = self.pair.nodes[0], f'vtysh -N {self.pair.nodes[0].frr.pathspace}'
        return f'''
  The lab is up: a client, a router with ECMP, two balancers, and behind both {', '.join(pids)} and a maglev-router, rt1,
  each in a network namespace of its own. Each balancer has maglevd on XDP, maglev-speaker, frr-reloader and FRR. {vip} and
  {VIPS['www6']} lead to the servers, {SHOP} to rt1, which sends requests on by host and path. The client makes about
  {ASKERS / PAUSE:.0f} requests a second and keeps {TALKS} connections open; a line shows it when something is wrong.
  The logs follow below. In another terminal, as root, try:

    first             export PATH={self.folder}/bin:$PATH
                      client, router, balancer1 and balancer2 run a command in their namespaces
    the way           explain {vip}    (of a packet: announcement, frontend, servers; try it after each of the others)
                      explain is short for: {self.asks_all().replace(program('maglevc'), 'maglevc')} explain
    of a request      explain shop.example/api/cart    (through the router, to the servers of its route)
    no route          explain other.example/    (it says where it ends, and the exit code is 1)
    by host and path  client curl -s -H 'Host: shop.example' http://{SHOP}/api/cart    (web3 or web4; web1 or web2 without /api/)
    a dead router     kill -9 {self.edge.router.process.pid}    (maglev-router; explain {SHOP}; back after {RESTART} s)
    a drain of all    lab drain 1; lab drain 2    (explain {vip}: nobody announces it; lab undrain 1; lab undrain 2)
    the traffic       traffic    (a line each second; leave it running beside the rest)
    the routes        router ip route show {vip}    (or {VIPS['www6']})
    a dead balancer   lab off 1    (as if its power failed: BFD notices after 0.6 s, all goes through balancer 2)
    and back          lab on 1    (as if it booted)
    a dead program    kill -9 {first.process('bgpd').pid}    (bgpd of balancer 1; or any other: nothing happens; back after {RESTART} s)
    a drain of one    lab drain 1    (traffic moves at once, the routes go after 10 s; lab undrain 1)
    a request         client curl -s {url}    (or http://[{VIPS['www6']}]/)
    who answers       for i in $(seq 100); do client curl -sm1 {url}; done | cut -d' ' -f1 | sort | uniq -c
    a look            balancer1 maglevc show frontends;  balancer2 maglevc show backends web1;  balancer2 maglevc show lb state
    packets           balancer1 maglevc show lb counters    (read every 5 s)
    the routes        balancer1 maglevc show announcements;  balancer1 maglevc show sessions
    FRR itself        balancer1 {vtysh} -c 'show bgp summary';  balancer1 {vtysh} -c 'show bfd peers'
    the dashboard     {self.window.tell()}
    what happens      balancer1 maglevc watch events
    a shell           balancer1 maglevc    (Tab completes, ? helps)
    the metrics       balancer1 curl -s http://127.0.0.1:{first.maglevd.port}/metrics | grep lbsync
    a dead server     kill {pids['web1']}    (web1; its connections are lost; it is back after {RESTART} s)
    a hung server     kill -STOP {pids['web2']}    (web2; kill -CONT {pids['web2']} heals it)
    a drained server  for b in 1 2; do balancer$b maglevc set backend web2 pause reason "new disk" for 10m; done
                      (new requests go elsewhere; on both balancers, so that they choose the same servers; resume ends it)
    a shift           for b in 1 2; do balancer$b maglevc set frontend www pool primary backend web1 weight 20; done
    a failover        kill -STOP {' '.join(str(pids[n]) for n in ('web1', 'web2', 'web3'))}    (web4 takes over)
    a download        client curl -s --limit-rate 1M {url}bytes/60000000 | wc -c
                      (takes a minute, and survives what happens to one balancer)

  Ctrl-C ends it all.
'''

    def end(self):
        super().end()
        if self.edge.router.is_running():
            self.edge.router.kill()
        self.pair.kill()
