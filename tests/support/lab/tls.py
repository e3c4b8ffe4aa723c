# SPDX-License-Identifier: Apache-2.0
"""An authority for stories about TLS, and a client that shows what a handshake has led to."""
import os
import socket
import ssl
import subprocess

from lab.router import Wire
from lab.wait import PATIENCE


def openssl(*words, text='', check=True):
    """Standard output and error of the command."""
    done = subprocess.run(['openssl', *words], input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=PATIENCE, check=check)
    return done.stdout.decode('utf-8', 'replace')


class Issuer:
    """ca is the path of its certificate; certificates are pairs of paths (certificate, key)."""

    def __init__(self, folder, name='ca'):
        self.folder = str(folder)
        self.ca, self.key = self.path(name + '.pem'), self.path(name + '.key')
        openssl('req', '-x509', *self._new_key(self.key), '-subj', f'/CN={name}', '-days', '30', '-addext',
                'basicConstraints=critical,CA:TRUE', '-out', self.ca)

    def path(self, file):
        return os.path.join(self.folder, file)

    @staticmethod
    def _new_key(path, rsa=False):
        kind = ['rsa:2048'] if rsa else ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
        return ['-newkey', *kind, '-nodes', '-keyout', path]

    def issue(self, stem, *names, rsa=False, days=30):
        """The certificate replaces one of the same stem, as a renewal does: by a rename, the key first."""
        request, extensions = self.path(stem + '.csr'), self.path(stem + '.ext')
        out, key = self.path(stem + '.pem'), self.path(stem + '.key')
        alternatives = ','.join(n if ':' in n else f'DNS:{n}' for n in names)
        with open(extensions, 'w', encoding='ascii') as file:
            file.write('basicConstraints=CA:FALSE\n' + (f'subjectAltName={alternatives}\n' if names else ''))
        openssl('req', '-new', *self._new_key(key + '.new', rsa), '-subj', f'/O=Lab/CN={stem}', '-out', request)
        openssl('x509', '-req', '-in', request, '-CA', self.ca, '-CAkey', self.key, '-CAcreateserial', '-days', str(days),
                '-extfile', extensions, '-out', out + '.new')
        os.replace(key + '.new', key)
        os.replace(out + '.new', out)
        return out, key


def pair(certificate, **more):
    """An entry of the key certificates."""
    return {'certificate': certificate[0], 'key': certificate[1], **more}


def read(path):
    with open(path, encoding='ascii') as file:
        return file.read()


def context(ca=None, certificate=None, **more):
    """Without ca nothing is verified."""
    it = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    it.check_hostname = ca is not None
    it.verify_mode = ssl.CERT_REQUIRED if ca else ssl.CERT_NONE
    if ca:
        it.load_verify_locations(ca)
    if certificate:
        it.load_cert_chain(*certificate)
    for key, value in more.items():
        setattr(it, key, value)
    return it


def dial(port, name=None, how=None, session=None, start=b''):
    """A Wire with TLS. start: bytes before the handshake."""
    sock = socket.create_connection(('127.0.0.1', port), PATIENCE)
    try:
        sock.sendall(start)
        sock.settimeout(PATIENCE)
        return Wire(sock=(how or context()).wrap_socket(sock, server_hostname=name, session=session))
    except BaseException:
        sock.close()
        raise


def subject(wire):
    """The common name of the certificate that the server has shown, read with openssl: nothing needs to be verified."""
    pem = ssl.DER_cert_to_PEM_cert(wire.sock.getpeercert(True))
    return openssl('x509', '-noout', '-subject', '-nameopt', 'RFC2253', text=pem).split('CN=')[1].split(',')[0].strip()
