# SPDX-License-Identifier: Apache-2.0
"""Lists and watches of lib/k8s against a real API server: under change, restarts, compaction and new kinds."""
import os
import random
import shutil
import signal

import lab
import pytest
from lab.kube import Kube
from lab.kube_tool import KubeTool


def config_map(kube, namespace, name, value):
    return kube.create(f'/api/v1/namespaces/{namespace}/configmaps', name, data={'value': value})


def changes(it):
    """What was told, in order, without versions."""
    return [(line['change'], line['name'], line['shown']) for line in it.seen(change=True)
            if line['name'] != 'kube-root-ca.crt']


@pytest.mark.parametrize('how', [[], ['--paged', '--page=3']], ids=['streamed', 'paged'])
def test_a_list_and_then_each_change_once(kube, kube_tool, how):
    namespace = kube.namespace()
    for n in range(10):
        kube.service(namespace, f's{n}', ports=[8000 + n])
    it = kube_tool('watch', 'services', f'--namespace={namespace}', *how)
    assert it.wait(synced='services')['count'] == 10
    assert sorted(changes(it)) == [('added', f's{n}', str(8000 + n)) for n in range(10)]

    place = f'/api/v1/namespaces/{namespace}/services'
    kube.service(namespace, 'new', ports=[1, 2])
    assert it.wait(change='added')['shown'] == '1,2'
    kube.patch(f'{place}/s3', {'metadata': {'annotations': {'maglev.example/note': 'hello', 'other': 'x' * 1000}}})
    assert it.wait(change='updated', name='s3')['shown'] == '8003 hello'
    kube.do('DELETE', f'{place}/s4')
    it.wait(change='deleted', name='s4')
    assert len(changes(it)) == 13
    stats = it.stats()
    assert (stats['lists'], stats['failures'], stats['count']) == (1, 0, 10)


def test_deletion_and_creation_under_one_name_are_two_changes(kube, kube_tool):
    namespace = kube.namespace()
    config_map(kube, namespace, 'one', 'a')
    it = kube_tool('watch', 'configmaps', f'--namespace={namespace}')
    it.wait(synced=True)
    it.say('stop')
    it.stats()
    kube.do('DELETE', f'/api/v1/namespaces/{namespace}/configmaps/one')
    config_map(kube, namespace, 'one', 'b')
    it.say('start')
    it.wait(change='deleted', name='one')
    it.wait(change='added', name='one', shown='b')


def test_stop_and_resume_misses_and_repeats_nothing(kube, kube_tool):
    namespace = kube.namespace()
    for n in range(5):
        config_map(kube, namespace, f'c{n}', 'old')
    it = kube_tool('watch', 'configmaps', f'--namespace={namespace}')
    it.wait(synced=True)
    told = len(changes(it))
    it.say('stop')
    it.stats()
    place = f'/api/v1/namespaces/{namespace}/configmaps'
    kube.patch(f'{place}/c1', {'data': {'value': 'new'}})
    kube.do('DELETE', f'{place}/c2')
    config_map(kube, namespace, 'c9', 'late')
    it.say('start')
    it.wait(change='added', name='c9')
    after = changes(it)[told:]
    assert after == [('updated', 'c1', 'new'), ('deleted', 'c2', 'old'), ('added', 'c9', 'late')]
    assert it.stats()['lists'] == 1  # it went on where it was


@pytest.mark.parametrize('how', [[], ['--paged', '--page=2']], ids=['streamed', 'paged'])
def test_after_compaction_the_difference_is_told(kube, kube_tool, how):
    namespace = kube.namespace()
    for n in range(5):
        config_map(kube, namespace, f'c{n}', 'old')
    it = kube_tool('watch', 'configmaps', f'--namespace={namespace}', *how)
    it.wait(synced=True)
    told = len(changes(it))
    it.say('stop')
    it.stats()
    place = f'/api/v1/namespaces/{namespace}/configmaps'
    kube.patch(f'{place}/c1', {'data': {'value': 'new'}})
    kube.do('DELETE', f'{place}/c2')
    config_map(kube, namespace, 'c9', 'late')
    kube.compact()
    it.say('start')
    it.wait(trouble='expired')
    lab.until(lambda: len(changes(it)) == told + 3, what='three changes')
    assert sorted(changes(it)[told:]) == [('added', 'c9', 'late'), ('deleted', 'c2', 'old'), ('updated', 'c1', 'new')]
    stats = it.stats()
    assert (stats['expired'], stats['lists'], stats['count']) == (1, 2, 5 + 1)  # and kube-root-ca.crt


