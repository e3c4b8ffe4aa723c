# SPDX-License-Identifier: Apache-2.0
"""NFR-4.1: which capabilities maglevd and its dashboard need, keep and use."""
import pwd
import re

import pytest

from lab import Check, config, until

NOBODY = pwd.getpwnam('nobody')
NET_BIND_SERVICE, NET_RAW, SYS_ADMIN = 1 << 10, 1 << 13, 1 << 21


def as_nobody(*capabilities):
    """A command prefix: an unprivileged user with these capabilities, given as a systemd unit gives them."""
    sets = ','.join(['-all', *(f'+{c}' for c in capabilities)])
    return ['setpriv', '--pdeathsig', 'KILL', '--reuid', str(NOBODY.pw_uid), '--regid', str(NOBODY.pw_gid),
            '--clear-groups', '--no-new-privs', '--bounding-set', sets, '--inh-caps', sets, '--ambient-caps', sets]


def sets_of(daemon):
    return {k: int(v, 16) for k, v in re.findall(r'^Cap(\w+):\s*([0-9a-f]+)', daemon.proc('status'), re.M)}


def inside(net, prefix):
    return net.probes.command(*prefix)


def test_without_any_capability_tcp_and_http_work(start, net, servers):
    """NFR-4.1: an unprivileged user with none at all"""
    server = servers.open()
    checks = {'http': Check(port=server.port), 'tcp': Check('tcp', server.port)}
    daemon = start(config(checks, {k: (server.address, k) for k in checks}), prefix=inside(net, as_nobody()),
                   ready=False)
    for name in checks:
        daemon.wait_state(name, 'up')
    assert not daemon.all('capability-missing')
    assert set(sets_of(daemon).values()) == {0}


def test_what_is_missing_is_told_at_the_start_with_its_feature(start, net, servers):
    """NFR-4.1: and the probes that need it fail with the kernel's word"""
    server = servers.open()
    daemon = start(config({'c': Check('icmp')}, {'b': (server.address, 'c')}), prefix=inside(net, as_nobody()),
                   ready=False)
    missing = daemon.wait('capability-missing')
    assert missing['level'] == 'WARN'
    assert (missing['capability'], missing['feature']) == ('CAP_NET_RAW', 'icmp health checks')
    line = daemon.wait_state('b', 'down')
    assert line['code'] == 'SOCKERR' and 'permitted' in line['reason']


def test_a_namespace_without_the_capability_is_told_and_fails(start, net, servers):
    """NFR-4.1, facts 13"""
    server = servers.open()
    daemon = start(config({'c': Check(port=server.port)}, {'b': (server.address, 'c')}, netns=net.probes.name),
                   prefix=as_nobody())
    assert daemon.wait('capability-missing')['capability'] == 'CAP_SYS_ADMIN'
    assert 'enter netns' in daemon.wait_state('b', 'down')['reason']


def test_with_ambient_capabilities_everything_works_and_nothing_is_in_force_between_probes(start, net, servers):
    """NFR-4.1: permitted, raised only around socket() and setns()"""
    server = servers.open()
    checks = {'ping': Check('icmp'), 'web': Check(port=server.port)}
    daemon = start(config(checks, {k: (server.address, k) for k in checks}, netns=net.probes.name),
                   prefix=as_nobody('net_raw', 'sys_admin'))
    for name, check in checks.items():
        daemon.wait_settled(name, check)
    assert not daemon.all('capability-missing')
    seen = []  # not all at once: it may be without a processor just when one is in force
    until(lambda: seen.append(sets_of(daemon)) or len(seen) == 50, what='50 looks')
    assert sorted(s['Eff'] for s in seen)[len(seen) // 2] == 0
    assert {s['Eff'] for s in seen} <= {0, NET_RAW, SYS_ADMIN, NET_RAW | SYS_ADMIN}
    assert {s['Prm'] for s in seen} == {NET_RAW | SYS_ADMIN}
    assert {s['Amb'] for s in seen} == {s['Inh'] for s in seen} == {0}


@pytest.mark.parametrize('kind, kept', [('http', 0), ('icmp', NET_RAW), ('netns', SYS_ADMIN)])
def test_root_keeps_only_what_its_configuration_needs(kind, kept, start, net, servers):
    """NFR-4.1: also from the bounding set, as far as the kernel allows"""
    server = servers.open()
    check = Check('icmp') if kind == 'icmp' else Check(port=server.port)
    inner = kind == 'netns'
    daemon = start(config({'c': check}, {'b': (server.address, 'c')}, netns=net.probes.name if inner else None),
                   prefix=() if inner else net.probes.command(), ready=False)
    daemon.wait_state('b', 'up')
    sets = sets_of(daemon)
    assert sets['Prm'] == kept and sets['Bnd'] == kept and sets['Amb'] == 0
    assert sets['Eff'] in (0, kept)


@pytest.mark.parametrize('prefix, bounds', [([], 0), (as_nobody('net_bind_service'), NET_BIND_SERVICE)],
                         ids=['root', 'ambient'])
def test_the_dashboard_keeps_none(prefix, bounds, start_daemon, own_net):
    """NFR-4.1: it opens a port below 1024, and then has no capability; root empties the bounding set, too"""
    none = {'Inh': 0, 'Prm': 0, 'Eff': 0, 'Bnd': bounds, 'Amb': 0}
    dashboard = start_daemon('maglevd-frontend', '--server', 'a:1', '--listen', '127.0.0.1:80', ready=False,
                             prefix=own_net.probes.command(*prefix))
    dashboard.wait('listening', **{'for': 'http'})
    until(lambda: sets_of(dashboard) == none, what='the drop of all capabilities')
    assert not dashboard.all('capability-drop-failed')
