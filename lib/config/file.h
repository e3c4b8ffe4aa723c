/* SPDX-License-Identifier: Apache-2.0 */
/* file: small files, read and replaced as a whole. This blocks for as long as the disk takes. */
#pragma once

#include "base/str.h"

/*
 * Replaces the file by rename, so that nothing ever reads half of it; its mode is 0600. On failure
 * the old file, and no other, is left.
 */
int file_replace(const char *path, struct str text);
/* The same, but the content has reached the disk before: also a power failure leaves it whole. */
int file_replace_safely(const char *path, struct str text);
/* Reads all of it. -EFBIG if it is longer than max bytes. The caller frees *ret. */
int file_read(const char *path, size_t max, struct buf *ret);
