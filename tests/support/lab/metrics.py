# SPDX-License-Identifier: Apache-2.0
"""A page of metrics, taken apart."""
import re

_SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?')


class Metrics:
    def __init__(self, text):
        self.text = text
        self.samples = []
        for line in text.splitlines():
            if line and not line.startswith('#'):
                name, labels, value = _SAMPLE.match(line).groups()
                self.samples.append((name, dict(_LABEL.findall(labels or '')), float(value)))

    def names(self):
        return {name for name, _, _ in self.samples}

    def of(self, name, **labels):
        """(labels, value) of every sample of that name with these labels."""
        return [(have, value) for got, have, value in self.samples
                if got == name and all(have.get(k) == v for k, v in labels.items())]

    def sum(self, name, **labels):
        return sum(value for _, value in self.of(name, **labels))

    def one(self, name, **labels):
        """The value of the only such sample; None when there is none."""
        found = self.of(name, **labels)
        assert len(found) < 2, found
        return found[0][1] if found else None
