# SPDX-License-Identifier: Apache-2.0
"""The lab of `make run`: servers that are restarted when they end, maglevd, its log, and what to try.

Two kinds: Loopback needs nothing and forwards nothing; Packets is a Fabric with maglevd on XDP. A kind has its
servers by name in .servers, starts them, and prints hints once maglevd listens.
"""
import functools
import http.server
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from lab.fabric import VIPS4, VIPS6, Fabric, child
from lab.programs import ROOT, program
from lab.window import Window

RESTART = 10  # s after which a killed process is started again, as a supervisor would do
COLOURS = {'DEBUG': '2', 'INFO': '0', 'WARN': '33', 'ERROR': '31'}

say = functools.partial(print, flush=True)


def example(name):
    with open(os.path.join(ROOT, 'deploy/examples', name), encoding='utf-8') as file:
        return file.read()


class Handler(http.server.BaseHTTPRequestHandler):
    """Healthy unless the file `broken` exists."""

    def do_GET(self):
        sick = os.path.exists(self.broken)
        body = f'{"broken" if sick else "ok"}: this is {self.name}\n'.encode()
        self.send_response(503 if sick else 200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve(name, address, port, broken):
    """A server of Loopback, as a separate process."""
    Handler.name, Handler.broken, Handler.log_message = name, broken, lambda *_: None
    try:
        server = http.server.ThreadingHTTPServer((address, int(port)), Handler)
    except OSError as error:
        sys.exit(f'run-lab: {name} cannot listen on {address}:{port}: {error.strerror}; is another lab running?')
    server.handle_error = lambda *_: None  # probes reset their connections
    say('ready')
    server.serve_forever()


class Demo:
    def __init__(self, maglevd, folder, text):
        self.maglevd, self.folder = maglevd, folder
        self.config = os.path.join(folder, 'lab.yaml')
        with open(self.config, 'w', encoding='utf-8') as file:
            file.write(text)
        self.servers, self.daemon, self.window = {}, None, None
        self.ready, self.over = queue.Queue(), threading.Event()

    def mind(self, name):
        """Restarts one server whenever it ends, in a thread of its own."""
        while not self.over.is_set():
            self.servers[name] = process = self.start(name)
            ready = process.stdout.readline()
            if ready:
                say(f'-- {name} serves as process {process.pid}')
            self.ready.put(ready)
            process.wait()
            if ready and not self.over.is_set():
                say(f'-- {name} ended; it is started again in {RESTART} s')
            self.over.wait(RESTART)

    def show_log(self):
        listening = {}
        for raw in self.daemon.stdout:
            line = json.loads(raw)
            fields = '  '.join(f'{k}={v}' for k, v in line.items() if v and k not in ('time', 'level', 'msg'))
            text = f'{line["time"][11:23]} {line["level"]:5} {line["msg"]:18}  {fields}'
            say(f'\033[{COLOURS[line["level"]]}m{text}\033[0m' if sys.stdout.isatty() else text)
            if line['msg'] == 'listening':
                listening[line['for']] = line['addr']
                if len(listening) == 2 and not self.window:
                    self.window = Window(listening['grpc'], self.balancer)
                    say(self.tell(pids={name: server.pid for name, server in self.servers.items()}, **listening))

    def run(self):
        for name in self.names:
            threading.Thread(target=self.mind, args=(name,), daemon=True).start()
            if not self.ready.get():
                return 1
        return self.run_daemon()

    def end(self):
        self.over.set()
        for process in [*self.servers.values(), self.daemon, self.window and self.window.process]:
            if process and process.poll() is None:
                process.send_signal(signal.SIGCONT)  # first: LeakSanitizer stops an ending process
                process.terminate()
                process.wait()


class Loopback(Demo):
    balancer = None  # no namespace of its own

    def __init__(self, maglevd):
        text = example('lab.yaml')
        super().__init__(maglevd, tempfile.mkdtemp(prefix='maglev-lab.'), text)
        self.port = re.search(r'^ +port: (\d+)', text, re.M)[1]
        self.addresses = dict(re.findall(r'^ +(\w+): \{ address: ([\d.]+)', text, re.M))
        self.names = list(self.addresses)

    def start(self, name):
        return child([sys.executable, os.path.join(ROOT, 'tools/run-lab'), '--serve', name, self.addresses[name],
                      self.port, os.path.join(self.folder, name + '.broken')], stdout=subprocess.PIPE)

    def run_daemon(self):
        self.daemon = child([self.maglevd, '--config', self.config, '--metrics-addr', '127.0.0.1:0', '--grpc-addr',
                             '127.0.0.1:0'], stdout=subprocess.PIPE)
        self.show_log()
        return self.daemon.wait()

    def tell(self, pids, metrics, grpc):
        return f'''
  The lab is up: {', '.join(pids)} on port {self.port} of {self.addresses['web1']} and up,
  and maglevd as process {self.daemon.pid}.
  Its log follows below. In another terminal try:

    first             export MAGLEV_SERVER={grpc} PATH=$PWD/build/bin:$PATH
    a look            maglevc show frontends;  maglevc show backends web1;  maglevc show lb state
    the dashboard     {self.window.tell()}
    what happens      maglevc watch events
    a shell           maglevc    (Tab completes, ? helps)
    a drain           maglevc set backend web2 pause reason "new disk" for 10m    (resume ends it)
    a shift           maglevc set frontend www pool primary backend web1 weight 20
    the metrics       curl -s http://{metrics}/metrics | grep -E 'backend_state|effective_weight' | grep -v ' 0$'
    a dead server     kill {pids['web1']}    (web1; back after {RESTART} s)
    a hung server     kill -STOP {pids['web2']}    (web2; kill -CONT {pids['web2']} heals it)
    a lying server    touch {self.folder}/web3.broken    (503; rm heals it)
    a failover        kill -STOP {' '.join(str(pids[n]) for n in ('web1', 'web2', 'web3'))}    (web4 takes over)
    a reload          edit {self.config}, then maglevc config check and maglevc config reload,
                      or kill -HUP {self.daemon.pid}
                      (break the file, too: nothing changes, and the log says where the mistake is)
    a check           {os.path.relpath(self.maglevd)} --check --config {self.config}

  Ctrl-C ends it all.
'''

    def end(self):
        super().end()
        shutil.rmtree(self.folder, ignore_errors=True)


class Packets(Demo):
    """maglevd is restarted, too; packets are forwarded meanwhile."""

    def __init__(self, maglevd):
        self.fabric = Fabric()
        self.balancer = self.fabric.balancers[0]
        super().__init__(maglevd, self.fabric.folder,
                         re.sub(r'pin: \S+', f'pin: {self.balancer.pins}', example('lab-xdp.yaml')))
        self.by_name = {server.label: server for server in self.fabric.servers}
        self.names = list(self.by_name)
        self.write_commands()

    def write_commands(self):
        """Scripts that run commands in the namespaces of the client and of the balancer."""
        programs = {'client': self.fabric.client.command(), 'balancer': self.balancer.command(),
                    'maglevc': self.balancer.command(program('maglevc'))}
        os.mkdir(os.path.join(self.folder, 'bin'))
        for name, command in programs.items():
            path = os.path.join(self.folder, 'bin', name)
            with open(path, 'w', encoding='utf-8') as file:
                file.write(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
            os.chmod(path, 0o755)

    def start(self, name):
        return self.by_name[name].start().process

    def run_daemon(self):
        while not self.over.is_set():
            self.daemon = child(self.balancer.command(self.maglevd, '--config', self.config, '--metrics-addr',
                                                      '127.0.0.1:9091', '--grpc-addr', '127.0.0.1:9090'),
                                stdout=subprocess.PIPE)
            if self.window:
                say(f'-- maglevd runs as process {self.daemon.pid}')
            self.show_log()
            status = self.daemon.wait()
            if not self.window:
                return status
            say(f'-- maglevd ended with {status}; it is started again in {RESTART} s')
            self.over.wait(RESTART)
        return 0

    def tell(self, pids, metrics, grpc):
        url = f'http://{VIPS4[0]}/'
        return f'''
  The lab is up: a client, a router, a balancer with maglevd as process {self.daemon.pid},
  and behind it {', '.join(pids)}, each in a network namespace of its own.
  The log of maglevd follows below. In another terminal, as root, try:

    first             export PATH={self.folder}/bin:$PATH
                      client and balancer run a command in their namespaces
    a request         client curl -s {url}    (or http://[{VIPS6[0]}]/)
    who answers       for i in $(seq 100); do client curl -sm1 {url}; done | cut -d' ' -f1 | sort | uniq -c
    a look            maglevc show frontends;  maglevc show backends web1;  maglevc show lb state
    packets           maglevc show lb counters    (read every 5 s)
    the dashboard     {self.window.tell()}
    what happens      maglevc watch events
    a shell           maglevc    (Tab completes, ? helps)
    the metrics       balancer curl -s http://{metrics}/metrics | grep lbsync
    a dead server     kill {pids['web1']}    (web1; ask who answers; it is back after {RESTART} s)
    a hung server     kill -STOP {pids['web2']}    (web2; kill -CONT {pids['web2']} heals it)
    a failover        kill -STOP {' '.join(str(pids[n]) for n in ('web1', 'web2', 'web3'))}    (web4 takes over)
    a download        client curl -s --limit-rate 1M {url}bytes/60000000 | wc -c
                      (takes a minute, and survives all of the following)
    a drain           maglevc set backend web2 pause reason "new disk" for 10m
                      (new requests go elsewhere; maglevc set backend web2 resume)
    a shift           maglevc set frontend www pool primary backend web1 weight 20
    without maglevd   kill {self.daemon.pid}    (packets go on; it is back after {RESTART} s and takes up where it was)
    a reload          edit {self.config}, then maglevc config check and maglevc config reload

  Ctrl-C ends it all.
'''

    def end(self):
        super().end()
        self.fabric.close()
