# SPDX-License-Identifier: Apache-2.0
"""usage: server.py NAME [CERTIFICATE KEY]

A server of grpcio on any free port of 127.0.0.1, which is the first line of its output. Messages of lab.Things are plain
bytes. Further lines say what happens to calls: "METHOD cancelled". SIGUSR1 makes the health of all services change.
"""
import signal
import sys
import threading
from concurrent import futures

import grpc

SERVING, NOT_SERVING = b'\x08\x01', b'\x08\x02'
healthy = [True]


def say(*words):
    print(*words, flush=True)


def initial(context):
    """Sends the metadata x-* back, before the answer and after it."""
    given = [(key, value) for key, value in context.invocation_metadata() if key.startswith('x-')]
    context.send_initial_metadata([('x-server', sys.argv[1]), *given])
    context.set_trailing_metadata([(f'{key[:-4]}-last-bin' if key.endswith('-bin') else f'{key}-last', value)
                                   for key, value in given])


def unary(request, context):
    initial(context)
    return request


def give(request, context):
    """As many messages as the request says, of as many bytes."""
    number, size = (int(part) for part in request.split())
    initial(context)
    for i in range(number):
        yield b'%d' % i + b'.' * size


def collect(requests, context):
    """The number and the bytes of all messages."""
    sizes = [len(request) for request in requests]
    initial(context)
    return b'%d %d' % (len(sizes), sum(sizes))


def chat(requests, context):
    context.add_callback(lambda: say('chat', 'ended'))
    initial(context)
    for request in requests:
        yield request


def fail(request, context):
    """The request is a code and a text."""
    code, text = request.decode().split(' ', 1)
    context.set_trailing_metadata([('x-why', 'test')])
    context.abort(next(status for status in grpc.StatusCode if status.value[0] == int(code)), text)


def wait(request, context):
    """Never answers."""
    ended = threading.Event()
    context.add_callback(ended.set)
    say('wait', 'begun')
    ended.wait()
    say('wait', 'cancelled')
    return b''


def left(request, context):
    """The time that is left."""
    return repr(context.time_remaining()).encode()


def check(request, context):
    if b'missing' in request:
        context.abort(grpc.StatusCode.NOT_FOUND, 'no such service')
    return SERVING if healthy[0] else NOT_SERVING


def main():
    server = grpc.server(futures.ThreadPoolExecutor(32), options=[('grpc.so_reuseport', 0),
                                                                 ('grpc.max_receive_message_length', 64 << 20)])
    things = {'Unary': grpc.unary_unary_rpc_method_handler(unary), 'Give': grpc.unary_stream_rpc_method_handler(give),
              'Collect': grpc.stream_unary_rpc_method_handler(collect), 'Chat': grpc.stream_stream_rpc_method_handler(chat),
              'Fail': grpc.unary_unary_rpc_method_handler(fail), 'Wait': grpc.unary_unary_rpc_method_handler(wait),
              'Left': grpc.unary_unary_rpc_method_handler(left)}
    server.add_generic_rpc_handlers((
        grpc.method_handlers_generic_handler('lab.Things', things),
        grpc.method_handlers_generic_handler('grpc.health.v1.Health',
                                             {'Check': grpc.unary_unary_rpc_method_handler(check)})))
    if len(sys.argv) > 2:
        certificate, key = (open(path, 'rb').read() for path in sys.argv[2:])  # pylint: disable=consider-using-with
        say(server.add_secure_port('127.0.0.1:0', grpc.ssl_server_credentials([(key, certificate)])))
    else:
        say(server.add_insecure_port('127.0.0.1:0'))
    server.start()
    signal.signal(signal.SIGUSR1, lambda *_: healthy.__setitem__(0, not healthy[0]))
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    while not stopped.wait(3600):
        pass
    server.stop(0).wait()


if __name__ == '__main__':
    main()
