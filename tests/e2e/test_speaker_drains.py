# SPDX-License-Identifier: Apache-2.0
"""Drains of maglev-speaker survive its restart: the file that keeps them, and what the peer sees meanwhile."""
import json
import os
import time

import pytest

from lab import until
from lab.speaker import VIP, Site


@pytest.fixture
def site():
    it = Site()
    yield it
    it.close()


def kept(speaker):
    with open(speaker.drains, encoding='utf-8') as file:
        return json.load(file)['drains']


@pytest.mark.parametrize('end', ['kill', 'stop'])
def test_a_drained_vip_stays_withdrawn_after_a_restart(site, end):
    speaker = site.speak(**{'drain-time': '500ms'})
    before = time.time_ns()
    speaker.call('DrainVIP', vip='www', reason='a "new" disk')
    site.bird.wait(there=False)
    drained_at = speaker.vip()['drained_at']
    assert before < int(drained_at) < time.time_ns()
    assert kept(speaker) == [{'vip': 'www', 'address': VIP, 'reason': 'a "new" disk', 'operator': '',
                              'operator_address': '127.0.0.1', 'at': int(drained_at)}]
    seen = site.bird.history()
    getattr(speaker, end)()
    speaker.start()
    assert speaker.wait('drains-restored', speaker._began)['vips'] == 1
    speaker.wait('maglevd-connected', speaker._began)
    speaker.wait('frr-applied', speaker._began)  # the first thing that FRR is told after the restart
    vip = speaker.vip()
    assert (vip['state'], vip['reason'], vip['drained'], vip['drained_at']) == ('withdrawn', 'drained', True, drained_at)
    assert vip['drain_reason'] == 'a "new" disk' and vip['summary'] == 'withdrawn: drained, a "new" disk'
    assert site.bird.history() == seen and site.bird.route() is None
    speaker.call('UndrainVIP', vip='www')
    site.bird.wait()
    assert kept(speaker) == []
    getattr(speaker, end)()
    speaker.start()
    speaker.wait_vip(state='announced', drained=False)
    assert not speaker.all('vip-transition', speaker._began, to='draining')


def test_a_drain_goes_on_after_a_restart(site):
    """The VIP is still announced, with graceful shutdown, and withdrawn when the time that began before the restart is over."""
    speaker = site.speak(**{'drain-time': '4s'})
    began = time.monotonic()
    speaker.call('DrainVIP', vip='www')
    until(lambda: '(65535,0)' in (site.bird.route() or {}).get('community', ''), what='graceful shutdown at the peer')
    speaker.kill()
    speaker.start()
    speaker.wait('adopted', speaker._began)
    assert speaker.vip()['state'] == 'draining'
    seen = site.bird.history()
    site.bird.wait(there=False)
    assert time.monotonic() - began >= 3.9
    assert site.bird.history() == [*seen, 'removed'], 'it was announced without graceful shutdown in between'
    assert not speaker.all('vip-transition', speaker._began, to='announced')


def test_a_broken_file_is_left_alone_until_the_next_drain(site):
    speaker = site.speak(**{'drain-time': '500ms'})
    speaker.stop()
    for text in ('{"drains": [', '{"drains": [{"vip": "www"}]}', '\0'):
        with open(speaker.drains, 'w', encoding='ascii') as file:
            file.write(text)
        speaker.start()
        line = speaker.wait('drains-not-read', speaker._began, level='ERROR')
        assert line['file'] == speaker.drains and line['error']
        speaker.wait_vip(state='announced', drained=False)
        with open(speaker.drains, encoding='ascii') as file:
            assert file.read() == text
        speaker.stop()
    speaker.start()
    speaker.call('DrainVIP', vip='www')
    assert [one['vip'] for one in kept(speaker)] == ['www']


def test_a_file_that_cannot_be_written_does_not_stop_a_drain(site, folders):
    path = os.path.join(folders(), 'missing/drains')
    speaker = site.speak('--drain-file', path, **{'drain-time': '500ms'})
    assert speaker.call('DrainVIP', vip='www')['drained']
    line = speaker.wait('drains-not-kept', level='ERROR')
    assert line['file'] == path and 'do not survive a restart' in line['reason']
    site.bird.wait(there=False)


def test_without_a_file_drains_end_with_the_process(site):
    speaker = site.speak('--drain-file', '', **{'drain-time': '500ms'})
    speaker.call('DrainVIP', vip='www')
    site.bird.wait(there=False)
    speaker.kill()
    speaker.start()
    site.bird.wait()
    assert not os.path.exists(speaker.drains) and not speaker.all('drains-not-kept')


def test_the_drain_of_a_vip_that_is_gone_is_forgotten(site):
    speaker = site.speak(**{'drain-time': '500ms'})
    speaker.call('DrainVIP', vip='www')
    site.bird.wait(there=False)
    since = speaker.reload(address='198.51.100.11')
    gone = speaker.wait('drain-forgotten', since)
    assert (gone['vip'], gone['address']) == ('www', VIP)
    until(lambda: kept(speaker) == [], what='the file without the drain')
    site.bird.wait('198.51.100.11/32')
    speaker.call('DrainVIP', vip='www')
    speaker.stop()
    speaker.write()  # the old address again, while it does not run
    speaker.start()
    assert speaker.wait('drain-forgotten', speaker._began)['address'] == '198.51.100.11'
    assert speaker.wait('drains-restored', speaker._began)['vips'] == 0 and kept(speaker) == []
    site.bird.wait()
