# SPDX-License-Identifier: Apache-2.0
"""maglevc and a maglev-router: what is shown, explained, watched, completed and rolled back."""
import json
import signal
import subprocess

import pytest

from lab import PATIENCE, program, until
from lab.router import document
from lab.router_api import RouterMaglevc


def rows(text):
    return [line.split() for line in text.splitlines()]


@pytest.fixture
def router(serve, route):
    server = serve()
    doc = document(server)
    doc['routes'].insert(0, {'name': 'api', 'host': 'api.example', 'matches': [
        {'path': {'value': '/v1'}, 'method': 'POST'}, {'path': {'value': '/v1'}, 'headers': [{'name': 'x-a', 'value': '1'}]}],
        'pool': 'pool'})
    it = route(doc)
    it.server, it.maglevc = server, RouterMaglevc(it.port_of('grpc'))
    return it


def test_it_shows_the_router_with_routes_and_pools(router):
    until(lambda: router.request().status == 200 and router.maglevc.json('show', 'routes', 'all')['traffic']['rate'] > 0,
          what='a rate')
    shown = rows(router.maglevc.text('show', 'routes'))
    assert shown[0] == ['NAME', 'HOSTS', 'RULES', 'TO', 'RATE/S', 'ERRORS', 'P50', 'P99', 'REQUESTS']
    assert shown[1][:6] == ['all', '*', '1', 'pool', shown[1][4], '0%'] and float(shown[1][4]) > 0 and int(shown[1][8]) > 0
    assert shown[2] == ['api', 'api.example', '1', 'pool', '0.0', '0%', '-', '-', '0']
    text = router.maglevc.text('sh', 'routes', 'api').splitlines()
    assert 'hosts      api.example' in text and '  match  POST prefix /v1' in text and '    or   prefix /v1, header x-a: 1' in text
    shown = rows(router.maglevc.text('show', 'pools'))
    assert shown[1][:5] == ['pool', 'round_robin', '1', 'of', '1'] and shown[1][-2:] == ['all,', 'api']
    shown = rows(router.maglevc.text('show', 'pools', 'pool'))
    assert shown[-1][:2] + shown[-1][3:5] == [f'127.0.0.1:{router.server.port}', 'up', '1', '100%']
    assert rows(router.maglevc.text('show', 'listeners'))[1] == ['default', '127.0.0.1:0', 'http', '*', '2', '0']
    text = router.maglevc.text('show', 'router')
    for line in ('generation  1', 'source      file', 'routes      2', 'draining    no'):
        assert line in text.splitlines(), text
    assert router.maglevc.json('show', 'router')['generation'] == '1'


def test_it_shows_streams(serve, route):
    doc = document(serve(), listeners=[{'name': 'db', 'address': '127.0.0.1:0', 'protocol': 'tcp'}],
                   streams=[{'name': 'db', 'listeners': ['db'], 'backends': [{'pool': 'pool', 'weight': 3}, {'invalid': True, 'weight': 0}]}])
    doc.pop('routes')
    router = route(doc)
    maglevc = RouterMaglevc(router.port_of('grpc'))
    with router.client('db') as client:
        client.get()
        until(lambda: maglevc.json('show', 'streams')['streams'][0]['sent'] != '0')
        assert rows(maglevc.text('show', 'streams'))[1][:9] == ['db', 'db', '*', 'pool', '100%,', '(invalid)', '0%', '1', '1']
    assert rows(maglevc.text('show', 'listeners'))[1] == ['db', '127.0.0.1:0', 'tcp', '*', '0', '1']
    assert maglevc.json('show', 'pools', 'pool')['routes'] == ['db']


