# SPDX-License-Identifier: Apache-2.0
"""maglevt: VIPs as their clients see them, on a screen and in a batch."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import time

import pytest

from lab import PATIENCE, config, frontend, pool, program, until

WEB1, WEB2 = 'X-IPng-Frontend: web1', 'X-IPng-Frontend: web2'


@pytest.fixture
def write(folders):
    """A file with these frontends: {name: server}, or what a frontend is written as."""

    def write(frontends, **more):
        body = config({}, {}, {name: frontend(one.address, pool('p'), port=one.port) if hasattr(one, 'port') else one
                               for name, one in frontends.items()})
        body['maglev'].update(more)
        path = os.path.join(folders(), 'maglev.yaml')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump(body, file)
        return path

    return write


def command(net, *flags):
    return net.probes.command(program('maglevt'), *flags)


def batch(net, *flags, env=None, duration='1s', code=0):
    """What a batch reports, as JSON."""
    done = subprocess.run(command(net, '--batch', '-o', 'json', '--duration', duration, '--interval', '20ms', *flags),
                          capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, **(env or {})}, check=False)
    assert done.returncode == code and not done.stderr, done
    report = json.loads(done.stdout)
    assert report['passed'] == (code == 0)
    return report['vips']


def test_a_batch_measures_and_counts_who_answered(net, servers, write):
    """FR-7.4: latency, success and the tally of a header"""
    a, b = servers.open(), servers.open(family=6)
    a.answer(headers=[WEB1])
    b.answer(headers=[WEB2])
    www, six = batch(net, '--config', write({'www': a, 'six': b}), '--scheme', 'http')
    assert (www['name'], www['scheme'], www['address'], www['port']) == ('www', 'http', a.address, a.port)
    assert www['ok'] >= 10 and www['failed'] == 0 and www['success'] == 1 and www['passed']
    assert www['headers'] == {'web1': www['ok']} and six['headers'] == {'web2': six['ok']}
    latency = www['latency_ms']
    assert 0 < latency['min'] <= latency['p50'] <= latency['p95'] <= latency['p99'] <= latency['max'] < 1000
    assert latency['min'] <= latency['mean'] <= latency['max']
    request = a.requests[0]
    assert request['request'].startswith('GET /.well-known/ipng/healthz ')
    assert len(a.connections) == www['ok']  # each hashed again


def test_every_way_to_fail_has_its_class(net, servers, write):
    bad, late, gone = servers.open(), servers.open(), servers.open()
    bad.answer(status=503, headers=[WEB1])
    late.behave('hang')
    gone.refuse()
    path = write({'bad': bad, 'late': late, 'gone': gone})
    bad, late, gone = batch(net, '--config', path, '--scheme', 'http', '--timeout', '2s', code=1)
    for vip, kind in ((bad, 'http-err'), (late, 'timeout'), (gone, 'net-err')):
        assert vip['ok'] == 0 and vip['failed'] == vip['errors'][kind] == sum(vip['errors'].values()) > 0
        assert not vip['passed'] and vip['success'] == 0
    assert bad['headers'] == {'web1': bad['failed']} and '503' in bad['last_error']
    assert 'refused' in gone['last_error']


def test_what_is_under_way_at_the_end_is_waited_for(net, servers, write):
    """A VIP that hangs is told from one that was never asked"""
    stuck = servers.open()
    stuck.behave('hang')
    vip, = batch(net, '--config', write({'stuck': stuck}), '--scheme', 'http', '--timeout', '1s', duration='100ms', code=1)
    assert (vip['ok'], vip['failed'], vip['errors']['timeout'], vip['success'], vip['latency_ms']) == (0, 1, 1, 0, None)
    assert 'timed out' in vip['last_error']


def shape(value):
    """Keys and types, all the way down; of a list its first."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    return [shape(one) for one in value[:1]] if isinstance(value, list) else (int, float) if isinstance(value, (int, float)) else type(value)


