/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts: the names under which the dashboard may be asked for.
 *
 * The page of an attacker can have its own name point to the address of the dashboard (DNS
 * rebinding). The browser then takes the dashboard for a part of that page and lets it read
 * everything. The Host header still has the name of the attacker, so requests for names that are
 * not ours are refused. An address as Host is always allowed, because it needs no DNS, and so is
 * localhost. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "base/vec.h"

struct hosts {
	VEC(char *) names; /* ".example.net" stands for all names below that domain */
	bool all;
};

#define HOSTS_MAX 64

/*
 * Items are "NAME", ".DOMAIN" or "*" (all). -EINVAL with a sentence in why; *ret is untouched then.
 */
int hosts_parse(char *const *items, size_t n, struct hosts *ret, struct buf *why);
void hosts_free(struct hosts *h);
/* Allows another name; ignored if it is not a valid one. */
void hosts_add(struct hosts *h, const char *name);
/* host is the value of a Host header, maybe with a port. */
bool hosts_allow(const struct hosts *h, struct str host);
