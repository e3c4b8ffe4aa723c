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