def test_the_manual_shows_the_report_as_it_is(net, servers, write):
    with open(os.path.join(os.path.dirname(__file__), '../../docs/man/maglevt.1'), encoding='utf-8') as page:
        text = page.read()
    shown = json.loads(re.search(r'\.Bd -literal.*?\n(\{.*?\n\})\n\.Ed', text, re.S)[1])
    a, b = servers.open(), servers.open()
    a.answer(headers=[WEB1])
    b.answer(headers=[WEB2])
    flags = ['--batch', '-o', 'json', '--duration', '500ms', '--config', write({'www': a}), '--scheme', 'http']
    report = json.loads(subprocess.run(command(net, *flags), capture_output=True, check=True, timeout=PATIENCE).stdout)
    report['vips'][0]['headers'] = shown['vips'][0]['headers'] = {}
    assert shape(report) == shape(shown)
    assert list(report) == list(shown) and list(report['vips'][0]) == list(shown['vips'][0])
    for key in [*report, *report['vips'][0], *report['vips'][0]['latency_ms']]:
        assert re.search(rf'^\.It (Va [\w, ]*)?\b{key}\b', text, re.M), f'{key} is not explained'


def test_what_is_good_enough_can_be_said(net, servers, write):
    flaky = servers.open()
    flaky.behave('flap', pattern=[200, 200, 200, 503])
    path = write({'flaky': flaky})
    assert 0.6 < batch(net, '--config', path, '--scheme', 'http', code=1)[0]['success'] < 0.9
    batch(net, '--config', path, '--scheme', 'http', '--min-success', '60%')
    flaky.behave('late', delay=0.1)
    batch(net, '--config', path, '--scheme', 'http', '--max-p99', '50ms', code=1)
    batch(net, '--config', path, '--scheme', 'http', '--max-p99', '10s')


def test_https_other_ports_and_keepalive(net, servers, write, authority):
    secure, plain = servers.open(certificate=authority.good), servers.open()
    path = write({'secure': secure, 'plain': plain})
    secure.answer(headers=[WEB1])
    vips = batch(net, '--config', path, '--scheme', 'https', '--host', 'www.example.net', '--filter', 'secure',
                 env={'SSL_CERT_FILE': authority.ca})
    assert [vip['name'] for vip in vips] == ['secure']
    assert secure.requests[0]['headers']['host'] == 'www.example.net'
    strict = batch(net, '--config', path, '--scheme', 'https', '--filter', 'secure', code=1)[0]
    assert strict['errors']['net-err'] == strict['failed'] > 0
    batch(net, '--config', path, '--scheme', 'https', '--filter', 'secure', '--insecure')
    tcp = batch(net, '--config', path, '--filter', 'tcp://.*:%d$' % plain.port)
    assert [(vip['name'], vip['scheme'], vip['headers']) for vip in tcp] == [('plain', 'tcp', {})]
    before = len(plain.connections)
    kept = batch(net, '--config', path, '--scheme', 'http', '--filter', 'plain', '--keepalive')[0]
    assert len(plain.connections) - before <= kept['ok'] / 5


