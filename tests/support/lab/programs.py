# SPDX-License-Identifier: Apache-2.0
"""The paths of the programs under test."""
import glob
import os

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '../../..'))
BUILD = os.path.abspath(os.environ.get('MAGLEV_BUILD', os.path.join(ROOT, 'build-asan')))
RELEASE = os.path.join(ROOT, 'build')
# those that are not src/ROOM/NAME
ELSEWHERE = {'maglevd-fake': 'tests/support/fake/maglevd-fake', 'maglevd-brisk': 'tests/support/vpp/maglevd-brisk',
             'vpp-standin': 'tests/support/vpp/vpp-standin', 'decap': 'bpf/decap.bpf.o',
             'pass': 'tests/support/pass/pass.bpf.o', 'proxy-peer': 'tests/support/proxy/proxy-peer',
             'ask': 'tests/support/ask/ask', 'kube-tool': 'tests/support/k8s/kube-tool'}


def _find(name, build):
    if name in ELSEWHERE:
        return os.path.join(build, ELSEWHERE[name])
    found = glob.glob(os.path.join(build, 'src', '*', name))
    assert len(found) == 1, f'{build} has {found or "no program"} for {name}'
    return found[0]


def program(name='maglevd', build=BUILD):
    """The path of a program. Each use is noted for tools/run-tests, which tracks what a test depends on; a copy that a story made
    is not, since the original is."""
    path = _find(name, build)
    if 'MAGLEV_PROGRAMS_USED' in os.environ and path.startswith(ROOT + '/'):
        with open(os.environ['MAGLEV_PROGRAMS_USED'], 'a', encoding='utf-8') as note:
            note.write(os.path.relpath(path, ROOT) + '\n')
    return path


def runner(name, measured=False, build=BUILD):
    """The command that starts it. build: where it was built. measured: the release build with real-time priority,
    because limits in milliseconds do not hold with sanitizers, nor while other processes use the processors."""
    return ['chrt', '--fifo', '1', program(name, RELEASE)] if measured else [program(name, build)]
