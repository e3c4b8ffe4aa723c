# SPDX-License-Identifier: Apache-2.0
"""What every story may ask for."""
import os
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../support'))

import lab  # noqa: E402
import lab.router  # noqa: E402


@pytest.fixture(scope='session', autouse=True)
def clean_namespaces():
    lab.sweep()


@pytest.fixture(scope='module')
def net():
    """A network that the stories of one file share; each takes addresses of its own."""
    it = lab.Net()
    yield it
    it.close()


@pytest.fixture
def own_net():
    """A network to be broken."""
    it = lab.Net()
    yield it
    it.close()


@pytest.fixture
def servers(net):
    it = lab.Servers(net)
    yield it
    it.close()


@pytest.fixture
def own_servers(own_net):
    it = lab.Servers(own_net)
    yield it
    it.close()


@pytest.fixture(scope='session')
def authority(tmp_path_factory):
    return lab.Authority(tmp_path_factory.mktemp('certificates'))


@pytest.fixture
def folders():
    """New folders, readable for every user (those of pytest are not)."""
    made = []

    def folder():
        made.append(tempfile.mkdtemp(prefix='maglev-story.'))
        os.chmod(made[-1], 0o755)
        return made[-1]

    yield folder
    for path in made:
        shutil.rmtree(path)


@pytest.fixture
def desk(folders):
    """Shells of operators, in which commands of the pages run as they stand."""
    made = []
    yield lambda *where, **how: made.append(lab.Desk(folders(), *where, **how)) or made[-1]
    for one in made:
        one.close()


@pytest.fixture
def running(folders):
    """Takes processes that are about to be started; in the end each is stopped and looked at."""
    it = lab.Running()
    yield it.add
    it.stop()


@pytest.fixture
def start_daemon(running, folders):
    """Starts any program by its name, with arguments; ready=False: does not wait until it listens."""
    return lambda name, *args, ready=True, **options: \
        running(lab.Daemon(folders(), name, *args, **options)).start(ready)


@pytest.fixture
def start(running, folders):
    """Starts a maglevd on a configuration."""
    return lambda config, ready=True, **options: running(lab.Maglevd(folders(), config, **options)).start(ready)


@pytest.fixture
def serve():
    """Starts servers of raw bytes, which are closed at the end."""
    servers = []

    def start(handler=lab.router.echo):
        servers.append(lab.router.Server(handler))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def route(running, folders):
    """Starts a router on a document."""
    return lambda doc, *args, **how: running(lab.router.Router(folders(), doc, *args, **how)).start()


@pytest.fixture
def wired(serve, route):
    """A client's connection to a router before one server; how: see document()."""
    def start(handler=lab.router.echo, *args, **how):
        server = serve(handler)
        router = route(lab.router.document(server, **how), *args)
        client = router.client()
        client.router, client.server = router, server
        return client
    return start


@pytest.fixture(scope='session')
def can_forward():
    """Root, and a kernel that takes XDP programs."""
    missing = lab.fabric.needs()
    assert not missing, f'packets need {missing}'


@pytest.fixture(scope='module')
def fabric(can_forward):
    """Client, router, balancer and four servers, for the stories of one file."""
    it = lab.Fabric().start()
    yield it
    it.close()


@pytest.fixture
def balanced(start, fabric):
    """Starts maglevd on the XDP of a balancer; in the end everything is taken off it again."""
    made = []

    def balanced(balancer=None, **how):
        made.append(lab.Balanced(start, fabric, balancer or fabric.balancers[0], **how))
        return made[-1]

    yield balanced
    for it in made:
        it.end()
    fabric.start()


@pytest.fixture
def start_fake(start, folders):
    """The same with the fake data plane, which it has as .plane; down: not to be reached at first."""

    def start_fake(config, down=False, env=None, **options):
        path = os.path.join(folders(), 'plane')
        more = {'MAGLEV_FAKE_SOCKET': path, **({'MAGLEV_FAKE_DOWN': '1'} if down else {})}
        daemon = start(config, name='maglevd-fake', env={**(env or {}), **more}, **options)
        daemon.plane = lab.Plane(path)
        lab.until(daemon.plane.is_there, what='the control socket of the fake')
        return daemon

    return start_fake


@pytest.fixture
def with_api():
    """Gives a daemon its API, as grpcio (.api, and .connect() for more) and as maglevc (.maglevc)."""
    from lab.api import Api, Maglevc  # only who asks for it needs grpcio
    made = []

    def with_api(daemon):
        port = daemon.grpc_port()

        def connect(**how):
            made.append(Api(port, **how))
            return made[-1]

        daemon.api_port, daemon.connect, daemon.maglevc = port, connect, Maglevc(port)
        daemon.api = connect()
        return daemon

    yield with_api
    for api in made:
        api.close()


