# SPDX-License-Identifier: Apache-2.0
"""The load: wrk for as much as possible, h2load for HTTP/2 and for a fixed rate, and sockets of our own."""
import concurrent.futures
import math
import os
import re
import socket
import subprocess
import time

from lab import REALTIME_PRIORITY, SERVER_CPU, LabError, write_file
from subjects import H2C, PORTS, SECURE, SERVICE, prefix

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


def wrk(title, seconds, clients, realtime, *, close=False, script=None, secure=False):
    """(requests, seconds, p50, p99) with as many requests as the subject answers; times in us."""
    place = f'https://127.0.0.1:{PORTS[title] + SECURE}' if secure else f'http://127.0.0.1:{PORTS[title]}'
    argv = ['wrk', '-t1', f'-c{clients}', f'-d{seconds}s', '--latency', f'{place}/item']
    argv += ['-H', 'Connection: close'] if close else []
    argv += ['-s', script] if script else []
    text = on_load_core(argv, realtime)
    if 'Socket errors' in text or 'Non-2xx' in text:
        raise LabError(f'{title}: {text}')
    requests, took = re.search(r'(\d+) requests in ([\d.]+\w+),', text).groups()
    shares = dict(re.findall(r'^\s+(\d+)%\s+(\S+)$', text, re.M))
    return int(requests), microseconds(took) / 1e6, microseconds(shares['50']), microseconds(shares['99'])


def h2load(title, seconds, clients, realtime, *, streams=10, secure=False):
    """(requests, seconds) over HTTP/2, with so many requests at once on each connection."""
    place = f'https://127.0.0.1:{PORTS[title] + SECURE}' if secure else f'http://127.0.0.1:{PORTS[title] + H2C}'
    return run_h2load(title, seconds, [f'-c{clients}', f'-m{streams}', f'{place}/item'], realtime)


def run_h2load(title, seconds, flags, realtime, least=0):
    """least: bytes of content of each answer; the status of a call that failed is 200, too."""
    text = on_load_core(['h2load', '-t1', f'-D{seconds}', *flags], realtime)
    counts = re.search(r'requests: (\d+) total, \d+ started, \d+ done, (\d+) succeeded, (\d+) failed, (\d+) errored', text)
    done, bad = int(counts[2]), int(counts[3]) + int(counts[4])
    content = int(re.search(r'traffic: .*\((\d+)\) data', text)[1])
    if not done or bad or content < done * least or 'Application protocol: h2' not in text:
        raise LabError(f'{title}: {text}')
    return done, seconds


def grpc_calls(title, seconds, clients, folder, size, realtime, streams=10):
    """The same for calls of gRPC with a message of so many bytes."""
    message = os.path.join(folder, 'message')
    with open(message, 'wb') as f:
        f.write(b'\0' + size.to_bytes(4, 'big') + b'x' * size)
    return run_h2load(title, seconds, [f'-c{clients}', f'-m{streams}', '-d', message, '-H', 'content-type: application/grpc',
                                       '-H', 'te: trailers', f'http://127.0.0.1:{PORTS[title] + H2C}/{SERVICE}/Get'], realtime, size + 5)


def resumed(title, seconds, clients, realtime):
    """(requests, seconds): a connection for each request, each of which resumes a session, of TLS 1.2, as s_time can it."""
    argv = ['openssl', 's_time', '-connect', f'127.0.0.1:{PORTS[title] + SECURE}', '-www', '/item', '-reuse', '-tls1_2', '-time',
            str(seconds)]
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        texts = list(pool.map(lambda _: on_load_core(argv, realtime), range(clients)))
    done = sum(int(re.search(r'(\d+) connections in \d+ real seconds', text)[1]) for text in texts)
    if any(re.search(r'\*{3,}|n{3,}|t{3,}', text) for text in texts):
        raise LabError(f'{title}: sessions were not resumed: {texts[0]}')
    return done, time.monotonic() - began


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
