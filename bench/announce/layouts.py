# SPDX-License-Identifier: Apache-2.0
"""Two ways to write the same announcements as a configuration of FRR."""
PEERS = {'10.0.1.2': 64513, '10.0.2.2': 64514}
HEAD = ['router bgp 64512', 'no bgp ebgp-requires-policy', 'no bgp network import-check', 'no bgp default ipv4-unicast',
        'coalesce-time 0']
NEW = '198.18.0.0/32'  # sorts before all others


def prefixes(n):
    return [f'198.18.{i // 250}.{1 + i % 250}/32' for i in range(n)]


def _router(networks):
    lines = [*HEAD]
    for peer, number in PEERS.items():
        lines += [f'neighbor {peer} remote-as {number}', f'neighbor {peer} timers 30 90', f'neighbor {peer} timers connect 1']
    lines += ['address-family ipv4 unicast']
    for peer in PEERS:
        lines += [f'neighbor {peer} activate', f'neighbor {peer} route-map {peer}-in in',
                  f'neighbor {peer} route-map {peer}-out out']
    return [*lines, *networks, 'exit-address-family', 'exit']


def tagged(all_of_them):
    """A network is tagged with the marker of its class; no list and no route map names a prefix."""
    lines = _router([f'network {prefix} route-map origin-1' for prefix in all_of_them])
    lines += ['bgp community-list standard class-1 permit 64512:1', 'route-map origin-1 permit 10',
              'set community 64512:1', 'exit']
    for peer in PEERS:
        lines += [f'route-map {peer}-in deny 20', 'exit', f'route-map {peer}-out permit 10', 'match community class-1',
                  'set comm-list class-1 delete', 'exit']
    return '\n'.join(lines) + '\n'


def numbered(all_of_them):
    """One entry of a prefix list for each prefix and peer, numbered from 1."""
    lines = _router([f'network {prefix}' for prefix in all_of_them])
    for peer in PEERS:
        lines += [f'ip prefix-list {peer}-allowed-ipv4 seq {n} permit {prefix}' for n, prefix in enumerate(all_of_them, 1)]
        lines += [f'route-map {peer}-in deny 20', 'exit', f'route-map {peer}-out permit 1',
                  f'match ip address prefix-list {peer}-allowed-ipv4', 'exit']
    return '\n'.join(lines) + '\n'
