# SPDX-License-Identifier: Apache-2.0
"""lib/stream's PROXY protocol, judged by HAProxy: what it sends is understood, and it understands what we send."""
import json
import os
import re
import socket
import ssl
import subprocess
import threading

import pytest

from lab import PATIENCE, program
from lab.haproxy import Haproxy, listening
from lab.process import DIE_WITH_PARENT

OPTIONS = 'proxy-v2-options ssl,cert-cn,ssl-cipher,cert-sig,cert-key,authority,crc32c,unique-id'


class Peer:
    """proxy-peer as a server. Its lines are what it told its clients, and why it refused others."""

    def __init__(self, *files):
        self.process = subprocess.Popen([*DIE_WITH_PARENT, program('proxy-peer'), 'listen', *files],
                                        stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        self.port = int(self.address.rsplit(':', 1)[1])

    def line(self):
        """The next one. A story that waits in vain is ended by killing the process."""
        guard = threading.Timer(PATIENCE, self.process.kill)
        guard.start()
        try:
            return json.loads(self.process.stdout.readline())
        finally:
            guard.cancel()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def ended(sock):
    try:
        return sock.recv(1) == b''
    except ConnectionResetError:
        return True


def endpoint(name):
    return f'[{name[0]}]:{name[1]}' if ':' in name[0] else f'{name[0]}:{name[1]}'


@pytest.fixture
def started(tmp_path):
    """Starts what ends with the test."""
    things = []

    def start(kind, *words, **more):
        things.append(kind(*words, **more))
        return things[-1]

    start.folder = str(tmp_path)
    yield start
    for thing in reversed(things):
        thing.close()


@pytest.mark.parametrize('option,version', [('send-proxy', 1), ('send-proxy-v2', 2),
                                            ('send-proxy-v2 proxy-v2-options crc32c', 2)])
@pytest.mark.parametrize('family,address', [(socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')])
def test_what_haproxy_sends_is_understood(started, option, version, family, address):
    peer, front = started(Peer), started(listening, family, address)
    started(Haproxy, started.folder, f'''
listen l
  bind FRONT
  mode tcp
  server s {peer.address} {option}
''', front)
    with socket.create_connection(front.getsockname()[:2], PATIENCE) as client:
        client.sendall(b'hello\n')
        file = client.makefile('rb')
        told = json.loads(file.readline())
        assert file.readline() == b'hello\n'  # not a byte of it was taken for the header
        assert told == {'peer': endpoint(client.getsockname()), 'local_address': endpoint(client.getpeername()),
                        'version': version, 'local': 0, 'checksum': int('crc32c' in option)}


def test_haproxys_checks_are_local(started):
    peer, front = started(Peer), started(listening)
    started(Haproxy, started.folder, f'''
listen l
  bind FRONT
  mode tcp
  option tcp-check
  tcp-check send-binary 61
  tcp-check expect string local
  server s {peer.address} send-proxy-v2 check-send-proxy check inter 100ms
''', front)
    told = peer.line()
    assert (told['version'], told['local']) == (2, 1)
    assert re.fullmatch(r'127\.0\.0\.1:\d+', told['peer'])  # the connection's own
    assert told['local_address'] == peer.address


def tls_client(authority, certificate=None):
    context = ssl.create_default_context(cafile=authority.ca)
    context.set_alpn_protocols(['http/1.1'])
    if certificate:
        context.load_cert_chain(*certificate)
    return context


def test_what_haproxy_knows_of_tls_arrives(started, authority):
    peer, front = started(Peer), started(listening)
    bundle = os.path.join(started.folder, 'bundle.pem')
    with open(bundle, 'w', encoding='ascii') as out:
        for path in authority.good:
            with open(path, encoding='ascii') as file:
                out.write(file.read())
    started(Haproxy, started.folder, f'''
listen l
  bind FRONT ssl crt {bundle} ca-file {authority.ca} verify optional alpn http/1.1
  mode tcp
  unique-id-format id-%{{+X}}o%ci
  server s {peer.address} send-proxy-v2 {OPTIONS}
''', front)
    context = tls_client(authority, authority.issue('client', 'client.example.net'))
    with socket.create_connection(front.getsockname(), PATIENCE) as raw, \
            context.wrap_socket(raw, server_hostname=authority.name) as client:
        client.sendall(b'hello\n')
        file = client.makefile('rb')
        told = json.loads(file.readline())
        assert file.readline() == b'hello\n'
        assert told['peer'] == endpoint(client.getsockname())
        assert (told['authority'], told['alpn']) == (authority.name, 'http/1.1')
        assert told['unique_id'] == 'id-7F000001'
        assert (told['checksum'], told['ssl_client'], told['ssl_verify']) == (1, 7, 0)
        assert told['ssl_version'] == client.version()
        assert told['ssl_cn'] == 'client.example.net'
        assert told['ssl_cipher'] == client.cipher()[0]
        assert (told['ssl_signature'], told['ssl_key']) == ('ecdsa-with-SHA256', 'EC256')


@pytest.mark.parametrize('version', [1, 2])
def test_tls_to_us_follows_the_header(started, authority, version):
    peer, front = started(Peer, *authority.good), started(listening)
    option = {1: 'send-proxy', 2: 'send-proxy-v2'}[version]
    started(Haproxy, started.folder, f'''
listen l
  bind FRONT
  mode tcp
  server s {peer.address} {option} ssl ca-file {authority.ca} verifyhost {authority.name}
''', front)
    with socket.create_connection(front.getsockname(), PATIENCE) as client:
        client.sendall(b'hello\n')
        file = client.makefile('rb')
        told = json.loads(file.readline())
        assert file.readline() == b'hello\n'
        assert (told['version'], told['peer']) == (version, endpoint(client.getsockname()))


def test_a_proxy_without_the_header_is_refused_with_words(started):
    peer = started(Peer)
    with socket.create_connection(('127.0.0.1', peer.port), PATIENCE) as client:
        client.sendall(b'GET / HTTP/1.0\r\n\r\n')
        assert peer.line() == {'error': 'there is no PROXY header'}
        assert ended(client)


@pytest.mark.parametrize('version,source,destination', [
    (1, '192.0.2.1:56324', '198.51.100.10:443'), (2, '192.0.2.1:56324', '198.51.100.10:443'),
    (1, '[2001:db8::1]:1', '[2001:db8::2]:65535'), (2, '[2001:db8::1]:1', '[2001:db8::2]:65535')])
def test_haproxy_understands_what_we_send(started, version, source, destination):
    front = started(listening)
    started(Haproxy, started.folder, '''
frontend f
  bind FRONT accept-proxy
  mode http
  http-request return content-type text/plain lf-string "SOURCE DESTINATION %[fc_pp_authority] %[fc_pp_unique_id]."
'''.replace('SOURCE', '%[src] %[src_port]').replace('DESTINATION', '%[dst] %[dst_port]'), front)
    command = [program('proxy-peer'), 'connect', endpoint(front.getsockname()), str(version), source, destination,
               'www.example.net', 'id-1']
    done = subprocess.run(command, input=b'GET / HTTP/1.0\r\n\r\n', capture_output=True, timeout=PATIENCE, check=True)
    body = done.stdout.decode().split('\r\n\r\n', 1)[1]
    words = [part for end in (source, destination) for part in end.replace('[', '').replace(']', '').rsplit(':', 1)]
    fields = 'www.example.net id-1' if version == 2 else ' '
    assert body == ' '.join(words) + f' {fields}.'
