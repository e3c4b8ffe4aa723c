# SPDX-License-Identifier: Apache-2.0
"""Every method through gRPC's own core, through maglevc and through grpc-js: the same answers."""
import json

import pytest

from lab import SPARE, VIP, Check, config, frontend, pool
from lab.api import METHODS, Refused, Status, as_json
from lab.grpc_js import GrpcJs

A, B = '10.99.0.11', '10.99.0.12'
FILE = config({'slow': Check('tcp', 1, 3600, 3600, 3600)},
              {'a': A, 'b': B, 'probed': ('10.99.0.13', 'slow'), 'spare': SPARE},
              {'www': frontend(VIP, pool('first', 'a', b=50), pool('second', 'spare'), description='für alle'),
               'udp': frontend('2001:db8::53', port=53, protocol='udp', src_ip_sticky=True)}, dataplane='vpp')
WEIGHT = {'frontend': 'www', 'pool': 'first', 'backend': 'b', 'weight': 20, 'flush': True}
# method, request, the words of maglevc
SAME = [
    ('ListFrontends', {}, 'show frontends'), ('GetFrontend', {'name': 'www'}, 'show frontends www'),
    ('ListBackends', {}, 'show backends'), ('GetBackend', {'name': 'a'}, 'show backends a'),
    ('ListHealthChecks', {}, 'show healthchecks'), ('GetHealthCheck', {'name': 'slow'}, 'show healthchecks slow'),
    ('PauseBackend', {'name': 'a', 'reason': 'why'}, 'set backend a pause reason why'),
    ('GetBackend', {'name': 'a'}, 'sh ba a'), ('GetFrontend', {'name': 'www'}, 'show frontends www'),
    ('ResumeBackend', {'name': 'a'}, 'set backend a resume'),
    ('DisableBackend', {'name': 'a'}, 'set backend a disable'), ('EnableBackend', {'name': 'a'}, 'set backend a enable'),
    ('SetFrontendPoolBackendWeight', WEIGHT, 'set frontend www pool first backend b weight 20 flush'),
    ('CheckConfig', {}, 'config check'), ('ReloadConfig', {}, 'config reload'),
    ('SyncVPPLBState', {'plan': True}, 'sync lb state plan'), ('SyncVPPLBState', {'frontend': 'www'}, 'sync lb state www'),
    ('GetVPPLBState', {}, 'show vpp lb state'),
]
REFUSED = [
    ('GetVPPInfo', {}, 'show vpp info', Status.UNAVAILABLE),
    ('GetVPPLBCounters', {}, 'show lb counters', Status.UNAVAILABLE),
    ('GetFrontend', {'name': 'x'}, 'show frontends x', Status.NOT_FOUND),
    ('GetBackend', {'name': 'x'}, 'show backends x', Status.NOT_FOUND),
    ('GetHealthCheck', {'name': 'x'}, 'show healthchecks x', Status.NOT_FOUND),
    ('GetHistory', {'frontends': ['x'], 'span': 'hour'}, 'show history frontend x', Status.NOT_FOUND),
    ('ResumeBackend', {'name': 'spare'}, 'set backend spare resume', Status.FAILED_PRECONDITION),
]


@pytest.fixture
def daemon(start_api):
    daemon = start_api(FILE)
    daemon.plane.wait_weights(VIP, {A: 100, B: 50, SPARE: 0})
    daemon.wait('lb-sync-all')
    daemon.api.call('DisableBackend', name='spare')
    return daemon


@pytest.fixture
def grpc_js(daemon):
    client = GrpcJs(daemon.api_port)
    yield client
    client.close()


def anonymous(answer):
    """Without what differs when an act is repeated: its operator, since maglevc names its user, and when a weight was set."""
    if isinstance(answer, dict):
        return {key: anonymous(value) for key, value in answer.items() if key not in ('operator', 'weight_override')}
    return [anonymous(one) for one in answer] if isinstance(answer, list) else answer


def test_every_method_is_in_the_tables():
    assert {row[0] for row in SAME + REFUSED} | {'WatchEvents', 'GetConfig', 'GetVersion', 'ActOnBackends', 'ListOverrides'} == set(METHODS)


def test_maglevc_shows_what_the_api_answers(daemon):
    """FR-7.1, NFR-5.4: -o json is the answer itself; all of it comes from the server"""
    for method, request, words in SAME:
        answer = as_json(daemon.api.call(method, **request))
        assert anonymous(daemon.maglevc.json(*words.split())) == anonymous(answer), (method, answer)
        assert daemon.maglevc.text(*words.split())


