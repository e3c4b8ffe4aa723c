# SPDX-License-Identifier: Apache-2.0
"""maglev-router: another process of a new program takes over; no connection is refused and none is cut."""
import json
import os
import signal
import socket
import struct
import threading

import pytest

from lab import PATIENCE, until
from lab.router import OK, Wire, document, large
from lab.upgrades import Load, Upgradable, whole

TUNNEL = b'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: story\r\n\r\n'


@pytest.fixture
def upgradable(running, folders):
    """Starts a router that can be upgraded."""
    return lambda doc, *args, **how: running(Upgradable(folders(), doc, *args, **how)).start()


class Slow:
    """Answers with a body of which the test says how far it is sent."""

    def __init__(self):
        self.steps = threading.Semaphore(0)

    def __call__(self, wire):
        wire.message()
        wire.send(b'HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n')
        for i in range(4):
            wire.send(bytes([65 + i]) * 100000)
            self.steps.acquire(timeout=PATIENCE)


def tunnelling(wire):
    """A tunnel that echoes lines."""
    wire.message()
    wire.send(TUNNEL)
    while True:
        wire.send(wire.until(b'\n') + b'!\n')


def paths(*rules):
    return {'routes': [{'name': name, 'path_prefix': prefix, 'pool': name} for name, prefix, _ in rules],
            'pools': [{'name': name, 'servers': [f'127.0.0.1:{server.port}']} for name, _, server in rules]}


