# SPDX-License-Identifier: Apache-2.0
"""Requests of lib/k8s against a real API server: verbs, credentials of every kind, events, discovery, updates."""
import json
import os
import socket
import stat
import threading
import time

import lab


def body(answer):
    return json.loads(answer['body'])


def test_every_verb(kube, kube_tool):
    namespace = kube.namespace()
    it = kube_tool('do')
    made = it.ask('create', 'configmaps', namespace, '-', '-', json.dumps({'metadata': {'name': 'a'}, 'data': {'value': '1'}}))
    assert (made['code'], made['status']) == ('ok', 201)
    assert it.ask('create', 'configmaps', namespace, '-', '-', '{"metadata":{"name":"a"}}')['code'] == 'exists'
    assert body(it.ask('get', 'configmaps', namespace, 'a', '-'))['data'] == {'value': '1'}
    assert it.ask('get', 'configmaps', namespace, 'none', '-')['code'] == 'not-found'

    merged = body(it.ask('merge', 'configmaps', namespace, 'a', '-', '{"data":{"more":"x","value":null}}'))
    assert merged['data'] == {'more': 'x'}
    patched = body(it.ask('json', 'configmaps', namespace, 'a', '-', '[{"op":"replace","path":"/data/more","value":"y"}]'))
    assert patched['data'] == {'more': 'y'}
    failed = it.ask('json', 'configmaps', namespace, 'a', '-', '[{"op":"test","path":"/data/more","value":"z"}]')
    assert failed['code'] == 'invalid'

    applied = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'data': {'mine': '1'}}
    assert body(it.ask('apply', 'configmaps', namespace, 'a', '-', json.dumps(applied)))['data'] == {'more': 'y', 'mine': '1'}
    kube.patch(f'/api/v1/namespaces/{namespace}/configmaps/a', {'data': {'mine': 'other'}})
    assert it.ask('apply', 'configmaps', namespace, 'a', '-', json.dumps(applied))['code'] == 'conflict'
    it.say('force')
    assert body(it.ask('apply', 'configmaps', namespace, 'a', '-', json.dumps(applied)))['data']['mine'] == '1'

    current = body(it.ask('get', 'configmaps', namespace, 'a', '-'))
    current['data']['value'] = 'put'
    assert it.ask('update', 'configmaps', namespace, 'a', '-', json.dumps(current))['code'] == 'ok'
    assert it.ask('update', 'configmaps', namespace, 'a', '-', json.dumps(current))['code'] == 'conflict'


def test_status_is_a_resource_of_its_own(kube, kube_tool):
    namespace = kube.namespace()
    kube.service(namespace, 's')
    it = kube_tool('do')
    status = '{"status":{"conditions":[{"type":"Ready","status":"True","reason":"x","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}'
    assert it.ask('merge', 'services', namespace, 's', 'status', status)['code'] == 'ok'
    it.ask('merge', 'services', namespace, 's', '-', '{"status":{"conditions":null}}')  # has no effect there
    assert kube.do('GET', f'/api/v1/namespaces/{namespace}/services/s')['status']['conditions'][0]['type'] == 'Ready'


def test_preconditions_and_dry_runs(kube, kube_tool):
    namespace = kube.namespace()
    made = kube.create(f'/api/v1/namespaces/{namespace}/configmaps', 'a')['metadata']
    it = kube_tool('do')
    it.say('uid', '00000000-0000-0000-0000-000000000000')
    assert it.ask('delete', 'configmaps', namespace, 'a', '-')['code'] == 'conflict'
    it.say('version', '1')
    assert it.ask('delete', 'configmaps', namespace, 'a', '-')['code'] == 'conflict'
    it.say('uid', made['uid'])
    it.say('version', made['resourceVersion'])
    it.say('dry')
    assert it.ask('delete', 'configmaps', namespace, 'a', '-')['code'] == 'ok'
    it.say('uid', made['uid'])
    it.say('version', made['resourceVersion'])
    assert it.ask('delete', 'configmaps', namespace, 'a', '-')['code'] == 'ok'
    assert it.ask('get', 'configmaps', namespace, 'a', '-')['code'] == 'not-found'