def test_it_explains_the_way_of_a_request(router):
    text = router.maglevc.text('show', 'route-for', 'GET', 'api.example', '/v1/x').splitlines()
    assert text[0] == 'summary   to pool pool' and 'route     all' in text
    assert [line.split(None, 2)[0] for line in text if 'is not' in line or 'gets the' in line] == ['api', 'all']
    text = router.maglevc.text('show', 'route-for', 'GET', 'api.example', '/v1/x', 'header', 'X-A: 1')
    assert 'route     api\n' in text
    it = router.maglevc.json('show', 'route-for', 'POST', 'api.example', '/v1', 'listener', 'default')
    assert it['route'] == 'api' and it['match'] == 'POST prefix /v1'
    router.maglevc.refused(1, 'path: it has to begin', 'show', 'route-for', 'GET', 'a', 'v1')
    router.maglevc.refused(1, 'there is none of that name', 'show', 'route-for', 'GET', 'a', '/', 'listener', 'x')


def test_it_rolls_back_and_shows_what_changed(router):
    router.update(document(router.server))
    shown = rows(router.maglevc.text('show', 'generations'))
    assert shown[0][0] == 'NUMBER' and shown[1][0] == '2' and shown[1][-3:] == ['0', 'in', 'force']
    assert rows(router.maglevc.text('show', 'generations', '2'))[:2] == \
        [['generation', '2,', 'compared', 'with', '1'], ['-', 'route', 'api']]
    assert router.maglevc.text('rollback', 'router').endswith(': generation 3 is in force\n')
    assert router.maglevc.json('show', 'routes', 'api')['name'] == 'api'
    assert 'generation 4 is in' in router.maglevc.text('rollback', 'router', 'to', '2')
    router.maglevc.refused(1, 'no route is called "api"', 'show', 'routes', 'api')
    router.maglevc.refused(1, '', 'rollback', 'router', 'to', '99')
    assert len(router.maglevc.json('show', 'generations')['generations']) == 4


def test_mistakes_have_their_exit_codes(router):
    router.maglevc.refused(1, 'no pool is called "x"', 'show', 'pools', 'x')
    router.maglevc.refused(2, 'possible: <method>', 'show', 'route-for')
    router.maglevc.refused(2, 'expected a number', 'show', 'generations', 'x')
    RouterMaglevc(9, '--timeout', '2s').refused(3, '127.0.0.1:9', 'show', 'router')
    router.maglevc.refused(3, '127.0.0.1:1', 'show', 'backends')  # the other server


def test_a_watch_shows_states_then_changes(router):
    watch = subprocess.Popen([*router.maglevc.command, '-o', 'json', 'watch', 'router', 'rates'], stdout=subprocess.PIPE, text=True)
    try:
        first = [json.loads(watch.stdout.readline()) for _ in range(5)]
        assert [next(key for key in line if key not in ('seq', 'at', 'replay')) for line in first] == \
            ['router', 'listener', 'route', 'route', 'pool']
        router.request()
        line = json.loads(watch.stdout.readline())
        while 'pool' not in line or line['pool']['traffic']['requests'] == '0':
            line = json.loads(watch.stdout.readline())
        assert not line['replay'] and line['pool']['servers'][0]['traffic']['requests'] == '1'
        watch.send_signal(signal.SIGINT)
        watch.stdout.read()
        assert watch.wait(PATIENCE) == 0
    finally:
        watch.kill()
        watch.wait()
    lines = router.maglevc.text('watch', 'router', 'num', '3').splitlines()
    assert [line.split()[1] for line in lines] == ['router', 'listener', 'route']


def test_names_are_completed(router):
    def complete(line):
        done = subprocess.run([program('maglevc'), '__complete', f'maglevc --router 127.0.0.1:{router.port_of("grpc")} {line}'],
                              capture_output=True, text=True, timeout=PATIENCE)
        return [word.split('\t')[0] for word in done.stdout.splitlines()]

    assert complete('show routes ') == ['all', 'api', 'name']
    assert complete('show routes ap') == ['api']
    assert complete('show pools ') == ['pool', 'name']
    assert complete('show ro') == ['router', 'routes', 'route-for']
    assert complete('rollback router ') == ['to']
