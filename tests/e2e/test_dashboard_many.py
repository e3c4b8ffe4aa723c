# SPDX-License-Identifier: Apache-2.0
"""One act on many backends of several servers, in the browser; and what is said of overrides."""
import os
import subprocess

import pytest

from lab import VIP, config, frontend, pool, program, until
from lab.dashboard import CREDENTIALS, PASSWORD, USER
from lab.visits import OTHER, SHOTS, browser, visit  # noqa: F401

HOST, SECOND, SPARE = '10.99.3.1', '10.99.3.2', '10.99.3.9'
ADMIN = {'user': USER, 'password': PASSWORD}


@pytest.fixture
def daemons(start_api):
    """www: two on one host, one on another, then spare; api: one on that host, alone."""
    backends = {'web': HOST, 'app': HOST, 'web2': SECOND, 'spare': SPARE}
    text = config(backends=backends, frontends={'www': frontend(VIP, pool('primary', 'web', 'web2'), pool('fallback', 'spare')),
                                                'api': frontend(OTHER, pool('only', 'app'), port=443)}, dataplane='vpp')
    return [start_api(text), start_api(text)]


@pytest.fixture
def dashboard(start_dashboard, daemons):
    it = start_dashboard(*(f'lb{n}=127.0.0.1:{one.api_port}' for n, one in enumerate(daemons, 1)), env=CREDENTIALS)
    it.wait_connected('lb1', 'lb2')
    return it


def wait_states(daemons, expected):
    for daemon in daemons:
        for name, state in expected.items():
            daemon.wait_state(name, state)


def test_a_host_is_paused_on_all_servers_and_the_sum_is_shown_first(visit, dashboard, daemons):
    page = visit(dashboard.port, '/admin/#/-/backends', **ADMIN)
    page.click('tr[data-backend=web] .menu-button')
    page.click(f'[role=menuitem]:has-text("Pause host {HOST}"):has-text("4 backends")')
    page.wait(f'dialog h2:text-is("Pause host {HOST}: 4 backends on 2 servers?")')
    page.wait('dialog [data-effect=down]:has-text("2 frontends lose their last server"):has-text("api on lb2")')
    page.wait('dialog [data-effect=fewer]:has-text("www on lb1: pool primary keeps 1 of 2 servers")')
    page.wait('dialog [data-lasting=false]:has-text("or until maglevd restarts")')
    assert page.violations() == []
    page.shot(os.path.join(SHOTS, 'many-dialog.png'))
    wait_states(daemons, {'web': 'up', 'app': 'up'})
    page.fill('dialog input[type=text]', 'new kernel')
    page.click('dialog button[type=submit]')
    page.wait_gone('dialog')
    page.wait('.toast:has-text("Paused 4 backends on lb1, lb2")')
    wait_states(daemons, {'web': 'paused', 'app': 'paused', 'web2': 'up', 'spare': 'up'})
    page.press('1')
    page.wait('.deeds .concern-critical:has-text("2 backends paused"):has-text("127.0.0.1"):has-text("new kernel"):has-text("1 frontend down")')
    page.wait('.quiet:has-text("No fault is known")')
    page.shot(os.path.join(SHOTS, 'many-deeds.png'))


def test_chosen_backends_are_disabled_and_enabled_together(visit, dashboard, daemons):
    page = visit(dashboard.port, '/admin/#/-/backends/web', **ADMIN)
    page.wait('h2:text-is("4 backends")')
    page.click('input[aria-label="web on lb1"]')
    page.click('input[aria-label="web2 on lb2"]')
    page.wait('[role=toolbar] :text("2 backends on 2 servers chosen")')
    page.shot(os.path.join(SHOTS, 'many-chosen.png'))
    page.click('[data-many=disable]')
    page.wait('dialog h2:text-is("Disable 2 backends on 2 servers?")')
    page.wait('dialog :text("They are cut")')
    page.wait('dialog [data-effect=fewer]:has-text("2 frontends keep some of their servers")')
    page.click('dialog button[type=submit]')
    page.wait_gone('dialog')
    wait_states(daemons[:1], {'web': 'disabled', 'web2': 'up', 'app': 'up'})
    wait_states(daemons[1:], {'web': 'up', 'web2': 'disabled', 'app': 'up'})
    page.click('button:text("Choose all 4")')
    page.wait('[role=toolbar] :text("4 backends on 2 servers chosen")')
    page.click('[data-many=enable]')
    page.wait('dialog :text("2 backends are so already")')
    page.click('dialog button[type=submit]')
    page.wait_gone('dialog')
    wait_states(daemons, {'web': 'up', 'web2': 'up'})


