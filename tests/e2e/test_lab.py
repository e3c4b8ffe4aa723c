# SPDX-License-Identifier: Apache-2.0
"""tools/run-lab, which `make run` calls: what it prints works, and nothing of it stays."""
import collections
import contextlib
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

BOOT = 3 * PATIENCE
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
        self.process = subprocess.Popen(list(command), stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env={**os.environ, 'MAGLEV_BUILD': BUILD})
        self.text = ''
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.text += line

    def wait(self, pattern, times=1, timeout=PATIENCE):
        def look():
            found = list(re.finditer(pattern, self.text))[times - 1:]
            assert found or self.process.poll() is None, f'no {pattern} in\n{self.text}'
            return found
        return until(look, timeout, pattern)[0]

    def wait_up(self):
        """With packets: two FRRs are configured by frr-reload.py, which takes seconds and more where others work."""
        return self.wait('The lab is up', timeout=BOOT)

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
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired as error:
            at = len(self.text)
            self.process.send_signal(signal.SIGUSR1)
            self.wait('most recent call first', timeout=PATIENCE)
            raise AssertionError(f'it does not end: {self.text[at:]}') from error


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM], ids=['Ctrl-C', 'SIGTERM'])
def test_the_lab_does_what_it_says_and_takes_everything_with_it(number, namespace, start):
    """make run: a server dies and fails over, a broken reload is told, the end is the end of all"""
    lab = start()
    folder = lab.wait(r'touch (\S+)/web3\.broken')[1]
    curl = lab.wait(r'curl -s http://(\S+)/metrics')
    lab.wait('warmup-released')
    until(lambda: 'maglev_backend_state{backend="web4",state="up"} 1' in subprocess.run(
        namespace.command('curl', '-s', f'http://{curl[1]}/metrics'), capture_output=True, text=True).stdout, what='web4 being up')
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
    until(lambda: 'is another lab running?' in second.text, what='what it said')  # which is read by a thread
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


def dashboard(lab, name):
    """What it shows of one of the lab's maglevds, asked from outside of the namespaces."""
    url = lab.wait(r'the dashboard +(http://\S+/view/)')[1] + f'api/state/{name}'

    def read():
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            state = json.load(answer)
        return state['frontends'] and state

    return until(read, what='frontends in the dashboard')


def wait_routes(lab, *ports):
    """Waits until the router sends packets for the VIP to exactly these balancers."""
    until(lambda: set(re.findall(r'dev (b\d)', lab.paste('the routes'))) == set(ports), BOOT, f'routes to {ports}')


def traffic(lab):
    """[(failed requests, open connections)] of each second so far."""
    with open(lab.wait(r'export PATH=(\S+)/bin:')[1] + '/traffic', encoding='ascii') as file:
        return [(int(failed), int(held)) for failed, held in re.findall(r'(\d+) failed, .* (\d+) of 50 ', file.read())]


def test_traffic_goes_on_while_a_balancer_is_dead(packets):
    """make run as root: each thing to try is pasted as it was printed"""
    lab = packets()
    lab.wait_up()
    wait_routes(lab, 'b1', 'b2')
    lab.paste('a dead balancer')
    wait_routes(lab, 'b2')
    assert lab.who().total() == 100
    lab.paste('and back')
    lab.wait('balancer 1 is started')
    wait_routes(lab, 'b1', 'b2')

    lab.paste('a drain of one')
    lab.wait('vip-transition .*to=draining', 2)
    wait_routes(lab, 'b2')
    lab.paste('a drain of one', '; lab undrain 1')
    wait_routes(lab, 'b1', 'b2')

    lab.wait('bgpd of balancer 1 runs as process', 2, BOOT)  # since it came back
    os.kill(int(re.findall(r'bgpd of balancer 1 runs as process (\d+)', lab.text)[-1]), signal.SIGKILL)
    lab.wait('bgpd of balancer 1 ended')
    wait_routes(lab, 'b1', 'b2')
    lab.wait('bgpd of balancer 1 runs as process', 3)
    wait_routes(lab, 'b1', 'b2')
    seconds = len(traffic(lab))
    until(lambda: len(traffic(lab)) > seconds + 1, what='another second of traffic')
    assert set(traffic(lab)) == {(0, 50)}


def test_packets_go_where_the_lab_says(packets):
    """Servers are drained, shifted and killed, on both balancers"""
    lab = packets()
    lab.wait_up()
    assert 'answers 10.0.1.2 as ' + VIPS4[0] in lab.paste('a request')
    before = lab.who()
    assert set(before) == {'web1', 'web2', 'web3'} and before.total() == 100
    assert 'www6' in lab.paste('a look')
    until(lambda: 'Status: up' in lab.paste('FRR itself'), what='BFD being up')
    for name in ('lb1', 'lb2'):
        assert {one['name'] for one in dashboard(lab, name)['frontends']} == {'www', 'www6', 'shop'}
    assert 'maglev_lbsync' in lab.paste('the metrics')
    until(lambda: '10.0.11.2' in lab.run('packets')[1].stdout, what='a reading of the counters')

    lab.paste('a drained server')
    until(lambda: set(lab.who()) == {'web1', 'web3'}, what='the drain of web2')
    lab.paste('a shift')
    until(lambda: lab.who()['web1'] < before['web1'] + before['web2'], what='the shift from web1 to web3')
    lab.paste('a dead server')
    lab.wait('web1 ended')
    until(lambda: set(lab.who()) == {'web3'}, what='the answer of web3 alone')


