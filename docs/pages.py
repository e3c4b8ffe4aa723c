# SPDX-License-Identifier: Apache-2.0
"""What the pages say: rows of their tables, words in backticks, and how they differ from the code. Tests answer in TAP."""
import re

import facts


def rows(page):
    """(heading, cells) of every row of a table whose first cell is in backticks."""
    heading = ''
    for line in facts.read(page).splitlines():
        if line.startswith('#'):
            heading = line.lstrip('# ').strip('`')
        elif line.startswith('| `'):
            yield heading, [cell.strip() for cell in re.split(r'(?<!\\)\|', line)[1:-1]]


def quoted(cell):
    return re.findall(r'`([^`]+)`', cell)


def named(page, *headings):
    """All words in backticks of the first cells below these headings."""
    return {word for heading, cells in rows(page) if heading in headings for word in quoted(cells[0])}


def differences(page, code):
    """What only one of the two says."""
    for name in sorted(set(page) | set(code)):
        if page.get(name) != code.get(name):
            yield f'{name}: the page says {page.get(name, "nothing")}, the code {code.get(name, "nothing")}'


def same(what, page, code):
    """The same of two sets of names; what: which kind of thing they are."""
    return differences(dict.fromkeys(page, what), dict.fromkeys(code, what))


def run(cases):
    print(f'1..{len(cases)}')
    for number, case in enumerate(cases, 1):
        problems = list(case())
        print(f'{"not ok" if problems else "ok"} {number} - {case.__name__}')
        for line in '\n'.join(problems).splitlines():
            print(f'# {line}')
