# SPDX-License-Identifier: Apache-2.0
"""A server of maglevd's or maglev-speaker's API whose answers are chosen by the test: another service, an old version, a broken one."""
import collections
import threading
from concurrent import futures

from lab.api import METHODS, Status, grpc, message
from lab.speaker import SpeakerApi
from lab.wait import PATIENCE


class Refuse(Exception):
    """The status with which a call ends."""

    def __init__(self, status, text=''):
        super().__init__(text)
        self.status, self.text = status, text


class Liar(grpc.GenericRpcHandler):
    """answers: {method: its message, a list of them for a stream, bytes in its place, or what is called for any of
    these}; a method that is not there is UNIMPLEMENTED."""
    methods = METHODS

    def __init__(self, *, compression=None, **answers):
        self.answers, self.calls = answers, collections.Counter()
        self.closed = threading.Event()
        self.workers = futures.ThreadPoolExecutor(16)
        self.server = grpc.server(self.workers, compression=compression)
        self.server.add_generic_rpc_handlers((self,))
        self.port = self.server.add_insecure_port('127.0.0.1:0')
        self.server.start()

    def service(self, handler_call_details):
        name = handler_call_details.method.rsplit('/', 1)[1]
        streams = self.methods[name].server_streaming
        answer = self._stream if streams else self._unary
        make = grpc.unary_stream_rpc_method_handler if streams else grpc.unary_unary_rpc_method_handler
        return make(lambda request, context: answer(name, context))

    def _find(self, name, context):
        self.calls[name] += 1
        try:
            answer = self.answers[name]
            return answer() if callable(answer) else answer
        except KeyError:
            context.abort(Status.UNIMPLEMENTED, 'not here')
        except Refuse as refusal:
            context.abort(refusal.status, refusal.text)

    @staticmethod
    def _bytes(answer):
        return answer if isinstance(answer, bytes) else answer.SerializeToString()

    def _unary(self, name, context):
        return self._bytes(self._find(name, context))

    def _stream(self, name, context):
        for one in self._find(name, context):
            yield self._bytes(one)
        while context.is_active() and not self.closed.wait(0.05):
            pass

    def hang(self):
        """Call this for an answer that never arrives."""
        self.closed.wait(PATIENCE)
        raise Refuse(Status.UNAVAILABLE)

    def close(self):
        """The server of grpcio must not be freed while a handler still runs."""
        self.closed.set()
        self.server.stop(0).wait()
        self.workers.shutdown()
        self.server.wait_for_termination()


def answers(backends=1):
    """The answers of a server with the backends b0, b1, ... and no events."""
    lists = {'ListFrontends': message('ListFrontendsResponse')(), 'ListHealthChecks': message('ListHealthChecksResponse')(),
             'ListBackends': message('ListBackendsResponse')(), 'WatchEvents': []}
    for i in range(backends):
        lists['ListBackends'].backends.add(name=f'b{i}', address='192.0.2.1', state='up')
    return lists


class SpeakerLiar(Liar):
    """The same with the service of maglev-speaker."""
    methods = SpeakerApi.service.methods


def speaker_answers(*announcements, sessions=()):
    """The answers of a speaker with these announcements and sessions (dicts of their fields) and no events."""
    of = SpeakerApi.service.message
    return {'GetSpeaker': of('SpeakerInfo')(name='odd', version='0', generation=1),
            'ListAnnouncements': of('ListAnnouncementsResponse')(announcements=announcements),
            'ListSessions': of('ListSessionsResponse')(sessions=sessions), 'WatchSpeaker': []}
