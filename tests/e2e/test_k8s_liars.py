# SPDX-License-Identifier: Apache-2.0
"""lib/k8s against servers that lie, stall, flood, redirect and go back in time. They speak TLS, and nothing of Kubernetes but
what each story needs."""
import http.server
import json
import os
import ssl
import subprocess
import threading
import urllib.parse

import lab
import pytest
from lab.kube_tool import KubeTool


def thing(name, version, value='x', uid=None):
    return {'metadata': {'name': name, 'namespace': 'n', 'uid': uid or f'uid-{name}', 'resourceVersion': str(version)},
            'data': {'value': value}}


def whole(version, *items, more=None):
    return {'kind': 'ConfigMapList', 'metadata': {'resourceVersion': str(version), **({'continue': more} if more else {})},
            'items': list(items)}


def event(kind, it):
    return json.dumps({'type': kind, 'object': it}) + '\n'


def bookmark(version, end=False):
    notes = {'annotations': {'k8s.io/initial-events-end': 'true'}} if end else {}
    return event('BOOKMARK', {'metadata': {'resourceVersion': str(version), **notes}})


def status(code, reason, message='said the server', **more):
    return {'kind': 'Status', 'status': 'Failure', 'code': code, 'reason': reason, 'message': message, **more}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def answer(self, code, body, **headers):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace('_', '-'), value)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def begin(self, *headers):
        """Of an answer in chunks."""
        self.send_response(200)
        for name, value in (('Transfer-Encoding', 'chunked'), *headers):
            self.send_header(name, value)
        self.end_headers()

    def chunk(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        self.wfile.write(b'%x\r\n%s\r\n' % (len(data), data))
        self.wfile.flush()

    def end(self):
        self.wfile.write(b'0\r\n\r\n')

    def hold(self):
        """Says nothing until the story ends."""
        self.server.over.wait(60)

    def handle_one(self):
        parts = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(parts.query))
        self.place = parts.path
        with self.server.lock:
            self.server.asked.append((self.command, self.place, self.query, dict(self.headers)))
        self.watches = self.query.get('watch') == 'true'
        self.streams = self.query.get('sendInitialEvents') == 'true'
        try:
            self.server.act(self)
        except OSError:  # the client has gone
            self.close_connection = True

    do_GET = do_POST = do_PATCH = do_DELETE = handle_one


class Liar(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder, act):
        super().__init__(('127.0.0.1', 0), Handler)
        self.act, self.asked, self.lock, self.over = act, [], threading.Lock(), threading.Event()
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout',
                        f'{folder}/key.pem', '-out', f'{folder}/cert.pem', '-days', '2', '-subj', '/CN=liar', '-addext',
                        'subjectAltName=IP:127.0.0.1'], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f'{folder}/cert.pem', f'{folder}/key.pem')
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.config = os.path.join(folder, 'config')
        with open(self.config, 'w', encoding='ascii') as file:
            json.dump({'current-context': 'c', 'contexts': [{'name': 'c', 'context': {'cluster': 'c', 'user': 'u'}}],
                       'clusters': [{'name': 'c', 'cluster': {'server': f'https://127.0.0.1:{self.server_port}',
                                                              'certificate-authority': f'{folder}/cert.pem'}}],
                       'users': [{'name': 'u', 'user': {'token': 'secret'}}]}, file)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass

    def count(self, wanted):
        with self.lock:
            return sum(1 for one in self.asked if wanted(one))

    def close(self):
        self.over.set()
        self.shutdown()
        self.server_close()


@pytest.fixture
def lie_as_api(folders):
    """Starts a server whose answers are the function's."""
    made = []

    def start(act):
        made.append(Liar(folders(), act))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture
def tool(running, folders):
    return lambda server, part, *args: running(KubeTool(folders(), part, *args, kubeconfig=server.config)).start()