def test_writes_pass_a_gate(kube, kube_tool):
    namespace = kube.namespace()
    it = kube_tool('do')
    it.say('forbid')
    assert it.ask('create', 'configmaps', namespace, '-', '-', '{"metadata":{"name":"a"}}')['code'] == 'not-allowed'
    assert it.ask('get', 'configmaps', namespace, 'a', '-')['code'] == 'not-found'
    it.say('allow')
    assert it.ask('create', 'configmaps', namespace, '-', '-', '{"metadata":{"name":"a"}}')['code'] == 'ok'


def reader(kube, namespace):
    kube.bind(f'{namespace}:default', f'reader-{namespace}',
              [{'apiGroups': [''], 'resources': ['configmaps'], 'verbs': ['get', 'list', 'watch']}], namespace)
    token = kube.token(namespace)
    lab.until(lambda: kube.ask('GET', f'/api/v1/namespaces/{namespace}/configmaps', token=token)[0] == 200, what='the role being in force')


def test_a_pod_gets_new_tokens(kube, kube_tool, folders):
    """Kubernetes replaces a symbolic link; what the link points to at that time is sent."""
    namespace = kube.namespace()
    reader(kube, namespace)
    folder = folders()

    def put(number, token):
        os.mkdir(f'{folder}/{number}')
        with open(f'{folder}/{number}/token', 'w', encoding='ascii') as file:
            file.write(token + '\n')
        os.symlink(number, f'{folder}/new')
        os.rename(f'{folder}/new', f'{folder}/..data')

    put('1', 'not-a-token')
    os.symlink('..data/token', f'{folder}/token')
    os.symlink(kube.ca, f'{folder}/ca.crt')
    with open(f'{folder}/namespace', 'w', encoding='ascii') as file:
        file.write(namespace)
    it = kube_tool('do', f'--pod={folder}', kubeconfig=None,
                   env={'KUBERNETES_SERVICE_HOST': '127.0.0.1', 'KUBERNETES_SERVICE_PORT': '6443'})
    refused = it.ask('get', 'configmaps', namespace, 'kube-root-ca.crt', '-')
    assert (refused['code'], refused['repeated']) == ('unauthorized', 1)
    put('2', kube.token(namespace))
    answer = it.ask('get', 'configmaps', namespace, 'kube-root-ca.crt', '-')  # the 401 before made it look again
    assert answer['code'] == 'ok', answer
    assert it.ask('get', 'configmaps', 'kube-system', 'kube-root-ca.crt', '-')['code'] == 'forbidden'


def plugin(folder, script):
    path = os.path.join(folder, 'plugin')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('#!/bin/sh\n' + script)
    os.chmod(path, 0o755 | stat.S_IXUSR)
    return path


def exec_user(kube, folder, script, name, **more):
    return kube.kubeconfig(name=name, credentials={'exec': {
        'apiVersion': 'client.authentication.k8s.io/v1', 'command': plugin(folder, script), 'interactiveMode': 'Never', **more}})


def test_a_plugin_gives_the_credentials(kube, kube_tool, folders):
    namespace, folder = kube.namespace(), folders()
    reader(kube, namespace)
    with open(f'{folder}/token', 'w', encoding='ascii') as file:
        file.write(kube.token(namespace))
    script = f'''echo run >> {folder}/runs
printf %s "$KUBERNETES_EXEC_INFO" > {folder}/info
echo "{{\\"apiVersion\\":\\"client.authentication.k8s.io/v1\\",\\"kind\\":\\"ExecCredential\\",\\"status\\":{{\\"token\\":\\"$(cat {folder}/$WHICH)\\"}}}}"
'''
    path = exec_user(kube, folder, script, 'exec', env=[{'name': 'WHICH', 'value': 'token'}], provideClusterInfo=True)
    it = kube_tool('do', kubeconfig=path)
    for _ in range(3):
        assert it.ask('get', 'configmaps', namespace, 'kube-root-ca.crt', '-')['code'] == 'ok'
    with open(f'{folder}/runs', encoding='ascii') as file:
        assert file.read() == 'run\n'  # once for all requests
    with open(f'{folder}/info', encoding='ascii') as file:
        info = json.load(file)
    assert info['kind'] == 'ExecCredential' and info['spec']['cluster']['server'] == kube.url


