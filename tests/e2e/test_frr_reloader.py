# SPDX-License-Identifier: Apache-2.0
"""frr-reloader with FRR's own daemons: requests, the fast path, the full reload, and what can go wrong with each."""
import concurrent.futures
import fcntl
import json
import os
import random
import shutil
import signal
import stat
import subprocess

import pytest

from lab import Frr, until
from lab.reloader import Reloader, UnixConnection

PASSWORD = 'not-for-the-log'


def conf(networks=('192.0.2.1/32',), peers=(2,), classes=(1,), metric=50, timers='3 9', bfd=True, extra=''):
    """A configuration with tagged origins: what a network is announced with depends on its route map."""
    lines = ['log stdout informational', 'ip nht resolve-via-default', extra, 'router bgp 64512',
             'no bgp ebgp-requires-policy', 'no bgp network import-check', 'no bgp default ipv4-unicast']
    for peer in peers:
        lines += [f'neighbor 10.0.0.{peer} remote-as 645{peer:02}', f'neighbor 10.0.0.{peer} timers {timers}',
                  f'neighbor 10.0.0.{peer} password {PASSWORD}', f'neighbor 10.0.0.{peer} port 179']
        lines += [f'neighbor 10.0.0.{peer} bfd', f'neighbor 10.0.0.{peer} bfd profile fast'] if bfd else []
    lines += ['address-family ipv4 unicast']
    for peer in peers:
        lines += [f'neighbor 10.0.0.{peer} activate', f'neighbor 10.0.0.{peer} route-map in-{peer} in',
                  f'neighbor 10.0.0.{peer} route-map out-{peer} out']
    lines += [f'network {prefix} route-map origin-{classes[n % len(classes)]}' for n, prefix in enumerate(networks)]
    lines += ['exit-address-family', 'exit']
    for k in classes:
        lines += [f'bgp community-list standard class-{k} permit 64512:{k}', f'route-map origin-{k} permit 10',
                  f'set community 64512:{k}', 'exit']
    for peer in peers:
        lines += [f'route-map in-{peer} deny 20', 'exit']
        for k in classes:
            lines += [f'route-map out-{peer} permit {10 * k}', f'match community class-{k}',
                      f'set comm-list class-{k} delete', f'set metric {metric + k}', 'exit']
    lines += ['bfd', 'profile fast', 'detect-multiplier 3', 'receive-interval 100', 'exit', 'exit'] if bfd else []
    return '\n'.join(line for line in lines if line) + '\n'


@pytest.fixture
def frr():
    it = Frr().start()
    yield it
    it.close()


@pytest.fixture
def reloader(running, folders, frr):
    """Starts a reloader; more: further flags."""
    return lambda *more, **options: running(Reloader(folders(), frr, *more, **options)).start()


# ---- requests ----

def test_a_request_is_answered_with_its_own_id(reloader):
    it = reloader()
    assert stat.S_IMODE(os.stat(it.socket).st_mode) == 0o600
    assert it.reload(conf(), 41) == {'id': 41, 'result': True}
    assert ('router bgp 64512', 'address-family ipv4 unicast', 'network 192.0.2.1/32 route-map origin-1') in it.frr.running()
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: it.reload(number=n), range(100, 120)))
    assert answers == [{'id': n, 'result': True} for n in range(100, 120)]


@pytest.mark.parametrize('body', ['', '{', '{"action":"restart","id":1}', '{"id":1}', '[]', '{"action":"reload","id":"x"}'])
def test_what_is_no_request_is_refused(reloader, body):
    it = reloader()
    status, text = it.call(body=body)
    assert status == 400 and text.startswith('request:')
    assert it.metrics().one('metallb_frr_reloads_total') == 0


def test_other_methods_and_paths(reloader):
    it = reloader()
    assert it.call('GET', '/')[0] == 405
    assert it.call('GET', '/metrics')[0] == 200
    it.write(conf())
    assert it.call('POST', '/any/path', '{"action":"reload"}') == (200, '{"id":0,"result":true}\n')
    status, text = it.call('GET', '/health')
    assert status == 200 and json.loads(text)['last_result'] is True