def test_a_check_says_how_to_ask(net, servers, write, authority, folders):
    """Scheme, path, host, server name and codes are those of the check; flags go before it"""
    secure, plain = servers.open(certificate=authority.good), servers.open()
    secure.answer(status=401)
    plain.answer(status=500)
    checks = {'s': {'type': 'https', 'port': secure.port, 'params': {'path': '/up?a=b', 'host': 'shop.example.net', 'response-code': '401',
                                                                     'server-name': 'www.example.net'}},
              'p': {'type': 'http', 'port': plain.port, 'params': {'response-code': '500-599'}}}
    path = write({'secure': frontend(secure.address, pool('p', 'b1'), port=secure.port),
                  'plain': frontend(plain.address, pool('p', 'b2'), port=plain.port)}, healthchecks=checks,
                 backends={'b1': {'healthcheck': 's'}, 'b2': {'healthcheck': 'p'}})
    one, two = batch(net, '--config', path, '--ca', authority.ca)
    assert (one['scheme'], two['scheme']) == ('https', 'http')
    asked = secure.requests[0]
    assert asked['request'].startswith('GET /up?a=b ') and asked['headers']['host'] == 'shop.example.net'
    assert plain.requests[0]['request'].startswith('GET / ')
    failed, = batch(net, '--config', path, '--filter', 'secure', code=1)  # the system does not know this authority
    assert failed['errors']['net-err'] == failed['failed'] > 0
    secure.requests.clear()
    failed, = batch(net, '--config', path, '--filter', 'secure', '--ca', authority.ca, '--host', 'x.example.net', '--uri', '/y', code=1)
    assert 'x.example.net' in failed['last_error'] or failed['errors']['net-err']
    plain.answer(status=200)
    failed, = batch(net, '--config', path, '--filter', 'plain', code=1)
    assert '200 not in 500-599' in failed['last_error']
    bad = os.path.join(folders(), 'none.pem')
    done = subprocess.run(command(net, '--batch', '--config', path, '--ca', bad), capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith('maglevt: --ca: ') and bad in done.stderr


def test_the_port_says_how_to_ask(net, servers, write, authority):
    """In a namespace of its own every port is free"""
    address, kinds = net.address(), {80: 'http', 8080: 'http', 443: 'https', 8443: 'https', 25: 'tcp'}
    made = {f'p{port}': servers.open(address=address, port=port, certificate=authority.good if kind == 'https' else None)
            for port, kind in kinds.items()}
    vips = batch(net, '--config', write(made), '--insecure')
    assert {vip['port']: vip['scheme'] for vip in vips} == kinds
    assert all(bool(made[f'p{port}'].requests) == (kind != 'tcp') for port, kind in kinds.items())


def test_several_files_and_mistakes_elsewhere(net, servers, write):
    """Each VIP once; what else is wrong in a file does not matter here"""
    a, b = servers.open(), servers.open()
    udp = frontend('198.51.100.1', port=53, protocol='udp')
    first = write({'a': a, 'udp': udp}, nonsense={'x': 1}, backends={'web': {'address': 'no', 'what': []}})
    second = write({'again': a, 'b': b})
    vips = batch(net, '--config', f'{first},{second}', '--scheme', 'http')
    assert [vip['name'] for vip in vips] == ['a', 'b']


@pytest.mark.parametrize('flags, text', [
    (['--config', '/nonexistent'], '/nonexistent'), (['--filter', '('], '--filter: '),
    (['--filter', 'nothing'], 'no VIP with a TCP port to test that matches --filter'),
    (['--duration', '0s'], 'more than 0'), ([], 'this needs a terminal; without one use --batch')])
def test_what_is_wrong_is_said(write, flags, text):
    path = write({'a': frontend('127.0.0.1', port=9)})
    done = subprocess.run([program('maglevt'), '--config', path, *flags], capture_output=True, text=True, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 2 and text in done.stderr and not done.stdout, done


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('status', [200, 503])
def test_a_batch_that_is_interrupted_reports(net, servers, write, number, status):
    """All at the end, and nothing before; the exit code is that of what was seen"""
    a = servers.open()
    a.answer(status=status)
    process = subprocess.Popen(command(net, '--batch', '--duration', '1h', '--interval', '20ms', '--config',
                                       write({'a': a}), '--scheme', 'http'), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    a.wait_requests(3)
    assert not select.select([process.stdout, process.stderr], [], [], 0)[0]
    process.send_signal(number)
    out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == (0 if status == 200 else 1) and not errors
    assert re.search(rf'^VIP .* P99\nhttp {a.address}:{a.port} +{"100" if status == 200 else "0.00"}% ', out)
    heads, figures = out.splitlines()[:2]
    assert heads.endswith('P99') and len(heads) == len(figures.removesuffix('  FAILED'))


def test_a_report_that_cannot_be_written_is_a_failure(net, servers, write):
    with open('/dev/full', 'w', encoding='ascii') as full:
        done = subprocess.run(command(net, '--batch', '--duration', '200ms', '--config', write({'a': servers.open()})), stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2 and 'cannot write the report: No space left' in done.stderr


# ---- the screen ----

@pytest.fixture
def screen(net, terminal):
    def screen(path, *flags, **options):
        it = terminal(command(net, '--config', path, '--interval', '20ms', '--timeout', '3s', *flags), **options)
        it.wait_text('VIP ')
        return it

    return screen


def row(it, label):
    """The cells behind the label, once there are some."""
    found = it.wait(lambda s: next((line for line in s.lines if line.startswith(label + ' ') and '%' in line), None),
                    f'a row {label}')
    return found[len(label):].split()


def leave(it, key='q'):
    it.type(key)
    assert it.end() == 0
    it.wait(lambda s: not s.full, 'the screen that was there before')


def test_a_row_for_each_vip_fits_80_columns(net, servers, write, screen):
    """FR-7.4: min, average, max, percentiles, success, who answered"""
    a, b = servers.open(), servers.open(family=6)
    a.answer(headers=[WEB1])
    b.answer(headers=[WEB2])
    it = screen(write({'www': a, 'six': b}), '--scheme', 'http')
    it.wait_text('web1 2')
    lines = it.text.splitlines()
    assert len(lines) == 24 and max(map(len, lines)) <= 80
    assert lines[0].startswith(' maglevt on ') and '2 VIPs every 20ms, the last 1m0s' in lines[0]
    assert lines[1].split() == ['VIP', 'OK', 'N', 'FAIL', 'MIN', 'AVG', 'MAX', 'P50', 'P95', 'P99']
    cells = row(it, f'http {a.address}:{a.port}')
    assert cells[0] == '100%' and int(cells[1]) > 0 and cells[2] == '0'
    assert all(re.fullmatch(r'\d+(\.\d)?(µs|ms)', cell) for cell in cells[3:])
    row(it, f'http [{b.address}]:{b.port}')
    it.wait_text('No errors')
    assert lines[23].startswith(' q quit ')
    assert it.style_of(f'http {a.address}') == '32'
    leave(it)


def test_header_values_count_what_the_row_counts(net, servers, write, screen):
    """those of the window, and with the key l those since the start"""
    a = servers.open()
    a.answer(headers=[WEB1])
    it = screen(write({'www': a}), '--scheme', 'http', '--window', '1s')
    label = f'http {a.address}:{a.port}'

    def sums(screen):
        """(N, the sum of the values' counts), both on one screen"""
        values = re.findall(r'web\d (\d+)', screen.lines[3])
        return int(screen.lines[2].removeprefix(label).split()[1]), sum(map(int, values))

    it.wait_text('web1 2')
    a.answer(headers=[WEB2])
    it.wait(lambda s: s.lines[3].startswith('  web2 ') and len(set(sums(s))) == 1, 'web1 to leave the window')
    it.type('l')
    it.wait(lambda s: s.lines[3].startswith('  web1 ') and len(set(sums(s))) == 1, 'both since the start')
    leave(it)


def test_errors_have_their_panel(net, servers, write, screen):
    a, b = servers.open(), servers.open()
    it = screen(write({'a': a, 'b': b}), '--scheme', 'http')
    it.wait_text('No errors')
    a.answer(status=503)
    it.wait(lambda s: re.search(rf'http-err \d+x http {a.address}:{a.port}: status 503 not in 200-399', s.text), '503')
    b.behave('hang')
    it.wait(lambda s: re.search(rf'timeout  (\d+x )?http {b.address}:{b.port}: ', s.text), 'a timeout')
    a.refuse()
    it.wait(lambda s: re.search(rf'net-err  \d+x http {a.address}:{a.port}: connect: connection refused', s.text),
            'a refusal')
    it.wait(lambda s: '31' in s.style_of(f'http {a.address}'), 'a red row')
    leave(it)


def test_keys(net, servers, write, screen):
    a = servers.open()
    a.answer(headers=[WEB1])
    it = screen(write({'www': a}), '--scheme', 'http')
    it.wait_text('web1 ')
    it.type('n')
    it.wait_text(f'http www:{a.port} ')
    it.type('n', 'h')
    it.wait(lambda s: 'web1' not in s.text and f'http {a.address}:{a.port}' in s.text, 'the address alone')
    it.type('l')
    it.wait_text('since the start')
    it.type('p')
    it.wait_text('[paused]')
    it.type('r')
    it.wait(lambda s: re.search(rf'{a.port} +- +0 +0 +- ', s.text), 'no figures')
    it.type('p')
    it.wait(lambda s: re.search(rf'{a.port} +100% +[1-9]\d* +0 +\d', s.text), 'figures')
    leave(it)


def test_the_bar_shows_whole_keys_and_help_all_of_them(net, servers, write, screen):
    it = screen(write({'www': servers.open()}), '--scheme', 'http')
    keys = ['q quit', '? help', '/ filter', 'p pause', 's sort', 'l lifetime', 'h headers', 'd dns', 'n names', 'r reset', 'Esc no filter',
            'arrows scroll']
    for columns, n in ((80, 8), (120, 12), (79, 8), (72, 8), (71, 7), (40, 4), (15, 2)):
        it.resize(columns, 10)
        it.wait(lambda s: s.lines[9] == ' ' + '  '.join(keys[:n]), f'{n} keys in {columns} columns')
    it.resize(40, 10)
    it.type('?')
    it.wait(lambda s: s.lines[1].split('  ')[0] == ' q quit' and s.lines[4].rstrip().endswith('arrows scroll') and '100%' not in s.text,
            'help')
    for text in ('/ filter by regexp', 'n frontend names', 'r reset figures', 'Esc no filter'):
        assert text in it.text
    it.type('q')  # leaves the help alone
    it.wait_text('100%')
    leave(it)


def test_a_long_address_has_a_line_of_its_own(net, servers, write, screen):
    """readable at 80 columns, with all figures"""
    address = '2001:db8:1234:5678::100'
    net.servers.ip(f'addr add {address}/64 dev veth nodad')
    net.probes.ip('addr add 2001:db8:1234:5678::1/64 dev veth nodad')
    a, b = servers.open(address=address), servers.open()
    a.answer(headers=[WEB1])
    it = screen(write({'six': a, 'four': b}), '--scheme', 'https', '--scheme', 'http')
    label = f'http [{address}]:{a.port}'
    it.wait(lambda s: s.lines[2] == label and '100%' in s.lines[3] and s.lines[4].startswith('  web1 '), 'three lines')
    assert len(it.text.splitlines()[3].split()) == 9
    cells = row(it, f'http {b.address}:{b.port}')  # where there is room it is one
    assert len(cells) == 9
    it.resize(120, 24)
    assert len(row(it, label)) == 10
    it.resize(200, 24)  # the figures do not run away from what they are of
    found = it.wait(lambda s: next((line for line in s.lines if line.startswith(label) and s.columns == 200), None), 'a wide screen')
    assert found.index('100%') < len(label) + 10
    leave(it)


def test_any_tally_keeps_to_its_lines(net, servers, write, screen):
    """Many values, long ones, and bytes that are no text; those of the last 5 s stand out"""
    a, b = servers.open(), servers.open()
    a.answer(headers=['X-IPng-Frontend: Zürich-東京'])
    b.answer(headers=[WEB2])
    it = screen(write({'a': a, 'b': b}), '--scheme', 'http')
    it.wait_text('Zürich-東京 ')
    for name in ['\x85\u202e\u0301x', 'x' * 300, *(f'frontend-{i:02}' for i in range(40))]:
        a.answer(headers=[f'X-IPng-Frontend: {name}'])
        a.wait_more(2)
    it.wait(lambda s: re.search(r'frontend-28 \d[^+]* others \d+\nhttp ', s.text), 'all 32, and the others')
    lines = it.text.splitlines()
    assert len(lines) == 24 and max(map(len, lines)) <= 80
    assert lines[2].startswith(f'http {a.address}:{a.port} ') and lines[23].startswith(' q quit')
    assert 'Zürich-東京 ' in it.text and '\\u0085\\u202e?x ' in it.text and 'x' * 63 + ' ' in it.text
    it.wait(lambda s: s.style_of('frontend-00') == '2' and s.style_of('web2 ') == '1' and s.style_of('others ') == '1', 'a faint one and a bright one')
    it.resize(40, 10)
    it.wait(lambda s: len(s.text.splitlines()) == 10 and re.search(r'\n  .*\+\d+\n', s.text), 'one line')
    assert max(map(len, it.text.splitlines())) <= 40
    leave(it)


@pytest.mark.parametrize('kind', ['dumb', 'nonsense'])
def test_a_terminal_that_cannot_show_it_is_refused(net, write, terminal, kind):
    it = terminal(command(net, '--config', write({'a': frontend('127.0.0.1', port=9)})), env={'TERM': kind})
    it.wait_text('maglevt: this needs a terminal; without one use --batch')
    assert it.end() == 2


def test_it_follows_the_size_of_the_window(net, servers, write, screen):
    a = servers.open()
    it = screen(write({'a': a}))
    it.wait_text('100%')
    it.resize(120, 30)
    it.wait(lambda s: len(s.text.splitlines()) == 30 and 'LAST' in s.lines[1], 'a large screen')
    it.resize(50, 12)
    it.wait(lambda s: len(s.text.splitlines()) == 12 and s.lines[1].split() == ['VIP', 'OK', 'N', 'FAIL', 'P50'],
            'a small screen')
    it.resize(20, 3)
    it.wait(lambda s: s.lines[2].startswith(' q quit'), 'a tiny screen')
    it.resize(80, 24)
    it.wait_text('P99')
    leave(it)


def test_more_vips_than_rows_can_be_scrolled(net, write, screen):
    it = screen(write({f'f{i:02}': frontend(f'127.0.1.{i}', port=9) for i in range(1, 41)}), '--interval', '1s')
    it.wait_text('VIP 1-17 of 40 ')
    it.wait_text('tcp 127.0.1.1:9 ')
    it.type('Down')
    it.wait(lambda s: 'VIP 2-18 of 40 ' in s.text and 'tcp 127.0.1.1:9 ' not in s.text, 'one row further')
    it.type('PageDown')
    it.wait_text('VIP 19-35 of 40 ')
    it.type('Up', 'Up')
    it.wait_text('VIP 17-33 of 40 ')
    it.type('End')
    it.wait_text('VIP 24-40 of 40 ')
    leave(it)


# ---- the filter ----

def test_a_filter_narrows_as_it_is_typed(net, write, screen):
    it = screen(write({f'f{i:02}': frontend(f'127.0.1.{i}', port=9) for i in range(1, 41)}), '--interval', '100ms')
    it.wait_text('VIP 1-17 of 40 ')
    it.type('/')
    it.wait(lambda s: s.lines[23].startswith('/   Enter keeps it'), 'a line to type in')
    it.type('F3')
    it.wait(lambda s: ': 10 of 40 VIPs every' in s.lines[0] and '127.0.1.39:9 ' in s.text, 'ten VIPs')
    it.wait(lambda s: 'net-err' in s.text and set(re.findall(r'127\.0\.1\.\d+', s.text)) == {f'127.0.1.{i}' for i in range(30, 40)},
            'these and their errors')
    it.type('[')
    it.wait(lambda s: s.lines[23].startswith('/F3[') and '31' in s.style_of('/F3['), 'a red line')
    it.wait(lambda s: ': 10 of 40 VIPs' in s.text and '127.0.1.39:9 ' in s.text, 'the same ten')
    it.type('Enter')  # is not taken
    it.type('Backspace')
    it.wait(lambda s: s.lines[23].startswith('/F3 ') and '31' not in s.style_of('/F3'), 'a line that is not red')
    it.type('é', '🙂')
    it.wait(lambda s: ': 0 of 40 VIPs' in s.text and 'No VIP matches the filter\n\nNo errors' in s.text, 'nothing')
    it.type('Backspace', 'Backspace')
    it.wait_text(': 10 of 40 VIPs')
    it.type('^U')
    it.wait(lambda s: ' 40 VIPs' in s.text and ' of 40 VIPs' not in s.text, 'all of them')
    it.type('^tcp 127.*9:9', 'Enter')  # as it is on the screen
    it.wait(lambda s: s.lines[23].startswith(' /^tcp 127.*9:9  q quit  ? help') and ': 4 of 40 VIPs' in s.text, 'a filter that stays')
    it.type('n')  # the name is in both
    it.wait(lambda s: 'tcp f09:9 ' in s.text and ': 4 of 40' in s.text, 'names')
    it.type('/', 'Escape')
    it.wait(lambda s: s.lines[23].startswith(' q quit') and ' of 40 VIPs' not in s.text, 'all of them')
    leave(it)


def test_what_the_filter_hides_is_asked_nevertheless(net, servers, write, screen):
    a, b = servers.open(), servers.open()
    it = screen(write({'seen': a, 'hidden': b}), '--scheme', 'http')
    it.type('/', 'seen', 'Enter')
    it.wait(lambda s: ': 1 of 2 VIPs' in s.text and f'{b.address}:{b.port}' not in s.text, 'one VIP')
    b.wait_more(5)
    b.answer(status=503)
    b.wait_more(5)
    assert 'No errors' in it.text
    it.type('Escape')
    it.wait(lambda s: re.search(rf'http-err (\d+x )?http {b.address}:{b.port}: status 503', s.text), 'what was hidden')
    leave(it)


# a machine with another name, another hosts file and another name server
ELSEWHERE = ('cd "$1"; shift; for file in hosts nsswitch.conf resolv.conf; do mount --bind $file /etc/$file || exit 99; done; '
             'hostname laptop; exec "$@"')


def name_is(question, name):
    """The answer of a name server."""
    labels = b''.join(bytes([len(word)]) + word.encode() for word in name.split('.')) + b'\0'
    return question[:2] + b'\x81\x80\0\1\0\1\0\0\0\0' + question[12:] + b'\xc0\x0c\0\x0c\0\1\0\0\0\x3c' \
        + struct.pack('!H', len(labels)) + labels


def test_names_are_looked_up_aside(net, servers, write, terminal, folders):
    """Reverse DNS never holds the loop, however long a name server is silent; the title has our full name"""
    a, folder = servers.open(), folders()
    for name, text in (('hosts', '127.0.0.1 localhost\n127.0.1.1 laptop.example.net laptop\n'), ('nsswitch.conf', 'hosts: files dns\n'),
                       ('resolv.conf', 'nameserver 127.0.0.1\noptions timeout:30\n')):
        with open(os.path.join(folder, name), 'w', encoding='ascii') as file:
            file.write(text)
    with net.probes.socket(kind=socket.SOCK_DGRAM) as dns:
        dns.bind(('127.0.0.1', 53))
        dns.settimeout(PATIENCE)
        it = terminal(net.probes.command('unshare', '--mount', '--uts', 'sh', '-c', ELSEWHERE, 'sh', folder, program('maglevt'), '--config',
                                         write({'www': a}), '--scheme', 'http', '--interval', '20ms', '--dns'))
        question, peer = dns.recvfrom(512)
        it.wait(lambda s: s.lines[0].startswith(' maglevt on laptop.example.net: 1 VIP every 20ms'), 'our full name')
        before = int(row(it, f'http {a.address}:{a.port}')[1])
        a.wait_more(10)
        it.wait(lambda s: re.search(rf'{a.port} +100% +(\d+)', s.text) and int(re.search(rf'{a.port} +100% +(\d+)', s.text)[1]) > before,
                'a screen that is alive')
        dns.sendto(name_is(question, 'www.example.net'), peer)
        it.wait_text(f'http www.example.net:{a.port}')
        it.type('/', 'EXAMPLE', 'Enter')
        it.wait(lambda s: s.lines[23].startswith(' /EXAMPLE') and 'www.example.net' in s.text, 'a filter by this name')
        it.type('d')
        it.wait(lambda s: f'http {a.address}:{a.port} ' not in s.text and ': 0 of 1 VIP ' in s.text, 'which is not shown any more')
        it.type('Escape')
        it.wait_text(f'http {a.address}:{a.port} ')
        leave(it)


def test_signals_give_the_terminal_back(net, servers, write, screen):
    path = write({'a': servers.open()})
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        it = screen(path)
        it.process.send_signal(number)
        assert it.end() == 0
        it.wait(lambda s: not s.full, 'the screen that was there before')
    leave(screen(path), '^C')


def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again(net, servers, write, terminal):
    a = servers.open()
    line = ' '.join([program('maglevt'), '--config', write({'www': a}), '--scheme', 'http', '--interval', '20ms', '--timeout', '5s'])
    it = terminal(net.probes.command('bash', '--norc', '--noediting', '-i'), env={'PS1': 'ready> '})
    it.wait_last('ready>')
    it.type(line, 'Enter')
    it.wait(lambda s: s.full and '100%' in s.text, 'the screen')
    assert not it.echoes
    a.behave('hang')  # one is in flight: the pause is not its fault
    a.wait_more(1)
    began = time.monotonic()
    it.type('^Z')
    it.wait(lambda s: not s.full and 'Stopped' in s.text, 'the shell')
    assert it.echoes
    until(lambda: time.monotonic() > began + 5, what='the end of the time that a request has')
    a.answer()
    it.resize(120, 30)
    it.type('fg', 'Enter')
    it.wait(lambda s: s.full and len(s.text.splitlines()) == 30 and 'LAST' in s.lines[1], 'the screen in its new size')
    assert not it.echoes
    a.wait_more(5)
    row(it, f'http {a.address}:{a.port}')
    assert 'timeout' not in it.text
    it.type('q')
    it.wait(lambda s: not s.full and s.lines[29].startswith('ready>'), 'the shell')
    it.type('exit', 'Enter')
    assert it.end() == 0


def test_where_no_shell_could_wake_it_ctrl_z_does_nothing(net, servers, write, screen):
    a = servers.open()
    it = screen(write({'www': a}), '--scheme', 'http')
    it.wait_text('100%')
    it.type('^Z')
    a.wait_more(20)
    it.type('l')
    it.wait(lambda s: s.full and 'since the start' in s.text, 'an answer to a key')
    leave(it)


def test_a_stop_that_nobody_announced_is_mended(net, servers, write, screen):
    it = screen(write({'www': servers.open()}), '--scheme', 'http')
    it.wait_text('100%')
    it.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, it.process.pid, os.WSTOPPED | os.WNOWAIT)
    mode = termios.tcgetattr(it.slave)
    termios.tcsetattr(it.slave, termios.TCSANOW, it.before)  # as a shell does
    it.write('\x1b[2J\x1b[Hready> ')
    it.wait(lambda s: s.text == 'ready>', 'another program')
    it.process.send_signal(signal.SIGCONT)
    it.wait(lambda s: s.lines[0].startswith(' maglevt on ') and s.lines[23].startswith(' q quit'), 'the whole picture')
    assert termios.tcgetattr(it.slave) == mode
    leave(it)


@pytest.mark.parametrize('controlling', [True, False], ids=['with a signal', 'without'])
def test_a_terminal_that_vanishes_ends_it(net, servers, write, controlling):
    master, slave = pty.openpty()
    process = subprocess.Popen(command(net, '--config', write({'www': servers.open()})), stdin=slave, stdout=slave, stderr=slave,
                               start_new_session=True, env={**os.environ, 'TERM': 'xterm'},
                               preexec_fn=lambda: controlling and fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)
    seen = b''
    while b'VIP' not in seen:
        seen += os.read(master, 65536)
    os.close(master)
    try:
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
