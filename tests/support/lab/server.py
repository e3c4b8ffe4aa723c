# SPDX-License-Identifier: Apache-2.0
"""A program with any number of fake servers, correct and faulty ones, in the namespace in which it is started.

Commands are JSON lines on standard input, each with an id, and are answered with that id on
standard output; requests to the servers are reported there too. It ends with its input.
"""
import asyncio
import json
import socket
import ssl
import struct
import sys
import time


def tell(**what):
    sys.stdout.write(json.dumps(what) + '\n')
    sys.stdout.flush()


def abort(sock):
    """Makes the next close a reset (SO_LINGER with 0)."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))


# ---- behaviours of a server; each returns whether the connection stays open ----

async def answer(b, how, out):
    body = how.get('body', 'ok').encode('latin-1')
    head = f'HTTP/1.1 {how.get("status", 200)} Whatever\r\n' + ''.join(h + '\r\n' for h in how.get('headers', []))
    framing = how.get('framing', 'length')
    if framing == 'length':
        out.write(f'{head}Content-Length: {len(body)}\r\n\r\n'.encode() + body)
    elif framing == 'chunked':
        out.write(f'{head}Transfer-Encoding: chunked\r\n\r\n'.encode())
        for i in range(0, len(body), 3):
            piece = body[i:i + 3]
            out.write(b'%x\r\n%s\r\n' % (len(piece), piece))
        out.write(b'0\r\n\r\n')
    else:
        out.write(f'{head}\r\n'.encode() + body)
    await out.drain()
    return framing != 'close'


async def flap(b, how, out):
    """Answers with one status after the other, cyclically."""
    status = how['pattern'][b.turn % len(how['pattern'])]
    b.turn += 1
    return await answer(b, {**how, 'status': status}, out)


async def late(b, how, out):
    await asyncio.sleep(how['delay'])
    return await answer(b, how, out)


async def hang(b, how, out):
    await b.never.wait()


async def drip(b, how, out):
    text = f'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nX-Long: {"x" * 1000}\r\n\r\n'.encode()
    for i in range(len(text)):
        out.write(text[i:i + 1])
        await out.drain()
        await asyncio.sleep(how.get('every', 0.02))


async def close(b, how, out):
    return False


async def cut(b, how, out):
    """Sends a shorter body than announced."""
    out.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nok, but')
    await out.drain()


async def reset(b, how, out):
    abort(out.get_extra_info('socket'))
    out.transport.abort()


async def raw(b, how, out):
    out.write(bytes.fromhex(how['bytes']))
    await out.drain()


async def endless(b, how, out):
    out.write(b'HTTP/1.1 200 OK\r\n\r\n')
    while True:
        out.write(b'all work and no play ' * 500)
        await out.drain()


async def headers(b, how, out):
    out.write(b'HTTP/1.1 200 OK\r\n')
    while True:
        out.write(b'X-More: ' + b'x' * 1000 + b'\r\n')
        await out.drain()


async def flood(sock):
    """Instead of a handshake: endless hello requests, which a client must ignore."""
    record = b'\x16\x03\x03\x40\x00' + bytes(0x4000)
    while True:
        await asyncio.get_running_loop().sock_sendall(sock, record * 64)


async def crumbs(sock):
    """Instead of a handshake: endless ServerHellos of 16,000 bytes, in records of one byte."""
    hello = b'\x02\x00\x3e\x80\x03\x03' + bytes(0x3e80)
    records = b''.join(b'\x16\x03\x03\x00\x01' + bytes([byte]) for byte in hello)
    while True:
        await asyncio.get_running_loop().sock_sendall(sock, records)


async def tls_crumbs(context, sock):
    """A handshake, then an endless answer in records of one byte. Records are made in advance and sent in batches."""
    loop = asyncio.get_running_loop()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_side=True)

    async def go_on(call):
        while True:
            try:
                return call()
            except ssl.SSLWantReadError:
                await loop.sock_sendall(sock, outgoing.read())
                data = await loop.sock_recv(sock, 65536)
                if not data:
                    raise ConnectionResetError from None
                incoming.write(data)

    await go_on(tls.do_handshake)
    await go_on(lambda: tls.read(65536))
    tls.write(b'HTTP/1.1 200 OK\r\n\r\n')
    while True:
        for _ in range(2000):
            tls.write(b'x')
        await loop.sock_sendall(sock, outgoing.read())


MODES = {f.__name__: f
         for f in (answer, flap, late, hang, drip, close, cut, reset, raw, endless, headers)}


class Backend:
    """One listening socket and its connections."""

    def __init__(self, order):
        self.name, self.address = order['name'], order['address']
        self.port = order.get('port', 0)
        self.how = {'mode': 'answer'}
        self.never = asyncio.Event()
        self.context = None
        if order.get('certificate'):
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*order['certificate'])
            self.context.sni_callback = lambda tls, name, context: setattr(tls, 'sni', name)
        self.task, self.connections, self.n, self.turn = None, set(), 0, 0
        self.listen()

    def listen(self):
        family = socket.AF_INET6 if ':' in self.address else socket.AF_INET
        self.socket = socket.socket(family)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.setblocking(False)
        self.socket.bind((self.address, self.port))
        self.socket.listen(128)
        self.port = self.socket.getsockname()[1]
        self.task = asyncio.create_task(self.accept())

    def refuse(self):
        """Closes the listener and all connections."""
        self.task.cancel()
        self.socket.close()
        for task in list(self.connections):
            task.cancel()

    async def accept(self):
        while True:
            sock, peer = await asyncio.get_running_loop().sock_accept(self.socket)
            self.n += 1
            tell(event='connection', name=self.name, peer=peer[0], n=self.n, at=time.time())
            task = asyncio.create_task(self.converse(sock, peer, self.n))
            self.connections.add(task)
            task.add_done_callback(self.connections.discard)

    async def converse(self, sock, peer, n):
        out = None
        try:
            if self.how['mode'] == 'tls-hang':
                await self.never.wait()
            if self.how['mode'] == 'tls-flood':
                await flood(sock)
            if self.how['mode'] == 'tls-hello-crumbs':
                await crumbs(sock)
            if self.how['mode'] == 'tls-crumbs':
                await tls_crumbs(self.context, sock)
            loop = asyncio.get_running_loop()
            reader = asyncio.StreamReader()
            protocol = asyncio.StreamReaderProtocol(reader)
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, sock, ssl=self.context)
            out = asyncio.StreamWriter(transport, protocol, reader, loop)
            while await self.serve(reader, out, peer, n):
                pass
        except asyncio.CancelledError:
            abort(out.get_extra_info('socket') if out else sock)
        except (OSError, EOFError, ValueError) as error:
            tell(event='error', name=self.name, n=n, error=repr(error), at=time.time())
        finally:
            if out:
                out.transport.abort() if self.how['mode'] == 'reset' else out.close()
            else:
                sock.close()

    async def serve(self, reader, out, peer, n):
        try:
            head = await reader.readuntil(b'\r\n\r\n')
        except asyncio.IncompleteReadError:
            return False
        request, *fields = head.decode('latin-1').split('\r\n')[:-2]
        values = {k.lower(): v.strip() for k, v in (f.split(':', 1) for f in fields)}
        tls = out.get_extra_info('ssl_object')
        tell(event='request', name=self.name, n=n, peer=peer[0], request=request, headers=values, at=time.time(),
             resumed=tls.session_reused if tls else None, sni=getattr(tls, 'sni', None))
        goes_on = await MODES[self.how['mode']](self, self.how, out)
        return goes_on and values.get('connection', '').lower() != 'close'


class Play:
    def __init__(self):
        self.backends = {}

    def obey(self, order):
        if order['order'] == 'open':
            self.backends[order['name']] = Backend(order)
        backend = self.backends[order['name']]
        if order['order'] == 'behave':
            backend.how = order['how']
        elif order['order'] == 'certificate':
            backend.context.load_cert_chain(*order['certificate'])
        elif order['order'] == 'refuse':
            backend.refuse()
        elif order['order'] == 'listen':
            backend.listen()
        tell(id=order['id'], port=backend.port, at=time.time())


async def main():
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    play = Play()
    tell(event='ready')
    while line := await reader.readline():
        play.obey(json.loads(line))
    for backend in play.backends.values():
        backend.refuse()


if __name__ == '__main__':
    asyncio.run(main())
