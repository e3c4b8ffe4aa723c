# SPDX-License-Identifier: Apache-2.0
"""The table of faults. docs/design/soak.md has the same rows with the reasons; a test compares the two.

half: `site` (balancers, servers and their routers) or `cluster`. act: the name of a method of that half, a context manager that
does the fault to a target, and undoes it at its end. lasts: s between the two. heals: s that the half needs to be whole again, at
most, on a machine that is not busy; the next fault of that half waits for it in any case. share: how often the row is taken.

allows: {kind of load: s}: requests of that kind that began in so many seconds from the start of the fault may fail. LOST, for
connections that stay open: those to the server that is the target may be lost.
"""
import dataclasses

NODES = ('1', '2')
PROGRAMS = ('maglevd', 'speaker', 'reloader', 'bgpd', 'zebra', 'bfdd')
SERVERS = ('web1', 'web2', 'web3', 'web4')
EDGES = ('rt1', 'rt2')
FILES = ('maglevd 1', 'maglevd 2', 'speaker 1', 'speaker 2', *EDGES)
CONTROL = ('gateway', 'controller', 'mux', 'apiserver', 'etcd')
ROUTERS = ('router 1', 'router 2')
LOST = 'lost'
LOST_PERCENT = {'loss': 1, 'client-loss': 5}  # of packets, in each direction
# s until both maglevds have taken out a server that refuses, and one that is silent: probes of site.CHECK, and a busy machine
NOTICED, SILENT = 3, 7


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    half: str
    targets: tuple
    act: str
    lasts: int = 3
    heals: int = 7
    share: int = 1
    allows: dict = dataclasses.field(default_factory=dict, hash=False)


def each(names, nodes=NODES):
    return tuple(f'{name} {node}' for name in names for node in nodes)


FAULTS = (
    Fault('kill', 'site', each(PROGRAMS), 'kill', heals=12, share=2),
    Fault('stop', 'site', each(PROGRAMS), 'stop', lasts=4, heals=12, share=2),
    Fault('restart', 'site', each(('maglevd', 'speaker', 'reloader')), 'restart', lasts=1, heals=12),
    Fault('power', 'site', NODES, 'power', lasts=5, heals=35),
    Fault('link', 'site', NODES, 'link', lasts=5, heals=12),
    Fault('loss', 'site', NODES, 'loss', lasts=6, heals=5),
    Fault('client-loss', 'site', ('client',), 'client_loss', lasts=6, heals=5),
    Fault('drain', 'site', NODES, 'drain', lasts=6, heals=8),
    Fault('full-disk', 'site', NODES, 'full_disk', lasts=4, heals=10),
    Fault('reload', 'site', FILES, 'reload', heals=5),
    Fault('bad-reload', 'site', FILES, 'bad_reload', heals=5),
    Fault('server-kill', 'site', SERVERS, 'server_kill', lasts=5, heals=8, allows={'new': NOTICED, 'open': LOST}),
    Fault('server-stop', 'site', SERVERS, 'server_stop', lasts=8, heals=8, allows={'new': SILENT, 'open': LOST}),
    Fault('edge-kill', 'site', EDGES, 'edge_kill', lasts=4, heals=8, allows={'shop': NOTICED}),
    Fault('edge-stop', 'site', EDGES, 'edge_stop', lasts=3, heals=5),
    Fault('edge-upgrade', 'site', EDGES, 'edge_upgrade', lasts=2, heals=5),
    Fault('control-kill', 'cluster', CONTROL, 'kill', heals=12, share=2),
    Fault('control-stop', 'cluster', CONTROL, 'stop', lasts=5, heals=8),
    Fault('control-restart', 'cluster', CONTROL[:3], 'restart', lasts=1, heals=8),
    Fault('router-kill', 'cluster', ROUTERS, 'kill', heals=5),
    Fault('router-stop', 'cluster', ROUTERS, 'stop', heals=5),
    Fault('router-upgrade', 'cluster', ROUTERS, 'upgrade', lasts=2, heals=5),
    Fault('roll', 'cluster', ('web',), 'roll', lasts=2, heals=5),
    Fault('routes', 'cluster', ('many',), 'routes', lasts=2, heals=5),
    Fault('bad-route', 'cluster', ('bad',), 'bad_route', lasts=3, heals=3),
)


def allowed(event, began, ended, failure):
    """Whether the design allows this failure because of an event that began and ended then (ended: when all was whole again)."""
    limit = event.row.allows.get(failure.kind)
    if limit is None:
        return False
    if limit == LOST:
        return failure.server == event.target and began <= failure.at <= ended
    return began - failure.took <= failure.began <= began + limit
