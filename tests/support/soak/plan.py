# SPDX-License-Identifier: Apache-2.0
"""Which fault happens when: a pure function of the seed, the length and the table of faults.

Each half of the lab has one fault at a time: the design promises to survive one, not two that meet (both balancers at once,
a server that dies while maglevd is dead). The two halves are independent, so a fault of each may go on at once.
"""
import dataclasses
import random

EVERY = 10  # s between two faults
CALM = 30  # s before the end without a new fault, so that the last ones heal


@dataclasses.dataclass(frozen=True)
class Event:
    """at: s since the start; row: of the table of faults; target: one of its targets."""
    at: int
    row: object
    target: str

    def __str__(self):
        return f'{self.at:5} s  {self.row.half:8} {self.row.name:15} {self.target}'


class Bag:
    """Items in an order that the seed decides; each comes as often as the others."""

    def __init__(self, chance, items):
        self.chance, self.items, self.left = chance, list(items), []

    def take(self):
        if not self.left:
            self.left = self.chance.sample(self.items, len(self.items))
        return self.left.pop()


def plan(seed, seconds, rows, every=EVERY, calm=CALM):
    """The events in order. A row is taken as often as the others of its half, times its share; so is each of its targets."""
    chance = random.Random(f'{seed}')
    halves = sorted({row.half for row in rows})
    bags = {half: Bag(chance, [row for row in rows if row.half == half for _ in range(row.share)]) for half in halves}
    targets = {row.name: Bag(chance, row.targets) for row in rows}
    free, events = dict.fromkeys(halves, 0), []
    for at in range(every, max(seconds - calm, every) + 1, every):
        able = [half for half in halves if free[half] <= at]
        if able:
            half = min(able, key=lambda one: (free[one], one))  # the one that had rest for longer
            row = bags[half].take()
            events.append(Event(at, row, targets[row.name].take()))
            free[half] = at + row.lasts + row.heals
    return events
