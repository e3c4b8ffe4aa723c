#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""maglevd's health checks beside HAProxy's doing the same, in turn, on one machine.

In a private network, N servers on loopback addresses are checked every second; the subject runs alone on core 0, the
server behind all addresses on core 1. What counts is CPU time per probe and memory per server, and the ratio of both:
rounds of the two subjects alternate, so that both meet the same machine. Then a maglevd with 10,000 backends is scraped,
reloaded and synced while it probes, and the turns of its loop are counted. Needs root, haproxy, nginx, openssl and ip.

The full run takes about twenty minutes; --quick one or two, and tells only whether everything works."""
import argparse
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import report  # noqa: E402
from cost import Cost, scenarios  # noqa: E402
from lab import LabError, build, commit, enter_private_network, machine  # noqa: E402
from stalls import Stalls  # noqa: E402
from subjects import Scenario, make_certificate, missing_programs  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = {'maglevd': 'src/maglevd/maglevd', 'maglevd_fake': 'tests/support/fake/maglevd-fake',
            'sink': 'bench/sink/sink'}


def parse_scenario(text):
    kind, _, n = text.partition(':')
    if kind not in ('http', 'keep-alive', 'tcp', 'https') or not n.isdigit() or int(n) < 1:
        raise argparse.ArgumentTypeError(f'{text}: not KIND:N with KIND one of http, keep-alive, tcp, https')
    return Scenario(kind, int(n))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('scenarios', nargs='*', type=parse_scenario, metavar='KIND:N',
                        help='what to check, e.g. http:10000; default: everything')
    parser.add_argument('--quick', action='store_true', help='few servers, one short round')
    parser.add_argument('--only', choices=('cost', 'stalls'), help='one of the two parts')
    parser.add_argument('--rounds', type=int, help='of each subject (5)')
    parser.add_argument('--window', type=float, help='seconds measured in a round (6)')
    parser.add_argument('--warm-up', type=float, help='seconds before it (2)')
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'), help='tree of a release build (build)')
    parser.add_argument('--ordinary-priority', dest='realtime', action='store_false',
                        help='no real-time priority: for a machine that does nothing else')
    parser.add_argument('--json', metavar='FILE', help='write every sample there')
    parser.add_argument('--markdown', metavar='FILE', help='write the tables there')
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 5)
    options.window = options.window or (2 if options.quick else 6)
    options.warm_up = (1 if options.quick else 2) if options.warm_up is None else options.warm_up
    return options


def say(line):
    print(line, flush=True)


def measure(options, folder):
    cost, stalls = Cost(options, folder), Stalls(options, folder)
    if options.only != 'stalls':
        for scenario in options.scenarios or scenarios(options.quick):
            cost.run(scenario, say)
    if options.only != 'cost' and not (options.scenarios and not options.only):
        stalls.run(say)
    return cost, stalls


def write_results(options, where, built, cost, stalls):
    text = report.markdown(where, built, cost, stalls.rows)
    say('\n' + text)
    if options.markdown:
        with open(options.markdown, 'w', encoding='utf-8') as f:
            f.write(text)
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as f:
            json.dump({'machine': where, 'commit': built, 'samples': [s.as_dict() for s in cost.samples],
                       'stalls': stalls.rows}, f, indent=1)
            f.write('\n')


def main():
    options = parse_arguments()
    if missing_programs():
        raise LabError(f"not installed: {', '.join(missing_programs())}")
    vars(options).update(build(options.build, PROGRAMS))
    where, built = machine(), commit(ROOT)
    enter_private_network()
    with tempfile.TemporaryDirectory(prefix='bench-probes-') as folder:
        make_certificate(folder)
        cost, stalls = measure(options, folder)
    write_results(options, where, built, cost, stalls)
    return 0 if options.quick or all(ok for *_, ok in report.verdicts(cost, stalls.rows)) else 1


if __name__ == '__main__':
    try:
        sys.exit(main())
    except LabError as e:
        sys.exit(f'bench/probes: {e}')
    except KeyboardInterrupt:
        sys.exit(130)
