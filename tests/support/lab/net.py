# SPDX-License-Identifier: Apache-2.0
"""Private networks: a namespace for the probes, one for the servers, a link between them.

Names carry the process id, so that runs do not meet. What a killed run left behind is swept away
by the next one.
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
    """Removes namespaces of test processes that are no more."""
    found = subprocess.run(['ip', 'netns', 'list'], capture_output=True, text=True, check=True).stdout
    for name in re.findall(r'^(mgl\d+-\S+)', found, re.M):
        pid = re.match(r'mgl(\d+)-', name)[1]
        if not os.path.exists(f'/proc/{pid}'):
            subprocess.run(['ip', 'netns', 'del', name], capture_output=True)


class Namespace:
    def __init__(self, tag):
        self.name = f'mgl{os.getpid()}-{next(_serial)}{tag}'
        self.create()

    def create(self):
        _ip('netns', 'add', self.name)
        _alive[self.name] = self
        self._thread = None
        self.ip('link set lo up')

    @property
    def path(self):
        return f'/run/netns/{self.name}'

    def ip(self, *lines):
        _batch(lines, self.name)

    def delete(self):
        """The name goes; what is still inside lives on until its last process ends."""
        if _alive.pop(self.name, None):
            if self._thread:
                self._thread.shutdown()
            subprocess.run(['ip', 'netns', 'del', self.name], capture_output=True)

    def enter(self):
        """The calling thread alone."""
        with open(self.path, encoding='ascii') as file:
            if _libc.setns(file.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), f'setns {self.name}')

    def inside(self, function, *args):
        """What function(*args) returns when a thread of this process calls it inside."""
        if not self._thread:
            self._thread = concurrent.futures.ThreadPoolExecutor(8, initializer=self.enter)
        return self._thread.submit(function, *args).result()

    def socket(self, family=socket.AF_INET, kind=socket.SOCK_STREAM):
        """A socket stays in the namespace where it was made, whoever uses it."""
        return self.inside(socket.socket, family, kind)

    def sysctl(self, **values):
        """Settings below net; a dot of a name is written __."""
        def put():
            for name, value in values.items():
                with open('/proc/sys/net/' + name.replace('__', '/'), 'w', encoding='ascii') as file:
                    file.write(str(value))
        self.inside(put)

    def run(self, *words):
        """A command inside, which has to end well; what it wrote."""
        done = subprocess.run(self.command(*words), capture_output=True, text=True)
        assert done.returncode == 0, f'{words}: {done.stdout}{done.stderr}'
        return done.stdout

    def command(self, *words):
        """A command line that runs inside."""
        return ['nsenter', f'--net={self.path}', *words]

    def counter(self, protocol, name):
        """A number of /proc/net/snmp, such as Icmp InEchos."""
        text = subprocess.run(self.command('cat', '/proc/self/net/snmp'), capture_output=True, text=True,
                              check=True).stdout
        names, values = [line.split()[1:] for line in text.splitlines() if line.startswith(protocol + ':')]
        return int(values[names.index(name)])


class Net:
    """The second address of the probes' side is only used when asked for.

    Probes live at 10.77.0.1, 10.77.0.2, fd77::1 and fd77::2; servers at 10.77.1.x and fd77::1:x.
    """

    SOURCES4, SOURCES6 = ('10.77.0.1', '10.77.0.2'), ('fd77::1', 'fd77::2')

    def __init__(self):
        self._next = itertools.count(1)
        self.servers = Namespace('s')
        self.probes = Namespace('p')
        self._addresses = ['10.77.0.254', 'fd77::ff']
        self._connect()

    def reconnect(self):
        """After the probes' namespace was made anew: the servers get their link and addresses back.

        The kernel takes its time to bury a namespace, and the old link with it.
        """
        until(lambda: subprocess.run(['ip', '-n', self.servers.name, 'link', 'show', 'veth'],
                                     capture_output=True).returncode, what='the end of the old link')
        self._connect()

    def _connect(self):
        """The link; first everything that answers, then who asks."""
        _batch([f'link add veth netns {self.servers.name} type veth peer name veth netns {self.probes.name}'])
        self.servers.ip('link set veth up', *(self._line(address) for address in self._addresses))
        self.probes.ip('link set veth up', *(f'addr add {a}/16 dev veth' for a in self.SOURCES4),
                       *(f'addr add {a}/64 dev veth nodad preferred_lft {life}'
                         for a, life in zip(self.SOURCES6, ('forever', '0'))))

    def address(self, family=4):
        """One more address of the servers' side."""
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
        """A machine that is gone: nobody answers for its address any more."""
        self._addresses.remove(address)
        self.servers.ip(f'addr del {address}/{64 if ":" in address else 16} dev veth')

    def mute(self, address):
        """Packets still reach the address, but nothing comes back from it; returns since when."""
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
