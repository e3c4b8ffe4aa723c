# SPDX-License-Identifier: Apache-2.0
"""Calls of gRPC from end to end: clients and servers of grpcio, grpc-js and grpcurl with maglev-router between them."""
import contextlib
import json
import queue
import subprocess
import threading

import grpc
import pytest

from lab import PATIENCE, until
from lab.gotool import installed
from lab.grpc_js import ThingsServer, call_things
from lab.grpc_server import GrpcServer, Things
from lab.grpcurl import Grpcurl
from lab.router import document
from lab.upgrades import Upgradable

CODES = {status.value[0]: status for status in grpc.StatusCode}


@pytest.fixture
def grpc_server(running, folders):
    """Starts a server of grpcio."""
    return lambda name='grpc', pair=(): running(GrpcServer(folders(), name, pair)).start()


def calls(*servers, rule=None, pool=None, **more):
    return document(*servers, rule={'matches': [{'grpc': {'service': 'lab.Things'}}], **(rule or {})},
                    pool={'protocol': 'h2', **(pool or {})}, **more)


@pytest.fixture
def between(grpc_server, route):
    """(router, server, things): a client, and one server behind a router."""
    with contextlib.ExitStack() as stack:
        def start(*args, threads=2, **how):
            server = grpc_server()
            router = route(calls(server, **how), *args, threads=threads)
            return router, server, stack.enter_context(Things(router.port_of('default')))
        yield start


def code_of(error):
    return error.value.code()


class Talk:
    """A stream of both directions, message by message."""

    def __init__(self, things, **how):
        self.outgoing = queue.SimpleQueue()
        self.call = things.chat(iter(self.outgoing.get, None), **how)

    def say(self, message):
        self.outgoing.put(message)
        return next(self.call)

    def end(self):
        self.outgoing.put(None)
        return list(self.call)


# ---- what passes ----

def test_all_four_kinds_of_calls_pass(between):
    _, _, things = between()
    assert things.unary(b'hello', timeout=PATIENCE) == b'hello'
    assert [message.rstrip(b'.') for message in things.give(b'100 7', timeout=PATIENCE)] == [b'%d' % i for i in range(100)]
    assert things.collect(iter([b'a' * n for n in range(50)]), timeout=PATIENCE) == b'50 %d' % sum(range(50))
    talk = Talk(things, timeout=PATIENCE)
    assert [talk.say(b'%d' % i) for i in range(20)] == [b'%d' % i for i in range(20)]
    assert talk.end() == []
    assert talk.call.code() is grpc.StatusCode.OK


def test_metadata_passes_both_ways(between):
    _, _, things = between()
    given = (('x-text', 'some text'), ('x-twice', '1'), ('x-twice', '2'), ('x-raw-bin', bytes(range(256))))
    answer, call = things.unary.with_call(b'', metadata=given, timeout=PATIENCE)
    assert answer == b''

    def own(metadata):
        return sorted((key, value) for key, value in metadata if key.startswith('x-') and 'forwarded' not in key)

    assert own(call.initial_metadata()) == sorted([('x-server', 'grpc'), *given])
    assert own(call.trailing_metadata()) == sorted((
        ('x-text-last', 'some text'), ('x-twice-last', '1'), ('x-twice-last', '2'),
        ('x-raw-last-bin', bytes(range(256)))))


def test_large_messages_pass(between):
    _, _, things = between()
    large = bytes(range(256)) * (16 << 12)  # 16 MiB
    assert things.unary(large, timeout=PATIENCE) == large
    assert sum(len(message) for message in things.give(b'200 100000', timeout=PATIENCE)) > 200 * 100000
    assert things.collect(iter([large] * 3), timeout=PATIENCE) == b'3 %d' % (3 * len(large))


@pytest.mark.parametrize('number', range(1, 17))
def test_codes_of_servers_pass(between, number):
    router, _, things = between(access_log={}, threads=1)
    with pytest.raises(grpc.RpcError) as error:
        things.fail(f'{number} a bit of text: ü%\n'.encode(), timeout=PATIENCE)
    assert code_of(error) is CODES[number]
    assert error.value.details() == 'a bit of text: ü%\n'
    assert ('x-why', 'test') in error.value.trailing_metadata()
    assert router.wait('access')['grpc_status'] == number
    name = CODES[number].name
    router.wait_metric('maglev_router_route_grpc_total', 1, route='all', grpc_status=name)


