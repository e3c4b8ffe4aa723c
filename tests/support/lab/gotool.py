# SPDX-License-Identifier: Apache-2.0
"""Programs in Go that tests use, built from the module proxy where there is a Go toolchain. A program is built once for the
user and used by all build folders; it compiles for a minute or two of processor time."""
import fcntl
import os
import shutil
import subprocess

import pytest

from lab.programs import BUILD

LONGEST = 540  # s, on a busy machine


def _cache():
    home = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    return os.path.join(home if os.path.isabs(home) else BUILD, 'maglev')


def _build(package, folder, scratch, longest):
    # optimised for a short build, at low priority
    command = ['nice', 'go', 'install', '-gcflags=all=-N -l -dwarf=false', '-ldflags=-s -w', package]
    own = {name: os.path.join(scratch, 'go', name) for name in ('GOPATH', 'GOCACHE')}
    env = {**({} if 'HOME' in os.environ else own), **os.environ, 'GOBIN': folder, 'CGO_ENABLED': '0', 'GOGC': '400'}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=longest, check=False)
    assert done.returncode == 0, done.stderr


def installed(package, version, longest=LONGEST):
    """The path of the program; skips the test if there is no Go. longest: s that its build may take."""
    name = os.path.basename(package)
    if not shutil.which('go'):
        pytest.skip(f'there is no Go toolchain on PATH to build {name} with')
    base = os.path.join(_cache(), name)
    folder = os.path.join(base, version)
    os.makedirs(base, exist_ok=True)
    with open(os.path.join(base, 'lock'), 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(folder):
            shutil.rmtree(folder + '.new', ignore_errors=True)
            _build(f'{package}@{version}', folder + '.new', base, longest)
            os.rename(folder + '.new', folder)
    return os.path.join(folder, name)
