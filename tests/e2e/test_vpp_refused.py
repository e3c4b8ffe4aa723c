# SPDX-License-Identifier: Apache-2.0
"""A VPP that would take our messages for something else gets none, and everybody is told why."""
import os

import pytest

from lab import VIP, config, frontend, pool
from lab.api import Status

A = '10.99.0.11'
FILE = config(backends={'a': A}, frontends={'www': frontend(VIP, pool('p', 'a'))}, dataplane='vpp')
WORDS = {'old': 'too old, 26.10 or newer', 'none': 'not loaded', 'crc': '2c72979e'}


@pytest.mark.parametrize('personality', WORDS)
def test_a_vpp_without_the_messages_that_we_need(personality, vpps, start_on):
    """facts 10: same checksums, other meaning, so nothing is sent; log, metric and maglevc say what is missing"""
    vpp, words = vpps(personality), WORDS[personality]
    daemon = start_on(vpp, FILE)
    line = daemon.wait('vpp-unsupported')
    assert line['level'] == 'ERROR' and words in line['problem'] and '26.' in line['version'], line
    daemon.wait_metric('maglev_vpp_problem', 1)
    page = daemon.metrics()
    assert page.one('maglev_vpp_connected') == 1 and page.one('maglev_dataplane_connected') == 0
    assert words in daemon.maglevc.text('show', 'vpp', 'info')
    assert words in daemon.api.call('GetVPPInfo').problem
    assert words in daemon.api.call('GetVPPLBState').problem
    daemon.api.refused('SyncVPPLBState', Status.UNAVAILABLE, 'not connected')
    assert not [one for one in vpp.log() if one.name.startswith('lb_')]
    assert not vpp.vips()
    assert len(daemon.all('vpp-unsupported')) == 1 and not daemon.all('dataplane-connect')


@pytest.mark.parametrize('mode', ['close', 'hang'])
def test_nor_does_it_hand_out_statistics(mode, vpps, start_on):
    """Of two things that are wrong the first is told, once, and not both in turns with every attempt"""
    vpp = vpps('none')
    vpp.ask(f'stats {mode}')
    daemon = start_on(vpp, FILE, brisk=True)
    daemon.wait_metric('maglev_vpp_connected', 1)
    assert WORDS['none'] in daemon.api.call('GetVPPInfo').problem
    daemon.wait('vpp-unsupported')
    assert len(daemon.all('vpp-unsupported')) == 1 and not daemon.all('vpp-connect-failed')
    vpp.ask('stats good')
    vpp.restart('new')
    vpp.wait_weights(VIP, {A: 100})


def test_it_is_programmed_once_it_is_another_one(vpps, start_on):
    """Upgraded and restarted, and seen without a restart of ours; and back"""
    vpp = vpps('old')
    daemon = start_on(vpp, FILE, brisk=True)
    daemon.wait('vpp-unsupported')
    vpp.restart('new')
    vpp.wait_weights(VIP, {A: 100})
    daemon.wait_metric('maglev_vpp_problem', 0)
    assert daemon.api.call('GetVPPInfo').problem == ''
    vpp.restart('none')
    daemon.wait('vpp-unsupported', count=2)
    assert 'not loaded' in daemon.api.call('GetVPPLBState').problem
    assert daemon.metrics().one('maglev_dataplane_connected') == 0


def test_without_vpp_it_says_that_too(start, folders, with_api):
    """Nobody listens, or nobody ever did: one line, not one for each attempt"""
    folder = folders()
    daemon = with_api(start(FILE, args=('--vpp-api-addr', f'{folder}/api.sock', '--vpp-stats-addr', f'{folder}/s')))
    line = daemon.wait('vpp-connect-failed')
    assert line['level'] == 'WARN' and 'api.sock' in line['error'], line
    assert daemon.metrics().one('maglev_vpp_connected') == 0
    assert daemon.api.call('GetVPPLBState').problem
    assert not daemon.api.call('GetVPPLBState').connected


def test_the_group_of_the_sockets_matters(standin, start_on):
    """The usual mistake: no permission; named as such"""
    os.chmod(standin.folder, 0o755)
    os.chmod(standin.api, 0o700)
    daemon = start_on(standin, FILE, brisk=True, prefix=('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'))
    assert 'ermission' in daemon.wait('vpp-connect-failed')['error']
    os.chmod(standin.api, 0o777)
    os.chmod(standin.stats, 0o777)
    standin.wait_weights(VIP, {A: 100})