def test_watches_that_end_are_resumed(kube, kube_tool):
    namespace = kube.namespace()
    it = kube_tool('watch', 'services', f'--namespace={namespace}', '--watch-time=3000')
    it.wait(synced=True)
    lab.until(lambda: it.stats()['watches'] >= 3, timeout=30, what='three watches')
    kube.service(namespace, 'late')
    it.wait(change='added', name='late')
    assert it.stats()['lists'] == 1


def test_slices_of_the_controllers_are_followed(kube, kube_tool):
    namespace = kube.namespace()
    kube.service(namespace, 'web', selector={'app': 'web'})
    it = kube_tool('watch', 'endpointslices', f'--namespace={namespace}')
    it.wait(synced=True)
    for n in (1, 2):
        kube.pod(namespace, f'web-{n}', f'10.1.0.{n}', labels={'app': 'web'})
    lab.until(lambda: any(sorted(shown.split(',')) == ['10.1.0.1', '10.1.0.2']
                          for shown in it.holds('endpointslices').values()), what='both addresses')


def crd():
    return {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition',
            'metadata': {'name': 'widgets.maglev.example'},
            'spec': {'group': 'maglev.example', 'scope': 'Namespaced',
                     'names': {'plural': 'widgets', 'singular': 'widget', 'kind': 'Widget', 'listKind': 'WidgetList'},
                     'versions': [{'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': {
                         'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}}}]}}


def test_a_kind_that_appears_is_picked_up_and_one_that_goes_is_empty(kube, kube_tool):
    place = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    it = kube_tool('watch', 'widgets', '--optional', '--absent=200')
    assert it.wait(synced='widgets')['count'] == 0
    assert it.stats()['state'] == 'absent'
    kube.do('POST', place, crd())
    lab.until(lambda: it.stats()['state'] == 'watching', what='the kind being found')
    widgets = '/apis/maglev.example/v1/namespaces/default/widgets'
    kube.do('POST', widgets, {'apiVersion': 'maglev.example/v1', 'kind': 'Widget', 'metadata': {'name': 'w'},
                              'spec': {'a': [1, {'b': 'c'}]}})
    assert it.wait(change='added', name='w')['shown'] == '{"a":[1,{"b":"c"}]}'
    kube.do('DELETE', f'{place}/widgets.maglev.example')
    it.wait(change='deleted', name='w')
    lab.until(lambda: it.stats()['state'] == 'absent', timeout=60, what='the kind being gone')


def test_forbidden_is_told_and_passes_when_the_right_is_given(kube, kube_tool):
    namespace = kube.namespace()
    user = f'user-{namespace}'
    kube.user(user)
    kube.service(namespace, 'one')
    it = kube_tool('watch', 'services', f'--namespace={namespace}', kubeconfig=kube.kubeconfig(user))
    assert 'cannot' in it.wait(trouble='forbidden')['message']
    kube.bind(user, f'role-{namespace}', [{'apiGroups': [''], 'resources': ['services'], 'verbs': ['list', 'watch']}], namespace)
    assert it.wait(synced='services')['count'] == 1


def test_the_server_is_killed_and_comes_back(kube, kube_tool):
    namespace = kube.namespace()
    config_map(kube, namespace, 'before', 'x')
    it = kube_tool('watch', 'configmaps', f'--namespace={namespace}')
    it.wait(synced=True)
    kube.restart_apiserver(wait=False)
    it.wait(trouble='network')
    kube.wait_ready()
    config_map(kube, namespace, 'after', 'y')
    it.wait(change='added', name='after', timeout=60)
    assert changes(it) == [('added', 'before', 'x'), ('added', 'after', 'y')]


def test_a_server_that_hangs_is_noticed(kube, kube_tool):
    namespace = kube.namespace()
    it = kube_tool('watch', 'services', f'--namespace={namespace}', '--silence=1000')
    it.wait(synced=True)
    lists = it.stats()['lists']  # a slow server may be silent in the first one
    kube.apiserver.signal(signal.SIGSTOP)
    try:
        it.wait(trouble='network', doing='check')  # the watch was silent, and so is the answer about the version
    finally:
        kube.apiserver.signal(signal.SIGCONT)
    kube.service(namespace, 'after')
    it.wait(change='added', name='after', timeout=60)
    assert it.stats()['lists'] == lists


def replay(it):
    """The state that follows from what was told; each line must fit to it."""
    state = {}
    for line in it.seen(change=True):
        name = line['name']
        if line['change'] == 'added':
            assert name not in state, line
        else:
            assert name in state, line
        if line['change'] == 'updated':
            assert line['version'] != state[name][0], line
        state[name] = (line['version'], line['shown'])
        if line['change'] == 'deleted':
            del state[name]
    return state


@pytest.mark.parametrize('how', [[], ['--paged', '--page=7']], ids=['streamed', 'paged'])
def test_churn_restarts_and_compaction_lose_and_repeat_nothing(kube, kube_tool, how):
    namespace, dice = kube.namespace(), random.Random(16)
    place = f'/api/v1/namespaces/{namespace}/configmaps'
    it = kube_tool('watch', 'configmaps', f'--namespace={namespace}', '--watch-time=2000', *how)
    it.wait(synced=True)

    def churn(n):
        for _ in range(n):
            name = f'c{dice.randrange(40):02}'
            body = {'metadata': {'name': name}, 'data': {'value': str(dice.random())}}
            if kube.ask('PUT', f'{place}/{name}', body)[0] == 404:
                kube.do('POST', place, body)
            if dice.random() < 0.4:
                kube.do('DELETE', f'{place}/{name}')

    churn(60)
    it.say('stop')
    churn(60)
    kube.compact()
    it.say('start')
    churn(60)
    kube.restart_apiserver()
    churn(60)
    expected = {one['metadata']['name']: (int(one['metadata']['resourceVersion']), one.get('data', {}).get('value', ''))
                for one in kube.do('GET', place)['items']}
    lab.until(lambda: replay(it) == expected, timeout=60, what='the state of the server')
    assert it.holds('configmaps') == {f'{namespace}/{name}': shown for name, (_, shown) in expected.items()}


def test_a_storage_that_was_restored_is_noticed(tmp_path, running, folders):
    """The administrator puts an older copy of the storage back: versions go backwards, and objects are as they were."""
    kube = Kube(tmp_path)
    try:
        kube.start()
        lab.until(lambda: kube.ask('GET', '/api/v1/namespaces/default/services/kubernetes')[0] == 200, what='its own Service')
        kube.service('default', 'kept')
        kube.service('default', 'deleted-later')
        kube.stop_servers()
        shutil.copytree(kube.path('etcd'), kube.path('backup'))
        kube.start_servers()

        it = running(KubeTool(folders(), 'watch', 'services', '--namespace=default', kubeconfig=kube.kubeconfig(),
                              namespace=kube.netns)).start()
        assert it.wait(synced='services')['count'] == 3  # and that of the API itself
        for n in range(20):
            kube.service('default', f'lost-{n}')
        kube.do('DELETE', '/api/v1/namespaces/default/services/deleted-later')
        it.wait(change='deleted', name='deleted-later')

        kube.stop_servers()
        shutil.rmtree(kube.path('etcd'))
        os.rename(kube.path('backup'), kube.path('etcd'))
        kube.start_servers()
        it.wait(change='added', name='deleted-later', timeout=60)
        lab.until(lambda: set(it.holds('services')) == {'default/kept', 'default/deleted-later', 'default/kubernetes'},
                  what='the objects of the backup')
        assert it.stats()['reversed'] >= 1
        kube.service('default', 'new')
        it.wait(change='added', name='new')
    finally:
        kube.close()
