# SPDX-License-Identifier: Apache-2.0
"""grpcurl, built once into the build folder where there is a Go toolchain. It compiles for a minute or two of
processor time the first time; Go's own cache makes a second build folder cheap."""
import fcntl
import os
import shutil
import subprocess

import pytest

from lab.programs import BUILD
from lab.wait import PATIENCE

MODULE, VERSION = 'github.com/fullstorydev/grpcurl/cmd/grpcurl', 'v1.9.1'  # for Go 1.19, Debian 12's, and later
LONGEST = 540  # s, on a busy machine


def _build(folder):
    # optimised for a short build, at low priority
    command = ['nice', 'go', 'install', '-gcflags=all=-N -l -dwarf=false', '-ldflags=-s -w', f'{MODULE}@{VERSION}']
    scratch = {name: os.path.join(BUILD, 'grpcurl/go', name) for name in ('GOPATH', 'GOCACHE')}
    env = {**({} if 'HOME' in os.environ else scratch), **os.environ, 'GOBIN': folder, 'CGO_ENABLED': '0'}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == 0, done.stderr


def installed():
    """The path of the program; skips the test if there is no Go."""
    if not shutil.which('go'):
        pytest.skip('there is no Go toolchain on PATH to build grpcurl with')
    folder = os.path.join(BUILD, 'grpcurl', VERSION)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(os.path.join(BUILD, 'grpcurl/lock'), 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(folder):
            shutil.rmtree(folder + '.new', ignore_errors=True)
            _build(folder + '.new')
            os.rename(folder + '.new', folder)
    return os.path.join(folder, 'grpcurl')


class Grpcurl:
    """Runs it with one server; flags say how to connect."""

    def __init__(self, port, *flags):
        self.command, self.at = [installed(), *flags], f'127.0.0.1:{port}'

    def run(self, *words, data=None):
        given = ['-d', data] if data else []
        return subprocess.run([*self.command, *given, self.at, *words], capture_output=True, text=True, timeout=PATIENCE,
                              check=False)

    def text(self, *words, data=None):
        done = self.run(*words, data=data)
        assert done.returncode == 0, (words, done)
        return done.stdout
