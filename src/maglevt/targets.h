/* SPDX-License-Identifier: Apache-2.0 */
/*
 * targets: the VIPs of configurations that can be asked over TCP, each once.
 *
 * Pure. What else is wrong with a configuration is not ours: a frontend that cannot be tested (UDP,
 * all ports, an address that is none) is counted and left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "base/arena.h"
#include "core/l4/doc.h"

enum scheme { SCHEME_HTTP, SCHEME_HTTPS, SCHEME_TCP };

struct target {
	const char *name; /* of the first frontend that has it */
	enum scheme scheme;
	struct endpoint at;
	const char *label; /* "https 198.51.100.10:443" */
	const char *text;  /* "www https://198.51.100.10:443", what a filter sees */
};

struct targets {
	struct arena *arena; /* owns the texts; the caller's */
	struct target *items;
	size_t n, cap;
	size_t skipped;
};

const char *scheme_name(enum scheme s);

/* Adds those that are new. scheme: for all of them; NULL: by port. */
void targets_add(struct targets *t, const struct l4_doc *doc, const char *scheme);
void targets_free(struct targets *t);
