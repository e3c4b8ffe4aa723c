# SPDX-License-Identifier: Apache-2.0
"""maglevc at night: several servers, what they run, and what matters of long lists."""
import json
import os
import pwd
import re
import subprocess

import pytest

from lab import PATIENCE, SPARE, VIP, Check, config, frontend, pool, program
from lab.api import Maglevc

A, B = '10.99.0.11', '10.99.0.12'
FILE = config({'slow': Check('tcp', 1, 3600, 3600, 3600)},
              {'web1': A, 'web2': B, 'spare': SPARE, 'probed': ('10.99.0.13', 'slow')},
              {'www': frontend(VIP, pool('primary', 'web1', 'web2'), pool('fallback', 'spare')),
               'mail': frontend('198.51.100.11', pool('primary', 'spare'), port=25)}, dataplane='vpp')


@pytest.fixture
def two(start_api):
    return [start_api(FILE), start_api(FILE)]


def together(daemons, *flags):
    """maglevc with all of them."""
    client = Maglevc(0, *flags)
    client.command[2] = ','.join(f'127.0.0.1:{one if isinstance(one, int) else one.api_port}' for one in daemons)
    return client


def sections(text):
    """What each server has answered: {name: lines}."""
    shown = {}
    for line in text.splitlines():
        if line.startswith('==> '):
            lines = shown[line.split()[1]] = []
        else:
            lines.append(line)
    return shown


def test_several_servers_are_shown_and_changed_together(two):
    client = together(two)
    shown = sections(client.text('show', 'backends'))
    assert list(shown) == [f'127.0.0.1:{one.api_port}' for one in two]
    for lines in shown.values():
        assert [line.split()[0] for line in lines] == ['NAME', 'probed', 'spare', 'web1', 'web2']
    client.text('set', 'backend', 'web1', 'pause', 'reason', 'new disk')
    assert [one.api.backend('web1').override.reason for one in two] == ['new disk', 'new disk']
    document = client.json('show', 'backends', 'web1')
    assert [(one['server'], one['answer']['state']) for one in document['servers']] == \
        [(f'127.0.0.1:{one.api_port}', 'paused') for one in two]


def test_one_that_is_gone_does_not_hide_the_others(two):
    client = together([1, two[0]])
    done = client.run('show', 'backends')
    assert done.returncode == 3 and done.stderr.startswith('maglevc: cannot reach 127.0.0.1:1: ')
    assert list(sections(done.stdout)) == [f'127.0.0.1:{two[0].api_port}'] and 'web1' in done.stdout
    done = client.run('-o', 'json', 'show', 'backends')
    gone, there = json.loads(done.stdout)['servers']
    assert done.returncode == 3 and gone['error'].startswith('cannot reach') and 'answer' not in gone
    assert there['answer']['backends'] and 'error' not in there
    done = client.run('set', 'backend', 'web1', 'pause')
    assert done.returncode == 3 and two[0].api.backend('web1').state == 'paused'
    # and one that refuses
    two[0].api.call('DisableBackend', name='web2')
    done = together(two).run('set', 'backend', 'web2', 'pause')
    assert done.returncode == 1 and done.stderr.startswith(f'maglevc: 127.0.0.1:{two[0].api_port}: backend "web2" is disabled')
    assert two[1].api.backend('web2').state == 'paused'


def test_events_of_several_servers_are_told_apart(two):
    watch = subprocess.Popen([*together(two).command, 'watch', 'events', 'frontend', 'num', '4'], stdout=subprocess.PIPE, text=True)
    lines = [line.split() for line in watch.communicate(timeout=PATIENCE)[0].splitlines()]
    assert watch.returncode == 0 and len(lines) == 4
    assert {line[0] for line in lines} == {f'127.0.0.1:{one.api_port}' for one in two}
    assert all(line[2] == 'frontend' and line[3] in ('www', 'mail') for line in lines)
    lines = together(two).text('-ojson', 'watch', 'events', 'frontend', 'num', '4').splitlines()
    assert {json.loads(line)['server'] for line in lines} == {f'127.0.0.1:{one.api_port}' for one in two}
    assert all('frontend' in json.loads(line)['event'] for line in lines)


def test_a_watch_on_a_terminal_is_coloured(two, terminal):
    for flags, colour in (([], '32'), (['--color=false'], '')):
        it = terminal([*two[0].maglevc.command, *flags, 'watch', 'events', 'frontend', 'num', '1'])
        it.wait_text('is up')
        assert it.end() == 0 and it.style_of('is up') == colour


