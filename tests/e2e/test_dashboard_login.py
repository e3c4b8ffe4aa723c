# SPDX-License-Identifier: Apache-2.0
"""The door of /admin/: slow for those who guess, from wherever they do, and open for those who know the password."""
import concurrent.futures
import contextlib
import http.cookies
import os
import socket
import struct
import threading
import time

import pytest

from lab import PATIENCE, SLACK, until
from lab.dashboard import CREDENTIALS, USER, basic
from lab.turns import waited

WHOAMI = '/admin/api/whoami'


@pytest.fixture
def dashboard(start_dashboard):
    return start_dashboard('lon=127.0.0.1:1', env=CREDENTIALS)


@pytest.fixture
def proxied(start_dashboard):
    """Everybody comes through a proxy, which is this test."""
    return start_dashboard('lon=127.0.0.1:1', env=CREDENTIALS, args=['--trusted-proxy', '127.0.0.0/8,::1'])


def of(address):
    return {'X-Forwarded-For': f'6.6.6.6, {address}'}  # what the client says of itself, and what the proxy knows


def guess(address=None):
    lines = ['GET /admin/ HTTP/1.1', 'Host: localhost', 'Authorization: Basic eDp5', *(f'{k}: {v}' for k, v in
                                                                              (of(address) if address else {}).items())]
    return '\r\n'.join([*lines, '', '']).encode()


class Clock:
    """Seconds since now, without those in which the dashboard, or this process, had no processor."""

    def __init__(self, dashboard):
        self.pids = dashboard.pid, os.getpid()
        self.began, self.late = time.monotonic(), waited(*self.pids)

    def seconds(self):
        return time.monotonic() - self.began - max(0, waited(*self.pids) - self.late)  # a thread that ended takes its time away


@contextlib.contextmanager
def guessing(dashboard, threads):
    """Wrong passwords from one address, as fast as they are answered."""
    over = threading.Event()

    def guess_on():
        while not over.is_set():
            dashboard.ask('GET', '/admin/', basic('x', 'y'))
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        guessers = [pool.submit(guess_on) for _ in range(threads)]
        try:
            until(lambda: dashboard.ask('GET', '/admin/', basic('x', 'y')).status == 429, what='the bound')
            yield
        finally:
            over.set()
    for one in guessers:
        one.result()


@pytest.mark.parametrize('user, password', [(USER, ''), (USER, 'wrong'), ('other', 's3cret: ü'), ('', '')])
def test_a_wrong_password_takes_a_second_and_nobody_else_waits(dashboard, user, password):
    before, clock = time.monotonic(), Clock(dashboard)
    with concurrent.futures.ThreadPoolExecutor(1) as pool_:
        wrong = pool_.submit(dashboard.ask, 'GET', '/admin/', basic(user, password))
        while not wrong.done():
            asked = Clock(dashboard)
            assert dashboard.ask('GET', '/admin/api/whoami', basic()).status == 200
            assert dashboard.ask('GET', '/view/api/state').status == 200
            assert asked.seconds() < 0.5 + SLACK
    assert wrong.result().status == 401 and 1 <= time.monotonic() - before and clock.seconds() < 1 + SLACK
    dashboard.wait('login-failed', peer='127.0.0.1')


def test_guessing_with_many_connections_is_no_faster(dashboard):
    """eight at a time from one address; the rest is not even looked at, and it ends by itself"""
    with concurrent.futures.ThreadPoolExecutor(40) as pool_:
        answers = [f.result() for f in [pool_.submit(dashboard.ask, 'GET', '/admin/', basic('u', str(i)))
                                        for i in range(40)]]
    statuses = [answer.status for answer in answers]
    assert set(statuses) == {401, 429} and statuses.count(401) <= 16
    assert all(a.headers['Retry-After'] == '1' for a in answers if a.status == 429)
    assert dashboard.metrics().one('maglev_dashboard_login_failures_total') == statuses.count(401)
    assert dashboard.metrics().one('maglev_dashboard_login_refused_total') == statuses.count(429)
    until(lambda: dashboard.ask('GET', '/admin/api/whoami', basic()).status == 200, what='being let in again')


