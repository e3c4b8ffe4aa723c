# SPDX-License-Identifier: Apache-2.0
"""Alerts and the Grafana board, in a real Prometheus that scrapes our daemons."""
import os
import re
import sys

import pytest

from lab import PATIENCE, VIP, until
from lab.prometheus import Prometheus
from lab.router import OK, answering
from lab.visits import daemon, web  # noqa: F401

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../../deploy'))
import queries  # noqa: E402  pylint: disable=wrong-import-position

# panels without traffic, peers or a cluster in this story
EMPTY = {'Dropped for lack of a server', 'Data planes lost', 'Failed probes by code', 'Interfaces', 'VIPs', 'BGP sessions', 'Prefixes sent',
         'VIPs on local networks', 'Time until FRR has a configuration', 'Failed reloads of FRR', 'Failures of servers',
         'Days until certificates expire', 'Leaders', 'Routers that lack the latest configuration', 'Addresses in use',
         'Channels that are not served'}


@pytest.fixture
def router(serve, route):
    return route({'routes': [{'name': 'shop', 'host': 'shop.example', 'pool': 'web'}],
                  'pools': [{'name': 'web', 'servers': [f'127.0.0.1:{serve(answering(OK)).port}']}]})


@pytest.fixture
def prometheus(daemon, router, folders, web):
    vip = f'{VIP} 6 80'
    daemon.plane.seed(['counters 31', f'count-vip {vip} 10 5 0 0 1000 1024', 'interface eth0 1 native -',
                       *(f'count-as {vip} {one.address} 5 500 512 1' for one in web), 'count-event late 1'])
    it = Prometheus(os.path.join(folders(), 'prometheus'), {'maglevd': daemon.port, 'maglev-router': router.port}, queries.ALERTS)
    yield it
    it.close()


def test_the_labels_of_running_daemons_are_those_of_the_pages(daemon, router):
    known = queries.described()
    for it in (daemon, router):
        for name, labels, _ in it.metrics().samples:
            family = queries.family(name, known)
            assert family in known, name
            assert set(labels) - {'le'} <= known[family], (name, labels)


def test_prometheus_takes_all_rules_and_queries_and_the_board_shows_the_daemons(prometheus, daemon, router):
    with router.client() as client:
        client.get('/', 'shop.example')
    daemon.maglevc.text('set', 'backend', 'spare', 'pause')
    prometheus.wait_scraped(3)
    rules = until(lambda: [rule for group in (prometheus.ask('rules') or {'groups': []})['groups'] for rule in group['rules']],
                  PATIENCE, 'the rules')
    assert {rule['name'] for rule in rules} == {name for _, name, _ in queries.alerts()}
    until(lambda: all(rule['health'] == 'ok' for group in prometheus.ask('rules')['groups'] for rule in group['rules']),
          PATIENCE, 'an evaluation of every rule')
    empty = {title for title, query, _ in queries.panels() if not prometheus.query(query)}
    full = {title for title, query, _ in queries.panels() if prometheus.query(query)}
    assert empty - full <= EMPTY, sorted(empty - full - EMPTY)
    legends = {label for _, query, legend in queries.panels() for label in re.findall(r'\{\{(\w+)\}\}', legend)
               if (found := prometheus.query(query)) and label not in found[0][0]}
    assert not legends, 'labels of legends that the answers do not have'
