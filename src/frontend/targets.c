/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/targets.h"

#include <errno.h>

#include "base/addr.h"
#include "base/mem.h"

#define NAME_MAX_CHARACTERS 64
#define HOST_MAX_BYTES 253 /* the longest name of DNS (RFC 1035) */

/* A character of a name: no control, no blank, and no separator of paths, lists or items. */
static bool is_plain(const char *p, size_t n)
{
	if (n == 1)
		return *p > ' ' && *p < 0x7f && !strchr("/,=", *p);
	return n &&
	       !(p[0] == '\xc2' && (unsigned char)p[1] <= 0xa0); /* C1 controls, no-break space */
}

static bool is_name(struct str s)
{
	size_t count = 0;

	while (s.n) {
		size_t n = utf8_char(s.p, s.n);

		if (!is_plain(s.p, n))
			return false;
		s.p += n;
		s.n -= n;
		count++;
	}
	return count >= 1 && count <= NAME_MAX_CHARACTERS;
}

static bool is_host_name(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= 'A' && s.p[i] <= 'Z') &&
		    !(s.p[i] >= '0' && s.p[i] <= '9') && !strchr(".-_", s.p[i]))
			return false;
	return s.n <= HOST_MAX_BYTES;
}

static bool is_ipv6(struct str s)
{
	char text[ADDR_STRLEN];
	struct addr a;

	if (s.n >= sizeof(text))
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	return addr_parse(text, &a) == 0 && a.family == AF_INET6;
}

/* The host of "host:port" or "[v6]:port"; empty if the address has neither form. */
static struct str host_of(const char *address)
{
	const char *colon = strrchr(address, ':');
	struct str host = { address, colon ? (size_t)(colon - address) : 0 };
	uint64_t port;

	if (!colon || str_to_u64(str_of(colon + 1), UINT16_MAX, &port) < 0 || !port)
		return STR("");
	if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']') {
		host = (struct str){ host.p + 1, host.n - 2 };
		return is_ipv6(host) ? host : STR("");
	}
	return is_host_name(host) ? host : STR("");
}

static char *copy(struct str s)
{
	char *text = mem_zalloc(s.n + 1);

	memcpy(text, s.p, s.n);
	return text;
}

/* Appends the item for a message, with "?" in place of control characters. */
static void show(const char *item, struct buf *out)
{
	for (; *item; item++)
		buf_addc(out, (unsigned char)*item < ' ' || *item == 0x7f ? '?' : *item);
}

static int add(struct targets *t, const char *item, struct buf *why)
{
	const char *equals = strchr(item, '=');
	const char *address = equals ? equals + 1 : item;
	struct str name = { item, equals ? (size_t)(equals - item) : 0 };

	if (equals && !is_name(name)) {
		show(item, why);
		buf_printf(why, ": a name has 1 to %d printable characters, no blank, '/' or ','",
			   NAME_MAX_CHARACTERS);
		return -EINVAL;
	}
	if (!host_of(address).n) {
		show(item, why);
		buf_adds(why, ": not of the form host:port");
		return -EINVAL;
	}
	vec_push(&t->items, (struct target){ equals ? copy(name) : NULL, mem_strdup(address) });
	return 0;
}

static bool shares_host(const struct targets *t, size_t i)
{
	struct str host = host_of(t->items.items[i].address);

	for (size_t k = 0; k < t->items.n; k++)
		if (k != i && str_ieq(host_of(t->items.items[k].address), host))
			return true;
	return false;
}

static void name_the_rest(struct targets *t)
{
	for (size_t i = 0; i < t->items.n; i++) {
		struct target *one = &t->items.items[i];

		if (!one->name)
			one->name = shares_host(t, i) ? mem_strdup(one->address)
						      : copy(host_of(one->address));
	}
}

static int check_names(const struct targets *t, struct buf *why)
{
	for (size_t i = 0; i < t->items.n; i++)
		for (size_t k = 0; k < i; k++)
			if (str_ieq(str_of(t->items.items[i].name),
				    str_of(t->items.items[k].name))) {
				buf_printf(why, "two servers have the name %s",
					   t->items.items[i].name);
				return -EINVAL;
			}
	return 0;
}

int targets_parse(char *const *items, size_t n, struct targets *ret, struct buf *why)
{
	struct targets t = { 0 };
	int r = 0;

	if (!n || n > TARGETS_MAX) {
		buf_printf(why, "1 to %d servers are needed", TARGETS_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add(&t, items[i], why);
	if (r == 0) {
		name_the_rest(&t);
		r = check_names(&t, why);
	}
	if (r < 0)
		targets_free(&t);
	else
		*ret = t;
	return r;
}

void targets_free(struct targets *t)
{
	for (size_t i = 0; i < t->items.n; i++) {
		free(t->items.items[i].name);
		free(t->items.items[i].address);
	}
	vec_free(&t->items);
}
