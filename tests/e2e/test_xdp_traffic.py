# SPDX-License-Identifier: Apache-2.0
"""XDP: real TCP through the balancer, whatever the families, the sizes and the number of flows."""
import collections
import socket
import struct

from lab import VIPS4, VIPS6, Balanced, flows, frontend, pool, until

VIP = VIPS4[0]
IP_PKTINFO = 8


def sources(n):
    """n flows that no other story has, the same ones every time."""
    return [(f'10.1.{i // 250}.{i % 250 + 1}', 20000 + i) for i in range(n)]


def test_every_mix_of_families_carries_small_and_full_size_packets(balanced):
    """IPv4 and IPv6 in GRE over IPv4 and IPv6; down and up, a byte and megabytes"""
    plane = balanced()
    plane.carry(1, 1400, 3000000)
    for vip, _ in Balanced.MIXES.values():
        until(lambda: int(plane.counters(vip)['bytes']) > 3000000, what=f'the count of the bytes to {vip}')


def test_new_flows_follow_the_weights(balanced):
    """Weights 1 to 3 give 1 to 3: within 3 % over many flows, and over 1200 real connections as far as so few can"""
    plane = balanced(frontends={'www': frontend(VIP, pool('all', web1=20, web2=60)),
                                'dns': frontend(VIP, pool('all', web1=20, web2=60), port=53, protocol='udp')})
    served = collections.Counter(plane.ask(VIP, source=source) for source in sources(1200))
    assert set(served) == {'web1', 'web2'}
    assert 0.22 < served['web1'] / 1200 < 0.28, served

    sent = 40000
    with plane.client.socket(kind=socket.SOCK_DGRAM) as udp:
        for i in range(sent):
            source = struct.pack('=I4s4x', 0, bytes((10, 1, i >> 8 & 255, i & 255)))
            udp.sendmsg([b'?'], [(socket.IPPROTO_IP, IP_PKTINFO, source)], 0, (VIP, 53))
    share = packets_by_server(plane, sent)
    assert abs(share['web1'] / sent - 0.25) < 0.25 * 0.03, share


def packets_by_server(plane, sent):
    """What the data plane counted for the VIP of port 53, once all of it was."""
    def count():
        found = {one['backend']: int(one['packets']) for one in plane.counters(VIP, 53)['application_servers']}
        return found if sum(found.values()) >= sent else None
    return until(count, what=f'the count of {sent} packets')


def test_src_ip_sticky_keeps_a_client_on_its_server(balanced):
    """src-ip-sticky: all flows of an address go to one server, and different addresses to different ones"""
    plane = balanced(frontends={'www': frontend(VIP, pool('all', 'web1', 'web2', 'web3', 'web4'), src_ip_sticky=True),
                                'www6': frontend(VIPS6[1], pool('all', 'web1', 'web2', 'web3', 'web4'))})
    by_client = collections.defaultdict(set)
    for address, port in sources(60):
        for more in (0, 5000, 10000):
            by_client[address].add(plane.ask(VIP, source=(address, port + more)))
    assert all(len(servers) == 1 for servers in by_client.values()), by_client
    assert {name for servers in by_client.values() for name in servers} == {'web1', 'web2', 'web3', 'web4'}
    assert len({plane.ask(VIPS6[1]) for _ in range(40)}) > 1


def test_a_thousand_flows_at_once_keep_their_servers(balanced):
    """1000 connections stay open while the table changes under them; each ends where it began"""
    plane = balanced()
    held = [flows.Flow(plane.client, VIP, source=source) for source in sources(1000)]
    mark = plane.daemon.mark()
    plane.weigh('www4', 'web1', 1)
    plane.weigh('www4', 'web2', 50)
    plane.daemon.wait('lb-sync-op', mark, op=f'as-weight {VIP}:80/tcp {plane.fabric.servers[1].address} 100->50')
    plane.wait_synced(mark)
    for flow in held:
        assert flow.send('GET / HTTP/1.1\r\nHost: lab\r\n\r\n').body().startswith('web')
