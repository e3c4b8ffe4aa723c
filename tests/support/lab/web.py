# SPDX-License-Identifier: Apache-2.0
"""web.py NAME BROKEN: a small web server on port 80 of every address of its namespace.

/healthz is 200 unless the file BROKEN exists, /bytes/N has N bytes that can be checked, /echo sends back what it gets,
PUT answers with the hash of the body, and everything else with the name of the server and the address of the client.
"""
import asyncio
import functools
import hashlib
import os
import random
import socket
import sys

BLOCK = random.Random('maglev').randbytes(65536)
LIMIT = 4096  # bytes of the head of a request


def pattern(start, size):
    """The bytes of /bytes/N from start on."""
    at = start % len(BLOCK)
    return (BLOCK[at:] + BLOCK * (size // len(BLOCK) + 1))[:size]


async def answer(writer, status, body):
    writer.write(b'HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n' % (status, len(body)) + body)
    await writer.drain()


async def send_bytes(writer, name, size):
    writer.write(f'HTTP/1.1 200 OK\r\nServer: {name}\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n'.encode())
    for start in range(0, size, len(BLOCK)):
        writer.write(BLOCK[:size - start])
        await writer.drain()


async def echo(reader, writer, name):
    writer.write(f'HTTP/1.1 200 OK\r\nServer: {name}\r\nConnection: close\r\n\r\n'.encode())
    while chunk := await reader.read(LIMIT):
        writer.write(chunk)
        await writer.drain()


async def take_upload(reader, writer, name, head):
    fields = dict(line.lower().split(b':', 1) for line in head.split(b'\r\n')[1:] if b':' in line)
    left, digest = int(fields[b'content-length']), hashlib.sha256()
    while left and (chunk := await reader.read(min(left, len(BLOCK)))):
        digest.update(chunk)
        left -= len(chunk)
    await answer(writer, b'200 OK', f'{name} {digest.hexdigest()}\n'.encode())


async def serve(name, broken, reader, writer):
    try:
        head = await reader.readuntil(b'\r\n\r\n')
        method, path, _ = head.split(b' ', 2)
        if method == b'PUT':
            await take_upload(reader, writer, name, head)
        elif path.startswith(b'/bytes/'):
            await send_bytes(writer, name, int(path[7:]))
        elif path == b'/echo':
            await echo(reader, writer, name)
        elif path == b'/healthz':
            sick = os.path.exists(broken)
            await answer(writer, b'503 Service Unavailable' if sick else b'200 OK', b'broken\n' if sick else b'ok\n')
        else:
            peer, own = (writer.get_extra_info(what)[0].removeprefix('::ffff:') for what in ('peername', 'sockname'))
            await answer(writer, b'200 OK', f'{name} answers {peer} as {own}\n'.encode())
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
        pass  # probes reset their connections, tests end them in any way
    writer.close()


async def main(name, broken):
    listener = socket.create_server(('::', 80), family=socket.AF_INET6, dualstack_ipv6=True, backlog=4096)
    server = await asyncio.start_server(functools.partial(serve, name, broken), sock=listener, limit=LIMIT)
    print('ready', flush=True)
    await server.serve_forever()


if __name__ == '__main__':
    asyncio.run(main(*sys.argv[1:]))
