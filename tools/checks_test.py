# SPDX-License-Identifier: Apache-2.0
"""Runs each check of the source on a small tree with one error, and on the same tree without it."""
import json
import os
import shutil
import subprocess

import pytest

TOOLS = os.path.dirname(os.path.abspath(__file__))
SPDX = 'SPDX-License-Identifier: Apache-2.0'


@pytest.fixture(name='check')
def check_fixture(tmp_path):
    """check(tool, {path: text}, args...): the lines that the tool prints for a tree of these files."""
    def check(tool, files, *args):
        for path, text in files.items():
            where = tmp_path / path
            where.parent.mkdir(parents=True, exist_ok=True)
            where.write_text(text)
        done = subprocess.run([f'{TOOLS}/{tool}', *args, '--root', tmp_path], capture_output=True, text=True,
                              check=False)
        assert done.stderr == ''
        assert (done.returncode != 0) == bool(done.stdout)
        return done.stdout.splitlines()
    return check


def one(lines, *parts):
    assert len(lines) == 1, lines
    assert all(part in lines[0] for part in parts), lines


def test_every_tool_has_help():
    for name in os.listdir(TOOLS):
        path = f'{TOOLS}/{name}'
        if os.path.isfile(path) and os.access(path, os.X_OK):
            done = subprocess.run([path, '--help'], capture_output=True, text=True, check=False, timeout=10)
            assert done.returncode == 0 and 'usage' in done.stdout, name


@pytest.mark.parametrize('path,header', [
    ('core/health/health.c', 'lib/log/log.h'),
    ('core/health/health.c', 'core/l4/config.h'),
    ('core/health/health_test.c', 'lib/loop/loop.h'),
    ('lib/json/json.c', 'core/health/health.h'),
    ('lib/loop/loop.c', 'lib/http/message.h'),
    ('lib/http/message.c', 'src/maglevd/engine.h'),
    ('base/str.c', 'lib/json/json.h'),
    ('wire/api.c', 'lib/loop/loop.h'),
    ('src/maglevc/main.c', 'src/maglevd/engine.h'),
    ('src/maglevd/engine.c', 'bpf/abi.h'),
    ('src/maglevd/plan.c', 'lib/log/log.h'),
    ('src/router/translate_routes.c', 'lib/log/log.h'),
])
def test_layers_refuse(check, path, header):
    one(check('check-layers', {path: f'int x;\n#include "{header}"\n'}), f'{path}:2: ', header)


@pytest.mark.parametrize('path,header', [
    ('core/l4/weight.c', 'core/health/health.h'),
    ('core/l4/weight.c', 'core/l4/weight.h'),
    ('lib/log/log.c', 'lib/json/json.h'),
    ('lib/grpc/grpc.c', 'proto/grpc/status.pb-c.h'),
    ('wire/config.c', 'lib/yaml/yaml.h'),
    ('src/maglevd/engine.c', 'lib/probe/probe.h'),
    ('src/maglevd/plan.c', 'src/maglevd/plan.h'),
    ('src/maglevd/dataplane/xdp/maps.c', 'bpf/abi.h'),
    ('tests/fuzz/fuzz_config.c', 'wire/config.h'),
])
def test_layers_allow(check, path, header):
    assert not check('check-layers', {path: f'#include "{header}"\n'})


@pytest.mark.parametrize('path,header,fine', [
    ('src/maglevd/main.c', 'ev.h', False),
    ('lib/loop/loop.c', 'ev.h', False),
    ('lib/loop/loop.h', 'ev.h', True),
    ('lib/probe/https.c', 'openssl/ssl.h', False),
    ('lib/tls/tls.c', 'openssl/ssl.h', True),
    ('lib/http/message.c', 'cmocka.h', False),
    ('lib/http/message_test.c', 'cmocka.h', True),
    ('core/health/health.c', 'time.h', False),
    ('core/health/health.c', 'sys/socket.h', False),
    ('wire/config.c', 'sys/socket.h', False),
    ('core/health/health.c', 'netinet/in.h', True),
    ('lib/net/net.c', 'time.h', True),
])
def test_a_third_party_header_stays_in_its_room(check, path, header, fine):
    lines = check('check-layers', {path: f'#include <{header}>\n'})
    assert not lines if fine else one(lines, f'{path}:1: <{header}>') is None


def test_an_include_carries_its_room(check):
    one(check('check-layers', {'base/str.c': '#include "str.h"\n'}), 'base/str.c:1: ')


def test_a_room_that_no_row_knows_is_refused(check):
    one(check('check-layers', {'lib/misc/misc.c': ''}), 'lib/misc stands in no "order" row')


