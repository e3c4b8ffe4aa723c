#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""interfaces_test.py MAGLEVD: whether the pages have every path, method, message, Event and word of our APIs, and no other. Answers in TAP."""
import os
import re
import sys

import facts
import interfaces
import messages
from pages import named, quoted, rows, run, same

REFERENCE = 'docs/reference/'
GUIDE = '../guide/'
ADMIN = ('lib/admin/admin.c',)
# page: (headings of the tables with paths, where the routes are)
PATHS = {'admin.md': (('Admin endpoints',), ADMIN),
         'router.md': (('Requests',), ('src/router/api.c', *ADMIN)),
         'dashboard.md': (('Paths',), ('src/frontend/dashboard.c', *ADMIN)),
         'mux.md': (('The debug page',), ('src/mux/web.c',)),
         'controller.md': (('Webhooks',), ('src/controller/webhook.c',)),
         'frr-reloader.md': (('Requests',), ('src/frr-reloader/requests.c', *ADMIN))}
# not in tables: redirections, icons, and what the daemon has on another port
UNTOLD = {'/', '/favicon.ico', '/favicon.svg', '/admin', '/view', '/loglevel', '/*'}

SERVICES = {'maglev': ('api.md', 'Methods'), 'speaker': ('speaker.md', 'API'), 'router': ('router.md', 'API')}

# page, file, table of names: each of them must be in the page
WORDS = [('api.md', 'core/l4/foresee.c', 'command_names'), ('api.md', 'core/l4/foresee.c', 'effect_names'),
         ('api.md', 'core/health/health.c', 'state_names'),
         ('metrics.md', 'core/l4/warmup.c', 'phase_names'), (GUIDE + 'xdp.md', 'src/maglevd/dataplane/xdp/counters.c', 'xdplb__event_name'),
         ('api.md', 'core/diff/diff.c', 'kind_names'),
         ('configuration.md', 'core/l4/schema_kind.c', 'check_types'), ('configuration.md', 'core/l4/schema_kind.c', 'dataplanes'),
         ('configuration.md', 'core/l4/schema_kind.c', 'xdp_modes'), ('configuration.md', 'core/l4/schema_kind.c', 'xdp_transmits'),
         ('configuration.md', 'core/l4/schema_kind.c', 'dns_types'), ('configuration.md', 'core/l4/schema_kind.c', 'dns_rcodes'),
         ('speaker.md', 'core/announce/announce.c', 'announce_state_name'), ('speaker.md', 'core/announce/announce.c', 'announce_reason_name'),
         ('speaker.md', 'core/l2/election.c', 'l2_state_name'), ('speaker.md', 'core/l2/election.c', 'l2_reason_name'),
         ('speaker.md', 'core/speak/speak.c', 'reason_names'), ('cli.md', 'core/way/way.c', 'way_state_name'),
         ('router.md', 'src/router/drop.c', 'drop_words'),
         ('router.md', 'src/router/refusal.c', 'refusal_words')]


def covers(route, path):
    return path == route or (route.endswith('*') and path.startswith(route[:-1]))


def every_http_path_is_in_its_page():
    for page, (headings, patterns) in PATHS.items():
        routes = interfaces.http_paths(*patterns)
        told = {re.sub(r'[?]\S*', '', found) for word in named(REFERENCE + page, *headings) for found in re.findall(r'(?:^|[A-Z] )(/\S*)', word)}
        yield from (f'{page}: {route} is missing' for route in routes - UNTOLD if not any(covers(route, path) for path in told))
        yield from (f'{page}: there is no {path}' for path in told if not any(covers(route, path) for route in routes))


def every_act_of_the_dashboard_is_in_its_page():
    told = {re.sub(r'\b[A-Z]+\b', '*', word) for word in named(REFERENCE + 'dashboard.md', 'Acts')}
    words = {word for word in told if '/' not in word}  # "also" after the path of another one
    paths = {'/'.join([*path.split('/')[:-1], word]) for path in told - words for word in words if path.endswith('/pause')}
    return same('an act', told - words | paths, interfaces.acts())


def every_event_of_kubernetes_is_in_its_page():
    for program in ('mux', 'controller', 'speaker'):
        code = interfaces.kube_events(program) - {'ConnectionTest', 'MuxDeleted'}  # of the debug page alone
        yield from same(f'an Event of {program}', named(f'{REFERENCE}{program}.md', 'Events'), code)


def every_annotation_is_in_its_page():
    for program, prefix in (('mux', ''), ('controller', 'metallb.io/')):
        told = named(f'{REFERENCE}{program}.md', 'Annotations')
        yield from same(f'an annotation of {program}', told, {prefix + name for name in interfaces.annotations(program)})


