# SPDX-License-Identifier: Apache-2.0
"""tools/run-lab, which `make run` calls: what it prints works, and nothing of it stays."""
import collections
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import urllib.request

import pytest

from lab import BUILD, VIPS4, program, until
from lab.programs import RELEASE, ROOT
from lab.net import Namespace
from lab.wait import PATIENCE

RUN_LAB = os.path.join(ROOT, 'tools/run-lab')


@pytest.fixture
def namespace():
    """The lab has fixed ports on loopback addresses: it gets a loopback of its own."""
    it = Namespace('l')
    yield it
    it.delete()


@pytest.fixture
def start(namespace):
    """Labs without packets, each ended with the test, whatever became of it."""
    labs = []
    yield lambda *prefix: labs.append(Lab(*namespace.command(*prefix, RUN_LAB), '--no-packets')) or labs[-1]
    for lab in labs:
        lab.end()


@pytest.fixture
def packets(can_forward):
    """Labs with packets, two at once if need be."""
    labs = []
    yield lambda: labs.append(Lab(RUN_LAB)) or labs[-1]
    for lab in labs:
        lab.end()


class Lab:
    def __init__(self, *command):
        self.process = subprocess.Popen([*command, '--maglevd', program()], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env={**os.environ, 'MAGLEV_BUILD': BUILD})
        self.text = ''
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.text += line

    def wait(self, pattern, times=1):
        def look():
            found = list(re.finditer(pattern, self.text))[times - 1:]
            assert found or self.process.poll() is None, f'no {pattern} in\n{self.text}'
            return found
        return until(look, what=pattern)[0]

    def run(self, label, more=''):
        """What the lab says to try under that label, as it stands, in a shell; more: words behind it."""
        program('maglevc', RELEASE)  # which the shell finds in build/bin
        first = self.wait(r'first +(export .*)')[1]
        command = re.split(r' {4}\(', self.wait(rf'\n    {label} +(\S.*)')[1])[0]
        return command, subprocess.run(['bash', '-ec', f'{first}\n{command} {more}'], capture_output=True, text=True,
                                       timeout=PATIENCE)

    def paste(self, label, more=''):
        """The same, and it has to work; what it wrote."""
        command, done = self.run(label, more)
        assert done.returncode == 0 and not done.stderr, f'{command}: {done}'
        return done.stdout

    def who(self):
        """How often each server answers."""
        return collections.Counter({name: int(n) for n, name in re.findall(r'(\d+) (\w+)', self.paste('who answers'))})

    def end(self, number=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM], ids=['Ctrl-C', 'SIGTERM'])
def test_the_lab_does_what_it_says_and_takes_everything_with_it(number, namespace, start):
    """make run: a server dies and fails over, a broken reload is told, the end is the end of all"""
    lab = start()
    folder = lab.wait(r'touch (\S+)/web3\.broken')[1]
    curl = lab.wait(r'curl -s http://(\S+)/metrics')
    lab.wait('warmup-released')
    seen = subprocess.run(namespace.command('curl', '-s', f'http://{curl[1]}/metrics'), capture_output=True, text=True)
    assert 'maglev_backend_state{backend="web4",state="up"} 1' in seen.stdout
    dashboard = lab.wait(r'the dashboard +(http://\S+/view/)')[1]
    until(lambda: '"connected":true' in subprocess.run(namespace.command('curl', '-s', dashboard + 'api/maglevds'),
                                                       capture_output=True, text=True).stdout, what='the dashboard')
    os.kill(int(lab.wait(r'web1 serves as process (\d+)')[1]), signal.SIGTERM)
    lab.wait(r'backend-transition +backend=web1 +from=up +to=down +code=L4CON')
    with open(f'{folder}/lab.yaml', 'a', encoding='ascii') as file:
        file.write('nonsense: 1\n')
    os.kill(int(lab.wait(r'kill -HUP (\d+)')[1]), signal.SIGHUP)
    lab.wait(r'config-error .*key=nonsense')

    daemon = int(lab.wait(r'kill -HUP (\d+)')[1])
    started = [int(pid) for pid in re.findall(r'serves as process (\d+)', lab.text)] + [daemon]
    assert lab.end(number) == 0
    assert not os.path.exists(folder)
    until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in started), what='the end of all')


