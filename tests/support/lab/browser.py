# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium, controlled through tests/support/browser/driver.mjs."""
import glob
import json
import os
import socket
import subprocess
import threading
import urllib.parse

from lab.programs import ROOT
from lab.wait import PATIENCE

DRIVER = os.path.join(ROOT, 'tests/support/browser/driver.mjs')
LIMIT = PATIENCE * 1000  # timeout of Chromium's operations, ms


class Page:
    """One page in its own profile. Selectors are those of playwright."""

    def __init__(self, browser, path, port, **how):
        self.browser, self.origin = browser, f'http://127.0.0.1:{port}'
        opened = browser.order('open', url=self.origin + path, **how)
        self.number, self.status = opened['page'], opened['status']

    def order(self, order, **more):
        return self.browser.order(order, page=self.number, **more)

    def reopen(self, path):
        """Opens another address in the same profile; nothing of the page itself is kept."""
        self.order('goto', url='about:blank')
        self.order('goto', url=self.origin + path)

    def wait(self, selector, timeout=LIMIT):
        try:
            self.order('wait', selector=selector, state='visible', timeout=timeout)
        except AssertionError as e:
            raise AssertionError(f"{e}\nThe page says:\n{self.evaluate('document.body.innerText')}") from None

    def wait_gone(self, selector):
        self.order('wait', selector=selector, state='detached', timeout=LIMIT)

    def click(self, selector):
        self.order('click', selector=selector, timeout=LIMIT)

    def fill(self, selector, text):
        self.order('fill', selector=selector, text=text)

    def choose(self, selector, value):
        self.order('choose', selector=selector, value=value)

    def press(self, key):
        self.order('press', key=key)

    def text(self, selector):
        return self.order('text', selector=selector)

    def count(self, selector):
        return self.order('count', selector=selector)

    def evaluate(self, expression):
        return self.order('evaluate', expression=expression)

    def shot(self, path):
        self.order('shot', path=path)

    def violations(self):
        """The serious accessibility violations that axe finds."""
        return [one for one in self.order('axe') if one['impact'] in ('serious', 'critical')]

    def close(self):
        self.order('close')

    def check_manners(self, forgiven=()):
        """Checks that the page made no request to other hosts and logged no error (a violated policy is an error)."""
        told = self.order('told')
        hosts = {urllib.parse.urlsplit(url).netloc for url in told['requests']}
        assert hosts == {urllib.parse.urlsplit(self.origin).netloc}, hosts
        bad = [text for text in told['complaints'] if not any(word in text for word in forgiven)]
        assert not bad, bad


def read_file(path):
    """The content of a file of /proc; empty if the process has ended."""
    try:
        with open(path, encoding='utf-8') as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ''


def descendants(pid):
    for path in glob.glob(f'/proc/{pid}/task/*/children'):
        for child in read_file(path).split():
            yield child
            yield from descendants(child)


class Browser:
    def __init__(self):
        self.process = subprocess.Popen(['node', DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def order(self, order, **more):
        self.process.stdin.write(json.dumps({'order': order, **more}) + '\n')
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert 'error' not in answer, f'{order} {more}: {answer["error"]}'
        return answer.get('result')

    def processor_time(self):
        """Seconds for which the main threads of pages ran on a processor, and for which they waited for one."""
        had = waited = 0
        for pid in descendants(self.process.pid):
            if '--type=renderer' in read_file(f'/proc/{pid}/cmdline'):
                mine = read_file(f'/proc/{pid}/schedstat').split() or (0, 0)
                had, waited = had + int(mine[0]) / 1e9, waited + int(mine[1]) / 1e9
        return had, waited

    def open(self, port, path='/view/', scheme='dark', motion='no-preference', width=1280, height=900, **credentials):
        return Page(self, path, port, scheme=scheme, motion=motion, width=width, height=height, **credentials)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0
        self.process.stdout.close()


class Relay:
    """Forwards a port to another one until it is cut."""

    def __init__(self, port):
        self.to, self.pairs, self.is_cut = port, [], False
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if self.is_cut:
                near.close()
                continue
            far = socket.create_connection(('127.0.0.1', self.to))
            self.pairs += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        for end in (one, other):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        """Closes all connections, and new ones at once."""
        self.is_cut = True
        for end in self.pairs:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.pairs = []

    def mend(self):
        self.is_cut = False

    def close(self):
        self.cut()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
