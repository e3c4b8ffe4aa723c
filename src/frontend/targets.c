/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/targets.h"

#include <errno.h>

#include "base/mem.h"

#define NAME_MAX_BYTES 64

/* The host of "host:port" and "[v6]:port"; empty when it is neither. */
static struct str host_of(const char *address)
{
	const char *colon = strrchr(address, ':');
	struct str host = { address, colon ? (size_t)(colon - address) : 0 };
	uint64_t port;

	if (!colon || str_to_u64(str_of(colon + 1), UINT16_MAX, &port) < 0 || !port)
		return STR("");
	if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
		return (struct str){ host.p + 1, host.n - 2 };
	return memchr(address, ':', host.n) || memchr(address, '[', host.n) ? STR("") : host;
}

static char *copy(struct str s)
{
	char *text = mem_zalloc(s.n + 1);

	memcpy(text, s.p, s.n);
	return text;
}

static int add(struct targets *t, const char *item, struct buf *why)
{
	const char *equals = strchr(item, '=');
	const char *address = equals ? equals + 1 : item;
	struct str name = { item, equals ? (size_t)(equals - item) : 0 };

	if (equals && (!name.n || name.n > NAME_MAX_BYTES || !utf8_valid(name.p, name.n))) {
		buf_printf(why, "%s: a name has 1 to %d bytes", item, NAME_MAX_BYTES);
		return -EINVAL;
	}
	if (!host_of(address).n) {
		buf_printf(why, "%s: not of the form host:port", item);
		return -EINVAL;
	}
	vec_push(&t->items, (struct target){ equals ? copy(name) : NULL, mem_strdup(address) });
	return 0;
}

static bool shares_host(const struct targets *t, size_t i)
{
	struct str host = host_of(t->items.items[i].address);

	for (size_t k = 0; k < t->items.n; k++)
		if (k != i && str_eq(host_of(t->items.items[k].address), host))
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
			if (strcmp(t->items.items[i].name, t->items.items[k].name) == 0) {
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
