# SPDX-License-Identifier: Apache-2.0
"""What the checks of the source share: the files that are ours, and C without its comments."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NOT_OURS = ('node_modules', 'dist', '__pycache__')


def is_ours(root, here, folder):
    if folder[0] == '.':
        return folder == '.ci'
    return folder not in NOT_OURS and not (here == root and folder.startswith('build'))


def files(root, *endings):
    """Sorted paths relative to root; hidden folders, build trees and generated files are left out."""
    found = []
    for here, folders, names in os.walk(root):
        folders[:] = [f for f in folders if is_ours(root, here, f)]
        found += [os.path.relpath(os.path.join(here, name), root) for name in names
                  if not endings or name.endswith(endings)]
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding='utf-8', errors='replace') as file:
        return file.read()


def is_script(root, path, interpreter):
    """True for a file whose first line names the interpreter."""
    with open(os.path.join(root, path), 'rb') as file:
        first = file.readline(100)
    return first.startswith(b'#!') and re.search(rb'\b(%s)\d*\b' % interpreter.encode(), first) is not None


SKIPPED = re.compile(r'''//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*\'''', re.S)


def code(text):
    """The C text with comments and the insides of literals blanked; every line keeps its number."""
    def blank(match):
        quote = match[0][0]
        inside = re.sub(r'[^\n]', ' ', match[0])
        return quote + inside[2:] + quote if quote in '"\'' else inside
    return SKIPPED.sub(blank, text)


def report(problems):
    """Prints 'file:line: text' lines; returns the exit status."""
    for path, line, text in problems:
        print(f'{path}:{line}: {text}')
    return 1 if problems else 0