def test_a_plugin_gives_a_certificate_and_is_asked_again_when_it_expires(kube, kube_tool, folders):
    folder = folders()
    certificate, key = kube.user('admin')
    script = f'''echo run >> {folder}/runs
python3 - <<END
import datetime, json
soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=5)  # it is renewed 10 s earlier
print(json.dumps({{'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential', 'status': {{
    'clientCertificateData': open('{certificate}').read(), 'clientKeyData': open('{key}').read(),
    'expirationTimestamp': soon.strftime('%Y-%m-%dT%H:%M:%SZ')}}}}))
END
'''
    it = kube_tool('do', kubeconfig=exec_user(kube, folder, script, 'exec-certificate'))

    def runs():
        assert it.ask('get', 'configmaps', 'kube-system', 'kube-root-ca.crt', '-')['code'] == 'ok'
        with open(f'{folder}/runs', encoding='ascii') as file:
            return file.read().count('run')
    assert runs() == 1  # even an answer that is about to expire is used
    lab.until(lambda: runs() >= 2, what='a second run')


def test_a_plugin_that_fails_is_named(kube, kube_tool, folders):
    folder = folders()
    it = kube_tool('do', kubeconfig=exec_user(kube, folder, 'exit 3', 'exec-fails', installHint='install it'))
    answer = it.ask('get', 'configmaps', 'default', 'x', '-')
    assert answer['code'] == 'no-identity' and 'plugin' in answer['message'] and 'install it' in answer['message']


def test_a_client_certificate_of_files_may_change(kube, kube_tool, folders):
    """The files first belong to a user without rights; then to an administrator."""
    folder = folders()

    def put(user):
        for source, name in zip(kube.user(user), ('cert.pem', 'key.pem')):
            with open(source, encoding='ascii') as file:
                text = file.read()
            with open(f'{folder}/{name}.new', 'w', encoding='ascii') as file:
                file.write(text)
            os.rename(f'{folder}/{name}.new', f'{folder}/{name}')

    kube.user('nobody')
    put('nobody')
    path = kube.kubeconfig(name='files', credentials={'client-certificate': f'{folder}/cert.pem', 'client-key': f'{folder}/key.pem'})
    it = kube_tool('do', kubeconfig=path)
    assert it.ask('get', 'configmaps', 'default', 'kube-root-ca.crt', '-')['code'] == 'forbidden'
    put('admin')
    lab.until(lambda: it.ask('get', 'configmaps', 'default', 'kube-root-ca.crt', '-')['code'] == 'ok', timeout=30,
              what='the new certificate being used')


class Proxy:
    """An HTTP proxy that makes tunnels, in a namespace. asked has the heads of its requests."""

    def __init__(self, netns):
        self.asked, self.netns = [], netns
        self.listener = netns.socket()
        self.listener.bind(('127.0.0.1', 0))
        self.listener.listen()
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        head = b''
        while b'\r\n\r\n' not in head:
            head += client.recv(4096)
        self.asked.append(head.decode())
        host, port = head.split()[1].decode().rsplit(':', 1)
        server = self.netns.socket()
        server.connect((host, int(port)))
        client.sendall(b'HTTP/1.1 200 Connection established\r\n\r\n')
        threading.Thread(target=self._pump, args=(server, client), daemon=True).start()
        self._pump(client, server)

    @staticmethod
    def _pump(source, target):
        try:
            while piece := source.recv(65536):
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.close()


def test_requests_and_watches_go_through_a_proxy(kube, kube_tool):
    namespace, proxy = kube.namespace(), Proxy(kube.netns)
    path = kube.kubeconfig(name='proxied', server='https://localhost:6443',
                           cluster={'proxy-url': f'http://user:secret@127.0.0.1:{proxy.port}'})
    it = kube_tool('watch', 'configmaps', f'--namespace={namespace}', kubeconfig=path)
    it.wait(synced=True)
    kube.create(f'/api/v1/namespaces/{namespace}/configmaps', 'through', data={'value': 'x'})
    it.wait(change='added', name='through')
    assert proxy.asked[0].startswith('CONNECT localhost:6443 HTTP/1.1\r\n')
    assert 'Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n' in proxy.asked[0]
    it.stop()
    proxy.close()


