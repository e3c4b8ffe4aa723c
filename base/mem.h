/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem: allocation that never returns NULL.
 *
 * A daemon that cannot allocate a few hundred bytes on Linux is about to be killed anyway; a
 * half-applied change would be worse. So running out of memory aborts with a word, here and only
 * here, and no caller has an untested path for it. What outsiders can make large is bounded before
 * it is allocated.
 */
#pragma once

#include <stddef.h>

void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
/* n items of size bytes; aborts when the product overflows. p may be NULL. */
void *mem_resize(void *p, size_t n, size_t size);
/* The capacity that holds need items: cap (or first, when 0) doubled; aborts rather than wrap. */
size_t mem_grown(size_t cap, size_t first, size_t need);
void *mem_copy(const void *p, size_t size);
char *mem_strdup(const char *s);
