# SPDX-License-Identifier: Apache-2.0
"""What passed, and on what: it need not run again until something changed that it depends on.

The build tree keeps the cases of each job beside digests of its inputs. A program is the sum of its objects, but for
the one with the version: a commit by itself changes no program. Only what passed whole is kept; what failed or was
skipped runs again.
"""
import hashlib
import json
import os
import platform
import re
import subprocess
import time

import results
import tree

VERSION = 'version.c.o'
ENVIRONMENT = re.compile('PATH|LANG|LC_.*|MAGLEV_.*|.*SAN_OPTIONS')
# sources that are compiled into programs, and files of other tests
NOT_OF_STORIES = ('web/', 'bench/', 'tests/fuzz/')
NOT_READ_BY_STORIES = ('.c', '.h', '.h.in', 'meson.build', '_test.py', '_test.sh')


def of_words(*words):
    return hashlib.sha256('\0'.join(words).encode()).hexdigest()


def of_files(root, paths):
    """The digest of the names and contents of files; paths relative to root."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        with open(os.path.join(root, path), 'rb') as file:
            digest.update(f'{path}\0{hashlib.sha256(file.read()).hexdigest()}\n'.encode())
    return digest.hexdigest()


def of_program(root, path):
    """The digest of all objects that are linked into a program of a build tree, or of a single object."""
    build, target = path.split('/', 1)
    if target.endswith('.o'):
        return of_files(root, [path])
    out = subprocess.run(['ninja', '-C', os.path.join(root, build), '-t', 'inputs', target], capture_output=True,
                         text=True, check=True).stdout
    return of_files(os.path.join(root, build), [name for name in out.splitlines()
                                                if name.endswith('.o') and not name.endswith('/' + VERSION)])


def of_machine(environment):
    """The digest of the kernel, the packages, the user and the environment."""
    packages = subprocess.run(['dpkg-query', '-W'], capture_output=True, text=True, check=True).stdout
    said = [f'{name}={value}' for name, value in sorted(environment.items()) if ENVIRONMENT.fullmatch(name)]
    return of_words(platform.release(), packages, str(os.geteuid()), *said)


def of_story(root, path):
    """The digest of all files that an end-to-end test may read besides programs."""
    text = tree.read(root, path)
    return of_files(root, [name for name in tree.files(root) if name == path or is_read(name, text)])


def is_read(name, text):
    """True for a file that a test with that text depends on: documents, tools and other tests count only if named
    (docs/guide/*.md names all of that folder)."""
    stem, ending = os.path.splitext(os.path.basename(name))
    if name.startswith('tests/e2e/'):
        return stem == 'conftest' or stem in text
    if name.startswith('tests/conformance/'):
        return 'lab.conformance' in text
    if name.startswith(('docs/', 'tools/')) or ending == '.md':
        return stem + ending in text or f'{os.path.dirname(name) or "."}/*{ending}' in text
    return not name.startswith(NOT_OF_STORIES) and not name.endswith(NOT_READ_BY_STORIES)


class Known:
    """The results of one build tree. With again, results are recorded but not reused."""

    def __init__(self, root, folder, machine, again=False):
        self.root, self.folder, self.machine, self.again = root, folder, machine, again
        self.recalled = 0
        os.makedirs(folder, exist_ok=True)

    def _path(self, suite, name):
        return os.path.join(self.folder, f'{suite} {name}'.replace('/', ' ') + '.json')

    def cases_of(self, suite, name, own, job):
        """Returns the known cases, or runs the job: job() -> (cases, programs that it used)."""
        cases = self.recall(suite, name, own)
        if cases is None:
            since = time.time()
            cases, programs = job()
            self.keep(suite, name, own, cases, programs, since)
        return cases

    def recall(self, suite, name, own):
        """The cases of last time if nothing changed since, else None. own: digest of what they depend on besides
        the programs that they used."""
        try:
            with open(self._path(suite, name), encoding='utf-8') as file:
                kept = json.load(file)
            same = kept['own'] == of_words(self.machine, own) and \
                all(of_program(self.root, path) == digest for path, digest in kept['programs'].items())
        except (OSError, ValueError, subprocess.CalledProcessError):
            return None
        if self.again or not same:
            return None
        self.recalled += len(kept['cases'])
        return [results.Case(*case) for case in kept['cases']]

    def keep(self, suite, name, own, cases, programs, since):
        """own: the digest before the run, which began at the time since; programs: paths of those that were used."""
        path = self._path(suite, name)
        passed = cases and all(case.outcome == 'passed' for case in cases)
        if not passed or any(os.stat(os.path.join(self.root, each)).st_mtime >= since for each in programs):
            if os.path.exists(path):
                os.unlink(path)
            return
        with open(path + '.new', 'w', encoding='utf-8') as file:
            json.dump({'own': of_words(self.machine, own), 'cases': cases,
                       'programs': {each: of_program(self.root, each) for each in sorted(set(programs))}}, file)
        os.replace(path + '.new', path)