def test_three_upgrades_under_load(serve, upgradable):
    slow = Slow()
    router = upgradable(paths(('all', '/', serve(large)), ('slow', '/slow', serve(slow)),
                              ('tunnel', '/tunnel', serve(tunnelling))), threads=2)
    load = Load(router.port_of('default'), whole).start(kept=4, fresh=4)
    download, tunnel, idle = router.client(), router.client(), router.client()
    download.send('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
    assert download.head().status == 200 and download.exactly(100000) == b'A' * 100000
    tunnel.send('GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: story\r\n\r\n')
    assert tunnel.head().status == 101
    assert idle.get('/1')[0].status == 200
    old = []
    for i in range(3):
        load.goes_on()
        old.append(router.upgrade())
        assert router.get('/readyz') == (200, 'ok\n')
        assert router.metrics().one('maglev_router_generation') == 1
        tunnel.send(b'hello %d\n' % i)
        assert tunnel.until(b'\n') == b'hello %d!' % i
        slow.steps.release()
        assert download.exactly(100000) == bytes([66 + i]) * 100000
        load.goes_on()
    # a connection that waited all the time: the answer is the first process's, and says that it is the last
    head, body = idle.get('/5')
    assert (head.status, head.get('connection'), body) == (200, 'close', b'zzzzz')
    assert idle.rest() == b''
    tunnel.close()
    download.close()
    assert load.end() > 50
    for pid in old:
        router.gone(pid)
    assert router.all('stopped-at-once') == [] and router.all('upgrade-failed') == []
    router.wait_metric('maglev_router_client_connections', 0)


def test_nothing_is_inherited_but_what_was_passed(serve, upgradable):
    router = upgradable(document(serve()), threads=3)
    port, before = router.port_of('default'), sorted(router.fds().values())
    kinds = [name.split(':')[0] for name in before]
    for _ in range(2):
        router.gone(router.upgrade())
        until(lambda: sorted(name.split(':')[0] for name in router.fds().values()) == kinds)
    assert router.port_of('default') == port
    assert listening(port) == 3


def listening(port):
    """The number of sockets that listen there."""
    with open('/proc/net/tcp', encoding='ascii') as file:
        return sum(line.split()[1].endswith(f':{port:04X}') and line.split()[3] == '0A' for line in file)


@pytest.mark.parametrize('threads', [1, 5])
def test_the_number_of_threads_may_differ(threads, serve, upgradable):
    """With fewer threads every socket still has one that accepts from it; with more, each thread gets a socket."""
    router = upgradable(document(serve(large)), threads=3)
    port = router.port_of('default')
    load = Load(port, whole).start(kept=2, fresh=6)
    load.goes_on()
    router.install(f'exec {{}} "$@" --threads {threads}')
    router.gone(router.upgrade())
    assert listening(port) == max(3, threads)
    load.goes_on(20)
    router.install()
    router.gone(router.upgrade())  # back to 3
    assert listening(port) == max(3, threads)
    load.goes_on(20)
    load.end()
    # an address that is given up is given up by all of its sockets
    assert router.update({**document(), 'listeners': [{'name': 'b', 'address': '127.0.0.2:0'}]}).status == 200
    until(lambda: listening(port) == 0)


def test_the_configuration_is_that_in_force(serve, upgradable):
    one, two, three = serve(), serve(), serve()
    router = upgradable(document(one), '--watch', threads=2)
    more = [{'name': 'a', 'address': '127.0.0.1:0'}, {'name': 'b', 'address': '127.0.0.2:0'}]
    for server in (three, two):
        assert router.update(document(server, listeners=more)).status == 200
    config, port = router.ask('GET', '/config').json, router.port_of('b')
    router.gone(router.upgrade())
    assert router.ask('GET', '/config').json == config
    assert router.ask('GET', '/routes').json['generation'] == 3
    with Wire(router.port_of('grpc')) as grpc:  # it answers with its SETTINGS
        assert grpc.send(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0').exactly(9)[3] == 4
    other = Wire(sock=socket.create_connection(('127.0.0.2', port), PATIENCE))
    assert int(other.get()[0].get('x-port')) == two.port
    assert router.update(document(one)).json['generation'] == 4
    # the new process watches the file, and takes signals
    router.write(document(three))
    until(lambda: router.metrics().one('maglev_router_generation') == 5)
    router.signal(signal.SIGHUP)
    until(lambda: router.metrics().one('maglev_router_generation') == 6)
    assert int(router.request(listener='default').headers['x-port']) == three.port


def test_a_server_that_was_down_gets_no_requests(serve, upgradable):
    """The new process has not got an answer to a probe yet: only the first one is answered."""
    asked = []

    def ill(wire):
        head, _ = wire.message()
        if head.start.startswith('GET /probe'):
            asked.append(head)
            if len(asked) > 1:
                wire.rest()
            wire.send(b'HTTP/1.1 500 Ill\r\nContent-Length: 0\r\n\r\n')
        else:
            wire.send(OK)

    probe = {'path': '/probe', 'interval': '1h', 'timeout': '1h'}
    router = upgradable(document(serve(ill), pool={'probe': probe}), threads=1)
    router.wait('server-down')
    assert router.request().status == 503
    router.gone(router.upgrade())
    until(lambda: len(asked) == 2)
    assert router.request().status == 503


class Names:
    """Answers queries for A records with 127.0.0.1 while it is told to."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(('127.0.0.1', 0))
        self.at = f'127.0.0.1:{self.sock.getsockname()[1]}'
        self.answers, self.asked = True, 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            query, peer = self.sock.recvfrom(512)
            self.asked += 1
            end = query.index(b'\0', 12) + 5
            found = query[end - 4:end - 2] == b'\0\1'
            if self.answers:
                self.sock.sendto(query[:2] + b'\x81\x80\0\1' + bytes([0, found]) + b'\0\0\0\0' + query[12:end] +
                                 b'\xc0\x0c\0\1\0\1\0\0\x0e\x10\0\4\x7f\0\0\1' * found, peer)


def test_the_addresses_of_names_go_over(serve, upgradable):
    names, server = Names(), serve(large)
    router = upgradable({'routes': [{'name': 'all', 'pool': 'pool'}],
                         'pools': [{'name': 'pool', 'servers': [f'www.example:{server.port}']}]},
                        '--resolver', names.at, threads=2)
    router.wait('name-found')
    names.answers = False
    load, before = Load(router.port_of('default'), whole).start(), names.asked
    for _ in range(2):
        load.goes_on()
        router.gone(router.upgrade())
    until(lambda: names.asked > before)
    load.goes_on()
    load.end()


def test_without_a_configuration_there_is_none_after_it(serve, running, folders):
    router = Upgradable(folders(), document())
    where = router.command.index('--config')
    del router.command[where:where + 2]
    running(router).start()
    router.gone(router.upgrade())
    assert router.get('/readyz') == (503, 'there is no configuration yet\n')
    assert router.update(document(serve())).json['generation'] == 1
    assert router.request().status == 200


def test_the_unix_socket_of_the_api_goes_over(serve, running, folders):
    folder = folders()
    path = f'{folder}/admin.sock'
    router = running(Upgradable(folder, document(serve()), '--admin-addr', path)).start(ready=False)
    router.wait('listening', path=path)
    for _ in range(2):
        before = router.pid
        router.upgrade()
        router.gone(before)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            assert json.loads(Wire(sock=sock).get('/routes')[1])['generation'] == 1


class Manager:
    """systemd's side of sd_notify(3): messages, each with the process that sent it."""

    def __init__(self, folder):
        self.path = os.path.join(folder, 'notify')
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.sock.settimeout(PATIENCE)
        self.sock.bind(self.path)

    def wait(self, start):
        """The process that sends a message that starts so, and the message; others are dropped."""
        while True:
            message, ancillary, _, _ = self.sock.recvmsg(4096, 256)
            if message.decode().startswith(start):
                return struct.unpack('iii', ancillary[0][2])[0], message.decode()


def test_systemd_learns_of_the_new_process(serve, running, folders):
    folder = folders()
    manager = Manager(folder)
    router = running(Upgradable(folder, document(serve()), env={'NOTIFY_SOCKET': manager.path,
                                                                'WATCHDOG_USEC': '1000000'})).start()
    first = router.pid
    assert manager.wait('READY=1')[0] == first
    router.upgrade()
    assert manager.wait('MAINPID=') == (first, f'MAINPID={router.pid}')
    until(lambda: manager.wait('WATCHDOG=1')[0] == router.pid)
    router.gone(first)


def failing(router, load):
    """One attempt that fails: the old process goes on. Returns why."""
    since, pid = router.mark(), router.pid
    router.begin_upgrade()
    why = router.wait('upgrade-failed', since)['error']
    assert router.pid == pid
    load.goes_on()
    assert router.update(router.ask('GET', '/config').json).status == 200
    return why


def test_a_new_process_that_fails_changes_nothing(serve, upgradable):
    router = upgradable(document(serve(large)), threads=2)
    load = Load(router.port_of('default'), whole).start()
    load.goes_on()
    ended = 'the new process has ended before it was ready'
    router.install('exit 1')
    assert failing(router, load) == ended
    router.install('exec {} "$@" --no-such-flag 2>/dev/null')
    assert failing(router, load) == ended
    # it gets the state, and another address of the API cannot be used
    router.install('exec {} "$@" --admin-addr 192.0.2.1:1')
    assert failing(router, load) == ended
    router.wait('listen-failed', flag='--admin-addr')
    # it says something else
    install_python(router, "import signal, socket\nsock = socket.socket(fileno=3)\nsock.send(b'ready')\nsignal.pause()\n")
    assert failing(router, load) == 'the new process does not follow the protocol'
    os.unlink(router.program)
    since = router.mark()
    router.signal(signal.SIGUSR2)
    assert router.wait('upgrade-failed', since)['error'] == 'No such file or directory'
    assert router.metrics().one('maglev_router_upgrade_failures_total') == 5
    router.install()
    router.gone(router.upgrade())
    load.goes_on()
    load.end()


# A new process that speaks the protocol (lib/daemon/takeover.h) itself: it takes the state, and then does the rest.
TAKES = """
import os, socket, sys
sock = socket.socket(fileno=3)
sock.send(b'hello 1')
message, fds, _, _ = socket.recv_fds(sock, 100, 250)
"""
# It becomes the router, and a child passes on what it got.
BETWEEN = TAKES + """
def change(text):
    return text
{}
text = change(os.pread(fds[0], 1 << 20, 0))
os.ftruncate(fds[0], 0)
os.pwrite(fds[0], text, 0)
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if os.fork() != 0:
    os.dup2(theirs.fileno(), 3)
    os.environ['MAGLEV_TAKEOVER'] = '3'
    os.execv(sys.argv[1], sys.argv[1:])
theirs.close()
assert ours.recv(100) == b'hello 1'
socket.send_fds(ours, [message], fds)
"""


def install_python(router, text):
    script = os.path.join(router.folder, 'new.py')
    with open(script, 'w', encoding='utf-8') as file:
        file.write(text)
    router.install(f'exec python3 {script} {{}} "$@"')


def test_a_configuration_that_the_new_program_refuses(serve, upgradable):
    """A program between the two makes the document one of a later version."""
    router = upgradable(document(serve(large)), threads=2)
    load = Load(router.port_of('default'), whole).start()
    install_python(router, BETWEEN.format("""
def change(text):
    return text.replace(b'"routes"', b'"paths"')
""") + "assert ours.recv(100) == b''")
    assert failing(router, load) == 'the new process has ended before it was ready'
    router.wait('takeover-failed', key='paths')
    load.end()


def frozen_by(router, rest):
    """The new process takes the state, writes a file, and does the rest. Returns its pid when it has the state."""
    note = os.path.join(router.folder, 'has-state')
    install_python(router, f"{TAKES}\nopen({note!r}, 'w').close()\n{rest}")
    pid = router.begin_upgrade()
    until(lambda: os.path.exists(note))
    return pid


def test_updates_wait_while_the_new_process_prepares(serve, upgradable):
    server = serve(large)
    router = upgradable(document(server), threads=2)
    load = Load(router.port_of('default'), whole).start()
    pid = frozen_by(router, 'sock.recv(100)')
    answer = router.update(document(server))
    assert (answer.status, answer.json['error']) == (503, 'UpgradeRunning')
    router.write(document(server, pool={'connect_timeout': '3s'}))
    router.signal(signal.SIGHUP)  # for whoever is there afterwards
    assert router.get('/readyz') == (200, 'ok\n')
    load.goes_on()
    os.kill(pid, signal.SIGKILL)
    router.wait('upgrade-failed')
    until(lambda: router.metrics().one('maglev_router_generation') == 2)
    assert router.update(document(server)).json['generation'] == 3
    load.end()


def test_a_file_that_changes_meanwhile_is_read_by_the_new_process(serve, upgradable):
    one, two = serve(), serve()
    router = upgradable(document(one), threads=2)
    ready, go = (os.path.join(router.folder, name) for name in ('ready', 'go'))
    os.mkfifo(go)
    install_python(router, BETWEEN.format('') + f"""
open({ready!r}, 'w').close()
open({go!r}).read()
sock.send(ours.recv(100))
ours.send(sock.recv(100))
""")
    since = router.mark()
    pid = router.begin_upgrade()
    until(lambda: os.path.exists(ready))
    router.write(document(two))
    router.signal(signal.SIGHUP)
    assert router.update(document(one)).json['error'] == 'UpgradeRunning'
    with open(go, 'w', encoding='ascii') as file:
        file.write('go')
    router.wait('taken-over', since)
    router.gone(router.pid)
    router.newest = pid
    until(lambda: router.metrics().one('maglev_router_generation') == 2)
    assert int(router.request().headers['x-port']) == two.port


def test_a_rollout_has_to_end_first(serve, upgradable):
    server = serve()
    router = upgradable(document(server), threads=2)
    assert router.update(document(server), '/routes/update?rollout=50&step=0').status == 200
    router.begin_upgrade()
    assert 'rollout' in router.wait('upgrade-failed')['error']
    assert router.ask('GET', '/rollout').json['state'] == 'running'
    assert router.ask('POST', '/rollout/abort').status == 200
    router.gone(router.upgrade())
    shown = router.ask('GET', '/generations').json
    assert [(g['generation'], g['source']) for g in shown['generations']] == [(1, 'upgrade')]
    # the number of the one that was given up is not used again
    assert router.update(document(server)).json['generation'] == 3


def test_a_second_signal_during_an_upgrade_is_ignored(serve, upgradable):
    router = upgradable(document(serve(large)), threads=2)
    load = Load(router.port_of('default'), whole).start()
    pid = frozen_by(router, 'sock.recv(100)')
    router.signal(signal.SIGUSR2)
    assert router.wait('upgrade-ignored')['pid'] == pid
    os.kill(pid, signal.SIGKILL)
    router.wait('upgrade-failed')
    router.install()
    # the process before still has a request, and the next upgrade is the new process's
    first = router.pid
    with router.client() as idle:
        idle.get('/1')
        router.upgrade()
        os.kill(first, signal.SIGUSR2)
        router.wait('upgrade-ignored', count=2)
        second = router.upgrade()
        router.gone(second)
        load.goes_on()
        assert idle.get('/2')[0].get('connection') == 'close'
    router.gone(first)
    load.end()


def test_sigterm_during_an_upgrade_stops_both(serve, upgradable):
    router = upgradable(document(serve(large)), threads=2)
    pid = frozen_by(router, 'sock.recv(100)')
    router.signal(signal.SIGTERM)
    assert router.wait('upgrade-failed')['error'] == 'the router is stopping'
    router.gone(pid)
    assert router.end() == 0
    assert router.all('stopped')


def test_sigterm_after_an_upgrade_lets_the_old_process_finish(serve, upgradable):
    slow = Slow()
    router = upgradable(document(serve(slow)), threads=2)
    first = router.pid
    with router.client() as download:
        download.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
        download.exactly(100000)
        router.upgrade()
        os.kill(first, signal.SIGTERM)
        router.wait('stopping')
        for _ in range(4):
            slow.steps.release()
        download.until(b'D' * 100000)
    router.gone(first)
    assert router.get('/readyz')[0] == 200


def test_the_new_process_has_the_sockets_if_the_old_one_dies(serve, upgradable):
    router = upgradable(document(serve(large)), threads=2)
    port = router.port_of('default')
    install_python(router, BETWEEN.format(f"os.kill({router.pid}, 9)\nassert sock.recv(100) == b''\n") + """
assert ours.recv(100) == b'ready'
""")
    new = router.begin_upgrade()
    assert router.process.wait(PATIENCE) == -signal.SIGKILL
    waiting = Wire(port)  # the sockets listen although no process accepts
    router.wait('taken-over')
    assert waiting.get('/7')[1] == b'zzzzzzz'
    waiting.close()
    assert router.ask('GET', '/config').json['pools']
    router.newest = new
    load = Load(port, whole).start()
    load.goes_on()
    load.end()
