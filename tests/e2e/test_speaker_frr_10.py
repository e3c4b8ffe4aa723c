# SPDX-License-Identifier: Apache-2.0
"""The main stories of maglev-speaker with FRR 10 of Debian 13."""
import pytest

from lab.speaker import Site
from lab.trixie import Trixie
from test_speaker import test_a_restart_of_the_speaker_withdraws_nothing, test_a_route_follows_its_frontend  # noqa: F401
from test_speaker_faults import test_graceful_restart_keeps_routes_while_bgpd_is_restarted  # noqa: F401


@pytest.fixture(scope='module')
def trixie():
    return Trixie()


@pytest.fixture
def sites(trixie):
    made = []

    def sites(**how):
        made.append(Site(system=trixie, **how))
        assert 'FRRouting 10.' in made[-1].frr.ask('show version')
        return made[-1]

    yield sites
    for it in made:
        it.close()


@pytest.fixture
def site(sites):
    return sites()
