# SPDX-License-Identifier: Apache-2.0
"""A root file system as an initramfs: files of installed packages, programs with their libraries, modules of a kernel.

Nothing is copied: an Image maps the paths of the new system to files of this one, or to text, until it is written.
"""
import glob
import os
import re
import stat
import subprocess

MERGED = ('bin', 'sbin', 'lib', 'lib64')  # links to the folders of these names in /usr
USELESS = re.compile(r'/usr/share/(doc|man|info|locale|lintian|bash-completion|zsh|perl5?)(/|$)')


def run(*command, **options):
    """Runs a command and returns its output."""
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def installed():
    """{package: names of those that it depends on}, each the first installed one of its alternatives."""
    listed = run('dpkg-query', '-W', '-f', '${Package}\t${Pre-Depends}, ${Depends}\t${Status}\n').splitlines()
    rows = (line.split('\t') for line in listed)
    wants = {name: words for name, words, status in rows if status.endswith(' installed')}

    def first(alternatives):
        names = (re.split(r'[ :(]', one.strip())[0] for one in alternatives.split('|'))
        return [name for name in names if name in wants][:1]

    return {package: [name for one in words.split(',') for name in first(one)] for package, words in wants.items()}


def closure(names):
    """These packages and all that they depend on."""
    depends, found, left = installed(), set(), list(names)
    while left:
        name = left.pop()
        if name not in depends:
            raise SystemExit(f'the package {name} is not installed')
        left += [] if name in found else depends[name]
        found.add(name)
    return sorted(found)


class Image:
    def __init__(self):
        self.files = {}  # path in the image without leading slash: path here, or bytes; None: a folder
        self.links = {name: 'usr/' + name for name in MERGED}

    def _place(self, path):
        path = path.lstrip('/')
        return 'usr/' + path if path.split('/')[0] in MERGED else path

    def add(self, source, target):
        """A file of this system, or a link in place of it."""
        target = self._place(target)
        if os.path.islink(source):
            self.links[target] = os.readlink(source)
        elif os.path.isfile(source):
            self.files[target] = source

    def write(self, target, text):
        self.files[self._place(target)] = text.encode()

    def packages(self, *names):
        """The files of these packages, and of those that they depend on, at their places."""
        for path in run('dpkg', '-L', *closure(names)).splitlines():
            if path.startswith('/') and path.count('/') > 1 and not USELESS.match(path):
                self.add(path, path)

    def program(self, source, target):
        """A program, and the libraries that it is linked with at their places."""
        self.add(source, target)
        for library in re.findall(r'(/\S+) \(0x', run('ldd', source)):
            self.files[self._place(library)] = os.path.realpath(library)

    def modules(self, folder, *names):
        """These modules of the kernel unpacked in folder, all that they need, and the index for modprobe."""
        version, = os.listdir(os.path.join(folder, 'lib/modules'))
        run('depmod', '-b', folder, version)
        index = glob.glob(f'{folder}/lib/modules/{version}/modules.*')
        needed = run('modprobe', '-d', folder, '-S', version, '-a', '--show-depends', *names)
        for path in [*index, *re.findall(r'^insmod (\S+)', needed, re.M)]:
            self.add(path, os.path.relpath(path, folder))

    def _entries(self):
        """(name, mode, bytes) of everything, folders before what is in them."""
        names = {*self.files, *self.links}
        folders = {name[:m.start()] for name in names for m in re.finditer('/', name)}
        for name in sorted(names | folders):
            if name in self.links:
                yield name, stat.S_IFLNK | 0o777, self.links[name].encode()
            elif name in folders:
                yield name, stat.S_IFDIR | 0o755, b''
            elif isinstance(self.files[name], bytes):
                yield name, stat.S_IFREG | 0o755, self.files[name]
            else:
                with open(self.files[name], 'rb') as file:
                    yield name, os.stat(file.fileno()).st_mode | 0o444, file.read()

    def pack(self, path):
        """Writes the archive, in the format `newc` of cpio(5)."""
        with open(path, 'wb') as archive:
            def put(number, name, mode, data):
                fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
                for piece in ('070701' + ''.join(f'{field:08x}' for field in fields) + name + '\0').encode(), data:
                    archive.write(piece + bytes(-len(piece) % 4))
            for number, entry in enumerate(self._entries(), 1):
                put(number, *entry)
            put(0, 'TRAILER!!!', 0, b'')
        return path
