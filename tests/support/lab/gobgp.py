# SPDX-License-Identifier: Apache-2.0
"""gobgpd, a BGP speaker by other authors, as the peer: what it has received is read with gobgp."""
import json
import os
import subprocess

from lab.process import Process
from lab.wait import until

CONF = '''
[global.config]
  as = {asn}
  router-id = "{address}"
  local-address-list = ["{address}"]
[[neighbors]]
  [neighbors.config]
    neighbor-address = "{neighbor}"
    peer-as = {peer_asn}
  [neighbors.transport.config]
    local-address = "{address}"
    passive-mode = true
  [neighbors.timers.config]
    idle-hold-time-after-reset = 1
  [[neighbors.afi-safis]]
    [neighbors.afi-safis.config]
      afi-safi-name = "ipv4-unicast"
  [[neighbors.afi-safis]]
    [neighbors.afi-safis.config]
      afi-safi-name = "ipv6-unicast"
'''
# numbers of path attributes (RFC 4271, RFC 1997, RFC 8092)
AS_PATH, MED, COMMUNITIES, LARGE_COMMUNITIES = 2, 4, 8, 32


class GoBgp(Process):
    """namespace: where it runs. It waits for a connection of the neighbor."""

    def __init__(self, folder, namespace, **conf):
        path = os.path.join(folder, 'gobgpd.toml')
        with open(path, 'w', encoding='ascii') as file:
            file.write(CONF.format(**conf))
        super().__init__(folder, 'gobgpd', ['gobgpd', '-f', path, '--api-hosts', '127.0.0.1:50051', '--pprof-disable'],
                         namespace=namespace)

    def start(self, stdout=None):
        """Returns when it answers."""
        super().start(subprocess.DEVNULL)
        until(lambda: self.ask('neighbor') is not None, what='gobgpd answering')
        return self

    def stop(self):
        """Its exit status is not 0 on SIGTERM."""
        if self.is_running():
            self.kill()

    def ask(self, *words):
        """JSON as values; None: there is no answer."""
        done = subprocess.run(self.namespace.command('gobgp', '-j', *words), capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def routes(self, family='ipv4'):
        """{prefix: {'as_path', 'med', 'communities', 'large', 'age'}} of what it has."""
        return {prefix: self._route(paths[0]) for prefix, paths in (self.ask('global', 'rib', '-a', family) or {}).items()}

    @staticmethod
    def _route(path):
        found = {one['type']: one for one in path['attrs']}
        text = [f'{number >> 16}:{number & 0xffff}' for number in found.get(COMMUNITIES, {}).get('communities', [])]
        large = [f"{one['ASN']}:{one['LocalData1']}:{one['LocalData2']}"
                 for one in found.get(LARGE_COMMUNITIES, {}).get('value', [])]
        return {'as_path': [n for one in found[AS_PATH]['as_paths'] for n in one['asns']],
                'med': found.get(MED, {}).get('metric'), 'communities': text, 'large': large, 'age': path['age']}
