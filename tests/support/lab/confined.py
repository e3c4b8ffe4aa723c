#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program as a container runtime would for a pod of the cluster: its user and groups, its capabilities in the sets `bounding` and
`permitted` only, no new privileges, and a root file system that nothing can be written to, but for the volumes.

    Daemon(folder, 'maglev-mux', prefix=prefix(pod, 'maglev-mux'))     # pod: the spec, as the API server has it

As a program: confined.py JSON PROGRAM... ; a capability comes into force if the file of the program has it, too.
"""
import ctypes
import json
import os
import signal
import sys

CAPABILITIES = {'NET_BIND_SERVICE': 10, 'NET_ADMIN': 12, 'NET_RAW': 13, 'PERFMON': 38, 'BPF': 39}
LAST = 40
PR_SET_PDEATHSIG, PR_SET_KEEPCAPS, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 8, 24, 38
CLONE_NEWNS, MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 1, 32, 4096, 16384, 1 << 18
VERSION_3 = 0x20080522


def prefix(pod, container, *volumes):
    """The command that runs the program of a container. volumes: folders that it may write to."""
    one = next(one for one in pod['containers'] if one['name'] == container)
    whole, own = pod['securityContext'], one['securityContext']
    assert own['readOnlyRootFilesystem'] and own['capabilities']['drop'] == ['ALL'] and not own['allowPrivilegeEscalation']
    how = {'user': whole['runAsUser'], 'group': whole['runAsGroup'], 'groups': [whole['fsGroup'], *whole.get('supplementalGroups', ())],
           'capabilities': own['capabilities'].get('add', []), 'volumes': volumes}
    for path in volumes:
        os.chown(path, -1, whole['fsGroup'])
        os.chmod(path, 0o2775)
    return sys.executable, os.path.abspath(__file__), json.dumps(how)


def call(function, *args):
    if getattr(ctypes.CDLL(None, use_errno=True), function)(*args) < 0:
        raise OSError(ctypes.get_errno(), f'{function}: {os.strerror(ctypes.get_errno())}')


def make_read_only(volumes):
    call('unshare', CLONE_NEWNS)
    call('mount', None, b'/', None, MS_REC | MS_PRIVATE, None)
    for path in volumes:
        call('mount', path.encode(), path.encode(), None, MS_BIND, None)
    call('mount', None, b'/', None, MS_REMOUNT | MS_BIND | MS_RDONLY, None)


def become(how):
    kept = [CAPABILITIES[name] for name in how['capabilities']]
    for number in range(LAST + 1):
        if number not in kept:
            call('prctl', PR_CAPBSET_DROP, number, 0, 0, 0)
    call('prctl', PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups(how['groups'])
    os.setgid(how['group'])
    os.setuid(how['user'])
    low, high = (sum(1 << number for number in kept) >> shift & 0xffffffff for shift in (0, 32))
    call('capset', (ctypes.c_uint32 * 2)(VERSION_3, 0), (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0))
    call('prctl', PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    call('prctl', PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # the change of the user has cleared it


if __name__ == '__main__':
    wanted = json.loads(sys.argv[1])
    make_read_only(wanted['volumes'])
    become(wanted)
    os.execv(sys.argv[2], sys.argv[2:])
