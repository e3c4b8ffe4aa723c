# SPDX-License-Identifier: Apache-2.0
"""maglev-router passes datagrams on: sessions by source, to one server each, until they are silent."""
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

from lab import PATIENCE, SLACK, until
from lab.datagrams import Echo, Source, streaming
from lab.net import Namespace
from lab.ports import free_port
from lab.process import Process
from lab.upgrades import Upgradable


@pytest.fixture
def echo():
    """Starts servers, which are closed at the end."""
    servers = []

    def start(name='echo', **how):
        servers.append(Echo(name, **how))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def source():
    """Clients of a router, which are closed at the end."""
    made = []

    def make(router, listener='udp', **how):
        made.append(Source(router.port_of(listener), **how))
        return made[-1]

    yield make
    for client in made:
        client.close()


def sessions(router):
    return router.metrics().one('maglev_router_sessions')


def refused(client):
    """Whether the port that the client asks is closed."""
    try:
        client.send(b'?').send(b'?')
        return False
    except ConnectionRefusedError:
        return True


def dropped(router, reason):
    return router.metrics().one('maglev_router_datagrams_dropped_total', reason=reason)


def test_a_source_stays_at_its_server(echo, source, route):
    one, two = echo('one'), echo('two')
    router = route(streaming(one, two))
    clients = [source(router) for _ in range(20)]
    first = [client.ask(b'hello') for client in clients]
    assert {b'one:hello', b'two:hello'} == set(first)
    for _ in range(5):
        assert [client.ask(b'hello') for client in clients] == first
    assert sessions(router) == 20
    assert len(one.sources) + len(two.sources) == 20
    assert router.metrics().one('maglev_router_datagrams_total', direction='received') == 120
    assert router.metrics().one('maglev_router_datagrams_total', direction='sent') == 120


# ---- content ----

def test_empty_and_large_datagrams_pass_unchanged(echo, source, route):
    router = route(streaming(echo(answer=lambda name, data: [data])))
    client = source(router)
    for size in (0, 1, 1472, 1473, 9000, 65507, 0):
        data = bytes(i % 251 for i in range(size))
        assert client.ask(data) == data
    assert dropped(router, 'truncated') == 0


