# SPDX-License-Identifier: Apache-2.0
"""Parsers for the output of VPP's lb commands."""
import dataclasses
import re

_HEAD = re.compile(r'^ (ip[46]-\S+) \[(\d+)\] (\S+?)( src_ip_sticky)?( removed)?$')
_SIZE = re.compile(r'^  new_size:(\d+)$')
_PORT = re.compile(r'^  protocol:(\d+) port:(\d+)$')
_COUNT = re.compile(r'^    ([a-z ]+): (\d+)$')
_AS = re.compile(r'^    (\S+) weight:(\d+) buckets:(\d+) flows:(\d+) dpo:\d+ +(used|removed)$')


@dataclasses.dataclass
class As:
    address: str
    weight: int
    buckets: int
    flows: int
    used: bool


@dataclasses.dataclass
class Vip:
    type: str
    index: int
    prefix: str
    sticky: bool
    used: bool
    size: int = 0
    protocol: int = 255
    port: int = 0
    counters: dict = dataclasses.field(default_factory=dict)
    servers: list = dataclasses.field(default_factory=list)

    @property
    def key(self):
        return self.prefix, self.protocol, self.port


def parse_vips(text):
    """Parses the output of `show lb vips verbose`."""
    vips = []
    for line in text.splitlines():
        if match := _HEAD.match(line):
            vips.append(Vip(match[1], int(match[2]), match[3], bool(match[4]), not match[5]))
        elif match := _SIZE.match(line):
            vips[-1].size = int(match[1])
        elif match := _PORT.match(line):
            vips[-1].protocol, vips[-1].port = int(match[1]), int(match[2])
        elif match := _COUNT.match(line):
            vips[-1].counters[match[1]] = int(match[2])
        elif match := _AS.match(line):
            vips[-1].servers.append(As(match[1], *map(int, match.group(2, 3, 4)), match[5] == 'used'))
    return vips
