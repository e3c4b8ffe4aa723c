# SPDX-License-Identifier: Apache-2.0
"""Helm, on PATH or built from the Go module proxy (lab/gotool.py), and the chart of the tree.

    helm = Helm(folder)
    text = helm.template({'metallbNamespace': 'x'})
    helm.run('install', 'maglev', CHART, kubeconfig=path, namespace=kube.netns)
"""
import json
import os
import shutil
import subprocess

from lab.gotool import installed
from lab.programs import ROOT

PROGRAM = 'helm.sh/helm/v3/cmd/helm', 'v3.20.2'
CHART, VALUES = (os.path.join(ROOT, 'deploy/helm', name) for name in ('maglev', 'manifests.yaml'))
LONGEST, BUILD = 120, 1500  # s, on a busy machine
PROGRAMS = ('controller', 'speaker', 'maglevd', 'gateway', 'router', 'mux', 'dashboard')
EVERYTHING = {**{name: {'enabled': True} for name in PROGRAMS}, 'dashboard': {'enabled': True, 'servers': ['10.0.0.1:9090']}}


def program():
    """Its path; skips the test where there is neither Helm nor Go."""
    return shutil.which('helm') or installed(*PROGRAM, longest=BUILD)


class Helm:
    def __init__(self, folder):
        """folder: for what Helm keeps between calls."""
        self.program = program()
        self.env = {**os.environ, **{f'HELM_{name}_HOME': os.path.join(str(folder), name) for name in ('CACHE', 'CONFIG', 'DATA')}}

    def run(self, *words, values=None, kubeconfig=None, namespace=None):
        """values: a mapping for -f. namespace: the network namespace in which it runs."""
        command = [*(namespace.command() if namespace else ()), self.program, *words]
        if kubeconfig:
            command.append(f'--kubeconfig={kubeconfig}')
        if values is not None:
            command.append('--values=/dev/stdin')
        return subprocess.run(command, input=json.dumps(values or {}), env=self.env, capture_output=True, text=True, timeout=LONGEST,
                              check=False)

    def do(self, *words, **how):
        """The same for a call that must succeed; returns what it printed."""
        done = self.run(*words, **how)
        assert done.returncode == 0, (words, done.stderr[-3000:])
        return done.stdout

    def template(self, values=None, *words):
        return self.do('template', 'maglev', CHART, '--namespace=maglev-system', *words, values=values or {})
