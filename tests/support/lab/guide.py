# SPDX-License-Identifier: Apache-2.0
"""The commands of README.md and docs/guide/*.md, by name, to be run as they stand: a recipe that does not work fails a test.

A block of commands is a fence without a language, or with `sh` or `console`. Its name is page, heading (as in a link) and
number, such as xdp.md#mtu or operating.md#take-a-backend-out/2. A test that names a block in quotes runs it;
docs/docs_test.py compares these names with the pages.
"""
import glob
import os
import re

from lab.programs import ROOT

COMMANDS = ('', 'sh', 'console')
NUMBER = 11  # of the server in the guide, which is at 10.0.11.2 and 2001:db8:11::2
# who runs what these programs in prose say: tests/e2e/test_guide_words.py
PROGRAMS = ('frr-reloader', 'maglevc', 'maglevd', 'maglevd-frontend', 'maglevt', 'maglev-controller', 'maglev-gateway',
            'maglev-mux', 'maglev-router', 'maglev-speaker')
TESTS = ('tests/e2e/**/*.py', 'tests/support/lab/*.py', 'tests/package/*')
# blocks that no test names, and where they run instead
ELSEWHERE = {
    'README.md#try-it': 'make run: tests/e2e/test_lab.py starts what it starts (tools/run-lab), and pastes all that it prints',
    'README.md#try-it/2': 'make run-kube: tests/e2e/test_run_kube.py',
    'getting-started.md#try-it-first': 'make run: see README.md',
    'getting-started.md#install-it': 'make deb, and apt: make test-deb (tools/test-deb, tests/package/inside)',
    'kubernetes.md#images': 'make containers needs an engine: tests/e2e/test_helm.py compares its file with the chart',
    'mux.md#try-it-first': 'make run-kube: see README.md',
}


def pages():
    """{name: path} of the pages with commands."""
    found = [os.path.join(ROOT, 'README.md'), *sorted(glob.glob(os.path.join(ROOT, 'docs/guide/*.md')))]
    return {os.path.basename(path): path for path in found}


def _read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def anchor(heading):
    """As in a link to it."""
    return re.sub(r'[^\w -]', '', heading.lower()).replace(' ', '-')


def _commands(language, text):
    """Of a console only the lines after a prompt, and those that continue them."""
    if language != 'console':
        return text
    return ''.join(re.findall(r'^\$ ((?:.*\\\n)*.*\n)', text, re.M))


def blocks(page, languages=COMMANDS):
    """{name: text} of a page: of blocks of commands, or of those with other languages."""
    found, heading, count = {}, '', 0
    pattern = r'^#+ ([^\n]*)\n|^( *)```(\w*)\n(.*?)^\2```$'
    for title, indent, language, text in re.findall(pattern, _read(pages()[page]), re.M | re.S):
        if title:
            heading, count = anchor(title), 0
        elif language in languages:
            count += 1
            text = re.sub(rf'^{indent}', '', text, flags=re.M)
            found[f'{page}#{heading}' + (f'/{count}' if count > 1 else '')] = _commands(language, text)
    return found


def block(name):
    """The commands of a block."""
    found = blocks(name.split('#')[0])
    assert name in found, f'there is no {name}; there are {list(found)}'
    return found[name]


def example(page, heading, language='yaml'):
    """The first block with that language below a heading."""
    return blocks(page, (language,))[f'{page}#{heading}']


def spoken(page):
    """[(line, command)] of the commands in backticks within prose, and of those of maglevc without its name."""
    prose = re.sub(r'^( *)```.*?^\1```$', lambda match: '\n' * match[0].count('\n'), _read(pages()[page]), flags=re.M | re.S)
    pattern = rf'`((?:{"|".join(PROGRAMS)}|show|set|sync|watch|config|explain|rollback) [^`]+)`'
    return [(prose.count('\n', 0, match.start()) + 1, match[1].replace('\n', ' ').replace('\\|', '|'))
            for match in re.finditer(pattern, prose)]


def named():
    """The names of blocks in quotes in the tests."""
    files = [path for pattern in TESTS for path in glob.glob(os.path.join(ROOT, pattern), recursive=True)
             if os.path.isfile(path) and os.path.abspath(path) != os.path.abspath(__file__)]
    return {name for path in files for name in names_in(_read(path))}


def names_in(text):
    return re.findall(r'''['"]([\w-]+\.md#[\w-]+(?:/\d+)?)['"]''', text)


def follow(host, text):
    """Runs commands on a machine of a Fabric, with its own addresses instead of those of the guide."""
    for own in ('10.0.{}.', '2001:db8:{}::'):
        text = text.replace(own.format(NUMBER), own.format(host.number))
    return host.run('sh', '-ec', text)