def test_maglevc_refuses_as_the_api_does(daemon):
    """FR-7.1: the server's words and 1; 2 for what is no command; 3 when nobody is there"""
    for method, request, words, status in REFUSED:
        refusal = daemon.api.refused(method, status, **request)
        daemon.maglevc.refused(1, f'maglevc: {refusal.text}\n', *words.split())
    daemon.maglevc.refused(2, 'unknown word "nonsense"', 'show', 'nonsense')
    daemon.stop()
    daemon.maglevc.refused(3, f'127.0.0.1:{daemon.api_port}', 'show', 'backends')


def test_maglevc_watches(daemon):
    """FR-7.1: JSON lines, as many as asked for, the same events"""
    watch = daemon.api.watch(backend=True, frontend=True)
    watch.wait('backend', backend='spare')
    n = len(watch.events)
    lines = daemon.maglevc.text('-ojson', 'watch', 'events', 'num', str(n), 'backend', 'frontend').splitlines()
    assert [json.loads(line) for line in lines] == [as_json(event) for event in watch.events]


def test_grpc_js_gets_the_same_answers(daemon, grpc_js):
    """FR-7.1, NFR-5.4: another implementation, that knows the API by reflection alone"""
    assert set(grpc_js.methods) == set(METHODS)
    for method, request, words in SAME:
        answer = grpc_js.order(method, request)
        assert anonymous(answer) == {'code': 'OK', 'answer': anonymous(daemon.maglevc.json(*words.split()))}, (method, answer)
    for method, request, _, status in REFUSED:
        refusal = daemon.api.refused(method, status, **request)
        assert grpc_js.order(method, request) == {'code': status.name, 'text': refusal.text}


def test_grpc_js_streams_cancels_and_keeps_its_deadlines(daemon, grpc_js):
    """FR-6.3"""
    watch = daemon.api.watch(backend=True, frontend=True)
    watch.wait('backend', backend='spare')
    events = [as_json(event) for event in watch.events]
    seen = grpc_js.order('WatchEvents', {'backend': True, 'frontend': True}, take=len(events))
    assert (seen['code'], seen['answers']) == ('CANCELLED', events)
    daemon.wait('grpc-call', method='/maglev.Maglev/WatchEvents', status='CANCELLED')
    watch.cancel()
    daemon.wait_metric('maglev_watch_subscribers', 0)
    assert grpc_js.order('WatchEvents', {}, timeout=100)['code'] == 'DEADLINE_EXCEEDED'
    daemon.wait_metric('maglev_watch_subscribers', 0)
    daemon.plane.ask('lag 0.3')
    assert grpc_js.order('SyncVPPLBState', {}, timeout=50)['code'] == 'DEADLINE_EXCEEDED'
    daemon.plane.ask('lag 0')
    assert grpc_js.order('GetBackend', {'name': 'a'})['code'] == 'OK'


# Bytes of messages that are written down elsewhere: grpc/health/v1, grpc/reflection/v1.
SERVING, LIST_SERVICES = b'\x08\x01', b'\x3a\x00'


def test_health(daemon):
    """Of the whole and of the service; NOT_FOUND for others"""
    for service in (b'', b'maglev.Maglev'):
        assert daemon.api.raw('/grpc.health.v1.Health/Check', b'\x0a' + bytes([len(service)]) + service) == SERVING
    with pytest.raises(Refused) as refused:
        daemon.api.raw('/grpc.health.v1.Health/Check', b'\x0a\x01x')
    assert refused.value.status == Status.NOT_FOUND


@pytest.mark.parametrize('version', ['v1', 'v1alpha'])
def test_reflection(daemon, version):
    call = daemon.api.channel.stream_stream(f'/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo')
    answer = next(call(iter([LIST_SERVICES]), timeout=20))
    for service in (b'maglev.Maglev', b'grpc.health.v1.Health'):
        assert service in answer


def test_reflection_can_be_turned_off(start_api):
    daemon = start_api(FILE, args=['--reflection=false'])
    with pytest.raises(Refused) as refused:
        daemon.api.raw('/grpc.reflection.v1.ServerReflection/ServerReflectionInfo', LIST_SERVICES)
    assert refused.value.status == Status.UNIMPLEMENTED
    assert daemon.api.call('ListBackends').backends