@pytest.fixture
def start_api(start_fake, with_api):
    """maglevd-fake with its API."""
    return lambda config, grpc='127.0.0.1:0', **options: with_api(start_fake(config, grpc=grpc, **options))


@pytest.fixture
def vpps(running, folders):
    """Starts stand-ins of VPP; in the end each is asked whether it was treated well."""
    return lambda personality='new': running(lab.Standin(folders(), personality)).start()


@pytest.fixture
def standin(vpps):
    return vpps()


@pytest.fixture(params=['standin', 'real'])
def vpp(request, vpps, running, folders):
    """The stand-in; and where it is installed, with the lb plugin and its weights, VPP itself."""
    if request.param == 'standin':
        return vpps()
    if not lab.find_vpp():
        pytest.skip('no vpp on PATH, and MAGLEV_TEST_VPP is not set')
    it = running(lab.RealVpp(folders())).start()
    if not it.has_weights():
        pytest.skip(f'{lab.find_vpp()} has no lb plugin with weights (26.10 or newer)')
    return it


@pytest.fixture
def start_on(start, with_api):
    """Starts maglevd on a VPP, with its API; brisk: with less patience than it is shipped with."""

    def start_on(vpp, config, brisk=False, **options):
        name = 'maglevd-brisk' if brisk else 'maglevd'
        return with_api(start(config, name=name, env=vpp.environment(), **options))

    return start_on


@pytest.fixture
def terminal():
    """Starts a program on a terminal of its own."""
    made = []

    def terminal(command, **options):
        made.append(lab.Terminal(command, **options))
        return made[-1]

    yield terminal
    for one in made:
        one.close()


@pytest.fixture
def on_vpp(standin, start_on, net, servers):
    return lab.OnVpp(standin, start_on, net, servers.open())


@pytest.fixture
def start_dashboard(running, folders):
    """Starts a maglevd-frontend over servers (maglevds, or what --server takes)."""
    from lab.dashboard import Dashboard

    def start_dashboard(*servers, ready=True, **options):
        names = [one if isinstance(one, str) else f'127.0.0.1:{one.grpc_port()}' for one in servers]
        return running(Dashboard(folders(), names, **options)).start(ready)

    return start_dashboard


@pytest.fixture
def lie():
    """Starts a server that says it is a maglevd: answers as of one that is well, but for others."""
    from lab.liar import Liar, answers
    running = []

    def lie(backends=1, **others):
        running.append(Liar(**{**answers(backends), **others}))
        return running[-1]

    yield lie
    for one in running:
        one.close()


@pytest.fixture
def lie_as_speaker():
    """Starts a server that says it is a maglev-speaker with these announcements and sessions, but for other answers."""
    from lab.liar import SpeakerLiar, speaker_answers
    running = []

    def lie_as_speaker(*announcements, sessions=(), **others):
        running.append(SpeakerLiar(**{**speaker_answers(*announcements, sessions=sessions), **others}))
        return running[-1]

    yield lie_as_speaker
    for one in running:
        one.close()


@pytest.fixture(scope='module')
def kube(tmp_path_factory):
    """A Kubernetes API that the stories of one file share; each takes a namespace of its own."""
    from lab.kube import Kube
    it = Kube(tmp_path_factory.mktemp('kube'), apiserver=['--watch-cache-sizes=configmaps#0'])
    try:
        yield it.start()
    finally:
        it.close()


@pytest.fixture
def kube_tool(kube, running, folders):
    """Starts kube-tool beside that API, as an administrator unless a kubeconfig is given."""
    from lab.kube_tool import KubeTool

    def start(part, *args, kubeconfig=True, **how):
        path = kube.kubeconfig() if kubeconfig is True else kubeconfig
        return running(KubeTool(folders(), part, *args, kubeconfig=path, namespace=kube.netns, **how)).start()

    return start


@pytest.fixture
def h2c(serve, route):
    """A client's connection by HTTP/2 to a router before one server; how: see document()."""
    from lab.http2 import Http2  # only stories of HTTP/2 need its package
    opened = []

    def start(handler=lab.router.echo, *args, threads=1, env=None, **how):
        server = serve(handler)
        router = route(lab.router.document(server, **how), *args, threads=threads, env=env)
        opened.append(Http2(router.port_of('default')))
        opened[-1].router, opened[-1].server = router, server
        return opened[-1]

    yield start
    for client in opened:
        client.close()
