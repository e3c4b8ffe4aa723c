# SPDX-License-Identifier: Apache-2.0
"""The lab of `make run`: servers that are restarted when they end, maglevd, its log, and what to try.

Two kinds: Loopback, in this file, needs nothing and forwards nothing; Packets (lab.packets) has two balancers on XDP. A
kind has its servers by name in .servers, starts them, and prints hints once all of it works.
"""
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

from lab.fabric import child
from lab.programs import ROOT, program
from lab.window import Window

RESTART = 10  # s after which a killed process is started again, as a supervisor would do
COLOURS = {'DEBUG': '2', 'INFO': '0', 'WARN': '33', 'ERROR': '31'}


def say(text=''):
    """Prints a line at once. Several threads do, so it is one write: print() makes two."""
    sys.stdout.write(f'{text}\n')
    sys.stdout.flush()


def example(name):
    with open(os.path.join(ROOT, 'deploy/examples', name), encoding='utf-8') as file:
        return file.read()


def line_text(line, label=''):
    """One line of a log for people; label: of the program that wrote it."""
    fields = '  '.join(f'{k}={v}' for k, v in line.items() if v and k not in ('time', 'level', 'msg'))
    text = f'{line["time"][11:23]} {label}{line["level"]:5} {line["msg"]:18}  {fields}'
    return f'\033[{COLOURS[line["level"]]}m{text}\033[0m' if sys.stdout.isatty() else text


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
    def __init__(self, folder):
        self.folder = folder
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
    def __init__(self):
        super().__init__(tempfile.mkdtemp(prefix='maglev-lab.'))
        text = example('lab.yaml')
        self.config = os.path.join(self.folder, 'lab.yaml')
        with open(self.config, 'w', encoding='utf-8') as file:
            file.write(text)
        self.port = re.search(r'^ +port: (\d+)', text, re.M)[1]
        self.addresses = dict(re.findall(r'^ +(\w+): \{ address: ([\d.]+)', text, re.M))
        self.names = list(self.addresses)

    def start(self, name):
        return child([sys.executable, os.path.join(ROOT, 'tools/run-lab'), '--serve', name, self.addresses[name],
                      self.port, os.path.join(self.folder, name + '.broken')], stdout=subprocess.PIPE)

    def run_daemon(self):
        self.daemon = child([program(), '--config', self.config, '--metrics-addr', '127.0.0.1:0', '--grpc-addr',
                             '127.0.0.1:0'], stdout=subprocess.PIPE)
        self.show_log()
        return self.daemon.wait()

    def show_log(self):
        listening = {}
        for raw in self.daemon.stdout:
            line = json.loads(raw)
            say(line_text(line))
            if line['msg'] == 'listening':
                listening[line['for']] = line['addr']
                if len(listening) == 2 and not self.window:
                    self.window = Window([f'lab={listening["grpc"]}'])
                    say(self.tell(pids={name: server.pid for name, server in self.servers.items()}, **listening))

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
    a check           {os.path.relpath(program())} --check --config {self.config}

  Ctrl-C ends it all.
'''

    def end(self):
        super().end()
        shutil.rmtree(self.folder, ignore_errors=True)
