# SPDX-License-Identifier: Apache-2.0
"""The suite 'web' of tools/run-tests: types, lint and tests of web/, by the packages of its lock file."""
import os
import shutil

import results

BIN = 'web/node_modules/.bin'


def told(name, outcome, output):
    return [(lambda: [results.Case('web', name, outcome, output)],)]


def jobs(run, one, folder):
    """run(command, limit) -> (status, output); one(suite, name, command) -> [case]; folder for reports."""
    junit = os.path.join(folder, 'junit/web/vitest.xml')

    def vitest():
        if os.path.exists(junit):
            os.unlink(junit)
        command = [f'{BIN}/vitest', 'run', '--root', 'web', '--reporter=junit', f'--outputFile={junit}']
        status, output = run(command, 300)
        return results.from_junit('web', 'vitest', junit, status, output)

    if not shutil.which('npm'):
        return told('all', 'skipped', 'there is no npm here')
    status, output = run(['tools/build-web'], 600)
    if status:
        return told('npm ci', 'failed', output)
    biome = ['env', '-C', 'web', 'node_modules/.bin/biome', 'ci', '--colors=off', '--error-on-warnings']
    return [(one, 'web', 'types', [f'{BIN}/tsc', '--noEmit', '-p', 'web']), (one, 'web', 'lint', biome), (vitest,)]
