# SPDX-License-Identifier: Apache-2.0
"""XDP: what others do to program, maps and interface is seen, said and put right."""
import os

import pytest

from lab import VIPS4, Fabric, frontend, pool, until

VIP = VIPS4[0]


@pytest.fixture
def fabric(can_forward):
    it = Fabric(servers=2).start()
    yield it
    it.close()


@pytest.fixture
def plane(balanced):
    return balanced(frontends={'www': frontend(VIP, pool('all', 'web1', 'web2'))}, lb={'sync-interval': '1s'})


def works(plane):
    until(lambda: plane.answers(VIP), what='an answer')


def test_a_program_that_somebody_detached_is_attached_again(plane):
    mark = plane.daemon.mark()
    link = os.path.join(plane.balancer.pins, 'link-eth0')
    plane.balancer.run('bpftool', 'link', 'detach', 'pinned', link)
    plane.daemon.wait('xdp-repair', mark)
    works(plane)


def test_pins_that_somebody_deleted_come_back(plane):
    under = [os.path.join(folder, name) for folder, _, names in os.walk(plane.balancer.pins) for name in names]
    assert len(under) > 5
    mark = plane.daemon.mark()
    for path in under:
        os.unlink(path)
    plane.daemon.wait('xdp-repair', mark)
    until(lambda: all(os.path.exists(path) for path in under), what='all pins')
    works(plane)
    plane.daemon.kill()
    works(plane)
    plane.launch()


def test_an_interface_that_was_made_again_gets_the_program(plane):
    mark = plane.daemon.mark()
    plane.balancer.ip('link del eth0')
    plane.daemon.wait('xdp-down', mark)
    plane.balancer.connect()
    plane.balancer.announce()
    works(plane)
    plane.daemon.wait('xdp-attach', mark)
