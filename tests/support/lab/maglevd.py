# SPDX-License-Identifier: Apache-2.0
"""maglevd, with its configuration in a file."""
import json
import os

from lab.daemon import Daemon
from lab.wait import PATIENCE


class Maglevd(Daemon):
    def __init__(self, folder, config, name='maglevd', grpc='127.0.0.1:0', args=(), **options):
        """options: see Daemon."""
        self.path = os.path.join(str(folder), 'maglev.yaml')
        self.write(config)
        super().__init__(folder, name, '--config', self.path, '--grpc-addr', grpc, *args, **options)

    def write(self, config):
        """Replaces the file atomically: with a dict, or with text unchanged."""
        text = config if isinstance(config, str) else json.dumps(config, indent=1, ensure_ascii=False)
        with open(self.path + '.new', 'w', encoding='utf-8') as file:
            file.write(text)
        os.rename(self.path + '.new', self.path)

    def grpc_port(self):
        return self.port_of('grpc')

    def wait_state(self, backend, state, since=0, timeout=PATIENCE):
        return self.wait('backend-transition', since, timeout, backend=backend, to=state)

    def wait_settled(self, backend, check, timeout=PATIENCE):
        """Waits until it is up with a full counter."""
        self.wait_metric('maglev_backend_health', check.top, timeout, backend=backend)

    def state(self, backend):
        """The state of a backend in the metrics, which must be exactly one."""
        found = [labels['state'] for labels, value in self.metrics().of('maglev_backend_state', backend=backend)
                 if value == 1]
        assert len(found) == 1, found
        return found[0]
