# SPDX-License-Identifier: Apache-2.0
"""frr-reloader with daemons that hang, lie or break off on their sockets, and with very many configurations."""
import concurrent.futures
import itertools
import json
import os
import random
import signal

import pytest

from lab.frr import END
from lab.programs import RELEASE
from lab.vty_proxy import VtyProxy
from test_frr_reloader import conf, frr, reloader  # noqa: F401 pylint: disable=unused-import

MANY = [f'192.0.2.{n}/32' for n in range(20)]


@pytest.fixture
def proxy(folders, frr):  # noqa: F811
    it = VtyProxy(folders(), frr)
    yield it
    it.close()


def networks(frr):  # noqa: F811
    return {line[-1].split()[1] for line in frr.running() if line[-1].startswith('network ')}


def test_a_bgpd_that_hangs_in_the_middle_of_a_change(reloader, proxy, frr):  # noqa: F811
    it = reloader('--vty-dir', proxy.folder, '--vty-timeout', '4s', '--timeout', '8s')  # a reload that is well takes seconds, too
    assert it.reload(conf(networks=()))['result']
    bgpd, count = frr.processes['bgpd'].pid, itertools.count()

    def stop_at_the_fifth(daemon, command, ask):
        if command.startswith('network') and next(count) == 5:
            os.kill(bgpd, signal.SIGSTOP)
        return ask()

    proxy.change = stop_at_the_fifth
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(it.reload, conf(networks=MANY))
        assert 'no answer in time' in it.wait('fast-path-failed')['reason']
        assert json.loads(it.call('GET', '/health')[1])['busy']  # it does not hang itself
        assert 'took too long' in answer.result()['error']
    proxy.change = None
    os.kill(bgpd, signal.SIGCONT)
    assert it.reload()['result'] and it.way() == 'full'
    assert networks(frr) == set(MANY)
    assert it.reload(conf(networks=MANY[1:]))['result'] and it.way() == 'fast', it.all('full-reload')
    assert networks(frr) == set(MANY[1:])


def endless():
    while True:
        yield b'x' * (1 << 20)


RUNNING = 'show running-config'
LIES = {
    'other text': (RUNNING, lambda ask: b'hello\n' + END + b'\0', 'by something else'),
    'bytes': (RUNNING, lambda ask: random.Random(1).randbytes(5000).replace(END, b'x') + b'\0x' + END + b'\0',
              'cannot be read'),
    'a status of no meaning': (RUNNING, lambda ask: END + b'\x63', 'status 99'),
    'half an answer': (RUNNING, lambda ask: [ask()[:200]], 'closed the connection'),
    'nothing': (RUNNING, lambda ask: [], 'closed the connection'),
    'success without a change': ('network', lambda ask: END + b'\0', 'not there: network 192.0.2.9/32'),
    'a refusal': ('network', lambda ask: b'% no\n' + END + b'\x0d', 'configuration failed: % no'),
}


@pytest.mark.parametrize('what', LIES)
def test_a_daemon_that_lies_costs_a_full_reload(reloader, proxy, frr, what):  # noqa: F811
    it = reloader('--vty-dir', proxy.folder)
    it.reload(conf())
    begin, lie, reason = LIES[what]
    proxy.change = lambda daemon, command, ask: \
        lie(ask) if daemon == 'bgpd' and command.startswith(begin) else ask()
    assert it.reload(conf(networks=['192.0.2.9/32']))['result'] and it.way() == 'full'
    assert reason in it.all('full-reload')[-1]['reason']
    assert networks(frr) == {'192.0.2.9/32'}
    proxy.change = None
    assert it.reload(conf(networks=['192.0.2.8/32']))['result']
    assert it.reload(conf(networks=['192.0.2.7/32']))['result'] and it.way() == 'fast'
    assert networks(frr) == {'192.0.2.7/32'}


def test_an_answer_without_an_end_takes_no_endless_memory(reloader, proxy):  # noqa: F811
    it = reloader('--vty-dir', proxy.folder, build=RELEASE)  # sanitizers keep freed memory
    it.reload(conf())
    before = it.rss()
    proxy.change = lambda daemon, command, ask: endless() if command == RUNNING else ask()
    assert it.reload(conf(networks=MANY))['result'] and it.way() == 'full'
    assert 'too long' in it.all('full-reload')[-1]['reason']
    assert it.peak() - before < 150 << 20
    assert it.rss() - before < 8 << 20


def test_a_hundred_configurations_in_a_burst_end_with_the_last_one(reloader, frr):  # noqa: F811
    it = reloader(build=RELEASE)
    it.reload(conf(networks=MANY))
    it.reload(conf(networks=MANY[1:]))
    before = it.rss()
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        answers = []
        for n in range(100):
            it.write(conf(networks=[*MANY[n % 20:], f'198.51.100.{n}/32']))
            answers.append(pool.submit(it.reload, None, n))
        assert [answer.result() for answer in answers] == [{'id': n, 'result': True} for n in range(100)]
    assert networks(frr) == {MANY[19], '198.51.100.99/32'}
    assert {line['way'] for line in it.all('reloaded')[1:]} == {'fast'}
    assert it.rss() - before < 4 << 20


def test_a_line_that_becomes_something_else_is_never_removed(reloader, frr):  # noqa: F811
    """bgpd prints it as a network of its own, which the file does not have."""
    text = conf().replace('exit-address-family', 'netw 203.0.113.0/24\nexit-address-family')
    it = reloader()
    assert it.reload(text)['result']
    assert 'no network 203.0.113.0/24' in it.all('fast-path-off')[-1]['reason']
    assert it.reload(text.replace('192.0.2.1/32', '192.0.2.2/32'))['result'] and it.way() == 'full'
    assert networks(frr) == {'192.0.2.2/32', '203.0.113.0/24'}
