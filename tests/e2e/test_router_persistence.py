# SPDX-License-Identifier: Apache-2.0
"""Requests that stay together: the Maglev hash of maglev-router, and sessions that stay at one server."""
import socket

import pytest

from lab import PATIENCE
from lab.router import Wire, document

USERS = [f'user-{i}' for i in range(60)]


def port_for(router, headers=None, path='/'):
    answer = router.request(path=path, headers=headers)
    assert answer.status == 200, answer.text
    return int(answer.headers['X-Port'])


def kill(server):
    """Ends its connections; further ones are refused."""
    server.listener.shutdown(socket.SHUT_RDWR)
    server.close()
    for wire in list(server.open):
        wire.sock.shutdown(socket.SHUT_RDWR)


# ---- Maglev hash ----

@pytest.fixture
def hashed(serve, route):
    """A router before some servers, with a key."""
    def start(key, n=4, **pool):
        servers = [serve() for _ in range(n)]
        router = route(document(*servers, pool={'balance': 'maglev', 'hash_key': key, **pool}))
        router.servers = servers
        return router
    return start


@pytest.mark.parametrize('key,name,form', [('header:X-User', 'x-user', '{}'), ('cookie:user', 'Cookie', 'a=1; user={}')])
def test_a_header_or_cookie_decides(hashed, key, name, form):
    router = hashed(key)
    first = {user: port_for(router, {name: form.format(user)}) for user in USERS}
    assert set(first.values()) == {server.port for server in router.servers}
    assert {user: port_for(router, {name: form.format(user)}) for user in USERS} == first


def test_the_address_of_the_client_decides(hashed):
    router = hashed('source')

    def ask(i):
        with socket.create_connection(('127.0.0.1', router.port_of('default')), PATIENCE, ('127.0.0.%d' % i, 0)) as sock:
            return int(Wire(sock=sock).get()[0].get('X-Port'))

    first = {i: ask(i) for i in range(2, 40)}
    assert set(first.values()) == {server.port for server in router.servers}
    assert {i: ask(i) for i in range(2, 40)} == first


def test_requests_without_the_key_take_turns(hashed):
    router = hashed('header:X-User', n=3)
    with router.client() as client:
        ports = [client.get()[0].get('X-Port') for _ in range(30)]
    assert {ports.count(str(server.port)) for server in router.servers} == {10}


def test_routers_agree(hashed, route):
    router = hashed('header:X-User')
    other = route(document(*reversed(router.servers), pool={'balance': 'maglev', 'hash_key': 'header:x-user'}))
    for user in USERS:
        assert port_for(router, {'X-User': user}) == port_for(other, {'X-User': user})


def test_only_requests_of_a_dead_server_move(hashed):
    router = hashed('header:X-User')
    first = {user: port_for(router, {'X-User': user}) for user in USERS}
    dead = router.servers[0]
    kill(dead)
    after = {user: port_for(router, {'X-User': user}) for user in USERS}
    assert all(after[user] == first[user] for user in USERS if first[user] != dead.port)
    moved = [user for user in USERS if first[user] == dead.port]
    assert len({after[user] for user in moved}) > 1
    assert {user: port_for(router, {'X-User': user}) for user in moved} == {user: after[user] for user in moved}


def test_an_update_moves_nothing(hashed):
    router = hashed('header:X-User')
    first = {user: port_for(router, {'X-User': user}) for user in USERS}
    pool = {'balance': 'maglev', 'hash_key': 'header:X-User'}
    assert router.update(document(*router.servers, rule={'name': 'other', 'path_prefix': '/'}, pool=pool)).status == 200
    assert {user: port_for(router, {'X-User': user}) for user in USERS} == first


def test_weights_decide_how_many_keys_a_server_has(serve, route):
    servers = [serve() for _ in range(2)]
    upstreams = [{'host': '127.0.0.1', 'port': server.port, 'weight': weight}
                 for server, weight in zip(servers, (900000, 100000))]
    router = route({'routes': [{'name': 'all', 'pool': 'pool'}],
                    'pools': [{'name': 'pool', 'upstreams': upstreams, 'balance': 'maglev', 'hash_key': 'header:X-User'}]})
    with router.client() as client:
        for i in range(400):
            client.send(f'GET / HTTP/1.1\r\nHost: a\r\nX-User: {i}\r\n\r\n').message()
    assert 330 < len(servers[0].requests) < 390


# ---- sessions ----