@pytest.mark.parametrize('path,ours', [
    ('core/distance/a.c', True), ('lib/builder/a.c', True), ('tests/build/a.c', True),
    ('build-asan/a.c', False), ('web/dist/a.c', False), ('web/node_modules/x/a.c', False), ('.git/a.c', False),
])
def test_only_what_is_generated_is_not_looked_at(check, path, ours):
    assert bool(check('check-text', {path: 'int x;\n'}, 'spdx')) == ours


def test_an_empty_room_is_refused(check):
    one(check('check-layers', {'lib/json/meson.build': ''}), 'lib/json:1: ')


def function(name, body, params='void'):
    return f'static int {name}({params})\n{{\n{body}\treturn 0;\n}}\n'


def test_shape_is_fine_with_what_is_within_budget(check):
    nested = '\tif (a) {\n\t\tfor (;;) {\n\t\t\tif (b) {\n\t\t\t}\n\t\t}\n\t}\n'
    table = '\tstruct x t[] = {\n\t\t{ { { { { 1 } } } } },\n\t};\n'
    assert not check('shape', {'base/a.c': function('f', nested + table + '\tx();\n' * 60)})


@pytest.mark.parametrize('text,where,what', [
    (function('f', '\tx();\n' * 78), 1, 'f is 82 lines'),
    ('int x;\n' * 901, 901, '901 lines'),
    (function('f', '\tif (a) {\n' * 4 + '\t}\n' * 4), 1, '5 levels'),
    (function('f', '\tswitch (a) {\n\tcase 1: {\n\t\tdo {\n\t\t\tif (b) {\n' + '\t}\n' * 4), 1, '5 levels'),
    (function('f', '', 'int a, int b, int c, int d, int e, int f, int (*g)(int, int)'), 1, '7 parameters'),
    ('int x;\n/* ' + 'x' * 100 + ' */\n', 2, '106 columns'),
    ('\n#define TRY(x) \\\n\tif (x) \\\n\t\treturn -1\n', 2, 'TRY hides'),
    ('#define OUT(x) goto out\n', 1, 'OUT hides'),
])
def test_shape_complains(check, text, where, what):
    one(check('shape', {'base/a.c': text}), f'base/a.c:{where}: ', what)


def test_shape_report_prints_figures(tmp_path):
    (tmp_path / 'a.c').write_text('/* why */\n' + function('f', ''))
    done = subprocess.run([f'{TOOLS}/shape', '--report', '--root', tmp_path], capture_output=True, text=True,
                          check=True)
    assert '1 files, 5 lines, 1 functions' in done.stdout
    assert 'comment share         20.0 %' in done.stdout


@pytest.mark.parametrize('line,fine', [
    ('strcpy(a, b);', False),
    ('x = atoi (s);', False),
    ('signal(SIGINT, f);', False),
    ('sleep(1);', False),
    ('assert(i++ < 3);', False),
    ('assert((x = f()));', False),
    ('assert(x == 1 && y <= 2 && z != 3);', True),
    ('/* not strcpy() */', True),
    ('say("use sprintf()");', True),
    ('my_signal(1); a->signal(2); ev_signal_start(l, w);', True),
])
def test_banned(check, line, fine):
    lines = check('check-text', {'base/a.c': f'void f(void)\n{{\n\t{line}\n}}\n'}, 'banned')
    assert not lines if fine else one(lines, 'base/a.c:3: ') is None


def test_spdx_opens_every_source_and_script(check):
    good = {'base/a.c': f'/* {SPDX} */\n', 'tools/b': f'#!/bin/bash\n# {SPDX}\n', 'meson.build': f'# {SPDX}\n',
            'README.md': '', 'tests/fuzz/corpus/config/a.yaml': ''}
    assert not check('check-text', good, 'spdx')
    one(check('check-text', {'base/a.h': 'int x;\n'}, 'spdx'), 'base/a.h:1: ')


@pytest.mark.parametrize('path', ['lib/x/meson.build', 'deploy/examples/a.yaml', 'deploy/systemd/a.service'])
def test_spdx_opens_what_is_built_and_deployed_from_too(check, path):
    one(check('check-text', {path: '\n'}, 'spdx'), f'{path}:1: ')


def test_spdx_is_the_second_line_of_a_script(check):
    one(check('check-text', {'tools/b': f'#!/usr/bin/python3\nimport os\n# {SPDX}\n'}, 'spdx'), 'tools/b:2: ')


