# SPDX-License-Identifier: Apache-2.0
"""Overrides and restarts: by default the file rules again (FR-3.5); with --override-file they are kept."""
import json
import os
import time

import pytest

from lab import VIP, config, frontend, pool, until
from lab.api import Status

A, B, C = '10.99.0.11', '10.99.0.12', '10.99.0.13'


def file(backends=('a', 'b', 'c'), weight=100):
    addresses = {'a': A, 'b': B, 'c': C}
    return config(backends={name: addresses[name] for name in backends},
                  frontends={'www': frontend(VIP, pool('all', **{name: weight for name in backends}))}, dataplane='vpp')


@pytest.fixture
def kept(start_api, folders):
    """Starts maglevd again and again with the same file of overrides."""
    class Kept:
        path = os.path.join(folders(), 'overrides.json')

        def start(self, yaml=None):
            return start_api(yaml or file(), args=['--override-file', self.path])

        def read(self):
            with open(self.path) as f:
                return json.load(f)['overrides']

        def write(self, text):
            with open(self.path, 'w') as f:
                f.write(text)

    return Kept()


def states(daemon):
    return {b.name: b.state for b in daemon.api.call('ListBackends').backends}


def test_by_default_the_file_rules_after_a_restart(start_api):
    """FR-3.5, and the log says so"""
    daemon = start_api(file())
    assert '--override-file' in daemon.wait('overrides-not-persistent')['reason']
    assert not daemon.api.call('PauseBackend', name='a').overrides_kept
    daemon.stop()
    again = start_api(file())
    assert states(again) == dict.fromkeys('abc', 'up')


def test_an_act_that_was_answered_survives_a_kill(kept):
    """The answer comes after the write: there is no moment at which a kill would lose it."""
    daemon = kept.start()
    assert daemon.api.call('PauseBackend', name='a', reason='disk').overrides_kept
    daemon.kill()
    daemon = kept.start()
    assert daemon.wait('overrides-restored')['restored'] == 1
    assert states(daemon) == {'a': 'paused', 'b': 'up', 'c': 'up'}
    override = daemon.api.backend('a').override
    assert (override.act, override.reason, override.operator_address) == ('paused', 'disk', '127.0.0.1')
    for method, fields in (('DisableBackend', {'name': 'b'}), ('ResumeBackend', {'name': 'a'}),
                           ('SetFrontendPoolBackendWeight',
                            {'frontend': 'www', 'pool': 'all', 'backend': 'c', 'weight': 7, 'reason': 'slow'}),
                           ('PauseBackend', {'name': 'c', 'from': time.time_ns() + 3600 * 10**9}),
                           ('ActOnBackends', {'names': ['a'], 'act': 'disable'})):
        daemon.api.call(method, **fields)
        daemon.kill()
        daemon = kept.start()
    assert states(daemon) == {'a': 'disabled', 'b': 'disabled', 'c': 'up'}
    assert daemon.api.member('www', 'c').weight == 7 and daemon.api.member('www', 'c').weight_override.reason == 'slow'
    listed = daemon.api.call('ListOverrides')
    assert listed.kept and [(o.backend, o.override.act) for o in listed.overrides] == [
        ('a', 'disabled'), ('b', 'disabled'), ('c', 'paused'), ('c', 'weight')]
    daemon.plane.wait_weights(VIP, {A: 0, B: 0, C: 7})
    assert daemon.metrics().one('maglev_override_file_ok') == 1


def test_what_no_longer_fits_is_reported_and_dropped(kept):
    daemon = kept.start()
    daemon.api.call('PauseBackend', name='a')
    daemon.api.call('PauseBackend', name='b')
    end = time.time_ns() + 2 * 10**9
    daemon.api.call('PauseBackend', name='c', until=end)
    daemon.api.call('SetFrontendPoolBackendWeight', frontend='www', pool='all', backend='c', weight=50)
    daemon.kill()  # before the pause of c ends
    until(lambda: time.time_ns() > end, what='the end of the pause of c')
    daemon = kept.start(file('bc', weight=50))
    dropped = daemon.all('override-dropped')
    assert [(d['act'], d['backend'], d['level']) for d in dropped][:1] == [('paused', 'a', 'WARN')]
    assert 'no such backend' in dropped[0]['reason']
    assert 'the file says the same' in dropped[-1]['reason'] and dropped[-1]['frontend'] == 'www'
    assert daemon.api.backend('b').state == 'paused'
    daemon.stop()
    assert [o['backend'] for o in kept.read() if o['act'] != 'weight'][:1] == ['b']


def test_a_broken_file_is_named_and_moved_aside(kept):
    broken = '{"overrides": [\n  {"act": "paused", "backend": 7}\n]}'
    kept.write(broken)
    daemon = kept.start()
    line = daemon.wait('overrides-not-read')
    assert line['level'] == 'ERROR' and f'{kept.path}:2:' in line['error'] and 'backend' in line['error']
    with open(line['moved']) as f:
        assert f.read() == broken
    daemon.api.call('PauseBackend', name='a')
    assert [o['backend'] for o in kept.read()] == ['a']


def test_a_disk_that_fails_stops_no_act_and_hides_nothing(kept):
    daemon = kept.start()
    until(lambda: os.path.exists(kept.path), what='the first write, at the start')
    os.mkdir(kept.path + '.new')  # in the way of the next write
    os.mkdir(os.path.join(kept.path + '.new', 'x'))
    daemon.api.refused('PauseBackend', Status.INTERNAL, 'it is done, but does not survive a restart', name='a')
    assert daemon.api.backend('a').state == 'paused'
    assert daemon.wait('overrides-not-kept')['level'] == 'ERROR'
    assert daemon.metrics().one('maglev_override_file_ok') == 0
    os.rmdir(os.path.join(kept.path + '.new', 'x'))
    os.rmdir(kept.path + '.new')
    daemon.wait('overrides-kept')
    assert [o['backend'] for o in kept.read()] == ['a']
    assert daemon.metrics().one('maglev_override_file_ok') == 1


def test_an_override_that_ends_is_gone_from_the_file(kept):
    daemon = kept.start()
    daemon.api.call('PauseBackend', name='a', until=time.time_ns() + 2 * 10**9)
    assert len(kept.read()) == 1
    daemon.wait('override-ended')
    daemon.stop()
    assert kept.read() == []
