# SPDX-License-Identifier: Apache-2.0
"""A router at the other end of a link without addresses: FRR with an unnumbered session."""
import json

from lab.frr import Frr

CONF = '''
router bgp 64600
 bgp router-id 10.0.0.8
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor downlink interface remote-as external
 neighbor downlink timers connect 1
 address-family ipv4 unicast
  neighbor downlink activate
 exit-address-family
 address-family ipv6 unicast
  neighbor downlink activate
 exit-address-family
exit
'''


class Spine(Frr):
    """Its link is called uplink in the namespace that it is given."""

    def __init__(self, namespace):
        super().__init__(listens=True)
        self.start()
        namespace.ip(f'link add uplink type veth peer name downlink netns {self.namespace.name}', 'link set uplink up')
        self.namespace.ip('link set downlink up')
        self.load(CONF)

    def route(self, prefix, family='ipv4'):
        """Its attributes; None: there is none."""
        paths = json.loads(self.ask(f'show bgp {family} unicast {prefix} json')).get('paths')
        return paths and paths[0]
