# SPDX-License-Identifier: Apache-2.0
"""Memory and descriptors of each program over time, by its role: a program that is started again continues its line.

A line is flat if its median in the last third of the run is at most that of the middle third times GROWTH, plus ROOM (memory), or plus
SPARE (descriptors: connections that are kept come and go). The first third is left out: caches and pools fill up. So are the first seconds
of a process (YOUNG).
"""
import os
import statistics
import time

GROWTH, ROOM, SPARE = 1.1, 1 << 20, 8
YOUNG = 15  # s
ENOUGH = 4  # samples of a third; with fewer the line is not judged


def _seen(pid):
    """(resident bytes, descriptors, age in seconds) of a process; None if it has ended."""
    try:
        with open(f'/proc/{pid}/smaps_rollup', encoding='ascii') as file:
            rss = next(int(line.split()[1]) << 10 for line in file if line.startswith('Rss:'))
        with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as file:
            started = int(file.read().rpartition(')')[2].split()[19]) / os.sysconf('SC_CLK_TCK')
        return rss, len(os.listdir(f'/proc/{pid}/fd')), time.clock_gettime(time.CLOCK_BOOTTIME) - started
    except (OSError, StopIteration):
        return None


class Lines:
    def __init__(self):
        self.began, self.seen = time.monotonic(), {}  # role: [(s since the start, pid, bytes, descriptors, age)]

    def sample(self, pids):
        """pids: {role: pid}"""
        for role, pid in pids.items():
            found = _seen(pid)
            if found:
                self.seen.setdefault(role, []).append((time.monotonic() - self.began, pid, *found))

    def thirds(self, role, what):
        """The values of an index of a sample in the middle and in the last third."""
        length = max(one[0] for one in self.seen[role]) + 1
        warm = [one for one in self.seen[role] if one[4] >= YOUNG]
        return [[one[what] for one in warm if low * length / 3 <= one[0] < (low + 1) * length / 3] for low in (1, 2)]

    def steep(self, judged, memory=True):
        """Sentences about those of these roles whose lines are not flat."""
        found = []
        for role in sorted(set(judged) & set(self.seen)):
            for what, name, growth, room in ((2, 'bytes', GROWTH, ROOM), (3, 'descriptors', 1, SPARE)):
                middle, last = self.thirds(role, what)
                if (name == 'bytes' and not memory) or min(len(middle), len(last)) < ENOUGH:
                    continue
                middle, last = statistics.median(middle), statistics.median(last)
                if last > middle * growth + room:
                    found.append(f'{role}: {middle:.0f} {name} in the middle third, {last:.0f} in the last one')
        return found

    def table(self):
        """Lines of text: first, largest, last, and slope of memory; the same of descriptors."""
        yield f'{"":16} {"starts":>6} {"KiB first":>10} {"max":>8} {"last":>8} {"KiB/min":>8}   {"fds first":>9} {"max":>5} {"last":>5}'
        for role, seen in sorted(self.seen.items()):
            rss, fds = [one[2] >> 10 for one in seen], [one[3] for one in seen]
            warm = [one for one in seen if one[4] >= YOUNG]
            yield (f'{role:16} {len({one[1] for one in seen}):6} {rss[0]:10} {max(rss):8} {rss[-1]:8} {slope(warm):8.1f}   '
                   f'{fds[0]:9} {max(fds):5} {fds[-1]:5}')


def slope(seen):
    """KiB a minute, by least squares, within the processes: a start is not a slope."""
    top = bottom = 0
    for pid in {one[1] for one in seen}:
        points = [(one[0] / 60, one[2] / 1024) for one in seen if one[1] == pid]
        x, y = (statistics.fmean(point[i] for point in points) for i in (0, 1))
        top += sum((a - x) * (b - y) for a, b in points)
        bottom += sum((a - x) ** 2 for a, _ in points)
    return top / bottom if bottom else 0
