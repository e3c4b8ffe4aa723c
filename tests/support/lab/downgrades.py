# SPDX-License-Identifier: Apache-2.0
"""Requests of HTTP/2 that HTTP/1.1 cannot say, or says with another meaning.

A case has a name, the fields, the body (None: the head ends the stream), the verdict of maglev-router, and why. After each, the
client sends /sentinel on the same connection, or on another one if it was ended: what the server saw tells whether something else
was read out of the case."""
import contextlib
from collections import namedtuple

import h2.exceptions

from lab.http2 import Http2, Reset
from lab.wait import PATIENCE

Case = namedtuple('Case', 'name fields body trailers verdict why')

HEAD = {':method': 'GET', ':scheme': 'http', ':path': '/case', ':authority': 'a'}
SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n'


def _case(verdict):
    def make(name, why, *fields, body=None, trailers=None, **pseudo):
        head = {**HEAD, **{':' + key: value for key, value in pseudo.items()}}
        if body is not None and 'method' not in pseudo:
            head[':method'] = 'POST'
        return Case(name, [(key, value) for key, value in head.items() if value is not None] + list(fields), body, trailers, verdict, why)
    return make


refused, passed = _case('refused'), _case('passed')

CASES = [
    # lengths and codings
    refused('H2.CL', '9113 8.1.1: the length is not that of the body', ('content-length', '0'), body=SMUGGLED),
    refused('H2.CL, too long', '9113 8.1.1', ('content-length', '99'), body='ab'),
    refused('length without a body', '9113 8.1.1', ('content-length', '5')),
    refused('two lengths', '9110 8.6', ('content-length', '2'), ('content-length', '3'), body='ab'),
    refused('one length twice', '9110 8.6: may be repaired', ('content-length', '2'), ('content-length', '2'), body='ab'),
    refused('length +2', '9110 8.6', ('content-length', '+2'), body='ab'),
    refused('length 2, 2', '9110 8.6', ('content-length', '2, 2'), body='ab'),
    refused('length with CRLF', '9113 8.2.1', ('content-length', '2\r\ntransfer-encoding: chunked'), body='ab'),
    refused('H2.TE', '9113 8.2.2', ('transfer-encoding', 'chunked'), body='0\r\n\r\n' + SMUGGLED),
    refused('H2.TE of no body', '9113 8.2.2', ('transfer-encoding', 'chunked')),
    refused('identity', '9113 8.2.2', ('transfer-encoding', 'identity'), body='ab'),
    passed('a body that looks like chunks', 'it is content', body='0\r\n\r\n' + SMUGGLED),
    passed('a body that looks like chunks, with a length', 'it is content', ('content-length', str(len(SMUGGLED))), body=SMUGGLED),
    passed('GET with a body', '9110 9.3.1: the end counts', body=SMUGGLED, method='GET'),
    passed('transfer_encoding', 'CGI reads it as a coding; dropped', ('transfer_encoding', 'chunked')),
    # of a connection
    refused('connection', '9113 8.2.2', ('connection', 'close')),
    refused('connection: content-length', '9113 8.2.2', ('connection', 'content-length'), body='ab'),
    refused('keep-alive', '9113 8.2.2', ('keep-alive', '1')),
    refused('proxy-connection', '9113 8.2.2', ('proxy-connection', 'keep-alive')),
    refused('upgrade', '9113 8.2.2', ('upgrade', 'h2c')),
    refused('te: gzip', '9113 8.2.2', ('te', 'gzip')),
    refused('te: trailers, chunked', '9113 8.2.2', ('te', 'trailers, chunked')),
    passed('te: trailers', '9113 8.2.2', ('te', 'trailers')),
    # names and values
    refused('CRLF in a value', '9113 8.2.1', ('x', 'a\r\nx-smuggled: yes')),
    refused('LF in a value', '9113 8.2.1', ('x', 'a\nx-smuggled: yes')),
    refused('CR in a value', '9113 8.2.1', ('x', 'a\rb')),
    refused('NUL in a value', '9113 8.2.1', ('x', 'a\0b')),
    refused('a request in a value', '9113 8.2.1', ('x', 'a\r\n\r\n' + SMUGGLED)),
    refused('CRLF in a name', '9113 8.2.1', ('x\r\nx-smuggled', 'yes')),
    refused('colon in a name', '9113 8.2.1', ('x: y\r\nz', 'yes')),
    refused('transfer-encoding: chunked as a name', '9113 8.2.1', ('transfer-encoding: chunked', 'x')),
    refused('space in a name', '9113 8.2.1', ('x y', 'z')),
    refused('name in upper case', '9113 8.2.1', ('X-Upper', 'z')),
    refused('Transfer-Encoding in upper case', '9113 8.2.1', ('Transfer-Encoding', 'chunked'), body='0\r\n\r\n'),
    refused('empty name', '9113 8.2.1', ('', 'z')),
    refused('space before a value', '9113 8.2.1', ('x', ' z')),
    refused('space after a value', '9113 8.2.1', ('x', 'z ')),
    passed('crumbs of a cookie', '9113 8.2.3: joined', ('cookie', 'a=1'), ('cookie', 'b=2')),
    # the target
    refused('absolute path', '9113 8.3.1', path='http://b/case'),
    refused('path without a slash', '9113 8.3.1', path='case'),
    refused('empty path', '9113 8.3.1', path=''),
    refused('path with a space', '9112 3.2', path='/case HTTP/1.1\tx'),
    refused('path with a request', '9113 8.2.1', path='/case HTTP/1.1\r\nHost: a\r\n\r\nGET /smuggled'),
    refused('path with a fragment', '9112 3.2.1', path='/case#x'),
    refused('path above ASCII', '3986 2', path='/case\xe9'),
    refused('* of GET', '9112 3.2.4', path='*'),
    refused('method with a space', '9110 9.1', method='GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\nGET'),
    refused('empty method', '9110 9.1', method=''),
    refused('no method', '9113 8.3.1', method=None),
    refused('no path', '9113 8.3.1', path=None),
    refused('no scheme', '9113 8.3.1', scheme=None),
    refused('scheme with a host', '9113 8.3.1', scheme='http://b/x?'),
    refused('scheme ftp', '9113 8.3.1', scheme='ftp'),
    refused('two methods', '9113 8.3', (':method', 'POST')),
    refused('two paths', '9113 8.3', (':path', '/smuggled')),
    refused('unknown pseudo field', '9113 8.3', (':smuggled', 'x')),
    refused('pseudo field after another one', '9113 8.3', ('x', 'y'), (':path', '/smuggled'), path=None),
    refused(':status', '9113 8.3', (':status', '200')),
    refused('CONNECT', 'no tunnels', method='CONNECT', scheme=None, path=None, authority='a:80'),
    refused('CONNECT with a path', '9113 8.5', method='CONNECT'),
    refused(':protocol without CONNECT', '8441 4', (':protocol', 'websocket')),
    # the host
    refused('no host', '9113 8.3.1', authority=None),
    refused('two hosts', '9112 3.2', ('host', 'a'), ('host', 'b'), authority=None),
    refused('another host', '9113 8.3.1', ('host', 'b')),
    refused('host with user', '9113 8.3.1', authority='u@a'),
    refused('host with CRLF', '9113 8.2.1', authority='a\r\nx-smuggled: yes'),
    refused('host with a path', '3986 3.2', authority='a/b'),
    refused('host with a space', '3986 3.2', authority='a b'),
    refused('empty host', '9113 8.3.1', authority=''),
    passed('host alone', '9113 8.3.1', ('host', 'a'), authority=None),
    passed('the same host twice', '9113 8.3.1', ('host', 'A')),
    # trailers
    refused('length as trailer', '9110 6.5.1', body='ab', trailers=[('content-length', '0')]),
    refused('coding as trailer', '9113 8.2.2', body='ab', trailers=[('transfer-encoding', 'chunked')]),
    refused('host as trailer', '9110 6.5.1', body='ab', trailers=[('host', 'b')]),
    refused('pseudo field as trailer', '9113 8.1', body='ab', trailers=[(':path', '/smuggled')]),
    refused('CRLF in a trailer', '9113 8.2.1', body='ab', trailers=[('x', 'a\r\n\r\n' + SMUGGLED)]),
    passed('a trailer', '9113 8.1', body='ab', trailers=[('x-sum', '1')]),
]