def test_the_client_of_the_go_speaker(reloader, folders):
    """The client as the design of the reload has it, built with a real Go: 30 s, its own id checked."""
    if not shutil.which('go'):
        pytest.skip('no Go toolchain')
    source = os.path.join(os.path.dirname(__file__), '../support/frr-client/main.go')
    program = os.path.join(folders(), 'client')
    subprocess.run(['go', 'build', '-o', program, source], check=True, capture_output=True,
                   env={**os.environ, 'GOFLAGS': '-mod=mod', 'GO111MODULE': 'off'})
    it = reloader()
    it.write(conf())

    def client():
        return subprocess.run([program, '50'], env={**os.environ, 'FRR_RELOADER_SOCKET': it.socket}, text=True,
                              capture_output=True)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for done in list(pool.map(lambda _: client(), range(3))):
            assert (done.returncode, done.stdout) == (0, '50 reloads\n'), done.stderr
    it.write('router bgp none\n')
    done = client()
    assert done.returncode == 1 and 'FRR reload failed' in done.stderr


def test_sighup_is_a_request_without_an_answer(reloader):
    it = reloader()
    with open(os.path.join(it.folder, 'reloader.pid'), encoding='ascii') as file:
        assert int(file.read()) == it.pid
    it.write(conf())
    it.signal(signal.SIGHUP)
    it.wait('reloaded')
    with open(os.path.join(it.folder, '.status'), encoding='ascii') as file:
        assert file.read().split(' ')[1] == 'success'
    it.stop()
    assert os.listdir(it.folder).count('reloader.pid') == 0
    assert not os.path.exists(it.socket)


