# SPDX-License-Identifier: Apache-2.0
"""CPU and memory per probe, HAProxy and maglevd in turn."""
import statistics
import time

from lab import Sink, connections_opened
from subjects import HTTP_PORT, Haproxy, Maglevd, Nginx, Scenario, maglevd_config, wait_for_probes

BASE = 10  # servers of the run from which the growth of memory is computed


class Sample:
    """One window of one subject."""

    def __init__(self, title, scenario):
        self.title, self.scenario = title, scenario
        self.seconds = self.cpu = self.waiting = self.probes = self.rss = self.up = 0
        self.started = self.late = 0

    def us_per_probe(self):
        return self.cpu / self.probes * 1e6

    def probes_per_second(self):
        return self.probes / self.seconds

    def as_dict(self):
        return {'subject': self.title, 'check': self.scenario.kind, 'servers': self.scenario.n,
                'seconds': self.seconds, 'cpu_seconds': self.cpu, 'waiting_seconds': self.waiting,
                'probes': self.probes, 'us_per_probe': self.us_per_probe(), 'rss_bytes': self.rss, 'up': self.up,
                'started': self.started, 'late': self.late}


class Cost:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.samples = []

    def start(self, title, scenario):
        if title == 'HAProxy':
            return Haproxy(scenario, self.folder, self.options.realtime)
        return Maglevd(self.options.maglevd, maglevd_config(scenario), self.folder, self.options.realtime)

    def measure(self, title, scenario, counter):
        """Starts a new process, waits until all servers were probed and the warm-up is over, then measures a window."""
        sample = Sample(title, scenario)
        with self.start(title, scenario) as process:
            wait_for_probes(process, counter, 2 * scenario.n)
            time.sleep(self.options.warm_up)
            before = self.read(process, sample, counter)
            time.sleep(self.options.window)
            after = self.read(process, sample, counter)
            sample.seconds, sample.cpu, sample.waiting, sample.probes = (b - a for a, b in zip(before, after))
            sample.rss = process.rss()
            sample.up = process.up()
            self.read_pacing(process, sample)
            process.check()
        self.samples.append(sample)
        return sample

    @staticmethod
    def read(process, sample, counter):
        on, waiting = process.cpu()
        return time.monotonic(), on, waiting, counter()

    @staticmethod
    def read_pacing(process, sample):
        """Since the start: the first turns of the loop must keep the same limit."""
        if isinstance(process, Maglevd):
            metrics = process.metrics()
            sample.started = metrics.value('maglev_probes_started_total')
            sample.late = metrics.value('maglev_probes_late_total')

    def server(self, scenario):
        if scenario.kind == 'https':
            return Nginx(self.folder, self.options.realtime)
        return Sink(self.options.sink, HTTP_PORT, self.folder, self.options.realtime)

    def run(self, scenario, say):
        """HAProxy, maglevd, HAProxy, maglevd ..."""
        with self.server(scenario) as server:
            # A TCP check may end before the server accepts it, so the counters of the kernel are used.
            counter = connections_opened if scenario.kind == 'tcp' else server.answered
            for _ in range(self.options.rounds):
                for title in ('HAProxy', 'maglevd'):
                    say(describe(self.measure(title, scenario, counter)))

    # ---- evaluation of the samples ----

    def of(self, title, kind, n):
        return [s for s in self.samples if (s.title, s.scenario.kind, s.scenario.n) == (title, kind, n)]

    def median(self, title, kind, n, what):
        return statistics.median(what(s) for s in self.of(title, kind, n))

    def spread(self, title, kind, n, what):
        values = [what(s) for s in self.of(title, kind, n)]
        return min(values), max(values)

    def growth(self, title, kind, n):
        """Bytes of RSS per additional server; None without a run with few servers."""
        if n <= BASE or not self.of(title, kind, BASE):
            return None
        grown = self.median(title, kind, n, lambda s: s.rss) - self.median(title, kind, BASE, lambda s: s.rss)
        return grown / (n - BASE)


def describe(s):
    pacing = f', {s.late:.0f} of {s.started:.0f} late' if s.started else ''
    return (f'{s.scenario.kind:10} {s.scenario.n:6} {s.title:8} {s.probes_per_second():8.0f} probes/s '
            f'{s.us_per_probe():7.1f} us/probe {s.rss / 1e6:6.1f} MB, {s.up:.0f} up, '
            f'waited {s.waiting:.3f} s{pacing}')


def scenarios(quick):
    if quick:
        return [Scenario('http', BASE), Scenario('http', 1000), Scenario('keep-alive', 1000)]
    return [Scenario('http', BASE), Scenario('http', 1000), Scenario('http', 5000), Scenario('http', 10000),
            Scenario('keep-alive', BASE), Scenario('keep-alive', 10000), Scenario('tcp', BASE),
            Scenario('tcp', 10000), Scenario('https', BASE), Scenario('https', 500)]
