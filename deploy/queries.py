# SPDX-License-Identifier: Apache-2.0
"""The queries of the alerts and of the Grafana board, and the metrics and labels that the pages describe."""
import glob
import json
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BOARD = os.path.join(ROOT, 'deploy/grafana/maglev.json')
ALERTS = sorted(glob.glob(os.path.join(ROOT, 'deploy/alerts/*.rules.yml')))
OF_PROMETHEUS = {'up': {'job', 'instance'}}
TARGET = {'instance', 'job', 'le'}  # labels that every sample may have
VARIABLES = {'$__rate_interval': '5m', '$instance': '.*', '$frontend': '.*', '$route': '.*'}


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def described():
    """{metric: its labels}, of the tables of all reference pages."""
    found = dict(OF_PROMETHEUS)
    for page in glob.glob(os.path.join(ROOT, 'docs/reference/*.md')):
        for name, labels in re.findall(r'^\| `(\w+)` \| (?:gauge|counter|histogram) \| ([^|]*)\|', read(page), re.M):
            found[name] = found.get(name, set()) | set(re.findall(r'`(\w+)`', labels))
    return found


def alerts():
    """[(file, name, text of its rule)]"""
    return [(os.path.basename(path), name, text) for path in ALERTS
            for name, text in re.findall(r'- alert: (\w+)\n(.*?)(?=\n      - |\n      #|\Z)', read(path), re.S)]


def expression(rule):
    """The query of an alert; it may take several lines."""
    block = re.search(r'^        expr: \|\n((?:          .*\n)+)', rule, re.M)
    return block[1] if block else re.search(r'^        expr: (.*)$', rule, re.M)[1]


def panels():
    """[(title, query, legend)] of the board, with its variables filled in; the queries of the variables are among them."""
    board = json.loads(read(BOARD))
    found = [(panel['title'], target['expr'], target['legendFormat']) for panel in board['panels'] for target in panel.get('targets', [])]
    found += [(f'variable {one["name"]}', re.sub(r'label_values\((.*), (\w+)\)', r'count by (\2) (\1)', one['definition']), '')
              for one in board['templating']['list'] if 'definition' in one]
    for name, value in VARIABLES.items():
        found = [(title, query.replace(name, value), legend) for title, query, legend in found]
    return found


def all_queries():
    """[(where, query, legend)]"""
    return [(f'{file}: {name}', expression(rule), '') for file, name, rule in alerts()] + \
        [(f'board: {title}', query, legend) for title, query, legend in panels()]


def family(name, known):
    return name if name in known else re.sub('_(bucket|sum|count)$', '', name)


def unknown(query, legend, known):
    """Metrics and labels of a query, and labels of its legend, that do not exist."""
    bare = re.sub(r'"[^"]*"', '""', query)
    names = [name for name in re.findall(r'\b((?:maglev|metallb|process|frr_reloader)_\w+|up)\b', bare)]
    for name in names:
        if family(name, known) not in known:
            yield f'there is no metric {name}'
    for name, matchers in re.findall(r'\b([a-z]\w+)\{([^}]*)\}', bare):
        for label in set(re.findall(r'(\w+)\s*(?:=~|!~|!=|=)', matchers)) - TARGET - known.get(family(name, known), set()):
            yield f'{name} has no label {label}'
    labels = TARGET.union(*(known.get(family(name, known), set()) for name in names))
    for group in re.findall(r'\b(?:by|on|ignoring|group_left|group_right)\s*\(([^)]*)\)', bare):
        for label in set(re.findall(r'\w+', group)) - labels:
            yield f'no metric of the query has the label {label}'
    for label in set(re.findall(r'\{\{(\w+)\}\}', legend)) - labels:
        yield f'the legend names the label {label}, which no metric of the query has'
