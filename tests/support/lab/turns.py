# SPDX-License-Identifier: Apache-2.0
"""How long the turns of a daemon's loop are."""
import os

LIMIT, ATTEMPTS = '0.01', 4


class Turns:
    """Of the loop: how many, and how many over the limit; and the time that the kernel, or who runs this machine, gave to
    others."""

    def __init__(self, daemon):
        page = daemon.metrics()
        self.all = page.one(f'{daemon.turns}_count')
        self.short = page.one(f'{daemon.turns}_bucket', le=LIMIT)
        with open(f'/proc/{daemon.process.pid}/schedstat', encoding='ascii') as own, open('/proc/stat', encoding='ascii') as all_:
            self.waited = int(own.read().split()[1]) / 1e9 + int(all_.readline().split()[8]) / os.sysconf('SC_CLK_TCK')


def long_turns(daemon, act):
    """Turns over the limit while act() ran. An attempt in which the process waited for a processor says nothing."""
    after = Turns(daemon)
    for _ in range(ATTEMPTS):
        before = after
        act()
        after = Turns(daemon)
        over = (after.all - after.short) - (before.all - before.short)
        if not over or after.waited - before.waited < float(LIMIT):
            return over
    return 0