def test_many_calls_at_once(between):
    _, _, things = between()
    futures = [things.unary.future(b'%d' % i, timeout=PATIENCE) for i in range(500)]
    assert [future.result() for future in futures] == [b'%d' % i for i in range(500)]


# ---- other people's ----

def check_things(results):
    assert {name: (result['bytes'], result['code'], result['last']) for name, result in results.items()} == {
        'unary': (5, 0, 'thing'), 'large': (4 << 20, 0, 'thing'), 'give': (100000, 0, 'thing'), 'collect': (3, 0, 'thing'),
        'chat': (6, 0, 'thing'), 'fail': (0, 7, 'thing')}
    assert results['collect']['messages'] == ['2 3'] and results['chat']['messages'] == ['one', 'two']
    assert results['fail']['text'] == 'not you'


def test_clients_and_servers_of_grpc_js(running, folders, route):
    server = running(ThingsServer(folders())).start()
    router = route(calls(server))
    check_things(call_things(router.port_of('default')))
    with Things(router.port_of('default')) as things:
        assert things.unary(b'x' * (1 << 20), timeout=PATIENCE) == b'x' * (1 << 20)
        assert [len(message) for message in things.give(b'50 1000', timeout=PATIENCE)] == [1000] * 50
        talk = Talk(things, timeout=PATIENCE)
        assert [talk.say(b'%d' % i) for i in range(5)] == [b'%d' % i for i in range(5)]
        assert talk.end() == []


def test_grpcurl_with_reflection(route):
    router = route({'routes': [], 'pools': []})
    router.update({'routes': [{'name': 'api', 'pool': 'self', 'matches': [{'grpc': {'service': 'maglev.Router'}},
                                                                          {'grpc': {'method': 'ServerReflectionInfo'}}]}],
                   'pools': [{'name': 'self', 'servers': [f'127.0.0.1:{router.port_of("grpc")}'], 'protocol': 'h2'}]})
    grpcurl = Grpcurl(router.port_of('default'), '-plaintext')
    assert 'maglev.Router' in grpcurl.text('list').split()
    assert '"name": "api"' in grpcurl.text('maglev.Router/ListRoutes')
    assert 'Code: Unimplemented' in grpcurl.run('grpc.health.v1.Health/Check').stderr


def test_ghz_gets_an_answer_to_every_call(route):
    ghz = installed('github.com/bojand/ghz/cmd/ghz', 'v0.120.0')
    router = route({'routes': [], 'pools': []})
    router.update({'routes': [{'name': 'api', 'pool': 'self', 'matches': [{'grpc': {}}]}],
                   'pools': [{'name': 'self', 'servers': [f'127.0.0.1:{router.port_of("grpc")}'], 'protocol': 'h2'}]})
    done = subprocess.run([ghz, '--insecure', '--call', 'maglev.Router.GetRouter', '-n', '2000', '-c', '20', '--connections', '4', '-O',
                           'json', f'127.0.0.1:{router.port_of("default")}'], capture_output=True, text=True, timeout=60, check=True)
    report = json.loads(done.stdout)
    assert report['statusCodeDistribution'] == {'OK': 2000}, report
    until(lambda: (router.metrics().one('maglev_router_route_grpc_total', route='api', grpc_status='OK') or 0) >= 2000)


# ---- TLS ----

def test_servers_with_tls_are_called_and_probed(grpc_server, authority, route):
    server, other = grpc_server(pair=authority.good), grpc_server('other', authority.wrong_name)
    probe = {'type': 'grpc', 'interval': '2s'}  # also the time for an answer, and the first one decides
    pool = {'protocol': 'h2', 'tls': {'ca': authority.ca, 'name': authority.name}, 'probe': probe}
    router = route({'routes': [{'name': 'all', 'pool': 'pool', 'matches': [{'grpc': {}}]}],
                    'pools': [{'name': 'pool', 'servers': [f'127.0.0.1:{one.port}' for one in (server, other)], **pool}]})
    down = router.wait('server-down')
    assert (down['server'], down['code']) == (f'127.0.0.1:{other.port}', 'L6RSP')
    router.wait('server-up', server=f'127.0.0.1:{server.port}', code='L7OK')
    with Things(router.port_of('default')) as things:
        for i in range(10):
            assert things.unary(b'%d' % i, timeout=PATIENCE) == b'%d' % i
        assert sum(len(message) for message in things.give(b'50 10000', timeout=PATIENCE)) > 500000


