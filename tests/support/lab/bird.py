# SPDX-License-Identifier: Apache-2.0
"""BIRD, a BGP speaker by other authors, as the peer: what it has received is read with birdc."""
import os
import re
import subprocess

from lab.process import Process
from lab.wait import until


class Bird(Process):
    """namespace: where it runs; conf: its configuration."""

    def __init__(self, folder, namespace, conf, name='bird'):
        self.conf, self.socket = os.path.join(folder, f'{name}.conf'), os.path.join(folder, f'{name}.ctl')
        with open(self.conf, 'w', encoding='ascii') as file:
            file.write(conf)
        super().__init__(folder, name, ['bird', '-f', '-c', self.conf, '-s', self.socket, '-P',
                                        os.path.join(folder, f'{name}.pid')], namespace=namespace)

    def start(self, stdout=None):
        """Returns when it answers."""
        super().start(stdout)
        until(lambda: 'BIRD' in self.ask('show status'), what='BIRD answering')
        return self

    def ask(self, command):
        return subprocess.run(['birdc', '-s', self.socket, *command.split()], capture_output=True, text=True).stdout

    def is_established(self, protocol):
        return 'Established' in self.ask(f'show protocols {protocol}')

    def routes(self, table):
        """{prefix: {attribute: text}} of a table; attributes without the prefix BGP."""
        found, route = {}, {}
        for line in self.ask(f'show route table {table} all').splitlines():
            prefix = re.match(r'([0-9a-f.:]+/\d+) ', line)
            attribute = re.match(r'\tBGP\.(\w+): ?(.*)', line)
            if prefix:
                route = found.setdefault(prefix[1], {})
            elif attribute:
                route[attribute[1]] = attribute[2].strip()
        return found
