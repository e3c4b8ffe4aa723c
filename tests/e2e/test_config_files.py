# SPDX-License-Identifier: Apache-2.0
"""A configuration of several files, and one from standard input."""
import json
import os
import signal
import subprocess

import pytest

from lab import config, frontend, pool, program
from lab.router import document

MAIN = 'include: conf.d/*.yaml\nmaglev:\n  dataplane: none\n  backends:\n    a: { address: 10.0.0.1 }\n'
FRONTEND = '''\
maglev:
  frontends:
    %s: { address: %s, protocol: tcp, port: 80, pools: [ { name: all, backends: { a: } } ] }
'''


def check(path, text=None):
    return subprocess.run([program(), '--check', '--config', str(path)], capture_output=True, text=True, timeout=30,
                          input=text, env={**os.environ, 'MAGLEV_GRPC_ADDR': ''})


@pytest.fixture
def folder(folders):
    path = folders()
    os.mkdir(os.path.join(path, 'conf.d'))
    return path


@pytest.fixture
def put(folder):
    def put(name, text):
        path = os.path.join(folder, name)
        with open(path + '.new', 'w', encoding='utf-8') as file:
            file.write(text)
        os.rename(path + '.new', path)
        return path
    return put


def test_one_report_over_all_files(put, folder):
    """FR-5.2: mistakes of syntax in two files; then a rule that a value of one of them breaks."""
    main = put('maglev.yaml', MAIN)
    one, two = put('conf.d/1.yaml', 'maglev:\n  dataplan: none\n'), put('conf.d/2.yaml', 'maglev:\n  backends: [\n')
    done = check(main)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == f"{one}:2:3: maglev.dataplan: unknown key; did you mean 'dataplane'?"
    assert f'{two}:3:1: ' in done.stderr and len(done.stderr.splitlines()) == 2

    put('conf.d/1.yaml', FRONTEND % ('www', '198.51.100.1'))
    put('conf.d/2.yaml', FRONTEND % ('www2', '198.51.100.1'))
    done = check(main)
    assert done.returncode == 2 and f'{two}:3:22: maglev.frontends.www2.address: ' in done.stderr, done.stderr

    put('conf.d/2.yaml', FRONTEND % ('www', '198.51.100.2'))
    done = check(main)
    assert (done.returncode, done.stderr) == \
        (1, f'{two}:3:5: maglev.frontends.www: occurs twice, first at {one}:3:5\n')

    put('conf.d/2.yaml', FRONTEND % ('www2', '198.51.100.2'))
    done = check(main)
    assert (done.returncode, done.stdout) == (0, f'{main}: ok\n')


def test_a_reload_reads_all_files(put, folder, start_daemon):
    main = put('maglev.yaml', MAIN)
    put('conf.d/www.yaml', FRONTEND % ('www', '198.51.100.1'))
    daemon = start_daemon('maglevd', '--config', main, '--grpc-addr', '127.0.0.1:0')
    assert daemon.wait('config-loaded')['frontends'] == 1

    bad = put('conf.d/more.yaml', FRONTEND % ('more', 'nonsense'))
    mark = daemon.mark()
    daemon.signal(signal.SIGHUP)
    error = daemon.wait('config-error', mark)
    assert (error['file'], error['line'], error['key']) == (bad, 3, 'maglev.frontends.more.address')
    daemon.wait('config-reload-failed', mark)

    put('conf.d/more.yaml', FRONTEND % ('more', '198.51.100.2'))
    daemon.signal(signal.SIGHUP)
    daemon.wait('config-loaded', mark, frontends=2)
    command = [program('maglevc'), '--server', f'127.0.0.1:{daemon.port_of("grpc")}', '--color=false']
    os.unlink(os.path.join(folder, 'conf.d/www.yaml'))
    checked = subprocess.run([*command, 'config', 'check'], capture_output=True, text=True, timeout=30, check=False)
    assert 'frontend www: removed' in checked.stdout, checked
    subprocess.run([*command, 'config', 'reload'], capture_output=True, timeout=30, check=True)
    daemon.wait('config-loaded', mark, frontends=1)


def test_the_router_follows_included_files(put, folder, start_daemon, serve):
    """--watch: a file that comes, that changes, that goes."""
    doc = document(serve())
    main = put('router.yaml', 'include: "conf.d/*.yaml"\n')
    one = put('conf.d/one.yaml', json.dumps(doc))
    router = start_daemon('maglev-router', '--config', main, '--watch', '--admin-addr', '127.0.0.1:0',
                          '--listen', '127.0.0.1:0', metrics=None, ready=False)
    router.wait('config-loaded', routes=1)
    mark = router.mark()
    put('conf.d/two.yaml', json.dumps({'routes': [{'name': 'two', 'hosts': ['two.example'], 'pool': 'pool'}]}))
    router.wait('config-loaded', mark, routes=2)
    mark = router.mark()
    os.unlink(os.path.join(folder, 'conf.d/two.yaml'))
    router.wait('config-loaded', mark, routes=1)
    mark = router.mark()
    put('conf.d/one.yaml', json.dumps({'routes': doc['routes']}))
    assert router.wait('config-error', mark)['file'] == one


def test_the_speaker_reads_included_files(put):
    """Both of the other daemons with a file have the same reader."""
    main = put('speaker.yaml', 'include: peers.yaml\nspeaker: { router: { asn: 64500, id: 192.0.2.1 } }\n')
    peers = put('peers.yaml', 'speaker:\n  peers:\n    tor: { adress: 192.0.2.2 }\n')
    done = subprocess.run([program('maglev-speaker'), '--check', '--config', main], capture_output=True, text=True,
                          timeout=30)
    assert done.returncode == 1 and f'{peers}:3:12: speaker.peers.tor.adress: unknown key' in done.stderr, done


def test_standard_input_can_be_checked():
    done = check('-', 'maglev: { dataplane: none, backends: { a: { address: x } } }\n')
    assert (done.returncode, done.stderr.split(' maglev')[0]) == (2, 'standard input:1:54:')
    done = check('-', 'maglev: { dataplane: none }\n')
    assert (done.returncode, done.stdout) == (0, 'standard input: ok\n')


def test_a_configuration_from_standard_input_cannot_be_reloaded(start_daemon, tmp_path):
    """A reload says so and changes nothing."""
    file = tmp_path / 'in'
    file.write_text(json.dumps(config(backends={'a': '10.0.0.1'},
                                      frontends={'www': frontend('198.51.100.1', pool('all', 'a'))})))
    daemon = start_daemon('maglevd', '--config', '-', '--grpc-addr', '127.0.0.1:0',
                          prefix=('sh', '-c', f'exec "$@" <{file}', 'sh'))
    assert daemon.wait('config-loaded')['file'] == 'standard input'
    mark = daemon.mark()
    daemon.signal(signal.SIGHUP)
    error = daemon.wait('config-reload-failed', mark)['error']
    assert error == 'the configuration came from standard input, which cannot be read again: restart the program'
    assert daemon.get('/readyz')[0] == 200
