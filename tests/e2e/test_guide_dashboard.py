# SPDX-License-Identifier: Apache-2.0
"""The commands and settings of docs/guide/dashboard.md, with a maglevd that has the addresses of both of the page."""
import json
import os
import re

import pytest

from lab import config, frontend, pool, until
from lab.guide import block, blocks
from lab.net import Namespace

PAGE = 'dashboard.md'


@pytest.fixture
def machine(start):
    it = Namespace('d')
    it.ip('addr add 10.0.0.1/32 dev lo', 'addr add 10.1.0.1/32 dev lo')
    start(config(backends={'web1': '10.0.0.11'}, frontends={'www': frontend('198.51.100.10', pool('primary', 'web1'))}), namespace=it,
          grpc='0.0.0.0:9090')
    yield it
    it.delete()


def wait_connected(home):
    def connected():
        said = home.say('curl -s http://127.0.0.1:8080/view/api/maglevds', None)
        return said and {one['name']: one['connected'] for one in json.loads(said)} == {'lon': True, 'ams': True}
    until(connected, what='two servers in the dashboard')


def test_the_dashboard_of_two_servers(machine, desk):
    home = desk(machine)
    with home.started('dashboard.md#the-dashboard'):
        wait_connected(home)


def test_the_settings(machine, desk, start_daemon, authority):
    """All of the page at once, as systemd would set them"""
    home = desk(machine)
    settings = dict(re.findall(r'^(\w+)=(.*)$', ''.join(blocks(PAGE, ('ini',)).values()), re.M))
    for name, path in settings.items():
        if path.startswith('/etc/'):
            home.link(path, authority.ca if name.endswith('_CA') else authority.good[name.endswith('_KEY')])
            settings[name] = os.path.realpath(home.path(path))
    assert len(settings) == 13
    plain = {name: value for name, value in settings.items() if not re.search('_(TLS|GRPC)_', name)}
    dashboard = start_daemon('maglevd-frontend', metrics='127.0.0.1:0', namespace=machine, env=plain)
    wait_connected(home)
    assert home.say('curl -s -o /dev/null -w "%{http_code}" http://127.0.0.1:8080/admin/') == '401'
    dashboard.stop()
    start_daemon('maglevd-frontend', metrics='127.0.0.1:0', namespace=machine, env=settings)
    until(lambda: home.say('curl -sk https://127.0.0.1:8080/view/api/maglevds', None), what='an answer over TLS')


def test_users_who_look_and_who_act(machine, desk, terminal):
    home = desk(machine)
    home.put('/etc/maglev/users')
    shell = terminal(home.command(block('dashboard.md#let-people-act')), env=home.env)
    for password, user in (('wonder', 'alice:'), ('builder', 'bob:')):
        shell.wait_last('Password:')
        shell.type(password, 'Enter')
        shell.wait_text(user)
    assert shell.end() == 0
    assert re.fullmatch(r'alice:\S+:admin\nbob:\S+\n', home.read('/etc/maglev/users'))
