# SPDX-License-Identifier: Apache-2.0
"""The shell of maglevc, by somebody who sits at a terminal."""
import itertools
import json
import os
import re
import signal
import socket
import subprocess

import pytest

from lab import PATIENCE, SPARE, VIP, Check, config, frontend, pool, program, until

A, B = '10.99.0.11', '10.99.0.12'
FILE = config({'slow': Check('tcp', 1, 3600, 3600, 3600)},
              {'web1': A, 'web2': B, 'web three': SPARE, 'probed': ('10.99.0.13', 'slow')},
              {'www': frontend(VIP, pool('primary', 'web1', 'web2'), pool('fallback', 'web three')),
               'wiki': frontend('198.51.100.11', pool('primary', 'web1'))}, dataplane='vpp')
GREEN, RED, BLUE = '32', '31', '34'


@pytest.fixture
def daemon(start_api):
    daemon = start_api(FILE)
    daemon.wait('lb-sync-all')
    return daemon


@pytest.fixture
def shell(terminal):
    """Starts one on a server and waits for its first prompt."""

    def shell(port, *flags, state='', **options):
        it = terminal([program('maglevc'), '--server', f'localhost:{port}', *flags], **options)
        it.prompt = f'localhost:{port}> '
        it.wait_last(f'localhost:{port}{state}>')
        return it

    return shell


def say(it, line):
    """Types a line and returns what was printed for it."""
    it.type(line, 'Enter')
    echo, prompt = re.escape((it.prompt + line).rstrip()), re.escape(it.prompt.rstrip())
    seen = it.wait(lambda screen: re.search(rf'^{echo}\n(.*?\n)??{prompt}\Z', screen.text, re.M | re.S),
                   f'the prompt behind {line!r}')
    return seen[1] or ''


def leave(it):
    it.type('^D')
    assert it.end() == 0


def test_it_runs_commands_in_colour(daemon, shell):
    """FR-7.1: the same commands as in one-shot mode, over the same tree"""
    it = shell(daemon.api_port)
    assert it.text.startswith('maglevc ')
    assert it.style_of('localhost:') == GREEN
    shown = say(it, 'show backends')
    assert [line.split()[0] for line in shown.splitlines()] == ['NAME', 'probed', 'web', 'web1', 'web2']
    assert it.style_of('NAME') == BLUE and it.style_of('up  ') == GREEN
    assert 'paused' in say(it, 'set backend web1 pause reason "new disk"')
    override = daemon.api.backend('web1').override
    assert (override.act, override.reason) == ('paused', 'new disk')
    assert say(it, 'show nonsense') == \
        'unknown word "nonsense" after "show"; possible: version, frontends, backends, he\nalthchecks, config, overrides, lb, vpp, history, announcements, sessions, speake\nr, router, listeners, routes, streams, pools, generations, route-for\n'
    assert it.style_of('unknown word') == RED
    assert say(it, 'show backends x') == 'no backend is called "x"\n'
    assert say(it, '# nothing') == ''
    assert 'there is no closing "' in say(it, 'show backends "x')
    it.type('exit', 'Enter')
    assert it.end() == 0


@pytest.mark.parametrize('flags, env, coloured', [
    (['--color=false'], {}, False), ([], {'MAGLEV_COLOR': 'false'}, False), ([], {'NO_COLOR': '1'}, False),
    ([], {'NO_COLOR': ''}, True), (['--color'], {'NO_COLOR': '1'}, True)])
def test_without_colour(daemon, shell, flags, env, coloured):
    it = shell(daemon.api_port, *flags, env=env)
    say(it, 'show backends')
    say(it, 'nonsense')
    assert [it.style_of(text) for text in ('NAME', 'localhost:', 'unknown word')] == \
        ([BLUE, GREEN, RED] if coloured else ['', '', ''])
    it.type('quit', 'Enter')
    assert it.end() == 0


