# SPDX-License-Identifier: Apache-2.0
"""What tools/embed-web writes compiles, and gives the files back."""
import gzip
import os
import subprocess

TOOLS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(TOOLS)
MAIN = '''
#include <stdio.h>
#include "lib/page/files.h"
int main(void)
{
	for (size_t i = 0; i < page_files.n; i++) {
		const struct page_file *file = &page_files.items[i];

		printf("%s|%s|%zu|%zu\\n", file->path, file->content_type, file->n, file->n_gzip);
		fwrite(file->bytes, 1, file->n, stdout);
		fwrite(file->gzip ? file->gzip : file->bytes, 1, file->n_gzip, stdout);
	}
	return 0;
}
'''


def embedded(folder, files):
    """[(path, type, bytes, compressed bytes)] as the program has them."""
    for path, data in files.items():
        (folder / 'dist' / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / 'dist' / path).write_bytes(data)
    (folder / 'main.c').write_text(MAIN)
    subprocess.run([TOOLS + '/embed-web', 'dist', 'assets.c'], cwd=folder, check=True)
    subprocess.run(['gcc', '-Wall', '-Wextra', '-Werror', '-I', ROOT, 'main.c', 'assets.c'], cwd=folder, check=True)
    out, found = subprocess.run(['./a.out'], cwd=folder, check=True, capture_output=True).stdout, []
    while out:
        head, out = out.split(b'\n', 1)
        path, kind, n, n_gzip = head.decode().split('|')
        found.append((path, kind, out[:int(n)], out[int(n):int(n) + int(n_gzip)]))
        out = out[int(n) + int(n_gzip):]
    return found


def test_files_come_back_by_path_with_their_types_and_packed_where_it_helps(tmp_path):
    page, noise = b'<p>' * 500, bytes(range(256))
    found = embedded(tmp_path, {'index.html': page, 'assets/a.js': b'', 'assets/b.css': noise, '.made-from': b'x'})
    assert [(path, kind.split(';')[0]) for path, kind, _, _ in found] == \
        [('assets/a.js', 'text/javascript'), ('assets/b.css', 'text/css'), ('index.html', 'text/html')]
    assert [data for _, _, data, _ in found] == [b'', noise, page]
    assert gzip.decompress(found[2][3]) == page and not found[1][3] and not found[0][3]
