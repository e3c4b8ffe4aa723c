# SPDX-License-Identifier: Apache-2.0
"""Ports for programs of other people, which cannot be asked which one they got."""
import contextlib
import random
import socket


def free_port():
    """For connections and for datagrams; outside of the range from which the kernel gives ports to others meanwhile."""
    while True:
        address = ('127.0.0.1', random.randrange(12000, 32000))
        with contextlib.suppress(OSError), socket.create_server(address), socket.socket(type=socket.SOCK_DGRAM) as datagrams:
            datagrams.bind(address)
            return address[1]
