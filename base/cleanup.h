/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cleanup: locals that are released when their scope ends.
 *
 *	_cleanup_(cleanup_free) char *text = read_all(fd);
 *	...
 *	return TAKE_PTR(text);		the local becomes NULL, the caller owns the text
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

/*
 * The value of p, which becomes NULL: ownership moves, and the cleanup of p finds nothing to
 * free.
 */
#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) _taken = (p);                                                        \
		(p) = NULL;                                                                        \
		_taken;                                                                            \
	})

/* The same for a descriptor, where "none" is -1. */
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int _taken = (fd);                                                                 \
		(fd) = -1;                                                                         \
		_taken;                                                                            \
	})

/*
 * The struct of which ptr is a member. The conditional is never evaluated for its value: it makes
 * the compiler complain if ptr does not point to the member's type.
 */
#define container_of(ptr, type, member)                                                            \
	((type *)((char *)(1 ? (ptr) : &((type *)0)->member) - offsetof(type, member)))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* For _cleanup_ on any pointer from malloc(); pp is the address of the local. */
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
