/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/hosts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/addr.h"
#include "base/mem.h"

#define NAME_LEN_MAX 253 /* of a DNS name */

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.';
}

/* Also true for ".DOMAIN". */
static bool is_name(const char *text)
{
	size_t n = strlen(text);

	if (n == 0 || n > NAME_LEN_MAX || strcmp(text, ".") == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_name_char(text[i]))
			return false;
	return true;
}

int hosts_parse(char *const *items, size_t n, struct hosts *ret, struct buf *why)
{
	struct hosts h = { 0 };

	if (n > HOSTS_MAX) {
		buf_printf(why, "at most %d hosts can be allowed", HOSTS_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; i < n; i++) {
		if (strcmp(items[i], "*") == 0) {
			h.all = true;
		} else if (is_name(items[i])) {
			vec_push(&h.names, mem_strdup(items[i]));
		} else {
			buf_printf(why, "%s: not of the form NAME, .DOMAIN or *", items[i]);
			hosts_free(&h);
			return -EINVAL;
		}
	}
	*ret = h;
	return 0;
}

void hosts_free(struct hosts *h)
{
	for (size_t i = 0; i < h->names.n; i++)
		free(h->names.items[i]);
	vec_free(&h->names);
}

void hosts_add(struct hosts *h, const char *name)
{
	if (is_name(name) && *name != '.')
		vec_push(&h->names, mem_strdup(name));
}

/* The part before the port, without brackets. */
static struct str without_port(struct str host)
{
	const char *end = host.n ? memrchr(host.p, host.p[0] == '[' ? ']' : ':', host.n) : NULL;

	if (host.n && host.p[0] == '[')
		return end ? (struct str){ host.p + 1, (size_t)(end - host.p) - 1 } : host;
	return end ? (struct str){ host.p, (size_t)(end - host.p) } : host;
}

static bool is_address(struct str name)
{
	char text[ADDR_STRLEN];
	struct addr a;

	if (name.n >= sizeof(text) || memchr(name.p, '\0', name.n))
		return false;
	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	return addr_parse(text, &a) == 0;
}

static bool matches(struct str name, struct str allowed)
{
	if (allowed.p[0] == '.' && name.n > allowed.n)
		name = (struct str){ name.p + name.n - allowed.n, allowed.n };
	return str_ieq(name, allowed);
}

/* The dot at the end of a fully qualified name does not change what it names. */
bool hosts_allow(const struct hosts *h, struct str host)
{
	struct str name = without_port(host);

	if (name.n && name.p[name.n - 1] == '.')
		name.n--;
	if (!name.n)
		return h->all;
	if (h->all || is_address(name) || matches(name, STR("localhost")) ||
	    matches(name, STR(".localhost")))
		return true;
	for (size_t i = 0; i < h->names.n; i++)
		if (matches(name, str_of(h->names.items[i])))
			return true;
	return false;
}
