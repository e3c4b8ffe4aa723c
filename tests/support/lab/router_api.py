# SPDX-License-Identifier: Apache-2.0
"""The gRPC API of maglev-router, through grpcio and through maglevc."""
from lab.api import Api, Maglevc, Service, Stream, as_json


class RouterApi(Api):
    service = Service('router.protoset')

    def router(self):
        return as_json(self.call('GetRouter'))

    def route(self, name):
        return as_json(self.call('GetRoute', name=name))

    def pool(self, name):
        return as_json(self.call('GetPool', name=name))

    def generations(self):
        return as_json(self.call('ListGenerations'))['generations']

    def watch(self, **fields):
        return Stream(self.start('WatchRouter', None, **fields))


class RouterMaglevc(Maglevc):
    """maglevc for one router; there is no maglevd for it."""

    def __init__(self, port, *flags):
        super().__init__(1, '--router', f'127.0.0.1:{port}', *flags)


def kind_of(event):
    """Of an event of WatchRouter: router, listener, route or pool."""
    return event.WhichOneof('event')
