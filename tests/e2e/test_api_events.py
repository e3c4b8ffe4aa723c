# SPDX-License-Identifier: Apache-2.0
"""Typed events of WatchEvents: the configuration, the data plane, whole items, results of probes."""
import signal
import time

import pytest

from lab import SLACK, SPARE, VIP, Check, config, frontend, pool, until
from lab.turns import waited

A, B = '10.99.0.11', '10.99.0.12'
BACKENDS = {'a': A, 'b': B, 'lonely': SPARE}
FRONTENDS = {'www': frontend(VIP, pool('all', 'a', 'b')), 'more': frontend('198.51.100.20', pool('all', 'a'))}
STATIC = config(backends=BACKENDS, frontends=FRONTENDS, dataplane='vpp')


@pytest.fixture
def daemon(start_api):
    daemon = start_api(STATIC)
    daemon.plane.wait_weights(VIP, {A: 100, B: 100})
    daemon.wait('lb-sync-all')  # its end: the last VIP, and what is told of it, come later
    return daemon


def test_a_subscriber_learns_which_configuration_is_in_force_and_what_becomes_of_others(daemon):
    """FR-6.3: taken and refused files, with the generation; a check is none of them"""
    began = time.time_ns()
    watch = daemon.api.watch(config=True)
    first = watch.wait('config')
    assert (first.replay, first.ok, first.generation, first.error) == (True, True, 1, '')
    assert (first.frontends, first.backends, first.healthchecks) == (2, 3, 0) and 0 < first.since < began

    daemon.write('maglev: [')
    assert not daemon.api.call('CheckConfig').ok and not daemon.api.call('ReloadConfig').ok
    refused = watch.wait('config', ok=False)
    assert (refused.generation, refused.since, refused.errors, refused.replay) == (1, first.since, 1, False)
    assert refused.error.startswith(daemon.path) and '\n' not in refused.error
    late = daemon.connect().watch(config=True).wait('config')
    assert (late.replay, late.ok, late.error, late.since) == (True, False, refused.error, first.since)

    daemon.write(config(backends={'a': '10.99.0.13', 'c': B, 'lonely': SPARE}, dataplane='vpp',
                        frontends={'www': frontend(VIP, pool('all', 'a', 'c'))}))
    daemon.signal(signal.SIGHUP)
    taken = watch.wait('config', generation=2)
    assert (taken.ok, taken.frontends, taken.backends, taken.since > first.since) == (True, 1, 3, True)
    assert (taken.backends_added, taken.backends_removed, taken.backends_changed) == (1, 1, 1)
    assert len(watch.of('config')) == 3


def test_a_reload_is_told_before_what_it_changes(daemon):
    """so that names that are new are not taken for unknown ones"""
    watch = daemon.api.watch(config=True, backend=True)
    watch.wait('backend', backend='lonely')
    daemon.write(config(backends={'a': A, 'c': B}, frontends={'www': frontend(VIP, pool('all', 'a', 'c'))}, dataplane='vpp'))
    assert daemon.api.call('ReloadConfig').ok
    watch.wait('backend', backend='b', to='removed')
    kinds = [event.WhichOneof('event') for event in watch.events if event.WhichOneof('event') != 'backend' or not event.backend.replay]
    assert kinds[:2] == ['config', 'config'] and set(kinds[2:]) == {'backend'}


def test_the_data_plane_comes_and_goes(daemon):
    """FR-6.3: which it is, since when it is connected, and why not"""
    watch = daemon.api.watch(dataplane=True)
    first = watch.wait('dataplane')
    assert (first.replay, first.change, first.dataplane, first.connected) == (True, '', 'fake', True)
    assert (first.warmup, first.held, first.problem) == ('done', False, '') and first.since and first.last_full_sync
    daemon.plane.ask('down')
    down = watch.wait('dataplane', change='disconnected')
    assert (down.connected, down.reason, down.replay) == (False, 'the fake was told to go', False) and down.since > first.since
    late = daemon.connect().watch(dataplane=True).wait('dataplane')
    assert (late.replay, late.connected, late.since) == (True, False, down.since)
    daemon.plane.ask('up')
    assert watch.wait('dataplane', change='connected').connected


def test_syncs_are_told_with_what_they_did(daemon):
    """FR-4.1: of the VIPs that changed, and of all"""
    watch = daemon.api.watch(dataplane=True)
    first = watch.wait('dataplane')
    daemon.api.call('PauseBackend', name='a')
    synced = watch.wait('dataplane', change='synced', scope='vip')
    assert (synced.vips, dict(synced.operations)) == (2, {'as-weight': 2})
    daemon.api.call('SyncVPPLBState')
    full = watch.wait('dataplane', change='synced', scope='all')
    assert (full.vips, dict(full.operations)) == (2, {}) and full.last_full_sync > first.last_full_sync
    daemon.plane.ask('fail-applies 1000')
    daemon.api.call('ResumeBackend', name='a')
    failed = watch.wait('dataplane', change='sync-failed')
    assert failed.connected and failed.reason.startswith('as-weight ')
    daemon.plane.ask('fail-applies 0')


def test_the_warm_up_is_told_by_its_phases(start_api):
    daemon = start_api(config(backends=BACKENDS, frontends=FRONTENDS, dataplane='vpp',
                              lb={'startup-min-delay': '4s', 'startup-max-delay': '5s'}))  # from the start on, and we have to be there
    watch = daemon.api.watch(dataplane=True, info=True)
    assert watch.wait('dataplane', replay=True).warmup == 'hands-off'
    watch.wait('dataplane', change='warmup', warmup='releasing')
    assert watch.wait('frontend_info', name='www', released=True).state == 'up'
    watch.wait('dataplane', change='warmup', warmup='done')


