# SPDX-License-Identifier: Apache-2.0
"""h2spec, which tries every rule of RFC 7540 and RFC 7541 that a client can try, against maglev-router."""
import re
import subprocess
import xml.etree.ElementTree

import pytest

from lab.gotool import installed
from lab.router import document, echo
from lab.tls import Issuer, pair

PROGRAM = 'github.com/summerwind/h2spec/cmd/h2spec', 'v2.2.1+incompatible'
CASES = 145  # of that version
# In plaintext what is not the preface is a request of HTTP/1.1, as long as a port serves both. So this case gets an answer
# before the end of the connection, where h2spec expects the end alone.
AS_HTTP_1 = 'http2/3.5 Sends invalid connection preface'
LONGEST = 300  # s


@pytest.fixture(scope='module')
def h2spec():
    return installed(*PROGRAM)


def run(program, port, folder, *flags):
    """Runs all cases. Returns those that did not pass: {name: what came instead}."""
    report = f'{folder}/h2spec.xml'
    done = subprocess.run([program, '-h', '127.0.0.1', '-p', str(port), '-P', '/', '-o', '5', '-j', report, *flags],
                          capture_output=True, text=True, timeout=LONGEST, check=False)
    assert re.search(rf'^{CASES} tests, ', done.stdout, re.M), done.stdout + done.stderr
    root = xml.etree.ElementTree.parse(report).getroot()
    return {f'{suite.get("package")} {case.get("classname")}': list(case.itertext())
            for suite in root.iter('testsuite') for case in suite.iter('testcase') if len(case)}


def test_every_case_passes_in_plaintext(serve, route, h2spec, tmp_path):
    router = route(document(serve(echo)), threads=1)
    assert set(run(h2spec, router.port_of('default'), tmp_path)) == {AS_HTTP_1}
    with router.client() as wire:
        wire.send('INVALID CONNECTION PREFACE\r\n\r\n')
        assert wire.head().status == 400 and wire.rest()
    assert router.request().status == 200


def test_every_case_passes_over_tls(serve, route, h2spec, tmp_path):
    """ALPN has chosen HTTP/2, so there is no exception."""
    certificate = Issuer(tmp_path).issue('web', 'localhost', 'web')
    secure = {'name': 'default', 'address': '127.0.0.1:0', 'tls': {'certificates': [pair(certificate)]}}
    router = route(document(serve(echo), listeners=[secure]), threads=1)
    assert run(h2spec, router.port_of('default'), tmp_path, '-t', '-k') == {}
