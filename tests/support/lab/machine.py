# SPDX-License-Identifier: Apache-2.0
"""A machine that has the addresses of web servers itself, so that a balancer of a page finds its servers."""
import subprocess
import sys

from lab.fabric import WEB, child
from lab.net import Namespace


class Machine(Namespace):
    def __init__(self, *addresses):
        super().__init__('m')
        self.ip(*(f'addr add {address}/32 dev lo' for address in addresses))
        self.server = child(self.command(sys.executable, WEB, 'web', '/nonexistent'), stdout=subprocess.PIPE)
        assert self.server.stdout.readline() == 'ready\n'

    def close(self):
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()
        self.delete()
