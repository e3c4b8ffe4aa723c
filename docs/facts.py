# SPDX-License-Identifier: Apache-2.0
"""What the code says about itself: its keys, metrics, log messages and codes, read out of the tables."""
import glob
import json
import os
import re
import socket
import subprocess
import tempfile
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TYPES = {'TEXT': 'text', 'WORD': 'word', 'INT': 'number', 'BOOL': 'boolean', 'DURATION': 'duration',
         'WORDS': 'list', 'LIST': 'list', 'PAIRS': 'mapping', 'SECTION': 'mapping', 'NAMED': 'mapping'}

WITH_API = ('src/maglevd', 'src/router', 'src/speaker')
WITH_FILE = ('src/maglevd', 'src/router', 'src/speaker')
WITH_OPERATOR = ('src/controller', 'src/gateway', 'src/mux', 'src/speaker')


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def schema_tables(room):
    """{table: [(key, shape, section or None)]} of core/ROOM/schema.c, whose rows are in keys.h."""
    rows = dict(re.findall(r'#define (\w+_KEYS)\(X\)(.*?[^\\])\n', read(f'core/{room}/keys.h') + '\n', re.S))
    text = read(f'core/{room}/schema.c')
    for name, body in re.findall(r'#define (\w+_ROWS) *\\\n(.*?[^\\])\n', text, re.S):
        text = re.sub(rf'(\{{|,)\s+{name}\b', lambda match, rest=body: match[1] + rest, text)

    def expanded(macro):
        """Its rows, and those of other macros in it."""
        return rows[macro] + ''.join(map(expanded, re.findall(r'\b(\w+_KEYS)\(X\)', rows[macro])))

    def keys(body):
        for macro in re.findall(r'\b([A-Z]\w+_KEYS)\(', body):
            for key, shape in re.findall(r'\bX\("([\w-]+)", (\w+),', expanded(macro)):
                yield key, shape, None
        for key, name in re.findall(r'SCHEMA_NESTED\("([\w-]+)", \w+, \w+, (\w+)\)', body) + \
                re.findall(r'\.key = "([\w-]+)", \.shape = SCHEMA_SECTION, \.section = &(\w+)', body):
            yield key, 'SECTION', name.removeprefix(f'{room}_schema_')
        for key, shape, name in re.findall(r'SCHEMA_ARRAY\("([\w-]+)", (\w+), \w+, \w+, (\w+)', body):
            yield key, shape, name.removeprefix(f'{room}_schema_')

    return {table: list(keys(body)) for table, body in re.findall(r'schema_field (\w+)_fields\[\] = \{(.*?)\};\n', text, re.S)}


def config_keys(room='l4'):
    """{'maglev.backends.NAME.address': 'text', ...}"""
    tables, inside, found = schema_tables(room), {'NAMED': '.NAME', 'LIST': '[]'}, {}

    def walk(table, path):
        for key, shape, section in tables[table]:
            found[path + key] = TYPES[shape]
            if section:
                walk(section, path + key + inside.get(shape, '') + '.')

    walk('root', '')
    return found


def section_keys(room):
    """{'pool.name': 'word', ...}: each table once, wherever it is used."""
    return {f'{table}.{key}': TYPES[shape] for table, keys in schema_tables(room).items() for key, shape, _ in keys}


def router_errors():
    """{'InvalidPath', ...}: the codes of mistakes in a router's configuration."""
    paths = glob.glob('core/l7/validate*.c', root_dir=ROOT) + glob.glob('src/router/api*.c', root_dir=ROOT) + \
        ['lib/config/document.h', 'wire/router_json.c', 'src/router/secures.c']
    return set(re.findall(r'"([A-Z][a-z]+(?:[A-Z][a-z]+)+)"', ' '.join(map(read, paths))))


def operator_metrics(prefix):
    """{name: type} of the families that every program in a cluster has."""
    return {f'{prefix}_{name}': kind.lower() for name, kind in re.findall(r'\{ "(\w+)", METRICS_(\w+),', read('lib/operator/metrics.c'))}


