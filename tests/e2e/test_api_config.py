# SPDX-License-Identifier: Apache-2.0
"""CheckConfig and ReloadConfig (FR-5.5): what is wrong, what would change, and what did."""
import copy
import re

import pytest

from lab import SPARE, VIP, config, frontend, pool
from lab.api import Status, as_json

FILE = config(backends={'a': '10.99.0.11', 'b': '10.99.0.12', 'spare': SPARE},
              frontends={'www': frontend(VIP, pool('first', 'a', 'b'), pool('second', 'spare'))}, dataplane='vpp')
BOTH = ('CheckConfig', 'ReloadConfig')
CONFIRMED = {'warnings': [], 'parse_error': '', 'semantic_error': '', 'reload_error': ''}


@pytest.fixture
def daemon(start_api):
    daemon = start_api(FILE)
    daemon.plane.wait_weights(VIP, {'10.99.0.11': 100, '10.99.0.12': 100, SPARE: 0})
    return daemon


def test_nothing_changed(daemon):
    for method in BOTH:
        answer = daemon.api.call(method)
        assert answer.ok and not answer.changes, answer


def test_a_check_says_what_a_reload_would_change_and_changes_nothing(daemon):
    """FR-5.5: the same words before and after"""
    file = copy.deepcopy(FILE)
    maglev = file['maglev']
    maglev['backends']['a']['address'] = '10.99.0.21'
    maglev['backends']['new'] = {'address': '10.99.0.13'}
    maglev['frontends']['www']['pools'][0]['backends'] = {'a': {'weight': 5}, 'new': {}}
    del maglev['backends']['b']
    daemon.write(file)
    before = daemon.plane.dump()
    check = daemon.api.call('CheckConfig')
    assert check.ok and check.changes and daemon.plane.dump() == before
    assert any(re.match(r'backend a: address 10.99.0.11 -> 10.99.0.21$', line) for line in check.changes), check
    said = [line.strip() for line in daemon.maglevc.text('config', 'check').splitlines()]
    assert said[-len(check.changes):] == list(check.changes)
    mark = daemon.mark()
    reload = daemon.api.call('ReloadConfig')
    assert reload.ok and list(reload.changes) == list(check.changes)
    assert daemon.wait('config-loaded', mark)['backends'] == 3
    daemon.plane.wait_weights(VIP, {'10.99.0.21': 5, '10.99.0.13': 100, SPARE: 0})
    assert not daemon.api.call('CheckConfig').changes


@pytest.mark.parametrize('method', BOTH)
def test_parse_and_semantic_errors_are_told_apart_with_their_place(daemon, method):
    """FR-5.5, FR-5.2: file:line:column: key: text, and everything goes on as before"""
    daemon.write('maglev:\n  backends:\n    a: { address: 10.99.0.11, adress: x }\n    b: { addres: y }\n')
    answer = daemon.api.call(method)
    lines = answer.parse_error.splitlines()
    assert not answer.ok and not answer.semantic_error and not answer.changes
    assert re.match(re.escape(daemon.path) + r':3:\d+: maglev\.backends\.a\.adress: ', lines[0]), lines
    assert re.match(re.escape(daemon.path) + r':4:\d+: maglev\.backends\.b\.addres: ', lines[1]), lines
    daemon.write('maglev:\n  dataplane: none\n  backends:\n    a: { address: nonsense }\n')
    answer = daemon.api.call(method)
    assert not answer.ok and not answer.parse_error and not answer.changes
    assert re.match(re.escape(daemon.path) + r':4:\d+: maglev\.backends\.a\.address: ', answer.semantic_error), answer
    verb = 'check' if method == 'CheckConfig' else 'reload'
    done = daemon.maglevc.run('config', verb)
    assert done.returncode == 1 and answer.semantic_error.splitlines()[0] in done.stderr, done
    assert len(daemon.api.call('ListBackends').backends) == 3
    assert daemon.maglevc.run('-o', 'json', 'config', verb).returncode == 1


def test_a_good_file_that_this_process_cannot_take_is_refused(daemon):
    """FR-5.5: reload_error, also of the check, which says that the file itself is good"""
    file = copy.deepcopy(FILE)
    file['maglev']['dataplane'] = 'none'
    daemon.write(file)
    answer = daemon.api.call('ReloadConfig')
    assert not answer.ok and 'data plane' in answer.reload_error and not answer.parse_error + answer.semantic_error
    assert daemon.api.call('GetVPPLBState').dataplane != 'none'
    assert not answer.changes
    daemon.maglevc.refused(1, answer.reload_error, 'config', 'reload')
    check = daemon.api.call('CheckConfig')
    assert not check.ok and not check.parse_error + check.semantic_error and not check.warnings, check
    assert check.reload_error == answer.reload_error and list(check.changes) == ['dataplane: vpp -> none'], check
    done = daemon.maglevc.run('config', 'check')
    assert done.returncode == 1 and done.stderr.strip() == answer.reload_error, done
    assert done.stdout == 'configuration is good, but needs a restart, which would change:\n  dataplane: vpp -> none\n'
    assert daemon.maglevc.run('-o', 'json', 'config', 'check').returncode == 1


def test_warnings_are_answered(daemon):
    file = copy.deepcopy(FILE)
    file['maglev']['frontends']['bare'] = {'address': '198.51.100.99'}
    daemon.write(file)
    for method in BOTH:
        answer = daemon.api.call(method)
        assert answer.ok and any('bare' in line for line in answer.warnings), answer


def test_many_ask_at_once(daemon):
    """FR-5.5: everybody is answered, and reloads in between lose nothing"""
    clients = [daemon.connect() for _ in range(6)]
    calls = []
    for turn in range(3):
        file = copy.deepcopy(FILE)
        file['maglev']['frontends']['www']['pools'][0]['backends']['a'] = {'weight': 10 + turn}
        daemon.write(file)
        calls += [client.start(method) for client in clients for method in BOTH]
    assert all(call.result().ok for call in calls)
    assert daemon.api.call('ReloadConfig').ok
    assert daemon.api.member('www', 'a').weight == 12


def test_more_than_may_wait_are_told_so(daemon):
    """NFR-3.2: 64 wait, the rest is refused, and the daemon serves on"""
    calls = [daemon.api.start('CheckConfig') for _ in range(100)]
    ends = [call.code() for call in calls]
    assert ends.count(Status.OK) >= 64
    assert set(ends) <= {Status.OK, Status.RESOURCE_EXHAUSTED}
    assert daemon.api.call('CheckConfig').ok


def test_who_goes_away_is_forgotten(daemon):
    for _ in range(20):
        calls = [daemon.api.start(method) for method in BOTH]
        for call in calls:
            call.cancel()
    assert as_json(daemon.api.call('CheckConfig')) == {'ok': True, 'changes': [], **CONFIRMED}
