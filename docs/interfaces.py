# SPDX-License-Identifier: Apache-2.0
"""What the code says about its interfaces: paths of HTTP, methods and messages of gRPC, Events of Kubernetes, words of APIs."""
import glob
import itertools
import re
import subprocess

from facts import ROOT, WITH_OPERATOR, read


def sources(pattern):
    """The text of all files of C that are no tests."""
    paths = sorted(path for path in glob.glob(pattern, root_dir=ROOT) if not re.search(r'_test\.c$|testing', path))
    assert paths, pattern
    return ''.join(map(read, paths))


def http_paths(*patterns):
    """{'/view/*', ...}: the routes in tables of a server."""
    text = ''.join(map(sources, patterns))
    return set(re.findall(r'HTTP_(?:GET|PUT|POST), "(/[^"]*)"', text)) | set(re.findall(r'\{ \{ "(/[^"]*)", \d+ \}', text))


def acts():
    """{'*/backends/*/pause', ...}: the paths below /admin/api/ that change something."""
    text = re.sub(r'ACT_ON_BACKEND\((".*?"), \w+\),', r'{ { "*", "backends", "*", \1 },\n\t  4,', read('src/frontend/acts.c'))
    found = re.findall(r'^\t\{ \{ ("[^}]*") \},\n\t  \d,', text, re.M)
    return {'/'.join(re.findall(r'"([^"]+)"', path)) for path in found}


EVENTS = {'mux': (r'mux__(?:event|complain|refuse)\([^;?]*?"([A-Z]\w+)"', r'(?:\?|:) "(Mux\w+)"', r'\.reason = "([A-Z]\w+)"',
                  r'\b(?:freeze|condition)\([^;"]*"([A-Z]\w+)"'),
          'controller': (r'\btell\(t, \w+, "([^"]+)"', r'\.reason = "(\w+)"'),
          'speaker': (r'\bemit\(\w+, \w+, "(\w+)"',)}


def kube_events(program):
    """Reasons of the Events of a program in a cluster."""
    text = sources(f'src/{program}/*.c')
    return {word for pattern in EVENTS[program] for word in re.findall(pattern, text)}


def words(path, array):
    """The words of a table of names in C, by the name of the array or of the function that it is in."""
    text = read(path)
    body = re.search(rf'\b{array}\[\w*\] = \{{(.*?)\}};', text, re.S) or re.search(rf'\b{array}\([^;]*?\)\n\{{(.*?)\n\}}', text, re.S)
    return set(re.findall(r'"([^" ]+)"', body[1]))


ANNOTATIONS = {'mux': r'mux_(?:note|note_is_true|key)\([^;")]*"(?!finalizer)([a-z-]+)"', 'controller': r'#define ANNOTATION_\w+ "([^"]+)"'}


def annotations(program):
    """The annotations that a program reads and writes, without the prefix."""
    return set(re.findall(ANNOTATIONS[program], sources(f'src/{program}/*.[ch]')))


def labels(program):
    """(labels that are written, all words) in the metrics of a program."""
    shared = ['lib/admin/metrics.c'] + ['lib/operator/metrics.c'] * (f'src/{program}' in WITH_OPERATOR)
    text = ''.join(map(sources, [f'src/{program}/*.c', *shared]))
    written = re.findall(r'metrics_label[^;]*?\{ "(\w+)", (?:STR|str_of|\(struct str\))|\b(?:labelled|sample)\(\w+, "(\w+)"', text)
    return {word for pair in written for word in pair if word}, set(re.findall(r'"(\w+)"', text))


def grpc_statuses():
    """The statuses that a method of ours, or the server itself, can answer with."""
    text = ''.join(map(sources, ('src/maglevd/api/*.c', 'src/speaker/api.c', 'src/router/inquiry.c', 'lib/grpc/server*.c', 'lib/grpc/call.c', 'lib/service/*.c')))
    text = re.sub(r'settle\(call, GRPC_\w+\)', '', text)  # of a call that its client has left: for the metrics
    return set(re.findall(r'\bGRPC_(\w+) = \d+', read('lib/grpc/grpc.h'))) & set(re.findall(r'\bGRPC_(\w+)', text))


def programs():
    """The names of all programs that are installed."""
    text = ''.join(read(path) for path in glob.glob('src/*/meson.build', root_dir=ROOT))
    return set(re.findall(r"\bexecutable\('([\w-]+)'[^\n]*(?:\n[^\n]*?)??install: true", text))


def variables(room):
    """Variables of the environment that are read without a flag, but those of every program."""
    return set(re.findall(r'getenv\("([A-Z_]+)"\)', sources(f'{room}/*.c'))) - {'HOME', 'TERM'}


def version(program):
    return subprocess.run([program, '--version'], capture_output=True, text=True, check=True).stdout


def command(text):
    """'set backends GLOB pause\\|resume [reason TEXT]' -> {'set backends * pause', 'set backends * resume'}: without what may be left out."""
    while '[' in text:
        text = re.sub(r' ?\[[^][]*\]', '', text)
    words = [sorted({'*' if re.match(r'[A-Z0-9]', one) else one for one in word.split('|')})
             for word in re.sub('<[^>]*>', '*', text).replace('\\|', '|').replace('…', '').split()]
    return {' '.join(one) for one in itertools.product(*words)}


def commands(program):
    """All commands of maglevc, from its help; `vpp lb` is another name of `lb`."""
    text = subprocess.run([program, 'help'], capture_output=True, text=True, check=True).stdout
    return set().union(*(command(line.replace(' vpp lb', ' lb').split('  ')[0]) for line in text.splitlines() if re.match(r'[a-z]', line)))
