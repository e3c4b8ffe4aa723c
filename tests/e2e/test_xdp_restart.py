# SPDX-License-Identifier: Apache-2.0
"""XDP: packets do not need maglevd, and do not notice when it comes back."""
import signal
import threading

import pytest

from lab import VIPS4, VIPS6, flows

VIPS = VIPS4 + VIPS6


class Load:
    """Requests, downloads and an upload through all VIPs, all the time."""

    def __init__(self, plane):
        self.downloads = [plane.download(vip, 4000000) for vip in VIPS for _ in range(3)]
        self.plane, self.uploads = plane, []

    def upload(self, n):
        for _ in range(n):
            for vip in VIPS:
                self.uploads.append(flows.upload(self.plane.client, vip, 1000000))

    def finish(self):
        for one in self.downloads:
            one.finish()


@pytest.mark.parametrize('how', ['kill -9', 'SIGTERM'])
def test_maglevd_may_go_and_come_back_under_traffic(balanced, how):
    """kill -9, an ordinary restart, and with it an upgrade: nothing is lost before, between and after"""
    plane = balanced()
    load = Load(plane)
    with flows.traffic(plane.client, *VIPS) as traffic:
        uploads = threading.Thread(target=load.upload, args=(4,), daemon=True)
        uploads.start()
        for one in load.downloads:
            one.read(500000)
        end(plane.daemon, how)
        first = plane.balancer.program()
        assert first
        traffic.wait_more(80)
        for one in load.downloads:
            one.read(500000)
        plane.launch()
        assert plane.daemon.wait('xdp-open')['adopted'] is True
        assert plane.daemon.wait('xdp-attach')['adopted'] is True and plane.balancer.program() != first
        traffic.wait_more(80)
        uploads.join()
    assert not traffic.errors() and len(load.uploads) == 4 * len(VIPS)
    load.finish()
    assert not plane.daemon.all('lb-sync-op')


def end(daemon, how):
    if how == 'kill -9':
        daemon.kill()
    else:
        daemon.signal(signal.SIGTERM)
        assert daemon.end() == 0


def test_detaching_takes_everything_away(balanced):
    """maglevd --xdp-detach: no program, no pin; and it refuses while a maglevd is at work"""
    plane = balanced()
    refused = plane.run_detach()
    assert refused.returncode and 'stop it first' in refused.stdout + refused.stderr
    assert plane.ask(VIPS[0])
    plane.daemon.stop()
    assert plane.ask(VIPS[0])
    assert 'removed' in plane.detach()
    assert 'nothing to remove' in plane.detach()
