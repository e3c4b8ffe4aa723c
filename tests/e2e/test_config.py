# SPDX-License-Identifier: Apache-2.0
"""maglevd --check and the command line: what is refused, where, and with which exit code."""
import os
import re
import resource
import subprocess
import textwrap
import time

import pytest

from lab import program

GOOD = textwrap.dedent('''\
    maglev:
      healthchecks:
        web:
          type: http
          port: 80
          interval: 2s
          params:
            path: /healthz
            response-code: 200-299
      backends:
        web1: { address: 10.0.0.11, healthcheck: web }
        web2: { address: 10.0.0.12, healthcheck: web }
      frontends:
        www:
          address: 198.51.100.10
          protocol: tcp
          port: 80
          pools:
            - name: primary
              backends:
                web1: { weight: 100 }
                web2: {}
      vpp:
        lb:
          ipv4-src-address: 192.0.2.1
          ipv6-src-address: 2001:db8::1
    ''')


def run(*args, env=None, **more):
    return subprocess.run([program(), *args], capture_output=True, text=True, timeout=30,
                          env={**os.environ, 'MAGLEV_GRPC_ADDR': '', **(env or {})}, **more)


@pytest.fixture
def check(tmp_path):
    """Checks a text; returns exit code, standard error, and the file's name."""
    def check(text, **more):
        file = tmp_path / 'maglev.yaml'
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = run('--check', '--config', str(file), **more)
        return done.returncode, done.stderr, str(file)
    return check


def place(text, needle):
    """line:column of the first needle."""
    before = text[:text.index(needle)]
    return f'{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}'


def test_a_good_file_passes(check):
    """FR-5.2, NFR-5.2: exit code 0"""
    code, errors, _ = check(GOOD)
    assert (code, errors) == (0, '')


# a change to the good file; the new text whose place is named; the key; a word of the reason
PARSE = {
    'unknown_key': ('port: 80\n      interval', 'prot: 80\n      interval', 'prot', 'healthchecks.web.prot', "'port'"),
    'unknown_section': ('  backends:\n    web1: {', '  backend:\n    web1: {', 'backend:', 'backend', "'backends'"),
    'duplicate_key': ('type: http\n', 'type: http\n      type: tcp\n', 'type: tcp', 'type', ''),
    'wrong_type': ('port: 80\n      interval', 'port: eighty\n      interval', 'eighty', 'port', 'number'),
    'map_for_a_scalar': ('interval: 2s', 'interval: { a: 1 }', '{ a: 1 }', 'interval', 'duration'),
    'list_for_a_map': ('pools:\n        - name: primary', 'pools:\n        - [ primary ]\n        - name: primary',
                       '[ primary ]', 'pools', ''),
    'bare_duration': ('interval: 2s', 'interval: 2', '2\n', 'interval', 'unit'),
    'bad_duration': ('interval: 2s', 'interval: 2 lightyears', '2 lightyears', 'interval', 'duration'),
    'bad_bool': ('healthcheck: web }\n    web2', 'healthcheck: web, enabled: maybe }\n    web2', 'maybe', 'enabled',
                 'true or false'),
    'tab_as_indent': ('  backends:\n    web1', '\tbackends:\n    web1', '\tbackends', '', ''),
    'name_turned_round': ('web1: { address', '"web\\u202E1": { address', '"web\\u202E1"', 'backends.web\\u202e1', 'printable'),
    'unclosed_brace': ('web2: {}', 'web2: {', None, '', ''),
    'unknown_alias': ('web2: {}', 'web2: *nothing', '*nothing', '', ''),
}

