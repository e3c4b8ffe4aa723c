/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_file: the bytes of a regular file of bounded size.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

/*
 * Reads all of path, at most YAML_MAX_BYTES. Never waits for a writer: a FIFO, a directory or
 * anything else that is not a regular file is an error. On failure a negative errno, one complaint
 * in errors, *ret untouched; on success *ret (empty before) is the caller's to buf_free().
 */
int yaml_read_file(const char *path, struct buf *ret, struct errs *errors);