def test_infos_go_on_after_a_reload(daemon):
    """with more frontends and backends than there were, which the reload itself releases to the data plane"""
    watch = daemon.api.watch(config=True, info=True)
    subscribed(daemon, 1)
    many = {f'n{i:03}': f'10.97.0.{i + 1}' for i in range(150)}
    daemon.write(config(backends={**BACKENDS, **many}, dataplane='vpp', frontends={
        **FRONTENDS, **{f'f{i:03}': frontend(f'198.51.101.{i + 1}', pool('all', f'n{i:03}')) for i in range(150)}}))
    assert daemon.api.call('ReloadConfig').ok
    assert watch.wait('config', generation=2).backends_added == 150
    assert watch.wait('backend_info', name='n149').state == 'up'  # a transition behind the reload
    daemon.api.call('PauseBackend', name='n149')
    assert watch.wait('frontend_info', name='f149', state='down') == daemon.api.frontend('f149')
    daemon.write(STATIC)
    assert daemon.api.call('ReloadConfig').ok
    daemon.api.call('PauseBackend', name='lonely')
    watch.wait('backend_info', name='lonely', state='paused')


def subscribed(daemon, n):
    """Infos have no replay: what happens before the server knows of a subscriber is not told."""
    until(lambda: daemon.metrics().one('maglev_watch_subscribers') == n, what=f'{n} subscribers')


def pause(daemon, **fields):
    daemon.api.call('PauseBackend', name='a', **fields)


def test_infos_tell_all_of_what_changed_and_of_nothing_else(daemon):
    """FR-6.3, NFR-5.3: states, weights and overrides of those who have them, as the lists show them"""
    watch = daemon.api.watch(info=True)
    subscribed(daemon, 1)
    daemon.api.call('SetFrontendPoolBackendWeight', frontend='www', pool='all', backend='b', weight=7)
    member = watch.wait('frontend_info', name='www').pools[0].backends[1]
    assert (member.name, member.weight, member.effective_weight, member.mutated) == ('b', 7, 7, True)
    assert not watch.of('backend_info') and not watch.find('frontend_info', name='more')
    pause(daemon, reason='disk')
    info = watch.wait('backend_info', name='a', state='paused')
    assert info == daemon.api.backend('a') and info.override.reason == 'disk'
    assert watch.wait('frontend_info', name='more', state='down') == daemon.api.frontend('more')
    pause(daemon, reason='disk and fan')  # a change of state is none of it
    until(lambda: watch.of('backend_info')[-1].override.reason == 'disk and fan', what='the reason')
    until(lambda: watch.find('frontend_info', name='www')[-1].pools[0].backends[0].override.reason == 'disk and fan',
          what='the reason, in the pool')
    pause(daemon, until=time.time_ns() + 2_000_000_000)  # what lies in the past when it arrives is refused
    until(lambda: not watch.of('backend_info')[-1].HasField('override'), what='its end')
    assert {one.name for one in watch.of('backend_info')} == {'a'}
    assert [event.seq for event in watch.events] == list(range(1, len(watch.events) + 1))


def test_many_changes_of_one_are_one_info_for_a_slow_reader(start_api):
    """NFR-3.4: infos do not queue up; who wakes up has the newest of each"""
    daemon = start_api(STATIC)
    slow = daemon.connect(narrow=True).start('WatchEvents', None, info=True)
    quick = daemon.api.watch(info=True)
    subscribed(daemon, 2)
    for _ in range(2000):
        pause(daemon, reason='x' * 100)
        daemon.api.call('ResumeBackend', name='a')
    pause(daemon, reason='the last')
    until(lambda: quick.of('backend_info')[-1].override.reason == 'the last', what='the last one')
    got = 0
    for event in slow:
        got += 1
        if event.backend_info.override.reason == 'the last':
            break
    slow.cancel()
    assert got < 2000 and daemon.metrics().one('maglev_watch_dropped_total') == 0


def test_probes_are_told_once_a_second(start_api, net, servers):
    """NFR-5.3: the last result of each that was probed, under the names of BackendInfo"""
    server = servers.open('web')
    daemon = start_api(config({'check': Check(port=server.port)}, {'web': (server.address, 'check'), 'fixed': A},
                              {'www': frontend(VIP, pool('all', 'web'))}, netns=net.probes.name, dataplane='vpp'))
    daemon.wait_settled('web', Check())
    late = waited(daemon.pid)
    watch = daemon.api.watch(probes=True)
    watch.wait('probes', count=2)
    server.answer(404)
    daemon.wait_state('web', 'down')
    until(lambda: watch.of('probes')[-1].probes[0].last_code == 'L7STS', what='the failure')
    last = watch.of('probes')[-1].probes[0]
    assert last.name == 'web' and last.last_reason == daemon.api.backend('web').last_reason and last.last_duration > 0
    assert all([row.name for row in one.probes] == ['web'] for one in watch.of('probes'))  # a static one is not probed
    times = [event.at for event in watch.events]
    late = waited(daemon.pid) - late  # one that comes late is followed by one in time
    assert all(later - sooner > 0.5e9 - SLACK * 1e8 - late * 1e9 for sooner, later in zip(times, times[1:]))


def test_infos_and_probes_come_only_to_those_who_ask(daemon):
    """WatchRequest: none set is all of the others"""
    everything = daemon.api.watch()
    everything.wait('backend', backend='lonely')
    pause(daemon)
    daemon.api.call('SyncVPPLBState')
    everything.wait('dataplane', change='synced', scope='all')
    assert {event.WhichOneof('event') for event in everything.events} == {'log', 'backend', 'frontend', 'config', 'dataplane'}
