# SPDX-License-Identifier: Apache-2.0
"""Checks with one question and one answer: over TCP, TLS and UDP, and of DNS."""
import shutil
import signal
import subprocess
import time

import pytest

from lab import Check, Watched, program
from lab.datagrams import Echo
from lab.process import Process

FAMILIES = pytest.mark.parametrize('family', [4, 6], ids=['ipv4', 'ipv6'])
GET = 'GET / HTTP/1.0\r\n\r\n'


@pytest.fixture
def echo(net):
    opened = []

    def start(**how):
        opened.append(Echo(inside=net.servers, **how))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


@FAMILIES
def test_a_udp_server_that_is_gone_fails_at_once_and_heals(family, start_fake, net, echo):
    """The timeout is long: it is the ICMP error that counts. The kernel sends few of them in a second, so later probes may time out."""
    address = net.address(family)
    server = echo(address=address)
    check = Check('udp', server.port, timeout=2, fall=1, params={'send': 'hello', 'expect': 'echo:hello'})
    story = Watched(start_fake, net, check, address).settle()
    server.close()
    story.expect_down(time.time(), 'L4CON', reason='port unreachable')
    echo(address=address, port=server.port)
    story.expect_up(time.time(), silent=True)


def test_a_udp_server_that_is_silent_times_out(start_fake, net, echo):
    address = net.address()
    server = echo(address=address)
    check = Check('udp', server.port, timeout=0.3, params={'send-hex': '00ff'})
    story = Watched(start_fake, net, check, address).settle()
    assert server.received[0] == b'\x00\xff'
    assert story.daemon.all('probe-done', backend='web')[0]['code'] == 'L4OK'
    server.answer = lambda name, data: []
    story.expect_down(time.time(), 'L4TOUT', silent=True)


def test_a_udp_server_that_answers_wrongly_goes_down(start_fake, net, echo):
    address = net.address()
    server = echo(address=address)
    story = Watched(start_fake, net, Check('udp', server.port, params={'send': 'x', 'expect-regexp': '^echo:x$'}),
                    address).settle()
    server.answer = lambda name, data: [b'sorry']
    story.expect_down(time.time(), 'L7RSP', reason='5 bytes: sorry')


@FAMILIES
def test_an_answer_over_tcp_is_expected(family, start_fake, net, servers):
    server = servers.open(family=family)
    story = Watched.of(start_fake, net, server, type='tcp', timeout=0.3,
                       params={'send': GET, 'expect': 'HTTP/1.1 200 '}).settle()
    story.expect_down(server.answer(503), 'L7RSP', reason='HTTP/1.1 503', silent=True)
    story.expect_up(server.answer(), silent=True)


def test_a_tcp_server_that_hangs_does_not_pass(start_fake, net, servers):
    """Its kernel accepts, which is enough for a check without an answer."""
    server = servers.open()
    story = Watched.of(start_fake, net, server, type='tcp', timeout=0.3, params={'send': GET, 'expect': '200'}).settle()
    story.expect_down(server.behave('hang'), 'L7TOUT', silent=True)


def test_a_handshake_is_enough_for_tls(start_fake, net, servers, authority):
    server = servers.open(certificate=authority.good)
    story = Watched.of(start_fake, net, server, type='tls', params={'server-name': 'www.example.net'},
                       env={'SSL_CERT_FILE': authority.ca}).settle()
    assert set(line['code'] for line in story.daemon.all('probe-done', backend='web')) == {'L6OK'}
    story.expect_down(server.refuse(), 'L4CON')


def test_an_answer_in_tls_is_expected(start_fake, net, servers, authority):
    server = servers.open(certificate=authority.good)
    params = {'server-name': 'www.example.net', 'send': GET, 'expect-regexp': '^HTTP/1.1 2'}
    story = Watched.of(start_fake, net, server, type='tls', timeout=0.3, params=params,
                       env={'SSL_CERT_FILE': authority.ca}).settle()
    story.expect_down(server.answer(503), 'L7RSP', reason='503', silent=True)
    story.expect_up(server.answer(), silent=True)


