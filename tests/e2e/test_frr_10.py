# SPDX-License-Identifier: Apache-2.0
"""All stories of test_frr_reloader and test_frr_liars with FRR 10 of Debian 13, and what is special about it: mgmtd."""
import pytest

from lab import Frr
from lab.trixie import Trixie
from test_frr_liars import *  # noqa: F401,F403 pylint: disable=wildcard-import,unused-wildcard-import
from test_frr_reloader import *  # noqa: F401,F403 pylint: disable=wildcard-import,unused-wildcard-import


@pytest.fixture(scope='module')
def trixie():
    return Trixie()


@pytest.fixture
def frr(trixie):
    it = Frr(system=trixie).start()
    yield it
    it.close()


def test_it_is_frr_10(frr):
    assert 'FRRouting 10.' in frr.ask('show version')
    assert 'mgmtd' in frr.processes


def test_changes_go_on_without_mgmtd(reloader):  # noqa: F405
    it = reloader()
    it.reload(conf())  # noqa: F405
    it.frr.kill('mgmtd')
    assert it.reload(conf(networks=['192.0.2.5/32']))['result'] and it.way() == 'fast'  # noqa: F405