def old_server(handle):
    """Lists pages and watches, but does not stream lists; handle has the rest."""
    def act(it):
        if it.streams:
            it.answer(422, status(422, 'Invalid', 'sendInitialEvents is forbidden'))
        else:
            handle(it)
    return act


def quiet_watch(it):
    it.begin()
    it.chunk(bookmark(100))
    it.hold()


def test_a_server_that_does_not_stream_lists_is_asked_for_pages(lie_as_api, tool):
    def act(it):
        if it.watches:
            quiet_watch(it)
        elif 'continue' not in it.query:
            it.answer(200, whole(100, thing('a', 1), thing('b', 2), more='p 2'))
        else:
            it.answer(200, whole(100, thing('c', 3)))
    server = lie_as_api(old_server(act))
    it = tool(server, 'watch', 'configmaps', '--page=2')
    assert it.wait(synced=True)['count'] == 3
    assert server.count(lambda one: one[2].get('continue') == 'p 2') == 1
    assert server.count(lambda one: 'sendInitialEvents' in one[2]) == 1
    assert not it.seen(trouble=True)


def test_a_server_that_never_ends_its_initial_events_is_asked_for_pages(lie_as_api, tool):
    """Servers before 1.27 ignore sendInitialEvents: objects come, but no end of them."""
    def act(it):
        if it.streams:
            it.begin()
            it.chunk(event('ADDED', thing('a', 1)))
            it.hold()
        elif it.watches:
            quiet_watch(it)
        else:
            it.answer(200, whole(100, thing('a', 1), thing('b', 2)))
    it = tool(lie_as_api(act), 'watch', 'configmaps', '--silence=500')
    assert it.wait(synced=True)['count'] == 2
    assert [line['name'] for line in it.seen(change='added')] == ['a', 'b']


def test_a_page_whose_token_has_expired_begins_again(lie_as_api, tool):
    def act(it):
        if it.watches:
            quiet_watch(it)
        elif 'continue' in it.query:
            it.answer(410, status(410, 'Expired'))
        elif 'limit' in it.query:
            it.answer(200, whole(100, thing('a', 1), more='t'))
        else:
            it.answer(200, whole(100, thing('a', 1), thing('b', 2)))
    it = tool(lie_as_api(old_server(act)), 'watch', 'configmaps')
    assert it.wait(synced=True)['count'] == 2
    assert [line['name'] for line in it.seen(change='added')] == ['a', 'b']


