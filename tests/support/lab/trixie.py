# SPDX-License-Identifier: Apache-2.0
"""FRR 10 of Debian 13, in a root file system of its own.

debootstrap makes it once for each build folder, from the mirror that apt uses. Packages are only unpacked: no
script of theirs runs, and so no service starts. Programs run in a mount namespace, with /proc, /dev and the folder for
temporary files of the machine.
"""
import fcntl
import glob
import os
import re
import shutil
import subprocess

import pytest

from lab.frr import Machine
from lab.programs import BUILD

SUITE, PACKAGES = 'trixie', 'frr,frr-pythontools'
NOT_NEEDED = 'cron,cron-daemon-common,logrotate,systemd,systemd-sysv'
# what the packages' scripts would have written
FILES = {'passwd': 'root:x:0:0::/root:/bin/sh\nfrr:x:901:901::/:/bin/false\n',
         'group': 'root:x:0:\nfrr:x:901:\nfrrvty:x:902:frr\n',
         'pam.d/other': 'auth required pam_permit.so\naccount required pam_permit.so\n'}
LONGEST = 240  # s
ENTER = '''#!/bin/sh
exec unshare --mount /bin/sh -ec 'for folder in /proc /dev "${{TMPDIR:-/tmp}}"; do
mkdir -p "$0$folder"; mount --rbind "$folder" "$0$folder"; done
exec chroot "$0" "$@"' {root} {program} "$@"
'''


def _apt(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def _mirror():
    """Where apt gets the release of this machine from; None: no archive of Debian that debootstrap could read."""
    with open('/etc/os-release', encoding='utf-8') as file:
        release = re.search(r'^VERSION_CODENAME=(\w+)', file.read(), re.M)
    wanted = (release[1] if release else '', 'stable')
    for line in _apt('apt-get', 'indextargets', '--format', '$(RELEASE) $(COMPONENT) $(REPO_URI)').splitlines():
        name, component, uri = line.split(' ', 2)
        if name in wanted and component == 'main' and uri.startswith(('http://', 'https://', 'file:')):
            return uri
    return None


def _environment():
    """apt's proxy is also that of debootstrap."""
    found = {name: re.search(r"='(.+)'", _apt('apt-config', 'shell', 'x', f'Acquire::{name}::Proxy'))
             for name in ('http', 'https')}
    return {**os.environ, **{f'{name}_proxy': text[1] for name, text in found.items() if text}}


def _missing():
    """What is needed and not there."""
    if not shutil.which('debootstrap'):
        return 'debootstrap is not installed'
    return None if _mirror() else 'apt has no archive of Debian'


def _run(*command):
    """Returns None, or why it failed."""
    try:
        done = subprocess.run(command, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return f'{command[0]} took more than {LONGEST} s'
    said = (done.stdout + done.stderr).strip().splitlines()
    return f'{command[0]}: {said[-1] if said else ""}' if done.returncode else None


def _unpack(root):
    """The first stage of debootstrap downloads all packages and unpacks some; the rest is unpacked here."""
    why = _run('debootstrap', '--foreign', '--variant=minbase', f'--include={PACKAGES}', f'--exclude={NOT_NEEDED}', SUITE,
               root, _mirror())
    for package in sorted(glob.glob(f'{root}/var/cache/apt/archives/*.deb')):
        why = why or _run('dpkg-deb', '--extract', package, root)
        os.unlink(package)
    return why


def _settle(root):
    """Does what the packages' scripts would have done, as far as FRR needs it."""
    for name, text in FILES.items():
        with open(f'{root}/etc/{name}', 'w', encoding='ascii') as file:
            file.write(text)
    shutil.rmtree(f'{root}/var/run')
    os.symlink('../run', f'{root}/var/run')
    os.makedirs(f'{root}/var/lib/frr', exist_ok=True)
    os.chown(f'{root}/var/lib/frr', 901, 901)


def _make(folder):
    """Makes the root file system and, beside it, programs that enter it. Returns None, or why it cannot be made."""
    new = folder + '.new'
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new)
    why = _missing() or _unpack(os.path.join(new, 'root'))
    if why:
        return why
    _settle(os.path.join(new, 'root'))
    for name, program in (('enter', ''), ('frr-reload.py', Machine.reload), ('vtysh', Machine.vtysh)):
        with open(os.path.join(new, name), 'w', encoding='utf-8') as file:
            file.write(ENTER.format(root=os.path.join(folder, 'root'), program=program))
        os.chmod(os.path.join(new, name), 0o755)
    os.rename(new, folder)
    return None


class Trixie(Machine):
    """Skips the test if it cannot be made here."""
    daemons = ('mgmtd', *Machine.daemons)

    def __init__(self):
        folder = os.path.join(BUILD, 'frr', SUITE)
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        with open(folder + '.lock', 'w', encoding='ascii') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            why = None if os.path.exists(folder) else _make(folder)
        if why:
            pytest.skip(f'no root file system of Debian {SUITE}: {why}')
        self.root = os.path.join(folder, 'root')
        self.enter, self.reload, self.vtysh = (os.path.join(folder, name) for name in ('enter', 'frr-reload.py', 'vtysh'))

    def command(self, *words):
        return [self.enter, *words]
