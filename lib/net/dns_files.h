/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_files: the texts of resolv.conf(5) and hosts(5). Pure. What is not understood in them is
 * ignored, as the C library does.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/str.h"

#define DNS_SERVERS 3
#define DNS_SEARCH 6
#define DNS_NAME_SIZE 256 /* of a name as text, and its NUL */

struct dns_settings {
	struct endpoint servers[DNS_SERVERS];
	size_t n_servers; /* at least 1: without any, that of this machine */
	char search[DNS_SEARCH][DNS_NAME_SIZE];
	size_t n_search;
	unsigned ndots;	   /* names with as many dots are tried as they are first */
	unsigned attempts; /* at each server */
	int64_t timeout;   /* ns of each */
};

void dns_settings_parse(struct str text, struct dns_settings *ret);
/* The addresses of a name in the text of hosts(5), at most max, in its order; returns how many. */
size_t dns_hosts_find(struct str text, const char *name, struct addr *ret, size_t max);
