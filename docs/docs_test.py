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
from pages import differences, quoted, rows, run

sys.path.insert(0, os.path.join(facts.ROOT, 'tests/support'))
from lab import guide  # noqa: E402

PAGES = sorted(os.path.relpath(path, facts.ROOT) for pattern in ('*.md', 'docs/**/*.md')
               for path in glob.glob(os.path.join(facts.ROOT, pattern), recursive=True))
MAN = 'docs/man/maglevd.8'
DASHBOARD = 'docs/reference/dashboard.md'
SPEAKER = 'docs/reference/speaker.md'
ROUTER = 'docs/reference/router.md'
GATEWAY = 'docs/reference/gateway.md'
ALERTS = 'docs/guide/alerts.md'


def every_configuration_key_is_in_its_page():
    page = {f'{heading}.{quoted(cells[0])[0]}': cells[1]
            for heading, cells in rows('docs/reference/configuration.md') if heading.startswith('maglev')}
    # maglev.vpp.lb is another place of maglev.lb, whose rows are in the page once
    older = {key.replace('maglev.lb.', 'maglev.vpp.lb.'): kind for key, kind in page.items() if key.startswith('maglev.lb.')}
    return differences({'maglev': 'mapping', **page, **older}, facts.config_keys())


def every_metric_is_in_its_page():
    page = {quoted(cells[0])[0]: cells[1] for _, cells in rows('docs/reference/metrics.md')}
    return differences(page, facts.metrics())


def every_metric_has_its_labels():
    page = {quoted(cells[0])[0]: set(quoted(cells[2])) for _, cells in rows('docs/reference/metrics.md')}
    return differences(page, facts.live_labels(sys.argv[1]))


def every_metric_that_is_spoken_of_exists():
    known = {**facts.metrics(), **facts.operator_metrics('maglev'), **facts.metrics('src/frontend/metrics.c', 'maglev_dashboard'),
             **facts.metrics('src/speaker/metrics.c', 'maglev_speaker'),
             **facts.metrics('src/router/metrics.c', 'maglev_router'), **facts.metrics('src/mux/metrics.c', 'maglev_mux'),
             **facts.metrics('src/controller/metrics.c', 'maglev_controller'),
             **facts.metrics('src/gateway/metrics.c', 'maglev_gateway')}
    alerts = [os.path.relpath(path, facts.ROOT) for path in glob.glob(os.path.join(facts.ROOT, 'deploy/alerts/*.yml'))]
    for path in PAGES + sorted(alerts):
        for name in re.findall(r'\b(?:maglev|process)_[a-z_]+\b', facts.read(path)):
            if name not in known and re.sub('_(bucket|sum|count)$', '', name) not in known:
                yield f'{path}: there is no {name}'


