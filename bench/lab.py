# SPDX-License-Identifier: Apache-2.0
"""The environment of benchmarks of daemons: a private network, pinned processes, and counters of the kernel.

The network namespace belongs to this process and has no name: it ends with the last process in it. Children are
killed when this process ends, for whatever reason.
"""
import ctypes
import json
import os
import platform
import re
import resource
import signal
import struct
import subprocess
import time

SUBJECT_CPU, SERVER_CPU, ANY_CPU = {0}, {1}, os.sched_getaffinity(0)
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
REALTIME_PRIORITY = 5

libc = ctypes.CDLL(None, use_errno=True)


class LabError(Exception):
    pass


def write_file(path, text):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)


def read_file(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def enter_private_network():
    """Gives this process and its children a network with only loopback."""
    if libc.unshare(CLONE_NEWNET) != 0:
        raise LabError(f'unshare: {os.strerror(ctypes.get_errno())} (root is needed)')
    subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
    write_file('/proc/sys/net/core/somaxconn', '32768')
    write_file('/proc/sys/net/ipv4/tcp_max_syn_backlog', '32768')
    write_file('/proc/sys/net/ipv4/ip_local_port_range', '10240 65535')
    write_file('/proc/sys/net/ipv4/tcp_congestion_control', 'reno')  # the same on every machine


def target(i):
    """The address of the i-th server, from 127.1.0.1 on."""
    return f'127.{1 + i // 62500}.{i // 250 % 250}.{1 + i % 250}'


class Process:
    """A child on some cores, optionally with real-time priority, so that other processes do not disturb it.

    Its children do not get that priority; threads that it starts do only if it is threaded."""
    threaded = False

    def __init__(self, argv, cpus, log, realtime=False, env=None):
        def prepare():
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
            os.sched_setaffinity(0, cpus)
            if realtime:
                policy = os.SCHED_FIFO | (0 if self.threaded else os.SCHED_RESET_ON_FORK)
                os.sched_setscheduler(0, policy, os.sched_param(REALTIME_PRIORITY))

        self.log = log
        with open(log, 'w', encoding='utf-8') as out:
            self.popen = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, preexec_fn=prepare,
                                          env={**os.environ, **(env or {})})
        self.name = os.path.basename(argv[0])
        self.pid = self.popen.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.popen.poll() is None:
            self.popen.terminate()
            try:
                self.popen.wait(5)
            except subprocess.TimeoutExpired:
                self.popen.kill()
        self.popen.wait()

    def check(self):
        if self.popen.poll() is not None:
            raise LabError(f'{self.name} ended with {self.popen.returncode}: {read_file(self.log)[-500:]}')

    def wait_until(self, ready, what, seconds=30):
        """Polls until the condition is true; the process must stay alive meanwhile."""
        deadline = time.monotonic() + seconds
        while not ready():
            self.check()
            if time.monotonic() > deadline:
                raise LabError(f'{self.name}: {what} not within {seconds} s')
            time.sleep(0.02)

    def cpu(self):
        """Seconds on the CPU and seconds waiting for it, of all threads."""
        on = waiting = 0
        for task in os.listdir(f'/proc/{self.pid}/task'):
            fields = read_file(f'/proc/{self.pid}/task/{task}/schedstat').split()
            on += int(fields[0])
            waiting += int(fields[1])
        return on / 1e9, waiting / 1e9

    def rss(self):
        """Resident bytes."""
        for line in read_file(f'/proc/{self.pid}/status').splitlines():
            if line.startswith('VmRSS:'):
                return int(line.split()[1]) * 1024
        raise LabError(f'{self.name}: no VmRSS')


class Sink(Process):
    """The plain HTTP server (sink.c) and its counters. Its answers have so many bytes."""

    def __init__(self, program, port, folder, realtime, size=3):
        self.counts = os.path.join(folder, 'sink-counts')
        super().__init__([program, str(port), self.counts, str(size)], SERVER_CPU, os.path.join(folder, 'sink.log'), realtime)
        self.wait_until(lambda: is_listening(port), 'listening')

    def answered(self):
        with open(self.counts, 'rb') as f:
            return struct.unpack('QQ', f.read(16))[1]


class Calls(Process):
    """The server of gRPC (calls.c). Its messages have so many bytes."""

    def __init__(self, program, port, folder, realtime, size):
        super().__init__([program, str(port), str(size)], SERVER_CPU, os.path.join(folder, 'calls.log'), realtime)
        self.wait_until(lambda: is_listening(port), 'listening')


def is_listening(port):
    wanted = f':{port:04X}'
    for line in read_file('/proc/self/net/tcp').splitlines()[1:]:
        fields = line.split()
        if fields[3] == '0A' and fields[1].endswith(wanted):
            return True
    return False


def connections_opened():
    """Number of connect() calls in this network, as counted by the kernel."""
    names, values = [line.split() for line in read_file('/proc/self/net/snmp').splitlines() if line.startswith('Tcp:')]
    return int(values[names.index('ActiveOpens')])


def stolen():
    """Seconds that the hypervisor stole, of all cores."""
    return int(read_file('/proc/stat').split(maxsplit=9)[8]) / os.sysconf('SC_CLK_TCK')


# ---- what the results belong to ----

def version(argv, pattern):
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return re.search(pattern, done.stdout + done.stderr)[1]


def system():
    try:
        return platform.freedesktop_os_release()['PRETTY_NAME']
    except OSError:
        return platform.system()


def machine():
    """The machine and the versions of the programs."""
    model = re.search(r'^model name\s*: (.*)$', read_file('/proc/cpuinfo'), re.M)
    return {'cpu': model[1] if model else platform.machine(), 'cores': os.cpu_count(),
            'kernel': platform.release().split('-')[0], 'system': system(),
            'haproxy': version(['haproxy', '-v'], r'version (\S+)'),
            'nginx': version(['nginx', '-v'], r'nginx/(\S+)'),
            'openssl': version(['openssl', 'version'], r'OpenSSL (\S+)'),
            'load': os.getloadavg()[0]}


def commit(root):
    done = subprocess.run(['git', '-C', root, 'describe', '--always', '--dirty'], capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() or 'unknown'


def build(tree, programs):
    """Builds the programs {name: path} in the tree of a release build; their paths."""
    subprocess.run(['ninja', '-C', tree, '--quiet', *programs.values()], check=True)
    done = subprocess.run(['meson', 'introspect', '--buildoptions', tree], capture_output=True, text=True, check=True)
    kinds = {o['name']: o['value'] for o in json.loads(done.stdout)}
    if kinds['buildtype'] != 'release' or kinds['b_sanitize'] != 'none':
        raise LabError(f'{tree} is no release build')
    return {name: os.path.join(tree, path) for name, path in programs.items()}
