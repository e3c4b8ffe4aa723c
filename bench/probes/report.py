# SPDX-License-Identifier: Apache-2.0
"""The results, as Markdown and as JSON."""
from cost import BASE

PACED = 0.99
TARGETS = {('http', 10000): 1.0, ('keep-alive', 10000): 0.5}
GROWTH = 0.25


def spread(cost, title, kind, n, what, scale, form):
    low, high = cost.spread(title, kind, n, lambda s: what(s) * scale)
    return f'{cost.median(title, kind, n, lambda s: what(s) * scale):{form}} ({low:{form}}-{high:{form}})'


def cost_table(cost):
    lines = ['| check | servers | HAProxy probes/s | maglevd probes/s | HAProxy us/probe | maglevd us/probe | ratio |',
             '|---|---|---|---|---|---|---|']
    for kind, n in pairs(cost):
        rate = [cost.median(t, kind, n, lambda s: s.probes_per_second()) for t in ('HAProxy', 'maglevd')]
        cpu = [spread(cost, t, kind, n, lambda s: s.us_per_probe(), 1, '.1f') for t in ('HAProxy', 'maglevd')]
        lines.append(f'| {kind} | {n} | {rate[0]:.0f} | {rate[1]:.0f} | {cpu[0]} | {cpu[1]} | '
                     f'**{cpu_ratio(cost, kind, n):.2f}** |')
    return lines


def memory_table(cost):
    lines = ['| check | servers | HAProxy RSS | maglevd RSS | HAProxy per server | maglevd per server | ratio |',
             '|---|---|---|---|---|---|---|']
    for kind, n in pairs(cost):
        if cost.growth('HAProxy', kind, n) is None:
            continue
        rss = [cost.median(t, kind, n, lambda s: s.rss) / 1e6 for t in ('HAProxy', 'maglevd')]
        grown = [cost.growth(t, kind, n) / 1e3 for t in ('HAProxy', 'maglevd')]
        lines.append(f'| {kind} | {n} | {rss[0]:.1f} MB | {rss[1]:.1f} MB | {grown[0]:.2f} kB | {grown[1]:.2f} kB | '
                     f'**{grown[1] / grown[0]:.2f}** |')
    return lines


def stall_table(rows):
    lines = ['| while | turns of the loop | over 10 ms | longest, at most | not let on the CPU | taken by the hypervisor | '
             'attempt |', '|---|---|---|---|---|---|---|']
    for row in rows:
        lines.append(f"| {row['phase']} | {row['turns']:.0f} | {row['over_10ms']:.0f} | "
                     f"{row['longest_at_most'] * 1e3:g} ms | {row['run_delay'] * 1e3:.1f} ms | "
                     f"{row['stolen'] * 1e3:.0f} ms | {row['attempt']}{'' if row['counts'] else ', tried again'} |")
    return lines


def pairs(cost):
    """The kinds and numbers with which both were measured, in that order."""
    seen = dict.fromkeys((s.scenario.kind, s.scenario.n) for s in cost.samples if s.scenario.n > BASE)
    return [pair for pair in seen if cost.of('HAProxy', *pair) and cost.of('maglevd', *pair)]


def cpu_ratio(cost, kind, n):
    """The ratio of medians, so that a single disturbed round does not decide."""
    return (cost.median('maglevd', kind, n, lambda s: s.us_per_probe()) /
            cost.median('HAProxy', kind, n, lambda s: s.us_per_probe()))


def paced(cost):
    started = sum(s.started for s in cost.samples)
    return 1 - sum(s.late for s in cost.samples) / started if started else None


def verdicts(cost, rows):
    """(what, reached, wanted, passed) for each target that this run can check."""
    for (kind, n), wanted in TARGETS.items():
        if (kind, n) in pairs(cost):
            ratio = cpu_ratio(cost, kind, n)
            yield f'CPU per probe, {kind} {n}', f'{ratio:.2f} x HAProxy', f'<= {wanted:.2f}', ratio <= wanted
    if ('http', 10000) in pairs(cost) and cost.growth('HAProxy', 'http', 10000):
        ratio = cost.growth('maglevd', 'http', 10000) / cost.growth('HAProxy', 'http', 10000)
        yield 'RSS growth, http 10000', f'{ratio:.2f} x HAProxy', f'<= {GROWTH:.2f}', ratio <= GROWTH
    share = paced(cost)
    if share is not None:
        yield 'probes within 5 % of their time', f'{share:.4%}', f'>= {PACED:.0%}', share >= PACED
    if rows:
        over = sum(row['over_10ms'] for row in rows if row['counts'])
        again = sum(row['over_10ms'] for row in rows if not row['counts'])
        yield 'turns over 10 ms', f'{over:.0f} (and {again:.0f} in attempts tried again)', '0', over == 0


def markdown(where, built, cost, rows):
    text = [f"{where['cpu']}, {where['cores']} cores; {where['system']}, Linux {where['kernel']}; HAProxy "
            f"{where['haproxy']}, nginx {where['nginx']}, OpenSSL {where['openssl']}; maglevd {built}; "
            f"load {where['load']:.1f} at the start.", '']
    if pairs(cost):
        text += cost_table(cost) + [''] + memory_table(cost) + ['']
    if paced(cost) is not None:
        text += [f'{paced(cost):.4%} of {sum(s.started for s in cost.samples):.0f} probes started within 5 % of '
                 'their interval of their planned time.', '']
    if rows:
        text += stall_table(rows) + ['']
    text += ['| to reach | reached | wanted | |', '|---|---|---|---|']
    text += [f"| {what} | {reached} | {wanted} | {'yes' if ok else '**no**'} |"
             for what, reached, wanted, ok in verdicts(cost, rows)]
    return '\n'.join(text) + '\n'
