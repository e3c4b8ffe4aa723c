# SPDX-License-Identifier: Apache-2.0
"""echo.py NAME: a TCP server on port 80 that answers each line with its own name."""
import contextlib
import socketserver
import sys


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        with contextlib.suppress(ConnectionResetError):  # probes end that way
            for _ in self.rfile:
                self.wfile.write(sys.argv[1].encode() + b'\n')


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


Server(('0.0.0.0', 80), Handler).serve_forever()
