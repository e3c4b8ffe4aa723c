# SPDX-License-Identifier: Apache-2.0
"""The load: wrk for as much as possible, h2load for a fixed rate, and sockets of our own that do nothing."""
import math
import os
import re
import socket
import subprocess

from lab import REALTIME_PRIORITY, SERVER_CPU, LabError, write_file
from subjects import PORTS, prefix

UNITS = {'us': 1, 'ms': 1e3, 's': 1e6}
SCRIPT = '''local paths = {{ {paths} }}
local requests, at = {{}}, 0
init = function()
   for i, path in ipairs(paths) do requests[i] = wrk.format("GET", path) end
end
request = function()
   at = at % #requests + 1
   return requests[at]
end
'''


def on_load_core(argv, realtime):
    def prepare():
        os.sched_setaffinity(0, SERVER_CPU)
        if realtime:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))

    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, preexec_fn=prepare)
    if done.returncode != 0:
        raise LabError(f'{argv[0]}: {done.stdout}{done.stderr}')
    return done.stdout


def microseconds(text):
    number, unit = re.fullmatch(r'([\d.]+)(us|ms|s)', text).groups()
    return float(number) * UNITS[unit]


def wrk_script(routes, folder):
    """Asks for 100 of the routes in turn."""
    path = os.path.join(folder, 'paths.lua')
    chosen = [prefix(i * max(routes // 100, 1) % routes) + 'item' for i in range(100)]
    write_file(path, SCRIPT.format(paths=', '.join(f'"{p}"' for p in chosen)))
    return path


def wrk(title, seconds, clients, realtime, *, close=False, script=None):
    """(requests, seconds, p50, p99) with as many requests as the subject answers; times in us."""
    argv = ['wrk', '-t1', f'-c{clients}', f'-d{seconds}s', '--latency', f'http://127.0.0.1:{PORTS[title]}/item']
    argv += ['-H', 'Connection: close'] if close else []
    argv += ['-s', script] if script else []
    text = on_load_core(argv, realtime)
    if 'Socket errors' in text or 'Non-2xx' in text:
        raise LabError(f'{title}: {text}')
    requests, took = re.search(r'(\d+) requests in ([\d.]+\w+),', text).groups()
    shares = dict(re.findall(r'^\s+(\d+)%\s+(\S+)$', text, re.M))
    return int(requests), microseconds(took) / 1e6, microseconds(shares['50']), microseconds(shares['99'])


def at_rate(title, seconds, clients, rate, folder, realtime):
    """(p50, p99, p99.9) in us of requests at a fixed rate."""
    log = os.path.join(folder, 'h2load.log')
    on_load_core(['h2load', '--h1', '-t1', f'-c{clients}', f'-D{seconds}', f'--rps={rate / clients:g}', f'--log-file={log}',
                  f'http://127.0.0.1:{PORTS[title]}/item'], realtime)
    with open(log, encoding='ascii') as f:
        rows = [line.split() for line in f]
    os.unlink(log)
    if not rows or any(status != '200' for _, status, _ in rows):
        raise LabError(f'{title}: answers other than 200')
    times = sorted(int(took) for _, _, took in rows)
    return [times[math.ceil(len(times) * share) - 1] for share in (.5, .99, .999)]


def idle_clients(title, n):
    """Connections that have got one answer and then say nothing."""
    request = b'GET /item HTTP/1.1\r\nHost: bench\r\n\r\n'
    clients = []
    for _ in range(n):
        s = socket.create_connection(('127.0.0.1', PORTS[title]))
        s.sendall(request)
        head = b''
        while b'\r\n\r\n' not in head:
            head += s.recv(65536)
        clients.append(s)
    return clients
