/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/dns_files.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"

#define PORT 53
#define NDOTS_MAX 15
#define ATTEMPTS 2
#define ATTEMPTS_MAX 5
#define TIMEOUT 2 /* s; the C library's default is 5, for people who wait */
#define TIMEOUT_MAX 30

/* The next word of a line; false at its end. */
static bool next_word(struct str *rest, struct str *ret)
{
	size_t n = 0;

	while (rest->n && (*rest->p == ' ' || *rest->p == '\t' || *rest->p == '\r'))
		rest->p++, rest->n--;
	while (n < rest->n && !strchr(" \t\r", rest->p[n]))
		n++;
	*ret = (struct str){ rest->p, n };
	rest->p += n;
	rest->n -= n;
	return n > 0;
}

static bool parse_address(struct str word, struct addr *ret)
{
	char text[ADDR_STRLEN];

	if (word.n >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)word.n, word.p);
	return addr_parse(text, ret) == 0;
}

/* ---- resolv.conf ---- */

static void add_server(struct str line, struct dns_settings *s)
{
	struct str word;
	struct addr addr;

	if (s->n_servers < DNS_SERVERS && next_word(&line, &word) && parse_address(word, &addr))
		s->servers[s->n_servers++] = (struct endpoint){ addr, PORT };
}

/* The last line of its kind counts. */
static void set_search(struct str line, struct dns_settings *s)
{
	struct str word;

	s->n_search = 0;
	while (s->n_search < DNS_SEARCH && next_word(&line, &word)) {
		if (word.n >= DNS_NAME_SIZE)
			continue;
		snprintf(s->search[s->n_search], DNS_NAME_SIZE, "%.*s", (int)word.n, word.p);
		if (strcmp(s->search[s->n_search], ".") != 0)
			s->n_search++;
	}
}

/* "NAME:NUMBER" */
static bool option(struct str word, struct str name, uint64_t most, uint64_t *ret)
{
	if (!str_starts(word, name))
		return false;
	if (str_to_u64((struct str){ word.p + name.n, word.n - name.n }, UINT32_MAX, ret) < 0)
		return false;
	if (*ret > most)
		*ret = most;
	return true;
}

static void set_options(struct str line, struct dns_settings *s)
{
	struct str word;
	uint64_t value;

	while (next_word(&line, &word)) {
		if (option(word, STR("ndots:"), NDOTS_MAX, &value))
			s->ndots = (unsigned)value;
		else if (option(word, STR("attempts:"), ATTEMPTS_MAX, &value) && value)
			s->attempts = (unsigned)value;
		else if (option(word, STR("timeout:"), TIMEOUT_MAX, &value) && value)
			s->timeout = (int64_t)value * NSEC_PER_SEC;
	}
}

void dns_settings_parse(struct str text, struct dns_settings *ret)
{
	static const struct {
		struct str word;
		void (*set)(struct str line, struct dns_settings *s);
	} kinds[] = { { { "nameserver", 10 }, add_server },
		      { { "search", 6 }, set_search },
		      { { "domain", 6 }, set_search },
		      { { "options", 7 }, set_options } };
	struct str line, word;

	*ret = (struct dns_settings){ .ndots = 1,
				      .attempts = ATTEMPTS,
				      .timeout = TIMEOUT * NSEC_PER_SEC };
	while (str_cut(&text, '\n', &line)) {
		if (!next_word(&line, &word))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
			if (str_eq(word, kinds[i].word))
				kinds[i].set(line, ret);
	}
	if (!ret->n_servers) {
		addr_parse("127.0.0.1", &ret->servers[0].addr);
		ret->servers[0].port = PORT;
		ret->n_servers = 1;
	}
}

/* ---- hosts ---- */

static bool has_name(struct str line, struct str name)
{
	struct str word;

	while (next_word(&line, &word) && *word.p != '#')
		if (str_ieq(word, name))
			return true;
	return false;
}

size_t dns_hosts_find(struct str text, const char *name, struct addr *ret, size_t max)
{
	struct str line, word, wanted = str_of(name);
	size_t n = 0;

	if (wanted.n && wanted.p[wanted.n - 1] == '.')
		wanted.n--;
	while (n < max && str_cut(&text, '\n', &line))
		if (next_word(&line, &word) && *word.p != '#' && has_name(line, wanted) &&
		    parse_address(word, &ret[n]))
			n++;
	return n;
}
