# SPDX-License-Identifier: Apache-2.0
"""The dashboard of a lab: maglevd-frontend beside maglevd, and a forwarder to it for browsers outside."""
import asyncio
import json
import os
import secrets
import socket
import subprocess
import threading

from lab.fabric import child
from lab.programs import program


class Window:
    USER = 'maglev'

    def __init__(self, servers, namespace=None, speakers=(), routers=()):
        """servers, speakers, routers: NAME=ADDRESS of their APIs as seen in the namespace, which is ours if it is None."""
        self.password = secrets.token_hex(4)
        command = [program('maglevd-frontend'), '--server', ','.join(servers), '--listen', '127.0.0.1:0',
                   *(('--speaker', ','.join(speakers)) if speakers else ()), *(('--router', ','.join(routers)) if routers else ())]
        self.process = child(namespace.command(*command) if namespace else command, stdout=subprocess.PIPE,
                             env={**os.environ, 'MAGLEV_FRONTEND_USER': self.USER,
                                  'MAGLEV_FRONTEND_PASSWORD': self.password})
        listening = next(line for line in map(json.loads, self.process.stdout) if line['msg'] == 'listening')
        threading.Thread(target=lambda: list(self.process.stdout), daemon=True).start()  # drains the pipe
        self.address = door(namespace, listening['addr']) if namespace else listening['addr']

    def tell(self):
        return f'''http://{self.address}/view/    (in a browser on this machine)
                      http://{self.address}/admin/ to act, as {self.USER} with the password {self.password}'''


def door(namespace, inside, listener=None):
    """Forwards an address on our loopback, or that of the listener, to one in the namespace."""
    listener = listener or socket.create_server(('127.0.0.1', 0))
    threading.Thread(target=_live_in, args=(namespace, listener, inside), daemon=True).start()
    return '{}:{}'.format(*listener.getsockname())


def _live_in(namespace, listener, inside):
    """A thread may be in another namespace than its process; the listener stays where it was made."""
    namespace.enter()
    asyncio.run(_serve(listener, *inside.rsplit(':', 1)))


async def _serve(listener, host, port):
    async def on_client(reader, writer):
        try:
            there = await asyncio.open_connection(host, port)
            await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))
        except OSError:
            writer.close()

    server = await asyncio.start_server(on_client, sock=listener)
    await server.serve_forever()


async def _pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()
