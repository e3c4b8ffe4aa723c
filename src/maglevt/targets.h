/* SPDX-License-Identifier: Apache-2.0 */
/*
 * targets: the VIPs of configurations that can be tested over TCP, without duplicates.
 *
 * What is asked comes from the check of the VIP: the first check over HTTP, of the backends of its
 * pools in the order of the file, that asks the port of the VIP. A check of another port says
 * nothing about what clients get.
 *
 * Pure. Errors in a configuration are not reported: a frontend that cannot be tested (UDP, all
 * ports, an invalid address) is counted and left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "base/arena.h"
#include "core/l4/config.h"
#include "core/l4/doc.h"

enum scheme { SCHEME_HTTP, SCHEME_HTTPS, SCHEME_TCP };

struct target {
	const char *name; /* of the first frontend with this VIP */
	enum scheme scheme;
	struct endpoint at;
	/* of the check; NULL: it does not say, or there is none */
	const char *path, *host, *server_name;
	const struct l4_code_range *codes;
	size_t n_codes;
	const char *label; /* "https 198.51.100.10:443" */
	const char *text;  /* "www https://198.51.100.10:443", matched by filters */
};

struct targets {
	struct arena *arena; /* owns the texts; the caller's */
	struct target *items;
	size_t n, cap;
	size_t skipped; /* frontends that cannot be tested */
};

const char *scheme_name(enum scheme s);

/*
 * Adds the frontends of doc that are not there yet. scheme applies to all of them; NULL: that of
 * the check, or chosen by port.
 */
void targets_add(struct targets *t, const struct l4_doc *doc, const char *scheme);
void targets_free(struct targets *t);
