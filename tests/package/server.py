# SPDX-License-Identifier: Apache-2.0
"""A web server on 127.0.0.1:8001. /slow sends a line each second until somebody asks for /go."""
import http.server
import threading

go = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        if self.path == '/go':
            go.set()
        lines = 1
        self.wfile.write(b'line\n')
        while self.path == '/slow' and not go.wait(1):
            self.wfile.write(b'line\n')
            lines += 1
        self.wfile.write(b'end after %d\n' % lines)

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer(('127.0.0.1', 8001), Handler).serve_forever()
