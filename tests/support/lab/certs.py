# SPDX-License-Identifier: Apache-2.0
"""A certificate authority for one run, made with the openssl command."""
import os
import subprocess


def _openssl(*words, **more):
    subprocess.run(['openssl', *words], check=True, capture_output=True, **more)


class Authority:
    """ca is the file for SSL_CERT_FILE; the others are (certificate, key) pairs of servers."""

    def __init__(self, folder, name='www.example.net'):
        self.folder, self.name = str(folder), name
        self.ca = self._self_signed('ca', 'Test CA', 'CA:TRUE')
        self.good = self.issue('good', name, days=30)
        self.wrong_name = self.issue('wrong', 'other.example.net', days=30)
        self.expired = self.issue('expired', name, days=-1)
        self.self_signed = (self._self_signed('self', name, 'CA:FALSE', f'DNS:{name}'), self._path('self.key'))

    def _path(self, file):
        return os.path.join(self.folder, file)

    def _key(self, stem):
        return ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', self._path(stem + '.key')]

    def _self_signed(self, stem, name, constraints, alternative=None):
        extensions = ['-addext', f'basicConstraints=critical,{constraints}']
        if alternative:
            extensions += ['-addext', f'subjectAltName={alternative}']
        _openssl('req', '-x509', *self._key(stem), '-subj', f'/CN={name}', '-days', '30', *extensions,
                 '-out', self._path(stem + '.pem'))
        return self._path(stem + '.pem')

    def issue(self, stem, name, days=30, names=None):
        """names: all alternative names, such as URI:spiffe://a/b; otherwise the name alone."""
        request, out, extensions = (self._path(stem + s) for s in ('.csr', '.pem', '.ext'))
        with open(extensions, 'w', encoding='ascii') as file:
            file.write(f'subjectAltName={names or f"DNS:{name}"}\nbasicConstraints=CA:FALSE\n')
        _openssl('req', '-new', *self._key(stem), '-subj', f'/CN={name}', '-out', request)
        _openssl('x509', '-req', '-in', request, '-CA', self.ca, '-CAkey', self._path('ca.key'), '-CAcreateserial',
                 '-days', str(days), '-extfile', extensions, '-out', out)
        return out, self._path(stem + '.key')
