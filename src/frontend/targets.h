/* SPDX-License-Identifier: Apache-2.0 */
/* targets: the servers of --server or --speaker, each with the name that is shown. */
#pragma once

#include "base/str.h"
#include "base/vec.h"

struct target {
	char *name;
	char *address; /* "host:port", "[v6]:port" */
};

struct targets {
	VEC(struct target) items;
};

#define TARGETS_MAX 256

/*
 * Items are "address" or "name=address". A name has 1 to 64 printable characters without blanks,
 * '/', ',' and '='. The default is the host of the address, or the whole address if another item
 * has the same host. Names and hosts are compared without case. Returns -EINVAL with the item
 * and the problem in why; *ret is untouched then.
 */
int targets_parse(char *const *items, size_t n, struct targets *ret, struct buf *why);
void targets_free(struct targets *t);
