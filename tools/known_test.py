# SPDX-License-Identifier: Apache-2.0
"""A result is reused as long as nothing changes that it depends on, and no longer."""
import os
import subprocess
import time

import pytest

import known
import results

PASSED = [results.Case('e2e', 'test_a.py::one', 'passed'), results.Case('e2e', 'test_a.py::two', 'passed')]
NINJA = '''rule copy
  command = cat $in > $out
build room/a.c.o: copy ../a.c
build lib/version.c.o: copy ../version.c
build a: copy room/a.c.o lib/version.c.o
'''
STORY = 'tests/e2e/test_a.py'
TREE = {'a.c': 'a', 'version.c': '1', 'build-x/build.ninja': NINJA, 'README.md': 'read', 'docs/man/a.1': 'a page',
        'tests/support/lab.py': 'lab', 'tools/check': 'a tool', 'tools/run': 'another',
        'tests/e2e/conftest.py': 'fixtures', 'tests/e2e/test_b.py': 'b',
        STORY: "look('docs/man/a.1', 'tools/run', 'docs/guide/*.md')\n"}


@pytest.fixture
def root(tmp_path):
    for path, text in TREE.items():
        write(tmp_path, path, text)
    return tmp_path


@pytest.fixture
def memory(root):
    build(root)
    return known.Known(str(root), str(root / 'build-x/known'), 'this machine')


def write(root, path, text):
    os.makedirs((root / path).parent, exist_ok=True)
    (root / path).write_text(text)


def build(root):
    subprocess.run(['ninja', '--quiet', '-C', root / 'build-x'], check=True)


def keep(memory, cases=PASSED, since=None):
    memory.keep('e2e', 'test_a.py', 'own', cases, ['build-x/a'], since or time.time() + 1)


def recall(memory, own='own'):
    return memory.recall('e2e', 'test_a.py', own)


def test_what_passed_is_told_again(memory):
    assert recall(memory) is None
    keep(memory)
    assert recall(memory) == PASSED and memory.recalled == 2
    assert memory.recall('e2e', 'test_b.py', 'own') is None


def test_it_runs_again_when_something_of_its_own_changed(memory):
    keep(memory)
    assert recall(memory, 'other') is None
    assert known.Known(memory.root, memory.folder, 'another machine').recall('e2e', 'test_a.py', 'own') is None


def test_it_runs_again_when_its_program_changed(root, memory):
    keep(memory)
    write(root, 'a.c', 'b')
    build(root)
    assert recall(memory) is None


def test_another_version_is_no_other_program(root, memory):
    keep(memory)
    write(root, 'version.c', '2')
    build(root)
    assert recall(memory) == PASSED


def test_it_runs_again_when_its_program_is_gone(root, memory):
    keep(memory)
    write(root, 'build-x/build.ninja', NINJA.replace('build a:', 'build b:'))
    assert recall(memory) is None


@pytest.mark.parametrize('outcome', ['failed', 'skipped'])
def test_what_did_not_pass_whole_runs_again(memory, outcome):
    keep(memory)
    keep(memory, [PASSED[0], PASSED[1]._replace(outcome=outcome)])
    assert recall(memory) is None


def test_a_program_that_was_built_meanwhile_says_nothing(memory):
    keep(memory, since=time.time() - 60)
    assert recall(memory) is None


def test_again_runs_all_and_takes_note(memory):
    keep(memory)
    again = known.Known(memory.root, memory.folder, 'this machine', again=True)
    assert recall(again) is None
    keep(again, PASSED[:1])
    assert recall(again) is None and recall(memory) == PASSED[:1]


def test_a_job_runs_once(memory):
    runs = []

    def job():
        runs.append(1)
        return PASSED, []
    assert [memory.cases_of('e2e', 'test_a.py', 'own', job) for _ in range(2)] == [PASSED, PASSED]
    assert len(runs) == 1


def test_half_a_note_is_none(memory):
    keep(memory)
    (name,) = os.listdir(memory.folder)
    path = os.path.join(memory.folder, name)
    os.truncate(path, os.path.getsize(path) // 2)
    assert recall(memory) is None


@pytest.mark.parametrize('path, counts', [
    (STORY, True), ('docs/man/a.1', True), ('docs/guide/new.md', True), ('docs/design/new.md', False), ('README.md', False),
    ('tools/run', True), ('tools/check', False),
    ('tests/support/lab.py', True), ('tests/support/new.py', True), ('tests/e2e/conftest.py', True),
    ('tests/e2e/test_b.py', False), ('tests/conformance/run', False), ('a.c', False)])
def test_what_counts_for_a_story(root, path, counts):
    before = known.of_story(str(root), STORY)
    write(root, path, TREE.get(path, '') + '\n')
    assert (known.of_story(str(root), STORY) != before) == counts


def test_a_story_that_takes_from_another_depends_on_it(root):
    write(root, STORY, 'from test_b import b\n')
    before = known.of_story(str(root), STORY)
    write(root, 'tests/e2e/test_b.py', 'c')
    assert known.of_story(str(root), STORY) != before


def test_a_story_of_conformance_depends_on_its_folder(root):
    write(root, STORY, 'from lab.conformance import Cluster\n')
    before = known.of_story(str(root), STORY)
    write(root, 'tests/conformance/run', 'new')
    assert known.of_story(str(root), STORY) != before


@pytest.mark.parametrize('name, counts', [('PATH', True), ('MAGLEV_TEST_VPP', True), ('PWD', False)])
def test_what_counts_of_the_environment(name, counts):
    assert (known.of_machine({name: 'a'}) != known.of_machine({name: 'b'})) == counts


def test_a_program_in_pieces_is_the_sum_of_its_objects(root, memory):
    whole, one = (known.of_program(str(root), path) for path in ('build-x/a', 'build-x/room/a.c.o'))
    write(root, 'build-x/room/a.c.o', 'c')
    assert known.of_program(str(root), 'build-x/a') != whole
    assert known.of_program(str(root), 'build-x/room/a.c.o') != one
