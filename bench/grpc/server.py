#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What maglevd answers to GetBackend and ListBackends, from the same rows, by grpcio (gRPC's C++ core under Python). Prints
its port. Each answer is encoded when it is asked for, as maglevd does."""
import argparse
import concurrent.futures
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tests/support'))

import grpc  # noqa: E402
from google.protobuf import json_format  # noqa: E402
from lab.api import message  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('rows', metavar='BACKENDS.json', help='an answer of ListBackends')
    with open(parser.parse_args().rows, encoding='utf-8') as file:
        every = json_format.ParseDict(json.load(file), message('ListBackendsResponse')())
    by_name = {backend.name: backend for backend in every.backends}

    def method(function, request, answer):
        return grpc.unary_unary_rpc_method_handler(function, message(request).FromString, message(answer).SerializeToString)

    handlers = {'GetBackend': method(lambda request, _: by_name[request.name], 'GetBackendRequest', 'BackendInfo'),
                'ListBackends': method(lambda *_: every, 'ListBackendsRequest', 'ListBackendsResponse')}
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler('maglev.Maglev', handlers)])
    print(server.add_insecure_port('127.0.0.1:0'), flush=True)
    server.start()
    threading.Event().wait()


if __name__ == '__main__':
    main()
