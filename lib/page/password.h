/* SPDX-License-Identifier: Apache-2.0 */
/*
 * password: hashes of passwords, in the forms of crypt(5): yescrypt ("$y$"), bcrypt ("$2b$",
 * "$2y$") and others that libcrypt calls strong.
 *
 * A hash takes a tenth of a second on purpose: page_password_matches() is for a child process
 * (lib/loop/job.h), not for a loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PAGE_HASH_SIZE 384 /* with the NUL */

/* Whether it is a hash of a method that is still good. */
bool page_password_is_hash(const char *hash);
/* Blocks. */
bool page_password_matches(const char *password, const char *hash);
/* Makes a hash with a new salt; blocks. -errno. */
int page_password_hash(const char *password, char ret[static PAGE_HASH_SIZE]);
