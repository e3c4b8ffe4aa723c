# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/guide/xdp.md, to be run as they are: a recipe that does not work fails a test."""
import os
import re

from lab.programs import ROOT

GUIDE = os.path.join(ROOT, 'docs/guide/xdp.md')
NUMBER = 11  # of the server in the guide, which is at 10.0.11.2 and 2001:db8:11::2


def recipe(heading, number=0):
    """A block of commands below a heading."""
    with open(GUIDE, encoding='utf-8') as file:
        section = re.search(rf'^#+ {re.escape(heading)}\n(.*?)(?=^##|\Z)', file.read(), re.M | re.S)
    blocks = re.findall(r'^```(\w*)\n(.*?)^```$', section[1], re.M | re.S)
    return [text for language, text in blocks if not language][number]


def follow(host, text):
    """Runs the commands on a machine of a Fabric, with its own addresses instead of those of the guide."""
    for own in ('10.0.{}.', '2001:db8:{}::'):
        text = text.replace(own.format(NUMBER), own.format(host.number))
    return host.run('sh', '-ec', text)
