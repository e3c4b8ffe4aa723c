# SPDX-License-Identifier: Apache-2.0
"""`ports: vip`: every port that a server serves is probed, and a check of another one is warned about."""
import os
import signal
import subprocess

from lab import VIP, Check, config, frontend, pool, program


def given(net, address, *ports, **check):
    return config({'check': Check('tcp', more={'ports': 'vip'}, **check)}, {'web': (address, 'check')},
                  {f'www{port}': frontend(VIP, pool('all', 'web'), port=port) for port in ports},
                  netns=net.probes.name, dataplane='vpp')


def test_each_port_of_the_vip_counts(start_fake, net, servers):
    """The server goes down with any of them, and the reason names the port. A reload adds one."""
    address = net.address()
    one, two, three = (servers.open(address=address) for _ in range(3))
    daemon = start_fake(given(net, address, one.port, two.port))
    daemon.wait_state('web', 'up')
    for server in (two, one):
        mark = daemon.mark()
        server.refuse()
        line = daemon.wait_state('web', 'down', mark)
        assert line['code'] == 'L4CON' and f':{server.port}' in line['reason'], line
        mark = daemon.mark()
        server.listen()
        daemon.wait_state('web', 'up', mark)

    three.refuse()
    mark = daemon.mark()
    daemon.write(given(net, address, one.port, two.port, three.port))
    daemon.signal(signal.SIGHUP)
    assert f':{three.port}' in daemon.wait_state('web', 'down', mark)['reason']
    mark = daemon.mark()
    three.listen()
    daemon.wait_state('web', 'up', mark)


def test_a_port_that_no_frontend_has_is_warned_about(tmp_path):
    file = tmp_path / 'maglev.yaml'
    file.write_text('maglev:\n  dataplane: none\n  healthchecks: { web: { type: tcp, port: 8080 } }\n'
                    '  backends: { a: { address: 10.0.0.1, healthcheck: web } }\n  frontends:\n'
                    '    www: { address: 198.51.100.1, protocol: tcp, port: 80, pools: [ { name: all, backends: { a: } } ] }\n')
    done = subprocess.run([program(), '--check', '--config', str(file)], capture_output=True, text=True, timeout=30,
                          env={**os.environ, 'MAGLEV_GRPC_ADDR': ''})
    assert done.returncode == 0 and f'{file}:3:43: maglev.healthchecks.web.port: warning: 8080 is not the port' in done.stderr