def test_the_lock_is_shared_with_other_programs(reloader):
    it = reloader()
    it.write(conf())
    with open(os.path.join(it.folder, 'lock'), 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(it.reload)
            until(lambda: json.loads(it.call('GET', '/health')[1])['busy'], what='a run that waits for the lock')
            assert it.metrics().one('metallb_frr_reloads_total') == 0
            fcntl.flock(lock, fcntl.LOCK_UN)
            assert answer.result()['result']


# ---- the fast path ----

def test_a_network_is_announced_and_withdrawn_over_the_socket(reloader):
    it = reloader()
    assert it.reload(conf())['result'] and it.way() == 'full'
    assert it.reload(conf(networks=['192.0.2.0/32', '192.0.2.1/32']))['result'] and it.way() == 'fast'
    assert it.reload(conf(networks=['192.0.2.0/32']))['result'] and it.way() == 'fast'
    networks = [line[-1] for line in it.frr.running() if line[-1].startswith('network')]
    assert networks == ['network 192.0.2.0/32 route-map origin-1']
    assert it.metrics().one('metallb_frr_networks_withdrawn_total') == 1
    until(lambda: '192.0.2.0/32' in it.frr.saved() and '192.0.2.1/32' not in it.frr.saved(), what='the saved file')
    sent = [line['line'] for line in it.all('vty-command')]
    assert all(': no network' in line or ': network' in line for line in sent), sent  # no other line was touched


def test_nothing_is_sent_when_nothing_changed(reloader):
    it = reloader()
    it.reload(conf())
    for _ in range(3):
        assert it.reload(conf())['result'] and it.way() == 'fast'
    assert not it.all('vty-command')


def some_conf(dice):
    """A configuration at random; two of them may differ in anything that the fast path knows."""
    networks = sorted({f'192.0.2.{dice.randrange(20)}/32' for _ in range(dice.randrange(12))})
    peers = sorted(dice.sample(range(2, 6), dice.randrange(1, 4)))
    classes = sorted(dice.sample(range(1, 5), dice.randrange(1, 4)))
    return conf(networks, peers, classes, dice.randrange(50, 53), dice.choice(['3 9', '4 12']), dice.random() < .7)


@pytest.mark.parametrize('seed', range(2))
def test_the_result_is_what_frr_makes_of_the_file(reloader, seed):
    """The same FRR, started with the file alone, has the same running configuration."""
    dice, it = random.Random(seed), reloader()
    it.reload(some_conf(dice))
    for _ in range(12):
        text = some_conf(dice)
        assert it.reload(text)['result']
        assert it.way() == 'fast', it.all('full-reload')[-1]
        fresh = Frr(system=it.frr.system).start()
        try:
            fresh.load(text)
            assert it.frr.running() == fresh.running()
            empty = {('bfd',)}  # the block stays after its last profile; it means nothing
            assert it.frr.running('bfdd') - empty == fresh.running('bfdd') - empty
        finally:
            fresh.close()


@pytest.mark.parametrize('change,reason', [
    (lambda text: text + 'hostname other\n', 'only a full reload can add "hostname other"'),
    (lambda text: text.replace('deny 20', 'permit 20'), 'under the same number'),
    (lambda text: text.replace('no bgp network import-check\n', ''), 'only a full reload'),
])
def test_what_the_socket_cannot_do_is_done_by_a_full_reload(reloader, change, reason):
    it = reloader()
    it.reload(conf())
    assert it.reload(change(conf()))['result'] and it.way() == 'full'
    assert reason in it.all('full-reload')[-1]['reason']
    assert it.reload(conf(networks=['192.0.2.7/32']) if 'permit' in reason else change(conf()))['result']
    assert it.metrics().one('metallb_frr_reload_fallbacks_total') == 2  # the first reload is one


def test_a_bgpd_that_was_restarted_or_configured_by_hand_gets_a_full_reload(reloader):
    """bgpd then has all of it, also what zebra has a copy of"""
    it = reloader()
    it.reload(conf())
    before = it.frr.running()
    it.frr.configure('router bgp 64512', 'bgp log-neighbor-changes', 'no bgp network import-check', 'timers bgp 7 21')
    assert it.reload(conf())['result'] and it.way() == 'full'
    assert 'by something else' in it.all('full-reload')[-1]['reason']
    it.frr.kill('bgpd')
    it.frr.start_daemon('bgpd')
    assert it.reload(conf())['result'] and it.way() == 'full'
    logged = {line for line in before if line[0].startswith('log ')}  # zebra has that line, so bgpd does not get it
    assert it.frr.running() - logged == before - logged
    assert it.reload(conf(networks=['192.0.2.5/32']))['result'] and it.way() == 'fast'


def test_the_fast_path_can_be_switched_off(reloader):
    it = reloader('--fast-path=false')
    it.reload(conf())
    assert it.reload(conf(networks=['192.0.2.5/32']))['result'] and it.way() == 'full'
    assert it.metrics().one('metallb_frr_reload_fallbacks_total') == 0


def test_a_burst_of_changes_is_saved_once_and_a_stop_saves_at_once(reloader):
    it = reloader()
    it.reload(conf())
    for n in range(5):
        assert it.reload(conf(networks=[f'192.0.2.{n}/32']))['result']
    it.wait_metric('metallb_frr_saves_total', 1)
    assert '192.0.2.4/32' in it.frr.saved()
    it.reload(conf(networks=['192.0.2.9/32']))
    it.signal(signal.SIGTERM)
    assert it.end() == 0
    assert '192.0.2.9/32' in it.frr.saved()


# ---- what goes wrong ----

def test_a_configuration_that_frr_refuses_is_reported_and_the_old_one_stays(reloader):
    it = reloader()
    it.reload(conf())
    before = it.frr.running()
    answer = it.reload(conf() + 'router bgp not-a-number\n', 9)
    assert answer['id'] == 9 and answer['result'] is False and 'frr-reload.py --test' in answer['error']
    assert it.frr.running() == before
    health = json.loads(it.call('GET', '/health')[1])
    assert health['last_result'] is False and health['last_error'] == answer['error']
    assert it.metrics().one('metallb_frr_reload_errors_total') == 1
    assert it.reload(conf())['result']
    assert json.loads(it.call('GET', '/health')[1])['last_error'] == ''


def test_a_line_that_frr_refuses_only_the_second_time_is_no_failure(reloader):
    """frr-reload.py sends each line twice."""
    it = reloader()
    restart = 'neighbor 10.0.0.2 graceful-restart'
    text = conf().replace('neighbor 10.0.0.2 timers', f'{restart}\nneighbor 10.0.0.2 timers')
    assert it.reload(text)['result'] and it.way() == 'full'
    assert ('router bgp 64512', restart) in it.frr.running()
    for line in (f'{restart}-disable', restart):
        assert it.reload(text.replace(restart, line))['result']
        assert {line} == {one[-1] for one in it.frr.running() if restart in one[-1]}
    assert it.metrics().one('metallb_frr_reload_errors_total') == 0


def test_a_missing_file_is_an_error_that_names_it(reloader):
    it = reloader()
    answer = it.reload()
    assert answer['result'] is False and 'frr.conf: No such file' in answer['error']


def hanging(folder):
    """A program in the place of frr-reload.py, with a child of its own, and neither ends by itself."""
    path = os.path.join(folder, 'hang')
    with open(path, 'w', encoding='ascii') as file:
        file.write(f'#!/bin/sh\nsleep 3600 & echo $! > {path}.child\nsleep 3600\n')
    os.chmod(path, 0o755)
    return path


def test_a_reload_that_hangs_is_killed_with_all_that_it_started(reloader, folders):
    path = hanging(folders())
    it = reloader('--frr-reload', path, '--timeout', '1s')

    def killed():
        """Whether the program had begun; a busy machine may have left it no time."""
        answer = it.reload(conf())
        assert answer['result'] is False and 'took too long' in answer['error']
        return os.path.exists(path + '.child') and os.path.getsize(path + '.child')

    until(killed, what='a reload that was under way')
    with open(path + '.child', encoding='ascii') as file:
        child = int(file.read())
    until(lambda: not os.path.exists(f'/proc/{child}') or 'Z' in open(f'/proc/{child}/stat').read().split()[2],
          what='the end of the grandchild')


def test_a_reload_that_is_killed_in_the_middle_fails_and_the_next_one_succeeds(reloader, folders):
    path = hanging(folders())
    it = reloader('--frr-reload', path)
    it.write(conf())
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(it.reload)
        until(lambda: os.path.exists(path + '.child') and os.path.getsize(path + '.child'), what='the child')
        children = it.proc(f'task/{it.pid}/children').split()
        assert len(children) == 1
        os.kill(int(children[0]), signal.SIGKILL)
        assert 'signal 9' in answer.result()['error']
    os.unlink(path)
    shutil.copy(it.frr.system.reload, path)
    assert it.reload()['result']


def test_a_hundred_requests_in_a_burst_share_a_few_reloads(reloader):
    it = reloader('--fast-path=false')
    it.reload(conf())
    rss = it.rss()
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        answers = [pool.submit(it.reload, conf(networks=[f'192.0.2.{n}/32']) if n % 10 == 0 else None, n)
                   for n in range(100)]
        while not all(answer.done() for answer in answers):
            assert len(it.proc(f'task/{it.pid}/children').split()) <= 1
        assert all(answer.result()['result'] for answer in answers)
    metrics = it.metrics()
    assert metrics.one('metallb_frr_reload_requests_total') == 101
    assert metrics.one('metallb_frr_reloads_total') < 20
    assert metrics.one('metallb_frr_reload_queue_depth') == 0
    assert it.rss() - rss < 8 << 20


def test_a_client_that_leaves_does_not_stop_the_reload(reloader):
    it = reloader()
    it.write(conf())
    connection = UnixConnection(it.socket)
    connection.request('POST', '/', '{"action":"reload","id":1}')
    it.wait('request')
    connection.close()
    it.wait('reloaded')


def test_no_password_is_in_the_log(reloader):
    it = reloader()
    it.reload(conf())
    it.reload(conf(peers=(2, 3)))
    assert it.way() == 'fast'
    it.reload(conf(extra='hostname x'))
    assert it.all('child-output')
    assert not [line for line in it.lines if PASSWORD in json.dumps(line)]
    assert not [name for name in os.listdir(it.folder) if name not in ('frr.conf', 'lock', '.status', 'reloader.pid',
                                                                       'frr-reloader.sock', 'applying.conf',
                                                                       'frr-reloader.stderr')]
    assert stat.S_IMODE(os.stat(os.path.join(it.folder, 'applying.conf')).st_mode) == 0o600


def test_sigterm_waits_for_the_reload_under_way(reloader):
    it = reloader()
    it.write(conf())
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(it.reload)
        it.wait('full-reload')
        it.signal(signal.SIGTERM)
        assert answer.result()['result']
    assert it.end() == 0