SEMANTIC = {
    'no_such_check': ('healthcheck: web }\n    web2', 'healthcheck: wbe }\n    web2', 'wbe',
                      'backends.web1.healthcheck', '"web"'),
    'no_such_backend': ('web2: {}', 'web3: {}', 'web3: {}', 'web3', ''),
    'bad_address': ('address: 10.0.0.11', 'address: 10.0.0.256', '10.0.0.256', 'backends.web1.address', ''),
    'prefix_for_a_host': ('198.51.100.10', '198.51.100.10/24', '198.51.100.10/24', 'frontends.www.address', ''),
    'port_too_large': ('port: 80\n      pools', 'port: 65536\n      pools', '65536', 'frontends.www.port', ''),
    'port_without_protocol': ('protocol: tcp\n      ', '', None, 'frontends.www', ''),
    'pool_turned_round': ('name: primary', 'name: "a\u202eb"', '"a', 'pools[0].name', 'holds \\u202e, which is not printable'),
    'description_with_escapes': ('protocol: tcp', 'description: "\\e[2J"\n      protocol: tcp', '"\\e[2J"',
                                 'frontends.www.description', 'holds \\x1b'),
    'weight_over_100': ('weight: 100', 'weight: 101', '101', 'weight', '100'),
    'empty_pool': ('backends:\n            web1: { weight: 100 }\n            web2: {}', 'backends: {}', None,
                   'backends', ''),
    'mixed_families': ('address: 10.0.0.12', 'address: 2001:db8::12', None, 'www', ''),
    'two_backends_one_address': ('address: 10.0.0.12', 'address: 10.0.0.11', None, 'www', ''),
    'reversed_codes': ('200-299', '299-200', '299-200', 'response-code', ''),
    'bad_regexp': ('response-code: 200-299', 'response-regexp: "(["', '"(["', 'response-regexp', 'compile'),
    'rise_of_zero': ('interval: 2s', 'rise: 0', '0\n      params', 'rise', ''),
    'timeout_of_zero': ('interval: 2s', 'timeout: 0s', '0s', 'timeout', ''),
    'no_port': ('port: 80\n      interval', 'interval', None, 'healthchecks.web.port', 'required'),
    'no_source_address': ('ipv4-src-address: 192.0.2.1\n      ', '', None, 'ipv4-src-address', 'required'),
    'wrong_family': ('ipv4-src-address: 192.0.2.1', 'ipv4-src-address: 2001:db8::9', '2001:db8::9',
                     'ipv4-src-address', 'IPv4'),
    'part_of_a_second': ('lb:\n', 'lb:\n      flow-timeout: 1500ms\n', '1500ms', 'flow-timeout', 'second'),
    'timeout_out_of_range': ('lb:\n', 'lb:\n      flow-timeout: 121s\n', '121s', 'flow-timeout', ''),
    'buckets': ('lb:\n', 'lb:\n      sticky-buckets-per-core: 1000\n', '1000', 'sticky-buckets-per-core', 'power'),
    'max_below_min': ('lb:\n', 'lb:\n      startup-max-delay: 1s\n', '1s', 'startup-max-delay', 'startup-min-delay'),
    'sync_of_zero': ('lb:\n', 'lb:\n      sync-interval: 0s\n', '0s', 'sync-interval', ''),
    'history_of_zero': ('maglev:\n', 'maglev:\n  healthchecker: { transition-history: 0 }\n', '0 }',
                        'transition-history', ''),
    'fake_is_no_data_plane': ('  vpp:\n', '  dataplane: fake\n  vpp:\n', 'fake', 'dataplane', 'none'),
}


def refused(check, row, expected):
    old, new, needle, key, word = row
    assert GOOD.count(old) == 1, 'the row does not fit the good file'
    text = GOOD.replace(old, new)
    code, errors, file = check(text)
    assert code == expected, errors
    named = [line for line in errors.splitlines() if line.startswith(f'{file}:') and key in line and word in line]
    assert named, errors
    if needle:
        assert any(line.startswith(f'{file}:{place(text, needle)}: ') for line in named), (place(text, needle), errors)
    else:
        assert named[0][len(file) + 1:].split(':')[0].isdigit(), errors
    assert 'ERROR: AddressSanitizer' not in errors and 'runtime error' not in errors


@pytest.mark.parametrize('row', PARSE)
def test_what_does_not_parse_is_refused_with_1(row, check):
    """FR-5.2, NFR-5.2: file, line, column, key and reason on standard error"""
    refused(check, PARSE[row], 1)


@pytest.mark.parametrize('row', SEMANTIC)
def test_what_breaks_a_rule_is_refused_with_2(row, check):
    """FR-5.2, NFR-5.2, FR-2.1: file, line, column, key and reason on standard error"""
    refused(check, SEMANTIC[row], 2)


def test_all_mistakes_are_told_in_one_go(check):
    """FR-5.2: in the order of the file"""
    text = GOOD.replace('port: 80\n      interval', 'prot: 80\n      intervall').replace('enabled', '')
    code, errors, file = check(text.replace('weight: 100', 'wait: 100'))
    assert code == 1
    lines = [int(line[len(file) + 1:].split(':')[0]) for line in errors.splitlines()]
    assert len(lines) >= 3 and lines == sorted(lines)
    code, errors, _ = check(GOOD.replace('10.0.0.11', '10.0.0.300').replace('weight: 100', 'weight: 200')
                            .replace('200-299', '700'))
    assert code == 2 and len(errors.splitlines()) == 3


def test_rules_are_not_looked_at_in_a_file_that_does_not_parse(check):
    """FR-5.2"""
    code, errors, _ = check(GOOD.replace('weight: 100', 'weight: 200').replace('port: 80\n      interval',
                                                                              'prot: 80\n      interval'))
    assert code == 1 and 'weight' not in errors


