# SPDX-License-Identifier: Apache-2.0
"""flows.py VIP COUNT: connections through a balancer that stay open, and one more in each round.

Each round sends a line over every connection. The server where it began must answer: any other one would reset it. A
round, four a second at most, is a line of output: how many connections each server has, and where the one of this round began. It goes on until
/tmp/enough is there; any failure ends it.
"""
import collections
import os
import socket
import sys
import threading
import time

PACE = threading.Event()


class Flow:
    def __init__(self):
        self.socket = socket.create_connection((sys.argv[1], 80), timeout=110)
        self.file = self.socket.makefile('rwb')
        self.server, self.last, self.longest = self.ask(), time.monotonic(), 0

    def ask(self):
        self.file.write(b'who\n')
        self.file.flush()
        return self.file.readline().decode().strip()

    def go_on(self):
        pause = time.monotonic() - self.last
        self.longest = max(pause, self.longest)
        try:
            said = self.ask()
        except OSError as error:
            said = str(error)
        if said != self.server:
            sys.exit(f'failed: "{said}" on a connection of {self.server}, {pause:.1f} s after its last answer')
        self.last = time.monotonic()

    def close(self):
        self.file.close()
        self.socket.close()


held = [Flow() for _ in range(int(sys.argv[2]))]
while not os.path.exists('/tmp/enough'):
    for one in held:
        one.go_on()
    extra = Flow()
    counts = collections.Counter(one.server for one in held)
    print(*(f'{name}={n}' for name, n in sorted(counts.items())), f'new={extra.server}', flush=True)
    extra.close()
    PACE.wait(0.25)  # the machine is emulated, and has other work
print(f'done; the longest pause of a connection was {max(one.longest for one in held):.1f} s')
