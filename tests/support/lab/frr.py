# SPDX-License-Identifier: Apache-2.0
"""FRR's own daemons in a namespace: configured by a file, asked over their vty sockets.

Each instance has its own pathspace (-N), so that several of them, and those of other test runs, live side by side. The
programs are those of the machine, or of another root file system (lab.trixie).
"""
import contextlib
import glob
import os
import re
import shutil
import signal
import socket
import subprocess

from lab.net import Namespace
from lab.process import DIE_WITH_PARENT
from lab.wait import PATIENCE, until

PROGRAMS, ETC, RUN = '/usr/lib/frr', '/etc/frr', '/run/frr'
FIRST = ('mgmtd', 'zebra')
END = b'\0\0\0'


class Machine:
    """The FRR that is installed here."""
    root = ''
    daemons = ('zebra', 'staticd', 'bfdd', 'bgpd')
    reload, vtysh = f'{PROGRAMS}/frr-reload.py', '/usr/bin/vtysh'

    def command(self, *words):
        """The command line that runs a program of this system."""
        return list(words)

    def owner(self):
        """Numbers of the user and group that its daemons run as."""
        with open(f'{self.root}/etc/passwd', encoding='utf-8') as file:
            fields = next(line.split(':') for line in file if line.startswith('frr:'))
        return int(fields[2]), int(fields[3])


def _remove(path):
    if os.path.islink(path):
        os.unlink(path)
    else:
        shutil.rmtree(path, ignore_errors=True)


def _end_left(pathspace):
    """Kills daemons that outlived their test process: they change their user, which clears the signal of its death."""
    for path in glob.glob('/proc/[0-9]*/cmdline'):
        with contextlib.suppress(OSError):
            with open(path, 'rb') as file:
                words = file.read().split(b'\0')
            if words[0].startswith(PROGRAMS.encode()) and pathspace.encode() in words:
                os.kill(int(path.split('/')[2]), signal.SIGKILL)


def _sweep(root):
    """Removes the folders of test processes that have ended, and ends their daemons."""
    for path in (found for folder in (RUN, root + RUN, root + ETC) for found in glob.glob(f'{folder}/mgl*-*')):
        pid = re.match(r'mgl(\d+)-', os.path.basename(path))
        if pid and not os.path.exists(f'/proc/{pid[1]}'):
            _end_left(os.path.basename(path))
            _remove(path)


def vty(path, *commands):
    """Sends commands to a daemon; returns [(status, text)]."""
    answers = []
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(path)
        for command in ('enable', *commands):
            connection.sendall(command.encode() + b'\0')
            answer = b''
            while answer[-4:-1] != END:
                piece = connection.recv(1 << 16)
                assert piece, f'{path} closed the connection after {command!r}'
                answer += piece
            answers.append((answer[-1], answer[:-4].decode()))
    return answers[1:]


# runs a program with a folder of namespaces of its own: zebra takes each of them for a VRF
PRIVATE = ('unshare', '--mount', '--propagation', 'private', 'sh', '-ec', 'mount -t tmpfs none /run/netns; exec "$@"', 'sh')
ADD = 'touch /run/netns/$1; mount --bind /proc/self/fd/$0 /run/netns/$1'