def test_a_server_that_is_gone_is_named_and_the_others_act(visit, dashboard, daemons):
    page = visit(dashboard.port, '/admin/#/-/backends', cut=True, **ADMIN)
    page.wait('h2:text-is("8 backends")')
    daemons[1].kill()
    dashboard.wait_connected('lb2', connected=False)
    page.wait('[data-server=lb2][data-connected=false]')
    page.click('tr[data-backend=app]:not(.stale) .menu-button')
    page.click(f'[role=menuitem]:has-text("Pause host {HOST}")')
    page.wait('dialog :text("Without contact, and left as it is: lb2.")')
    page.wait('dialog [data-effect=down]:has-text("1 frontend loses its last server")')
    page.click('dialog button[type=submit]')
    page.wait('.toast:has-text("Paused 2 backends on lb1")')
    wait_states(daemons[:1], {'web': 'paused', 'app': 'paused'})


def test_a_pause_says_whether_it_is_kept_who_did_it_and_when_it_begins(visit, start_api, start_dashboard, tmp_path):
    kept = tmp_path / 'overrides.json'
    daemon = start_api(config(backends={'web': HOST}, frontends={'www': frontend(VIP, pool('all', 'web'))}, dataplane='vpp'),
                       args=['--override-file', str(kept)])
    dashboard = start_dashboard(f'lb1=127.0.0.1:{daemon.api_port}', env=CREDENTIALS)
    page = visit(dashboard.port, '/admin/#/lb1/backend/web', **ADMIN)
    page.click('.page-head .menu-button')
    page.click('[role=menuitem]:has-text("Pause…")')
    page.wait('dialog [data-lasting=true]:has-text("kept over a restart of maglevd")')
    page.fill('dialog input[name=begin]', '2099-01-02T03:04')
    page.fill('dialog input[type=text]', 'new disk')
    page.click('dialog button[type=submit]')
    page.wait('.toast:has-text("Scheduled a pause")')
    page.wait('.page-head [data-scheduled]:has-text("will be paused in"):has-text("new disk")')
    daemon.wait_state('web', 'up')
    page.click('.page-head .menu-button')
    page.click('[role=menuitem]:has-text("Resume…")')
    page.wait('dialog :text("cancels the pause that is scheduled")')
    page.click('dialog button[type=submit]')
    page.wait_gone('[data-scheduled]')
    page.click('.page-head .menu-button')
    page.click('[role=menuitem]:has-text("Pause…")')
    page.fill('dialog input[type=text]', 'now')
    page.click('dialog button[type=submit]')
    page.wait('.page-head .chip-info:has-text("paused"):has-text("from 127.0.0.1"):has-text("now")')
    until(lambda: daemon.api.call('GetBackend', name='web').override.reason == 'now')


def test_a_user_who_may_only_look_sees_no_acts(visit, start_dashboard, daemons, tmp_path):
    users = tmp_path / 'users'
    users.write_text(''.join(subprocess.run([program('maglevd-frontend'), '--make-user', who], input='builder\n', text=True,
                                            capture_output=True, check=True).stdout for who in ('bob', 'alice:admin')))
    dashboard = start_dashboard(f'lb1=127.0.0.1:{daemons[0].api_port}', args=['--users', str(users)])
    page = visit(dashboard.port, '/admin/#/-/backends', user='bob', password='builder')
    page.wait('[data-role=read-only]:has-text("read-only: bob")')
    page.wait('tr[data-backend=web]')
    page.wait_gone('.menu-button')
    assert page.count('[role=toolbar]') == page.count('tbody input') == 0
    page = visit(dashboard.port, '/admin/#/-/backends', user='alice', password='builder')
    page.wait('[data-role=admin]:has-text("admin: alice")')
    page.click('tr[data-backend=web] .menu-button')
    page.click('[role=menuitem]:has-text("Disable…")')
    page.click('dialog button[type=submit]')
    page.wait('tr[data-backend=web] .chip-info:has-text("disabled by"):has-text("alice")')