def test_the_rate_limit_delays(kube, kube_tool):
    it = kube_tool('do', '--rate=20', '--burst=5')
    began = time.monotonic()
    it.say('\n'.join(['get configmaps default kube-root-ca.crt -'] * 15))  # all at once
    answers = [it.wait(code='ok') for _ in range(15)]
    assert time.monotonic() - began >= (15 - 5) / 20, 'ten of them wait for their turn'
    assert answers[-1]['throttled'] >= 1


def test_writers_that_meet_lose_nothing(kube, kube_tool):
    namespace = kube.namespace()
    kube.create(f'/api/v1/namespaces/{namespace}/configmaps', 'n', data={'value': '0'})
    writers = [kube_tool('count', namespace, 'n', '15') for _ in range(3)]
    for one in writers:
        one.wait(counted='ok', timeout=60)
    assert kube.do('GET', f'/api/v1/namespaces/{namespace}/configmaps/n')['data']['value'] == '45'


def events_of(kube, namespace):
    return kube.do('GET', f'/apis/events.k8s.io/v1/namespaces/{namespace}/events')['items']


def test_events_that_repeat_are_a_series(kube, kube_tool):
    namespace = kube.namespace()
    made = kube.create(f'/api/v1/namespaces/{namespace}/configmaps', 'c')['metadata']
    it = kube_tool('events', '--series=500')
    for _ in range(5):
        it.say(namespace, 'c', made['uid'], 'PortConflict', '80/TCP is already claimed by app/api')
    found = lab.until(lambda: [e for e in events_of(kube, namespace) if e.get('series', {}).get('count') == 5], what='a series')
    assert len(events_of(kube, namespace)) == 1
    event = found[0]
    assert (event['type'], event['reason'], event['action']) == ('Warning', 'PortConflict', 'Testing')
    assert event['regarding']['uid'] == made['uid'] and event['note'].endswith('app/api')
    kube.do('DELETE', f'/apis/events.k8s.io/v1/namespaces/{namespace}/events/{event["metadata"]["name"]}')
    it.say(namespace, 'c', made['uid'], 'PortConflict', '80/TCP is already claimed by app/api')
    lab.until(lambda: [e for e in events_of(kube, namespace) if e.get('series', {}).get('count') == 6], what='the event again')


def test_an_object_has_a_budget_of_events(kube, kube_tool):
    namespace = kube.namespace()
    it = kube_tool('events', '--burst-each=4')
    for n in range(10):
        it.say(namespace, 'c', 'u1', 'Reason', f'note {n}')
    it.say(namespace, 'other', 'u2', 'Reason', 'note')
    lab.until(lambda: len(events_of(kube, namespace)) == 5, what='five events')

    def stats():
        it.say('stats')
        said = it.wait(stats=1)
        return said['created'], said['dropped']
    lab.until(lambda: stats() == (5, 6), what='the answers being counted')


def widgets(*versions):
    return {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition',
            'metadata': {'name': 'widgets.maglev.example'},
            'spec': {'group': 'maglev.example', 'scope': 'Namespaced',
                     'names': {'plural': 'widgets', 'singular': 'widget', 'kind': 'Widget', 'listKind': 'WidgetList'},
                     'versions': [{'name': name, 'served': True, 'storage': name == 'v1', 'schema': {'openAPIV3Schema': {
                         'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}}} for name in versions]}}


def test_discovery_finds_the_best_version_and_notices_changes(kube, kube_tool):
    it = kube_tool('discover', '--period=600000')
    it.wait(synced='discovery')
    assert {line['discovered']: line['version'] for line in it.seen(discovered=True)} == \
        {'widgets': 'none', 'leases': 'v1', 'services': 'v1'}
    place = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    kube.do('POST', place, widgets('v1'))
    assert it.wait(discovered='widgets')['version'] == 'v1'
    kube.patch(f'{place}/widgets.maglev.example', {'spec': widgets('v1', 'v2')['spec']})
    assert it.wait(discovered='widgets')['version'] == 'v2'
    kube.do('DELETE', f'{place}/widgets.maglev.example')
    assert it.wait(discovered='widgets')['version'] == 'none'
