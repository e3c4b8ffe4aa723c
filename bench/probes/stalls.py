# SPDX-License-Identifier: Apache-2.0
"""How long the loop of a maglevd with many backends keeps everything else waiting, and what it was doing then.

maglevd counts the length of every turn of its loop, however it came about. A turn also gets long when the process is
not let on the CPU; that time is the kernel's to tell (run delay), and so is what the hypervisor took (steal). Where
there were long turns and that much time was taken from outside, the phase says nothing and is tried again.
"""
import http.client
import os
import signal
import time

from lab import ANY_CPU, Sink, stolen, write_file
from subjects import ADMIN_PORT, HTTP_PORT, Maglevd, Metrics, Scenario, fetch, maglevd_config, wait_for_probes

LIMIT = 0.01
ATTEMPTS = 5
HEAD_END = 'maglev_watch_dropped_total '  # the last family before those of single backends


def read_head():
    """The beginning of the page, up to what belongs to single backends; the rest is not asked for."""
    connection = http.client.HTTPConnection('127.0.0.1', ADMIN_PORT, timeout=10)
    try:
        connection.request('GET', '/metrics')
        answer, text = connection.getresponse(), ''
        while HEAD_END not in text:
            piece = answer.read1(65536)
            if not piece:
                break
            text += piece.decode(errors='replace')
        return Metrics(text)
    finally:
        connection.close()


class Turns:
    """The turns of the loop so far: how many, and how many were at most so long."""

    def __init__(self, metrics):
        self.at_most = {float(labels['le']): value
                        for labels, value in metrics.rows('maglev_loop_lag_seconds_bucket')}

    def since(self, before):
        """(turns, turns over the limit, bound of the longest one) since then."""
        new = {le: value - before.at_most[le] for le, value in sorted(self.at_most.items())}
        turns = new[float('inf')]
        longest = next(le for le, value in new.items() if value == turns)
        return turns, turns - new[LIMIT], longest


class Stalls:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.rows = []
        self.scenario = self.process = None

    def config(self, **changes):
        return maglevd_config(self.scenario, dataplane='vpp', **changes)

    def observe(self, name, act):
        """Runs act(); what the loop did meanwhile."""
        turns, cpu, steal = Turns(read_head()), self.process.cpu(), stolen()
        act()
        turns_after, cpu_after, steal_after = Turns(read_head()), self.process.cpu(), stolen()
        count, over, longest = turns_after.since(turns)
        return {'phase': f'{name} ({self.scenario.kind})', 'turns': count, 'over_10ms': over,
                'longest_at_most': longest, 'run_delay': cpu_after[1] - cpu[1], 'stolen': steal_after - steal}

    def phase(self, name, act, say):
        """Every attempt is kept and shown; only the last one counts."""
        for attempt in range(1, ATTEMPTS + 1):
            row = {**self.observe(name, act), 'attempt': attempt, 'counts': True}
            self.rows.append(row)
            say(describe(row))
            if attempt == ATTEMPTS or not row['over_10ms'] or row['run_delay'] + row['stolen'] < LIMIT:
                return
            row['counts'] = False

    def quiet(self):
        time.sleep(self.options.window)

    def scrape(self):
        for _ in range(3):
            fetch(ADMIN_PORT, '/metrics')

    def reload(self):
        done = read_head().value('maglev_config_reloads_total')
        os.kill(self.process.pid, signal.SIGHUP)
        self.process.wait_until(lambda: read_head().value('maglev_config_reloads_total') > done, 'reload')
        time.sleep(1)  # work that the reload has started

    def reload_same(self):
        for _ in range(3):
            self.reload()

    def reload_changed(self):
        """Each time the check that all backends share is another one."""
        for timeout in ('900ms', '950ms', '1s'):
            write_file(self.process.config, self.config(timeout=timeout))
            self.reload()

    def reload_fewer(self, n):
        """All but n of the backends go, and come back."""
        whole = self.scenario
        self.scenario = Scenario(whole.kind, n)
        write_file(self.process.config, self.config())
        self.scenario = whole
        self.reload()
        write_file(self.process.config, self.config())
        self.reload()

    def reload_half(self):
        self.reload_fewer(self.scenario.n // 2)

    def reload_all(self):
        self.reload_fewer(1)

    def reload_disabled(self):
        """All are disabled by the file, and enabled again."""
        for enabled in (False, True):
            write_file(self.process.config, self.config(enabled=enabled))
            self.reload()

    def full_syncs(self):
        done = read_head().value('maglev_lbsync_full_total')
        self.process.wait_until(lambda: read_head().value('maglev_lbsync_full_total') >= done + 5, 'five full syncs')

    def start(self, **changes):
        """On any core: a file is read by a child, and on the same core as a process with real-time priority it would
        starve until the kernel gives it 50 ms of that one's time."""
        return Maglevd(self.options.maglevd_fake, self.config(**changes), self.folder, self.options.realtime, 'info',
                       ANY_CPU)

    def run_kind(self, kind, sink, say):
        self.scenario = Scenario(kind, 1000 if self.options.quick else 10000)
        with self.start() as self.process:
            wait_for_probes(self.process, sink.answered, 5 * self.scenario.n)
            self.phase('nothing but probes', self.quiet, say)
            self.phase('3 scrapes', self.scrape, say)
            self.phase('3 reloads, nothing changed', self.reload_same, say)
            self.phase('3 reloads, every check changed', self.reload_changed, say)
            self.phase('2 reloads, half of the backends go and come', self.reload_half, say)
            self.phase('2 reloads, all backends but one go and come', self.reload_all, say)
            self.phase('2 reloads, all are disabled and enabled', self.reload_disabled, say)
        with self.start(sync_interval='1s') as self.process:
            wait_for_probes(self.process, sink.answered, 5 * self.scenario.n)
            self.phase('5 full syncs', self.full_syncs, say)

    def run(self, say):
        with Sink(self.options.sink, HTTP_PORT, self.folder, self.options.realtime) as sink:
            for kind in ('http', 'keep-alive'):
                self.run_kind(kind, sink, say)


def describe(row):
    return (f"{row['phase']:56} {row['turns']:7.0f} turns, {row['over_10ms']:.0f} over 10 ms, longest at most "
            f"{row['longest_at_most'] * 1e3:g} ms; run delay {row['run_delay'] * 1e3:.1f} ms, "
            f"stolen {row['stolen'] * 1e3:.0f} ms")
