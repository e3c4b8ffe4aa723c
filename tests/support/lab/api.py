# SPDX-License-Identifier: Apache-2.0
"""The APIs of maglevd and maglev-speaker, through grpcio and through maglevc.

Messages are made from the descriptors that the build wrote; there is no generated code.
"""
import json
import os
import subprocess
import threading
import time

os.environ['GRPC_ENABLE_FORK_SUPPORT'] = '0'  # tests start programs while calls are under way
os.environ.setdefault('GRPC_VERBOSITY', 'NONE')  # do not print refused connections

import grpc  # noqa: E402
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory  # noqa: E402

from lab.programs import program  # noqa: E402
from lab.wait import PATIENCE  # noqa: E402

Status, RpcError = grpc.StatusCode, grpc.RpcError
OPTIONS = [('grpc.use_local_subchannel_pool', 1), ('grpc.max_reconnect_backoff_ms', 100),
           ('grpc.initial_reconnect_backoff_ms', 50), ('grpc.enable_http_proxy', 0)]


class Service:
    """The service of a descriptor file of the build."""

    def __init__(self, protoset):
        self.factory, self.files = load(protoset)
        service = next(service for file in self.files for service in file.services_by_name.values())
        self.name, self.methods = service.full_name, {method.name: method for method in service.methods}

    def message(self, name):
        return self.factory.GetPrototype(next(file.message_types_by_name[name] for file in self.files
                                              if name in file.message_types_by_name))


def load(protoset):
    with open(os.path.join(os.path.dirname(program()), '../../proto', protoset), 'rb') as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read()).file
    pool = descriptor_pool.DescriptorPool()
    for one in files:
        pool.Add(one)
    return message_factory.MessageFactory(pool), [pool.FindFileByName(one.name) for one in files]


MAGLEVD = Service('maglev.protoset')
METHODS, message = MAGLEVD.methods, MAGLEVD.message


def as_json(answer):
    """The same JSON mapping as maglevc -o json."""
    return json_format.MessageToDict(answer, preserving_proto_field_name=True, including_default_value_fields=True)


class Refused(Exception):
    """A call that ended with a status other than OK."""

    def __init__(self, error):
        super().__init__(f'{error.code().name}: {error.details()}')
        self.status, self.text = error.code(), error.details()


class Api:
    """One connection. tls: (ca, certificate, key) as bytes, the last two may be None. narrow: a small
    window, so that nothing is read ahead of what is asked for."""

    service = MAGLEVD
    metadata = None  # of the calls, as (name, value) pairs

    def __init__(self, port, tls=None, name=None, narrow=False):
        options = OPTIONS + ([('grpc.ssl_target_name_override', name)] if name else [])
        if narrow:
            options += [('grpc.http2.bdp_probe', 0), ('grpc.http2.lookahead_bytes', 65536)]
        self.at = f'127.0.0.1:{port}'
        if tls:
            ca, certificate, key = tls
            self.channel = grpc.secure_channel(self.at, grpc.ssl_channel_credentials(ca, key, certificate), options)
        else:
            self.channel = grpc.insecure_channel(self.at, options)

    def close(self):
        self.channel.close()

    def start(self, method, timeout=PATIENCE, **fields):
        """Starts a call of any kind; returns its future."""
        kinds = self.service.methods[method]
        ask, answer = (self.service.factory.GetPrototype(kind) for kind in (kinds.input_type, kinds.output_type))
        path = f'/{self.service.name}/{method}'
        if kinds.server_streaming:
            call = self.channel.unary_stream(path, ask.SerializeToString, answer.FromString)
            return call(ask(**fields), timeout=timeout, wait_for_ready=True, metadata=self.metadata)
        call = self.channel.unary_unary(path, ask.SerializeToString, answer.FromString)
        return call.future(ask(**fields), timeout=timeout, metadata=self.metadata)

    def call(self, method, timeout=PATIENCE, **fields):
        try:
            return self.start(method, timeout, **fields).result()
        except grpc.RpcError as error:
            raise Refused(error) from None

    def refused(self, method, status, text='', **fields):
        """Checks that the call fails with this status."""
        try:
            answer = self.call(method, **fields)
        except Refused as refusal:
            assert refusal.status == status and text in refusal.text, refusal
            return refusal
        raise AssertionError(f'{method} {fields} was answered: {answer}')

    def raw(self, path, request=b'', timeout=PATIENCE):
        """Calls with raw bytes and returns raw bytes."""
        try:
            return self.channel.unary_unary(path)(request, timeout=timeout)
        except grpc.RpcError as error:
            raise Refused(error) from None

    def backend(self, name):
        return self.call('GetBackend', name=name)

    def frontend(self, name):
        return self.call('GetFrontend', name=name)

    def member(self, frontend, backend):
        """The row of a backend in the first pool of a frontend that has it."""
        return next(row for pool in self.frontend(frontend).pools for row in pool.backends if row.name == backend)

    def watch(self, **fields):
        return Stream(self.start('WatchEvents', None, **fields))


class Stream:
    """A stream of events; status is set when it has ended."""

    def __init__(self, call):
        self.call_, self.events, self.times, self.status, self.text = call, [], [], None, None
        self._changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            for event in self.call_:
                with self._changed:
                    self.events.append(event)
                    self.times.append(time.time())
                    self._changed.notify_all()
        except grpc.RpcError:
            pass
        with self._changed:
            self.status, self.text = self.call_.code(), self.call_.details()
            self._changed.notify_all()

    def cancel(self):
        self.call_.cancel()

    def _wait(self, condition, timeout, what):
        end = time.monotonic() + timeout
        with self._changed:
            while not (result := condition()):
                left = end - time.monotonic()
                assert left > 0, f'{what} did not come; {self.status} after {self.events[-5:]}'
                self._changed.wait(left)
            return result

    def of(self, kind):
        with self._changed:
            return [getattr(event, kind) for event in self.events if event.WhichOneof('event') == kind]

    def find(self, kind, **fields):
        return [one for one in self.of(kind) if all(getattr(one, k) == v for k, v in fields.items())]

    def wait(self, kind, timeout=PATIENCE, count=1, **fields):
        """Waits for the count-th matching event. The field from is written from_."""
        fields = {k.rstrip('_'): v for k, v in fields.items()}
        return self._wait(lambda: self.find(kind, **fields)[count - 1:count], timeout, f'{kind} {fields}')[0]

    def wait_end(self, timeout=PATIENCE):
        self._wait(lambda: self.status is not None, timeout, 'the end')
        return self.status


class Maglevc:
    """Runs maglevc with one server."""

    def __init__(self, port, *flags):
        self.command = [program('maglevc'), '--server', f'127.0.0.1:{port}', *flags]

    def run(self, *words):
        return subprocess.run([*self.command, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)

    def text(self, *words):
        done = self.run(*words)
        complaints = [line for line in done.stderr.splitlines() if not line.startswith('warning: ')]
        assert done.returncode == 0 and not complaints, (words, done)
        return done.stdout

    def json(self, *words):
        return json.loads(self.text('-o', 'json', *words))

    def refused(self, code, text, *words):
        done = self.run(*words)
        assert done.returncode == code and text in done.stderr and not done.stdout, (words, done)
