# SPDX-License-Identifier: Apache-2.0
"""The weight of a server that returns grows in steps."""
import re
import subprocess

from lab import VIP, Check, config, frontend, pool, program

STEPS = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]


def slow(time, *backends):
    return {**pool('all', *backends), 'slow-start': time}


def weights_written(plane, address):
    return [int(found[1]) for line in plane.journal()
            if (found := re.match(rf'as-weight {VIP}:80/tcp {re.escape(address)} \d+->(\d+)', line))]


def test_a_server_that_returns_gets_its_share_step_by_step(start_fake, net, servers):
    """Not at the start; then ten values, each written once, and shown with their reason."""
    one, two = servers.open(), servers.open()
    check = {'check': Check(port=one.port), 'other': Check(port=two.port)}
    daemon = start_fake(config(check, {'one': (one.address, 'check'), 'two': (two.address, 'other')},
                               {'www': frontend(VIP, slow('6s', 'one', 'two'))}, netns=net.probes.name, dataplane='vpp'))
    for name, its in (('one', check['check']), ('two', check['other'])):
        daemon.wait_settled(name, its)
    daemon.plane.wait_weights(VIP, {one.address: 100, two.address: 100})
    assert weights_written(daemon.plane, one.address) in ([], [100])

    mark = daemon.mark()
    one.refuse()
    daemon.wait_state('one', 'down', mark)
    daemon.plane.wait_weights(VIP, {one.address: 0, two.address: 100})
    before = len(weights_written(daemon.plane, one.address))
    one.listen()
    daemon.wait_state('one', 'up', mark)
    daemon.wait_metric('maglev_frontend_pool_backend_slow_start', 1, backend='one')
    command = [program('maglevc'), '--server', f'127.0.0.1:{daemon.grpc_port()}', '--color=false']
    shown = subprocess.run([*command, 'show', 'backend', 'one'], capture_output=True, text=True, check=True).stdout
    assert 'slow-start' in shown and 'its weight grows for' in shown, shown
    shown = subprocess.run([*command, 'show', 'frontend', 'www'], capture_output=True, text=True, check=True).stdout
    assert '[slow start]' in shown, shown

    daemon.plane.wait_weights(VIP, {one.address: 100, two.address: 100})
    written = weights_written(daemon.plane, one.address)[before:]
    assert written == sorted(set(written)) and set(written) <= set(STEPS) and written[-1] == 100 and len(written) >= 3
    daemon.wait_metric('maglev_frontend_pool_backend_slow_start', 0, backend='one')
    assert daemon.metrics().one('maglev_frontend_pool_backend_effective_weight', backend='one') == 100


def test_a_server_that_joins_starts_slowly(start_fake, net, servers):
    """It joins one that was there before; the other one keeps its weight."""
    one, two = servers.open(), servers.open()
    checks = {'check': Check(port=one.port), 'other': Check(port=two.port)}

    def having(*names):
        every = {'one': (one.address, 'check'), 'two': (two.address, 'other')}
        return config({**checks}, {name: every[name] for name in names},
                      {'www': frontend(VIP, slow('1h', *names))}, netns=net.probes.name, dataplane='vpp')

    daemon = start_fake(having('one'))
    daemon.plane.wait_weights(VIP, {one.address: 100})
    daemon.write(having('one', 'two'))
    daemon.signal(1)
    daemon.wait_state('two', 'up')
    daemon.plane.wait_weights(VIP, {one.address: 100, two.address: 10})
