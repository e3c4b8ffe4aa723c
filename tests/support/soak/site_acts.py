# SPDX-License-Identifier: Apache-2.0
"""The faults of a Site. Each is a context manager: it does the fault, and undoes it at its end. faults.py has the table of them."""
import contextlib
import os
import subprocess

from lab.ecmp import GRPC
from lab.programs import program
from soak.faults import LOST_PERCENT
from soak.means import filled, load_file, lossy, paused, replace, tomorrow

VIP = {'drain-time': '2s', 'min-up': '2s'}


class Acts:
    # ---- faults of programs ----

    def _of(self, target):
        name, number = target.split()
        return self.nodes[number], name

    @contextlib.contextmanager
    def kill(self, target):
        node, name = self._of(target)
        node.kill(name)
        yield
        node.start_one(name)

    @contextlib.contextmanager
    def stop(self, target):
        node, name = self._of(target)
        with paused(node.process(name).pid):
            yield

    @contextlib.contextmanager
    def restart(self, target):
        """As an upgrade of its package does it."""
        node, name = self._of(target)
        getattr(node, name).stop()
        yield
        getattr(node, name).start()

    @contextlib.contextmanager
    def edge_kill(self, target):
        self.edges[target].router.kill()
        yield
        self.edges[target].router.start()

    @contextlib.contextmanager
    def edge_stop(self, target):
        with paused(self.edges[target].router.pid):
            yield

    @contextlib.contextmanager
    def edge_upgrade(self, target):
        router = self.edges[target].router
        router.gone(router.upgrade())
        yield

    # ---- faults of machines and of the network ----

    @contextlib.contextmanager
    def power(self, target):
        self.nodes[target].power_off()
        yield
        self.nodes[target].power_on()

    @contextlib.contextmanager
    def link(self, target):
        self.nodes[target].balancer.carry(False)
        yield
        self.nodes[target].balancer.carry(True)

    @contextlib.contextmanager
    def loss(self, target):
        with lossy(self.fabric.router, self.nodes[target].balancer.port, LOST_PERCENT['loss']):
            yield

    @contextlib.contextmanager
    def client_loss(self, _):
        with lossy(self.fabric.router, self.fabric.client.port, LOST_PERCENT['client-loss']):
            yield

    @contextlib.contextmanager
    def server_kill(self, target):
        self.servers[target].kill()
        yield
        self.servers[target].start().wait()

    @contextlib.contextmanager
    def server_stop(self, target):
        with paused(self.servers[target].process.pid):
            yield

    # ---- acts of operators ----

    @contextlib.contextmanager
    def drain(self, target):
        speaker = self.nodes[target].speaker
        for vip in self.nodes[target].vips:
            speaker.drain(vip)
        yield
        for vip in self.nodes[target].vips:
            speaker.drain(vip, False)

    @contextlib.contextmanager
    def full_disk(self, target):
        """Nothing can be written: acts are done, and the logs say that they are not kept until there is room again."""
        node = self.nodes[target]
        since = node.maglevd.mark(), node.speaker.mark()
        with filled(node.folder):
            said = self._maglevc(node, 'set', 'backend', 'web1', 'pause', 'from', tomorrow())
            assert 'does not survive a restart' in said.stderr, said
            node.maglevd.wait('overrides-not-kept', since[0])
            node.speaker.drain('www6')
            node.speaker.wait('drains-not-kept', since[1])
            yield
        node.maglevd.wait('overrides-kept', since[0])
        assert self._maglevc(node, 'set', 'backend', 'web1', 'resume').returncode == 0
        node.speaker.drain('www6', False)

    @staticmethod
    def _maglevc(node, *words):
        command = node.balancer.command(program('maglevc'), '--server', f'127.0.0.1:{GRPC}', *words)
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def _file(self, target):
        """(daemon, a function that writes its file, a good text, another good one)"""
        if target in self.edges:
            edge = self.edges[target]
            return edge.router, lambda text: replace(edge.file, text), edge.document(), edge.document('1')
        node, name = self._of(target)
        if name == 'maglevd':
            return node.maglevd, node.maglevd.write, *(self.configure(node, other) for other in (False, True))
        path = os.path.join(node.folder, 'speaker.yaml')
        return node.speaker, lambda text: replace(path, text), *(node.speaker.config(node, {**VIP, **more}) for more in ({}, {'min-up': '3s'}))

    @contextlib.contextmanager
    def reload(self, target):
        daemon, write, good, other = self._file(target)
        load_file(daemon, write, other, 'config-loaded')
        yield
        load_file(daemon, write, good, 'config-loaded')

    @contextlib.contextmanager
    def bad_reload(self, target):
        daemon, write, good, _ = self._file(target)
        load_file(daemon, write, '{ "nonsense": [', 'config-reload-failed')
        yield
        load_file(daemon, write, good, 'config-loaded')
