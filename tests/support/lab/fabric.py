# SPDX-License-Identifier: Apache-2.0
"""A network for a data plane that forwards: client, router, balancers and servers, a namespace each.

    client eth0 ---- c router b1 ---- eth0 balancer 1      198.51.100.0/24 and 2001:db8:100::/64 go there
                       router b2 ---- eth0 balancer 2      (a second one if asked for)
                       router w1 ---- eth0 web1 ...        VIPs on loopback; GRE is taken off by bpf/decap.bpf.c

Answers go from a server to the client without the balancer. Settings that are needed only because links are
veths say so; docs/guide/xdp.md has the same for real machines. A file system for pins is mounted in the folder.
Several fabrics may exist at once. The next run removes what a killed process has left.
"""
import atexit
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from lab.programs import program
from lab.net import Namespace, can_make_namespaces

VIPS4, VIPS6 = ['198.51.100.10', '198.51.100.11'], ['2001:db8:100::10', '2001:db8:100::11']
CLIENTS4 = '10.1.0.0/16'  # all of these addresses belong to the client
MTU = 1500
WEB = os.path.join(os.path.dirname(__file__), 'web.py')
_SYSCTL = {'ipv4__ip_forward': 0, 'ipv4__conf__all__rp_filter': 0, 'ipv4__conf__default__rp_filter': 0,
           'ipv6__conf__default__accept_dad': 0, 'ipv6__conf__all__forwarding': 0}
_libc = ctypes.CDLL(None)


def child(command, **options):
    """A process that does not get our Ctrl-C, but ends when we do."""
    return subprocess.Popen(command, start_new_session=True, text=True,
                            preexec_fn=lambda: _libc.prctl(1, signal.SIGKILL), **options)  # PR_SET_PDEATHSIG


def needs():
    """What this machine lacks for a fabric; None if nothing."""
    if os.geteuid():
        return 'root, for network namespaces and BPF'
    done = subprocess.run(['bpftool', 'feature', 'probe', 'kernel'], capture_output=True, text=True)
    if 'eBPF program_type xdp is available' not in done.stdout:
        return 'a kernel that takes XDP programs'
    if not can_make_namespaces():
        return 'the right to make network namespaces'
    return None


def sweep():
    """Unmounts and removes the folders of processes that have ended."""
    for name in os.listdir(tempfile.gettempdir()):
        match = re.match(r'mgl(\d+)-', name)
        if match and not os.path.exists(f'/proc/{match[1]}'):
            _remove(os.path.join(tempfile.gettempdir(), name))


def _remove(folder):
    with open('/proc/self/mounts', encoding='utf-8') as file:
        mounts = [line.split()[1] for line in file]
    for path in mounts:
        if path.startswith(folder + '/'):
            subprocess.run(['umount', '--lazy', path], capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)


class Host(Namespace):
    """One machine behind the router, at .2 of its own network."""

    def __init__(self, fabric, port, number):
        super().__init__(port)
        fabric.namespaces.append(self)
        self.fabric, self.port, self.number = fabric, port, number
        self.address, self.address6 = f'10.0.{number}.2', f'2001:db8:{number}::2'
        self.sysctl(**_SYSCTL)
        self.connect()

    def plug(self):
        """Makes the link; returns its ends here and at the router, which get the addresses."""
        router = self.fabric.router
        self.ip(f'link add eth0 mtu {MTU} type veth peer name {self.port} mtu {MTU} netns {router.name}',
                'link set eth0 up')
        router.ip(f'link set {self.port} up')
        return 'eth0', self.port

    def connect(self):
        """Makes the link, with addresses; also after it was removed."""
        router, n = self.fabric.router, self.number
        here, there = self.plug()
        router.ip(f'addr add 10.0.{n}.1/24 dev {there}', f'addr add 2001:db8:{n}::1/64 dev {there} nodad')
        self.ip(f'addr add {self.address}/24 dev {here}', f'addr add {self.address6}/64 dev {here} nodad',
                f'route add default via 10.0.{n}.1', f'route add default via 2001:db8:{n}::1')