BROKEN = {
    'half a list': lambda it: it.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"items":[{"metadata":{"na'),
    'not JSON': lambda it: it.answer(200, b'<html>hello</html>'),
    'another type': lambda it: it.answer(200, {'items': {'a': 1}, 'metadata': {'resourceVersion': '1'}}),
    'no version': lambda it: it.answer(200, {'items': []}),
    'versions that are words': lambda it: it.answer(200, whole('x', thing('a', 'y'))),
    'items without names': lambda it: it.answer(200, whole(5, {'metadata': {'resourceVersion': '1'}})),
    'chunks of garbage': lambda it: it.wfile.write(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello'),
    'two lengths': lambda it: it.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}'),
    'an answer before HTTP': lambda it: it.wfile.write(b'SSH-2.0-OpenSSH\r\n'),
    'a redirect': lambda it: it.answer(302, b'', Location=f'https://127.0.0.1:{it.server.server_port}/elsewhere'),
    'deep nesting': lambda it: it.answer(200, b'{"items":' + b'[' * 100000),
    'a status that is none': lambda it: it.answer(500, b'{"message": {"a": []}, "reason": 7}'),
    'an empty answer': lambda it: it.answer(200, b''),
    'a NUL': lambda it: it.answer(200, whole(5, thing('a\0b', 1))),
}


@pytest.mark.parametrize('lie', BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_list_is_told_and_tried_again(lie_as_api, tool, lie):
    def act(it):
        if it.watches:
            quiet_watch(it)
        elif it.server.count(lambda one: 'watch' not in one[2]) <= 2:
            it.close_connection = True
            lie(it)
        else:
            it.answer(200, whole(100, thing('a', 1)))
    server = lie_as_api(old_server(act))
    it = tool(server, 'watch', 'configmaps')
    trouble = it.wait(trouble=True)
    assert trouble['message'] and trouble['doing'] == 'list'
    assert it.wait(synced=True)['count'] == 1
    assert not server.count(lambda one: one[1] == '/elsewhere')


def test_more_objects_than_there_is_room_for_are_refused(lie_as_api, tool):
    def act(it):
        if it.watches:
            quiet_watch(it)
        else:
            it.answer(200, whole(100, *(thing(f't{n}', n + 1) for n in range(9))))
    it = tool(lie_as_api(old_server(act)), 'watch', 'configmaps', '--max=5')
    assert 'more objects' in it.wait(trouble='too-large')['message']
    it.wait(trouble='too-large')
    assert it.stats()['count'] == 5 and not it.seen(synced=True)


def test_a_line_without_end_is_given_up(lie_as_api, tool):
    """A watch that sends one event for ever takes neither memory nor time for ever."""
    def act(it):
        if not it.watches:
            it.answer(200, whole(100, thing('a', 1)))
        elif it.server.count(lambda one: one[2].get('watch') == 'true' and 'sendInitialEvents' not in one[2]) > 1:
            quiet_watch(it)
        else:
            it.begin()
            it.chunk('{"type":"ADDED","object":{"metadata":{"name":"')
            while True:
                it.chunk('x' * 65536)
    it = tool(lie_as_api(old_server(act)), 'watch', 'configmaps')
    it.wait(synced=True)
    assert it.wait(trouble='malformed', timeout=60)['doing'] == 'watch'
    assert it.stats()['peak_kib'] < 400 << 10  # under the address sanitizer


def test_values_of_other_types_mark_the_object(lie_as_api, tool):
    strange = {'metadata': {'name': 'b', 'namespace': 'n', 'uid': [], 'resourceVersion': '2'}, 'data': ['value']}

    def act(it):
        if it.watches:
            quiet_watch(it)
        else:
            it.answer(200, whole(100, thing('a', 1), strange))
    it = tool(lie_as_api(old_server(act)), 'watch', 'configmaps')
    assert it.wait(synced=True)['count'] == 2
    assert [line['name'] for line in it.seen(odd='yes')] == ['b']


def test_a_watch_that_goes_backwards_is_listed_again(lie_as_api, tool):
    def act(it):
        if not it.watches:
            again = it.server.count(lambda one: 'watch' not in one[2]) > 1
            it.answer(200, whole(90, thing('a', 90, 'restored')) if again else whole(100, thing('a', 95), thing('b', 96)))
        else:
            it.begin()
            if it.query.get('resourceVersion') == '100':
                it.chunk(event('MODIFIED', thing('a', 101)))
                it.chunk(event('MODIFIED', thing('b', 50, 'old')))
            it.hold()
    it = tool(lie_as_api(old_server(act)), 'watch', 'configmaps')
    it.wait(change='updated', name='a', shown='x')
    it.wait(change='updated', name='a', shown='restored')
    it.wait(change='deleted', name='b')
    assert not it.seen(shown='old')
    assert it.stats()['reversed'] == 1


def test_a_server_that_was_restored_is_noticed(lie_as_api, tool):
    """It accepts a watch from a version that it has not reached, and is silent: nobody would notice that."""
    restored = threading.Event()

    def act(it):
        if not it.watches:
            it.answer(200, whole(40, thing('old', 30)) if restored.is_set() else whole(100, thing('a', 95)))
        elif restored.is_set():
            it.begin()
            if it.query['resourceVersion'] == '40':
                it.chunk(event('ADDED', thing('new', 41)))
            it.hold()
        else:
            it.begin()
            it.chunk(event('MODIFIED', thing('a', 101, 'y')))
            restored.wait(30)
            it.close_connection = True  # without the end of the chunks
    it = tool(lie_as_api(old_server(act)), 'watch', 'configmaps')
    it.wait(change='updated', name='a')
    restored.set()
    it.wait(change='added', name='old')
    it.wait(change='added', name='new')
    assert it.holds('configmaps') == {'n/old': 'x', 'n/new': 'x'}
    assert it.stats()['reversed'] == 1


def test_silence_is_not_trusted(lie_as_api, tool):
    """Bookmarks should come; a watch without them is begun again where it was."""
    def act(it):
        if not it.watches:
            it.answer(200, whole(100, thing('a', 1)))
        else:
            it.begin()
            if it.server.count(lambda one: one[2].get('resourceVersion') == '100') > 1:
                it.chunk(event('ADDED', thing('b', 101)))
            it.hold()
    it = tool(lie_as_api(old_server(act)), 'watch', 'configmaps', '--silence=400')
    it.wait(synced=True)
    lists = it.stats()['lists']  # the one that was refused as a stream, and the pages; silence in a list would make more
    lab.until(lambda: it.seen(change='added', name='b'), what='the watch that goes on')
    assert it.stats()['lists'] == lists


def test_watches_that_end_at_once_are_not_a_busy_loop(lie_as_api, tool):
    def act(it):
        if not it.watches:
            it.answer(200, whole(100, thing('a', 1)))
        else:
            it.begin()
            it.chunk(bookmark(100))
            it.end()
    server = lie_as_api(old_server(act))
    it = tool(server, 'watch', 'configmaps')
    it.wait(synced=True)
    for _ in range(4):
        trouble = it.wait(trouble=True)
    assert trouble['delay_ms'] >= 400
    assert server.count(lambda one: one[2].get('watch') == 'true') < 10


def test_patience_is_shown_when_it_is_asked_for(lie_as_api, tool):
    def act(it):
        tries = it.server.count(lambda one: True)
        if tries == 1:
            it.answer(429, status(429, 'TooManyRequests'), Retry_After='1')
        elif tries == 2:
            it.answer(503, status(503, 'ServiceUnavailable'), Retry_After='1')
        else:
            it.answer(200, thing('a', 1))
    server = lie_as_api(act)
    it = tool(server, 'do')
    answer = it.ask('get', 'configmaps', 'n', 'a', '-')
    assert (answer['code'], answer['repeated']) == ('ok', 2)
    assert server.asked[0][3]['Authorization'] == 'Bearer secret'


def test_errors_without_a_time_are_the_callers(lie_as_api, tool):
    server = lie_as_api(lambda it: it.answer(500, status(500, 'InternalError', 'boom\x1b[2J')))
    answer = tool(server, 'do').ask('create', 'configmaps', 'n', '-', '-', '{}')
    assert (answer['code'], answer['message']) == ('server-error', 'boom\\x1b[2J')
    assert server.count(lambda one: True) == 1


def test_an_answer_that_is_too_large_is_refused(lie_as_api, tool):
    def act(it):
        it.begin()
        while True:  # until the client closes the connection
            it.chunk(b' ' * 65536)
    it = tool(lie_as_api(act), 'do')
    assert it.ask('get', 'configmaps', 'n', 'a', '-')['code'] == 'too-large'


def test_another_certificate_is_not_trusted(lie_as_api, tool, folders):
    first, second = lie_as_api(quiet_watch), lie_as_api(quiet_watch)
    with open(first.config, encoding='ascii') as file:
        config = json.load(file)
    config['clusters'][0]['cluster']['server'] = f'https://127.0.0.1:{second.server_port}'
    with open(first.config, 'w', encoding='ascii') as file:
        json.dump(config, file)
    answer = tool(first, 'do').ask('get', 'configmaps', 'n', 'a', '-')
    assert answer['code'] == 'network' and 'certificate' in answer['message']
    assert not second.asked