def test_tidy_checks_again_only_what_changed(check, tmp_path):
    def tidy(body):
        text = f'int f(int x);\nint f(int x)\n{{\n\t{body}\n}}\n'
        return check('tidy', {'a.c': text, '.clang-tidy': f'# {SPDX}\nChecks: "-*,clang-analyzer-core.*"\n',
                              'out/build.ninja': '', 'out/compile_commands.json': json.dumps(
                                  [{'directory': str(tmp_path / 'out'), 'command': 'cc -c ../a.c', 'file': '../a.c',
                                    'output': 'a.o'}])}, '--build', 'out')
    assert tidy('return 1 / (x ? 0 : 1);')[0].startswith('a.c:4:')
    assert not os.listdir(tmp_path / 'out/tidy')
    assert not tidy('return x;')
    clean = os.listdir(tmp_path / 'out/tidy')
    assert not tidy('return x;') and os.listdir(tmp_path / 'out/tidy') == clean and len(clean) == 1
    assert tidy('return x / 0;')[0].startswith('a.c:4:')


def test_packages_that_are_missing_are_named(tmp_path):
    shutil.copy(f'{TOOLS}/install-packages', tmp_path)
    (tmp_path / 'packages').write_text('# a word\nbash\nno-such-package\nno-such-shell unless bash\n'
                                       'no-such-tool unless no-such-command\n')
    done = subprocess.run([tmp_path / 'install-packages', '--missing'], capture_output=True, text=True, check=True)
    assert done.stdout == 'no-such-package\nno-such-tool\n'


def test_a_header_that_leans_on_others_is_found(check, tmp_path):
    commands = tmp_path / 'out' / 'compile_commands.json'
    commands.parent.mkdir()
    commands.write_text('[]')
    files = {'base/good.h': '#include <stddef.h>\nextern size_t x;\n', 'base/bad.h': 'extern size_t y;\n'}
    lines = check('check-headers', files, '--build', str(commands.parent))
    assert lines[0] == 'base/bad.h:1: does not compile alone'
    assert not any('good.h' in line for line in lines)


@pytest.mark.parametrize('line, fine', [
    ('int counter;', False),
    ('static int counter = 1; int next(void); int next(void) { return counter++; }', False),
    ('char *text(int i); char *text(int i) { static char buf[9]; buf[0] = i; return buf; }', False),
    ('static _Thread_local int counter; int next(void); int next(void) { return counter++; }', True),
    ('extern const char *const words[]; const char *const words[] = { "a", "b" };', True),
    ('int twice(int i); int twice(int i) { int t = 2 * i; return t; }', True)])
def test_state_of_the_process_is_found(tmp_path, line, fine):
    (tmp_path / 'lib/x/libx.a.p').mkdir(parents=True)
    subprocess.run(['gcc', '-O2', '-fPIE', '-x', 'c', '-c', '-', '-o', tmp_path / 'lib/x/libx.a.p/x.c.o'], input=line, text=True,
                   check=True)
    done = subprocess.run([f'{TOOLS}/check-state', '--build', tmp_path], capture_output=True, text=True, check=False)
    assert (done.returncode == 0) is fine, done.stdout + done.stderr
    assert fine or done.stdout.startswith('lib/x/x.c: ')


def test_words_that_strangers_stumble_over(check):
    one(check('check-text', {'a.c': '/* tables are built\n * anew */\n'}, 'prose'), 'a.c:2: ', 'again')
    assert not check('check-text', {'a.c': '/* tables are built again */\n'}, 'prose')


@pytest.fixture(name='subjects')
def subjects_fixture(tmp_path):
    """subjects(subject...): complaints about commits with these subjects, after the one that added the check."""
    def git(*words):
        subprocess.run(['git', '-C', tmp_path, '-c', 'user.name=x', '-c', 'user.email=x@example.net', *words], check=True,
                       capture_output=True)

    def subjects(*subjects):
        (tmp_path / 'tools').mkdir()
        (tmp_path / 'tools/check-commits').write_text('')
        git('init', '-q')
        git('commit', '-q', '--allow-empty', '-m', 'Whatever stood here before is left alone, however long it may be.')
        git('add', '.')
        git('commit', '-q', '-m', 'The one that brings the check')
        for subject in subjects:
            git('commit', '-q', '--allow-empty', '-m', subject)
        done = subprocess.run([f'{TOOLS}/check-commits', '--root', tmp_path], capture_output=True, text=True, check=False)
        assert (done.returncode != 0) == bool(done.stdout)
        return done.stdout.splitlines()
    return subjects


@pytest.mark.parametrize('subject, fault', [
    ('maglevd: spread the events of a reload over several turns of it', '63 characters'),
    ('No area here', 'form'), ('maglevd: ends in a stop.', 'form'), ('wip: half of it', 'unfinished'),
    ('maglevd: tables are built anew', 'again'), ('api: who watches first is told first', 'a name'),
])
def test_a_subject_that_a_stranger_stumbles_over(subjects, subject, fault):
    one(subjects(subject), subject, fault)


def test_subjects_as_they_should_be(subjects):
    assert not subjects('maglevd: deliver events in the order of subscription', 'lib/http, h2: close idle connections')
