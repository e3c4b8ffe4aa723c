# SPDX-License-Identifier: Apache-2.0
"""The setup of most tests: one backend under test, and a spare after it that is always up.

Every change of the backend must show consistently in the log, in the metrics and in the weights of
the data plane.
"""
from lab.config import Check, config, frontend, pool
from lab.wait import SLACK

VIP = '198.51.100.10'
SPARE, SPARE6 = '10.99.0.1', 'fd99::1'
PASSES = ('L4OK', 'L6OK', 'L7OK')


class Watched:
    """maglevd-fake with the frontend www on VIP: the backend web, then the static backend spare."""

    def __init__(self, start_fake, net, check, address, env=None):
        self.check, self.address = check, address
        self.spare = SPARE6 if ':' in address else SPARE
        self.config = config({'check': check}, {'web': (address, 'check'), 'spare': self.spare},
                             {'www': frontend(VIP, pool('primary', 'web'), pool('fallback', 'spare'))},
                             netns=net.probes.name, dataplane='vpp')
        self.daemon = start_fake(self.config, env=env)
        self.plane = self.daemon.plane
        self.seen = 0

    @classmethod
    def of(cls, start_fake, net, server, env=None, **check):
        return cls(start_fake, net, Check(port=server.port, **check), server.address, env)

    def settle(self):
        """Waits until the backend is up with a full counter."""
        self.daemon.wait_settled('web', self.check)
        self.plane.wait_weights(VIP, {self.address: 100, self.spare: 0})
        assert self.daemon.state('web') == 'up'
        self.seen = self.daemon.mark()
        return self

    def expect_down(self, since, code, silent=False, reason=None):
        """From a settled up: checks that fall failed probes with that code take it down in time."""
        line = self.daemon.wait('backend-transition', self.seen, backend='web', to='down')
        assert (line['from'], line['code']) == ('up', code), line
        assert reason is None or reason in line['reason'], line
        assert line.at - since <= self.check.down_within(silent) + SLACK, line.at - since
        self.agrees('down', {self.address: 0, self.spare: 100}, line)
        assert f'as-weight {VIP}:80/tcp {self.address} 100->0 flush' in self.plane.journal()
        return line

    def expect_up(self, since, silent=False):
        line = self.daemon.wait('backend-transition', self.seen, backend='web', to='up')
        assert line['from'] == 'down', line
        assert line.at - since <= self.check.up_within(silent) + SLACK, line.at - since
        self.agrees('up', {self.address: 100, self.spare: 0}, line)
        return line

    def follows_the_rule(self):
        """Checks that each transition so far came right after the probe that rise and fall require, and no other."""
        counter, state, expected, seen, last = None, 'unknown', [], [], None
        for line in list(self.daemon.lines):
            if line.get('backend') != 'web':
                continue
            if line['msg'] == 'backend-transition':
                seen.append((last, line['to'], line['code']))
            if line['msg'] != 'probe-done':
                continue
            last = line.at
            passed = line['code'] in PASSES
            if counter is None:
                counter = self.check.rise if passed else 0
            else:
                counter = min(counter + 1, self.check.top) if passed else max(counter - 1, 0)
            if (now := 'up' if counter >= self.check.rise else 'down') != state:
                state = now
                expected.append((line.at, state, line['code']))
        assert seen == expected[:len(seen)] and len(expected) - len(seen) <= 1

    def agrees(self, state, weights, line):
        daemon = self.daemon
        self.follows_the_rule()
        self.seen = daemon.lines.index(line) + 1
        self.plane.wait_weights(VIP, weights)
        daemon.wait_metric('maglev_backend_state', 1, backend='web', state=state)
        assert daemon.state('web') == state
        page = daemon.metrics()
        for name, address in (('web', self.address), ('spare', self.spare)):
            assert page.one('maglev_frontend_pool_backend_effective_weight', backend=name) == weights[address]
            assert page.one('maglev_frontend_pool_backend_weight', backend=name) == 100
        assert page.one('maglev_backend_transitions_total', backend='web', **{'from': line['from'], 'to': state}) == \
            len([t for t in daemon.all('backend-transition', backend='web', to=state) if t['from'] == line['from']])

    def stays_up(self, server, n):
        """Checks that nothing changes during n more probes."""
        server.wait_more(n)
        assert not self.daemon.all('backend-transition', self.seen, backend='web')
        assert self.daemon.state('web') == 'up'
        assert self.plane.weights(VIP) == {self.address: 100, self.spare: 0}


class OnVpp:
    """maglevd on the fake VPP, with the frontend www on VIP: a probed backend, then a static one."""

    def __init__(self, vpp, start_on, net, server):
        self.vpp, self.start_on, self.net, self.server = vpp, start_on, net, server
        self.check = Check(port=server.port)

    def start(self, **lb):
        keys = {'sync-interval': '1h', **{k.replace('_', '-'): v for k, v in lb.items()}}
        self.daemon = self.start_on(self.vpp, config(
            {'check': self.check}, {'web': (self.server.address, 'check'), 'spare': SPARE},
            {'www': frontend(VIP, pool('primary', 'web'), pool('fallback', 'spare'))},
            netns=self.net.probes.name, dataplane='vpp', lb=keys), brisk=True)
        self.daemon.wait_settled('web', self.check)
        self.expect(100, 0)
        self.daemon.wait('lb-sync-all')
        return self.daemon

    def expect(self, web, spare):
        self.vpp.wait_weights(VIP, {self.server.address: web, SPARE: spare})

    def fail(self):
        """Ends the server and waits until maglevd notices."""
        mark = self.daemon.mark()
        self.server.refuse()
        self.daemon.wait_state('web', 'down', mark)
