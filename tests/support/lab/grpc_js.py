# SPDX-License-Identifier: Apache-2.0
"""@grpc/grpc-js as a client: tests/support/grpc-js, with its packages in the build folder."""
import fcntl
import hashlib
import json
import os
import shutil
import subprocess

from lab.programs import BUILD, ROOT
from lab.wait import PATIENCE

HERE = os.path.join(ROOT, 'tests/support/grpc-js')
FILES = ('package.json', 'package-lock.json', 'client.js')


def installed():
    """The folder with client.js and its packages; filled once per state of the three files."""
    digest = hashlib.sha256()
    for name in FILES:
        with open(os.path.join(HERE, name), 'rb') as file:
            digest.update(file.read())
    folder = os.path.join(BUILD, 'grpc-js', digest.hexdigest()[:16])
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(os.path.join(BUILD, 'grpc-js', 'lock'), 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(folder):
            fresh = folder + '.new'
            shutil.rmtree(fresh, ignore_errors=True)
            os.makedirs(fresh)
            for name in FILES:
                shutil.copy(os.path.join(HERE, name), fresh)
            subprocess.run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], cwd=fresh, check=True,
                           capture_output=True, timeout=300)
            os.rename(fresh, folder)
    return folder


class GrpcJs:
    """methods: those found by reflection."""

    def __init__(self, port):
        command = ['node', os.path.join(installed(), 'client.js'), f'127.0.0.1:{port}',
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
