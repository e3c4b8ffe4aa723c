/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_file: the bytes of a regular file of bounded size.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

/*
 * Reads the whole file, at most YAML_MAX_BYTES. It may wait for the disk but never for a writer:
 * a FIFO, a directory or anything else that is not a regular file is an error. On failure it
 * returns a negative errno, adds one complaint and leaves *ret untouched; on success *ret (empty
 * before) belongs to the caller, who frees it with buf_free().
 */
int yaml_read_file(const char *path, struct buf *ret, struct errs *errors);
