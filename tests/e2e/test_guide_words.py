# SPDX-License-Identifier: Apache-2.0
"""Commands of ours in the prose of README.md and docs/guide/*.md: the programs know them. Blocks of commands are run by test_guide_*.py."""
import subprocess

import pytest

from lab import program
from lab.guide import PROGRAMS, pages, spoken
from lab.net import Namespace

# commands of another program
OTHERS = {'show bgp summary': 'vtysh', 'show bfd peers': 'vtysh', **dict.fromkeys((
    'show info', 'show stat', 'show servers state', 'show sess', 'set server site/site1 state drain', 'set server site/site1 state maint',
    'set server site/site1 state ready', 'set server site/site1 weight 50%'), 'the stats socket of HAProxy')}


@pytest.fixture(scope='module')
def nowhere():
    """A network without servers: nothing is changed by a command that is right, which then ends with 3."""
    it = Namespace('w')
    yield it
    it.delete()


def complaint(namespace, command):
    """Why it is no command; None if it is one. Names are the reader's: … stands for what may follow."""
    name, *words = command.replace('…', '').split(None, 1)
    bare = name not in PROGRAMS
    if not bare and name != 'maglevc':
        return wrong(namespace, f'{program(name)} {"".join(words)} --help', '', (0,))
    given, stdin = ('', command) if bare else ((words or [''])[0], '')
    return wrong(namespace, f'{program("maglevc")} --timeout 1s {given}', stdin, (0, 3))


def wrong(namespace, command, stdin, good):
    done = subprocess.run(namespace.command('sh', '-c', command), input=stdin, capture_output=True, text=True, check=False)
    fine = done.returncode in good or 'is not complete' in done.stderr  # a mention without its names
    return None if fine else f'{done.returncode}: {done.stderr}'


@pytest.mark.parametrize('page', pages())
def test_commands_in_prose_are_known(nowhere, page):
    found = {f'{page}:{line}: {command}': complaint(nowhere, command) for line, command in spoken(page) if command not in OTHERS}
    assert not {name: why for name, why in found.items() if why}


@pytest.mark.parametrize('command', ['maglevc show frontendz', 'maglevc set backend web1 pause while 3m', 'show backend | mtch L4',
                                     'maglevd --chek', 'maglev-router --config FILE --chec', 'set vipp'])
def test_a_wrong_command_would_be_noticed(nowhere, command):
    assert complaint(nowhere, command)
