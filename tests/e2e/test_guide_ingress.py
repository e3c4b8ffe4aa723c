# SPDX-License-Identifier: Apache-2.0
"""docs/guide/from-nginx-ingress.md as it stands, on a real API server with maglev-gateway and maglev-router: the routes do what the annotations of the Ingresses say."""
import collections
import contextlib
import json

import pytest

from lab.gateway import World
from lab.guide import blocks

PAGE, HOST = 'from-nginx-ingress.md', 'shop.example.com'


@pytest.fixture
def shop(kube, folders, running):
    """A cluster with the Services of the page, a router and the gateway."""
    it = World(kube, folders, running).install(channel='experimental')
    kube.do('POST', '/api/v1/namespaces', {'metadata': {'name': 'shop'}})
    for name, servers in {'api': ['api'], 'site': ['site-1', 'site-2'], 'site-new': ['new']}.items():
        it.service('shop', name, *(it.backend(server) for server in servers))
    it.gateway(it.router())
    yield it
    it.close()


def ask(shop, address, path='/', method='GET', **headers):
    """(status, name of the server, path that it saw, headers of the answer)"""
    with contextlib.closing(shop.connect(address)) as connection:
        connection.request(method, path, headers={'Host': HOST, **{key.replace('_', '-'): value for key, value in headers.items()}})
        answer = connection.getresponse()
        body = answer.read()
        return answer.status, answer.headers.get('x-name'), body and json.loads(body)['path'], answer.headers


def test_the_routes_do_what_the_annotations_say(shop, kube, desk):
    home = desk(kube.netns, env={'KUBECONFIG': kube.kubeconfig()})
    ingresses, objects, redirect = blocks(PAGE, ('yaml',)).values()
    for name, text in {'ingress.yaml': ingresses, 'shop-gateway.yaml': objects, 'redirect.yaml': redirect}.items():
        home.put(name, text)
    home.say('kubectl apply -f ingress.yaml && kubectl apply --dry-run=server -f redirect.yaml')
    address = home.run('from-nginx-ingress.md#a-way-over-without-loss').splitlines()[-1]
    shop.reaches(address, HOST, 'api', path='/api/')
    shop.reaches(address, HOST, 200)  # the other route
    said = home.run('from-nginx-ingress.md#a-way-over-without-loss/2', words={'ADDRESS': address})
    assert '"path": "/users"' in said and '"name": "new"' in said and 'shop/api' in said, said
    assert ask(shop, address, '/api/users?a=b')[:3] == (200, 'api', '/users?a=b'), 'the rewrite'
    assert ask(shop, address, '/apis')[1] != 'api', 'whole segments'
    shares = collections.Counter(ask(shop, address)[1] for _ in range(200))
    assert set(shares) == {'site-1', 'site-2', 'new'} and 5 <= shares['new'] <= 40, f'the canary: {shares}'
    assert {ask(shop, address, X_Canary='always')[1] for _ in range(5)} == {'new'}
    assert 'new' not in {ask(shop, address, X_Canary='never')[1] for _ in range(30)}
    _, first, _, headers = ask(shop, address)
    cookie = headers['Set-Cookie'].split(';')[0]
    assert cookie.startswith('SHOP=') and {ask(shop, address, Cookie=cookie)[1] for _ in range(8)} == {first}, 'the session'
    preflight = ask(shop, address, '/api/', 'OPTIONS', Origin='https://www.example.org', Access_Control_Request_Method='POST')[3]
    assert preflight['Access-Control-Allow-Origin'] == 'https://www.example.org' and preflight['Access-Control-Max-Age'] == '600' and \
        preflight['Access-Control-Allow-Credentials'] == 'true'
    assert 'Access-Control-Allow-Origin' not in ask(shop, address, '/api/', Origin='https://evil.example')[3]
    assert '30s' in json.dumps(kube.do('GET', '/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/api')['spec'])