def test_the_same_port_need_not_be_said():
    for flag, words, port in (('--server', ['show', 'backends'], 9090), ('--speaker', ['show', 'sessions'], 9095),
                              ('--router', ['show', 'routes'], 9096)):
        done = subprocess.run([program('maglevc'), flag, '127.250.0.1', *words], capture_output=True, text=True, check=False,
                              timeout=PATIENCE)
        assert done.returncode == 3 and f'127.250.0.1:{port}' in done.stderr, done


def test_the_configuration_in_force_is_a_file_again(two, folders):
    """With all defaults; both formats are accepted by --check and change nothing"""
    daemon = two[0]
    path = os.path.join(folders(), 'maglev.yaml')
    for text in (daemon.maglevc.text('show', 'config'), daemon.maglevc.text('-o', 'json', 'show', 'config')):
        assert 'transition-history' in text and 'flow-timeout' in text
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        subprocess.run([program('maglevd'), '--check', '--config', path], check=True, capture_output=True, timeout=PATIENCE)
        with open(path, encoding='utf-8') as file:
            daemon.write(file.read())
        assert 'would change nothing' in daemon.maglevc.text('config', 'check')
    told = json.loads(daemon.maglevc.text('-o', 'json', 'show', 'config'))
    assert told['maglev']['healthchecker']['transition-history'] == 5
    assert told['maglev']['frontends']['www']['pools'][1] == \
        {'name': 'fallback', 'slow-start': '0s', 'backends': {'spare': {'weight': 100}}}
    answer = daemon.api.call('GetConfig')
    assert ''.join(answer.text) == daemon.maglevc.text('show', 'config')
    assert answer.generation == 1 and answer.loaded and answer.file.endswith('.yaml')


def test_a_large_configuration_is_whole(start_api):
    backends = {f'web{n:04}': f'10.{n >> 8}.{n & 255}.1' for n in range(2000)}
    daemon = start_api(config({}, backends, {'www': frontend(VIP, pool('p', *backends))}, dataplane='vpp'))
    told = json.loads(daemon.maglevc.text('-o', 'json', 'show', 'config'))['maglev']
    assert len(told['backends']) == len(told['frontends']['www']['pools'][0]['backends']) == 2000


def test_versions_are_those_of_client_and_server(two):
    client, server, *more = two[0].maglevc.text('show', 'version').splitlines()
    assert not more and client.startswith('maglevc ')
    assert server.startswith('maglevd ') and f' at 127.0.0.1:{two[0].api_port}, runs for ' in server
    version = two[0].api.call('GetVersion')
    told = two[0].maglevc.json('show', 'version')
    assert told['servers'][0]['answer'] == {'program': 'maglevd', 'version': version.version, 'commit': version.commit,
                                            'date': version.date, 'started': str(version.started)}
    done = together([1]).run('show', 'version')
    assert done.returncode == 3 and done.stdout.startswith('maglevc ') and 'cannot reach' in done.stderr


def test_an_act_on_a_host_goes_to_all_servers(two):
    """All backends with an address, with the consequences; nothing is asked without a terminal"""
    client = together(two)
    shown = sections(client.text('set', 'backends', 'address', A, 'pause', 'reason', 'new disk', 'for', '1h'))
    for one in two:
        lines = [line.split() for line in shown[f'127.0.0.1:{one.api_port}']]
        assert ['web1', A, 'up', 'paused'] in lines
        assert ['www', 'has', 'fewer', 'servers', 'primary', '2', '->', '1', 'of', '2'] in lines
        override = one.api.backend('web1').override
        assert (override.act, override.reason) == ('paused', 'new disk') and override.until
    shown = client.text('set', 'backends', 'web*', 'disable')
    assert shown.count('fails over') == 2 and all(one.api.backend('web2').state == 'disabled' for one in two)
    document = client.json('set', 'backends', 'web*', 'enable')
    assert [len(one['answer']['backends']) for one in document['servers']] == [2, 2]
    done = client.run('set', 'backends', 'x*', 'pause')
    assert done.returncode == 1 and done.stderr.count('127.0.0.1:') == 2
    client.refused(2, 'expected an IP address', 'set', 'backends', 'address', 'web1', 'pause')


