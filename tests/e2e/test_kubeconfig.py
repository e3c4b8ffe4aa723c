# SPDX-License-Identifier: Apache-2.0
"""Programs of a cluster that are given a kubeconfig that cannot be used."""
import json
import os
import subprocess

import pytest

from lab import PATIENCE
from lab.programs import program

FLAGS = {'maglev-controller': (), 'maglev-mux': (), 'maglev-gateway': ('--router', '127.0.0.1:9901'),
         'maglev-speaker': ('--kubernetes', '--node-name', 'n1'), 'maglevd': ('--kubernetes', '--node-name', 'n1')}


@pytest.mark.parametrize('name', FLAGS)
@pytest.mark.parametrize('text, complaint', [
    (None, 'cannot be opened: No such file or directory'),
    ('contexts: []\ncurrent-context: none\n', 'contexts: there is no context none'),
], ids=['absent', 'empty'])
def test_the_log_names_the_file(tmp_path, name, text, complaint):
    file = tmp_path / 'kubeconfig'
    if text:
        file.write_text(text)
    environment = {**os.environ, 'KUBECONFIG': ''}
    ended = subprocess.run([program(name), *FLAGS[name], '--kubeconfig', str(file), '--metrics-addr='], env=environment,
                           capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ended.returncode, ended.stderr) == (3, '')
    said = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [line['error'] for line in said if line['msg'] == 'kubeconfig-failed'] == [f'{file}: {complaint}']