def every_label_of_a_metric_is_in_its_page():
    """maglevd has a test of its own, with its live metrics."""
    for program in ('controller', 'frontend', 'frr-reloader', 'gateway', 'mux', 'router', 'speaker'):
        page = REFERENCE + {'frontend': 'dashboard'}.get(program, program) + '.md'
        told = {word for heading, cells in rows(page) if heading == 'Metrics' for word in quoted(cells[2])}
        written, words = interfaces.labels(program)
        yield from (f'{page}: {label} is missing' for label in sorted(written - told))
        yield from (f'{page}: there is no {label}' for label in sorted(told - words))


def services(file):
    """{method: (fields of its request, request)} of a file of proto/, and the fields of all messages."""
    found = {name: (kind, lines) for kind, name, _, lines in messages.blocks(facts.read(f'proto/{file}.proto'))}
    fields = {name: {match[3] for match, _ in messages.members(lines, messages.FIELD)} for name, (_, lines) in found.items()}
    calls = [match for kind, lines in found.values() if kind == 'service' for match, _ in messages.members(lines, messages.METHOD)]
    return {call[1]: (fields[call[2]], call[2]) for call in calls}


def every_method_is_in_its_page():
    for file, (page, heading) in SERVICES.items():
        told = {quoted(cells[0])[0]: set(quoted(cells[1])) for where, cells in rows(REFERENCE + page) if where == heading}
        code = services(file)
        yield from same('a method', told, code)
        for request in {request for _, request in code.values()}:
            used = set().union(*(told.get(name, set()) for name, (_, one) in code.items() if one == request))
            yield from same(f'a field of {request}', used, next(fields for fields, one in code.values() if one == request))


def every_message_is_in_its_page():
    if facts.read(messages.PAGE) != messages.page():
        yield f'{messages.PAGE} is not that of proto/*.proto: run docs/messages.py'


def every_status_is_in_its_page():
    return same('a status', named(REFERENCE + 'api.md', 'Status codes'), interfaces.grpc_statuses() - {'OK'})


def every_word_of_an_api_is_in_its_page():
    for page, path, table in WORDS:
        text = re.sub('^```.*?^```', '', facts.read(REFERENCE + page), flags=re.S | re.M)
        told = {word for part in quoted(text) for word in re.split(r'[\s,|\\]+', part)}
        yield from (f'{page}: {word} of {path} is missing' for word in sorted(interfaces.words(path, table) - told))


def every_command_is_in_its_page():
    told = {text for word in named(REFERENCE + 'cli.md', 'Commands') for text in interfaces.command(word)}
    return same('a command', told - {'exit', 'quit'}, interfaces.commands(os.path.join(os.path.dirname(sys.argv[1]), '../maglevc/maglevc')))


def every_program_has_a_man_page():
    pages = {os.path.splitext(name)[0] for name in os.listdir(os.path.join(facts.ROOT, 'docs/man')) if re.search(r'\.\d$', name)}
    return same('a program', pages, interfaces.programs())


def every_variable_is_in_the_man_page():
    for name in sorted(interfaces.programs()):
        room = 'src/' + re.sub('^(maglevd|maglev)-', '', name)
        page = next(path for path in (f'docs/man/{name}.1', f'docs/man/{name}.8') if os.path.exists(os.path.join(facts.ROOT, path)))
        read = interfaces.variables(room) | (interfaces.variables('lib/k8s') if room in (*facts.WITH_OPERATOR, 'src/maglevd') else set())
        yield from (f'{page}: {one} is missing' for one in sorted(read) if not re.search(rf'Ev {one}\b', facts.read(page)))


def every_program_shows_the_version_of_the_changelogs():
    version = re.search(r"version: '([^']+)'", facts.read('meson.build'))[1]
    yield from same('a version', {version}, {re.match(r'maglev \((.*?)\)', facts.read('debian/changelog'))[1],
                                             re.search(r'^## (\S+)', facts.read('CHANGELOG.md'), re.M)[1]})
    for name in sorted(interfaces.programs()):
        room = re.sub('^(maglevd|maglev)-', '', name)
        said = interfaces.version(os.path.join(os.path.dirname(sys.argv[1]), '..', room, name))
        if not said.startswith(f'{name} {version} '):
            yield f'{name} --version says {said}'


CASES = [every_http_path_is_in_its_page, every_act_of_the_dashboard_is_in_its_page, every_event_of_kubernetes_is_in_its_page,
         every_annotation_is_in_its_page, every_label_of_a_metric_is_in_its_page,
         every_method_is_in_its_page, every_message_is_in_its_page, every_status_is_in_its_page,
         every_word_of_an_api_is_in_its_page, every_command_is_in_its_page, every_program_has_a_man_page,
         every_variable_is_in_the_man_page,
         every_program_shows_the_version_of_the_changelogs]

if __name__ == '__main__':
    run(CASES)
