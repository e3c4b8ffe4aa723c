# SPDX-License-Identifier: Apache-2.0
"""A parser for pages of metrics."""
import functools
import re

_SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?')


def _sample(line):
    name, labels, value = _SAMPLE.match(line).groups()
    return name, dict(_LABEL.findall(labels or '')), float(value)


class Metrics:
    """Lines are parsed only on demand: ten thousand backends have hundreds of thousands of them."""

    def __init__(self, text):
        self.text = text

    @functools.cached_property
    def samples(self):
        return [_sample(line) for line in self.text.splitlines() if line and not line.startswith('#')]

    def names(self):
        return {name for name, _, _ in self.samples}

    def of(self, name, **labels):
        """(labels, value) of every sample of that name with these labels."""
        lines = re.findall(rf'^{re.escape(name)}[{{ ].*$', self.text, re.MULTILINE)
        return [(have, value) for _, have, value in map(_sample, lines)
                if all(have.get(k) == v for k, v in labels.items())]

    def sum(self, name, **labels):
        return sum(value for _, value in self.of(name, **labels))

    def one(self, name, **labels):
        """The value of the only such sample; None if there is none."""
        found = self.of(name, **labels)
        assert len(found) < 2, found
        return found[0][1] if found else None