def test_a_certificate_for_another_name_fails_a_tls_check(start_fake, net, servers, authority):
    server = servers.open(certificate=authority.wrong_name)
    check = Check('tls', server.port, params={'server-name': 'www.example.net'})
    story = Watched(start_fake, net, check, server.address, env={'SSL_CERT_FILE': authority.ca})
    assert story.daemon.wait_state('web', 'down')['code'] == 'L6RSP'


class Resolver(Process):
    """dnsmasq for www.example and no other name."""

    def __init__(self, folder, net, address, answer):
        super().__init__(folder, 'dnsmasq', net.servers.command(
            'dnsmasq', '--keep-in-foreground', '--conf-file=/dev/null', '--port=5353', f'--listen-address={address}',
            '--bind-interfaces', '--no-resolv', '--no-hosts', '--user=root', f'--pid-file={folder}/pid',
            f'--host-record=www.example,{answer}', '--local=/example/'))


@pytest.fixture
def resolve(running, folders, net):
    assert shutil.which('dnsmasq'), 'dnsmasq-base is not installed'
    return lambda address, answer: running(Resolver(folders(), net, address, answer)).start()


def test_a_resolver_is_asked_for_an_address(start_fake, net, resolve):
    address = net.address()
    server = resolve(address, '192.0.2.80')
    check = Check('dns', 5353, timeout=1, fall=1, params={'query-name': 'www.example', 'expect-address': '192.0.2.80'})
    story = Watched(start_fake, net, check, address).settle()
    assert story.daemon.wait('probe-done', story.seen, backend='web')['code'] == 'L7OK'
    server.kill()
    story.expect_down(time.time(), 'L4CON', reason='port unreachable')
    resolve(address, '192.0.2.81')
    wrong = story.daemon.wait('probe-done', story.seen, backend='web', code='L7RSP')
    assert '192.0.2.80 is not among the 1 addresses' in wrong['reason']
    assert story.daemon.state('web') == 'down'


def test_the_code_of_an_answer_counts(start_fake, net, resolve):
    address = net.address()
    resolve(address, '192.0.2.80')
    checks = {'good': {'query-name': 'no.example', 'expect-rcode': 'NXDOMAIN'}, 'bad': {'query-name': 'no.example'}}
    good = Watched(start_fake, net, Check('dns', 5353, params=checks['good']), address)
    good.daemon.wait_state('web', 'up')
    bad = Watched(start_fake, net, Check('dns', 5353, params=checks['bad']), address)
    line = bad.daemon.wait_state('web', 'down')
    assert (line['code'], line['reason']) == ('L7STS', 'NXDOMAIN (3) for no.example, not NOERROR')


# ---- authorities of one check ----

def test_a_check_has_its_own_authority(start_fake, net, servers, authority, tmp_path):
    """The system does not know the authority. Another one fails the check; a reload reads the file again."""
    server, file = servers.open(certificate=authority.good), tmp_path / 'ca.pem'
    shutil.copy(authority.self_signed[0], file)
    params = {'server-name': 'www.example.net', 'ca-file': str(file)}
    story = Watched(start_fake, net, Check('https', server.port, params=params), server.address)
    line = story.daemon.wait_state('web', 'down')
    assert line['code'] == 'L6RSP'
    shutil.copy(authority.ca, file)
    mark = story.daemon.mark()
    story.daemon.signal(signal.SIGHUP)
    story.daemon.wait('config-loaded', mark)
    story.daemon.wait_state('web', 'up', mark)

    file.write_text('no certificate')
    mark = story.daemon.mark()
    story.daemon.signal(signal.SIGHUP)
    error = story.daemon.wait('config-error', mark)
    assert error['key'] == 'maglev.healthchecks.check.params.ca-file' and error['line'] > 0
    assert 'does not begin with' in error['error']
    assert story.daemon.state('web') == 'up'


def test_check_reads_the_authorities(tmp_path, authority):
    """--check: a good file, and one that is missing"""
    text = ('maglev: { dataplane: none, healthchecks: { web: { type: https, port: 443, params: { ca-file: %s } } } }\n')
    for path, code, words in ((authority.ca, 0, 'no backend uses it'), ('/nowhere.pem', 2, 'No such file')):
        file = tmp_path / 'maglev.yaml'
        file.write_text(text % path)
        done = subprocess.run([program(), '--check', '--config', str(file)], capture_output=True, text=True, timeout=30)
        assert done.returncode == code and words in done.stderr, done