def test_clients_with_tls(grpc_server, authority, route):
    certificate, key = authority.good
    router = route(calls(grpc_server(), listeners=[{'name': 'secure', 'address': '127.0.0.1:0', 'tls': {
        'certificates': [{'certificate': certificate, 'key': key}]}}]))
    with Things(router.port_of('secure'), authority) as things:
        assert things.unary(b'x' * (1 << 20), timeout=PATIENCE) == b'x' * (1 << 20)
        talk = Talk(things, timeout=PATIENCE)
        assert [talk.say(b'%d' % i) for i in range(5)] == [b'%d' % i for i in range(5)]
        assert talk.end() == []
        with pytest.raises(grpc.RpcError) as error:
            things.fail(b'5 not here', timeout=PATIENCE)
        assert (code_of(error), error.value.details()) == (grpc.StatusCode.NOT_FOUND, 'not here')


# ---- how calls end ----

def test_a_server_learns_that_a_call_was_cancelled(between):
    _, server, things = between()
    call = things.wait.future(b'')
    server.wait('wait begun')
    call.cancel()
    server.wait('wait cancelled')


def test_a_deadline_ends_a_call_at_both_sides(between):
    _, server, things = between()

    def expires():
        with pytest.raises(grpc.RpcError) as error:
            things.wait(b'', timeout=.3)
        assert code_of(error) is grpc.StatusCode.DEADLINE_EXCEEDED
        return 'wait begun' in server.lines  # on a busy machine the first call may not get there in time

    until(expires)
    server.wait('wait cancelled')
    assert 0 < float(things.left(b'', timeout=PATIENCE)) < PATIENCE * 1.05  # grpcio rounds what it sends


def test_the_time_of_a_rule_is_a_deadline(between):
    _, server, things = between(rule={'timeouts': {'request': '300ms'}})

    def expires():
        with pytest.raises(grpc.RpcError) as error:
            things.wait(b'')
        assert code_of(error) is grpc.StatusCode.DEADLINE_EXCEEDED
        return 'wait begun' in server.lines  # on a busy machine the first call may not get there in time

    def expires_after_a_message():
        talk, said = Talk(things), []
        with pytest.raises(grpc.RpcError) as error:
            said.append(talk.say(b'first'))
            next(talk.call)
        assert code_of(error) is grpc.StatusCode.DEADLINE_EXCEEDED
        return said == [b'first']

    until(expires)
    server.wait('wait cancelled')
    until(expires_after_a_message)


def test_calls_of_a_server_that_is_killed_are_unavailable(between):
    router, server, things = between(access_log={})
    talk, waiting = Talk(things), things.wait.future(b'')
    assert talk.say(b'first') == b'first'
    server.wait('wait begun')
    server.kill()
    with pytest.raises(grpc.RpcError) as error:
        next(talk.call)
    assert code_of(error) is grpc.StatusCode.UNAVAILABLE
    assert waiting.code() is grpc.StatusCode.UNAVAILABLE
    with pytest.raises(grpc.RpcError) as error:
        things.unary(b'', timeout=PATIENCE)
    assert code_of(error) is grpc.StatusCode.UNAVAILABLE
    line = router.wait('access', path='/lab.Things/Chat')
    assert (line['status'], line['grpc_status'], line['why']) == (200, 14, 'server-broken')


def test_the_router_answers_with_codes(route):
    router = route({'routes': [{'name': 'empty', 'pool': 'empty', 'matches': [{'grpc': {'method': 'Unary'}}]}],
                    'pools': [{'name': 'empty', 'servers': []}]})
    with Things(router.port_of('default')) as things:
        with pytest.raises(grpc.RpcError) as error:
            things.unary(b'', timeout=PATIENCE)
        assert (code_of(error), error.value.details()) == (grpc.StatusCode.UNAVAILABLE, 'Service Unavailable')
        with pytest.raises(grpc.RpcError) as error:
            things.left(b'', timeout=PATIENCE)
        assert (code_of(error), error.value.details()) == (grpc.StatusCode.UNIMPLEMENTED, 'Not Found')


