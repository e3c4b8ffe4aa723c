# SPDX-License-Identifier: Apache-2.0
"""How the runner counts: results of TAP, JUnit and the rows of the requirements."""
import os
import subprocess

import results

TOOLS = os.path.dirname(os.path.abspath(__file__))


def outcomes(cases):
    return [(case.name, case.outcome) for case in cases]


def test_tap_cases_are_counted_one_by_one():
    tap = '1..3\nok 1 - a\nnot ok 2 - b\n# 0x1 != 0x2\n# b_test.c:8: error: Failure!\nwhy not\nnot ok 3 # SKIP c\n'
    cases = results.from_tap('base', 'b_test', tap, '', 1)
    assert outcomes(cases) == [('base a', 'passed'), ('base b', 'failed'), ('base c', 'skipped')]
    assert cases[1].output.startswith('0x1 != 0x2\nb_test.c:8: ') and cases[2].output == 'why not'


def test_tap_of_a_script_has_the_reason_behind_the_skip():
    cases = results.from_tap('deploy', 'x_test.sh', 'ok 1 - a\nok 2 - b # SKIP no systemd\n1..2\n', '', 0)
    assert outcomes(cases) == [('deploy a', 'passed'), ('deploy b', 'skipped')]
    assert cases[1].output == 'no systemd'


def test_a_crash_between_cases_is_a_failure():
    cases = results.from_tap('base', 'b_test', '1..2\nok 1 - a\n', 'heap-buffer-overflow', 1)
    assert outcomes(cases) == [('base a', 'passed'), ('base b_test', 'failed')]
    assert 'after base a' in cases[1].output and 'heap-buffer-overflow' in cases[1].output


def test_a_leak_after_the_last_case_is_a_failure():
    cases = results.from_tap('base', 'b_test', '1..1\nok 1 - a\n', 'LeakSanitizer', 'ERROR 1')
    assert outcomes(cases) == [('base a', 'passed'), ('base b_test', 'failed')]


def test_a_program_without_cases_is_a_failure():
    assert outcomes(results.from_tap('base', 'b_test', '', '', 0)) == [('base b_test', 'failed')]


def junit(tmp_path, inside):
    path = tmp_path / 'a.xml'
    path.write_text(f'<testsuites><testsuite>{inside}</testsuite></testsuites>')
    return str(path)


def test_junit_cases_are_counted_one_by_one(tmp_path):
    path = junit(tmp_path, '<testcase name="a"/><testcase name="b"><failure>boom</failure></testcase>'
                           '<testcase name="c[1]"><skipped message="no VPP"/></testcase>')
    cases = results.from_junit('e2e', 'test_x.py', path, 1, '')
    assert outcomes(cases) == [('test_x.py::a', 'passed'), ('test_x.py::b', 'failed'), ('test_x.py::c[1]', 'skipped')]
    assert cases[1].output == 'boom' and cases[2].output == 'no VPP'


def test_pytest_that_wrote_nothing_or_ended_badly_is_a_failure(tmp_path):
    absent = results.from_junit('e2e', 'test_x.py', str(tmp_path / 'none.xml'), 4, 'usage')
    assert outcomes(absent) == [('test_x.py', 'failed')]
    killed = results.from_junit('e2e', 'test_x.py', junit(tmp_path, '<testcase name="a"/>'), 124, '')
    assert outcomes(killed) == [('test_x.py::a', 'passed'), ('test_x.py', 'failed')]


def test_the_last_line_counts(capsys):
    good, bad = results.Case('unit', 'base a', 'passed'), results.Case('unit', 'base b', 'failed', 'boom')
    skip = results.Case('e2e', 'c', 'skipped', 'no VPP')
    assert results.summary([good, good]) == 0
    assert capsys.readouterr().out == '2 passed, 0 failed\n'
    assert results.summary([good, bad, skip]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == '1 passed, 1 failed, 1 skipped'
    assert 'skipped e2e c: no VPP' in out and 'boom' in out
    assert results.summary([]) == 1
    assert results.summary([skip]) == 1


def required():
    """The ids, as listed in the tool's complaint about an empty document."""
    return [f'FR-{c}.{n}' for c, m in enumerate((7, 4, 5, 4, 5, 4, 4), 1) for n in range(1, m + 1)] + \
           [f'NFR-{c}.{n}' for c, m in enumerate((4, 4, 4, 3, 4), 1) for n in range(1, m + 1)]


def requirements(tmp_path, rows, ran):
    (tmp_path / 'r.md').write_text(''.join(f'| {i} | says | {rows.get(i, "issue API")} |\n' for i in rows))
    (tmp_path / 'ran').write_text(ran)
    done = subprocess.run([f'{TOOLS}/check-requirements', '--root', tmp_path, '--document', 'r.md', '--ran', 'ran'],
                          capture_output=True, text=True, check=False)
    assert done.stderr == '' and (done.returncode != 0) == bool(done.stdout)
    return done.stdout.splitlines()


def test_requirements_are_met_by_tests_that_ran_or_issues(tmp_path):
    rows = dict.fromkeys(required(), 'issue API')
    rows['FR-1.1'] = '`unit core/health::a`, `e2e test_x.py::b`, `fuzz config`'
    rows['FR-1.2'] = '#3'
    ran = 'unit core/health a\ne2e test_x.py::b[1]\nfuzz config\n'
    assert requirements(tmp_path, rows, ran) == []


def test_requirements_complain(tmp_path):
    rows = dict.fromkeys(required(), 'issue API')
    rows['FR-1.1'] = '`unit core/health::gone`'
    rows['FR-1.2'] = 'surely'
    rows['FR-1.3'] = '`unit core/health::a`, `units core/health::a`'
    del rows['NFR-5.4']
    assert requirements(tmp_path, rows, 'unit core/health a\n') == [
        'r.md:1: FR-1.1: `unit core/health::gone` does not exist or did not run',
        'r.md:2: FR-1.2 names neither a test nor an issue',
        'r.md:3: FR-1.3: `units core/health::a` does not exist or did not run',
        'r.md:1: NFR-5.4 has no row',
    ]
