# SPDX-License-Identifier: Apache-2.0
"""Programs for Node under tests/support, with their packages in the build folder."""
import fcntl
import hashlib
import os
import shutil
import subprocess

from lab.programs import BUILD, ROOT


def installed(name):
    """The folder with the files of tests/support/NAME and their packages; filled once per state of the files."""
    here = os.path.join(ROOT, 'tests/support', name)
    files = sorted(os.listdir(here))
    digest = hashlib.sha256()
    for file_name in files:
        with open(os.path.join(here, file_name), 'rb') as file:
            digest.update(file.read())
    folder = os.path.join(BUILD, name, digest.hexdigest()[:16])
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(os.path.join(BUILD, name, 'lock'), 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(folder):
            fresh = folder + '.new'
            shutil.rmtree(fresh, ignore_errors=True)
            os.makedirs(fresh)
            for file_name in files:
                shutil.copy(os.path.join(here, file_name), fresh)
            subprocess.run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], cwd=fresh, check=True,
                           capture_output=True, timeout=300)
            os.rename(fresh, folder)
    return folder
