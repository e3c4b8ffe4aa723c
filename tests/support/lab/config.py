# SPDX-License-Identifier: Apache-2.0
"""Configurations, and the time limits that follow from them.

A configuration is a dict with the keys of the YAML file; it is written as JSON, which is valid YAML.
"""
import dataclasses

JITTER = 1.1


def duration(value):
    return f'{round(value * 1000)}ms'


def seconds(text):
    """The inverse, for the few forms that tests use."""
    return float(text[:-2]) / 1000 if text.endswith('ms') else float(text[:-1])


@dataclasses.dataclass
class Check:
    """A health check with short intervals, in seconds. more has other keys, unchanged."""

    type: str = 'http'
    port: int = None
    interval: float = 0.1
    fast: float = 0.05
    down: float = 0.1
    timeout: float = 1.0
    rise: int = 2
    fall: int = 3
    params: dict = None
    more: dict = dataclasses.field(default_factory=dict)

    def yaml(self):
        keys = {'type': self.type, 'port': self.port, 'interval': duration(self.interval),
                'fast-interval': duration(self.fast), 'down-interval': duration(self.down),
                'timeout': duration(self.timeout), 'rise': self.rise, 'fall': self.fall, 'params': self.params}
        return {**{k: v for k, v in keys.items() if v is not None}, **self.more}

    @property
    def top(self):
        """The counter of a backend that has passed probes for a while."""
        return self.rise + self.fall - 1

    def down_within(self, silent=False):
        """From the fault to the transition: fall failed probes, the first up to an interval away.

        A silent server is noticed after the timeout, one that answers with an error at once.
        """
        found_out = self.timeout if silent else 0
        return self.interval * JITTER + (self.fall - 1) * max(self.fast * JITTER, found_out) + found_out

    def up_within(self, silent=False):
        """From the repair to the transition; a probe of a silent server may still be under way."""
        waiting = self.timeout if silent else 0
        return waiting + self.down * JITTER + (self.rise - 1) * self.fast * JITTER


def pool(name, *backends, **weights):
    """Backends with weight 100, and backends with their own weight."""
    return {'name': name, 'backends': {**{b: {} for b in backends}, **{b: {'weight': w} for b, w in weights.items()}}}


def frontend(address, *pools, port=80, protocol='tcp', **more):
    keys = {'address': address, **({'protocol': protocol, 'port': port} if port else {}), 'pools': list(pools)}
    return {**keys, **{k.replace('_', '-'): v for k, v in more.items()}}


def config(checks=None, backends=None, frontends=None, netns=None, dataplane='none', lb=None, xdp=None,
           **healthchecker):
    """The whole file. A backend is an address, or (address, check), or a dict.

    With the data plane none nothing is written; with vpp, maglevd-fake uses its fake. There is no
    warm-up unless lb asks for one.
    """
    def entry(value):
        if isinstance(value, dict):
            return value
        if isinstance(value, str):
            return {'address': value}
        return {'address': value[0], 'healthcheck': value[1]}

    keys = {k.replace('_', '-'): v for k, v in healthchecker.items()}
    if netns:
        keys['netns'] = netns
    body = {'healthchecker': keys, 'dataplane': dataplane,
            'healthchecks': {k: v.yaml() if isinstance(v, Check) else v for k, v in (checks or {}).items()},
            'backends': {k: entry(v) for k, v in (backends or {}).items()},
            'frontends': frontends or {},
            'vpp': {'lb': {'ipv4-src-address': '192.0.2.1', 'ipv6-src-address': '2001:db8::1',
                           'startup-min-delay': '0s', 'startup-max-delay': '0s', **(lb or {})}}}
    if xdp:
        body['xdp'] = xdp
    return {'maglev': body}
