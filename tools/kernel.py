# SPDX-License-Identifier: Apache-2.0
"""Debian's own kernel in qemu. The package is downloaded with apt-get, not installed; it stays in build/kernel until `make clean`.

The machine is emulated: it needs qemu-system-x86, neither root nor KVM.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

import initramfs
import tree

HERE = os.path.join(tree.ROOT, 'build/kernel')


def download(package):
    """Unpacks a package into its own folder, once; returns the folder."""
    folder = os.path.join(HERE, package)
    if not os.path.exists(folder):
        incoming = os.path.join(HERE, 'incoming')
        shutil.rmtree(incoming, ignore_errors=True)
        os.makedirs(incoming)
        initramfs.run('apt-get', '-qq', 'download', package, cwd=incoming, stderr=subprocess.DEVNULL)
        initramfs.run('dpkg-deb', '-x', *glob.glob(incoming + '/*.deb'), os.path.join(incoming, 'files'))
        os.rename(os.path.join(incoming, 'files'), folder)
    return folder


def package_of(flavour):
    if not shutil.which('qemu-system-x86_64'):
        sys.exit('there is no qemu-system-x86_64; install the package qemu-system-x86')
    found = re.search(r'Depends: (linux-image-\d\S+)', initramfs.run('apt-cache', 'depends', f'linux-image-{flavour}'))
    if not found:
        sys.exit(f'apt knows no linux-image-{flavour}; apt-get update may help')
    return found[1]


def boot(kernel, root, console, limit, devices=(), words=''):
    """Returns the output on the serial line, which is also in the file console. words: for the kernel's command line."""
    command = ['qemu-system-x86_64', '-machine', 'accel=tcg', '-cpu', 'Nehalem', '-smp', '2', '-m', '2048', '-nic',
               'none', *devices, '-nographic', '-no-reboot', '-kernel', *glob.glob(f'{kernel}/boot/vmlinuz-*'), '-initrd',
               root, '-append', f'console=ttyS0 quiet panic=-1 {words}']
    with open(console, 'wb') as file:
        try:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, timeout=limit)
        except subprocess.TimeoutExpired:
            file.write(b'\nnot done in time\n')
    with open(console, encoding='utf-8', errors='replace') as file:
        return file.read().replace('\r', '')
