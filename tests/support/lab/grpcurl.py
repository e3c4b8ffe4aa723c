# SPDX-License-Identifier: Apache-2.0
"""grpcurl (lab/gotool.py)."""
import subprocess

from lab.gotool import installed
from lab.wait import PATIENCE

PROGRAM = 'github.com/fullstorydev/grpcurl/cmd/grpcurl', 'v1.9.1'  # for Go 1.19, Debian 12's, and later


class Grpcurl:
    """Runs it with one server; flags say how to connect."""

    def __init__(self, port, *flags):
        self.command, self.at = [installed(*PROGRAM), *flags], f'127.0.0.1:{port}'

    def run(self, *words, data=None):
        given = ['-d', data] if data else []
        return subprocess.run([*self.command, *given, self.at, *words], capture_output=True, text=True, timeout=PATIENCE,
                              check=False)

    def text(self, *words, data=None):
        done = self.run(*words, data=data)
        assert done.returncode == 0, (words, done)
        return done.stdout
