# SPDX-License-Identifier: Apache-2.0
"""HTTPS servers: what their certificates say, and what TLS does to a connection."""
import pytest

from lab import Watched, until
from lab.turns import stolen, waited

NAME = {'server-name': 'www.example.net'}


@pytest.fixture
def server(servers, authority):
    return servers.open(certificate=authority.good)


@pytest.fixture
def watch(start_fake, net, authority):
    def watch(server, params=NAME, **check):
        return Watched.of(start_fake, net, server, type='https', params=params,
                          env={'SSL_CERT_FILE': authority.ca}, **check)
    return watch


@pytest.mark.parametrize('family', [4, 6], ids=['ipv4', 'ipv6'])
def test_a_good_certificate_passes(family, watch, servers, authority):
    """FR-1.1, facts 13: TLS once, with SNI, on the connection made inside the namespace."""
    server = servers.open(family=family, certificate=authority.good)
    story = watch(server).settle()
    assert server.requests[0]['sni'] == 'www.example.net'
    assert server.requests[0]['request'] == 'GET / HTTP/1.1'
    story.expect_down(server.answer(503), 'L7STS')
    story.expect_up(server.answer())


@pytest.mark.parametrize('certificate, reason', [
    ('expired', 'expired'), ('wrong_name', 'mismatch'), ('self_signed', 'self-signed'),
])
def test_a_server_with_a_bad_certificate_goes_down(certificate, reason, watch, server, authority):
    """FR-1.1: after a restart of the server its sessions are gone, so the new certificate is seen at once."""
    story = watch(server).settle()
    server.refuse()
    server.certificate(getattr(authority, certificate))
    story.daemon.wait('probe-done', story.seen, code='L4CON')
    server.listen()
    line = story.daemon.wait_state('web', 'down', story.seen)
    until(lambda: any(reason in done['reason'] for done in story.daemon.all('probe-done', code='L6RSP')))
    assert line['code'] in ('L6RSP', 'L4CON')
    story.seen = story.daemon.mark()
    server.certificate(authority.good)
    story.daemon.wait_state('web', 'up', story.seen)


@pytest.mark.parametrize('certificate', ['expired', 'wrong_name', 'self_signed'])
def test_unverified_certificates_pass_when_that_is_asked_for(certificate, watch, servers, authority):
    """FR-1.1: insecure-skip-verify"""
    server = servers.open(certificate=getattr(authority, certificate))
    watch(server, {**NAME, 'insecure-skip-verify': True}).settle()


def test_sessions_are_resumed_until_something_fails(watch, server, authority):
    """A resumed session saves the handshake; after any failure the certificate is looked at again.

    So an expired certificate is hidden by resumption for 60 s at most, and not at all once a probe
    failed for whatever reason.
    """
    story = watch(server).settle()
    assert [r['resumed'] for r in server.requests[:3]] == [False, True, True]
    server.certificate(authority.expired)
    story.stays_up(server, 4)
    assert all(r['resumed'] for r in server.requests[-3:])

    server.behave('flap', pattern=[503] + [200] * 1000)
    done = story.daemon.wait('probe-done', story.seen, backend='web', code='L6RSP')
    assert 'expired' in done['reason']
    codes = [d['code'] for d in story.daemon.all('probe-done', story.seen, backend='web')]
    assert codes[codes.index('L7STS') + 1] == 'L6RSP'
    story.daemon.wait_state('web', 'down', story.seen)


def test_after_a_failure_the_handshake_is_a_full_one(watch, server):
    """The next ones are resumed again."""
    story = watch(server).settle()
    before = len(server.requests)
    server.behave('flap', pattern=[503] + [200] * 1000)
    story.daemon.wait('probe-done', story.seen, backend='web', code='L7STS')
    server.wait_more(4)
    after = [r['resumed'] for r in server.requests[before:]]
    assert False in after and after.count(False) == 1, after
    assert after[after.index(False) + 1:after.index(False) + 3] == [True, True]


def test_a_server_that_accepts_and_never_shakes_hands_times_out_in_tls(watch, server):
    """FR-1.4: L6TOUT"""
    story = watch(server, timeout=0.3).settle()
    story.expect_down(server.behave('tls-hang'), 'L6TOUT', silent=True)
    story.expect_up(server.answer(), silent=True)


def test_a_server_that_floods_the_handshake_times_out_and_holds_up_nobody(watch, server):
    """FR-1.4: L6TOUT; what TLS passes over in silence comes without end."""
    late = stolen()
    story = watch(server, timeout=0.3).settle()
    story.expect_down(server.behave('tls-flood'), 'L6TOUT', silent=True)
    story.expect_up(server.answer(), silent=True)
    lag = story.daemon.metrics()
    # a turn may also be long because the process had no processor
    assert lag.one('maglev_loop_lag_seconds_count') == lag.one('maglev_loop_lag_seconds_bucket', le='0.5') or \
        waited(story.daemon.pid) - late > 0.5


def test_a_server_that_speaks_no_tls_is_told_apart(watch, servers):
    """FR-1.1: L6RSP"""
    server = servers.open()
    server.behave('raw', bytes='00' * 100)
    story = watch(server, timeout=0.3)
    assert story.daemon.wait('backend-transition', backend='web')['to'] == 'down'
    assert story.daemon.metrics().sum('maglev_probe_total', backend='web', result='success') == 0
    codes = {d['code'] for d in story.daemon.all('probe-done', backend='web')}
    assert codes <= {'L6RSP', 'L6TOUT'}


def test_a_killed_server_is_refused_and_comes_back(watch, server):
    """FR-1.2"""
    story = watch(server).settle()
    story.expect_down(server.refuse(), 'L4CON')
    story.expect_up(server.listen())


def test_a_hung_server_times_out_in_http(watch, server):
    """FR-1.4"""
    story = watch(server, timeout=0.3).settle()
    story.expect_down(server.behave('hang'), 'L7TOUT', silent=True)


def test_kept_connections_shake_hands_once(watch, server):
    """keep-alive over TLS: ten requests on a connection."""
    watch(server, more={'keep-alive': True}).settle()
    server.wait_requests(20)
    assert len({r['n'] for r in server.requests[:20]}) == 2
