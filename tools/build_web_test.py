# SPDX-License-Identifier: Apache-2.0
"""tools/build-web under ninja, with a small application and a fake vite that only copies."""
import os
import shutil
import subprocess

import pytest

TOOLS = os.path.dirname(os.path.abspath(__file__))
NPM = '#!/bin/sh\nmkdir -p node_modules/.bin && cp ../vite node_modules/.bin\n'
VITE = '#!/bin/sh\necho "built $*" >>../builds && mkdir -p dist/dashboard && cp -r index.html src/* public/* dist/dashboard\n'
NINJA = '''rule web
  deps = gcc
  command = tools/build-web dashboard $out $out.d
  depfile = $out.d
build out/web.c: web
'''


@pytest.fixture
def tree(tmp_path):
    for folder in ('tools', 'bin', 'out', 'web/src/view', 'web/public'):
        (tmp_path / folder).mkdir(parents=True)
    for name in ('build-web', 'embed-web'):
        shutil.copy(os.path.join(TOOLS, name), tmp_path / 'tools')
    for name in ('package.json', 'package-lock.json', 'tsconfig.json', 'vite.config.ts', 'index.html', 'mux.html', 'src/a.css',
                 'public/b.svg'):
        (tmp_path / 'web' / name).write_text(name)
    for name, text in (('bin/npm', NPM), ('vite', VITE)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / 'build.ninja').write_text(NINJA)
    return tmp_path


def make(tree):
    """The paths in the program, and how often the application was built."""
    done = subprocess.run(['ninja'], cwd=tree, capture_output=True, text=True, check=False,
                          env={**os.environ, 'PATH': f'{tree}/bin:{os.environ["PATH"]}'})
    assert done.returncode == 0, done.stdout + done.stderr
    again = subprocess.run(['ninja', '-n'], cwd=tree, capture_output=True, text=True, check=True).stdout
    assert 'no work to do' in again
    rows = [line.split('"')[1] for line in (tree / 'out/web.c').read_text().splitlines() if line.startswith('\t{ "')]
    return rows, (tree / 'builds').read_text().count('built')


def test_what_is_new_or_gone_among_the_sources_is_noticed(tree):
    assert make(tree) == (['a.css', 'b.svg', 'index.html'], 1)
    (tree / 'web/public/new.svg').write_text('new')
    assert make(tree) == (['a.css', 'b.svg', 'index.html', 'new.svg'], 2)
    (tree / 'web/src/view/deep').mkdir()
    make(tree)
    (tree / 'web/src/view/deep/c.css').write_text('new')
    assert make(tree) == (['a.css', 'b.svg', 'index.html', 'new.svg', 'view/deep/c.css'], 3)
    (tree / 'web/public/b.svg').unlink()
    assert make(tree) == (['a.css', 'index.html', 'new.svg', 'view/deep/c.css'], 4)


def test_what_does_not_count_builds_nothing(tree):
    make(tree)
    (tree / 'web/src/a.test.ts').write_text('a test')
    (tree / 'web/src/a.css').touch()
    assert make(tree)[1] == 1