def _send(client, case):
    """Without the rules of the library; returns what came back."""
    def raw(fields):
        return [(name.encode('latin-1'), value.encode('latin-1')) for name, value in fields]

    stream = client.begin(raw=raw(case.fields), end=case.body is None)
    if case.body is not None:
        if case.body:
            client.h2.send_data(stream, case.body.encode('latin-1'))
        client.end(stream, case.trailers and raw(case.trailers))
    return client.whole(stream)


def tell(port, case, recorder, patience=PATIENCE):
    """What became of a case: refused, passed, two (requests were seen instead of one), changed, or waits."""
    recorder.clear()
    client = Http2(port, checked=False)
    client.sock.settimeout(patience)
    waits = False
    with client:
        try:
            _send(client, case)
        except (Reset, EOFError, ConnectionError):
            pass
        except TimeoutError:
            waits = True
        with contextlib.suppress(EOFError, ConnectionError, Reset, h2.exceptions.ProtocolError, TimeoutError):
            client.get('/sentinel', host='a')
    if '/sentinel' not in recorder.targets:
        with Http2(port) as again:
            again.get('/sentinel', host='a')
    seen = [target for target in recorder.targets if target != '/sentinel']
    smuggled = any(b'x-smuggled' in raw.lower().split(b'\r\n\r\n')[0] for raw in recorder.raw.values())
    if not seen:
        return 'waits' if waits else 'refused'
    if seen == ['/case'] and not smuggled:
        return 'passed'
    return 'two' if len(seen) > 1 else 'changed'
