# SPDX-License-Identifier: Apache-2.0
"""Messages that two readers could understand differently: what a client sends, and what a server answers.

A case has a name, the bytes, the verdict of maglev-router, and why. After each, the client sends /sentinel: what the servers
saw tells whether something else was read out of the case."""
import contextlib
import itertools
import socket
from collections import namedtuple

from lab.router import Wire
from lab.wait import PATIENCE

Case = namedtuple('Case', 'name data verdict why')

SMUGGLED = b'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n'
PLAIN = 'GET /case HTTP/1.1\r\nHost: a\r\n'
POST = 'POST /case HTTP/1.1\r\nHost: a\r\n'
CHUNKED = POST + 'Transfer-Encoding: chunked\r\n\r\n'


def case(name, text, verdict, why):
    return Case(name, text if isinstance(text, bytes) else text.encode('latin-1'), verdict, why)


def refused(name, text, why):
    return case(name, text, 'refused', why)


def passed(name, text, why):
    return case(name, text, 'passed', why)


def framed(name, fields, body, why, start=POST):
    return refused(name, start + fields + '\r\n' + body + SMUGGLED.decode(), why)


REQUESTS = [
    # lengths
    framed('CL.TE', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n', '9112 6.1'),
    framed('TE.CL', 'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', '0\r\n\r\n', '9112 6.1'),
    framed('CL.TE with 0', 'Content-Length: 0\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n', '9112 6.1'),
    framed('two lengths', 'Content-Length: 0\r\nContent-Length: 35\r\n', '', '9112 6.3'),
    framed('two lengths, reversed', 'Content-Length: 35\r\nContent-Length: 0\r\n', '', '9112 6.3'),
    refused('one length twice', POST + 'Content-Length: 2\r\nContent-Length: 2\r\n\r\nab', '9112 6.3: may be repaired'),
    framed('list of lengths', 'Content-Length: 0, 35\r\n', '', '9112 6.3'),
    refused('list of one length', POST + 'Content-Length: 2, 2\r\n\r\nab', '9112 6.3: may be repaired'),
    framed('length +0', 'Content-Length: +0\r\n', '', '9110 8.6'),
    framed('length -0', 'Content-Length: -0\r\n', '', '9110 8.6'),
    framed('length 0x0', 'Content-Length: 0x0\r\n', '', '9110 8.6'),
    framed('length 0.0', 'Content-Length: 0.0\r\n', '', '9110 8.6'),
    framed('length 0 0', 'Content-Length: 0 0\r\n', '', '9110 8.6'),
    framed('length 0;', 'Content-Length: 0;\r\n', '', '9110 8.6'),
    framed('empty length', 'Content-Length:\r\n', '', '9110 8.6'),
    framed('length above 2^64', 'Content-Length: 18446744073709551616\r\n', '', '9110 8.6'),
    framed('length above 2^63', 'Content-Length: 9223372036854775808\r\n', '', '9110 8.6'),
    framed('length in quotes', 'Content-Length: "0"\r\n', '', '9110 8.6'),
    passed('length with zeros', POST + 'Content-Length: 0002\r\n\r\nab', '9110 8.6: 1*DIGIT'),
    passed('length 0', POST + 'Content-Length: 0\r\n\r\n', '9110 8.6'),
    passed('GET with a body', PLAIN + 'Content-Length: 35\r\n\r\n' + SMUGGLED.decode(), '9110 9.3.1: the length counts'),
    passed('Connection: content-length', POST + 'Connection: content-length\r\nContent-Length: 35\r\n\r\n' + SMUGGLED.decode(),
           '9110 7.6.1: no option; the length stays'),
    passed('Content_Length', PLAIN + 'Content_Length: 35\r\n\r\n', 'CGI reads it as a length; dropped'),
    # transfer codings
    framed('chunked twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n', '9112 6.1'),
    framed('chunked, chunked', 'Transfer-Encoding: chunked, chunked\r\n', '0\r\n\r\n', '9112 6.1'),
    framed('chunked, identity', 'Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n', '9112 6.3'),
    framed('identity', 'Transfer-Encoding: identity\r\nContent-Length: 0\r\n', '', '9112 6.1'),
    framed('gzip, chunked', 'Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n', '9112 6.1: 501 or 400'),
    framed('xchunked', 'Transfer-Encoding: xchunked\r\n', '0\r\n\r\n', '9112 6.1'),
    framed('chunked;q=1', 'Transfer-Encoding: chunked;q=1\r\n', '0\r\n\r\n', '9112 7'),
    framed('"chunked"', 'Transfer-Encoding: "chunked"\r\n', '0\r\n\r\n', '9112 7'),
    framed('empty coding', 'Transfer-Encoding:\r\n', '0\r\n\r\n', '9112 6.1'),
    framed('coding after VT', 'Transfer-Encoding:\x0bchunked\r\n', '0\r\n\r\n', '9110 5.5'),
    framed('coding before NUL', 'Transfer-Encoding: chunked\x00\r\n', '0\r\n\r\n', '9110 5.5'),
    framed('coding of HTTP/1.0', 'Transfer-Encoding: chunked\r\n', '0\r\n\r\n', '9112 6.1',
           start='POST /case HTTP/1.0\r\nHost: a\r\n'),
    framed('space before the colon of a coding', 'Transfer-Encoding : chunked\r\n', '0\r\n\r\n', '9112 5.1'),
    framed('tab before the colon of a length', 'Content-Length\t: 0\r\n', '', '9112 5.1'),
    framed('folded coding', 'Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n', '9112 5.2'),
    framed('coding in a folded line', 'X: y\r\n Transfer-Encoding: chunked\r\n', '0\r\n\r\n', '9112 5.2'),
    framed('coding after a bare CR', 'X: y\rTransfer-Encoding: chunked\r\n', '0\r\n\r\n', '9112 2.2'),
    framed('coding after a bare LF', 'X: y\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n', '9112 2.2: may be a line end'),
    passed('Chunked', POST + 'Transfer-Encoding: CHUNKED \t\r\n\r\n2\r\nab\r\n0\r\n\r\n', '9112 7: no case'),
    passed('Connection: transfer-encoding', POST + 'Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n\r\n'
           '2\r\nab\r\n0\r\n\r\n', '9110 7.6.1: of this connection'),
    passed('Transfer_Encoding', PLAIN + 'Transfer_Encoding: chunked\r\n\r\n', 'CGI reads it as a coding; dropped'),
    # chunks
    refused('size 0x2', CHUNKED + '0x2\r\nab\r\n0\r\n\r\n', '9112 7.1'),
    refused('size +2', CHUNKED + '+2\r\nab\r\n0\r\n\r\n', '9112 7.1'),
    refused('size -1', CHUNKED + '-1\r\nab\r\n0\r\n\r\n', '9112 7.1'),
    refused('size above 2^64', CHUNKED + '10000000000000002\r\nab\r\n0\r\n\r\n', '9112 7.1: overflow'),
    refused('blank before a size', CHUNKED + ' 2\r\nab\r\n0\r\n\r\n', '9112 7.1'),
    refused('blank after a size', CHUNKED + '2 \r\nab\r\n0\r\n\r\n', '9112 7.1'),
    refused('no size', CHUNKED + '\r\nab\r\n0\r\n\r\n', '9112 7.1'),
    refused('size ends with LF', CHUNKED + '2\nab\r\n0\r\n\r\n', '9112 7.1'),
    refused('size ends with CR', CHUNKED + '2\rab\r\n0\r\n\r\n', '9112 7.1'),
    refused('chunk ends with LF', CHUNKED + '2\r\nab\n0\r\n\r\n', '9112 7.1'),
    refused('chunk with no end', CHUNKED + '2\r\nab0\r\n\r\n', '9112 7.1'),
    refused('chunk is longer than its size', CHUNKED + '2\r\nabc\r\n0\r\n\r\n', '9112 7.1'),
    refused('LF in an extension', CHUNKED + '2;x\nab\r\n0\r\n\r\n', '9112 7.1.1'),
    refused('CR in an extension', CHUNKED + '2;x\rab\r\n0\r\n\r\n', '9112 7.1.1'),
    refused('NUL in an extension', CHUNKED + '2;\x00\r\nab\r\n0\r\n\r\n', '9112 7.1.1'),
    refused('the last line ends with LF', CHUNKED + '2\r\nab\r\n0\r\n\n' + SMUGGLED.decode(), '9112 7.1'),
    refused('long extension', CHUNKED + '2;' + 'x' * 5000 + '\r\nab\r\n0\r\n\r\n', '9112 7.1.1: bounded'),
    refused('length as trailer', CHUNKED + '2\r\nab\r\n0\r\nContent-Length: 35\r\n\r\n', '9110 6.5.1'),
    refused('coding as trailer', CHUNKED + '2\r\nab\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n', '9110 6.5.1'),
    refused('Host as trailer', CHUNKED + '2\r\nab\r\n0\r\nHost: b\r\n\r\n', '9110 6.5.1'),
    refused('folded trailer', CHUNKED + '2\r\nab\r\n0\r\nX: y\r\n z\r\n\r\n', '9112 7.1.2'),
    refused('trailer with no colon', CHUNKED + '2\r\nab\r\n0\r\nGET /smuggled HTTP/1.1\r\n\r\n', '9112 7.1.2'),
    passed('extension', CHUNKED + '2;a=b;c="d"\r\nab\r\n0\r\n\r\n', '9112 7.1.1'),
    passed('size with zeros', CHUNKED + '0000000000002\r\nab\r\n000\r\n\r\n', '9112 7.1'),
    passed('size in capitals', CHUNKED + 'A\r\n0123456789\r\n0\r\n\r\n', '9112 7.1'),
    passed('trailer', CHUNKED + '2\r\nab\r\n0\r\nX-Sum: 1\r\n\r\n', '9112 7.1.2'),
    passed('request in a chunk', CHUNKED + '23\r\n' + SMUGGLED.decode() + '\r\n0\r\n\r\n', '9112 7.1'),
    # lines
    refused('lines end with LF', 'GET /case HTTP/1.1\nHost: a\n\n', '9112 2.2: may be a line end'),
    refused('the last line ends with LF in a head', 'GET /case HTTP/1.1\r\nHost: a\r\n\n' + SMUGGLED.decode(), '9112 2.2'),
    refused('bare CR in a value', PLAIN + 'X: a\rb\r\n\r\n', '9112 2.2'),
    refused('CR CR LF', 'GET /case HTTP/1.1\r\nHost: a\r\r\n\r\n', '9112 2.2'),
    refused('NUL in a value', PLAIN + 'X: a\x00b\r\n\r\n', '9110 5.5'),
    refused('NUL in a name', PLAIN + 'X\x00: a\r\n\r\n', '9110 5.1'),
    refused('DEL in a value', PLAIN + 'X: a\x7fb\r\n\r\n', '9110 5.5'),
    refused('obs-fold', PLAIN + 'X: a\r\n b\r\n\r\n', '9112 5.2'),
    refused('obs-fold with a tab', PLAIN + 'X: a\r\n\tb\r\n\r\n', '9112 5.2'),
    refused('blank before the first field', 'GET /case HTTP/1.1\r\n Host: a\r\nHost: a\r\n\r\n', '9112 2.2'),
    refused('space before a colon', PLAIN + 'X : a\r\n\r\n', '9112 5.1'),
    refused('space in a name', PLAIN + 'X Y: a\r\n\r\n', '9110 5.1'),
    refused('no name', PLAIN + ': a\r\n\r\n', '9110 5.1'),
    refused('no colon', PLAIN + 'X\r\n\r\n', '9112 5'),
    refused('separator in a name', PLAIN + 'X(Y): a\r\n\r\n', '9110 5.1'),
    refused('Latin-1 in a name', PLAIN + 'X\xe9: a\r\n\r\n', '9110 5.1'),
    passed('empty line before the request', '\r\n' + PLAIN + '\r\n', '9112 2.2'),
    passed('Latin-1 in a value', PLAIN + 'X: \xe9\r\n\r\n', '9110 5.5: obs-text'),
    passed('empty value', PLAIN + 'X:\r\nY: \t\r\n\r\n', '9110 5.5'),
    # request lines
    refused('HTTP/0.9', 'GET /case\r\n' + SMUGGLED.decode(), '9112 3'),
    refused('HTTP/1.2', 'GET /case HTTP/1.2\r\nHost: a\r\n\r\n', '9112 2.3: unknown framing'),
    refused('HTTP/2.0', 'GET /case HTTP/2.0\r\nHost: a\r\n\r\n', '9112 2.3'),
    refused('http/1.1', 'GET /case http/1.1\r\nHost: a\r\n\r\n', '9112 2.3: has case'),
    refused('HTTP/1.10', 'GET /case HTTP/1.10\r\nHost: a\r\n\r\n', '9112 2.3'),
    refused('two blanks', 'GET  /case HTTP/1.1\r\nHost: a\r\n\r\n', '9112 3'),
    refused('tab between', 'GET\t/case HTTP/1.1\r\nHost: a\r\n\r\n', '9112 3'),
    refused('blank at the end', 'GET /case HTTP/1.1 \r\nHost: a\r\n\r\n', '9112 3'),
    refused('blank in the target', 'GET /case HTTP/1.1 HTTP/1.1\r\nHost: a\r\n\r\n', '9112 3.2'),
    refused('CR in the target', 'GET /case\r HTTP/1.1\r\nHost: a\r\n\r\n', '9112 3.2'),
    refused('Latin-1 in the target', 'GET /case\xe9 HTTP/1.1\r\nHost: a\r\n\r\n', '9112 3.2'),
    refused('fragment', 'GET /case#x HTTP/1.1\r\nHost: a\r\n\r\n', '9112 3.2'),
    refused('target with no slash', 'GET case HTTP/1.1\r\nHost: a\r\n\r\n', '9112 3.2'),
    refused('separator in the method', 'GE(T /case HTTP/1.1\r\nHost: a\r\n\r\n', '9110 9.1'),
    refused('CONNECT', 'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n' + SMUGGLED.decode(), '9110 9.3.6: 405'),
    passed('absolute target', 'GET http://b/case HTTP/1.1\r\nHost: b\r\n\r\n', '9112 3.2.2'),
    passed('absolute target, other Host', 'GET http://b/case HTTP/1.1\r\nHost: a\r\n\r\n', '9112 3.2.2: Host is replaced'),
    # hosts
    refused('two hosts', PLAIN + 'Host: b\r\n\r\n', '9112 3.2'),
    refused('one host twice', PLAIN + 'Host: a\r\n\r\n', '9112 3.2'),
    refused('no host', 'GET /case HTTP/1.1\r\n\r\n', '9112 3.2'),
    refused('blank in the host', 'GET /case HTTP/1.1\r\nHost: a b\r\n\r\n', '9112 3.2'),
    refused('path in the host', 'GET /case HTTP/1.1\r\nHost: a/b\r\n\r\n', '9112 3.2'),
    refused('user in the host', 'GET /case HTTP/1.1\r\nHost: b@a\r\n\r\n', '9110 7.2'),
    refused('list of hosts', 'GET /case HTTP/1.1\r\nHost: a,b\r\n\r\n', '9110 7.2'),
    refused('port with letters', 'GET /case HTTP/1.1\r\nHost: a:80x\r\n\r\n', '9110 7.2'),
    refused('user in an absolute target', 'GET http://b@a/case HTTP/1.1\r\nHost: a\r\n\r\n', '9110 4.2.4'),
    passed('Connection: host', PLAIN + 'Connection: host\r\n\r\n', '9110 7.6.1: no option; Host stays'),
    # upgrades
    passed('Upgrade: h2c', PLAIN + 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n',
           '9110 7.8: not passed on'),
    passed('Upgrade: websocket, h2c', PLAIN + 'Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n',
           '9110 7.8: not passed on'),
    passed('upgrade with a body', POST + 'Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 35\r\n\r\n'
           + SMUGGLED.decode(), '9110 7.8: not passed on'),
    # sizes
    refused('101 fields', PLAIN + 'X: a\r\n' * 100 + '\r\n', '6585 5: 431'),
    refused('large head', PLAIN + 'X: ' + 'a' * 20000 + '\r\n\r\n', '6585 5: 431'),
]

OK = 'HTTP/1.1 200 OK\r\n'
FALSE = 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled'

# verdicts: passed, with the body 'case'; 502; cut: the client's connection ends without the end of the answer
RESPONSES = [
    case('two answers', OK + 'Content-Length: 4\r\n\r\ncase' + FALSE, 'passed', '9112 9.2: the rest is dropped'),
    case('more than the length', OK + 'Content-Length: 4\r\n\r\ncasemore', 'passed', '9112 6.3: the rest is dropped'),
    case('two lengths', OK + 'Content-Length: 4\r\nContent-Length: 49\r\n\r\ncase' + FALSE, '502', '9112 6.3'),
    case('list of lengths', OK + 'Content-Length: 4, 49\r\n\r\ncase' + FALSE, '502', '9112 6.3'),
    case('one length twice', OK + 'Content-Length: 4\r\nContent-Length: 4\r\n\r\ncase', 'passed', '9112 6.3: repaired'),
    case('list of one length', OK + 'Content-Length: 4, 4\r\n\r\ncase', '502', '9112 6.3: may be repaired'),
    case('length and chunks', OK + 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ncase\r\n0\r\n\r\n' + FALSE, '502',
         '9112 6.3'),
    case('length +4', OK + 'Content-Length: +4\r\n\r\ncase', '502', '9110 8.6'),
    case('empty length', OK + 'Content-Length:\r\n\r\ncase', '502', '9110 8.6'),
    case('space before a colon', OK + 'Content-Length : 4\r\n\r\ncase', '502', '9112 5.1'),
    case('obs-fold', OK + 'X: a\r\n b\r\nContent-Length: 4\r\n\r\ncase', '502', '9112 5.2: may be repaired'),
    case('bare CR', OK + 'X: a\rb\r\nContent-Length: 4\r\n\r\ncase', '502', '9112 2.2'),
    case('NUL', OK + 'X: a\x00b\r\nContent-Length: 4\r\n\r\ncase', '502', '9110 5.5'),
    case('lines end with LF', 'HTTP/1.1 200 OK\nContent-Length: 4\n\ncase', 'passed', '9112 2.2: written with CRLF'),
    case('no reason', 'HTTP/1.1 200\r\nContent-Length: 4\r\n\r\ncase', 'passed', '9112 4'),
    case('HTTP/1.2', 'HTTP/1.2 200 OK\r\nContent-Length: 4\r\n\r\ncase', '502', '9112 2.3'),
    case('HTTP/2.0', 'HTTP/2.0 200 OK\r\nContent-Length: 4\r\n\r\ncase', '502', '9112 2.3'),
    case('HTTP/0.9', 'case', '502', '9112 4'),
    case('status 20', 'HTTP/1.1 20 OK\r\nContent-Length: 4\r\n\r\ncase', '502', '9112 4'),
    case('status 2000', 'HTTP/1.1 2000 OK\r\nContent-Length: 4\r\n\r\ncase', '502', '9112 4'),
    case('status 099', 'HTTP/1.1 099 OK\r\nContent-Length: 4\r\n\r\ncase', '502', '9110 15'),
    case('chunked twice', OK + 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ncase\r\n0\r\n\r\n', '502',
         '9112 6.1'),
    case('xchunked', OK + 'Transfer-Encoding: xchunked\r\n\r\n4\r\ncase\r\n0\r\n\r\n', '502', '9112 6.1'),
    case('gzip, chunked', OK + 'Transfer-Encoding: gzip, chunked\r\n\r\n4\r\ncase\r\n0\r\n\r\n', '502', '9112 6.1: no TE was sent'),
    case('chunked of HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ncase\r\n0\r\n\r\n', '502', '9112 6.1'),
    case('size 0x4', OK + 'Transfer-Encoding: chunked\r\n\r\n0x4\r\ncase\r\n0\r\n\r\n', 'cut', '9112 7.1'),
    case('blank after a size', OK + 'Transfer-Encoding: chunked\r\n\r\n4 \r\ncase\r\n0\r\n\r\n', 'cut', '9112 7.1'),
    case('chunk ends with LF', OK + 'Transfer-Encoding: chunked\r\n\r\n4\r\ncase\n0\r\n\r\n', 'cut', '9112 7.1'),
    case('size above 2^64', OK + 'Transfer-Encoding: chunked\r\n\r\n10000000000000004\r\ncase\r\n0\r\n\r\n', 'cut', '9112 7.1'),
    case('length as trailer', OK + 'Transfer-Encoding: chunked\r\n\r\n4\r\ncase\r\n0\r\nContent-Length: 9\r\n\r\n', 'cut', '9110 6.5.1'),
    case('after the chunks', OK + 'Transfer-Encoding: chunked\r\n\r\n4\r\ncase\r\n0\r\n\r\n' + FALSE, 'passed',
         '9112 9.2: the rest is dropped'),
    case('body of 204', 'HTTP/1.1 204 No\r\nContent-Length: 49\r\n\r\n' + FALSE, 'passed', '9110 6.4.1: has none'),
    case('chunks of 204', 'HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' + FALSE, 'passed', '9112 6.1'),
    case('body of 304', 'HTTP/1.1 304 Same\r\nContent-Length: 49\r\n\r\n' + FALSE, 'passed', '9110 6.4.1: has none'),
    case('body of 103', 'HTTP/1.1 103 Hints\r\nContent-Length: 49\r\n\r\n' + OK + 'Content-Length: 4\r\n\r\ncase', 'passed',
         '9110 15.2: has none'),
    case('1xx for ever', 'HTTP/1.1 103 Hints\r\n\r\n' * 5000, '502', '9110 15.2: bounded'),
    case('101 unasked', 'HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n' + FALSE, '502', '9110 7.8'),
    case('answer ends too early', OK + 'Content-Length: 40\r\n\r\ncase', 'cut', '9112 8'),
    case('chunks end too early', OK + 'Transfer-Encoding: chunked\r\n\r\n4\r\ncase\r\n', 'cut', '9112 8'),
    case('Connection: content-length', OK + 'Connection: content-length\r\nContent-Length: 4\r\n\r\ncase', 'passed',
         '9110 7.6.1: no option'),
    case('large head', OK + 'X: ' + 'a' * 20000 + '\r\nContent-Length: 4\r\n\r\ncase', '502', 'bounded'),
]


# ---- servers ----

def _framing(head):
    fields = [line.split(b':', 1) for line in head.split(b'\r\n')[1:]]
    named = {name.lower(): value.strip() for name, value in fields}
    return named.get(b'transfer-encoding', b'').lower() == b'chunked', int(named.get(b'content-length', b'0'))


def chunks_and_trailers(wire):
    while size := int(wire.until(b'\r\n').split(b';')[0], 16):
        wire.exactly(size + 2)
    while wire.until(b'\r\n'):
        pass


class Recorder:
    """A server that keeps all bytes, and the targets of the requests that were complete, in the order in which they ended."""

    def __init__(self):
        self.raw, self.targets, self.number = {}, [], itertools.count()

    def __call__(self, wire):
        mine = next(self.number)
        read = wire.sock.recv

        def recv(n):
            data = read(n)
            self.raw[mine] = self.raw.get(mine, b'') + data
            return data

        wire.sock = _Tap(wire.sock, recv)
        while True:
            head = wire.until(b'\r\n\r\n')
            chunked, length = _framing(head)
            if chunked:
                chunks_and_trailers(wire)
            else:
                wire.exactly(length)
            self.targets.append(head.split()[1].decode('latin-1'))
            wire.send('HTTP/1.1 200 OK\r\nX-Recorder: yes\r\nContent-Length: 2\r\n\r\nok')

    def clear(self):
        self.raw, self.targets = {}, []


class _Tap:
    def __init__(self, sock, recv):
        self._sock, self.recv = sock, recv

    def __getattr__(self, name):
        return getattr(self._sock, name)


class Liar:
    """A server that answers /case with `data`, and then ends; all else as it should be."""
    data = b''

    def __call__(self, wire):
        while '/case' not in wire.head().start:
            wire.send('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsentinel')
        wire.send(self.data)
        wire.shutdown()


# ---- clients ----

class _Client(Wire):
    """Reads an answer, but gives up after a while: other proxies may wait for more."""

    def __init__(self, port, patience):
        super().__init__(port)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.settimeout(patience)

    def chunks(self):
        """With any trailers."""
        body = b''
        while size := int(self.until(b'\r\n').split(b';')[0], 16):
            body += self.exactly(size)
            self.exactly(2)
        while self.until(b'\r\n'):
            pass
        return body

    def rest_is_more(self):
        """Whether a second answer follows. Others may keep the connection open after a refusal."""
        self.sock.settimeout(1)
        with contextlib.suppress(OSError):
            return b'HTTP/1.' in self.rest()
        return b'HTTP/1.' in self.held

    def answer(self):
        """(status, body): the body is None if it does not end as it should; status 0: no answer, -1: none within the time."""
        try:
            head = self.head()
            while head.status < 200 and head.status != 101:
                head = self.head()
        except (EOFError, ConnectionError):
            return 0, None
        except TimeoutError:
            return -1, None
        except (ValueError, IndexError):
            return 1, b''  # not an answer of HTTP
        try:
            if head.get('transfer-encoding') == 'chunked':
                return head.status, self.chunks()
            if head.status in (204, 304):
                return head.status, b''
            length = head.get('content-length')
            return head.status, self.exactly(int(length)) if length is not None else self.rest()
        except TimeoutError:
            return -1, None
        except (OSError, EOFError, ValueError):
            return head.status, None


def send_in(client, data, pieces):
    with contextlib.suppress(OSError):  # refused before the end
        for piece in pieces:
            client.sock.sendall(piece)


def ask(port, data, recorder, pieces=None, patience=PATIENCE):
    """What became of a request: 'refused', 'passed', 'waits', 'two' if the rest was read as a second one, or 'changed'."""
    recorder.clear()
    with _Client(port, patience) as client:
        send_in(client, data, pieces or [data])
        status, body = client.answer()
        if status == -1:
            return 'waits'
        ours = status == 200 and body == b'ok'
        if ours:
            send_in(client, b'', [b'GET /sentinel HTTP/1.1\r\nHost: a\r\n\r\n'])
            again = client.answer()
            if again[0] == 200 and '/sentinel' not in recorder.targets[-1:]:
                return 'two'
        elif status > 0 and client.rest_is_more():
            return 'two'
    targets = [target for target in recorder.targets if not target.endswith('/sentinel')]
    if not targets:
        return 'refused'
    if targets in (['/case'], ['http://b/case']) and ours:
        return 'passed'
    return 'two' if len(targets) > 1 else 'changed'


def hear(port, data, server, patience=PATIENCE):
    """What became of an answer: 'passed', '502', 'cut', 'waits', or 'poisoned' if the next request gets a part of it."""
    server.data = data
    with _Client(port, patience) as client:
        client.send(b'GET /case HTTP/1.1\r\nHost: a\r\n\r\n')
        status, body = client.answer()
        again = None
        if status > 0 and body is not None:
            send_in(client, b'', [b'GET /sentinel HTTP/1.1\r\nHost: a\r\n\r\n'])
            again = client.answer()
    if again and again[0] > 0 and again[1] not in (b'sentinel', None):
        return 'poisoned'
    if status == -1:
        return 'waits'
    if body is None:
        return 'cut'
    if status in (204, 304) or (status == 200 and body == b'case'):
        return 'passed'
    return str(status) if status >= 400 else 'changed'