class Frr:
    """namespace: where it runs; None: one of its own. daemons: None: all that a configuration needs. listens: whether
    bgpd accepts connections. vrfs: whether namespaces can be its VRFs (add_vrf)."""

    def __init__(self, namespace=None, daemons=None, system=None, listens=False, vrfs=False):
        self.system = system or Machine()
        _sweep(self.system.root)
        self.own = namespace is None
        self.namespace = namespace or Namespace('f')
        self.pathspace = self.namespace.name
        self.etc, self.run = f'{self.system.root}{ETC}/{self.pathspace}', f'{RUN}/{self.pathspace}'
        self.daemons, self.listens, self.vrfs = daemons or self.system.daemons, listens, vrfs
        self.processes = {}
        self._make_folders()
        self._write('vtysh.conf', 'service integrated-vtysh-config\n')
        self._write('frr.conf', '')

    def _make_folders(self):
        """The sockets are found in the usual place, which has a short name, wherever the root file system is."""
        os.makedirs(RUN, exist_ok=True)
        os.makedirs(self.system.root + RUN, exist_ok=True)
        for folder in (self.etc, self.system.root + self.run):
            os.mkdir(folder)
            os.chown(folder, *self.system.owner())
        if self.system.root:
            os.symlink(self.system.root + self.run, self.run)

    def _write(self, name, text):
        path = os.path.join(self.etc, name)
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        os.chown(path, *self.system.owner())
        os.chmod(path, 0o640)

    # ---- life ----

    def start(self):
        """Returns when all daemons answer. zebra is first: one that does not find it tries again 10 s later."""
        for first in (True, False):
            names = [name for name in self.daemons if (name in FIRST) == first]
            for name in names:
                self._launch(name)
            for name in names:
                self._wait(name)
        return self

    def start_daemon(self, name):
        self._launch(name)
        self._wait(name)

    def revive(self, name):
        """Starts a daemon with its part of the saved configuration, as watchfrr does."""
        self.start_daemon(name)
        self._boot('-d', name)

    def restart(self, *names):
        """Kills daemons and starts them without a configuration."""
        for name in names:
            self.kill(name)
        for name in names:
            self._launch(name)
        for name in names:
            self._wait(name)

    def _launch(self, name):
        more = ['-p', '0'] if name == 'bgpd' and not self.listens else ['-n'] if name == 'zebra' and self.vrfs else []
        command = self.system.command(f'{PROGRAMS}/{name}', '-N', self.pathspace, '-A', '127.0.0.1', '-P', '0', *more)
        command = [*(PRIVATE if self.vrfs else ()), *command]
        with open(os.path.join(self.run, f'{name}.out'), 'a', encoding='utf-8') as out:
            self.processes[name] = subprocess.Popen([*DIE_WITH_PARENT, *self.namespace.command(*command)],
                                                    stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def _wait(self, name):
        until(lambda: self._answers(name), what=f'{name} answering')

    def _answers(self, name):
        try:
            return self.ask('show version', daemon=name)
        except OSError:
            return False

    def kill(self, name):
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def close(self):
        for name in list(self.processes):
            self.kill(name)
        for path in (self.etc, self.system.root + self.run, self.run):
            _remove(path)
        if self.own:
            self.namespace.delete()

    # ---- what it knows ----

    def ask(self, command, daemon='bgpd'):
        (status, text), = vty(f'{self.run}/{daemon}.vty', command)
        assert status in (0, 1), f'{command}: status {status}, {text}'
        return text

    def configure(self, *commands, daemon='bgpd'):
        for status, text in vty(f'{self.run}/{daemon}.vty', 'configure terminal', *commands):
            assert status == 0, text

    def add_vrf(self, name, namespace):
        """The namespace becomes a VRF; zebra is the last to see it, and tells the others."""
        with open(namespace.path, encoding='ascii') as file:
            for daemon in sorted(self.processes, key=lambda one: one in FIRST):
                subprocess.run(['nsenter', f'--mount=/proc/{self.processes[daemon].pid}/ns/mnt', 'sh', '-ec', ADD, str(file.fileno()), name],
                               pass_fds=[file.fileno()], check=True)
        until(lambda: f'vrf {name} id' in self.ask('show vrf', daemon='zebra'), what=f'the VRF {name}')

    def load(self, text, daemon=None):
        """Loads a configuration the way FRR does at its start, or at that of one daemon."""
        self._write('frr.conf', text)
        self._boot(*(('-d', daemon) if daemon else ()))

    def _boot(self, *of):
        done = subprocess.run([self.system.vtysh, '-N', self.pathspace, '-b', *of], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def running(self, daemon='bgpd'):
        """{(context, line)} of its running configuration."""
        found, context = set(), ()
        for line in self.ask('show running-config', daemon).splitlines():
            depth, line = len(line) - len(line.lstrip()), line.strip()
            if not line or line == '!' or line.startswith(('exit', 'end', 'frr version', 'hostname')):
                continue
            context = (*context[:depth], line)
            found.add(context)
        return found

    def saved(self):
        """Its file, as it was last written; '' in the moment in which it is written: vtysh moves the old one away first."""
        try:
            with open(os.path.join(self.etc, 'frr.conf'), encoding='ascii') as file:
                return file.read()
        except FileNotFoundError:
            return ''