def test_who_does_not_wait_for_the_answer_guesses_no_faster(dashboard):
    def is_refused():
        mark = dashboard.mark()
        for number in range(8):
            with socket.create_connection(('127.0.0.1', dashboard.port), PATIENCE) as s:
                s.sendall(guess())
                dashboard.wait('login-failed', mark, count=number + 1)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))  # reset
        return dashboard.ask('GET', '/admin/', basic('u', 'p')).status == 429

    until(is_refused, what='the bound')  # a first guess that is a second old, on a busy machine, does not count any more
    assert dashboard.ask('GET', '/admin/').status == 401  # nothing was guessed


def test_guessers_do_not_lock_out_who_was_let_in_before(dashboard):
    """the same address, as behind a proxy: the browser has a cookie that only the right password brings"""
    given = dashboard.ask('GET', WHOAMI, basic()).headers['Set-Cookie']
    cookie = http.cookies.SimpleCookie(given)['maglev-pass']
    assert cookie['path'] == '/admin/' and cookie['httponly'] and cookie['samesite'] == 'Lax' and not cookie['secure']
    known = {'Cookie': f'theme=dark; maglev-pass={cookie.value}'}
    with guessing(dashboard, 12):
        for _ in range(50):
            asked = Clock(dashboard)
            answer = dashboard.ask('GET', WHOAMI, {**basic(), **known})
            assert answer.status == 200 and 'Set-Cookie' not in answer.headers
            assert asked.seconds() < 0.5 + SLACK
        assert dashboard.ask('GET', '/admin/', known).status == 401  # it is no password
        invented = {'Cookie': f'maglev-pass={"0" * len(cookie.value)}'}
        until(lambda: dashboard.ask('GET', '/admin/', {**basic('x', 'y'), **known}).status == 429, what='no gain')
        until(lambda: dashboard.ask('GET', '/admin/', {**basic(), **invented}).status == 429, what='no gain')


def test_the_pass_is_not_given_with_files_nor_to_strangers(dashboard):
    """a cache may keep the first"""
    for path, headers in (('/admin/', basic()), ('/admin/', {}), (WHOAMI, {}), (WHOAMI, basic('x', 'y')), ('/view/', basic())):
        assert 'Set-Cookie' not in dashboard.ask('GET', path, headers).headers, path


def test_guessers_from_everywhere_do_not_lock_out_an_address_that_is_known(proxied):
    """the bound on all of them holds for strangers; whoever was let in within the hour has only its own"""
    def ask(address):
        return proxied.ask('GET', WHOAMI, {**basic(), **of(address)}).status
    assert ask('192.0.2.1') == 200
    with contextlib.ExitStack() as stack:
        for number in range(40 * 8):
            s = stack.enter_context(socket.create_connection(('127.0.0.1', proxied.port), PATIENCE))
            s.sendall(10 * guess(f'198.51.100.{number % 40}'))  # the next one follows each answer
        locked_out = [(ask('203.0.113.1'), ask('192.0.2.1'), ask('203.0.113.2')) for _ in range(20)]
    assert all(known == 200 for _, known, _ in locked_out), locked_out
    assert (429, 200, 429) in locked_out, locked_out


def test_an_ipv6_network_counts_as_one_address(proxied):
    with contextlib.ExitStack() as stack:
        guessers = [stack.enter_context(socket.create_connection(('127.0.0.1', proxied.port), PATIENCE)) for _ in range(8)]
        for number, one in enumerate(guessers):
            one.sendall(10 * guess(f'2001:db8::1:{number}'))  # the next one follows each answer
        proxied.wait('login-failed', count=8)
        until(lambda: proxied.ask('GET', '/admin/', {**basic(), **of('2001:db8::2:1')}).status == 429, what='the bound')
        assert proxied.ask('GET', '/admin/', {**basic(), **of('2001:db8:0:1::1')}).status == 200
        assert [one.makefile('rb').readline().split()[1] for one in guessers] == 8 * [b'401']


def test_a_trusted_proxy_says_who_the_client_is(proxied, dashboard):
    assert proxied.ask('GET', '/admin/', {**basic('x', 'y'), **of('192.0.2.1')}).status == 401
    proxied.wait('login-failed', peer='192.0.2.1')
    assert dashboard.ask('GET', '/admin/', {**basic('x', 'y'), **of('192.0.2.1')}).status == 401
    dashboard.wait('login-failed', peer='127.0.0.1')  # anybody can write that header
