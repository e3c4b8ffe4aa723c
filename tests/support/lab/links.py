# SPDX-License-Identifier: Apache-2.0
"""Balancers of a Fabric that are connected by a VLAN, or by a network card, instead of a plain veth.

They need devices that not every kernel has; tools/test-kernel boots one that has them.
"""
import json
import subprocess

from lab.fabric import Balancer
from lab.guide import block, follow
from lab.wait import until

CABLE = '52:54:00:00:00:01', '52:54:00:00:00:02'  # the cards at the two ends, see tools/test-kernel


def add_vlan(balancer):
    """Makes VLAN 7 on the link, at the balancer with the commands of the guide."""
    port, router = balancer.port, balancer.fabric.router
    router.ip(f'link add link {port} name {port}.7 type vlan id 7', f'link set {port}.7 up')
    follow(balancer, block('xdp.md#vlans'))


class Tagged(Balancer):
    """All packets between balancer and router are in VLAN 7."""

    def plug(self):
        super().plug()
        add_vlan(self)
        return 'eth0.7', f'{self.port}.7'


class TaggedVeth(Tagged):
    def plug(self):
        ends = super().plug()
        self.fabric.router.run('ethtool', '-K', self.port, 'txvlan', 'off')
        return ends


def take_card(address, host, name):
    """Moves the card with this address to a machine. It comes back some time after the end of the last one."""
    def find():
        found = subprocess.run(['ip', '-j', 'link'], capture_output=True, text=True, check=True).stdout
        return next((one['ifname'] for one in json.loads(found) if one['address'] == address), None)
    card = until(find, what=f'the card {address}')
    subprocess.run(['ip', 'link', 'set', card, 'netns', host.name, 'name', name], check=True)
    host.ip(f'link set {name} up')


class Card(Balancer):
    """Has a network card, with a cable to one of the router."""

    def plug(self):
        take_card(CABLE[0], self, 'eth0')
        take_card(CABLE[1], self.fabric.router, self.port)
        return 'eth0', self.port


class TaggedCard(Tagged, Card):
    pass
