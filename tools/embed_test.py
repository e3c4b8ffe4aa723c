# SPDX-License-Identifier: Apache-2.0
"""What tools/embed writes compiles, and gives the bytes back."""
import os
import subprocess

TOOLS = os.path.dirname(os.path.abspath(__file__))
MAIN = '''
#include <stdio.h>
#include "data.h"
int main(void) { return data[data_size] != 0 || fwrite(data, 1, data_size, stdout) != data_size; }
'''


def check_round_trip(folder, data):
    (folder / 'in').write_bytes(data)
    (folder / 'main.c').write_text(MAIN)
    subprocess.run([TOOLS + '/embed', 'data', 'in', 'data.c', 'data.h'], cwd=folder, check=True)
    subprocess.run(['gcc', '-Wall', '-Wextra', '-Werror', 'main.c', 'data.c'], cwd=folder, check=True)
    assert subprocess.run(['./a.out'], cwd=folder, check=True, capture_output=True).stdout == data


def test_every_byte_comes_back(tmp_path):
    check_round_trip(tmp_path, bytes(range(256)) * 3)


def test_an_empty_file_is_an_empty_array(tmp_path):
    check_round_trip(tmp_path, b'')
