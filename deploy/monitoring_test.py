#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""monitoring_test.py: whether alerts and board use what there is, and say what to do. Answers in TAP."""
import os
import re
import subprocess
import tempfile

import queries


def every_metric_and_label_exists():
    known = queries.described()
    for where, query, legend in queries.all_queries():
        yield from (f'{where}: {problem}' for problem in queries.unknown(query, legend, known))


def what_does_not_exist_is_found():
    """The check itself, on queries that are wrong."""
    known = {'maglev_a_total': {'kind'}, 'maglev_b_seconds': {'backend'}}
    wrong = {'rate(maglev_c_total[5m])': '', 'maglev_a_total{fate="x"}': '', 'sum by (fate) (maglev_a_total)': '',
             'maglev_a_total * on (vip) group_left (name) maglev_b_seconds': '', 'maglev_a_total': '{{backend}}'}
    good = {'sum by (kind, instance) (rate(maglev_a_total{kind=~"x|fate"}[5m]))': '{{kind}}',
            'histogram_quantile(0.9, sum by (le, backend) (maglev_b_seconds_bucket{le="1"}))': '{{backend}}'}
    yield from (f'{query} is taken' for query, legend in wrong.items() if not list(queries.unknown(query, legend, known)))
    yield from (f'{query}: {problem}' for query, legend in good.items() for problem in queries.unknown(query, legend, known))


def every_alert_says_what_to_do():
    for file, name, rule in queries.alerts():
        for key in ('severity: (critical|warning)', 'summary: .+', 'action: .+'):
            if not re.search(key, rule):
                yield f'{file}: {name} has no {key.split(":", 1)[0]}'


def every_alert_is_raised_by_a_test():
    for path in queries.ALERTS:
        tests = queries.read(path.replace('.rules.yml', '.rules_test.yml'))
        raised = set(re.findall(r'alertname: (\w+)\n\s+exp_alerts:', tests))
        named = {name for file, name, _ in queries.alerts() if file == os.path.basename(path)}
        yield from (f'no test raises {name}' for name in sorted(named - raised))


def promtool_takes_every_query_of_the_board():
    """As the rules of a file."""
    with tempfile.NamedTemporaryFile('w', suffix='.yml') as file:
        file.write('groups:\n- name: board\n  rules:\n')
        for number, (_, query, _) in enumerate(queries.panels()):
            file.write(f'  - record: query:{number}\n    expr: {query!r}\n')
        file.flush()
        done = subprocess.run(['promtool', 'check', 'rules', file.name], capture_output=True, text=True, check=False)
        if done.returncode:
            yield done.stdout + done.stderr


def the_panels_of_the_board_do_not_overlap():
    board = queries.json.loads(queries.read(queries.BOARD))
    taken, numbers = {}, set()
    for panel in board['panels']:
        at = panel['gridPos']
        for cell in ((x, y) for x in range(at['x'], at['x'] + at['w']) for y in range(at['y'], at['y'] + at['h'])):
            if cell in taken or cell[0] >= 24:
                yield f'{panel["title"]} is on top of {taken.get(cell, "the border")}'
                break
            taken[cell] = panel['title']
        if panel['id'] in numbers:
            yield f'{panel["title"]} has the number of another panel'
        numbers.add(panel['id'])
        if panel['type'] != 'row' and not panel.get('description'):
            yield f'{panel["title"]} does not say what it shows'


CASES = [every_metric_and_label_exists, what_does_not_exist_is_found, every_alert_says_what_to_do, every_alert_is_raised_by_a_test,
         promtool_takes_every_query_of_the_board, the_panels_of_the_board_do_not_overlap]


def main():
    print(f'1..{len(CASES)}')
    for number, case in enumerate(CASES, 1):
        problems = list(case())
        print(f'{"not ok" if problems else "ok"} {number} - {case.__name__}')
        for line in '\n'.join(problems).splitlines():
            print(f'# {line}')


if __name__ == '__main__':
    main()
