# SPDX-License-Identifier: Apache-2.0
"""Runs a plan of faults on halves of the lab under load, and judges what came of it."""
import collections
import concurrent.futures
import contextlib
import time
import traceback

from lab.wait import PATIENCE, SLACK
from soak.faults import FAULTS, allowed
from soak.lines import Lines
from soak.load import Kept, Load
from soak.plan import plan

SAMPLE = 5  # s
RECENT = 20  # s before a failure whose faults are told
JUST, SOME = 5, 8  # s before it of which warnings are told, and how many of these


def say(text=''):
    print(text, flush=True)


def fields(line):
    return ' '.join(f'{key}={value}' for key, value in line.items() if key not in ('time', 'level', 'msg'))


class Done:
    """An event that was carried out: when, and how it ended."""

    def __init__(self, event):
        self.event, self.began, self.undone, self.ended, self.error = event, time.time(), None, None, None

    def __str__(self):
        return f'{self.event.row.name} {self.event.target}'


class Soak:
    def __init__(self, halves, seed, seconds, rate=1, faults=FAULTS, every=10, calm=30):
        self.halves = {half.name: half for half in halves}
        self.events = plan(seed, seconds, [row for row in faults if row.half in self.halves], every, calm)
        self.seconds, self.rate = seconds, rate
        self.load, self.lines, self.done, self.problems = Load(), Lines(), [], []
        self.futures = []
        # a thread for each half, which lives to the end: a process that it has started ends with it
        self.threads = {name: concurrent.futures.ThreadPoolExecutor(1) for name in self.halves}

    # ---- faults ----

    def _carry_out(self, event):
        half, done = self.halves[event.row.half], Done(event)
        self.done.append(done)
        try:
            with getattr(half, event.row.act)(event.target):
                self.load.over.wait(event.row.lasts)
            done.undone = time.time()
            half.heal()
        except Exception as error:  # pylint: disable=broad-except
            done.error = f'{error!r:.500}'
            say(f'{self.now():7.1f} s  {done}: {traceback.format_exc()}')
        done.ended = time.time()
        say(f'{self.now():7.1f} s  {done}: whole after {done.ended - done.began:.1f} s' + (f', {done.error}' if done.error else ''))

    def now(self):
        return time.time() - self.began

    def _wait(self, until):
        """Returns at that many seconds since the start; samples meanwhile."""
        while (left := until - self.now()) > 0:
            self.load.over.wait(min(left, SAMPLE))
            for half in self.halves.values():
                with contextlib.suppress(KeyError, OSError):  # a program is being replaced
                    self.lines.sample(half.pids())

    # ---- the whole ----

    def run(self):
        """Returns the sentences about what the design does not allow."""
        for half in self.halves.values():
            half.press(self.load, self.rate)
        self.began = time.time()
        for event in self.events:
            self._wait(event.at)
            say(f'{self.now():7.1f} s  {event.row.name} {event.target}; {self.counts()}')
            self.futures.append(self.threads[event.row.half].submit(self._carry_out, event))
        self._wait(self.seconds)
        concurrent.futures.wait(self.futures)
        self.load.end(2 * PATIENCE)
        self.judge()
        return self.problems

    def counts(self):
        return ', '.join(f'{n} {kind}' for kind, n in sorted(self.load.count.items())) + f'; {len(self.load.failures)} failed'

    def causes(self, failure):
        """The faults that allow it."""
        return [str(done) for done in self.done if allowed(done.event, done.began, (done.ended or time.time()) + SLACK, failure)]

    def judge(self):
        self.allowed, self.refused = collections.Counter(), []
        for failure in self.load.failures:
            causes = self.causes(failure)
            if causes:
                self.allowed[failure.kind, causes[0]] += 1
            else:
                self.refused.append(failure)
        self.problems += self.tell(self.refused)
        self.problems += [f'{done}: {done.error}' for done in self.done if done.error]
        self.problems += [f'no request of the kind {kind}' for half in self.halves.values() for kind in half.kinds if not self.load.count[kind]]

    def judge_lines(self, memory):
        for half in self.halves.values():
            self.problems += self.lines.steep(half.daemons(), memory)

    def tell(self, failures):
        """A sentence for those that are alike: when, what, how, the faults of the seconds before, and what programs said meanwhile."""
        alike = {}
        for one in failures:
            before = ', '.join(str(done) for done in self.done if one.began - RECENT < done.began < one.at) or 'none'
            alike.setdefault(f'{one.kind} {one.server} failed: {one.how}; faults of the seconds before: {before}', []).append(one)
        for text, all_of in alike.items():
            first = all_of[0]
            yield f'{first.began - self.began:.1f} s: {len(all_of)} {text}; logs: {self.said(first.began - JUST, first.at) or "silent"}'

    def said(self, since, until):
        """Warnings and errors of all programs in that time."""
        lines = [f'{role} {line["msg"]} {fields(line)}' for half in self.halves.values() for role, daemon in half.daemons().items()
                 for line in list(daemon.lines) if line['level'] in ('WARN', 'ERROR') and since <= line.at <= until]
        return '; '.join(lines[:SOME])

    def close(self):
        """Also in the middle of the run: a fault that is being done is undone first."""
        self.load.over.set()
        for one in self.futures:
            one.cancel()
        concurrent.futures.wait(self.futures, 2 * PATIENCE)
        for half in self.halves.values():
            try:
                half.close()
            except Exception as error:  # pylint: disable=broad-except
                self.problems.append(f'the end of the {half.name}: {error!r:.1000}')
        for thread in self.threads.values():
            thread.shutdown()

    def report(self):
        say(f'\n{len(self.done)} faults in {self.now():.0f} s')
        for name, n in sorted(collections.Counter(done.event.row.name for done in self.done).items()):
            mine = [done.ended - done.began for done in self.done if done.event.row.name == name]
            say(f'  {name:16} {n:4}, whole after at most {max(mine):.1f} s')
        say('\nrequests, the slowest, failures')
        for kind, n in sorted(self.load.count.items()):
            failed = sum(one.kind == kind for one in self.load.failures)
            refused = sum(one.kind == kind for one in self.refused)
            say(f'  {kind:8} {n:9} {self.load.slowest[kind]:6.1f} s {failed:5}, of which {refused} are not allowed')
        say(f'  {Kept.broken} connections of `gateway` broke, and the request was repeated')
        for (kind, cause), n in sorted(self.allowed.items()):
            say(f'  {n:5} {kind} failed because of {cause}: allowed')
        say('\nmemory and descriptors')
        for line in self.lines.table():
            say(f'  {line}')
        say()
        for problem in self.problems:
            say(f'NOT ALLOWED: {problem}')
        say(f'{"FAILED" if self.problems else "good"}: {self.counts()}, {len(self.problems)} that the design does not allow')