def test_tab_completes_commands_and_names(daemon, shell):
    """FR-7.1: what is only one is completed, what is many is shown; names are the server's"""
    it = shell(daemon.api_port)
    it.type('sh', 'Tab', 'fr', 'Tab')
    it.wait_last(f'{it.prompt}show frontends')
    it.type('w', 'Tab')
    it.wait_text('\nwiki  www\n')
    it.wait_last(f'{it.prompt}show frontends w')
    it.type('w', 'Tab', 'Enter')
    it.wait_text('pools')
    it.type('set fr www pool f', 'Tab', 'backend ', 'Tab')
    it.wait_last(f'{it.prompt}set fr www pool fallback backend "web three"')
    it.type('we', 'Tab', '7', 'Enter')
    it.wait_text('backend web three: weight 7')
    bells = it.screen.bells
    it.type('nonsense ', 'Tab')
    it.wait(lambda screen: screen.bells > bells, 'a bell')
    it.type('^C')
    daemon.api.call('ReloadConfig')
    daemon.write(config({}, {'new-one': A}, {'www': frontend(VIP, pool('primary', 'new-one'))}, dataplane='vpp'))
    assert 'reloaded' in say(it, 'config reload')
    it.type('show backends ne', 'Tab')
    it.wait_last(f'{it.prompt}show backends new-one')
    it.type('Enter')
    leave(it)


def test_tab_in_the_middle_of_a_word_does_not_double_its_end(daemon, shell):
    it = shell(daemon.api_port)
    for line, back, seen in (('show frontends www', 6, 'show frontends |www'),
                             ('show frontends www', 11, 'show frontends |www'),
                             ('show frontends www', 2, 'show frontends w|ww'),  # there is wiki, too
                             ('show backends "web three" x', 6, 'show backends "web three" |x'),
                             ('show backends web1', 2, 'show backends web|1'),
                             ('show fronx www', 5, 'show frontends |x www')):
        it.type(line, *['^B'] * back, 'Tab', '|')
        it.wait_last(it.prompt + seen)
        it.type('^A', '^K')
        it.wait_last(it.prompt.rstrip())
    leave(it)


def test_a_thousand_names_fit_on_the_screen(start_api, shell):
    """What is listed stays in sight, below the line that it is for"""
    port = start_api(config({}, {f'web{n:04}': A for n in range(1000)}, {'www': frontend(VIP, pool('p', 'web0000'))},
                            dataplane='vpp')).api_port
    it = shell(port)
    it.type('^L', 'show backends w', 'Tab', 'Tab')
    line = f'{it.prompt}show backends web0'
    it.wait(lambda screen: screen.lines[0] == screen.lines[-1] == line, 'the line above and below the list')
    lines = it.text.splitlines()
    assert lines[1].split()[0] == 'web0000' and lines[-2] == f'... and {1000 - 21 * 8} more'
    it.type('^U', '^L', 'show backends ?')
    line = f'{it.prompt}show backends'
    it.wait(lambda screen: screen.lines[0] == screen.lines[-1] == line, 'the line above and below the help')
    assert it.text.splitlines()[1].split()[0] == '<name>'
    it.type('^U')
    leave(it)


def test_a_question_mark_helps_and_is_not_entered(daemon, shell):
    """FR-7.1: help inline; but between quotes it is a character"""
    it = shell(daemon.api_port)
    it.type('config ?')
    it.wait_text(f'{it.prompt}config\n'
                 '  check   is the file good, what would a reload change\n'
                 '  reload  have the server read its file again\n'
                 f'{it.prompt}config')
    it.type('^U', 'show frontends ?')
    it.wait_text('  <Enter>  all frontends\n  |        only some of the lines, or their number\n    wiki  www\n')
    it.wait_last(f'{it.prompt}show frontends')
    it.type('^U', 'set backend web2 pause reason "why?"', 'Enter')
    it.wait_text('[paused] why?')
    assert daemon.api.backend('web2').override.reason == 'why?'
    leave(it)


