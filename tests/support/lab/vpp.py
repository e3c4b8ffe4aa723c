# SPDX-License-Identifier: Apache-2.0
"""A VPP for tests: the fake of tests/support/vpp, or the real one if it is installed.

Both are inspected through their CLI, so that the same tests run with both. Only the fake has a control
socket, a log of the messages it received, and fault injection.
"""
import dataclasses
import os
import shutil
import signal
import socket
import subprocess

from lab.process import Process
from lab.programs import program
from lab.vpp_text import parse_vips
from lab.wait import PATIENCE, until

PROTOCOLS = {'tcp': 6, 'udp': 17, 'any': 255}
WRITES = ('lb_conf', 'lb_add_del_vip', 'lb_add_del_vip_v2', 'lb_add_del_as', 'lb_add_del_as_v2', 'lb_as_set_weight',
          'lb_flush_vip')
HEADER = 10  # of a request: id, client index, context


class _Plane(Process):
    """Common to both. They provide cli() and is_there()."""

    def __init__(self, folder, name, *command):
        super().__init__(folder, name, command)
        self.api, self.stats = (os.path.join(self.folder, one) for one in ('api.sock', 'stats.sock'))

    def start(self, stdout=None):
        super().start(stdout)
        until(self.is_there, what=f'the sockets of {self.name}')
        return self

    def environment(self):
        return {'MAGLEV_VPP_API_ADDR': self.api, 'MAGLEV_VPP_STATS_ADDR': self.stats}

    def vips(self, removed=False):
        return [vip for vip in parse_vips(self.cli('show lb vips verbose')) if vip.used or removed]

    def vip(self, address, port=80, protocol='tcp'):
        """None if it does not exist."""
        key = (f'{address}/{128 if ":" in address else 32}', PROTOCOLS[protocol], port)
        return next((vip for vip in self.vips() if vip.key == key), None)

    def weights(self, address, port=80, protocol='tcp'):
        """{address: weight} of one VIP; None if it does not exist."""
        vip = self.vip(address, port, protocol)
        return vip and {one.address: one.weight for one in vip.servers if one.used}

    def wait_weights(self, address, expected, timeout=PATIENCE, port=80, protocol='tcp'):
        until(lambda: self.weights(address, port, protocol) == expected, timeout, f'{address} getting {expected}')

    def state(self):
        """All VIPs and servers in use, in the form of a configuration."""
        return {vip.key: (vip.type, vip.sticky, vip.size, {one.address: one.weight for one in vip.servers if one.used})
                for vip in self.vips()}


@dataclasses.dataclass
class Message:
    connection: int
    name: str
    body: bytes

    @property
    def fields(self):
        """The message without the fields of a connection."""
        return self.body[HEADER:]


class Standin(_Plane):
    kind = 'standin'

    def __init__(self, folder, personality='new'):
        super().__init__(folder, 'vpp-standin', program('vpp-standin'), str(folder), personality)
        self.control = os.path.join(self.folder, 'control.sock')

    def is_there(self):
        assert self.is_running(), self.said()
        try:
            self.ask('clients')
            return True
        except (FileNotFoundError, ConnectionError):
            return False

    def ask(self, line):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(PATIENCE)
            s.connect(self.control)
            s.sendall(line.encode() + b'\n')
            answer = b''
            while chunk := s.recv(1 << 20):
                answer += chunk
        text = answer.decode()
        assert text != 'what?\n', f'the stand-in does not know: {line}'
        return text

    def cli(self, line):
        return self.ask(f'cli {line}')

    def conf(self):
        """(IPv4 source, IPv6 source, buckets, timeout)"""
        src4, src6, buckets, timeout = self.ask('conf').split()
        return src4, src6, int(buckets), int(timeout)

    def restart(self, personality='new'):
        self.ask(f'restart {personality}')

    def crash(self):
        self.ask('down')

    def info(self):
        words = self.ask('info').split()
        return {k: int(v) for k, v in zip(words[::2], words[1::2])}

    def log(self):
        return [Message(int(number), name, bytes.fromhex(body)) for number, name, body in
                (line.split(' ') for line in self.ask('log').splitlines())]

    def clear_log(self):
        self.ask('clear-log')

    def writes(self):
        """[(message, fields)] of all messages that change something, in order."""
        return [(one.name, one.fields.hex()) for one in self.log() if one.name in WRITES]

    def clients(self):
        return [line.split(' ')[1] for line in self.ask('clients').splitlines()]

    def packets(self, to, flows, first=0, port=80, protocol='tcp', length=100):
        """Sends one packet of each flow."""
        self.ask(f'packets {to} {PROTOCOLS[protocol]} {port} {first} {flows} {length}')

    def poke(self, at, value, size=8):
        """Writes little-endian bytes into the stats segment, which is then not updated until freeze 0."""
        self.ask('freeze 1')
        self.ask(f'poke {at} {value} {size}')

    def stop(self):
        """Checks that it still runs and that no message was recorded as misuse."""
        assert self.is_running(), self.said()
        if self.process_is_up():
            assert self.ask('misuse') == ''
        super().stop()

    def process_is_up(self):
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(self.api) == 0


def find_vpp():
    """The real VPP, or None if it is not installed."""
    return os.environ.get('MAGLEV_TEST_VPP') or shutil.which('vpp')


class RealVpp(_Plane):
    kind = 'real'

    def __init__(self, folder):
        super().__init__(folder, 'vpp', find_vpp())
        self.cli_socket = os.path.join(self.folder, 'cli.sock')
        self.command.append(f'unix {{ nodaemon cli-listen {self.cli_socket} runtime-dir {self.folder} }} '
                            f'api-segment {{ prefix mgl{os.getpid()} }} socksvr {{ socket-name {self.api} }} '
                            f'statseg {{ socket-name {self.stats} }} cpu {{ main-core 0 }} '
                            'plugins { plugin default { disable } plugin lb_plugin.so { enable } }')

    def is_there(self):
        assert self.is_running(), self.said()
        return os.path.exists(self.api) and os.path.exists(self.stats) and bool(self.cli('show version'))

    def cli(self, line):
        vppctl = shutil.which('vppctl') or os.path.join(os.path.dirname(find_vpp()), 'vppctl')
        done = subprocess.run([vppctl, '-s', self.cli_socket, *line.split()], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        return done.stdout.replace('\r', '')

    def has_weights(self):
        return 'lb_plugin' in self.cli('show plugins') and 'lb_as_set_weight' in self.cli('show api message-table')

    def crash(self):
        self.kill()

    def restart(self):
        self.crash()
        self.start()

    def stop(self):
        """The real VPP writes to standard error, and its exit status is not checked."""
        if self.is_running():
            self.signal(signal.SIGTERM)
            self.end()
