# SPDX-License-Identifier: Apache-2.0
"""A client of HTTP/2 with prior knowledge, on which every event is seen (python3-h2)."""
import contextlib
import itertools
import socket
import threading

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

from lab.wait import PATIENCE, until


GOAWAY = 7


class Reset(Exception):
    """The stream was reset; code is that of RST_STREAM."""

    def __init__(self, code):
        super().__init__(f'the stream was reset with {code!r}')
        self.code = code


class Answer:
    """What came on one stream so far."""

    def __init__(self):
        self.interim, self.fields, self.body, self.trailers = [], [], b'', []
        self.ended, self.reset, self.taken = False, None, 0

    @property
    def status(self):
        return int(self.get(':status'))

    def get(self, name):
        return next(iter(self.all(name)), None)

    def all(self, name):
        return [value for key, value in self.fields if key == name]


class Http2:
    """A connection. Answers are read as they are waited for; windows are opened as they come, unless greedy is off."""

    def __init__(self, port=None, address='127.0.0.1', greedy=True, checked=True, before=b'', sock=None):
        self.sock = sock or socket.create_connection((address, port), PATIENCE)
        self.sock.settimeout(PATIENCE)
        self.sock.sendall(before)
        config = h2.config.H2Configuration(client_side=True, header_encoding='latin-1', validate_outbound_headers=checked,
                                           normalize_outbound_headers=checked)
        self.h2 = h2.connection.H2Connection(config)
        self.greedy, self.answers, self.goaway, self.closed, self.held = greedy, {}, [], False, b''
        self.h2.initiate_connection()
        self.flush()

    def flush(self):
        if data := self.h2.data_to_send():
            self.sock.sendall(data)
        return self

    # ---- requests ----

    def begin(self, method='GET', path='/', fields=(), end=True, host='www.example.com', more=(), scheme='http', raw=None):
        """Returns the number of the stream; fields are (name, value); more are pseudo fields; raw are all of them."""
        stream = self.h2.get_next_available_stream_id()
        head = [(':method', method), (':scheme', scheme), (':path', path), (':authority', host), *more, *fields]
        self.answers[stream] = Answer()
        self.h2.send_headers(stream, raw or [pair for pair in head if pair[1] is not None], end_stream=end)
        self.flush()
        return stream

    def send(self, stream, body, end=False):
        """As the windows allow, and thus after reading if they are closed."""
        body = memoryview(body)
        while len(body):
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size, len(body))
            if room <= 0:
                self.read()
                continue
            self.h2.send_data(stream, body[:room].tobytes())
            body = body[room:]
            self.flush()
        if end:
            self.end(stream)

    def room(self, stream):
        return self.h2.local_flow_control_window(stream)

    def end(self, stream, trailers=None):
        if trailers:
            self.h2.send_headers(stream, trailers, end_stream=True)
        else:
            self.h2.end_stream(stream)
        self.flush()

    def reset(self, stream, code=h2.errors.ErrorCodes.CANCEL):
        self.h2.reset_stream(stream, code)
        self.flush()

    # ---- answers ----

    def read(self):
        """One piece of input."""
        data = self.sock.recv(65536)
        if not data:
            self.closed = True
            raise EOFError('the connection has ended')
        self.held += data
        while len(self.held) >= 9 and len(self.held) >= 9 + int.from_bytes(self.held[:3], 'big'):
            size = 9 + int.from_bytes(self.held[:3], 'big')
            frame, self.held = self.held[:size], self.held[size:]
            for event in self.h2.receive_data(frame):
                self._take(event)
            if frame[3] == GOAWAY:  # h2 takes it for the end; streams that have begun go on (RFC 9113, 6.8)
                self.h2.state_machine.state = h2.connection.ConnectionState.CLIENT_OPEN
        self.flush()

    def _take(self, event):
        answer = self.answers.get(getattr(event, 'stream_id', None))
        if isinstance(event, h2.events.ConnectionTerminated):
            self.goaway.append(event)
        if answer is None:
            return
        if isinstance(event, h2.events.ResponseReceived):
            answer.fields = event.headers
        elif isinstance(event, h2.events.InformationalResponseReceived):
            answer.interim.append(event.headers)
        elif isinstance(event, h2.events.TrailersReceived):
            answer.trailers = event.headers
        elif isinstance(event, h2.events.DataReceived):
            answer.body += event.data
            if self.greedy:
                self.take(event.stream_id, event.flow_controlled_length)
        elif isinstance(event, h2.events.StreamEnded):
            answer.ended = True
        elif isinstance(event, h2.events.StreamReset):
            answer.reset = event.error_code

    def take(self, stream, n):
        """Opens the windows again."""
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self.h2.acknowledge_received_data(n, stream)
        self.flush()

    def until(self, done):
        while not done():
            self.read()

    def head(self, stream):
        answer = self.answers[stream]
        self.until(lambda: answer.fields or answer.reset is not None)
        if answer.reset is not None:
            raise Reset(answer.reset)
        return answer

    def whole(self, stream):
        """The complete answer."""
        answer = self.answers[stream]
        self.until(lambda: answer.ended or answer.reset is not None)
        if not answer.ended:
            raise Reset(answer.reset)
        return answer

    def get(self, path='/', fields=(), **how):
        return self.whole(self.begin(path=path, fields=fields, **how))

    def post(self, path, body, fields=(), trailers=None, **how):
        stream = self.begin('POST', path, fields, end=False, **how)
        self.send(stream, body)
        self.end(stream, trailers)
        return self.whole(stream)

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()


class Load:
    """Connections with several streams at once; after GOAWAY another one follows. is_right(asked, status, body) judges the answers
    to the requests (method, path, body) of request_of(n); every failure is kept."""

    def __init__(self, port, is_right, request_of, connections=3, streams=5):
        self.port, self.is_right, self.request_of, self.streams = port, is_right, request_of, streams
        self.failures, self.numbers, self.served, self.over = [], itertools.count(), 0, False
        self.threads = [threading.Thread(target=self._run, daemon=True) for _ in range(connections)]
        for thread in self.threads:
            thread.start()

    def _run(self):
        while not self.over:
            try:
                with Http2(self.port) as client:
                    self._serve(client)
            except Exception as error:  # pylint: disable=broad-exception-caught
                self.failures.append(repr(error))

    def _serve(self, client):
        waiting = []
        while waiting or not (self.over or client.goaway):
            while len(waiting) < self.streams and not (self.over or client.goaway):
                waiting.append(self._ask(client))
            asked, stream = waiting.pop(0)
            answer = client.whole(stream)
            if not self.is_right(asked, answer.status, answer.body):
                self.failures.append((asked[:2], answer.status, answer.body[:100]))
            self.served += 1

    def _ask(self, client):
        asked = self.request_of(next(self.numbers))
        stream = client.begin(asked[0], asked[1], [('content-length', str(len(asked[2])))] if asked[2] else [], end=not asked[2])
        if asked[2]:
            client.send(stream, asked[2], end=True)
        return asked, stream

    def goes_on(self, n=50):
        before = self.served
        until(lambda: self.served > before + n or self.failures)

    def end(self):
        """The number of requests."""
        self.over = True
        for thread in self.threads:
            thread.join(PATIENCE)
        assert not self.failures, self.failures[:5]
        return self.served


def connect(client, path='/chat', protocol='websocket', **how):
    return client.begin('CONNECT', path, [('sec-websocket-version', '13'), ('sec-websocket-protocol', 'chat'), ('origin', 'http://a')],
                        end=False, more=[(':protocol', protocol)], **how)