def test_ctrl_c_ends_a_watch_and_not_the_shell(daemon, shell):
    """Issue of the shell: Ctrl-C ends what runs, or gives the line up; any key ends a watch, too"""
    it = shell(daemon.api_port)
    for key in ('^C', 'q', 'Up'):
        it.type('watch events frontend', 'Enter')
        it.wait(lambda screen: 'frontend      www ' in screen.text.rsplit(it.prompt, 1)[-1], 'an event')
        it.type(key)
        it.wait_last(it.prompt.rstrip())
        say(it, 'show version')
        it.type('^L')
        it.wait(lambda screen: screen.text == it.prompt.rstrip(), 'an empty screen')
    daemon.wait_metric('maglev_watch_subscribers', 0)
    it.type('show ba')
    it.wait_last(f'{it.prompt}show ba')
    it.type('^C')
    it.wait_text(f'{it.prompt}show ba^C\n{it.prompt.rstrip()}')
    daemon.signal(signal.SIGSTOP)
    it.type('show frontends', 'Enter')
    until(lambda: it.makes_signals, what='the command')
    it.type('^C')
    it.wait_text('interrupted; it may have been done all the same')
    daemon.signal(signal.SIGCONT)
    it.wait_last(it.prompt.rstrip())
    leave(it)


def test_lines_behind_a_watch_are_not_lost(daemon, shell):
    """They end it, as any key does, and are all run as they were pasted"""
    it = shell(daemon.api_port)
    it.type('watch events\rset backend web1 pause\rset backend web2 pause\rshow ver')
    it.wait_last(f'{it.prompt}show ver')
    assert daemon.api.backend('web1').state == daemon.api.backend('web2').state == 'paused'
    it.type('^U')
    leave(it)


def test_a_stream_goes_on_while_it_is_shown(daemon, shell):
    it = shell(daemon.api_port)
    it.type('watch events num 20 backend frontend', 'Enter')
    it.wait_text('is up')
    daemon.api.call('PauseBackend', name='web1')
    it.wait_text('up -> paused')
    it.type('q')
    it.wait_last(it.prompt.rstrip())
    leave(it)


def test_the_prompt_tells_whether_the_server_is_there(start_api, shell):
    """Issue of the shell: it connects again by itself, and Tab never hangs while nobody is there"""
    daemon = start_api(FILE)
    port = daemon.api_port
    it = shell(port)
    it.type('show ba')
    it.wait_last(f'{it.prompt}show ba')
    daemon.stop()
    it.wait_last(f'localhost:{port} (unreachable)> show ba')
    assert it.style_of('localhost:') == RED
    it.type('ckends ', 'Tab', 'w', 'Tab', 'x')
    it.wait_last(f'localhost:{port} (unreachable)> show backends wx', timeout=2)
    it.type('^U', 'show backends', 'Enter')
    it.wait_text(f'cannot reach localhost:{port}: ')
    it.type('show ver')
    start_api(FILE, grpc=f'127.0.0.1:{port}')
    it.wait_last(f'{it.prompt}show ver')
    it.type('^U')
    assert 'web1' in say(it, 'show backends')
    leave(it)


def test_a_server_that_hangs_is_noticed(daemon, shell):
    it = shell(daemon.api_port, '--timeout', '1s')
    daemon.signal(signal.SIGSTOP)
    it.wait_last(f'localhost:{daemon.api_port} (no answer)>')
    it.type('show backends ', 'Tab', '^U', 'show version', 'Enter')
    it.wait_text(f'> show version\nmaglevc ', timeout=2)
    daemon.signal(signal.SIGCONT)
    it.wait_last(it.prompt.rstrip())
    leave(it)


def test_nobody_is_there_at_the_start(shell, start_api):
    it = shell(1, state=' (unreachable)')
    assert it.text.splitlines()[1].startswith('cannot reach localhost:1: ')
    it.type('help', 'Enter')
    it.wait_text('leave the shell')
    leave(it)


