# SPDX-License-Identifier: Apache-2.0
"""Private networks: a namespace for the probes, one for the servers, a link between them.

Names contain the process id, so that runs do not interfere. The next run removes what a killed run has
left behind.
"""
import atexit
import concurrent.futures
import ctypes
import itertools
import os
import re
import socket
import subprocess
import time

from lab.wait import until

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)
_serial = itertools.count(1)
_alive = {}


def _ip(*words):
    subprocess.run(['ip', *words], check=True, capture_output=True)


def _batch(lines, netns=None):
    command = ['ip', *(['-n', netns] if netns else []), '-batch', '-']
    done = subprocess.run(command, input='\n'.join(lines), text=True, capture_output=True)
    assert done.returncode == 0, f'{lines}: {done.stderr}'


def sweep():
    """Removes namespaces of test processes that have ended."""
    found = subprocess.run(['ip', 'netns', 'list'], capture_output=True, text=True, check=True).stdout
    for name in re.findall(r'^(mgl\d+-\S+)', found, re.M):
        pid = re.match(r'mgl(\d+)-', name)[1]
        if not os.path.exists(f'/proc/{pid}'):
            subprocess.run(['ip', 'netns', 'del', name], capture_output=True)


def can_make_namespaces():
    """Whether this process may make a namespace and change it. Some containers forbid one of these."""
    name = f'mgl{os.getpid()}-0'
    worked = [subprocess.run(['ip', *words], capture_output=True).returncode == 0
              for words in (('netns', 'add', name), ('-n', name, 'link', 'set', 'lo', 'up'), ('netns', 'del', name))]
    return all(worked)


class Namespace:
    def __init__(self, tag):
        self.name = f'mgl{os.getpid()}-{next(_serial)}{tag}'
        _ip('netns', 'add', self.name)
        _alive[self.name] = self
        self._thread = None
        self.ip('link set lo up')

    def become(self, other):
        """The name, which was deleted, is that of the other namespace now; the other one has none any more."""
        with open(self.path, 'x', encoding='ascii'):
            subprocess.run(['mount', '--bind', other.path, self.path], check=True)
        _alive[self.name], self._thread = self, None
        other.delete()

    @property
    def path(self):
        return f'/run/netns/{self.name}'

    def ip(self, *lines):
        _batch(lines, self.name)

    def delete(self):
        """Removes the name; the namespace exists until its last process ends."""
        if _alive.pop(self.name, None):
            if self._thread:
                self._thread.shutdown()
            subprocess.run(['ip', 'netns', 'del', self.name], capture_output=True)

    def enter(self):
        """Moves only the calling thread into the namespace."""
        with open(self.path, encoding='ascii') as file:
            if _libc.setns(file.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), f'setns {self.name}')

    def inside(self, function, *args):
        """Calls function(*args) in a thread inside the namespace and returns its result."""
        if not self._thread:
            self._thread = concurrent.futures.ThreadPoolExecutor(8, initializer=self.enter)
        return self._thread.submit(function, *args).result()

    def socket(self, family=socket.AF_INET, kind=socket.SOCK_STREAM):
        """Makes a socket inside; it stays in that namespace whichever thread uses it."""
        return self.inside(socket.socket, family, kind)

    def sysctl(self, **values):
        """Sets sysctls below net; a dot in a name is written __."""
        def put():
            for name, value in values.items():
                with open('/proc/sys/net/' + name.replace('__', '/'), 'w', encoding='ascii') as file:
                    file.write(str(value))
        self.inside(put)

    def run(self, *words):
        """Runs a command inside, which must succeed; returns its output."""
        done = subprocess.run(self.command(*words), capture_output=True, text=True)
        assert done.returncode == 0, f'{words}: {done.stdout}{done.stderr}'
        return done.stdout

    def command(self, *words):
        """The command line that runs a command inside."""
        return ['nsenter', f'--net={self.path}', *words]

    def counter(self, protocol, name):
        """A number of /proc/net/snmp or netstat, such as Icmp InEchos."""
        text = self.run('cat', '/proc/self/net/snmp', '/proc/self/net/netstat')
        names, values = [line.split()[1:] for line in text.splitlines() if line.startswith(protocol + ':')]
        return int(values[names.index(name)])


class Net:
    """Two namespaces with a link. The second address of the probes is used only on request.

    Probes live at 10.77.0.1, 10.77.0.2, fd77::1 and fd77::2; servers at 10.77.1.x and fd77::1:x.
    """

    SOURCES4, SOURCES6 = ('10.77.0.1', '10.77.0.2'), ('fd77::1', 'fd77::2')

    def __init__(self):
        self._next = itertools.count(1)
        self.servers = Namespace('s')
        self.probes = Namespace('p')
        self._addresses = ['10.77.0.254', 'fd77::ff']
        self._connect(self.probes)

    def bring_back(self):
        """Makes the probes' namespace again, which was deleted. Its name appears when its link and addresses are there: a probe never
        sees a part of them.

        The kernel removes a namespace, and the old link with it, asynchronously.
        """
        until(lambda: subprocess.run(['ip', '-n', self.servers.name, 'link', 'show', 'veth'],
                                     capture_output=True).returncode, what='the end of the old link')
        made = Namespace('again')
        self._connect(made)
        self.probes.become(made)

    def _connect(self, probes):
        """Makes the link; the servers' side first, then the probes'."""
        _batch([f'link add veth netns {self.servers.name} type veth peer name veth netns {probes.name}'])
        self.servers.ip('link set veth up', *(self._line(address) for address in self._addresses))
        probes.ip('link set veth up', *(f'addr add {a}/16 dev veth' for a in self.SOURCES4),
                       *(f'addr add {a}/64 dev veth nodad preferred_lft {life}'
                         for a, life in zip(self.SOURCES6, ('forever', '0'))))

    def address(self, family=4):
        """Adds an address to the servers' side."""
        n = next(self._next)
        address = f'10.77.1.{n}' if family == 4 else f'fd77::1:{n}'
        self.add(address)
        return address

    @staticmethod
    def _line(address):
        return f'addr add {address}/64 dev veth nodad' if ':' in address else f'addr add {address}/16 dev veth'

    def add(self, address):
        self._addresses.append(address)
        self.servers.ip(self._line(address))

    def remove(self, address):
        """Simulates a machine that is gone: its address is not answered any more."""
        self._addresses.remove(address)
        self.servers.ip(f'addr del {address}/{64 if ":" in address else 16} dev veth')

    def mute(self, address):
        """Packets still reach the address, but nothing is sent back from it; returns the time of the change."""
        return self._rule('add', address)

    def unmute(self, address):
        return self._rule('del', address)

    def _rule(self, verb, address):
        at = time.time()
        _ip('-n', self.servers.name, *(['-6'] if ':' in address else []), 'rule', verb, 'pref', '10', 'from',
            address, 'blackhole')
        return at

    def close(self):
        self.probes.delete()
        self.servers.delete()


@atexit.register
def _delete_all():
    for namespace in list(_alive.values()):
        namespace.delete()
