# SPDX-License-Identifier: Apache-2.0
"""tests/support/grpc/server.py as a process, and calls to it by grpcio."""
import os
import sys
import threading

import grpc

from lab.process import Process
from lab.programs import ROOT
from lab.wait import until


class GrpcServer(Process):
    """lines: what it has said about calls. pair: certificate and key, for TLS."""

    def __init__(self, folder, name='grpc', pair=()):
        super().__init__(folder, name, [sys.executable, os.path.join(ROOT, 'tests/support/grpc/server.py'), name, *pair],
                         env={'GRPC_VERBOSITY': 'NONE'})  # it says what clients do wrong
        self.lines = []

    def start(self):
        read, write = os.pipe()
        super().start(stdout=write)
        os.close(write)
        self.output = os.fdopen(read, encoding='ascii')
        self.port = int(self.output.readline())
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def _read(self):
        with self.output:
            for line in self.output:
                self.lines.append(line.strip())

    def wait(self, line):
        until(lambda: line in self.lines)


class Things:
    """The service lab.Things by a channel of grpcio, without retries. authority: whose certificates are trusted, for TLS."""

    def __init__(self, port, authority=None, **options):
        options = {'grpc.enable_retries': 0, 'grpc.max_receive_message_length': 64 << 20, **options}
        if authority:
            options['grpc.ssl_target_name_override'] = authority.name
            with open(authority.ca, 'rb') as file:
                credentials = grpc.ssl_channel_credentials(file.read())
            self.channel = grpc.secure_channel(f'127.0.0.1:{port}', credentials, options=list(options.items()))
        else:
            self.channel = grpc.insecure_channel(f'127.0.0.1:{port}', options=list(options.items()))
        self.unary, self.fail, self.wait, self.left = (
            self.channel.unary_unary(f'/lab.Things/{name}') for name in ('Unary', 'Fail', 'Wait', 'Left'))
        self.give = self.channel.unary_stream('/lab.Things/Give')
        self.collect = self.channel.stream_unary('/lab.Things/Collect')
        self.chat = self.channel.stream_stream('/lab.Things/Chat')

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.channel.close()