@pytest.fixture
def silent():
    """A name server that hears all and says nothing: its address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as it:
        it.bind((f'127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}.53', 53))
        yield it.getsockname()[0]


def test_a_name_may_become_known_later(daemon, terminal, folders, silent):
    """Nobody waits for a name server: the prompt is there, keys are answered, and the name is looked up again"""
    folder, address = folders(), f'late.invalid:{daemon.api_port}'
    hosts, servers = (os.path.join(folder, name) for name in ('hosts', 'resolv.conf'))
    for path, text in ((hosts, ''), (servers, f'nameserver {silent}\n')):
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
    it = terminal(['unshare', '-m', 'sh', '-c', 'mount --bind "$0" /etc/hosts && mount --bind "$1" /etc/resolv.conf && '
                   'shift && exec "$@"', hosts, servers, program('maglevc'), '--server', address, '--timeout', '1s'])
    it.wait(lambda screen: re.search(rf'^{re.escape(address)} \(.*\)>\Z', screen.text, re.M), 'the prompt', timeout=5)
    it.type('show ver', 'Tab', 'Enter')
    it.wait_text('show version\nmaglevc ', timeout=2)
    with open(hosts, 'w', encoding='ascii') as file:
        file.write('127.0.0.1 late.invalid\n')
    it.wait_last(f'{address}>')
    it.type('show backends', 'Enter')
    it.wait_text('web1')
    leave(it)


def test_a_name_server_that_is_silent_is_not_taken_for_the_server(folders, silent):
    """The complaint is that of the lookup"""
    servers = os.path.join(folders(), 'resolv.conf')
    with open(servers, 'w', encoding='ascii') as file:
        file.write(f'nameserver {silent}\n')
    done = subprocess.run(['unshare', '-m', 'sh', '-c', 'mount --bind "$0" /etc/resolv.conf && exec "$@"', servers, program('maglevc'),
                           '--server', 'silent.invalid:9090', '--timeout', '300ms', 'show', 'backends'], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, 'maglevc: cannot reach silent.invalid:9090: the name lookup did not end in time\n')


def test_history_is_kept_for_the_next_shell(daemon, shell, folders):
    """In the folder for state, private; not at all if that is not wanted, or there is no place"""
    home = folders()
    it = shell(daemon.api_port, '--history', '', env={'HOME': home}, cwd=home)
    say(it, 'show version')
    leave(it)
    assert os.listdir(home) == []
    for env, path in (({'HOME': home}, '.local/state/maglevc/history'),
                      ({'HOME': '/nonexistent', 'XDG_STATE_HOME': f'{home}/state'}, 'state/maglevc/history')):
        it = shell(daemon.api_port, env=env, cwd=home)
        say(it, 'show version')
        leave(it)
        path = os.path.join(home, path)
        assert os.stat(path).st_mode & 0o777 == 0o600 and os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700
        it = shell(daemon.api_port, env=env, cwd=home)
        it.type('Up')
        it.wait_last(f'{it.prompt}show version')
        it.type('^U')
        leave(it)
    assert not os.path.exists('/nonexistent')
    with open(os.path.join(home, 'state/maglevc/history'), 'w', encoding='utf-8') as file:
        file.write('not a history\n')
    leave(shell(daemon.api_port, env={'XDG_STATE_HOME': f'{home}/state'}))
    with open(os.path.join(home, 'state/maglevc/history'), encoding='utf-8') as file:
        assert file.read() == 'not a history\n'


def test_history_is_kept_in_the_file_that_is_named(daemon, shell, folders):
    home = folders()
    path = os.path.join(home, 'history')
    it = shell(daemon.api_port, '--history', path)
    say(it, 'show version')
    say(it, 'help config')
    leave(it)
    assert os.stat(path).st_mode & 0o777 == 0o600
    it = shell(daemon.api_port, env={'MAGLEV_HISTORY': path})
    it.type('Up', 'Up')
    it.wait_last(f'{it.prompt}show version')
    it.type('^U')
    leave(it)


def test_a_history_that_is_none_is_refused(terminal, folders):
    path = os.path.join(folders(), 'precious')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('not ours\n')
    for name, why in ((path, 'not a history'), ('/nonexistent/x', 'No such file or directory')):
        it = terminal([program('maglevc'), '--server', 'localhost:1', '--history', name])
        it.wait_text(f'--history: {name}: {why}')
        assert it.end() == 2
    with open(path, encoding='utf-8') as file:
        assert file.read() == 'not ours\n'


def test_long_lines_narrow_windows_and_other_alphabets(daemon, shell):
    it = shell(daemon.api_port, columns=50)
    line = 'set backend web1 pause reason "Größe und Höhe, zu klein für ein Fenster"'
    it.type(line, '^A', '?')
    it.wait_text('quit      leave the shell\n')
    it.wait(lambda screen: screen.text.replace('\n', '').endswith(f'quit      leave the shell{it.prompt}{line}'),
            'the whole line')
    it.resize(100, 30)
    it.wait_last(it.prompt + line)
    it.type('Enter')
    it.wait_text('[paused] Größe')
    assert daemon.api.backend('web1').override.reason == 'Größe und Höhe, zu klein für ein Fenster'
    leave(it)


def test_signals_leave_the_terminal_as_it_was(daemon, shell):
    for number in (signal.SIGTERM, signal.SIGHUP):
        it = shell(daemon.api_port)
        it.type('watch ev')
        it.wait_last(f'{it.prompt}watch ev')
        it.process.send_signal(number)
        assert it.end() == 0


# As a shell that leaves the terminal as a job that was stopped has left it: bash and others repair it.
JOBS = """import os, signal, sys, termios
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, setpgroup=0, setsigdef=[signal.SIGTTOU])
while True:
    os.tcsetpgrp(0, pid)
    os.kill(pid, signal.SIGCONT)
    status = os.waitpid(pid, os.WUNTRACED)[1]
    os.tcsetpgrp(0, os.getpgrp())
    if not os.WIFSTOPPED(status):
        sys.exit(os.waitstatus_to_exitcode(status))
    flags = termios.tcgetattr(0)[3]
    input('\\nstopped; ' + ('sane' if flags & termios.ICANON and flags & termios.ECHO else 'strange'))
