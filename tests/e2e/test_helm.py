# SPDX-License-Identifier: Apache-2.0
"""The chart without a cluster: it is linted, rendered with many values, refuses wrong ones, and deploy/kubernetes is what it renders."""
import os
import re
import shutil
import subprocess

import lab
import pytest
from lab.helm import CHART, EVERYTHING, PROGRAMS, Helm
from lab.programs import ROOT

TOOL = os.path.join(ROOT, 'tools/render-manifests')
ALL_OFF = {name: {'enabled': False} for name in PROGRAMS}


@pytest.fixture(scope='module')
def helm(tmp_path_factory):
    return Helm(tmp_path_factory.mktemp('helm'))


def documents(text):
    """{(kind, name): text}"""
    found = {}
    for part in re.split(r'(?m)^---\n', text):
        if kind := re.search(r'(?m)^kind: (\S+)$', part):
            found[kind[1], re.search(r'(?m)^metadata:\n(?:  .*\n)*?  name: (\S+)$', part)[1]] = part
    return found


@pytest.mark.parametrize('values', [{}, EVERYTHING, ALL_OFF], ids=['defaults', 'everything', 'nothing'])
def test_lint_finds_nothing(helm, values):
    assert ' 0 chart(s) failed' in helm.do('lint', '--strict', CHART, values=values)


def test_versions_are_those_of_the_tree(helm):
    with open(os.path.join(ROOT, 'meson.build'), encoding='utf-8') as file:
        version = re.search(r"^project\('maglev', 'c', version: '([^']+)'", file.read(), re.M)[1]
    shown = helm.do('show', 'chart', CHART)
    assert f'\nversion: {version}\n' in '\n' + shown and f'\nappVersion: {version}\n' in '\n' + shown
    assert f'image: "maglev-controller:{version}"' in helm.template()