# ---- changes ----

def test_a_stream_outlives_changes_of_the_configuration(between):
    router, server, things = between()
    talk = Talk(things, timeout=PATIENCE)
    assert talk.say(b'before') == b'before'
    assert router.update({'routes': [], 'pools': []}).status == 200
    assert talk.say(b'after') == b'after'
    with pytest.raises(grpc.RpcError) as error:
        things.unary(b'', timeout=PATIENCE)
    assert code_of(error) is grpc.StatusCode.UNIMPLEMENTED
    assert router.update(calls(server)).status == 200
    assert things.unary(b'again', timeout=PATIENCE) == b'again'
    assert talk.end() == [] and talk.call.code() is grpc.StatusCode.OK


def test_calls_of_one_connection_use_all_servers(grpc_server, route):
    servers = [grpc_server(name) for name in ('one', 'two', 'three')]
    router = route(calls(*servers), threads=1)
    with Things(router.port_of('default')) as things:
        names = [dict(things.unary.with_call(b'', timeout=PATIENCE)[1].initial_metadata())['x-server'] for _ in range(30)]
    assert {name: names.count(name) for name in names} == {'one': 10, 'two': 10, 'three': 10}


class Load:
    """Calls one after the other, in some threads, until the end; failed: what went wrong.

    There is no policy for retries. Switched off altogether, grpcio would also fail calls that it had not begun to send when
    GOAWAY came, which no server can know of."""

    def __init__(self, port, threads=4):
        self.things = Things(port, **{'grpc.enable_retries': 1})
        self.failed, self.done, self.stopped = [], 0, threading.Event()
        self.threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]

    def _run(self):
        while not self.stopped.is_set():
            try:
                assert self.things.unary(b'x' * 100, timeout=PATIENCE) == b'x' * 100
                self.done += 1
            except grpc.RpcError as error:
                self.failed.append((error.code(), error.details()))

    def more(self, n=100):
        wanted = self.done + n
        until(lambda: self.done >= wanted or self.failed)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *args):
        self.stopped.set()
        for thread in self.threads:
            thread.join()
        self.things.__exit__()


def test_no_call_fails_while_another_process_takes_over(grpc_server, running, folders):
    router = running(Upgradable(folders(), calls(grpc_server()))).start()
    with Load(router.port_of('default')) as load:
        load.more()
        for _ in range(3):
            router.upgrade()
            load.more()
    assert load.failed == []


# ---- browsers ----

# What a page does: the messages of a stream, and the trailers in its last frame.
PAGE = '''
const [url, method, text] = process.argv.slice(1);
const request = Buffer.concat([Buffer.from([0, 0, 0, 0, text.length]), Buffer.from(text)]);
fetch(url + '/lab.Things/' + method, { method: 'POST', body: request, headers: {
  'content-type': 'application/grpc-web+proto', 'x-grpc-web': '1', 'x-first': 'thing' } }).then(async (answer) => {
  const body = Buffer.from(await answer.arrayBuffer());
  const result = { status: answer.status, type: answer.headers.get('content-type'), messages: [], trailers: '' };
  for (let at = 0; at < body.length; at += 5 + body.readUInt32BE(at + 1)) {
    const content = body.subarray(at + 5, at + 5 + body.readUInt32BE(at + 1));
    if (body[at] & 128) result.trailers += content.toString();
    else result.messages.push(content.toString());
  }
  console.log(JSON.stringify(result));
});
'''


@pytest.mark.parametrize('method, text, messages, code', (
    ('Unary', 'hello', ['hello'], 0), ('Give', '3 2', ['0..', '1..', '2..'], 0)))
def test_a_page_calls_by_grpc_web(between, method, text, messages, code):
    router, _, _ = between(rule={'grpc_web': True})
    done = subprocess.run(['node', '-e', PAGE, f'http://127.0.0.1:{router.port_of("default")}', method, text],
                          capture_output=True, text=True, timeout=PATIENCE, check=True)
    result = json.loads(done.stdout)
    assert (result['status'], result['type'], result['messages']) == (200, 'application/grpc-web+proto', messages)
    trailers = dict(line.split(': ', 1) for line in result['trailers'].split('\r\n') if line)
    assert trailers['grpc-status'] == str(code) and trailers['x-first-last'] == 'thing'