def test_doubts_are_warnings(check):
    """DESIGN 4: weights above the VPP table length warn, and pass"""
    heavy = ''.join(f'    h{i}: {{ address: 10.1.{i // 250}.{i % 250 + 1} }}\n' for i in range(11))
    members = ''.join(f'            h{i}: {{}}\n' for i in range(11))
    text = GOOD.replace('  frontends:', heavy + '  frontends:').replace('            web2: {}\n', members)
    text = text.replace('lb:\n', 'lb:\n      new-flows-table-length: 1024\n')
    code, errors, _ = check(text)
    assert code == 0 and 'warning:' in errors and '1024' in errors


def test_anchors_and_merges_work(check):
    """DESIGN 4"""
    text = GOOD.replace('web1: { address: 10.0.0.11, healthcheck: web }',
                        'web1: &one { address: 10.0.0.11, healthcheck: web }')
    text = text.replace('web2: { address: 10.0.0.12, healthcheck: web }', 'web2: { <<: *one, address: 10.0.0.12 }')
    assert check(text)[:2] == (0, '')


def test_the_shipped_example_passes():
    """FR-5.1"""
    examples = os.path.join(os.path.dirname(__file__), '../../deploy/examples')
    others = ('router.yaml', 'lab-router.yaml', 'speaker.yaml', 'speaker-l2.yaml')  # see test_router_changes.py, test_speaker.py, test_speaker_l2.py
    found = sorted(f for f in os.listdir(examples) if f.endswith('.yaml') and f not in others)
    assert 'lab.yaml' in found
    for file in found:
        done = run('--check', '--config', os.path.join(examples, file))
        assert done.returncode == 0, done.stderr


# ---- files that mean harm ----

MEMORY = 400 << 20


def bounded(check, text):
    """Within little time and memory; the release build would need less still."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    start = time.monotonic()
    code, errors, file = check(text)
    assert time.monotonic() - start < 15
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert after <= max(before, MEMORY >> 10), 'it needed too much memory'
    assert code == 1 and errors.startswith(file) and len(errors) < 100_000, errors[:500]
    return errors


def laughs(levels, width=10):
    lines = ['maglev:', '  healthchecks:', '    a0: &a0 { type: icmp }']
    lines += [f'    a{i}: &a{i} [{", ".join([f"*a{i - 1}"] * width)}]' for i in range(1, levels)]
    return '\n'.join(lines) + '\n'


HOSTILE = {
    'empty': '',
    'only_a_comment': '# nothing\n',
    'a_scalar': 'maglev\n',
    'a_list': '- maglev\n',
    'two_documents': GOOD + '---\n' + GOOD,
    'binary': bytes(range(256)) * 50,
    'zeros': b'\0' * 4096,
    'not_utf8': GOOD.encode().replace(b'primary', b'prim\xff\xfery'),
    'ten_mebibytes': GOOD + '# ' + 'x' * 10485760 + '\n',
    'ten_mebibytes_of_keys': 'maglev:\n  backends:\n' + ''.join(f'    b{i}: {{ adress: x }}\n' for i in range(400_000)),
    'deep_lists': 'maglev: ' + '[' * 100_000,
    'deep_maps': 'maglev: ' + '{a: ' * 100_000,
    'deep_blocks': ''.join('  ' * i + 'a:\n' for i in range(1500)),
    'billion_laughs': laughs(12),
    'an_alias_to_itself': 'maglev: &a\n  healthchecks: *a\n',
    'a_long_key': 'maglev:\n  ' + 'k' * 100_000 + ': 1\n',
    'a_tag_that_is_no_text': 'maglev: !%c0%80 x\n',
    'many_tag_directives': ''.join(f'%TAG !a{i}! b\n' for i in range(200_000)) + '--- x\n',
    'many_documents': '---\n' * 100_000,
    'many_anchors': 'maglev: [' + ', '.join(f'&a{i} x' for i in range(50_000)) + ']\n',
}


@pytest.mark.parametrize('name', HOSTILE)
def test_a_hostile_file_gets_a_clear_error_in_bounded_time_and_memory(name, check):
    """FR-5.2: exit code 1, and a short word with the file's name"""
    bounded(check, HOSTILE[name])


@pytest.mark.parametrize('kind', ['directory', 'fifo', 'missing', 'device', 'socket', 'unreadable_loop'])
def test_what_is_no_file_is_refused(kind, tmp_path):
    """FR-5.2: nothing hangs on a FIFO or reads a device for ever"""
    path = tmp_path / 'x'
    if kind == 'directory':
        path.mkdir()
    elif kind == 'fifo':
        os.mkfifo(path)
    elif kind == 'device':
        path = '/dev/zero'
    elif kind == 'socket':
        import socket
        socket.socket(socket.AF_UNIX).bind(str(path))
    elif kind == 'unreadable_loop':
        path.symlink_to(path)
    done = run('--check', '--config', str(path))
    assert done.returncode == 1 and done.stderr.startswith(str(path)), done.stderr