def test_a_question_comes_first_on_a_terminal(two, terminal):
    """Anything but y changes nothing; --yes asks nothing"""
    servers = ','.join(f'127.0.0.1:{one.api_port}' for one in two)

    def act(*flags):
        return terminal([program('maglevc'), '--server', servers, *flags, 'set', 'backends', 'web*', 'pause', 'reason', 'new disk'])

    it = act()
    it.wait_text('Pause 4 backends on 2 servers; frontends: 2 fail over? [y/N]')
    assert 'WOULD BE' in it.text and 'primary -> fallback' in it.text
    it.type('n')
    it.wait_text('nothing was changed')
    assert it.end() == 1 and [one.api.backend('web1').state for one in two] == ['up', 'up']
    it = act()
    it.wait_text('[y/N]')
    it.type('y')
    it.wait_text('[y/N] yes')
    it.wait_text('pause: 2 backends; frontends: 1 fails over')
    assert it.end() == 0 and [one.api.backend('web1').state for one in two] == ['paused', 'paused']
    it = act('-y')
    it.wait_text('BEFORE')
    assert it.end() == 0 and '[y/N]' not in it.text
    it = terminal([program('maglevc'), '--server', servers])
    it.wait_last(f'{servers}>')
    it.type('set backends web* resume', 'Enter')
    it.wait_text('[y/N]')
    it.type('^C')
    it.wait_text('nothing was changed')
    it.wait_last(f'{servers}>')
    assert [one.api.backend('web1').state for one in two] == ['paused', 'paused']
    it.type('set backends web* resume', 'Enter')
    it.wait(lambda screen: screen.text.count('[y/N]') == 2, 'the second question')
    it.type('y')
    it.wait_text('resume: 2 backends')
    it.wait_last(f'{servers}>')
    it.type('^D')
    assert it.end() == 0


def test_overrides_say_what_is_set_and_by_whom(two):
    client = two[0].maglevc
    client.text('set', 'backend', 'web1', 'pause', 'reason', 'new disk', 'for', '1h')
    said = client.text('set', 'backend', 'web2', 'pause', 'from', '2100-01-01T00:00Z', 'until', '2100-01-01T02:00Z')
    assert said == 'backend web2: up [paused from 2100-01-01T00:00:00Z until 2100-01-01T02:00:00Z]\n'
    client.text('set', 'frontend', 'www', 'pool', 'primary', 'backend', 'web2', 'weight', '20', 'reason', 'slow')
    assert two[0].api.backend('web2').state == 'up'
    user = pwd.getpwuid(os.geteuid()).pw_name
    head, *rows, last = client.text('show', 'overrides').splitlines()
    assert head.split() == ['BACKEND', 'OVERRIDE', 'AGE', 'FROM', 'UNTIL', 'OPERATOR', 'REASON']
    assert [row.split()[:2] for row in rows] == [['web1', 'paused'], ['web2', 'paused'], ['web2', 'weight']]
    assert all(f'unverified:{user} from 127.0.0.1' in row for row in rows), rows
    assert rows[0].endswith('new disk') and '2100-01-01T00:00:00Z' in rows[1] and rows[2].endswith('slow')
    assert last == 'not kept over a restart of maglevd: then the file decides'
    shown = client.text('show', 'backends', 'web1')
    assert re.search(rf'^override +\[paused until .*\] new disk \(\d+s ago, by unverified:{user} from 127.0.0.1\)$', shown, re.M), shown
    assert re.search(r'^scheduled +\[paused from 2100', client.text('show', 'backends', 'web2'), re.M)
    assert names(client.text('show', 'overrides', 'name', 'web1'))[0] == 'web1'
    client.text('set', 'backend', 'web2', 'resume')
    assert 'scheduled' not in client.text('show', 'backends', 'web2')


def names(text):
    return [line.split()[0] for line in text.splitlines()[1:]]


def test_lists_are_filtered_by_state_and_name(two):
    client = two[0].maglevc
    two[0].api.call('PauseBackend', name='web1')
    assert names(client.text('show', 'backends', 'state', 'paused')) == ['web1']
    assert names(client.text('show', 'backends', 'name', 'web*')) == ['web1', 'web2']
    assert names(client.text('show', 'backends', 'name', 'web*', 'state', 'up')) == ['web2']
    assert names(client.text('show', 'frontends', 'name', '*i*')) == ['mail']
    assert [one['name'] for one in client.json('show', 'frontends', 'state', 'up')['frontends']] == ['mail', 'www']
    assert names(client.text('show', 'healthchecks', 'name', 'x*')) == []
    client.refused(2, 'expected up, down, unknown, paused or disabled', 'show', 'backends', 'state', 'bad')


def test_lines_are_filtered_in_a_script(two):
    def script(text):
        return subprocess.run(two[0].maglevc.command, input=text, capture_output=True, text=True, timeout=PATIENCE, check=False)

    done = script('show backends | match WEB | except web2\nshow backends | count\nshow backends | match "^web[12] " | count\n')
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, '')
    assert lines[0].startswith('web1 ') and lines[1:] == ['5 lines', '2 lines']
    both = subprocess.run(together([*two, 1]).command, input='show backends | match web | count\nshow version\n', capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    assert both.stdout.splitlines()[1::2] == ['2 lines', '2 lines'] and both.returncode == 3, both
    done = script('show backends | grep web\n')
    assert done.returncode == 2 and 'after "|"; possible: match, except, count' in done.stderr
