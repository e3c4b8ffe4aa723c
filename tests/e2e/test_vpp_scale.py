# SPDX-License-Identifier: Apache-2.0
"""Many VIPs, and more than one maglevd: as fast as VPP takes it, and always the same bytes."""
import ipaddress
import time

from lab import config, frontend, pool, until

VIPS, SERVERS = 1000, 16
FULL_SYNC = 20.0  # seconds of processor time, in a build with sanitizers; how long it takes is also up to VPP


def address(base, n):
    return str(ipaddress.ip_address(base) + n)


def large(lb=None):
    """1,000 VIPs with 16 servers each, of 64 in all, none of them probed."""
    backends = {f'b{i:02}': address('10.99.0.1', i) for i in range(64)}
    names = list(backends)
    frontends = {f'f{i:04}': frontend(address('198.18.0.0', i), pool('p', *(names[(i + k) % 64] for k in range(SERVERS))))
                 for i in range(VIPS)}
    return config(backends=backends, frontends=frontends, dataplane='vpp', lb=lb)


def test_a_full_sync_of_a_thousand_vips(standin, start_on, record_property):
    """NFR-3: into an empty VPP, into one that has it all, and into one that restarted"""
    daemon = start_on(standin, large({'sync-interval': '1h'}), level='info')
    up = daemon.wait('dataplane-connect', timeout=60)
    took, used = daemon.wait('lb-sync-all', timeout=120).at - up.at, daemon.cpu()
    record_property('full_sync_seconds', took)
    print(f'{VIPS} VIPs with {SERVERS} servers each: {took:.2f} s; processor time since the start {used:.2f} s')
    vips = standin.vips()
    assert len(vips) == VIPS and all(len(vip.servers) == SERVERS for vip in vips)
    assert all(sum(one.buckets for one in vip.servers) == 16384 for vip in vips)
    assert used < FULL_SYNC, used
    standin.clear_log()
    start = time.monotonic()
    assert not daemon.api.call('SyncVPPLBState', timeout=60).operations
    print(f'nothing to do: {time.monotonic() - start:.2f} s')
    assert not standin.writes()
    mark = daemon.mark()
    standin.restart()
    daemon.wait('lb-sync-all', mark, timeout=60)
    assert len(standin.vips()) == VIPS


def test_a_change_overtakes_a_full_sync(standin, start_on):
    """A weight does not wait for a thousand VIPs"""
    daemon = start_on(standin, large({'sync-interval': '1h'}), level='info')
    daemon.wait('lb-sync-all', timeout=120)
    standin.ask('delay 0.02')
    standin.restart()
    daemon.wait('dataplane-connect', count=2, timeout=60)
    until(lambda: len(standin.vips()) > 20, what='the beginning of the full sync')
    daemon.api.call('SetFrontendPoolBackendWeight', frontend='f0000', pool='p', backend='b00', weight=7)
    until(lambda: standin.weights('198.18.0.0')['10.99.0.1'] == 7, what='the weight')
    had = len(standin.vips())
    standin.ask('delay 0')
    assert had < VIPS, 'the full sync was still going on'
    daemon.wait('lb-sync-all', count=2, timeout=120)


def test_two_instances_write_the_same_bytes(vpps, start_on):
    """NFR-2.1: whatever the order of the file, message by message and byte by byte"""
    backends = {f'{"zyx"[i % 3]}{i}': address('10.99.0.1', (7 * i) % 40) for i in range(40)}
    names = list(backends)
    frontends = {f'f{i}': frontend(address('198.51.100.200', -i), pool('p', *names[i:i + 6]), pool('q', *names[30:]),
                                   port=443 - i, protocol=('tcp', 'udp')[i % 2]) for i in range(20)}
    frontends['all'] = frontend('198.51.100.9', pool('p', *names[3:6]), port=None)
    frontends['six'] = frontend('2001:db8::9', pool('p', *names[5:9]))

    def written(order):
        vpp = vpps()
        daemon = start_on(vpp, config(backends={k: backends[k] for k in order(names)},
                                      frontends={k: frontends[k] for k in order(list(frontends))}, dataplane='vpp'))
        daemon.wait('lb-sync-all')
        daemon.api.call('SetFrontendPoolBackendWeight', frontend='f3', pool='p', backend=names[4], weight=33)
        daemon.api.call('SyncVPPLBState')  # it is there: two acts at once would be written VIP by VIP
        daemon.api.call('DisableBackend', name=names[5])
        daemon.api.call('SyncVPPLBState')
        return vpp.writes()

    first, second = written(list), written(lambda x: x[::-1])
    assert first == second and len(first) > 22 * 6
    adds = [fields for name, fields in first if name == 'lb_add_del_vip_v2']
    assert adds == sorted(adds), 'IPv4 before IPv6, by address, protocol, port'
