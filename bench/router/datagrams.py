# SPDX-License-Identifier: Apache-2.0
"""Datagrams: maglev-router beside nginx, with volley (bench/volley) as clients and server. HAProxy passes on none."""
import json
import os
import re
import statistics

from lab import SERVER_CPU, SUBJECT_CPU, LabError, Process, read_file, write_file
from load import on_load_core

SERVER_PORT = 8070
PORTS = {'maglev-router': 8071, 'nginx': 8072}
MODULE = '/usr/lib/nginx/modules/ngx_stream_module.so'
# what: sources, datagrams under way of each, bytes, whether each datagram has a new source
LOADS = {'udp': (64, 1, 100, False),
         'udp burst': (16, 32, 1200, False),
         'udp large': (16, 1, 8000, False),
         'udp new': (64, 1, 100, True)}


def has_socket(port):
    wanted = f':{port:04X}'
    return any(line.split()[1].endswith(wanted) for line in read_file('/proc/self/net/udp').splitlines()[1:])


class Router(Process):
    title = 'maglev-router'
    threaded = True

    def __init__(self, program, answers, folder, realtime):
        config = os.path.join(folder, 'udp.json')
        write_file(config, json.dumps({
            'listeners': [{'name': 'udp', 'address': f'127.0.0.1:{PORTS[self.title]}', 'protocol': 'udp'}],
            'streams': [{'name': 'udp', 'listeners': ['udp'], 'pool': 'servers', 'answers': answers}],
            'pools': [{'name': 'servers', 'servers': [f'127.0.0.1:{SERVER_PORT}']}]}))
        super().__init__([program, '--config', config, '--threads', '1', '--admin-addr', '127.0.0.1:9902', '--grpc-addr', '',
                          '--log-level', 'warn'], SUBJECT_CPU, os.path.join(folder, 'udp.log'), realtime)
        self.wait_until(lambda: has_socket(PORTS[self.title]), 'listening')


class Nginx(Process):
    title = 'nginx'

    def __init__(self, answers, folder, realtime):
        config = os.path.join(folder, 'nginx-udp.conf')
        ends = f'proxy_responses {answers};' if answers else ''
        write_file(config, f'''load_module {MODULE}; daemon off; master_process off; pid {folder}/nginx-udp.pid;
events {{ worker_connections 19000; }}
stream {{ server {{ listen 127.0.0.1:{PORTS[self.title]} udp rcvbuf=4m; proxy_pass 127.0.0.1:{SERVER_PORT}; proxy_timeout 60s; {ends} }} }}
''')
        super().__init__(['nginx', '-e', os.path.join(folder, 'nginx-udp.log'), '-c', config], SUBJECT_CPU,
                         os.path.join(folder, 'nginx-udp.out'), realtime)
        self.wait_until(lambda: has_socket(PORTS[self.title]), 'listening')


class Echo(Process):
    def __init__(self, program, folder, realtime):
        super().__init__([program, 'serve', str(SERVER_PORT)], SERVER_CPU, os.path.join(folder, 'volley.log'), realtime)
        self.wait_until(lambda: has_socket(SERVER_PORT), 'listening')


def flood(volley, process, seconds, load, realtime):
    """{rate, cpu in us, lost, busy}: of datagrams that were answered."""
    sources, window, size, fresh = load
    before = process.cpu()[0]
    text = on_load_core([volley, 'ask', str(PORTS[process.title]), str(sources), str(window), str(size), str(seconds),
                         *(['new'] if fresh else [])], realtime)
    cpu = process.cpu()[0] - before
    answers, took, lost = re.fullmatch(r'(\d+) answers in ([\d.]+) s, (\d+) lost\n', text).groups()
    answers, took = int(answers), float(took)
    if not answers:
        raise LabError(f'{process.title}: no answers: {text}')
    return {'rate': answers / took, 'cpu': cpu / answers * 1e6, 'lost': int(lost) / answers, 'busy': cpu / took}


def measure(options, folder, name):
    """{title: [result]} of all rounds, in turn."""
    load = LOADS[name]
    answers = 1 if load[3] else 0
    with Echo(options.volley, folder, options.realtime), \
            Router(options.router, answers, folder, options.realtime) as ours, \
            Nginx(answers, folder, options.realtime) as nginx:
        results = {ours.title: [], nginx.title: []}
        for process in (ours, nginx):
            flood(options.volley, process, 1, load, options.realtime)
        for _ in range(options.rounds):
            for process in (ours, nginx):
                results[process.title].append(flood(options.volley, process, options.window, load, options.realtime))
    return results


def middle(rounds):
    return {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}