def test_the_manifests_are_what_the_chart_renders(helm):
    done = subprocess.run([TOOL, '--check', '--helm', helm.program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, '', ''), 'call `make manifests`'


def test_a_manifest_that_differs_is_named_and_written_again(helm, tmp_path):
    shutil.copytree(os.path.join(ROOT, 'deploy'), tmp_path / 'deploy')
    (tmp_path / 'deploy/kubernetes/crds/bgppeers.yaml').unlink()
    changed = tmp_path / 'deploy/kubernetes/mux/rbac.yaml'
    before = changed.read_text()
    changed.write_text(before.replace('[list, watch, patch]', '[list, watch]'))
    command = [TOOL, '--helm', helm.program, '--root', str(tmp_path)]
    named = ['deploy/kubernetes/crds/bgppeers.yaml', 'deploy/kubernetes/mux/rbac.yaml']
    for flags, status in ((['--check'], 1), ([], 0)):
        done = subprocess.run([*command, *flags], capture_output=True, text=True, check=False)
        assert (done.returncode, sorted(done.stdout.split())) == (status, named), done
    assert changed.read_text() == before
    assert subprocess.run([*command, '--check'], check=False).returncode == 0


def test_a_program_that_is_off_leaves_nothing(helm):
    assert not documents(helm.template({**ALL_OFF, 'crds': {'enabled': False}}))
    kinds = {kind for kind, _ in documents(helm.template(ALL_OFF))}
    assert kinds == {'CustomResourceDefinition'}
    only = documents(helm.template({**ALL_OFF, 'mux': {'enabled': True}, 'crds': {'enabled': False}}))
    assert {name for _, name in only} == {'maglev-mux'} and ('Deployment', 'maglev-mux') in only


@pytest.mark.parametrize('values, said', [
    ({'controler': {'enabled': True}}, 'controler'),
    ({'controller': {'enabled': 'yes'}}, 'controller'),
    ({'controller': {'replicas': -1}}, 'replicas'),
    ({'controller': {'logLevel': 'loud'}}, 'logLevel'),
    ({'mux': {'args': ['debug-web=false']}}, 'args'),
    ({'mux': {'serviceAccount': ''}}, 'serviceAccount'),
    ({'speaker': {'nodeSelector': {'a': True}}}, 'nodeSelector'),
    ({'speaker': {'frr': {'user': 0}}}, 'user'),
    ({'image': {'pullPolicy': 'Sometimes'}}, 'pullPolicy'),
    ({'image': {'registry': 'registry.example.com/'}}, 'registry'),
    ({'gateway': {'addressPool': '192.0.2.0/24'}}, 'addressPool'),
    ({'maglevd': {'config': {'dataplane': 'xdp'}}}, 'config'),
    ({'metallbNamespace': 'Metal LB'}, 'metallbNamespace'),
    ({'dashboard': {'enabled': True}}, 'at least one of servers, speakers and routers'),
    ({'dashboard': {'enabled': True, 'servers': ['no-port']}}, 'servers'),
], ids=lambda one: one if isinstance(one, str) else None)
def test_a_wrong_value_is_refused_by_its_name(helm, values, said):
    done = helm.run('template', 'maglev', CHART, values=values)
    assert done.returncode != 0 and said in done.stderr, done


def test_values_arrive_where_they_belong(helm):
    odd = {'args': ['--api-rate=7', '--lb-class=a "quoted" class'], 'logLevel': 'debug', 'priorityClassName': 'system-cluster-critical', 'replicas': 3,
           'tolerations': [{'key': 'edge', 'operator': 'Exists'}], 'nodeSelector': {'edge': 'true'}, 'serviceAccount': 'other',
           'resources': {'limits': {'memory': '64Mi'}}, 'affinity': {'nodeAffinity': {}}}
    found = documents(helm.template({
        'image': {'registry': 'registry.example.com/maglev', 'tag': 'v2', 'pullPolicy': 'Always', 'pullSecrets': ['key']},
        'controller': odd, 'metallbNamespace': 'net', 'speaker': {'image': 'my/speaker@sha256:00', 'maglevd': '127.0.0.1:9090'}}))
    pod = found['Deployment', 'controller']
    for part in ('\n  namespace: net\n', '\n  replicas: 3\n', '- --log-level=debug\n        - "--api-rate=7"\n        - "--lb-class=a \\"quoted\\" class"\n',
                 'image: "registry.example.com/maglev/maglev-controller:v2"\n        imagePullPolicy: Always\n',
                 '\n      imagePullSecrets:\n      - name: key\n', '\n      priorityClassName: system-cluster-critical\n', '\n      nodeSelector:\n        edge: "true"\n',
                 '\n      tolerations:\n      - key: edge\n', '\n      affinity:\n', '\n          limits:\n            memory: 64Mi\n', 'serviceAccountName: other\n'):
        assert part in pod, part
    assert ('ServiceAccount', 'other') in found and 'name: other\n  namespace: net' in found['ClusterRoleBinding', 'net:controller']
    assert 'image: "my/speaker@sha256:00"' in found['DaemonSet', 'maglev-speaker'] and '- --maglevd=127.0.0.1:9090' in found['DaemonSet', 'maglev-speaker']
    assert '          namespace: net\n' in found['CustomResourceDefinition', 'bgppeers.metallb.io']
    assert found['ValidatingWebhookConfiguration', 'metallb-webhook-configuration'].count('namespace: net\n') == 6
    assert 'metallb-system' not in ''.join(found.values())
    router = documents(helm.template({'router': {'enabled': True, 'nodeSelector': {'maglev.dev/router': None, 'edge': ''}}}))['DaemonSet', 'maglev-router']
    assert '\n      nodeSelector:\n        edge: ""\n      securityContext:\n' in router


def test_the_chart_packs_and_renders_the_same_from_its_package(helm, tmp_path):
    helm.do('package', CHART, f'--destination={tmp_path}')
    packed, = tmp_path.iterdir()
    assert helm.do('template', 'maglev', str(packed), '--namespace=maglev-system', values=EVERYTHING) == helm.template(EVERYTHING)


def test_every_flag_in_a_pod_is_one_of_its_program(helm):
    text, seen = helm.template(EVERYTHING), set()
    for name, block in re.findall(r'(?m)^ +command: \[([\w-]+)\]\n +args:\n((?: +(?:- --|#).*\n)+)', text):
        known = subprocess.run([lab.program(name), '--help'], capture_output=True, text=True, check=True).stdout
        for flag in re.findall(r'- "?(--[a-z-]+)', block):
            assert f'  {flag} ' in known or f'  {flag}=' in known or f'  {flag}\n' in known, (name, flag)
        seen.add(name)
    assert seen == {'maglev-controller', 'maglev-speaker', 'frr-reloader', 'maglevd', 'maglev-gateway', 'maglev-router', 'maglev-mux', 'maglevd-frontend'}


def test_every_image_is_built_with_the_users_and_rights_of_the_pods(helm):
    """A capability works for a user without rights only if the file of the program has it, too."""
    text = helm.template(EVERYTHING)
    with open(os.path.join(ROOT, 'deploy/docker/Dockerfile'), encoding='utf-8') as file:
        stages = dict(re.findall(r'(?ms)^FROM base AS (\S+)\n(.*?)(?=^FROM |\Z)', whole := file.read()))
    files = {name: set(rights.upper().replace('CAP_', '').split(',')) for rights, name in re.findall(r'setcap (\S+)=e?p /out/usr/sbin/(\S+)', whole)}
    assert set(re.findall(r'image: "([\w-]+):', text)) == set(stages)
    for program, rights in re.findall(r'(?s)command: \[([\w-]+)\]\n(?:(?!command:).)*?drop: \[ALL\]\n(?: +add: \[([\w, ]+)\]\n)?', text):
        assert set(rights.split(', ')) - {''} <= files.get(program, set()), program
    assert set(re.findall(r'(?m)^ +runAsUser: (\d+)$', text)) == {'0', '192', '65534'}
    for name, stage in stages.items():
        assert re.findall(r'(?m)^USER (\S+)$', stage)[-1:] == (['192:192'] if name in ('maglev-speaker', 'maglev-frr') else []), name
    assert '--gid 192 frr' in whole and '--gid 185 frrvty' in whole and '\n        supplementalGroups: [185]\n' in text and '\nUSER 65534:65534\n' in whole
