#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs_test.py MAGLEVD: whether the pages say what the code says, all of it and nothing else. Answers in TAP."""
import glob
import os
import re
import subprocess
import sys
import tempfile

import facts

PAGES = sorted(os.path.relpath(path, facts.ROOT) for pattern in ('*.md', 'docs/**/*.md')
               for path in glob.glob(os.path.join(facts.ROOT, pattern), recursive=True))
MAN = 'docs/man/maglevd.8'
DASHBOARD = 'docs/reference/dashboard.md'
SPEAKER = 'docs/reference/speaker.md'
ROUTER = 'docs/reference/router.md'


def rows(page):
    """(heading, cells) of every row of a table whose first cell is in backticks."""
    heading = ''
    for line in facts.read(page).splitlines():
        if line.startswith('#'):
            heading = line.lstrip('# ').strip('`')
        elif line.startswith('| `'):
            yield heading, [cell.strip() for cell in re.split(r'(?<!\\)\|', line)[1:-1]]


def quoted(cell):
    return re.findall(r'`([^`]+)`', cell)


def differences(page, code):
    """What only one of the two says."""
    for name in sorted(set(page) | set(code)):
        if page.get(name) != code.get(name):
            yield f'{name}: the page says {page.get(name, "nothing")}, the code {code.get(name, "nothing")}'


def every_configuration_key_is_in_its_page():
    page = {f'{heading}.{quoted(cells[0])[0]}': cells[1]
            for heading, cells in rows('docs/reference/configuration.md') if heading.startswith('maglev')}
    return differences({'maglev': 'mapping', **page}, facts.config_keys())


def every_metric_is_in_its_page():
    page = {quoted(cells[0])[0]: cells[1] for _, cells in rows('docs/reference/metrics.md')}
    return differences(page, facts.metrics())


def every_metric_has_its_labels():
    page = {quoted(cells[0])[0]: set(quoted(cells[2])) for _, cells in rows('docs/reference/metrics.md')}
    return differences(page, facts.live_labels(sys.argv[1]))


def every_metric_that_is_spoken_of_exists():
    known = {**facts.metrics(), **facts.metrics('src/frontend/metrics.c', 'maglev_dashboard'),
             **facts.metrics('src/speaker/metrics.c', 'maglev_speaker'),
             **facts.metrics('src/router/metrics.c', 'maglev_router')}
    alerts = [os.path.relpath(path, facts.ROOT) for path in glob.glob(os.path.join(facts.ROOT, 'deploy/alerts/*.yml'))]
    for path in PAGES + sorted(alerts):
        for name in re.findall(r'\b(?:maglev|process)_[a-z_]+\b', facts.read(path)):
            if name not in known and re.sub('_(bucket|sum|count)$', '', name) not in known:
                yield f'{path}: there is no {name}'


def fields_of(messages):
    return {message: set().union(*(fields for _, fields in calls)) for message, calls in messages.items()}


def every_log_message_is_in_its_page():
    page = {quoted(cells[0])[0]: set(quoted(cells[2])) for _, cells in rows('docs/reference/logs.md')}
    return differences(page, fields_of(facts.log_messages()))


def every_log_message_has_its_level():
    page = {quoted(cells[0])[0]: cells[1] for _, cells in rows('docs/reference/logs.md')}
    for message, calls in facts.log_messages().items():
        levels = {level for level, _ in calls if level in ('debug', 'info', 'warn', 'error')}
        if levels - {page.get(message)}:
            yield f'{message}: the page says {page.get(message)}, the code {levels}'


def every_code_is_in_its_page():
    page = {quoted(cells[0])[0]: cells[1] == 'yes' for _, cells in rows('docs/reference/codes.md')}
    return differences(page, facts.codes())


def every_flag_is_in_the_man_page():
    for page in (MAN, 'docs/man/frr-reloader.8', 'docs/man/maglev-router.8', 'docs/man/maglev-speaker.8', 'docs/man/maglevc.1',
                 'docs/man/maglevd-frontend.8', 'docs/man/maglevt.1'):
        text, name = facts.read(page), os.path.basename(page)[:-2]
        room = re.sub('^(maglevd|maglev)-', '', name)
        flags, variables = facts.flags(os.path.join(os.path.dirname(sys.argv[1]), '..', room, name))
        told = re.findall(r'Fl Fl ([\w-]+)', ' '.join(re.findall(r'^\.It (Fl .*)', text, re.M)))
        yield from differences(dict.fromkeys(told, f'a flag of {name}'), dict.fromkeys(flags, f'a flag of {name}'))
        yield from differences(dict.fromkeys(re.findall(r'^\.It Ev ((?!NO_COLOR)[A-Z][A-Z_]+)', text, re.M), 'a variable'),
                               dict.fromkeys(variables, 'a variable'))


