# SPDX-License-Identifier: Apache-2.0
"""maglevc and a maglev-speaker with FRR, maglevd and BIRD as the peer: what is shown, drained, watched and completed."""
import json
import signal
import subprocess

import pytest

from lab import PATIENCE, Authority, program, until
from lab.api import Maglevc
from lab.speaker import THEIRS, VIP, Site

NAME = 'lb.example.net'


class Client(Maglevc):
    """maglevc for one speaker; there is no maglevd for it."""

    def __init__(self, port, *flags):
        super().__init__(1, '--speaker', f'127.0.0.1:{port}', *flags)


@pytest.fixture
def site():
    it = Site()
    yield it
    it.close()


@pytest.fixture
def speaker(site):
    it = site.speak(**{'drain-time': '1s'})
    it.maglevc = Client(it.port_of('grpc'))
    until(lambda: it.vip()['attracts'] and it.session()['prefixes_sent'] == '1' and it.frr().current, what='a settled speaker')
    return it


def rows(text):
    return [line.split() for line in text.splitlines()]


def test_it_shows_announcements_sessions_and_the_speaker(speaker):
    shown = rows(speaker.maglevc.text('show', 'announcements'))
    assert shown[0] == ['NAME', 'ADDRESS', 'STATE', 'AGE', 'TRAFFIC', 'SUMMARY']
    assert shown[1][:3] + shown[1][4:] == ['www', VIP, 'announced', 'yes', 'announced', 'to', 'tor']
    text = speaker.maglevc.text('sh', 'an', 'www')
    for line in ('reason         frontend-up', f'prefix         {VIP}/32', 'established    tor', '  a/www    up     2'):
        assert line in text.splitlines(), text
    shown = rows(speaker.maglevc.text('show', 'sessions'))
    assert shown[1][:5] == ['tor', THEIRS, '-', '64513', 'Established'] and shown[1][6] == '1'
    text = speaker.maglevc.text('show', 'speaker')
    assert 'frr-current   yes' in text.splitlines() and 'problem' not in text and '  a       ' in text
    assert speaker.maglevc.json('show', 'announcements', 'www') == speaker.vip()
    assert speaker.maglevc.json('show', 'sessions')['sessions'][0]['peer'] == 'tor'
    assert speaker.maglevc.json('show', 'speaker')['generation'] == '1'


def test_a_drain_waits_until_the_route_is_gone(site, speaker):
    done = speaker.maglevc.text('set', 'vip', 'www', 'drain', 'reason', 'new kernel', 'wait').splitlines()
    assert done[0] == 'vip www: still announced to tor: drained, new kernel'
    assert done[1].startswith('vip www: drained after ') and len(done) == 2
    assert speaker.vip()['state'] == 'withdrawn'
    site.bird.wait(there=False)
    assert 'drain-reason   new kernel' in speaker.maglevc.text('show', 'announcements', 'www')
    assert speaker.maglevc.text('set', 'vip', 'www', 'undrain').startswith('vip www: announced')
    site.bird.wait()


def test_a_wait_that_is_too_short(speaker):
    since = speaker.reload(**{'drain-time': '1h'})
    speaker.wait('config-loaded', since)
    done = speaker.maglevc.run('set', 'vip', 'www', 'drain', 'wait', '100ms')
    assert done.returncode == 4
    assert done.stderr == 'maglevc: vip www is not drained, and the time is over: draining\n'
    assert speaker.vip()['drained']


def test_mistakes_have_their_exit_codes(site, speaker):
    speaker.maglevc.refused(1, 'no VIP is called "wwww"', 'set', 'vip', 'wwww', 'drain')
    speaker.maglevc.refused(1, 'no VIP is called "wwww"', 'show', 'announcements', 'wwww')
    speaker.maglevc.refused(2, 'possible: drain, undrain', 'set', 'vip', 'www')
    Client('9', '--timeout', '2s').refused(3, '127.0.0.1:9', 'show', 'sessions')
    speaker.maglevc.refused(3, '127.0.0.1:1', 'show', 'backends')  # the other server
    both = Maglevc(site.maglevd.grpc_port(), '--speaker', f'127.0.0.1:{speaker.port_of("grpc")}')
    assert both.json('show', 'frontends')['frontends'][0]['name'] == 'www' and both.json('show', 'sessions')


def test_a_watch_shows_states_then_changes(speaker):
    watch = subprocess.Popen([*speaker.maglevc.command, '-o', 'json', 'watch', 'announcements'], stdout=subprocess.PIPE, text=True)
    try:
        first = [json.loads(watch.stdout.readline()) for _ in range(3)]
        assert [next(key for key in line if key not in ('seq', 'at', 'replay')) for line in first] == \
            ['speaker', 'announcement', 'session']
        assert all(line['replay'] for line in first)
        speaker.maglevc.text('set', 'vip', 'www', 'drain')
        line = json.loads(watch.stdout.readline())
        while 'announcement' not in line:
            line = json.loads(watch.stdout.readline())
        assert line['announcement']['state'] == 'draining' and not line['replay'] and int(line['seq']) > 3
        watch.send_signal(signal.SIGINT)
        watch.stdout.read()
        assert watch.wait(PATIENCE) == 0
    finally:
        watch.kill()
        watch.wait()
    lines = speaker.maglevc.text('watch', 'announcements', 'num', '3').splitlines()
    assert [line.split()[1] for line in lines] == ['speaker', 'announcement', 'session']


def test_names_of_vips_are_completed(speaker):
    def complete(line):
        done = subprocess.run([program('maglevc'), '__complete', f'maglevc --speaker 127.0.0.1:{speaker.port_of("grpc")} {line}'],
                              capture_output=True, text=True, timeout=PATIENCE)
        return [word.split('\t')[0] for word in done.stdout.splitlines()]

    assert complete('show announcements ') == ['www', 'state', 'name']
    assert complete('set vip w') == ['www']
    assert complete('set vip www ') == ['drain', 'undrain']
    assert complete('set vip www drain ') == ['reason', 'wait']
    assert complete('show s') == ['sessions', 'speaker', 'streams']


def test_only_operators_may_drain(site, tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp('speaker'), NAME)
    alice, bob = authority.issue('alice', 'alice'), authority.issue('bob', 'bob')
    certificate, key = authority.good
    speaker = site.speak('--grpc-tls-cert', certificate, '--grpc-tls-key', key, '--grpc-client-ca', authority.ca,
                         '--grpc-operators', 'alice')

    def client(pair):
        return Client(speaker.port_of('grpc'), '--tls-ca', authority.ca, '--tls-name', NAME, '--tls-cert', pair[0],
                      '--tls-key', pair[1])

    assert client(bob).json('show', 'announcements', 'www')['state'] == 'announced'
    client(bob).refused(1, '"bob" may read but not change anything', 'set', 'vip', 'www', 'drain')
    assert 'still announced' in client(alice).text('set', 'vip', 'www', 'drain')
    Client(speaker.port_of('grpc')).refused(3, '', 'show', 'speaker')
