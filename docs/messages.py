#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""messages.py [--check]: writes docs/reference/messages.md, all methods and fields of proto/*.proto, or says whether it is up to date."""
import os
import re
import sys

from facts import ROOT, read

PAGE = 'docs/reference/messages.md'
FILES = {'maglev': 'maglevd', 'speaker': 'maglev-speaker', 'router': 'maglev-router', 'way': 'The way of a packet', 'dashboard': 'Acts of the dashboard'}
METHOD = r'rpc (\w+)\((\w+)\) returns \((stream )?(\w+)\)'
FIELD = r'(?:(repeated) )?(\w+(?:<[^>]*>)?) (\w+) = (\d+)'
HEAD = '''# Messages

All methods, messages and fields of the APIs, written by `docs/messages.py` from [`proto/`](../../proto): do not edit. What the methods do is
in the pages of [maglevd](api.md), [maglev-speaker](speaker.md#api) and [maglev-router](router.md#api). In JSON a field has the name that it has here.
'''


def sentence(lines):
    return ' '.join(line.strip().removeprefix('//').strip() for line in lines).strip().replace('|', '\\|').replace('<', '&lt;')


def blocks(text):
    """(kind, name, comment, lines) of each service and message at the top level; one of a file has no block inside but oneofs."""
    found = re.finditer(r'((?:^//[^\n]*\n)*)^(service|message) (\w+) \{(\}|.*?^\})', text, re.M | re.S)
    for comment, kind, name, body in (match.groups() for match in found):
        yield kind, name, sentence(comment.splitlines()), body.rstrip('}').splitlines()


def members(lines, pattern):
    """(match, comment) of each line that matches; the comment is before it, at its end, or below its end."""
    above = []
    for line in lines:
        code, _, note = line.partition('//')
        if match := re.match(pattern, code.strip()):
            yield match, sentence(above + [note])
            above = []
        else:
            above = above + [note] if note and not code.strip() else []


def method(match, _):
    name, request, stream, response = match.groups()
    return f'| `{name}` | [`{request}`](#{request.lower()}) | {"a stream of " if stream else ""}[`{response}`](#{response.lower()}) |'


def show(kind, name, comment, lines, known):
    if kind == 'service':
        yield f'### Service `{name}`\n\n| method | request | answer |\n|---|---|---|'
        yield from (method(*one) for one in members(lines, METHOD))
        return
    yield f'### `{name}`\n' + (f'\n{comment}\n' if comment else '')
    fields = list(members(lines, FIELD))
    if not fields:
        yield 'No fields.'
        return
    yield '| field | number | type | meaning |\n|---|---|---|---|'
    for match, note in fields:
        many, kind, field, number = match.groups()
        yield f'| `{field}` | {number} | {"list of " if many else ""}{f"[`{kind}`](#{kind.lower()})" if kind in known else kind} | {note} |'


def page():
    out = [HEAD]
    for file, title in FILES.items():
        found = list(blocks(read(f'proto/{file}.proto')))
        known = {name for kind, name, _, _ in found if kind == 'message'}
        out.append(f'## {title}\n\n[`proto/{file}.proto`](../../proto/{file}.proto)\n')
        for one in found:
            out.append('\n'.join(show(*one, known)) + '\n')
    return '\n'.join(out)


def main():
    if sys.argv[1:] not in ([], ['--check']):
        sys.exit(f'usage: {__doc__}')
    if sys.argv[1:]:
        sys.exit(0 if read(PAGE) == page() else f'{PAGE} is not that of proto/*.proto: run docs/messages.py')
    with open(os.path.join(ROOT, PAGE), 'w', encoding='utf-8') as file:
        file.write(page())


if __name__ == '__main__':
    main()