def told_of_a_program(page, room, metrics, prefix):
    """Compares the tables Metrics and Logs of a page with the code."""
    cells = [(quoted(cells[0])[0], cells) for heading, cells in rows(page) if heading in ('Metrics', 'Logs')]
    own = facts.metrics(f'src/{room}/metrics.c', prefix)
    yield from differences({name: cell[1] for name, cell in cells if name.startswith(metrics)},
                           {name: kind for name, kind in own.items() if name.startswith(metrics)})
    messages = facts.log_messages(f'src/{room}')
    lines = {name: cell for name, cell in cells if not name.startswith(metrics)}
    yield from differences({name: set(quoted(cell[2])) for name, cell in lines.items()}, fields_of(messages))
    yield from differences({name: {cell[1]} for name, cell in lines.items()},
                           {name: {level for level, _ in calls} for name, calls in messages.items()})


def every_metric_and_log_message_of_the_dashboard_is_in_its_page():
    return told_of_a_program(DASHBOARD, 'frontend', ('maglev_',), 'maglev_dashboard')


def every_metric_and_log_message_of_the_reloader_is_in_its_page():
    return told_of_a_program('docs/reference/frr-reloader.md', 'frr-reloader', ('metallb_frr_', 'frr_reloader_'),
                             'frr_reloader')


def every_key_metric_and_log_message_of_the_speaker_is_in_its_page():
    keys = {f'{heading}.{quoted(cells[0])[0]}': cells[1] for heading, cells in rows(SPEAKER) if heading.startswith('speaker')}
    yield from differences({'speaker': 'mapping', **keys}, facts.config_keys('bgp'))
    yield from told_of_a_program(SPEAKER, 'speaker', ('metallb_', 'maglev_speaker_'), 'maglev_speaker')


def every_key_error_metric_and_log_message_of_the_router_is_in_its_page():
    found = [(heading, quoted(cells[0])[0], cells[1]) for heading, cells in rows(ROUTER)]
    others = ('Errors', 'Not supported yet', 'Requests', 'Generations', 'Rollouts', 'Connections', 'API', 'What is passed on', 'Metrics', 'Logs')
    yield from differences({f'{heading.replace("document", "root")}.{key}': kind for heading, key, kind in found if heading not in others},
                           facts.section_keys('l7'))
    yield from differences(dict.fromkeys((key for heading, key, _ in found if heading == 'Errors'), 'an error'),
                           dict.fromkeys(facts.router_errors(), 'an error'))
    yield from told_of_a_program(ROUTER, 'router', ('maglev_router_',), 'maglev_router')


def the_router_example_is_the_one_that_is_tested():
    shown = re.search('```yaml\n(.*?)```', facts.read(ROUTER), re.S)[1]
    if shown != re.sub('^#.*\n', '', facts.read('deploy/examples/router.yaml'), flags=re.M):
        yield shown


def every_configuration_key_is_in_the_man_page():
    words = set(re.findall(r'[\w-]+', facts.read(MAN)))
    return [f'{key} is not there' for key in facts.config_keys() if key.split('.')[-1] not in words]


def every_example_passes_the_check():
    """Files with a key that an example names are replaced by one that is there."""
    with tempfile.NamedTemporaryFile('w') as key:
        key.write('a key of sixteen bytes or more')
        key.flush()
        yield from failed_examples(key.name)


def failed_examples(key):
    for page in PAGES + [MAN]:
        for block in re.findall(r'^(?:```yaml|\.Bd .*)\n((?:maglev|speaker):.*?)^(?:```|\.Ed)', facts.read(page), re.S | re.M):
            program = sys.argv[1] if block.startswith('maglev:') else \
                os.path.join(os.path.dirname(sys.argv[1]), '../speaker/maglev-speaker')
            with tempfile.NamedTemporaryFile('w', suffix='.yaml') as file:
                file.write(re.sub(r'key-file: [^,}\s]+', f'key-file: {key}', block))
                file.flush()
                check = subprocess.run([program, '--check', '--config', file.name], capture_output=True, text=True)
            if check.returncode:
                yield f'{page}: {block}{check.stderr}'


def every_link_leads_somewhere():
    for page in PAGES:
        for target in re.findall(r'\]\(([^)#]+)', facts.read(page)):
            path = os.path.join(facts.ROOT, os.path.dirname(page), target)
            if '://' not in target and not os.path.exists(path):
                yield f'{page}: {target}'


CASES = [every_configuration_key_is_in_its_page, every_metric_is_in_its_page, every_metric_has_its_labels,
         every_metric_that_is_spoken_of_exists, every_log_message_is_in_its_page, every_log_message_has_its_level,
         every_code_is_in_its_page, every_flag_is_in_the_man_page, every_configuration_key_is_in_the_man_page,
         every_metric_and_log_message_of_the_dashboard_is_in_its_page,
         every_metric_and_log_message_of_the_reloader_is_in_its_page,
         every_key_metric_and_log_message_of_the_speaker_is_in_its_page,
         every_key_error_metric_and_log_message_of_the_router_is_in_its_page, the_router_example_is_the_one_that_is_tested,
         every_example_passes_the_check, every_link_leads_somewhere]


def main():
    print(f'1..{len(CASES)}')
    for number, case in enumerate(CASES, 1):
        problems = list(case())
        print(f'{"not ok" if problems else "ok"} {number} - {case.__name__}')
        for line in '\n'.join(problems).splitlines():
            print(f'# {line}')


if __name__ == '__main__':
    main()
