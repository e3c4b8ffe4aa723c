# SPDX-License-Identifier: Apache-2.0
"""grpcurl, a tool that knows nothing of the API but what reflection tells, over plaintext and over TLS."""
import json

import pytest

from lab import VIP, config, frontend, pool, until
from lab.api import METHODS
from lab.grpcurl import Grpcurl

A = '10.99.0.11'
FILE = config(backends={'a': A}, frontends={'www': frontend(VIP, pool('all', 'a'))}, dataplane='vpp')


@pytest.fixture(params=['plaintext', 'tls', 'mutual tls'])
def reached(request, start_api, authority):
    """A maglevd, and grpcurl as it gets there."""
    server, client = ['--grpc-tls-cert', authority.good[0], '--grpc-tls-key', authority.good[1]], authority.good
    flags = {'plaintext': ([], ['-plaintext']),
             'tls': (server, ['-cacert', authority.ca, '-authority', authority.name]),
             'mutual tls': ([*server, '--grpc-client-ca', authority.ca],
                            ['-cacert', authority.ca, '-authority', authority.name, '-cert', client[0], '-key', client[1]])}
    ours, theirs = flags[request.param]
    daemon = start_api(FILE, args=ours)
    daemon.plane.wait_weights(VIP, {A: 100})
    return daemon, Grpcurl(daemon.api_port, *theirs)


def test_list_describe_and_call(reached):
    """FR-7.1, NFR-5.4: services, methods, messages; then a read, a change, a refusal and a stream"""
    daemon, grpcurl = reached
    assert set(grpcurl.text('list').split()) >= {'maglev.Maglev', 'grpc.health.v1.Health'}
    assert set(grpcurl.text('list', 'maglev.Maglev').split()) == {f'maglev.Maglev.{name}' for name in METHODS}
    described = grpcurl.text('describe', 'maglev.Maglev')
    assert 'rpc PauseBackend ( .maglev.BackendRequest ) returns ( .maglev.BackendInfo );' in described
    assert 'returns ( stream .maglev.Event )' in described
    assert 'string name = 1;' in grpcurl.text('describe', '.maglev.GetBackendRequest')

    ask = {'data': '{"name": "a"}'}
    assert json.loads(grpcurl.text('maglev.Maglev/GetBackend', **ask))['state'] == 'up'
    assert json.loads(grpcurl.text('maglev.Maglev/PauseBackend', **ask))['state'] == 'paused'
    daemon.wait_state('a', 'paused')
    refused = grpcurl.run('maglev.Maglev/GetBackend', data='{"name": "nobody"}')
    assert refused.returncode == 64 + 5 and 'Code: NotFound' in refused.stderr
    assert 'no backend is called "nobody"' in refused.stderr
    assert json.loads(grpcurl.text('grpc.health.v1.Health/Check'))['status'] == 'SERVING'

    grpcurl.command += ['-max-time', '1']
    # on a busy machine the time may be over before there is a connection
    watched = until(lambda: (done := grpcurl.run('maglev.Maglev/WatchEvents', data='{"backend": true}')).stdout and done, what='an event')
    assert 'Code: DeadlineExceeded' in watched.stderr
    assert json.loads(watched.stdout)['backend']['to'] == 'paused'