def test_bursts_arrive_whole_and_in_order(echo, source, route):
    """Datagrams of one size go through the kernel in one piece, and are single ones again at the other end."""
    sizes = [100] * 36 + [70] + [100] * 5 + [0, 0] + [1200] * 12 + [3]
    server = echo(answer=lambda name, data: [data] * 2)
    router = route(streaming(server), threads=1)
    client = source(router)
    for turn in range(3):
        burst = [bytes([turn, i % 256]) * (size // 2) for i, size in enumerate(sizes)]
        for data in burst:
            client.send(data)
        assert [client.take() for _ in range(2 * len(burst))] == [data for data in burst for _ in range(2)]
        assert server.received[turn * len(burst):] == burst


def test_both_families_and_every_address_that_is_asked(echo, source, route):
    """The clients take answers only from the address that they have asked."""
    router = route(streaming(echo('four'), echo('six', address='::1'), address=':0'))
    addresses = ['127.0.0.1', '127.0.0.2', '127.9.8.7', '::1']
    clients = [source(router, address=address) for address in addresses]
    for _ in range(3):
        for client in clients:
            assert client.ask(b'x') in (b'four:x', b'six:x')
    assert sessions(router) == 4


def test_one_source_that_asks_two_addresses_has_two_sessions(echo, source, route):
    server = echo()
    router = route(streaming(server, address='0.0.0.0:0'))
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(PATIENCE)
    for address in ('127.0.0.1', '127.0.0.2', '127.0.0.1'):
        sock.sendto(b'x', (address, router.port_of('udp')))
        assert sock.recvfrom(100) == (b'echo:x', (address, router.port_of('udp')))
    sock.close()
    assert sessions(router) == 2


# ---- the end of sessions ----

def test_a_silent_session_ends_and_its_port_begins_another(echo, source, route):
    one, two = echo('one'), echo('two')
    router = route(streaming(one, two, stream={'idle_timeout': '1s'}), threads=1)
    client = source(router)
    first = client.ask(b'x')
    until(lambda: sessions(router) == 0, what='the end of the session')
    assert client.ask(b'x') != first
    assert router.metrics().one('maglev_router_sessions_total') == 2


def test_a_session_that_is_used_does_not_end(echo, source, route):
    router = route(streaming(echo(), stream={'idle_timeout': '2s'}), threads=1)
    quiet, busy = source(router), source(router)
    assert quiet.ask(b'x') and busy.ask(b'x')
    until(lambda: busy.ask(b'x') and sessions(router) == 1, what='the end of the quiet one')
    assert router.metrics().one('maglev_router_sessions_total') == 2


def test_a_session_ends_with_the_last_answer_that_is_expected(echo, source, route):
    router = route(streaming(echo(answer=lambda name, data: [data] * 2), stream={'answers': 2}), threads=1)
    client = source(router)
    for _ in range(3):
        assert client.ask(b'x') == b'x' and client.take() == b'x'
        until(lambda: sessions(router) == 0)
    assert router.metrics().one('maglev_router_sessions_total') == 3


# ---- which server ----

def test_weights_and_the_share_of_an_invalid_backend(echo, source, route):
    one, two = echo('one'), echo('two')
    document = streaming(stream={'backends': [{'pool': 'a', 'weight': 6}, {'pool': 'b', 'weight': 2},
                                              {'invalid': True, 'weight': 2}]})
    del document['streams'][0]['pool']
    document['pools'] = [{'name': 'a', 'servers': [one.at]}, {'name': 'b', 'servers': [two.at]}]
    router = route(document, threads=1)
    clients = [source(router) for _ in range(500)]
    for client in clients:
        client.send(b'x').send(b'x')
    until(lambda: sessions(router) * 2 + dropped(router, 'no_backend') == 1000)
    lost = dropped(router, 'no_backend') / 2
    assert 50 < lost < 160 and lost == int(lost)  # both datagrams of a source have the same fate
    until(lambda: len(one.sources) + len(two.sources) + lost == 500, what='the datagrams at the servers')
    assert 240 < len(one.sources) < 360 and 50 < len(two.sources) < 160


def test_maglev_chooses_by_the_address_of_the_client(echo, source, route):
    servers = [echo(str(i)) for i in range(5)]
    router = route(streaming(*servers, pool={'balance': 'maglev'}))
    chosen = {}
    for i in range(1, 120):  # of 40, one in a thousand runs leaves a server out by chance
        answers = {source(router, source=(f'127.0.1.{i}', 0)).ask(b'x') for _ in range(3)}
        assert len(answers) == 1
        chosen[i] = answers.pop()
    assert len(set(chosen.values())) == 5


def test_another_server_takes_over_from_one_that_refuses(echo, source, route):
    """No datagram is lost: the one that meets the refusal goes to the other server."""
    one, two = echo('one'), echo('two')
    router = route(streaming(one, two, pool={'ejection': {'failures': 3, 'time': '60s'}}), threads=1)
    clients = [source(router) for _ in range(10)]
    names = [client.ask(b'x') for client in clients]
    assert names.count(b'one:x') == 5
    one.close()
    for client in clients:
        client.send(b'y')
        until(lambda: client.send(b'z') and not client.nothing(), what='an answer of the other server')
    assert router.wait('server-ejected')['server'] == one.at
    late = [source(router) for _ in range(10)]
    assert {client.ask(b'x') for client in late} == {b'two:x'}
    assert router.metrics().one('maglev_router_server_failures_total', server=one.at, kind='broken') >= 5


def test_no_server_that_can_be_used(echo, source, route):
    router = route(streaming(), threads=1)
    source(router).send(b'x')
    until(lambda: dropped(router, 'no_server') == 1)
    assert sessions(router) == 0


# ---- limits ----

def test_a_forged_source_gives_way_and_a_confirmed_one_stays(echo, source, route):
    router = route(streaming(echo(), clients={'sessions': 10, 'sessions_each': 100}), threads=1)
    good = [source(router) for _ in range(5)]
    for client in good:
        assert client.ask(b'1') == b'echo:1' and client.ask(b'2') == b'echo:2'
    forged = [source(router) for _ in range(50)]
    for client in forged:
        assert client.ask(b'x') == b'echo:x'
    assert sessions(router) == 10
    assert router.metrics().one('maglev_router_sessions_evicted_total') == 45
    for client in good:
        assert client.ask(b'3') == b'echo:3'
    assert router.metrics().one('maglev_router_sessions_total') == 55
    for client in forged[-5:]:
        assert client.ask(b'2') == b'echo:2'
    source(router).send(b'x')  # all are confirmed now
    until(lambda: dropped(router, 'sessions') == 1)


def test_one_client_has_a_part_of_the_sessions(echo, source, route):
    router = route(streaming(echo(), clients={'sessions': 100, 'sessions_each': 8}), threads=2)
    greedy = [source(router, source=('127.0.0.66', 0)) for _ in range(20)]
    for client in greedy:
        client.send(b'x')
    until(lambda: sessions(router) + dropped(router, 'sessions_each') == 20)
    assert sessions(router) == 8
    assert source(router, source=('127.0.0.67', 0)).ask(b'x') == b'echo:x'


def test_ten_thousand_sources(echo, source, route):
    server = echo()
    router = route(streaming(server, stream={'idle_timeout': '1h'}, clients={'sessions': 12000, 'sessions_each': 12000}), threads=2)
    clients = []
    for i in range(0, 10000, 100):
        clients += [source(router, source=(f'127.1.{i % 7}.{i % 200 + 1}', 0)) for _ in range(100)]
        for client in clients[-100:]:
            client.send(b'%d' % len(clients))
        assert [client.take() for client in clients[-100:]] == [b'echo:%d' % len(clients)] * 100
    assert sessions(router) == 10000 and len(server.sources) == 10000
    assert clients[0].ask(b'again') == b'echo:again' and clients[-1].ask(b'again') == b'echo:again'
    assert router.metrics().one('maglev_router_sessions_total') == 10000


# ---- changes ----

def test_a_swap_keeps_sessions_and_a_removed_server_finishes_its_own(echo, source, route):
    one, two = echo('one'), echo('two')
    router = route(streaming(one))
    old = [source(router) for _ in range(10)]
    for client in old:
        assert client.ask(b'x') == b'one:x'
    assert router.update(streaming(two)).status == 200
    until(lambda: source(router).ask(b'x') == b'two:x')
    for client in old:
        assert client.ask(b'x') == b'one:x'


def test_a_rollout_gets_a_part_of_the_sources(echo, source, route):
    router = route(streaming(echo('one')), threads=2)
    two = streaming(echo('two'))
    assert router.update(two, '/routes/update?rollout=50').status == 200
    names = [f'127.0.3.{i}' for i in range(1, 61)]
    answers = {name: source(router, source=(name, 0)).ask(b'x') for name in names}
    assert 10 < sum(answer == b'two:x' for answer in answers.values()) < 50
    assert {name: source(router, source=(name, 0)).ask(b'x') for name in names} == answers  # by address, not by port
    assert router.ask('POST', '/rollout/abort').status == 200
    until(lambda: source(router, source=('127.0.4.1', 0)).ask(b'x') == b'one:x')


def test_a_listener_that_goes_lets_its_sessions_finish(echo, source, route):
    """Not all threads have one, but all keep their sockets: otherwise the kernel would choose others for the sources."""
    one = echo('one')
    document = streaming(one, stream={'idle_timeout': '3s'})
    router = route(document, threads=6)
    old, new = [source(router) for _ in range(4)], source(router)
    assert {client.ask(b'x') for client in old} == {b'one:x'}
    assert router.update({'listeners': [{'name': 'http', 'address': '127.0.0.1:0'}], 'pools': document['pools']}).status == 200
    router.wait('listener-closed')
    for _ in range(10):
        assert {client.ask(b'y') for client in old} == {b'one:y'}
    new.send(b'z')
    until(lambda: dropped(router, 'no_stream') == 1)
    until(lambda: sessions(router) == 0)
    until(lambda: refused(new), what='the end of the socket')
    assert len(one.sources) == 4


def test_at_the_end_sessions_have_time_to_finish(echo, source, route):
    server = echo()
    router = route(streaming(server), threads=6)
    clients = [source(router) for _ in range(4)]
    assert {client.ask(b'x') for client in clients} == {b'echo:x'}
    since = router.mark()
    router.signal(signal.SIGTERM)
    router.wait('stopping', since)
    for _ in range(20):
        assert {client.ask(b'y') for client in clients} == {b'echo:y'}
    assert len(server.sources) == 4
    source(router).send(b'late')
    router.end()
    assert router.all('stopped', since)


# ---- upgrades ----

@pytest.fixture
def upgradable(running, folders):
    """Starts a router that can be upgraded."""
    return lambda doc, *args, **how: running(Upgradable(folders(), doc, *args, **how)).start()


@pytest.mark.parametrize('address', ['127.0.0.1:0', ':0'])
def test_upgrades_keep_every_session(echo, source, upgradable, address):
    """The server sees no other source, and the clients miss no answer."""
    server = echo()
    router = upgradable(streaming(server, address=address), threads=2)
    clients = [source(router) for _ in range(300)]
    for client in clients:
        assert client.ask(b'0') == b'echo:0'
    for i in range(1, 4):
        old = router.upgrade()
        for client in clients:
            client.send(b'%d' % i)
        for client in clients:
            assert client.take() == b'echo:%d' % i
        router.gone(old)
        assert sessions(router) == 300
    assert len(server.sources) == 300


def test_an_upgrade_under_load_loses_no_datagram(echo, source, upgradable):
    server = echo()
    router = upgradable(streaming(server), threads=2)
    clients = [source(router) for _ in range(20)]
    over = threading.Event()
    done = []

    def work(client):
        n = 0
        while not over.is_set() or n < 10:
            assert client.ask(b'%d' % n) == b'echo:%d' % n
            n += 1
        done.append(n)

    threads = [threading.Thread(target=work, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    until(lambda: len(server.received) > 1000)
    for _ in range(3):
        before = len(server.received)
        router.upgrade()
        until(lambda: len(server.received) > before + 1000)
    over.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(done) == 20 and len(server.sources) == 20


def test_an_upgrade_to_another_number_of_threads_keeps_sessions(echo, source, upgradable):
    server = echo()
    router = upgradable(streaming(server), threads=3)
    clients = [source(router) for _ in range(60)]
    for threads in (1, 4):
        assert {client.ask(b'x') for client in clients} == {b'echo:x'}
        router.install(f'exec {{}} "$@" --threads {threads}')
        router.upgrade()
        assert {client.ask(b'x') for client in clients} == {b'echo:x'}
    assert len(server.sources) == 60


def test_an_upgrade_keeps_sessions_of_a_server_that_has_left(echo, source, upgradable):
    one, two = echo('one'), echo('two')
    router = upgradable(streaming(one), threads=2)
    old = [source(router) for _ in range(10)]
    assert {client.ask(b'x') for client in old} == {b'one:x'}
    assert router.update(streaming(two)).status == 200
    until(lambda: source(router).ask(b'x') == b'two:x')
    router.upgrade()
    assert {client.ask(b'y') for client in old} == {b'one:y'}
    assert source(router).ask(b'x') == b'two:x'


# ---- what is shown ----

def test_a_session_is_shown_while_it_lasts_and_logged_at_its_end(echo, source, route):
    server = echo()
    router = route(streaming(server, address=':0', stream={'idle_timeout': '2s'}, access_log={}), threads=2)
    client = source(router)
    assert client.ask(b'hello') == b'echo:hello' and client.ask(b'you') == b'echo:you'
    fresh = source(router, address='::1')
    assert fresh.ask(b'x') == b'echo:x'
    shown = router.ask('GET', '/connections').json
    assert shown['sessions_total'] == 2 and not shown['truncated']
    one, two = shown['sessions']
    assert one['peer'] == f'127.0.0.1:{client.name[1]}' and one['local'] == '127.0.0.1' and one['state'] == 'confirmed'
    assert (one['listener'], one['stream'], one['pool'], one['server']) == ('udp', 'all', 'pool', server.at)
    assert (one['received'], one['sent'], one['datagrams_in'], one['datagrams_out']) == (8, 18, 2, 2)
    assert two['peer'] == f'[::1]:{fresh.name[1]}' and two['local'] == '::1' and two['state'] == 'new'
    m = router.metrics()
    assert m.one('maglev_router_stream_connections_active', stream='all') == 2
    assert m.one('maglev_router_stream_received_bytes_total', stream='all') == 9
    assert m.one('maglev_router_server_tries_active', server=server.at) == 2
    lines = {line['client']: line for line in (router.wait('access', client='127.0.0.1'), router.wait('access', client='::1'))}
    line = lines['127.0.0.1']
    assert (line['stream'], line['pool'], line['server'], line['complete']) == ('all', 'pool', server.at, True)
    assert (line['bytes_in'], line['bytes_out'], line['datagrams_in'], line['datagrams_out']) == (8, 18, 2, 2)
    assert router.metrics().one('maglev_router_stream_connections_active', stream='all') == 0
    assert router.metrics().one('maglev_router_server_answers_total', server=server.at, **{'class': '1xx'}) == 2


def test_a_session_holds_no_generation(echo, source, route):
    server = echo()
    router = route(streaming(server), threads=2)
    clients = []
    for i in range(20):
        clients.append(source(router))
        assert clients[-1].ask(b'x') == b'echo:x'
        assert router.update(streaming(server, stream={'idle_timeout': f'{60 + i}s'})).status == 200
    router.wait_metric('maglev_router_generations_held', 1)
    assert {client.ask(b'y') for client in clients} == {b'echo:y'} and sessions(router) == 20


# ---- others on the same thread ----

def test_a_flood_of_datagrams_does_not_stop_requests(echo, source, serve, route):
    """One thread, a flood from several sources, and a bystander whose requests are answered in time."""
    http, server = serve(), echo(answer=lambda name, data: [])
    document = streaming(server)
    document['listeners'].append({'name': 'http', 'address': '127.0.0.1:0'})
    document['routes'] = [{'name': 'all', 'pool': 'http', 'listeners': ['http']}]
    document['pools'].append({'name': 'http', 'servers': [f'127.0.0.1:{http.port}']})
    router = route(document, threads=1)
    over = threading.Event()
    floods = [source(router) for _ in range(3)]

    def flood(client):
        while not over.is_set():
            for _ in range(100):
                client.send(b'x' * 100)

    threads = [threading.Thread(target=flood, args=(client,)) for client in floods]
    for thread in threads:
        thread.start()
    try:
        until(lambda: len(server.received) > 5000)
        with router.client('http') as bystander:
            for _ in range(50):
                before = time.monotonic()
                assert bystander.get()[0].status == 200
                assert time.monotonic() - before < 2 * SLACK
    finally:
        over.set()
        for thread in threads:
            thread.join(PATIENCE)


# ---- a real server ----

class Dns(Process):
    """dnsmasq with an address for www.example and a long text for long.example."""

    def __init__(self, folder):
        self.port = free_port()
        self.at = f'127.0.0.1:{self.port}'
        super().__init__(folder, 'dnsmasq', [
            'dnsmasq', '--keep-in-foreground', '--conf-file=/dev/null', f'--port={self.port}', '--listen-address=127.0.0.1',
            '--bind-interfaces', '--no-resolv', '--no-hosts', '--address=/www.example/192.0.2.7', '--local=/example/',
            '--user=root', '--pid-file', '--log-facility=/dev/null', '--edns-packet-max=4096',
            *(f'--txt-record=long.example,{"x" * 200}{i}' for i in range(10))])


def query(number, name, kind):
    labels = b''.join(bytes([len(part)]) + part.encode() for part in name.split('.')) + b'\0'
    return struct.pack('>6H', number, 0x100, 1, 0, 0, 1) + labels + struct.pack('>2H', kind, 1) + \
        b'\0' + struct.pack('>2HIH', 41, 4096, 0, 0)


def test_dns_through_the_router(running, folders, source, route):
    """Each question is a session, which ends with its answer."""
    server = running(Dns(folders())).start()
    router = route(streaming(server, stream={'answers': 1}), threads=2)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.settimeout(.2)

        def answers():
            try:
                probe.sendto(query(1, 'www.example', 1), ('127.0.0.1', server.port))
                return probe.recv(512)
            except OSError:
                return None
        until(answers, what='an answer of dnsmasq')
    for number in range(200):
        answer = source(router).ask(query(number, 'www.example', 1))
        assert struct.unpack('>H', answer[:2])[0] == number and socket.inet_aton('192.0.2.7') in answer
    assert len(source(router).ask(query(7, 'long.example', 16))) > 2000
    until(lambda: sessions(router) == 0)
    assert router.metrics().one('maglev_router_sessions_total') == 201


# ---- networks ----

def test_answers_over_a_network_leave_from_the_address_that_was_asked(echo, source, own_net, route):
    """The route back would choose another address of the machine."""
    addresses = [own_net.address() for _ in range(3)] + [own_net.address(6) for _ in range(3)]
    router = route(streaming(echo(inside=own_net.servers), address=':0'), namespace=own_net.servers)
    for address in addresses * 2:
        assert source(router, address=address, inside=own_net.probes).ask(b'x') == b'echo:x'
    assert sessions(router) == 12


def test_datagrams_that_are_too_long_for_the_path_are_sent_in_fragments(echo, source, own_net, running, route):
    """The servers are behind a router whose second link takes 1280 bytes; ICMP tells that to the sender."""
    middle, far = Namespace('m'), Namespace('f')
    here = own_net.servers
    subprocess.run(['ip', '-batch', '-'], check=True, text=True, input=(
        f'link add near netns {here.name} type veth peer name near netns {middle.name}\n'
        f'link add far netns {middle.name} type veth peer name far netns {far.name}\n'))
    here.ip('addr add 10.78.0.1/24 dev near', 'link set near up', 'route add 10.79.0.0/24 via 10.78.0.2')
    middle.ip('addr add 10.78.0.2/24 dev near', 'link set near up', 'addr add 10.79.0.1/24 dev far', 'link set far up mtu 1280')
    far.ip('addr add 10.79.0.2/24 dev far', 'link set far up mtu 1280', 'route add default via 10.79.0.1')
    middle.sysctl(ipv4__ip_forward=1)
    address = own_net.address()
    router = route(streaming(echo(address='10.79.0.2', inside=far), address=':0'), namespace=here)
    client = source(router, address=address, inside=own_net.probes)
    assert client.ask(b'small') == b'echo:small'
    data = b'y' * 1400
    until(lambda: client.send(data) and not client.nothing(), what='an answer to a long one')
    for size in (1253, 1400, 1472, 5000, 60000):
        wanted = b'echo:' + b'z' * size
        client.send(b'z' * size)
        assert next(answer for answer in iter(client.take, None) if answer != b'echo:' + data) == wanted
    assert sessions(router) == 1 and router.metrics().one('maglev_router_sessions_total') == 1


def test_datagrams_and_connections_on_one_address(echo, source, serve, route):
    """As DNS has it."""
    http, port = serve(), free_port()
    document = streaming(echo(), address=f'127.0.0.1:{port}')
    document['listeners'].append({'name': 'tcp', 'address': f'127.0.0.1:{port}', 'protocol': 'tcp'})
    document['streams'].append({'name': 'tcp', 'listeners': ['tcp'], 'pool': 'tcp'})
    document['pools'].append({'name': 'tcp', 'servers': [f'127.0.0.1:{http.port}']})
    router = route(document)
    assert source(router).ask(b'x') == b'echo:x'
    with router.client('tcp') as client:
        assert client.get()[0].status == 200


def test_an_address_that_returns_finds_its_sessions(echo, source, route):
    server = echo()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(('127.0.0.1', 0))
        address = '127.0.0.1:%d' % probe.getsockname()[1]
    here = streaming(server, address=address)
    router = route(here, threads=4)
    clients = [source(router) for _ in range(5)]
    for _ in range(3):
        assert {client.ask(b'x') for client in clients} == {b'echo:x'}
        assert router.update({**here, 'listeners': [], 'streams': []}).status == 200
        assert {client.ask(b'y') for client in clients} == {b'echo:y'}
        assert router.update(here).status == 200
    assert {client.ask(b'x') for client in clients} == {b'echo:x'}
    assert len(server.sources) == 5


# ---- health ----

def test_a_session_leaves_a_server_that_is_down_by_its_probes(echo, source, route):
    """A server that is silent and refuses nothing: only its probes tell."""
    doors = [socket.create_server(('127.0.0.1', 0), backlog=4096) for _ in range(2)]  # nobody accepts the probes
    mute = threading.Event()
    servers = [Echo(str(i), port=door.getsockname()[1], answer=lambda name, data: [] if mute.is_set() and name == '0' else
                    [name.encode() + b':' + data]) for i, door in enumerate(doors)]
    try:
        router = route(streaming(*servers, pool={'probe': {'interval': '50ms', 'rise': 1, 'fall': 2}}), threads=1)
        router.wait('server-up', count=2)
        clients = [source(router) for _ in range(6)]
        first = [client.ask(b'x') for client in clients]
        assert first.count(b'0:x') == 3
        mute.set()
        doors[0].close()
        router.wait('server-down', server=servers[0].at)
        for client, before in zip(clients, first):
            if before == b'1:x':
                assert client.ask(b'y') == b'1:y'
            else:  # the first one is lost: until then the session could be in order
                client.send(b'y')
                until(lambda: client.send(b'z') and not client.nothing(), what='an answer of the other one')
                assert client.take() == b'1:z'
        assert router.metrics().one('maglev_router_sessions_total') == 9
    finally:
        for thing in (*servers, *doors):
            thing.close()


def test_a_server_that_does_not_answer_is_left_out(echo, source, route):
    """With a number of expected answers, silence is a failure."""
    dead, alive = echo('dead', answer=lambda name, data: []), echo('alive')
    router = route(streaming(dead, alive, stream={'answers': 1, 'idle_timeout': '1s'},
                             pool={'ejection': {'failures': 2, 'time': '60s'}}), threads=1)
    for _ in range(4):
        source(router).send(b'x')
    assert router.wait('server-ejected')['server'] == dead.at
    assert {source(router).ask(b'y') for _ in range(4)} == {b'alive:y'}
