#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests our server with foreign clients: Python's grpcio, which is gRPC's own C core, and h2load.

usage: peer_test.py SERVER PROTOSET; SERVER writes its port and serves until its input ends.
"""
import os
import subprocess
import sys
import tempfile
import unittest

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../../tests/support'))
import tap

PATIENCE = 20


class Pool:
    """Message classes by name, from serialised descriptor files."""
    def __init__(self, files):
        self.pool = descriptor_pool.DescriptorPool()
        left = list(files)
        while left:  # a file can be added only after its imports
            file = left.pop(0)
            try:
                self.pool.Add(file)
            except TypeError:
                left.append(file)

    def __getitem__(self, name):
        return message_factory.MessageFactory(self.pool).GetPrototype(self.pool.FindMessageTypeByName(name))


class PeerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.process = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        cls.port = int(cls.process.stdout.readline())
        with open(sys.argv[2], 'rb') as file:
            cls.pool = Pool(descriptor_pb2.FileDescriptorSet.FromString(file.read()).file)
        cls.note = cls.pool['grpc_test.Note']
        cls.channel = grpc.insecure_channel(f'127.0.0.1:{cls.port}')

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        cls.process.stdin.close()
        code = cls.process.wait(PATIENCE)
        cls.process.stdout.close()
        if code:
            raise AssertionError(f'the server ended with {code}')

    def unary(self, method, request, **more):
        call = self.channel.unary_unary(f'/grpc_test.Test/{method}', self.note.SerializeToString, self.note.FromString)
        return call(request, timeout=more.pop('timeout', PATIENCE), **more)

    def stream(self, method, request, **more):
        call = self.channel.unary_stream(f'/grpc_test.Test/{method}', self.note.SerializeToString, self.note.FromString)
        return call(request, timeout=more.pop('timeout', PATIENCE), **more)

    def assert_status(self, status, text, function, *args, **more):
        with self.assertRaises(grpc.RpcError) as caught:
            function(*args, **more)
        self.assertEqual(caught.exception.code(), status)
        if text is not None:
            self.assertEqual(caught.exception.details(), text)

    def test_unary(self):
        request = self.note(text='héllo', n=7, data=b'\0\1\2')
        self.assertEqual(self.unary('Echo', request), request)

    def test_many_at_once(self):
        call = self.channel.unary_unary('/grpc_test.Test/Echo', self.note.SerializeToString, self.note.FromString)
        futures = [call.future(self.note(n=i), timeout=PATIENCE) for i in range(1000)]
        self.assertEqual([f.result().n for f in futures], list(range(1000)))

    def test_large(self):
        request = self.note(data=b'x' * 3_000_000)
        self.assertEqual(self.unary('Echo', request), request)
        self.assert_status(grpc.StatusCode.RESOURCE_EXHAUSTED, 'the request is longer than 4194304 bytes',
                           self.unary, 'Echo', self.note(data=b'x' * 5_000_000))

    def test_gzip(self):
        request = self.note(text='again and ' * 10000)
        self.assertEqual(self.unary('Echo', request, compression=grpc.Compression.Gzip), request)
        self.assert_status(grpc.StatusCode.UNIMPLEMENTED, 'grpc-encoding may be identity or gzip', self.unary, 'Echo',
                           request, compression=grpc.Compression.Deflate)
        self.assert_status(grpc.StatusCode.RESOURCE_EXHAUSTED, 'the request is longer than 4194304 bytes',
                           self.unary, 'Echo', self.note(data=b'x' * 5_000_000), compression=grpc.Compression.Gzip)

    def test_status_and_text(self):
        self.assert_status(grpc.StatusCode.NOT_FOUND, '100% of €\nand more', self.unary, 'Fail',
                           self.note(n=5, text='100% of €\nand more'))
        self.assert_status(grpc.StatusCode.UNIMPLEMENTED, 'there is no method /grpc_test.Test/None', self.unary,
                           'None', self.note())

    def test_deadline(self):
        # client or server may notice it first
        self.assert_status(grpc.StatusCode.DEADLINE_EXCEEDED, None, self.unary, 'Hang', self.note(), timeout=0.05)

    def test_stream(self):
        answers = list(self.stream('Count', self.note(n=1000, text='tick')))
        self.assertEqual([a.n for a in answers], list(range(1000)))

    def test_cancel(self):
        call = self.stream('Watch', self.note(text='first'))
        self.assertEqual(next(call).text, 'first')
        call.cancel()
        self.assertEqual(call.code(), grpc.StatusCode.CANCELLED)
        self.assertEqual(self.unary('Echo', self.note(n=1)).n, 1)

    def test_wrong_bytes(self):
        call = self.channel.unary_unary('/grpc_test.Test/Echo')
        self.assert_status(grpc.StatusCode.INVALID_ARGUMENT, 'the request is not a valid grpc_test.Note', call, b'\x0a\x05',
                           timeout=PATIENCE)
        self.assert_status(grpc.StatusCode.INVALID_ARGUMENT, 'field text is not valid UTF-8 without NULs', call,
                           b'\x0a\x01\xff', timeout=PATIENCE)

    def test_health(self):
        # request: service = 1; answer: status = 1, where 1 is SERVING and 3 SERVICE_UNKNOWN
        check = self.channel.unary_unary('/grpc.health.v1.Health/Check')
        watch = self.channel.unary_stream('/grpc.health.v1.Health/Watch')
        self.assertEqual(check(b'', timeout=PATIENCE), b'\x08\x01')
        self.assertEqual(check(b'\x0a\x0egrpc_test.Test', timeout=PATIENCE), b'\x08\x01')
        self.assert_status(grpc.StatusCode.NOT_FOUND, 'there is no service x', check, b'\x0a\x01x', timeout=PATIENCE)
        for request, answer in ((b'', b'\x08\x01'), (b'\x0a\x01x', b'\x08\x03')):
            call = watch(request, timeout=PATIENCE)
            self.assertEqual(next(call), answer)
            call.cancel()

    def ask(self, version, *requests):
        """Sends raw requests to reflection; decodes the responses with a hand-made descriptor."""
        file = descriptor_pb2.FileDescriptorProto(name='answers.proto', package='answers', syntax='proto3')
        fields = {'Answer': [('files', 4, 'Files'), ('services', 6, 'Services'), ('error', 7, 'Error')],
                  'Files': [('file', 1, bytes)], 'Services': [('service', 1, 'Service')],
                  'Service': [('name', 1, str)], 'Error': [('code', 1, int), ('text', 2, str)]}
        kinds = {bytes: 12, str: 9, int: 5}
        for name, members in fields.items():
            message = file.message_type.add(name=name)
            for field, number, kind in members:
                repeated = field in ('file', 'service')
                message.field.add(name=field, number=number, label=3 if repeated else 1, type=kinds.get(kind, 11),
                                  type_name=kind if isinstance(kind, str) else None)
        answer = Pool([file])['answers.Answer']
        call = self.channel.stream_stream(f'/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo',
                                          response_deserializer=answer.FromString)
        return list(call(iter(requests), timeout=PATIENCE))

    def test_reflection(self):
        for version in ('v1', 'v1alpha'):
            services, symbol, file, none, extension, numbers, nothing = self.ask(
                version, b'\x3a\x00', b'\x22\x0egrpc_test.Test', b'\x1a\x1bgrpc/health/v1/health.proto',
                b'\x22\x04none', b'\x2a\x00', b'\x32\x01x', b'')
            self.assertEqual([s.name for s in services.services.service],
                             ['grpc.health.v1.Health', 'grpc.reflection.v1.ServerReflection',
                              'grpc.reflection.v1alpha.ServerReflection', 'grpc_test.Test'])
            pool = Pool(descriptor_pb2.FileDescriptorProto.FromString(f) for f in symbol.files.file)
            self.assertEqual(pool['grpc_test.Note'](text='x').SerializeToString(), b'\x0a\x01x')
            shown = descriptor_pb2.FileDescriptorProto.FromString(file.files.file[0])
            self.assertEqual(shown.package, 'grpc.health.v1')
            self.assertEqual([a.error.code for a in (none, extension, numbers, nothing)], [5, 5, 5, 3])

    def test_reflection_describes_itself(self):
        for version in ('v1', 'v1alpha'):
            name = f'grpc.reflection.{version}.ServerReflection'.encode()
            answer, = self.ask(version, b'\x22' + bytes([len(name)]) + name)
            pool = Pool(descriptor_pb2.FileDescriptorProto.FromString(f) for f in answer.files.file)
            request = pool[f'grpc.reflection.{version}.ServerReflectionRequest']
            self.assertEqual(request(list_services='').SerializeToString(), b'\x3a\x00')

    def test_h2load(self):
        with tempfile.NamedTemporaryFile() as body:
            body.write(b'\0\0\0\0\3\x0a\x01x')
            body.flush()
            done = subprocess.run(['h2load', '-n', '2000', '-c', '10', '-m', '20', '-d', body.name,
                                   '-H', 'content-type: application/grpc', '-H', 'te: trailers',
                                   f'http://127.0.0.1:{self.port}/grpc_test.Test/Echo'],
                                  capture_output=True, timeout=60, check=True)
        self.assertIn(b'2000 succeeded, 0 failed', done.stdout)


if __name__ == '__main__':
    tap.main()
