# SPDX-License-Identifier: Apache-2.0
"""Handlers of an HTTP/1.1 server whose router is asked by HTTP/2, and what is needed to weigh that router."""
import base64
import hashlib
import os

from lab.router import OK
from lab.wait import PATIENCE

SMALL = {'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':quarantine_size_mb=1'}  # so that memory can be weighed
PIECE = b'z' * (1 << 20)


def held(go, arrived):
    def serve(wire):
        while True:
            wire.message()
            arrived.release()
            go.wait(PATIENCE)
            wire.send(OK)
    return serve


def websocket(wire):
    """Accepts, then echoes lines in capitals; after the client's end it says goodbye and ends."""
    head = wire.head()
    wire.server.requests.append(head)
    key = head.get('sec-websocket-key').encode() + b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
    accept = base64.b64encode(hashlib.sha1(key).digest())
    wire.send(b'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: chat\r\n'
              b'Sec-WebSocket-Accept: ' + accept + b'\r\n\r\nwelcome\n')
    try:
        while True:
            line = wire.until(b'\n')
            if line == b'leave':
                wire.shutdown()
                wire.server.last = wire.rest()
                return
            wire.send(line.upper() + b'\n')
    except EOFError:
        wire.send(b'goodbye\n')


def drained(wire):
    """Bytes of a chunked body, which are not kept."""
    total = 0
    while size := int(wire.until(b'\r\n'), 16):
        total += size
        left = size + 2
        while left > len(wire.held):
            left -= len(wire.held)
            wire.held = wire.sock.recv(1 << 16)
        wire.held = wire.held[left:]
    wire.until(b'\r\n')
    return total


def stream_of(size):
    """Answers with as many bytes without a length; takes what comes."""
    def serve(wire):
        while True:
            head = wire.head()
            if head.start.startswith('PUT'):
                wire.send(b'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n%010d' % drained(wire))
                continue
            wire.send(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
            for _ in range(size // len(PIECE)):
                wire.send(b'%x\r\n%s\r\n' % (len(PIECE), PIECE))
            wire.send(b'0\r\n\r\n')
    return serve