def test_a_daemon_does_not_start_on_a_broken_file(tmp_path):
    """FR-5.2: the same exit codes, and the complaint in the log with its place"""
    import json
    for text, status in ((GOOD.replace('port: 80\n', 'prot: 80\n', 1), 1), (GOOD.replace('10.0.0.11', 'x'), 2)):
        file = tmp_path / 'maglev.yaml'
        file.write_text(text)
        done = run('--config', str(file), '--metrics-addr', '127.0.0.1:0')
        assert done.returncode == status
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        complaint = next(line for line in lines if line['msg'] == 'config-error')
        assert complaint['file'] == str(file) and complaint['line'] > 1 and complaint['key']
        assert lines[-1]['msg'] == 'config-load-failed' and lines[-1]['level'] == 'ERROR'


# ---- the command line ----

@pytest.mark.parametrize('name, prefix, some', [
    ('maglevd', 'MAGLEV_', {'config', 'grpc-addr', 'metrics-addr', 'vpp-api-addr', 'vpp-stats-addr', 'log-level', 'check'}),
    ('maglevc', 'MAGLEV_', {'server', 'output', 'color'}), ('maglevt', 'MAGLEVT_', {'config', 'interval', 'batch'}),
    ('maglevd-frontend', 'MAGLEV_FRONTEND_', {'server', 'listen', 'log-level'})])
def test_help_names_every_flag_and_its_variable(name, prefix, some):
    """NFR-5.1"""
    texts = []
    for word in ('--help', '-help', '-h'):
        done = subprocess.run([program(name), word], capture_output=True, text=True, timeout=30, check=True)
        assert not done.stderr
        texts.append(done.stdout)
    assert texts[0] == texts[1] == texts[2]
    entries = re.findall(r'^  (?:-\w, )?--([\w-]+)(.*\n(?:    .*\n)*)', texts[0], re.M)
    variables = {flag: re.findall(r'env\s+(\w+)\)', text) for flag, text in entries}
    assert variables.pop('help') == variables.pop('version') == [] and some <= set(variables)
    assert variables == {flag: [prefix + flag.upper().replace('-', '_')] for flag in variables}


def test_version_is_told():
    done = run('--version')
    assert done.returncode == 0 and done.stdout.startswith('maglevd ')


@pytest.mark.parametrize('args', [['--nonsense'], ['--log-level', 'loud'], ['--config'], ['operand'],
                                  ['--check=perhaps'], ['--metrics-adr', 'x']])
def test_a_bad_flag_is_refused_with_64(args):
    """1 and 2 are taken by --check"""
    done = run(*args)
    assert done.returncode == 64 and done.stderr and not done.stdout


def test_a_misspelt_flag_is_guessed():
    assert '--metrics-addr' in run('--metrics-adr', 'x').stderr


@pytest.mark.parametrize('form', ['--config {}', '--config={}', '-config {}', '-config={}'])
def test_flags_have_four_forms(form, tmp_path):
    """DESIGN 3"""
    file = tmp_path / 'maglev.yaml'
    file.write_text(GOOD)
    assert run('--check', *form.format(file).split(' ')).returncode == 0


def test_the_environment_stands_in_for_flags_and_flags_win(tmp_path):
    """NFR-5.1"""
    good, bad = tmp_path / 'good.yaml', tmp_path / 'bad.yaml'
    good.write_text(GOOD)
    bad.write_text('nonsense')
    env = {'MAGLEV_CHECK': 'true', 'MAGLEV_CONFIG': str(good)}
    assert run(env=env).returncode == 0
    assert run('--config', str(bad), env=env).returncode == 1
    assert run(env={**env, 'MAGLEV_CONFIG': str(bad)}).returncode == 1
    assert run(env={'MAGLEV_LOG_LEVEL': 'loud'}).returncode == 64
    assert run('--check=false', '--grpc-addr=', '--metrics-addr', 'nonsense', env=env).returncode not in (0, 1, 2, 64)


def test_without_a_vpp_socket_no_source_address_is_needed(check):
    """DESIGN 4: an empty --vpp-api-addr means the same as dataplane: none"""
    text = GOOD[:GOOD.index('  vpp:')]
    assert check(text)[0] == 2
    assert check(text, env={'MAGLEV_VPP_API_ADDR': ''})[0] == 0
    assert check(text + '  dataplane: none\n')[0] == 0