"""


def test_ctrl_z_gives_the_terminal_back_and_takes_it_again(daemon, terminal):
    it = terminal(['/usr/bin/python3', '-c', JOBS, program('maglevc'), '--server', f'localhost:{daemon.api_port}'])
    it.prompt = f'localhost:{daemon.api_port}> '
    it.wait_last(it.prompt.rstrip())
    it.type('show ver', '^Z')
    it.wait_last('stopped; sane')
    it.type('Enter')
    it.wait_last(f'{it.prompt}show ver')
    it.type('sion', 'Enter', 'watch events frontend', 'Enter')
    it.wait_text('frontend      www ')
    it.type('^Z')
    it.wait_last('stopped; sane')
    it.type('Enter')
    until(lambda: not it.echoes, what='the terminal of the watch')
    it.type('q')
    it.wait_last(it.prompt.rstrip())
    leave(it)


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_shell_whatever_it_does(daemon, shell, number):
    """Not only the command: nobody is there to press a key behind it"""
    it = shell(daemon.api_port)
    it.type('watch events frontend', 'Enter')
    it.wait_text('frontend      www ')
    it.process.send_signal(number)
    assert it.end() == 0
    it = shell(daemon.api_port)
    daemon.signal(signal.SIGSTOP)
    it.type('show frontends', 'Enter')
    until(lambda: it.makes_signals, what='the command')
    it.process.send_signal(number)
    assert it.end(2) == 0
    daemon.signal(signal.SIGCONT)


# ---- without a terminal ----

def run(port, script, *flags):
    return subprocess.run([program('maglevc'), '--server', f'localhost:{port}', *flags], input=script, text=True,
                          capture_output=True, timeout=PATIENCE, check=False)


def test_a_script_on_standard_input(daemon):
    """FR-7.1: one command a line, up to the first that fails"""
    done = run(daemon.api_port, '# drain\nset backend web1 pause reason "new disk"  # of web1\n\n'
                                'show backends web1\nexit\nnonsense\n')
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.startswith('backend web1: paused [paused] new disk\nname ')
    assert '\033' not in done.stdout
    done = run(daemon.api_port, 'show version\nset backend x pause\nset backend web2 pause\n', '-o', 'json')
    assert done.returncode == 1 and done.stderr == 'maglevc: line 2: no backend is called "x"\n'
    assert json.loads(done.stdout)['version']
    assert daemon.api.backend('web2').state == 'up'
    done = run(daemon.api_port, 'show version\nshow "x\n')
    assert done.returncode == 2 and done.stderr == 'maglevc: line 2: there is no closing "\n'
    assert run(daemon.api_port, '').returncode == 0
    assert run(1, 'show backends\n').returncode == 3


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_script(daemon, number):
    """Nobody wants what stands behind the watch to be done because of it"""
    with subprocess.Popen([program('maglevc'), '--server', f'localhost:{daemon.api_port}'], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as it:
        it.stdin.write('watch events frontend\nset backend web1 disable\n')
        it.stdin.close()
        assert 'frontend' in it.stdout.readline()
        it.send_signal(number)
        assert it.wait(PATIENCE) == 0
    assert daemon.api.backend('web1').state == 'up'


# ---- completion of other shells ----

def answers(port, line):
    """What may follow, as other shells are told when somebody has typed that much."""
    done = subprocess.run([program('maglevc'), '__complete', f'maglevc --server localhost:{port} {line}'], text=True,
                          capture_output=True, timeout=PATIENCE, check=True)
    assert not done.stderr
    return [line.split('\t')[0] for line in done.stdout.splitlines()]


def test_what_other_shells_are_told(daemon):
    assert answers(daemon.api_port, 'show fr') == ['frontends']
    assert answers(daemon.api_port, 'show frontends ') == ['wiki', 'www', 'state', 'name']
    assert answers(daemon.api_port, 'show backends web') == ['web three', 'web1', 'web2']
    assert answers(daemon.api_port, 'show backends "web t') == answers(daemon.api_port, 'show backends web\\ t') == ['web three']
    assert answers(daemon.api_port, '-o json set frontend www pool ') == ['primary', 'fallback']
    assert answers(daemon.api_port, '--col') == ['--color']
    assert answers(daemon.api_port, 'co') == ['config', 'completion']
    assert answers(daemon.api_port, 'completion ') == ['bash', 'zsh', 'fish']
    assert answers(daemon.api_port, 'completion fish ') == []
    assert answers(daemon.api_port, 'e') == ['explain']  # no exit outside the shell
    assert answers(1, 'show frontends w') == []
    assert answers('x', 'show frontends w') == []
    assert answers(daemon.api_port, '--nonsense show ') == []
    assert answers(daemon.api_port, 'show # ') == []


def script_of(shell, folder):
    path = os.path.join(folder, 'maglevc.' + shell)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(subprocess.run([program('maglevc'), 'completion', shell], capture_output=True, text=True,
                                  check=True).stdout)
    return path


STARTS = {'bash': ['bash', '--norc', '--noprofile'], 'zsh': ['zsh', '-f'], 'fish': ['fish', '--no-config']}
SETUP = {'bash': ['PS1="$ "; . {0}'], 'zsh': ['PROMPT="$ "; autoload -U compinit; compinit -u -D; . {0}'],
         'fish': ['function fish_prompt; echo -n \'$ \'; end; source {0}']}


@pytest.fixture
def other(terminal, folders):
    """Starts another shell, in a folder of its own, that has been told how maglevc is completed."""

    def other(shell, **env):
        folder = folders()
        path = f'{os.path.dirname(program("maglevc"))}:{os.environ["PATH"]}'
        it = terminal(STARTS[shell], columns=120, cwd=folder, env={'PATH': path, 'HOME': folder, **env})
        it.type(SETUP[shell][0].format(script_of(shell, folder)), 'Enter')
        with open(os.path.join(folder, 'authority one.pem'), 'w', encoding='ascii'):
            pass
        clear(it)
        return it

    return other


NUMBERS = itertools.count()


def clear(it):
    """Gives up the line; the number is there only once the shell has done so."""
    number = next(NUMBERS)
    it.type('^U', f'clear; echo {number}', 'Enter')
    it.wait(lambda screen: screen.text == f'{number}\n$', 'a prompt')


def becomes(it, typed, line):
    """With a Tab behind it, the one line is the other."""
    it.type(typed, 'Tab')
    it.wait(lambda screen: screen.text.rsplit('\n', 1)[-1].startswith('$ ' + line), line)
    clear(it)


def offers(it, typed, *words):
    it.type(typed, 'Tab', 'Tab')
    it.wait(lambda screen: set(words) <= set(re.split(r'\s+', screen.text)), f'{words} behind {typed!r}')
    clear(it)


@pytest.mark.parametrize('shell', ['bash', 'zsh', 'fish'])
def test_other_shells_complete(daemon, other, shell):
    """FR-7.1: one-shot mode, commands and names"""
    it = other(shell, MAGLEV_SERVER=f'localhost:{daemon.api_port}')
    it.type('maglevc sho', 'Tab', 'fro', 'Tab', 'ww', 'Tab', 'Enter')
    it.wait_text('name           www')
    clear(it)
    it.type('maglevc show backends web\\ t', 'Tab', 'Enter')
    it.wait_text('name         web three')
    clear(it)
    it.type('maglevc show backends "web t', 'Tab', 'Enter')
    it.wait_text('name         web three')
    clear(it)
    offers(it, 'maglevc show ', 'healthchecks', 'vpp')


@pytest.mark.parametrize('shell', ['bash', 'zsh', 'fish'])
def test_other_shells_complete_flags_and_their_values(other, shell):
    it = other(shell)
    becomes(it, 'maglevc --ver', 'maglevc --version')
    becomes(it, 'maglevc --he', 'maglevc --help')
    becomes(it, 'true && maglevc --he', 'true && maglevc --help')
    becomes(it, 'MAGLEV_TLS=1 maglevc --he', 'MAGLEV_TLS=1 maglevc --help')
    becomes(it, 'maglevc comp', 'maglevc completion')
    offers(it, 'maglevc completion ', 'bash', 'zsh', 'fish')
    becomes(it, 'maglevc completion z', 'maglevc completion zsh')
    becomes(it, 'maglevc --output j', 'maglevc --output json')
    becomes(it, 'maglevc -o t', 'maglevc -o text')
    becomes(it, 'maglevc --output=j', 'maglevc --output=json')
    becomes(it, 'maglevc --color=f', 'maglevc --color=false')
    for flag in ('--tls-ca', '--tls-cert', '--tls-key', '--history'):
        becomes(it, f'maglevc {flag} auth', f'maglevc {flag} authority\\ one.pem')
    becomes(it, 'maglevc --tls-ca=auth', 'maglevc --tls-ca=authority\\ one.pem')
    it.type('maglevc show version auth', 'Tab', 'Enter')  # where no file can stand none is offered
    it.wait_text('"auth"')


@pytest.mark.parametrize('shell', ['bash', 'zsh', 'fish'])
def test_a_colon_is_a_part_of_a_word(start_api, other, shell):
    """In bash without help of the package that has some for this"""
    port = start_api(config({}, {'lab:one': A, 'lab:two': B}, {'www': frontend(VIP, pool('p', 'lab:one'))},
                            dataplane='vpp')).api_port
    it = other(shell)
    becomes(it, f'maglevc --server localhost:{port} show frontends w', f'maglevc --server localhost:{port} show frontends www')
    becomes(it, f'maglevc --server=localhost:{port} show frontends w', f'maglevc --server=localhost:{port} show frontends www')
    it.type(f'maglevc --server localhost:{port} show backends la', 'Tab', 'o', 'Tab', 'Enter')
    it.wait_text('name         lab:one')
