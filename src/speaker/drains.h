/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drains: the file that keeps the drains of VIPs over a restart of the speaker.
 *
 *	{
 *	  "drains": [
 *	    {"vip": "www", "address": "198.51.100.10", "reason": "disk", "operator": "alice",
 *	     "operator_address": "192.0.2.7", "at": 1767225600000000000}
 *	  ]
 *	}
 *
 * A VIP is found again by its address, as after a reload; the name is for people. A file of an
 * earlier version has no operator. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/who.h"

#define DRAINS_FILE_MAX ((size_t)16 * 1024 * 1024) /* bytes */

struct drain {
	const char *vip;
	struct addr address;
	int64_t at; /* unix ns */
	const char *reason;
	struct who who; /* the operator; zeroed: not known */
};

/* Appends the text of the file. Strings must be UTF-8. */
void drains_format(const struct drain *list, size_t n, struct buf *out);
/*
 * Reads it; the list is in the arena. -EINVAL, with complaints in errors, if it is not such a text;
 * the outputs are untouched then.
 */
int drains_parse(struct str text, struct arena *arena, const struct drain **ret, size_t *ret_n,
		 struct errs *errors);
