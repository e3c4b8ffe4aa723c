/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cleanup: scope-bound ownership of locals.
 *
 *	_cleanup_(cleanup_free) char *text = read_all(fd);
 *	...
 *	return TAKE_PTR(text);		the local lets go, the caller owns
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) _taken = (p);                                                        \
		(p) = NULL;                                                                        \
		_taken;                                                                            \
	})

#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int _taken = (fd);                                                                 \
		(fd) = -1;                                                                         \
		_taken;                                                                            \
	})

#define container_of(ptr, type, member)                                                            \
	((type *)((char *)(1 ? (ptr) : &((type *)0)->member) - offsetof(type, member)))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline void cleanup_free(void *pp)
{
	free(*(void **)pp);
}

/* Closes a local descriptor; -1 means "none". */
static inline void cleanup_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