class Server(Host):
    """A server: the VIPs are on loopback and are not announced by ARP."""

    def __init__(self, fabric, number):
        super().__init__(fabric, f'w{number}', 10 + number)
        self.process, self.label = None, f'web{number}'
        self.broken = os.path.join(fabric.folder, self.label + '.broken')
        self.prepare()

    def prepare(self):
        self.sysctl(ipv4__conf__all__arp_ignore=1, ipv4__conf__all__arp_announce=2)
        self.ip(*(f'addr add {vip}/32 dev lo' for vip in VIPS4), *(f'addr add {vip}/128 dev lo nodad' for vip in VIPS6),
                f'route change default via 10.0.{self.number}.1 advmss {MTU - 84}',  # IPv4 and TCP inside GRE over IPv6
                f'route change default via 2001:db8:{self.number}::1 advmss {MTU - 104}')
        self.run('ethtool', '-K', 'eth0', 'gro', 'on')
        self.run('bpftool', 'net', 'attach', 'xdpdrv', 'pinned', self.fabric.decap, 'dev', 'eth0')

    def start(self):
        self.process = child(self.command(sys.executable, WEB, self.label, self.broken), stdout=subprocess.PIPE)
        return self

    def wait(self):
        assert self.process.stdout.readline() == 'ready\n', f'{self.label} did not start'

    def kill(self):
        """Like a crash of the program: the kernel answers with resets."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


class Balancer(Host):
    def __init__(self, fabric, number):
        super().__init__(fabric, f'b{number}', 1 + number)
        self.pins = os.path.join(fabric.folder, 'pins', f'maglev{number}')

    def plug(self):
        ends = super().plug()
        # on a veth: checksums must be filled in before XDP sees them, and GRO lets the router take what XDP sends
        self.fabric.router.run('ethtool', '-K', self.port, 'tx', 'off', 'gro', 'on')
        self.fabric.router.run('tc', 'qdisc', 'add', 'dev', self.port, 'root', 'pfifo', 'limit', '1000')
        return ends

    def connect(self):
        super().connect()
        self.prepare()

    def prepare(self):
        self.sysctl(ipv4__ip_forward=1, ipv6__conf__all__forwarding=1)
        self.ip('route replace blackhole 198.51.100.0/24', 'route replace blackhole 2001:db8:100::/64')

    def xdp(self, **more):
        """The xdp section of a configuration."""
        return {'interfaces': ['eth0'], 'pin': self.pins, **more}

    def sources(self):
        return {'ipv4-src-address': self.address, 'ipv6-src-address': self.address6}

    def announce(self):
        """Routes packets to the VIPs to this balancer."""
        self.fabric.router.ip(f'route replace 198.51.100.0/24 via {self.address}',
                              f'route replace 2001:db8:100::/64 via {self.address6}')

    def counted(self, what):
        """A counter of the driver of eth0, over all receive queues, such as xdp_tx."""
        found = re.findall(rf'^\s*rx_queue_\d+_{what}: (\d+)$', self.run('ethtool', '-S', 'eth0'), re.M)
        assert found, f'the driver counts no {what}'
        return sum(map(int, found))

    def program(self):
        """The id of the XDP program on eth0, or None."""
        found = re.search(r'prog/xdp id (\d+)', self.run('ip', 'link', 'show', 'eth0'))
        return int(found[1]) if found else None


class Fabric:
    """server, balancer: classes of machines that differ from the usual ones."""

    def __init__(self, servers=4, balancers=1, server=Server, balancer=Balancer):
        sweep()
        self.folder = tempfile.mkdtemp(prefix=f'mgl{os.getpid()}-')
        self.namespaces, self.servers = [], []
        atexit.register(self.close)
        self._mount()
        self.router = Namespace('r')
        self.namespaces.append(self.router)
        self.router.sysctl(**{**_SYSCTL, 'ipv4__ip_forward': 1, 'ipv6__conf__all__forwarding': 1})
        self.client = Host(self, 'c', 1)
        self.client.ip(f'route add local {CLIENTS4} dev lo')
        self.router.ip(f'route add {CLIENTS4} via {self.client.address}')
        self.balancers = [balancer(self, number + 1) for number in range(balancers)]
        for number in range(servers):
            self.servers.append(server(self, number + 1))
        self.balancers[0].announce()

    def start(self):
        """Starts all servers that do not run."""
        dead = [server.start() for server in self.servers if not server.process or server.process.poll() is not None]
        for server in dead:
            server.wait()
        return self

    def _mount(self):
        """Mounts a file system for pins, with the program of the servers in it."""
        os.mkdir(os.path.join(self.folder, 'pins'))
        subprocess.run(['mount', '-t', 'bpf', 'bpf', os.path.join(self.folder, 'pins')], check=True)
        self.decap = self.load('decap')

    def load(self, name):
        """Loads an XDP program; returns its pin."""
        pin = os.path.join(self.folder, 'pins', name)
        command = ['bpftool', 'prog', 'load', program(name), pin, 'type', 'xdp']
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return pin

    def close(self):
        atexit.unregister(self.close)
        for server in self.servers:
            server.kill()
        for namespace in self.namespaces:
            namespace.delete()
        _remove(self.folder)
