# SPDX-License-Identifier: Apache-2.0
"""A stream that breaks goes on where it was, or says that one has to start over."""
import time

import pytest

from lab import VIP, config, frontend, pool, until

A = '10.99.0.11'
STATIC = config(backends={'a': A}, frontends={'www': frontend(VIP, pool('all', 'a'))}, dataplane='vpp')


@pytest.fixture
def daemon(start_api):
    return start_api(STATIC)


@pytest.fixture
def dashboard(daemon, start_dashboard):
    dashboard = start_dashboard(f'lon=127.0.0.1:{daemon.api_port}')
    dashboard.wait_connected('lon')
    return dashboard


def acts(daemon, n):
    for _ in range(n):
        daemon.api.call('PauseBackend', name='a')
        daemon.api.call('ResumeBackend', name='a')


def end(daemon, stream):
    """The event of a last act."""
    daemon.api.call('PauseBackend', name='a', reason='the end')
    return stream.wait('backend', lambda e: e['payload']['reason'] == 'the end')


def number(event):
    return int(event['id'].split('-')[1])


def test_a_broken_stream_goes_on_where_it_was(daemon, dashboard):
    """replay by Last-Event-ID: no gap, no double"""
    first, witness = dashboard.watch(), dashboard.watch()
    acts(daemon, 2)
    last = first.wait('backend', lambda e: e['payload']['to'] == 'up')
    first.close()
    acts(daemon, 5)
    second = dashboard.watch(last=last['id'])
    newest = end(daemon, second)
    assert end(daemon, witness) == newest
    missed = [e for e in witness.events if number(last) < number(e) <= number(newest)]
    assert len(missed) > 10 and [e for e in second.events if number(e) <= number(newest)] == missed
    assert not second.find('resync')


def test_a_state_and_the_stream_behind_it_fit(daemon, dashboard):
    state = dashboard.state()
    acts(daemon, 3)
    stream = dashboard.watch(query=f'?after={state["epoch"]}-{state["seq"]}')
    newest = end(daemon, stream)
    assert len(stream.find('backend', lambda e: e['payload']['to'] == 'paused')) == 4
    assert [number(e) for e in stream.events[:number(newest) - state['seq']]] == \
        list(range(state['seq'] + 1, number(newest) + 1))


def test_without_an_id_only_news_come(daemon, dashboard):
    witness = dashboard.watch()
    acts(daemon, 1)
    witness.wait('backend', lambda e: e['payload']['to'] == 'up')
    stream = dashboard.watch()
    daemon.api.call('PauseBackend', name='a', reason='news')
    assert stream.wait('backend')['payload']['reason'] == 'news'


@pytest.mark.parametrize('last', ['1-1', 'nonsense', '-', '99999999999999999999999-1'])
def test_an_unknown_epoch_starts_over(daemon, dashboard, last):
    stream = dashboard.watch(last=last)
    resync = stream.wait('resync')
    assert resync['payload'] == {} and resync['id'].split('-')[0] == dashboard.state()['epoch']
    daemon.api.call('PauseBackend', name='a')
    assert number(stream.wait('backend')) > number(resync)


def test_a_new_process_is_a_new_epoch(daemon, start_dashboard):
    servers = [f'lon=127.0.0.1:{daemon.api_port}']
    first = start_dashboard(*servers)
    first.wait_connected('lon')
    state = first.state()
    first.stop()
    second = start_dashboard(*servers)
    stream = second.watch(last=f'{state["epoch"]}-{state["seq"]}')
    stream.wait('resync')
    assert second.state()['epoch'] != state['epoch']


def test_the_ring_forgets_what_is_too_old_to_replay(daemon, dashboard):
    """bounded by count: 2,000 events"""
    state, stream = dashboard.state(), dashboard.watch()
    deadline = time.monotonic() + 60
    while not stream.events or number(stream.events[-1]) < state['seq'] + 2100:
        assert time.monotonic() < deadline
        acts(daemon, 20)
    assert dashboard.metrics().one('maglev_dashboard_ring_events') <= 2000
    late = dashboard.watch(last=f'{state["epoch"]}-{state["seq"]}')
    late.wait('resync')


def test_the_stream_can_be_read_by_a_browser(dashboard):
    stream = dashboard.watch()
    headers = stream.answer.headers
    assert headers['Content-Type'] == 'text/event-stream' and headers['Cache-Control'] == 'no-store'
    assert headers['X-Accel-Buffering'] == 'no' and 'Content-Encoding' not in headers
    until(lambda: 'ping' in stream.comments, 20, what='a ping')  # each 15 s
    stream.close()
    assert stream.retry == '2000'
