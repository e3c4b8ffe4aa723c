# SPDX-License-Identifier: Apache-2.0
"""The commands of README.md and of getting started, on a machine with the two servers of the page."""
import shutil
import subprocess
import sys

import pytest

from lab import until
from lab.fabric import WEB, child
from lab.guide import example
from lab.net import Namespace
from lab.programs import ROOT


@pytest.fixture(scope='module')
def machine():
    """Has the servers' addresses itself."""
    it = Namespace('g')
    it.ip('addr add 10.0.0.11/32 dev lo', 'addr add 10.0.0.12/32 dev lo')
    server = child(it.command(sys.executable, WEB, 'web', '/nonexistent'), stdout=subprocess.PIPE)
    assert server.stdout.readline() == 'ready\n'
    yield it
    server.kill()
    server.wait()
    server.stdout.close()
    it.delete()


@pytest.fixture
def home(desk, machine):
    it = desk(machine)
    for path in ('/etc/maglev/maglev.yaml', 'maglev.yaml'):
        it.put(path, example('getting-started.md', 'write-a-configuration'))
    return it


def serves(home):
    """maglevd runs, and the servers of the page are up."""
    until(lambda: 'primary' in home.say('maglevc show frontends', None) and
          home.say('maglevc show backends state up', None).count('10.0.0.1') == 2, what='servers that are up')
    return home.say('maglevc show frontends www')


def test_getting_started(home):
    home.put('/etc/default/maglevd', example('getting-started.md', 'run-it', 'ini'))
    assert home.run('getting-started.md#write-a-configuration').endswith('good\n')
    said = home.run('getting-started.md#run-it')
    assert '"msg":"config-loaded"' in said and '198.51.100.10:80/tcp' in said and 'web1' in said
    assert serves(home)


def test_targets_of_make(home):
    """make -n: they are there. The rest of an installation, in an /etc that nobody else has"""
    home.stand_in('make', f'exec {shutil.which("make")} -n -C {ROOT} "$@"')
    assert 'tools/run-tests' in home.run('README.md#build-and-test')
    assert 'meson install' in home.run('getting-started.md#install-it/2')


@pytest.mark.parametrize('name', ['README.md#run-it', 'getting-started.md#run-it/2'])
def test_in_the_foreground(home, name):
    with home.started(name):
        assert '198.51.100.10' in serves(home)
