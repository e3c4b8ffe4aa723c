# SPDX-License-Identifier: Apache-2.0
"""Cases: what one test was called and how it ended; from TAP, from JUnit, to the last line."""
import os
import re
import xml.etree.ElementTree
from typing import NamedTuple

TAP_LINE = re.compile(r'^(ok|not ok) \d+\s*(?:- )?([^#]*?)\s*(?:# SKIP\s*(.*))?$')


class Case(NamedTuple):
    suite: str
    name: str  # as tests-ran.txt and requirements.md have it: "core/health name", "test_file.py::name"
    outcome: str  # passed, failed, skipped
    output: str = ''  # what a failed one said, why a skipped one was


def from_tap(room, program, stdout, stderr, status):
    """The cases of one test program of a room. A program that ended early or with an error is a failed case itself."""
    cases, said, planned = [], [], 0
    for line in stdout.splitlines():
        match = TAP_LINE.match(line)
        if match and match[3] is not None and match[2]:
            cases.append(Case('unit', f'{room} {match[2]}', 'skipped', match[3]))
        elif match and match[3]:  # cmocka: "not ok 3 # SKIP name", the reason printed before
            cases.append(Case('unit', f'{room} {match[3]}', 'skipped', ' '.join(said)))
        elif match:
            cases.append(Case('unit', f'{room} {match[2]}', 'passed' if match[1] == 'ok' else 'failed'))
        elif line.startswith('# ') and cases and cases[-1].outcome == 'failed':
            cases[-1] = cases[-1]._replace(output=f'{cases[-1].output}{line[2:]}\n')
        elif line.startswith('1..'):
            planned = int(line[3:])
        else:
            said.append(line)
    cases = [c._replace(output=c.output + stderr) if c.outcome == 'failed' else c for c in cases]
    if len(cases) != planned or not cases:
        after = f'after {cases[-1].name}' if cases else 'before its first case'
        cases.append(Case('unit', f'{room} {program}', 'failed', f'{after}: ended with {status}\n{stderr}'))
    elif status and not any(c.outcome == 'failed' for c in cases):
        cases.append(Case('unit', f'{room} {program}', 'failed', f'ended with {status}\n{stdout}{stderr}'))
    return cases


def from_junit(suite, file, path, status, output):
    """The cases of one pytest file."""
    cases = []
    if os.path.exists(path):
        for node in xml.etree.ElementTree.parse(path).iter('testcase'):
            bad = [*node.iter('failure'), *node.iter('error')]
            skip = next(node.iter('skipped'), None)
            outcome = 'failed' if bad else 'passed' if skip is None else 'skipped'
            text = '\n'.join(b.text or '' for b in bad) if skip is None else skip.get('message', '')
            cases.append(Case(suite, f'{file}::{node.get("name")}', outcome, text))
    if not cases or (status and not any(c.outcome == 'failed' for c in cases)):
        cases.append(Case(suite, file, 'failed', f'pytest ended with {status}\n{output}'))
    return cases


def write_ran(cases, path):
    with open(path, 'w', encoding='utf-8') as file:
        file.writelines(sorted({f'{c.suite} {c.name}\n' for c in cases if c.outcome != 'skipped'}))


def count(cases, outcome):
    return sum(c.outcome == outcome for c in cases)


def summary(cases):
    """Prints failed and skipped cases, then the count as the last line; returns the exit status."""
    for case in cases:
        if case.outcome == 'failed':
            print(f'\nFAILED {case.suite} {case.name}\n{case.output.rstrip()}')
    for case in cases:
        if case.outcome == 'skipped':
            print(f'skipped {case.suite} {case.name}: {case.output or "no reason given"}')
    skipped = count(cases, 'skipped')
    line = f'{count(cases, "passed")} passed, {count(cases, "failed")} failed'
    print(line + (f', {skipped} skipped' if skipped else ''), flush=True)
    return 0 if count(cases, 'passed') and not count(cases, 'failed') else 1
