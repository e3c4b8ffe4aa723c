# SPDX-License-Identifier: Apache-2.0
"""maglev-router and clients that want to harm it, or the servers behind it."""
import pytest


def guarded(serve, route, paths, **more):
    """A router that protects /admin: (router, the server for it, the server for all else)."""
    admin, public = serve(), serve()
    router = route({'listeners': [{'name': 'default', 'address': '127.0.0.1:0', **({'paths': paths} if paths else {})}],
                    'routes': [{'name': 'admin', 'path_prefix': '/admin', 'pool': 'admin'},
                               {'name': 'caf\u00e9', 'path_exact': '/%7euser', 'pool': 'admin'},
                               {'name': 'all', 'pool': 'public'}],
                    'pools': [{'name': 'admin', 'servers': [f'127.0.0.1:{admin.port}']},
                              {'name': 'public', 'servers': [f'127.0.0.1:{public.port}']}], **more})
    return router, admin, public


# ---- paths ----

@pytest.mark.parametrize('paths', [None, 'strict'])
def test_a_prefix_is_protected_however_its_path_is_written(serve, route, paths):
    router, admin, public = guarded(serve, route, paths)
    with router.client() as client:
        for path in ('/admin', '/a/../admin', '/./admin', '//admin', '/%61dmin', '/a/%2e%2E/admin', '/a//.././/admin/'):
            head, body = client.get(path + '?q=/../x')
            assert (head.status, int(head.get('x-port'))) == (200, admin.port), path
            got = body.decode().split()[1]
            assert got in ('/admin?q=/../x', '/admin/?q=/../x'), path
        assert client.get('/a/b%20c')[1].startswith(b'GET /a/b%20c HTTP/1.1')
        assert int(client.get('/~user')[0].get('x-port')) == admin.port
    assert len(public.requests) == 1


@pytest.mark.parametrize('path', ['/a/..%2fadmin', '/a/..\\admin', '/a/..;/admin', '/a%00', '/a%', '/%zz'])
def test_a_path_that_servers_read_differently_is_refused(serve, route, path):
    router, admin, public = guarded(serve, route, None)
    with router.client() as client:
        assert client.get(path)[0].status == 400
    assert not admin.requests and not public.requests


def test_strict_paths_refuse_more(serve, route):
    router, admin, public = guarded(serve, route, 'strict')
    for path in ('/a%2fb', '/a%5Cb', '/a\\b', '/../admin', '/a%0d%0ab', '/%c0%af'):
        with router.client() as client:
            assert client.get(path)[0].status == 400, path
    assert not admin.requests and not public.requests


def test_paths_can_be_left_as_they_are(serve, route):
    router, admin, public = guarded(serve, route, 'as-is')
    with router.client() as client:
        for path in ('/a/../admin', '//admin', '/%61dmin', '/a%2fb%zz'):
            head, body = client.get(path)
            assert body.startswith(f'GET {path} HTTP/1.1'.encode()) and int(head.get('x-port')) == public.port
        assert int(client.get('/%7euser')[0].get('x-port')) == admin.port
    assert len(admin.requests) == 1


def test_a_prefix_is_replaced_in_the_form_of_the_path(wired):
    client = wired(rule={'path_prefix': '/old', 'strip_prefix': True})
    assert client.get('/x/../%6fld/a?b')[1].startswith(b'GET /a?b HTTP/1.1')


def test_a_redirect_has_the_form_of_the_path(route):
    router = route({'routes': [{'name': 'r', 'filters': {'redirect': {'scheme': 'https'}}}], 'pools': []})
    with router.client() as client:
        assert client.get('//evil.example/..')[0].get('location').startswith('https://www.example.com')
        assert '//evil' not in client.get('//evil.example')[0].get('location')
