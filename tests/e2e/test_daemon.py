# SPDX-License-Identifier: Apache-2.0
"""What stories rely on when they start a daemon: lab.Daemon, and the processes below it."""
import os
import signal
import time

import pytest

from lab import PATIENCE, Daemon, Process, Running

FRONTEND = ('maglevd-frontend', '--server', '127.0.0.1:1', '--listen', '127.0.0.1:0')
QUIET = 'trap "exit 0" TERM; echo ready; while :; do read -t 1 line </dev/zero; done'


@pytest.fixture
def shell(tmp_path):
    """A process of a bash script that is not looked at in the end, and does not outlive the story."""
    made = []

    def shell(script, ready=True):
        made.append(Process(tmp_path, f'script{len(made)}', ['bash', '-c', script]))
        made[-1].start()
        while ready and 'ready' not in made[-1].said():
            assert made[-1].is_running()
        made[-1].forgive()
        return made[-1]

    yield shell
    for one in made:
        if one.is_running():
            one.kill()


def test_a_daemon_takes_one_line(start_daemon):
    daemon = start_daemon(*FRONTEND)
    assert daemon.wait('starting')['level'] == 'INFO' and daemon.port == daemon.port_of('metrics')
    assert daemon.get('/readyz') == (200, 'ok\n')
    assert daemon.get('/readyz', port=daemon.port_of('http')) == (200, 'ok\n')
    assert daemon.ask('GET', '/healthz').headers['Content-Type'].startswith('text/plain')
    assert daemon.metrics().one('process_start_time_seconds') <= time.time() + 1
    daemon.wait('server-lost', server='127.0.0.1')
    mark = daemon.mark()
    daemon.signal(signal.SIGHUP)
    daemon.get('/healthz')
    daemon.wait('http-request', mark, target='/healthz')
    daemon.signal(signal.SIGTERM)
    assert daemon.end() == 0 and daemon.lines[-1]['msg'] == 'stopped'


def test_a_daemon_lives_in_a_namespace(start_daemon, net):
    daemon = start_daemon(*FRONTEND, namespace=net.probes)
    assert daemon.get('/healthz') == (200, 'ok\n')
    assert os.readlink(f'/proc/{daemon.pid}/ns/net') != os.readlink('/proc/self/ns/net')


def sockets(daemon):
    """The number of its sockets; other descriptors come and go, for example those of a child that looks up a name."""
    return sum(name.startswith('socket:') for name in daemon.fds().values())


def test_what_a_daemon_takes_is_measured(start_daemon):
    daemon = start_daemon(*FRONTEND)
    assert daemon.rss() > 1 << 20 and daemon.cpu() >= 0
    assert daemon.fds()[1].startswith('pipe:')
    before = sockets(daemon)
    clients = [daemon.http() for _ in range(5)]
    for client in clients:
        client.request('GET', '/healthz')
        client.getresponse().read()
    assert sockets(daemon) >= before - 1 + len(clients)  # one may have been on its way to the server
    for client in clients:
        client.close()


def test_one_that_is_killed_can_be_started_again(start_daemon):
    daemon = start_daemon(*FRONTEND)
    first = daemon.pid
    assert daemon.kill() == -signal.SIGKILL and not daemon.is_running()
    mark = daemon.mark()  # after the last line of the first one
    daemon.start()
    assert daemon.pid != first and daemon.get('/healthz')[0] == 200
    assert [line['msg'] for line in daemon.lines[mark:]][0] == 'starting'


def test_waiting_ends_with_the_daemon(tmp_path):
    """not at the deadline, and with what is known"""
    daemon = Daemon(tmp_path, 'maglevd-frontend', '--nonsense').start(ready=False)
    began = time.monotonic()
    with pytest.raises(AssertionError, match='exit status 64.*nonsense'):
        daemon.wait('listening')
        daemon.end()
    assert time.monotonic() - began < 10
    with pytest.raises(AssertionError, match='standard error'):
        daemon.stop()
    daemon.forgive()
    daemon.stop()


def test_a_line_that_is_no_json_is_found(tmp_path):
    daemon = Daemon(tmp_path, *FRONTEND, prefix=('sh', '-c', 'echo no json; exec "$0" "$@"')).start()
    with pytest.raises(AssertionError, match='broken lines'):
        daemon.stop()
    assert not daemon.is_running()


def test_a_good_end(shell):
    one = shell(QUIET)
    one.stop()
    assert one.end() == 0
    one.stop()  # again, and nothing happens


@pytest.mark.parametrize('script, complaint', [
    (QUIET.replace('exit 0', 'exit 3'), 'ended with 3'),
    (QUIET.replace('exit 0', 'echo ERROR: AddressSanitizer; exit 0'), 'AddressSanitizer')])
def test_a_bad_end_is_told(shell, script, complaint):
    with pytest.raises(AssertionError, match=complaint):
        shell(script).stop()


def test_one_that_does_not_end_is_ended(shell, monkeypatch):
    deaf = shell(QUIET.replace('exit 0', 'true'))
    short = iter([0.3])  # until it is killed; then it has all the time that it needs
    monkeypatch.setattr(deaf, 'end', lambda timeout=PATIENCE: Process.end(deaf, next(short, timeout)))
    with pytest.raises(Exception, match='timed out'):
        deaf.stop()
    assert not deaf.is_running()


def test_all_are_stopped_whatever_one_says(shell):
    running = Running()
    bad, good = (running.add(shell(script)) for script in (QUIET.replace('exit 0', 'exit 3'), QUIET))
    with pytest.raises(AssertionError, match='ended with 3'):
        running.stop()
    assert not bad.is_running() and not good.is_running()
    assert running.processes == [bad, good]
