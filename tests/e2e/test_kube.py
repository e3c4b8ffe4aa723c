# SPDX-License-Identifier: Apache-2.0
"""The cluster of the stories is a real one: controllers work, rights are checked, writes are recorded."""
import os
import subprocess

import lab
import pytest
from lab.programs import ROOT


def test_controllers_make_slices_of_pods(kube):
    namespace = kube.namespace()
    kube.service(namespace, 'web', selector={'app': 'web'})
    kube.pod(namespace, 'web-1', '10.1.0.1', labels={'app': 'web'})

    def addresses():
        found = kube.do('GET', f'/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices')['items']
        return [a for one in found for e in one['endpoints'] or [] for a in e['addresses'] if e['conditions']['ready']]
    assert lab.until(lambda: addresses() == ['10.1.0.1'] and addresses(), what='a slice with the pod') == ['10.1.0.1']


def test_a_user_may_do_what_its_role_says(kube):
    namespace = kube.namespace()
    kube.bind(f'{namespace}:default', f'reader-{namespace}', [{'apiGroups': [''], 'resources': ['services'], 'verbs': ['list']}])
    token = kube.token(namespace)
    lab.until(lambda: kube.ask('GET', '/api/v1/services', token=token)[0] == 200, what='the role being in force')
    assert kube.ask('GET', '/api/v1/secrets', token=token)[0] == 403


def test_writes_are_recorded_and_reads_are_not(kube):
    namespace = kube.namespace()
    kube.service(namespace, 'one')
    kube.do('GET', f'/api/v1/namespaces/{namespace}/services')
    kube.writes_settled()
    mine = [(line['verb'], line['objectRef']['resource']) for line in kube.audit('admin')
            if line['objectRef'].get('namespace') == namespace]
    assert mine == [('create', 'services')]


def test_the_server_comes_back_with_its_objects(kube):
    namespace = kube.namespace()
    kube.service(namespace, 'stays')
    kube.restart_apiserver()
    assert kube.do('GET', f'/api/v1/namespaces/{namespace}/services/stays')['metadata']['name'] == 'stays'


SERVERS = ('etcd', 'kube-apiserver', 'kube-controller-manager')


def programs(folder, names, text='exit 0'):
    for name in names:
        path = os.path.join(folder, name)
        with open(path, 'w', encoding='ascii') as file:
            file.write(f'#!/bin/sh\n{text}\n')
        os.chmod(path, 0o755)
    return folder


def look(folder, **env):
    """What the script says about a machine on which PATH has only the usual tools and these folders."""
    base = {'HOME': folder, 'PATH': f'{env.pop("also", "")}:/usr/bin:/bin'}
    return subprocess.run([os.path.join(ROOT, 'tests/support/kube/build'), '--check'], env={**base, **env}, capture_output=True,
                          text=True, check=False)


def test_where_the_servers_come_from(folders):
    home, named, path = folders(), programs(folders(), SERVERS), programs(folders(), SERVERS)
    assert look(home, MAGLEV_TEST_KUBE=named, also=path).stdout.strip() == named
    assert look(home, also=path).stdout.strip() == path
    done = look(home, MAGLEV_TEST_KUBE=home)
    assert done.returncode == 4 and 'does not hold' in done.stderr


@pytest.mark.parametrize('go, status, words', [(None, 4, 'no Go toolchain'), ('go1.19.8', 4, 'too old'), ('go1.21.0', 3, ''),
                                               ('go1.30.1', 3, '')])
def test_without_a_toolchain_the_reason_is_said(folders, go, status, words):
    also = programs(folders(), ['go'], f'echo {go}') if go else ''
    done = look(folders(), also=also)
    assert done.returncode == status and words in done.stderr, done
