# SPDX-License-Identifier: Apache-2.0
"""An HTTP server, started as a program with its port. Its answers belong to the request: path and body, as often as the
path says (/WORD/TIMES/...)."""
import asyncio
import re
import socket
import sys

LENGTH = re.compile(rb'\r\ncontent-length: *(\d+)\r\n', re.IGNORECASE)


def content(path, body):
    """What is answered to a request."""
    return (path.encode() + b' ' + body + b'\n') * int(path.split('/')[2])


class Answering(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.held = transport, b''

    def data_received(self, data):
        self.held += data
        while b'\r\n\r\n' in self.held:
            head, rest = self.held.split(b'\r\n\r\n', 1)
            found = LENGTH.search(head + b'\r\n')
            length = int(found[1]) if found else 0
            if len(rest) < length:
                return
            self.held = rest[length:]
            answer = content(head.split(b' ', 2)[1].decode(), rest[:length])
            self.transport.write(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(answer) + answer)


async def serve(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(('127.0.0.1', port))
    server = await asyncio.get_running_loop().create_server(Answering, sock=listener, backlog=1024)
    print('listening', flush=True)
    await server.serve_forever()


if __name__ == '__main__':
    asyncio.run(serve(int(sys.argv[1])))
