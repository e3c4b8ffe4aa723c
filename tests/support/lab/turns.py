# SPDX-License-Identifier: Apache-2.0
"""How long the turns of a daemon's loop are: every daemon counts them in PREFIX_loop_lag_seconds. And what a busy machine adds."""
import contextlib
import os
import re

LIMIT, ATTEMPTS = '0.01', 4


def stolen():
    """Seconds that the hypervisor took."""
    with open('/proc/stat', encoding='ascii') as all_:
        return int(all_.readline().split()[8]) / os.sysconf('SC_CLK_TCK')


def waited(*pids):
    """Seconds for which the threads of these processes were ready and had no processor."""
    total = stolen()
    for pid in pids:
        for thread in os.listdir(f'/proc/{pid}/task'):
            with contextlib.suppress(OSError), open(f'/proc/{pid}/task/{thread}/schedstat', encoding='ascii') as file:
                total += int(file.read().split()[1]) / 1e9
    return total


class Turns:
    """Turns of the loop in total and over the limit, and the time for which the process waited for a processor or the
    hypervisor took it."""

    def __init__(self, daemon):
        page = daemon.metrics()
        name = re.search(r'^(\w+_loop_lag_seconds)_count ', page.text, re.MULTILINE)[1]
        self.all = page.one(f'{name}_count')
        self.short = page.one(f'{name}_bucket', le=LIMIT)
        self.waited = int(daemon.proc('schedstat').split()[1]) / 1e9 + stolen()


def long_turns(daemon, act):
    """Turns over the limit while act() ran. Attempts in which the process waited for a processor do not count."""
    after = Turns(daemon)
    for _ in range(ATTEMPTS):
        before = after
        act()
        after = Turns(daemon)
        over = (after.all - after.short) - (before.all - before.short)
        if not over or after.waited - before.waited < float(LIMIT):
            return over
    return 0
