/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem: allocation that never returns NULL.
 *
 * A daemon that cannot allocate a few hundred bytes on Linux is about to be killed anyway, and a
 * half-applied change would be worse. So running out of memory prints a line and aborts, here and
 * only here, and no caller has an untested path for it. Sizes that depend on input from outside
 * are bounded before they are allocated.
 */
#pragma once

#include <stddef.h>

/* The contents are undefined. */
void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
/*
 * Like realloc() to n items of size bytes; aborts if the product overflows. p may be NULL. The
 * result is never NULL, also for n == 0.
 */
void *mem_resize(void *p, size_t n, size_t size);
/*
 * The capacity that holds need items: cap (or first, if cap is 0) doubled until it is enough;
 * aborts instead of wrapping around.
 */
size_t mem_grown(size_t cap, size_t first, size_t need);
void *mem_copy(const void *p, size_t size);
char *mem_strdup(const char *s);
