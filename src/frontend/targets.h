/* SPDX-License-Identifier: Apache-2.0 */
/* targets: the maglevds of --server, each with the name that people see. */
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
 * Items are "address" or "name=address". A name has 1 to 64 printable characters, among them no
 * blank, '/' and ','. Without a name it is the host of the address, or all of the address when
 * another one has the same host. Case tells neither names nor hosts apart. -EINVAL with the item
 * and the trouble in why; *ret untouched then.
 */
int targets_parse(char *const *items, size_t n, struct targets *ret, struct buf *why);
void targets_free(struct targets *t);
