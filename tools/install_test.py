# SPDX-License-Identifier: Apache-2.0
"""`meson install` and tools/uninstall of a small project, and what is installed of ours."""
import fnmatch
import json
import os
import re
import subprocess

import pytest

import tree

PROJECT = '''project('small')
install_data('a.txt', install_dir: get_option('datadir') / 'maglev/deep')
install_data('b.txt', install_dir: get_option('datadir') / 'theirs')
install_subdir('more', install_dir: get_option('datadir') / 'doc/maglev')
'''


def files(root):
    return sorted(os.path.relpath(os.path.join(place, name), root) for place, _, names in os.walk(root) for name in names)


def test_all_that_was_installed_is_removed_and_nothing_else(tmp_path):
    (tmp_path / 'more').mkdir()
    (tmp_path / 'more' / 'c.txt').write_text('c')
    (tmp_path / 'a.txt').write_text('a')
    (tmp_path / 'b.txt').write_text('b')
    (tmp_path / 'meson.build').write_text(PROJECT)
    out = tmp_path / 'out'
    env = {**os.environ, 'DESTDIR': str(out)}
    subprocess.run(['meson', 'setup', '--prefix=/opt/x', 'build'], cwd=tmp_path, check=True)
    subprocess.run(['meson', 'install', '-C', 'build'], cwd=tmp_path, check=True, env=env)
    own = ['opt/x/share/doc/maglev/more/c.txt', 'opt/x/share/maglev/deep/a.txt', 'opt/x/share/theirs/b.txt']
    assert files(out) == own
    (out / 'opt/x/share/theirs/kept.txt').write_text('kept')
    subprocess.run([os.path.join(tree.ROOT, 'tools/uninstall'), 'build'], cwd=tmp_path, check=True, env=env)
    assert files(out) == ['opt/x/share/theirs/kept.txt']
    assert not (out / 'opt/x/share/maglev').exists() and (out / 'opt/x/share/doc').exists()


def introspect(build):
    """All paths that `meson install` of a tree writes, without building it."""
    done = subprocess.run(['meson', 'introspect', '--installed', build], check=True, stdout=subprocess.PIPE)
    return set(json.loads(done.stdout).values())


@pytest.fixture(scope='module', name='maglev')
def configured(tmp_path_factory):
    """Our own tree with another prefix: the folder, and all paths that would be installed."""
    build = str(tmp_path_factory.mktemp('install') / 'build')
    subprocess.run(['meson', 'setup', '--prefix=/opt/x', '-Dweb=disabled', build, tree.ROOT], check=True, stdout=subprocess.DEVNULL)
    return build, introspect(build)


def test_all_of_it_is_below_the_prefix(maglev):
    assert [path for path in maglev[1] if not path.startswith('/opt/x/')] == []


@pytest.mark.parametrize('pattern', [
    'bin/maglevc', 'bin/maglevt', 'sbin/maglevd', 'sbin/maglevd-frontend', 'sbin/maglev-router', 'sbin/maglev-speaker', 'sbin/frr-reloader',
    'sbin/maglev-gateway', 'sbin/maglev-controller', 'sbin/maglev-mux', 'lib/maglev/decap.bpf.o', 'lib/systemd/system/maglevd.service',
    'lib/sysusers.d/maglev.conf', 'share/bash-completion/completions/maglevc', 'share/zsh/site-functions/_maglevc',
    'share/fish/vendor_completions.d/maglevc.fish', 'share/doc/maglev/examples', 'share/doc/maglev/guide', 'share/doc/maglev/reference',
    'share/maglev/alerts/*.rules.yml', 'share/maglev/grafana/*.json', 'share/maglev/kubernetes'])
def test_each_part_is_installed(maglev, pattern):
    assert fnmatch.filter(maglev[1], '/opt/x/' + pattern)


def test_each_program_has_a_man_page(maglev):
    programs = {os.path.basename(path) for path in maglev[1] if os.path.dirname(path) in ('/opt/x/bin', '/opt/x/sbin')}
    pages = {os.path.basename(path) for path in maglev[1] if path.startswith('/opt/x/share/man/')}
    assert {page.rsplit('.', 1)[0] for page in pages} == programs


def test_units_call_programs_that_are_installed(maglev):
    build, installed = maglev
    units = [path for path in installed if path.endswith('.service')]
    assert units
    for unit in units:
        with open(os.path.join(build, 'deploy/systemd', os.path.basename(unit)), encoding='utf-8') as file:
            called = set(re.findall(r'^Exec\w+=[-+!]*(/opt/\S+)', text := file.read(), re.M))
        assert called and called <= installed and '@sbindir@' not in text


def test_nothing_of_a_test_is_installed(maglev):
    assert [path for path in maglev[1] if re.search(r'_test\b|\.in$|meson\.build', path)] == []
