# SPDX-License-Identifier: Apache-2.0
"""The second half of the soak's lab: a real Kubernetes API, maglev-gateway with two maglev-routers, maglev-controller and maglev-mux,
and its faults, which are context managers.
"""
import contextlib
import os
import shutil
import tempfile

from lab.daemon import Daemon
from lab.gateway import GROUP, Routerd, World, crds
from lab.kube import READY, Kube
from lab.metal import Metal
from lab.mux import Muxes
from lab.process import Running
from lab.upgrades import Upgrades
from lab.wait import until
from soak import load
from soak.means import paused

HOST, MANY = 'www.example.com', 30
DAY = 24 * 3600  # s that tokens are valid


class Router(Upgrades, Routerd):
    pass


class Cluster:
    name = 'cluster'
    kinds = ('gateway',)

    def __init__(self, level='info'):
        crds()  # skips where there are none
        self.level, self.made, self.processes, self.round = level, [], Running(), 0
        self.kube = Kube(self.folder())
        self.world = World(self.kube, self.folder, self.processes.add)

    def folder(self):
        self.made.append(tempfile.mkdtemp(prefix='maglev-soak.'))
        os.chmod(self.made[-1], 0o755)
        return self.made[-1]

    # ---- life ----

    def start(self):
        world = self.world
        self.kube.start()
        world.install()
        self.ports = [next(world._ports) for _ in range(2)]
        routers = [self.processes.add(Router(world, port)).start() for port in self.ports]
        self.programs = dict(zip(('router 1', 'router 2'), routers))
        self.programs['gateway'] = world.gateway(*routers, level=self.level)
        self.namespace = self.kube.namespace()
        self.backends = [world.backend(f'web-{n}') for n in range(3)]
        world.service(self.namespace, 'web', *self.backends)
        self.address = world.http_gateway(self.namespace)
        world.route(self.namespace, 'web', HOST, 'web')
        world.reaches(self.address, HOST, 200)
        self._start_controllers()
        self.heal()
        return self

    def _kubeconfig(self, namespace, account):
        token = self.kube.token(namespace, account, DAY)
        return self.kube.kubeconfig(name=f'kubeconfig-{account}', credentials={'token': token}, namespace=namespace)

    def _start_controllers(self):
        self.metal = Metal(self.kube).install()
        self.metal.apply('controller/rbac.yaml')
        self.metal.pool('all', '192.0.2.0/24')
        self.programs['controller'] = self.processes.add(Daemon(
            self.folder(), 'maglev-controller', '--kubeconfig', self._kubeconfig(self.metal.namespace, 'controller'), '--lb-class',
            self.metal.lb_class, '--lease-duration=3s', namespace=self.kube.netns, level=self.level)).start()
        self.muxes = Muxes(self.kube, self.processes.add, self.folder)
        self.programs['mux'] = self.muxes.start(kubeconfig=self._kubeconfig(self.muxes.namespace, 'maglev-mux'),
                                                level=self.level)
        self.muxes.mux()
        self.muxes.address({'ip': '203.0.113.10'})

    def press(self, pressure, rate=1):
        pressure.add('gateway', lambda: load.Kept(self.world, self.address, HOST), 4, load.PAUSE / rate)

    def heal(self):
        """Waits until all of it works: a new route is served, both routers have it, a Service gets an address, a channel its port."""
        self.kube.wait_ready()
        self._forget(f'n{self.round}')
        self.round += 1
        name = f'n{self.round}'
        self.world.route(self.namespace, 'heals', f'{name}.example.com', 'web')
        self.metal.service(name)
        self.muxes.channel(name, {'http': 80})
        self.world.reaches(self.address, f'{name}.example.com', 200)
        gateway = self.programs['gateway']
        for port in self.ports:
            until(lambda: gateway.metrics().one('maglev_gateway_router_current', router=f'127.0.0.1:{port}') == 1, READY, 'both routers')
        self.metal.wait_addresses(name)
        self.muxes.settled(**{name: {'http': 80}})
        dead = [role for role, pid in self.pids().items() if not os.path.exists(f'/proc/{pid}')]
        assert not dead, f'{dead} did not come back'

    def _forget(self, name):
        """Removes what the last call has made, as far as it came."""
        for path in (self.metal.service_path(name), self.muxes.path(name)):
            self.kube.ask('DELETE', path)

    def pids(self):
        servers = {name: getattr(self.kube, name).pid for name in ('etcd', 'apiserver')}
        return {**servers, **{name: one.pid for name, one in self.programs.items()}}

    def daemons(self):
        return self.programs

    def close(self):
        self.world.close()
        try:
            self.processes.stop()
        finally:
            self.kube.close()
            for path in self.made:
                shutil.rmtree(path, ignore_errors=True)

    # ---- faults ----

    @contextlib.contextmanager
    def kill(self, target):
        if target in self.programs:
            self.programs[target].kill()
            yield
            self.programs[target].start()
            return
        getattr(self.kube, target).kill()
        yield
        if target == 'etcd':
            self.kube.start_etcd()
        if not self.kube.apiserver.is_running():
            self.kube.start_apiserver()

    @contextlib.contextmanager
    def stop(self, target):
        with paused(self.pids()[target]):
            yield

    @contextlib.contextmanager
    def restart(self, target):
        """As a Deployment does it: SIGTERM, and a new process."""
        self.programs[target].stop()
        yield
        self.programs[target].start()

    @contextlib.contextmanager
    def upgrade(self, target):
        router = self.programs[target]
        router.gone(router.upgrade())
        yield

    @contextlib.contextmanager
    def roll(self, _):
        """As a Deployment does it: the new pod is ready, the old one terminates, then it is gone."""
        old, new = self.backends[0], self.world.backend(f'web-{self.round}-new')
        self.backends = [*self.backends[1:], new]
        self.world.slice(self.namespace, 'web', old, *self.backends, **{old.name: {'ready': False, 'serving': True, 'terminating': True}})
        self.world.reaches(self.address, HOST, new.name)
        yield
        self.world.slice(self.namespace, 'web', *self.backends)
        self.heal()  # both routers have it
        old.close()
        self.world.backends.remove(old)

    @contextlib.contextmanager
    def routes(self, _):
        """Many come and go."""
        for n in range(MANY):
            self.world.route(self.namespace, f'many-{n}', f'many-{n}.example.com', 'web')
        self.world.reaches(self.address, f'many-{MANY - 1}.example.com', 200)
        yield
        for n in range(MANY):
            self.kube.do('DELETE', f'{GROUP}/namespaces/{self.namespace}/httproutes/many-{n}')
        self.world.reaches(self.address, f'many-{MANY - 1}.example.com', 404)

    @contextlib.contextmanager
    def bad_route(self, _):
        """Its Service does not exist: it is answered with 500, and no other route is touched."""
        self.world.route(self.namespace, 'bad', 'bad.example.com', 'absent')
        self.world.reaches(self.address, 'bad.example.com', 500)
        yield
        self.world.delete('HTTPRoute', self.namespace, 'bad')
