# SPDX-License-Identifier: Apache-2.0
"""All stories of test_frr_render with FRR 10 of Debian 13."""
import pytest

from lab.trixie import Trixie
from test_frr_render import *  # noqa: F401,F403 pylint: disable=wildcard-import,unused-wildcard-import


@pytest.fixture(scope='module')
def system():
    return Trixie()


def test_it_is_frr_10(node):  # noqa: F405
    assert 'FRRouting 10.' in node.ask('show version')
