# SPDX-License-Identifier: Apache-2.0
"""docs/guide/incidents.md and the first command of docs/guide/alerts.md, on a balancer with a server that is down and one that an operator has paused."""
import pytest

from lab import until
from lab.guide import example
from lab.machine import Machine


@pytest.fixture
def balancer(desk):
    """That of getting started, of whose servers one exists."""
    machine = Machine('10.0.0.11')
    home = desk(machine)
    home.put('/etc/maglev/maglev.yaml', example('getting-started.md', 'write-a-configuration'))
    home.put('/etc/default/maglevd')
    home.say('systemctl start maglevd')
    until(lambda: '10.0.0.12' in home.say('maglevc show backends state down'), what='the server being down')
    yield home
    home.close()
    machine.close()


def test_an_incident_is_read(balancer):
    balancer.say('maglevc set backend web1 pause reason "incident 42"')
    said = balancer.run('incidents.md#is-it-us', status=1)
    assert said.splitlines()[-1].startswith('broken: the data plane') and 'by an operator: incident 42' in said
    said = balancer.run('incidents.md#is-it-us/2')
    assert 'web2' in said and 'incident 42' in said and 'fallback' in said
    changed = balancer.run('incidents.md#since-when-and-what-changed')
    assert '"web2","down","L4' in changed and '"operator-act"' in changed and '"config-loaded"' in changed
    assert 'backend-transition' in balancer.run('incidents.md#since-when-and-what-changed/2')
    until(lambda: 'nothing has been' not in balancer.run('incidents.md#since-when-and-what-changed/3'), what='a point of the history')
    assert '"WARN"' in balancer.run('alerts.md#alerts-and-what-to-do'), 'the failover'
    balancer.say('maglevc set backend web1 resume')
    until(lambda: 'nothing to do' in (said := balancer.run('incidents.md#afterwards')) and 'incident 42' not in said, what='all being as it was')
