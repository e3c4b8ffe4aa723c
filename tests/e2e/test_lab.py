# SPDX-License-Identifier: Apache-2.0
"""tools/run-lab, which `make run` calls: what it prints works, and nothing of it stays."""
import os
import re
import signal
import subprocess
import threading

import pytest

from lab import program, until
from lab.maglevd import ROOT
from lab.net import Namespace
from lab.wait import PATIENCE


@pytest.fixture
def namespace():
    """The lab has fixed ports on loopback addresses: it gets a loopback of its own."""
    it = Namespace('l')
    yield it
    it.delete()


@pytest.fixture
def start(namespace):
    """Labs, each ended with the test, whatever became of it."""
    labs = []
    yield lambda: labs.append(Lab(namespace)) or labs[-1]
    for lab in labs:
        if lab.process.poll() is None:
            lab.process.send_signal(signal.SIGINT)
            lab.process.wait(PATIENCE)


class Lab:
    def __init__(self, namespace):
        command = namespace.command(os.path.join(ROOT, 'tools/run-lab'), '--maglevd', program())
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.text = ''
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.text += line

    def wait(self, pattern):
        return until(lambda: re.search(pattern, self.text), what=f'{pattern} in\n{self.text}')


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM], ids=['Ctrl-C', 'SIGTERM'])
def test_the_lab_does_what_it_says_and_takes_everything_with_it(number, namespace, start):
    """make run: a server dies and fails over, a broken reload is told, the end is the end of all"""
    lab = start()
    folder = lab.wait(r'touch (\S+)/web3\.broken')[1]
    curl = lab.wait(r'curl -s http://(\S+)/metrics')
    lab.wait('warmup-released')
    seen = subprocess.run(namespace.command('curl', '-s', f'http://{curl[1]}/metrics'), capture_output=True, text=True)
    assert 'maglev_backend_state{backend="web4",state="up"} 1' in seen.stdout
    os.kill(int(lab.wait(r'web1 serves as process (\d+)')[1]), signal.SIGTERM)
    lab.wait(r'backend-transition +backend=web1 +from=up +to=down +code=L4CON')
    with open(f'{folder}/lab.yaml', 'a', encoding='ascii') as file:
        file.write('nonsense: 1\n')
    os.kill(int(lab.wait(r'kill -HUP (\d+)')[1]), signal.SIGHUP)
    lab.wait(r'config-error .*key=nonsense')

    daemon = int(lab.wait(r'kill -HUP (\d+)')[1])
    started = [int(pid) for pid in re.findall(r'serves as process (\d+)', lab.text)] + [daemon]
    lab.process.send_signal(number)
    assert lab.process.wait(PATIENCE) == 0
    assert not os.path.exists(folder)
    until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in started), what='the end of all')


def test_a_second_lab_says_why_it_cannot_start(start):
    first = start()
    first.wait('The lab is up')
    second = start()
    assert second.process.wait(PATIENCE) == 1
    assert 'is another lab running?' in second.text
    first.process.send_signal(signal.SIGINT)
    assert first.process.wait(PATIENCE) == 0