def metrics(source='src/maglevd/metrics.c', prefix='maglev'):
    """{name: type} of every family: the program's own (also of metrics_X.c), and with its prefix those of every daemon."""
    text = ''.join(read(path) for path in sorted(glob.glob(source.replace('.c', '*.c'), root_dir=ROOT)))
    rows = re.findall(r'\{\s*"(maglev_\w+)",\s+METRICS_(\w+)', text)
    rows += [(start + name, kind) for macro, start in (('NAME', 'metallb_frr_'), ('BGP', 'metallb_bgp_'), ('BFD', 'metallb_bfd_'))
             for name, kind in re.findall(macro + r'\("(\w+)"\), METRICS_(\w+)', text)]
    rows += re.findall(r'\{\s*"(metallb_\w+)",\s+METRICS_(\w+)', text)
    rows += [(f'{prefix}_{name}', kind) for name, kind in
             re.findall(r'\{ "(\w+)", METRICS_(\w+),', read('lib/admin/metrics.c'))]
    if os.path.dirname(source) in WITH_OPERATOR:
        rows += operator_metrics(prefix).items()
    rows += re.findall(r'add\(out, "(process_\w+)", METRICS_(\w+),', read('lib/metrics/process.c'))
    return {name: kind.lower() for name, kind in rows}


REASONS = (r'gw__fail\([^;]*?"([A-Z]\w+)"',                      # the first word in capitals of a failure
           r'words = \{ "(\w+)",', r'words = \{ "\w+",\s*"(\w+)" \}',  # of authorities
           r'"(Invalid\w+Ref)"', r'\] = "([A-Z]\w+)"', r'return "([A-Z]\w+)"', r'\? "(\w+)" : NULL', r'reason = "(\w+)"',
           r'want\([^;]*?"\w+", "(\w+)"', r'"True", "(\w+)"', r'conflicted.reason, "(\w+)"')


def gateway_reasons():
    """What translation and status use as the reason of a condition."""
    names = [name for name in os.listdir(os.path.join(ROOT, 'src/gateway')) if re.match(r'(translate_.*|status)\.c$', name)]
    text = ''.join(read(f'src/gateway/{name}') for name in names if not name.endswith('_test.c'))
    return {word for pattern in REASONS for word in re.findall(pattern, text)}


def gateway_features():
    return re.findall(r'^\t"(\w+)",$', read('src/gateway/features.c'), re.M)


def gateway_settings():
    return re.findall(r'^\t\{ "(\w+)", SCHEMA_', read('src/gateway/translate_settings.c'), re.M)


def codes():
    """{name: whether it passes}"""
    return {name: value == 'true'
            for name, value in re.findall(r'\[CODE_\w+\] = \{ "(\w+)", (true|false) \}', read('core/health/health.c'))}


def arguments(text, start):
    """The arguments of the call whose opening parenthesis stands at start."""
    depth, quoted, begin, found = 0, False, start + 1, []
    for at in range(start, len(text)):
        if text[at] == '"' and text[at - 1] != '\\':
            quoted = not quoted
        elif not quoted and text[at] in '({':
            depth += 1
        elif not quoted and text[at] in ')}':
            depth -= 1
        if (depth == 0 or (depth == 1 and text[at] == ',')) and not quoted:
            found.append(text[begin:at].strip())
            begin = at + 1
        if depth == 0:
            return found
    raise ValueError(text[start:start + 80])


def words_of(expression):
    return re.findall(r'"([a-z][a-z0-9]*(?:-[a-z]+)*)"', expression)


def expand(text):
    """The macros of lib/service and lib/log that are a line, or fields of one, which several daemons share."""
    text = re.sub(r'\bservice_log_act\(([^,]+), ([^,]+),', r'log_info("operator-act", LOG_S("act", \2), LOG_WHO(\1, 0),', text)
    return re.sub(r'\bLOG_WHO\(', 'LOG_S("operator", 0), LOG_S("operator_address", ', text)


