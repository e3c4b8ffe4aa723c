/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/key.h"

#include "base/random.h"
#include "base/units.h"
#include "core/l7/hash.h"

/* What the numbers are used for: equal texts give different numbers for different uses. */
enum use { USE_VALUE = 101, USE_SOURCE, USE_SERVER };

static bool find_in(struct str list, struct str name, struct str *ret)
{
	struct str pair;

	while (str_cut(&list, ';', &pair)) {
		struct str key, value = str_trim(pair);

		if (!str_cut(&value, '=', &key) || !value.p || !str_eq(str_trim(key), name))
			continue;
		*ret = value;
		return true;
	}
	return false;
}

struct str l7_cookie(const struct field *headers, size_t n, struct str name)
{
	struct str value = { 0 };

	for (size_t i = 0; i < n; i++)
		if (headers[i].name.n == 6 && str_ieq(headers[i].name, STR("cookie")) &&
		    find_in(headers[i].value, name, &value))
			return value;
	return (struct str){ 0 };
}

struct str l7_key_value(const struct field *headers, size_t n, enum l7_key key, struct str name)
{
	if (key == L7_KEY_COOKIE)
		return l7_cookie(headers, n, name);
	for (size_t i = 0; key == L7_KEY_HEADER && i < n; i++)
		if (headers[i].name.n == name.n && str_ieq(headers[i].name, name))
			return headers[i].value;
	return (struct str){ 0 };
}

/* ---- numbers ---- */

static uint64_t add_bytes(uint64_t hash, const void *p, size_t n)
{
	const char *bytes = p;

	for (size_t i = 0; i < n; i++)
		hash = l7_hash_add(hash, bytes[i]);
	return hash;
}

/* Every bit of the hash affects all bits of the result. */
static uint64_t finish(uint64_t hash)
{
	return random_next(&hash);
}

uint64_t l7_key_hash(struct str value)
{
	return finish(add_bytes(l7_hash_start(USE_VALUE), value.p, value.n));
}

uint64_t l7_key_hash_source(const struct addr *a)
{
	return finish(add_bytes(l7_hash_start(USE_SOURCE), a->bytes, sizeof(a->bytes)));
}

uint64_t l7_key_of_server(const char *pool, const char *host, uint16_t port)
{
	const char ends[] = { 0, (char)(port >> 8), (char)port };
	uint64_t hash = l7_hash_start(USE_SERVER);

	hash = add_bytes(hash, pool, strlen(pool) + 1);
	hash = add_bytes(hash, host, strlen(host));
	return finish(add_bytes(hash, ends, sizeof(ends)));
}

const char *l7_key_format(uint64_t key, char text[static L7_KEY_STRLEN])
{
	for (unsigned i = 0; i < 16; i++)
		text[i] = "0123456789abcdef"[(key >> (60 - 4 * i)) & 15];
	text[16] = 0;
	return text;
}

bool l7_key_parse(struct str text, uint64_t *ret)
{
	uint64_t key = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		bool digit = c >= '0' && c <= '9';

		if (!digit && (c < 'a' || c > 'f'))
			return false;
		key = key << 4 | (uint64_t)(digit ? c - '0' : c - 'a' + 10);
	}
	if (text.n != L7_KEY_STRLEN - 1)
		return false;
	*ret = key;
	return true;
}

void l7_key_give(const struct l7_persistence *p, uint64_t key, struct buf *out)
{
	char text[L7_KEY_STRLEN];

	l7_key_format(key, text);
	if (p->key == L7_KEY_HEADER) {
		buf_printf(out, "%s: %s\r\n", p->name, text);
		return;
	}
	buf_printf(out, "set-cookie: %s=%s; Path=%s", p->name, text, p->path);
	if (p->lifetime)
		buf_printf(out, "; Max-Age=%lld", (long long)(p->lifetime / NSEC_PER_SEC));
	buf_add_lit(out, "; HttpOnly; SameSite=Lax\r\n");
}
