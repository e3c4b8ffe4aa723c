# SPDX-License-Identifier: Apache-2.0
"""FRR's own daemons in a namespace: configured by a file, asked over their vty sockets.

Each instance has its own pathspace (-N), so that several of them, and those of other test runs, live side by side.
"""
import glob
import os
import re
import shutil
import socket
import subprocess

from lab.net import Namespace
from lab.process import DIE_WITH_PARENT
from lab.wait import PATIENCE, until

PROGRAMS, ETC, RUN = '/usr/lib/frr', '/etc/frr', '/var/run/frr'
DAEMONS = ('zebra', 'staticd', 'bfdd', 'bgpd')
RELOAD = f'{PROGRAMS}/frr-reload.py'
END = b'\0\0\0'


def _sweep():
    """Removes the folders of test processes that have ended."""
    for path in glob.glob(f'{ETC}/mgl*-*') + glob.glob(f'{RUN}/mgl*-*'):
        pid = re.match(r'mgl(\d+)-', os.path.basename(path))
        if pid and not os.path.exists(f'/proc/{pid[1]}'):
            shutil.rmtree(path, ignore_errors=True)


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


class Frr:
    """namespace: where it runs; None: one of its own. listens: whether peers can connect to it."""

    def __init__(self, namespace=None, daemons=DAEMONS, listens=False):
        _sweep()
        self.own = namespace is None
        self.namespace = namespace or Namespace('f')
        self.pathspace = self.namespace.name
        self.etc, self.run = f'{ETC}/{self.pathspace}', f'{RUN}/{self.pathspace}'
        self.daemons, self.listens = daemons, listens
        self.processes = {}
        os.makedirs(RUN, exist_ok=True)
        for folder in (self.etc, self.run):
            os.mkdir(folder)
            shutil.chown(folder, 'frr', 'frr')
        self._write('vtysh.conf', 'service integrated-vtysh-config\n')
        self._write('frr.conf', '')

    def _write(self, name, text):
        path = os.path.join(self.etc, name)
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        shutil.chown(path, 'frr', 'frr')
        os.chmod(path, 0o640)

    # ---- life ----

    def start(self):
        for name in self.daemons:
            self.start_daemon(name)
        return self

    def start_daemon(self, name):
        """Returns when it answers."""
        more = ['-p', '0'] if name == 'bgpd' and not self.listens else []
        command = [f'{PROGRAMS}/{name}', '-N', self.pathspace, '-A', '127.0.0.1', '-P', '0', *more]
        with open(os.path.join(self.run, f'{name}.out'), 'a', encoding='utf-8') as out:
            self.processes[name] = subprocess.Popen([*DIE_WITH_PARENT, *self.namespace.command(*command)],
                                                    stdin=subprocess.DEVNULL, stdout=out, stderr=out)
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
        shutil.rmtree(self.etc, ignore_errors=True)
        shutil.rmtree(self.run, ignore_errors=True)
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

    def load(self, text):
        """Loads a configuration the way FRR does at its start."""
        self._write('frr.conf', text)
        done = subprocess.run(['vtysh', '-N', self.pathspace, '-b'], capture_output=True, text=True)
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
        """Its file, as it was last written."""
        with open(os.path.join(self.etc, 'frr.conf'), encoding='ascii') as file:
            return file.read()
