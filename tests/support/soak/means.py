# SPDX-License-Identifier: Apache-2.0
"""What faults are made of: processes that stand still, links that lose packets, full disks, files that are replaced."""
import contextlib
import json
import os
import signal
import time


@contextlib.contextmanager
def paused(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def lossy(namespace, port, percent):
    """Loses packets at random in both directions of a link. netem does not exist in every kernel; this filter (classic BPF) compares
    a random number with a limit, and drops (2) or passes (0)."""
    code = f'4,32 0 0 {0xfffff038},37 1 0 {(1 << 32) * percent // 100},6 0 0 2,6 0 0 0'
    namespace.run('tc', 'qdisc', 'add', 'dev', port, 'clsact')
    for way in ('ingress', 'egress'):
        namespace.run('tc', 'filter', 'add', 'dev', port, way, 'bpf', 'da', 'bytecode', code)
    try:
        yield
    finally:
        namespace.run('tc', 'qdisc', 'del', 'dev', port, 'clsact')


@contextlib.contextmanager
def filled(folder):
    """No room is left on the file system of a folder."""
    path = os.path.join(folder, 'filler')
    try:
        with open(path, 'wb', buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b'x' * 4096):
                pass
        yield
    finally:
        os.unlink(path)


def tomorrow():
    return time.strftime('%Y-%m-%dT%H:%M', time.localtime(time.time() + 86400))


def replace(path, content):
    """Replaces a file; content: a dict, or text."""
    with open(path + '.new', 'w', encoding='ascii') as file:
        file.write(content if isinstance(content, str) else json.dumps(content))
    os.replace(path + '.new', path)


def load_file(daemon, write, content, message):
    since = daemon.mark()
    write(content)
    daemon.signal(signal.SIGHUP)
    daemon.wait(message, since)