def test_a_second_lab_says_why_it_cannot_start(start):
    first = start()
    first.wait('The lab is up')
    second = start()
    assert second.process.wait(PATIENCE) == 1
    assert 'is another lab running?' in second.text
    assert first.end() == 0


def test_without_root_it_says_what_it_needs_and_goes_without_packets(start):
    may_read = '+dac_read_search'  # the tree may be where only root may look
    lab = start('setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--inh-caps', may_read,
                '--ambient-caps', may_read)
    lab.wait('a lab with packets needs root')
    lab.wait('warmup-released')
    assert lab.end() == 0


def left_behind(pid):
    """What a lab of that process has on this machine."""
    with open('/proc/self/mounts', encoding='utf-8') as mounts:
        found = re.findall(rf'\S*/mgl{pid}-\S*', mounts.read())
    return found + [name for folder in ('/run/netns', tempfile.gettempdir()) for name in os.listdir(folder)
                    if name.startswith(f'mgl{pid}-')]


def dashboard(lab):
    """What it shows of the lab's maglevd, asked from outside of the namespaces."""
    url = lab.wait(r'the dashboard +(http://\S+/view/)')[1] + 'api/state/lab'

    def read():
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            state = json.load(answer)
        return state['frontends'] and state

    return until(read, what='frontends in the dashboard')


def test_packets_go_where_the_lab_says(packets):
    """make run as root: each thing to try is pasted as it was printed"""
    lab = packets()
    lab.wait('warmup-released')
    lab.wait('lb-sync-vip')
    assert 'answers 10.0.1.2 as ' + VIPS4[0] in lab.paste('a request')
    before = lab.who()
    assert set(before) == {'web1', 'web2', 'web3'} and before.total() == 100
    assert 'www6' in lab.paste('a look')
    assert {one['name'] for one in dashboard(lab)['frontends']} == {'www', 'www6'}
    assert 'maglev_lbsync' in lab.paste('the metrics')
    until(lambda: '10.0.11.2' in lab.run('packets')[1].stdout, what='a reading of the counters')

    lab.paste('a drain')
    until(lambda: set(lab.who()) == {'web1', 'web3'}, what='the drain of web2')
    lab.paste('a shift')
    until(lambda: lab.who()['web1'] < before['web1'] + before['web2'], what='the shift from web1 to web3')

    lab.paste('without maglevd')
    lab.wait('maglevd ended with 0')
    back, answers = '-- maglevd runs as process', []
    # from ports of their own: where a port comes again so does its flow, and those of web2 last longer than its drain
    while len(answers) < 100 and back not in lab.text:
        answers.append(lab.paste('a request', f'--local-port {61000 + len(answers)}').split()[0])
    assert set(answers) == {'web1', 'web3'} and len(answers) > 10, answers
    lab.wait(back)
    lab.paste('a dead server')
    lab.wait('web1 ended')
    lab.wait(r'xdp-open .*adopted')
    lab.wait('backend=web1 +from=unknown +to=')


def test_a_failover_and_the_end_of_all(packets):
    """All three of the first pool hang: the fourth answers; two labs at once; and nothing of them stays"""
    lab, other = packets(), packets()
    for one in lab, other:
        one.wait('warmup-released')
        one.wait('lb-sync-vip')
    lab.paste('a failover')
    lab.wait(r'backend=web\d +from=up +to=down', 3)
    until(lambda: set(lab.who()) == {'web4'}, what='the answer of web4 alone')
    assert set(lab.who()) == {'web4'}
    assert set(other.who()) == {'web1', 'web2', 'web3'}
    pids = [one.process.pid for one in (lab, other)]
    assert all(left_behind(pid) for pid in pids)
    assert lab.end(signal.SIGINT) == 0 and other.end(signal.SIGTERM) == 0
    assert not [left_behind(pid) for pid in pids if left_behind(pid)]


def test_a_lab_that_was_killed_leaves_what_the_next_one_sweeps_away(packets):
    lab = packets()
    lab.wait('The lab is up')
    children = [int(pid) for pid in re.findall(r'process (\d+)', lab.text)]
    lab.process.kill()
    lab.process.wait()
    until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in children), what='the end of its processes')
    packets().wait('The lab is up')
    assert not left_behind(lab.process.pid)