def test_the_way_is_explained_at_every_place_where_it_breaks(packets):
    """Each thing to try is pasted as it was printed, and explain says what it did"""
    lab = packets()
    lab.wait_up()

    def explain(label, *there):
        """Waits until the printed command says all of these; its exit code."""
        def look():
            done = lab.run(label)[1]
            assert done.returncode in (0, 1) and not done.stderr, done
            return done if all(one in done.stdout for one in there) else None
        return until(look, BOOT, f'{label}: {there}').returncode

    assert explain('the way', 'balancer 10.0.2.2', 'balancer 10.0.3.2', 'backend web1 10.0.11.2', '\nwhole\n') == 0
    until(lambda: re.search(r'frontend www .*[1-9]\d*\.\d packets +0\.0', lab.run('the way')[1].stdout), BOOT, 'packets a second')
    assert explain('of a request', 'router 10.0.15.2 http', 'route api', 'server 10.0.13.2:80', '\nwhole\n') == 0
    assert explain('no route', 'the request is answered with 404: no route matches') == 1
    assert re.match(r'web[34] answers 10\.0\.15\.2 ', lab.paste('by host and path'))
    url = lab.wait(r'the dashboard +(http://\S+/view/)')[1] + 'api/way?q=shop.example%2Fapi%2Fcart'

    def is_whole():
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            way = json.load(answer)
        return way['whole'] and {one['place'] for one in way['steps']} >= {'lb1', 'lb2', 'rt1'}
    until(is_whole, what='the same way in the dashboard')

    lab.wait('maglev-router of rt1 runs as process')
    lab.paste('a dead router')
    lab.wait('maglev-router of rt1 ended')
    assert explain('of a request', 'no router that answers was asked') == 1
    lab.wait('maglev-router of rt1 runs as process', 2)
    assert explain('of a request', '\nwhole\n') == 0

    lab.paste('a dead server')
    assert explain('the way', 'web1', 'down for', 'L4CON', '\nwhole\n') == 0
    lab.paste('a drain of all')
    assert explain('the way', f'nobody announces {VIPS4[0]}: 10.0.2.2, 10.0.3.2: withdrawn: drained') == 1
    lab.paste('a drain of all', '; lab undrain 1; lab undrain 2')
    assert explain('the way', '\nwhole\n') == 0


def test_a_failover_and_the_end_of_all(packets):
    """All three of the first pool hang: the fourth answers; two labs at once; and nothing of them stays"""
    lab, other = packets(), packets()
    for one in lab, other:
        one.wait_up()
    lab.paste('a failover')
    lab.wait(r'backend=web\d +from=up +to=down', 6)  # three of each balancer
    until(lambda: set(lab.who()) == {'web4'}, what='the answer of web4 alone')
    assert set(lab.who()) == {'web4'}
    assert set(other.who()) == {'web1', 'web2', 'web3'}
    pids = [one.process.pid for one in (lab, other)]
    assert all(left_behind(pid) for pid in pids)
    assert lab.end(signal.SIGINT) == 0 and other.end(signal.SIGTERM) == 0
    assert not [left_behind(pid) for pid in pids if left_behind(pid)]


def born(pid):
    """When a process began, in ticks: a number of a process is used again. None if it has ended."""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
            fields = file.read().rpartition(')')[2].split()
    except OSError:
        return None
    return None if fields[0] in 'ZX' else fields[19]


def state_of(pid):
    """What a process does, for a message."""
    found = {}
    for name in ('status', 'wchan', 'stack'):
        with contextlib.suppress(OSError):
            with open(f'/proc/{pid}/{name}', encoding='utf-8', errors='replace') as file:
                found[name] = file.read()[:600]
    return found


def test_a_lab_that_was_killed_leaves_what_the_next_one_sweeps_away(packets):
    lab = packets()
    lab.wait_up()
    lab.wait('maglevd of balancer 2 runs as process')
    children = dict(re.findall(r'-- (.*) (?:serves|runs) as process (\d+)', lab.text))
    frr = {name: pid for name, pid in children.items() if re.match('zebra|staticd|bfdd|bgpd', name)}
    ours = children.keys() - frr.keys()
    assert len(ours) >= 8 and frr
    began = {name: born(pid) for name, pid in children.items()}

    def left(names):
        return [name for name in names if began[name] and born(children[name]) == began[name]]

    def wait_ended(names):
        with contextlib.suppress(AssertionError):
            until(lambda: not left(names))
        assert not left(names), [(name, state_of(children[name])) for name in left(names)]
    lab.process.kill()
    lab.process.wait()
    wait_ended(ours)
    packets().wait_up()
    wait_ended(frr)
    assert not left_behind(lab.process.pid)
