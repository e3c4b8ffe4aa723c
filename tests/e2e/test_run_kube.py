# SPDX-License-Identifier: Apache-2.0
"""tools/run-kube, which `make run-kube` calls: what it prints works, and nothing of it stays."""
import base64
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import urllib.request

import pytest

from lab import BUILD, until
from lab.kube import READY, servers
from lab.programs import ROOT
from lab.wait import PATIENCE


class Demo:
    def __init__(self):
        servers()  # where there is no cluster to be had, this is the place to say so
        self.process = subprocess.Popen([os.path.join(ROOT, 'tools/run-kube')], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env={**os.environ, 'MAGLEV_BUILD': BUILD})
        self.text = ''
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.text += line

    def wait(self, pattern, timeout=PATIENCE):
        def look():
            found = re.search(pattern, self.text)
            assert found or self.process.poll() is None, f'no {pattern} in\n{self.text}'
            return found
        return until(look, timeout, pattern)

    def paste(self, label):
        """What the demo says to try under that label, as it stands, in a shell; it has to work."""
        first = self.wait(r'first +(export .*)')[1]
        command = re.split(r' {4}\(', self.wait(rf'\n    {label} +(\S.*)')[1])[0]
        done = subprocess.run(['bash', '-ec', f'{first}\n{command}'], capture_output=True, text=True, timeout=READY, check=False)
        assert done.returncode == 0, f'{command}: {done}'
        return done.stdout

    def get(self, path):
        with urllib.request.urlopen(self.wait(r'the page +(http://\S+)/')[1] + path, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(READY)


@pytest.fixture(scope='module')
def demo():
    """One for all stories, in their order: the last one ends it."""
    it = Demo()
    it.wait('The cluster is up', READY * 2)
    yield it
    it.end()


def children(pid):
    found = subprocess.run(['pgrep', '-P', str(pid)], capture_output=True, text=True, check=False).stdout.split()
    return found + [one for child in found for one in children(child)]


def left_behind(pid, folder):
    return [name for name in os.listdir('/run/netns') if name.startswith(f'mgl{pid}-')] + ([folder] if os.path.exists(folder) else [])


def test_the_mux_has_its_ports_and_page_and_api_are_reached_from_outside(demo):
    config = demo.wait(r'export KUBECONFIG=(\S+)')[1]
    assert '<div id="app">' in demo.get('/') or 'without its page' in demo.get('/')
    channels = {one['name']: one['ports'][0]['mux_port'] for one in json.loads(demo.get('/api/topology'))['maglev-system/edge']['channels']}
    assert channels == {'api': 80, 'web': 20001, 'admin': 20000, 'late': None}
    until(lambda: json.loads(demo.get('/api/state'))['endpoints']['app/api']['ready_count'] == 2, what='the endpoints')
    answer = json.loads(demo.get('/api/test-tcp?host=10.1.0.1&port=8080'))
    assert answer == {'success': True, 'message': 'Connected to 10.1.0.1:8080'}
    assert 'maglev_mux_ports' in demo.paste('the metrics')

    with open(config, encoding='utf-8') as file:
        read = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for key, text in (('ca', read['clusters'][0]['cluster']['certificate-authority-data']),
                          ('cert', read['users'][0]['user']['client-certificate-data']), ('key', read['users'][0]['user']['client-key-data'])):
            paths[key] = os.path.join(folder, key)
            with open(paths[key], 'wb') as file:
                file.write(base64.b64decode(text))
        context = ssl.create_default_context(cafile=paths['ca'])
        context.load_cert_chain(paths['cert'], paths['key'])
    url = read['clusters'][0]['cluster']['server'] + '/api/v1/namespaces/maglev-system/services/edge'
    with urllib.request.urlopen(url, timeout=PATIENCE, context=context) as answer:
        assert [port['port'] for port in json.load(answer)['spec']['ports']] == [80, 20000, 20001]


def test_each_thing_to_try_works_as_it_was_printed(demo):
    if not shutil.which('kubectl'):
        pytest.skip('there is no kubectl here')
    assert '203.0.113.10' in demo.paste('the mux')
    assert 'app/web' in demo.paste('its ports')
    assert '->20001' in demo.paste('a channel')
    until(lambda: 'MuxPortConflict' in demo.paste('why not'), what='the event')
    demo.paste('another port')
    demo.wait(r'MuxPortsChanged .*8081/TCP')
    demo.paste('a new channel')
    demo.wait(r'MuxPortsChanged .*20002/TCP')
    demo.paste('a pod goes')
    demo.wait(r'MuxEndpointsChanged .*Removed 1 endpoint\(s\): 10\.1\.0\.2:8080/TCP')
    assert '10.1.0.1' in demo.paste('the endpoints')
    assert '"portClaims"' in demo.paste('the state')
    assert 'app' in demo.paste('the API')


def test_nothing_stays_after_ctrl_c(demo):
    folder = os.path.dirname(demo.wait(r'export KUBECONFIG=(\S+)')[1])
    started = children(demo.process.pid)
    assert len(started) >= 4, 'etcd, kube-apiserver, kube-controller-manager, maglev-mux'
    assert demo.end(signal.SIGINT) == 0
    until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in started), what='the end of all')
    assert not left_behind(demo.process.pid, folder)