def every_metric_of_maglevd_in_a_cluster_is_in_its_page():
    page = {quoted(cells[0])[0]: cells[1] for heading, cells in rows('docs/reference/cluster-dataplane.md') if heading == 'Metrics'}
    return differences(page, facts.operator_metrics('maglev'))


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
    for page in (MAN, 'docs/man/frr-reloader.8', 'docs/man/maglev-controller.8', 'docs/man/maglev-gateway.8',
                 'docs/man/maglev-mux.8', 'docs/man/maglev-router.8', 'docs/man/maglev-speaker.8',
                 'docs/man/maglevc.1', 'docs/man/maglevd-frontend.8', 'docs/man/maglevt.1'):
        text, name = facts.read(page), os.path.basename(page)[:-2]
        room = re.sub('^(maglevd|maglev)-', '', name)
        flags, variables = facts.flags(os.path.join(os.path.dirname(sys.argv[1]), '..', room, name))
        told = re.findall(r'Fl Fl ([\w-]+)', ' '.join(re.findall(r'^\.It (Fl .*)', text, re.M)))
        yield from differences(dict.fromkeys(told, f'a flag of {name}'), dict.fromkeys(flags, f'a flag of {name}'))
        yield from differences(dict.fromkeys(re.findall(r'^\.It Ev ((?!NO_COLOR|SUDO_USER)[A-Z][A-Z_]+)', text, re.M), 'a variable'),
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


def every_metric_and_log_message_of_the_gateway_is_in_its_page():
    return told_of_a_program('docs/reference/gateway.md', 'gateway', ('maglev_gateway_',), 'maglev_gateway')


def every_metric_and_log_message_of_the_mux_is_in_its_page():
    return told_of_a_program('docs/reference/mux.md', 'mux', ('maglev_mux_',), 'maglev_mux')


def every_metric_and_log_message_of_the_controller_is_in_its_page():
    return told_of_a_program('docs/reference/controller.md', 'controller', ('metallb_', 'maglev_controller_'), 'maglev_controller')


def every_key_metric_and_log_message_of_the_speaker_is_in_its_page():
    keys = {f'{heading}.{quoted(cells[0])[0]}': cells[1] for heading, cells in rows(SPEAKER) if heading.startswith('speaker')}
    yield from differences({'speaker': 'mapping', **keys}, facts.config_keys('bgp'))
    yield from told_of_a_program(SPEAKER, 'speaker', ('metallb_', 'maglev_speaker_'), 'maglev_speaker')


def every_key_error_metric_and_log_message_of_the_router_is_in_its_page():
    found = [(heading, quoted(cells[0])[0], cells[1]) for heading, cells in rows(ROUTER)]
    others = ('Errors', 'Requests', 'Generations', 'Drivers', 'Rollouts', 'Connections', 'Paths', 'API', 'What is passed on', 'Datagrams', 'Metrics', 'Logs')
    yield from differences({f'{heading.replace("document", "root")}.{key}': kind for heading, key, kind in found if heading not in others},
                           facts.section_keys('l7'))
    yield from differences(dict.fromkeys((key for heading, key, _ in found if heading == 'Errors'), 'an error'),
                           dict.fromkeys(facts.router_errors(), 'an error'))
    yield from told_of_a_program(ROUTER, 'router', ('maglev_router_',), 'maglev_router')


def the_router_example_is_the_one_that_is_tested():
    shown = re.search('```yaml\n(.*?)```', facts.read(ROUTER), re.S)[1]
    if shown != re.sub('^#.*\n', '', facts.read('deploy/examples/router.yaml'), flags=re.M):
        yield shown


def every_reason_setting_and_feature_of_the_gateway_is_in_its_page():
    page = facts.read(GATEWAY)
    status = re.search(r'^## Status\n(.*?)^## ', page, re.S | re.M)[1]
    features = re.search(r'^## Supported features\n(.*)', page, re.S | re.M)[1]
    yield from differences(dict.fromkeys(quoted(status), 'a reason'), {
        **dict.fromkeys(facts.gateway_reasons(), 'a reason'),
        **dict.fromkeys(('attachedRoutes', 'tls.backend'), 'a reason')})
    yield from differences(dict.fromkeys(quoted(features.split('\n## ')[0]), 'a feature'),
                           {**dict.fromkeys(facts.gateway_features(), 'a feature'), 'status.supportedFeatures': 'a feature'})
    yield from differences({quoted(cells[0])[0]: 'a setting' for heading, cells in rows(GATEWAY) if heading == 'Settings'},
                           dict.fromkeys(facts.gateway_settings(), 'a setting'))


def every_configuration_key_is_in_the_man_page():
    words = set(re.findall(r'[\w-]+', facts.read(MAN)))
    return [f'{key} is not there' for key in facts.config_keys() if key.split('.')[-1] not in words]


def every_example_passes_the_check():
    """Files with keys and certificates that an example names are replaced by some that are there."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=www.example.com',
                        '-keyout', f'{folder}/key', '-out', f'{folder}/certificate'], check=True, capture_output=True)
        yield from failed_examples(folder)


CHECKED = {'maglev': 'maglevd/maglevd', 'speaker': 'speaker/maglev-speaker', 'listeners': 'router/maglev-router'}


def failed_examples(folder):
    for page in PAGES + [MAN]:
        for block in re.findall(rf'^(?:```yaml|\.Bd .*)\n((?:{"|".join(CHECKED)}):.*?)^(?:```|\.Ed)', facts.read(page), re.S | re.M):
            program = os.path.join(os.path.dirname(sys.argv[1]), '..', CHECKED[block.split(':')[0]])
            with tempfile.NamedTemporaryFile('w', suffix='.yaml') as file:
                file.write(re.sub(r'\b(key|certificate)(-file)?: [^,}\s]+', rf'\1\2: {folder}/\1', block))
                file.flush()
                check = subprocess.run([program, '--check', '--config', file.name], capture_output=True, text=True)
            if check.returncode:
                yield f'{page}: {block}{check.stderr}'


def every_alert_has_its_entry():
    """With its severity; and no entry is of an alert that is gone."""
    entries = {name: first.split('.')[0].lower() for name, first in re.findall(r'^### (Maglev\w+)\n\n(.*)$', facts.read(ALERTS), re.M)}
    rules = [facts.read(os.path.relpath(path, facts.ROOT)) for path in glob.glob(os.path.join(facts.ROOT, 'deploy/alerts/*.rules.yml'))]
    there = re.findall(r'- alert: (\w+)\n.*?severity: (\w+)', ''.join(rules), re.S)
    return differences(entries, dict(there))


def every_guide_and_reference_is_in_the_readme():
    listed = set(re.findall(r'\]\((docs/[^)#]+)', facts.read('README.md')))
    return [f'{page} is not listed' for page in PAGES if page.startswith(('docs/guide/', 'docs/reference/')) and page not in listed]


def every_link_leads_somewhere():
    for page in PAGES:
        for target, anchor in re.findall(r'\]\(([^)#\s]*)(?:#([^)\s]*))?\)', facts.read(page)):
            path = os.path.normpath(os.path.join(facts.ROOT, os.path.dirname(page), target)) if target else os.path.join(facts.ROOT, page)
            if '://' not in target and not os.path.exists(path):
                yield f'{page}: {target}'
            elif anchor and path.endswith('.md') and anchor not in anchors(os.path.relpath(path, facts.ROOT)):
                yield f'{page}: {target}#{anchor}'


def anchors(page):
    text = facts.read(page)
    return {guide.anchor(heading) for heading in re.findall(r'^#+ (.*)$', text, re.M)} | set(re.findall(r'<a id="([^"]+)"', text))


def every_block_of_commands_is_run_by_a_test():
    there = {name for page in guide.pages() for name in guide.blocks(page)}
    run = guide.named()
    yield from (f'no test runs {name}: see CONTRIBUTING.md' for name in sorted(there - run - set(guide.ELSEWHERE)))
    yield from (f'there is no {name}, which a test names' for name in sorted((run | set(guide.ELSEWHERE)) - there))
    yield from (f'{name} is in the table of exceptions, and a test runs it' for name in sorted(run & set(guide.ELSEWHERE)))


CASES = [every_configuration_key_is_in_its_page, every_metric_is_in_its_page, every_metric_has_its_labels,
         every_metric_of_maglevd_in_a_cluster_is_in_its_page,
         every_metric_that_is_spoken_of_exists, every_log_message_is_in_its_page, every_log_message_has_its_level,
         every_code_is_in_its_page, every_flag_is_in_the_man_page, every_configuration_key_is_in_the_man_page,
         every_metric_and_log_message_of_the_dashboard_is_in_its_page,
         every_metric_and_log_message_of_the_reloader_is_in_its_page,
         every_metric_and_log_message_of_the_gateway_is_in_its_page,
         every_metric_and_log_message_of_the_mux_is_in_its_page,
         every_metric_and_log_message_of_the_controller_is_in_its_page,
         every_key_metric_and_log_message_of_the_speaker_is_in_its_page,
         every_key_error_metric_and_log_message_of_the_router_is_in_its_page, the_router_example_is_the_one_that_is_tested,
         every_reason_setting_and_feature_of_the_gateway_is_in_its_page,
         every_alert_has_its_entry, every_guide_and_reference_is_in_the_readme,
         every_example_passes_the_check, every_link_leads_somewhere, every_block_of_commands_is_run_by_a_test]


if __name__ == '__main__':
    run(CASES)