def log_messages(folder='src/maglevd'):
    """{message: set of (level, fields)}, with those of every daemon; a message that is a parameter is looked up where it is given."""
    rooms = ['lib/admin', 'lib/daemon'] + ['lib/service'] * (folder in WITH_API) + ['lib/config'] * (folder in WITH_FILE)
    paths = sorted(path for place in (folder, *rooms)
                   for path in glob.glob(f'{place}/**/*.c', root_dir=ROOT, recursive=True))
    sources = [expand(read(path)) for path in paths if not re.search(r'test(ing)?\.c$|/fake/', path)]
    found = {}
    for text in sources:
        for call in re.finditer(r'\blog_(debug|info|warn|error|at)(\()', text):
            args = arguments(text, call.start(2))
            level = args.pop(0) if call[1] == 'at' else call[1]
            messages = words_of(args[0])
            if not messages:
                function = re.findall(r'^\w[^;=\n]*?(\w+)\([^;{}]*\)\n\{', text[:call.start()], re.M)[-1]
                callers = [arguments(other, at.end() - 1) for other in sources
                           for at in re.finditer(rf'\b{function}\(', other)]
                messages = [word for given in callers for arg in given for word in words_of(arg)]
            fields = frozenset(re.findall(r'LOG_\w+\(\s*"(\w+)"', ' '.join(args[1:])))
            for message in messages:
                found.setdefault(message, set()).add((level, fields))
    return found


def flags(program):
    """({flag}, {variable}) of --help."""
    text = subprocess.run([program, '--help'], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r'^  (?:-\w, )?--([\w-]+)', text, re.M)), set(re.findall(r'env\s+([A-Z][A-Z_]+)', text))


LIVE = '''
maglev:
  healthchecks: { closed: { type: tcp, port: 1, interval: 50ms, timeout: 50ms } }
  backends: { probed: { address: 127.0.0.1, healthcheck: closed }, static: { address: 127.0.0.2 } }
  frontends: { www: { address: 192.0.2.1, pools: [ { name: all, slow-start: 1s, backends: { probed: , static: } } ] } }
  vpp: { lb: { startup-min-delay: 0s, startup-max-delay: 0s, ipv4-src-address: 192.0.2.2, ipv6-src-address: "2001:db8::1" } }
'''
TOLD = ['counters 31', 'count-vip 192.0.2.1 6 80 1 1 1 1 1 1', 'count-as 192.0.2.1 6 80 127.0.0.1 1 1 1 1',
        'count-server 127.0.0.1 1 1', 'count-event late 1', 'info 1 2 3 4 5 6 -', 'message ping 1 1 1 1',
        'interface eth0 1 native -']

ACTS = ['show backends', 'set backend static pause for 1h', 'set frontend www pool all backend probed weight 7']


def tell(path):
    """The data plane of maglevd-fake what to tell of itself."""
    for line in TOLD:
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(path)
            control.sendall(line.encode() + b'\n')
            assert not control.recv(100), line


def live_labels(program):
    """{metric: set of its labels}, from the page of a maglevd that has seen a bit of everything."""
    fake = os.path.join(os.path.dirname(program), '../../tests/support/fake/maglevd-fake')
    with tempfile.TemporaryDirectory() as folder:
        with open(f'{folder}/maglev.yaml', 'w', encoding='utf-8') as config:
            config.write(LIVE)
        command = [fake, '--config', config.name, '--metrics-addr', '127.0.0.1:0', '--grpc-addr', '127.0.0.1:0']
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, 'MAGLEV_FAKE_SOCKET': f'{folder}/fake'}) as daemon:
            events = {}
            while not {'grpc', 'metrics', 'probed', 'lb-sync-vip', 'lb-sync-all'} <= set(events):
                line = json.loads(daemon.stdout.readline())
                events[line.get('backend', line.get('for', line['msg']))] = line
            tell(f'{folder}/fake')
            client = os.path.join(os.path.dirname(program), '../maglevc/maglevc')
            for words in ACTS:
                subprocess.run([client, '--server', events['grpc']['addr'], *words.split()], check=True,
                               stdout=subprocess.DEVNULL)
            with urllib.request.urlopen(f'http://{events["metrics"]["addr"]}/metrics', timeout=10) as answer:
                page = answer.read().decode()
            daemon.terminate()
            daemon.stdout.read()
    labels = {name: set() for name in re.findall(r'^# TYPE (\w+)', page, re.M)}
    for name, given in re.findall(r'^(\w+)\{(.*)\} \S+$', page, re.M):
        family = name if name in labels else re.sub('_(bucket|sum|count)$', '', name)
        labels[family] |= set(re.findall(r'(\w+)="', given)) - {'le'}
    return labels
