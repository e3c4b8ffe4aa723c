# SPDX-License-Identifier: Apache-2.0
"""A few tests of the official Gateway API conformance suite, with the sanitized programs. `make conformance` runs all of it."""
import pytest

from lab.conformance import Cluster

# at least one of each profile, and those that meet most of the path: filters, weights, logs of mirrors, listeners that come and go
TESTS = ('GatewayModifyListeners', 'HTTPRouteSimpleSameNamespace', 'HTTPRouteWeight', 'HTTPRouteRequestMirror', 'HTTPRouteRewritePath',
         'HTTPRouteTimeoutRequest', 'GRPCExactMethodMatching', 'TLSRouteSimpleSameNamespace', 'TCPRouteReferenceGrant', 'UDPRoute')
LONGEST = 300  # s; it takes 30 on a free machine


@pytest.fixture
def cluster(tmp_path):
    it = Cluster(tmp_path, 'v1.6.3')
    try:
        yield it.start().serve()
    finally:
        it.close()


def test_one_of_each_kind_of_route_conforms(cluster):
    results = cluster.run(only=TESTS, timeout=LONGEST)
    with open(cluster.said, encoding='utf-8', errors='replace') as log:
        assert results == dict.fromkeys(TESTS, 'PASS'), log.read()[-20000:]