def weighted(servers, **weights):
    """A rule with a pool of one server for each name."""
    return {'routes': [{'name': 'all', 'persistence': {}, 'backends': [{'pool': name, 'weight': weight}
                                                                       for name, weight in weights.items()]}],
            'pools': [{'name': name, 'servers': [f'127.0.0.1:{server.port}']} for name, server in zip(weights, servers)]}


def session(router, **how):
    """(the port of the server, the cookie)"""
    answer = router.request(**how)
    assert answer.status == 200
    line = answer.headers['Set-Cookie']
    return int(answer.headers['X-Port']), line and line.split(';')[0]


def test_a_cookie_keeps_a_client_at_its_server(serve, route):
    servers = [serve() for _ in range(4)]
    router = route(document(*servers, rule={'persistence': {'name': 'at', 'path': '/shop', 'lifetime': '1h'}}))
    answer = router.request()
    value, *attributes = answer.headers['Set-Cookie'].split('; ')
    assert attributes == ['Path=/shop', 'Max-Age=3600', 'HttpOnly', 'SameSite=Lax']
    name, value = value.split('=')
    assert name == 'at' and len(value) == 16 and answer.headers['X-Port'] not in value
    for _ in range(12):
        again = router.request(headers={'Cookie': f'a=1; at={value}; b=2'})
        assert again.headers['X-Port'] == answer.headers['X-Port']
        assert again.headers['Set-Cookie'] is None
    assert len({session(router) for _ in range(20)}) == 4


def test_a_header_keeps_a_client_at_its_server(serve, route):
    router = route(document(*[serve() for _ in range(4)], rule={'persistence': {'type': 'header', 'name': 'X-At'}}))
    answer = router.request()
    for _ in range(12):
        again = router.request(headers={'x-at': answer.headers['X-At']})
        assert (again.headers['X-Port'], again.headers['X-At']) == (answer.headers['X-Port'], None)


def test_a_value_that_names_no_server_is_replaced(serve, route):
    router = route(document(*[serve() for _ in range(2)], rule={'persistence': {}}))
    for value in ('', 'x', '0' * 16, '127.0.0.1:80', 'f' * 400):
        assert session(router, headers={'Cookie': f'maglev={value}'})[1].startswith('maglev=')


def test_a_session_survives_a_swap_and_is_known_to_other_routers(serve, route):
    servers = [serve() for _ in range(4)]
    rule = {'persistence': {}}
    router, other = route(document(*servers, rule=rule)), route(document(*servers[::-1], rule=rule))
    port, cookie = session(router)
    assert router.update(document(*servers[::-1], serve(), rule={**rule, 'name': 'new'})).status == 200
    for at in (router, other):
        for _ in range(8):
            assert session(at, headers={'Cookie': cookie}) == (port, None)


def test_a_server_that_drains_keeps_its_sessions(serve, route):
    servers = [serve() for _ in range(3)]
    router = route(document(*servers, rule={'persistence': {}}))
    port, cookie = session(router)
    upstreams = [{'host': '127.0.0.1', 'port': server.port, 'drain': server.port == port} for server in servers]
    changed = {**document(rule={'persistence': {}}), 'pools': [{'name': 'pool', 'upstreams': upstreams}]}
    assert router.update(changed).status == 200
    assert port not in {session(router)[0] for _ in range(12)}
    for _ in range(4):
        assert session(router, headers={'Cookie': cookie}) == (port, None)


def test_a_session_moves_when_its_server_is_gone(serve, route):
    servers = [serve() for _ in range(3)]
    router = route(document(*servers, rule={'persistence': {}}))
    port, cookie = session(router)
    kill(next(server for server in servers if server.port == port))
    moved, new = session(router, headers={'Cookie': cookie})
    assert moved != port and new != cookie
    assert session(router, headers={'Cookie': new}) == (moved, None)


def test_a_session_stays_at_its_backend(serve, route):
    servers = [serve(), serve()]
    router = route(weighted(servers, old=1, new=1))
    sessions = {session(router) for _ in range(30)}
    assert {port for port, _ in sessions} == {server.port for server in servers}
    for weights in ({'old': 1, 'new': 999}, {'old': 0, 'new': 1}):
        assert router.update(weighted(servers, **weights)).status == 200
        for port, cookie in sessions:
            for _ in range(5):
                assert session(router, headers={'Cookie': cookie}) == (port, None)
    assert {session(router)[0] for _ in range(10)} == {servers[1].port}


def test_an_upgrade_gets_its_session(serve, route):
    def tunnel(wire):
        wire.head()
        wire.send('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')

    router = route(document(serve(tunnel), rule={'persistence': {}}))
    with router.client() as client:
        client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')
        assert client.head().get('set-cookie').startswith('maglev=')
