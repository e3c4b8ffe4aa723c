# SPDX-License-Identifier: Apache-2.0
"""@grpc/grpc-js as a client: tests/support/grpc-js, with its packages in the build folder."""
import json
import os
import subprocess

from lab.npm import installed
from lab.process import Process
from lab.programs import ROOT
from lab.wait import PATIENCE


class GrpcJs:
    """methods: those found by reflection."""

    def __init__(self, port):
        command = ['node', os.path.join(installed('grpc-js'), 'client.js'), f'127.0.0.1:{port}',
                   os.path.join(ROOT, 'proto/grpc/reflection.proto')]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.methods = [path.rsplit('/', 1)[-1] for path in json.loads(self.process.stdout.readline())['methods']]

    def order(self, method, request=None, **more):
        """Returns {code, text} with answer, or with answers for a stream."""
        self.process.stdin.write(json.dumps({'method': method, 'request': request or {}, **more}) + '\n')
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0
        self.process.stdout.close()


class ThingsServer(Process):
    """The service lab.Things by grpc-js."""

    def __init__(self, folder):
        super().__init__(folder, 'grpc-js', ['node', os.path.join(installed('grpc-js'), 'things.js'), 'serve'])

    def start(self):
        read, write = os.pipe()
        super().start(stdout=write)
        os.close(write)
        with os.fdopen(read, encoding='ascii') as output:
            self.port = int(output.readline())
        return self


def call_things(port):
    """What calls of all kinds brought: {name: {messages, bytes, code, text, last}}."""
    command = ['node', os.path.join(installed('grpc-js'), 'things.js'), 'call', f'127.0.0.1:{port}']
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout)
