/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hello: first it is found out where the message ends, record by record, going on where the call
 * before stopped, so that a client that sends single bytes costs no more than another one. Then the
 * whole message is read once, through a cursor that steps over the headers of records.
 */
#include "lib/tls/hello.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define HEADER ((size_t)5)	   /* bytes of the header of a record */
#define RECORD_MAX ((size_t)16384) /* bytes of its content */
#define MESSAGE_HEADER ((size_t)4) /* type and length of a message */

enum { RECORD_HANDSHAKE = 22 };
enum { CLIENT_HELLO = 1 };
enum { EXT_SERVER_NAME = 0, EXT_ALPN = 16, EXT_SUPPORTED_VERSIONS = 43 };

/* ---- a cursor over the content of records ---- */

struct cursor {
	const uint8_t *p;
	size_t at;     /* of the next byte, or of the header of the next record */
	size_t record; /* bytes left in the record */
	size_t left;   /* bytes left in the structure that is read */
};

static size_t record_size(const uint8_t *header)
{
	return (size_t)header[3] << 8 | header[4];
}

/* Copies n bytes, or skips them if to is NULL. False: the structure is shorter. */
static bool take(struct cursor *c, void *to, size_t n)
{
	uint8_t *out = to;

	if (n > c->left)
		return false;
	c->left -= n;
	while (n) {
		size_t part;

		if (!c->record) {
			c->record = record_size(c->p + c->at);
			c->at += HEADER;
		}
		part = n < c->record ? n : c->record;
		if (out) {
			memcpy(out, c->p + c->at, part);
			out += part;
		}
		c->at += part;
		c->record -= part;
		n -= part;
	}
	return true;
}

/* A number of 1 to 3 bytes. */
static bool take_number(struct cursor *c, size_t bytes, size_t *ret)
{
	uint8_t b[3];
	size_t v = 0;

	assert(bytes <= sizeof(b));
	if (!take(c, b, bytes))
		return false;
	for (size_t i = 0; i < bytes; i++)
		v = v << 8 | b[i];
	*ret = v;
	return true;
}

/* A vector with its length before it: ret reads its content, c goes on after it. */
static bool take_vector(struct cursor *c, size_t bytes, struct cursor *ret)
{
	struct cursor inner;
	size_t n;

	if (!take_number(c, bytes, &n))
		return false;
	inner = *c;
	inner.left = n;
	if (!take(c, NULL, n))
		return false;
	*ret = inner;
	return true;
}

/* ---- the message ---- */

static bool is_name(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] <= ' ' || p[i] >= 0x7f)
			return false;
	return n > 0;
}

static void lower(char *p)
{
	for (; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
}

/* One name of each type is possible; only host names are known. */
static bool take_server_name(struct tls_hello *h, struct cursor *c)
{
	struct cursor list, name;
	size_t type, n;

	if (!take_vector(c, 2, &list) || c->left || !list.left || h->name[0])
		return false;
	while (list.left) {
		if (!take_number(&list, 1, &type) || !take_vector(&list, 2, &name))
			return false;
		if (type != 0)
			continue;
		n = name.left;
		if (n > TLS_HELLO_NAME || h->name[0] || !take(&name, h->name, n) ||
		    !is_name(h->name, n))
			return false;
		h->name[n] = '\0';
		lower(h->name);
	}
	return true;
}

/* Names that cannot be shown, such as those of GREASE, are left out. */
static bool take_protocols(struct tls_hello *h, struct cursor *c)
{
	struct cursor list, one;
	char name[TLS_HELLO_PROTOCOLS];
	size_t used = 0, n;

	if (!take_vector(c, 2, &list) || c->left)
		return false;
	while (list.left) {
		if (!take_vector(&list, 1, &one))
			return false;
		n = one.left;
		if (!n)
			return false;
		if (used + n + 2 > sizeof(h->protocols) || !take(&one, name, n) ||
		    !is_name(name, n))
			continue;
		if (used)
			h->protocols[used++] = ',';
		memcpy(h->protocols + used, name, n);
		used += n;
		h->protocols[used] = '\0';
	}
	return true;
}

static bool take_versions(struct tls_hello *h, struct cursor *c)
{
	struct cursor list;
	size_t version;

	if (!take_vector(c, 1, &list) || c->left)
		return false;
	while (list.left) {
		if (!take_number(&list, 2, &version))
			return false;
		if (version >> 8 == 3 && version > h->version)
			h->version = (unsigned)version;
	}
	return true;
}

static bool take_extension(struct tls_hello *h, size_t type, struct cursor *c)
{
	switch (type) {
	case EXT_SERVER_NAME:
		return take_server_name(h, c);
	case EXT_ALPN:
		return take_protocols(h, c);
	case EXT_SUPPORTED_VERSIONS:
		return take_versions(h, c);
	default:
		return true;
	}
}

static bool take_extensions(struct tls_hello *h, struct cursor *c)
{
	struct cursor list, body;
	size_t type;

	if (!c->left)
		return true; /* older clients have none */
	if (!take_vector(c, 2, &list) || c->left)
		return false;
	while (list.left)
		if (!take_number(&list, 2, &type) || !take_vector(&list, 2, &body) ||
		    !take_extension(h, type, &body))
			return false;
	return true;
}

static bool take_hello(struct tls_hello *h, struct cursor *c)
{
	struct cursor skipped;
	size_t version;

	if (!take_number(c, 2, &version) || version >> 8 != 3 || !take(c, NULL, 32))
		return false;
	h->version = (unsigned)version;
	return take_vector(c, 1, &skipped) && /* session */
	       take_vector(c, 2, &skipped) && /* ciphers */
	       take_vector(c, 1, &skipped) && /* compression */
	       take_extensions(h, c);
}

/* ---- records ---- */

/* Each byte is looked at as soon as it is there, so that other protocols are known at once. */
static int check_header(const uint8_t *p, size_t n, bool first)
{
	const int no = first ? -EPROTO : -EBADMSG;

	if (n > 0 && p[0] != RECORD_HANDSHAKE)
		return no;
	if (n > 1 && p[1] != 3)
		return no;
	if (n >= HEADER && (!record_size(p) || record_size(p) > RECORD_MAX))
		return no;
	return 0;
}

/* The size of the message with its header; 0 if it is not known yet. */
static int message_size(const uint8_t *p, size_t have, size_t *ret)
{
	struct cursor c = { .p = p, .left = have };
	size_t type, n;

	*ret = 0;
	if (!take_number(&c, 1, &type))
		return 0;
	if (type != CLIENT_HELLO)
		return -EBADMSG;
	if (!take_number(&c, 3, &n))
		return 0;
	if (n > TLS_HELLO_MAX)
		return -E2BIG;
	*ret = MESSAGE_HEADER + n;
	return 0;
}

/* The bytes of the message that are there; whole is set if it is all of it. */
static int collect(struct tls_hello *h, const uint8_t *p, size_t n, size_t *ret_size)
{
	for (;;) {
		size_t rest = n - h->record, size, part, want;
		int r = check_header(p + h->record, rest, h->record == 0);

		if (r < 0 || rest <= HEADER)
			return r;
		size = record_size(p + h->record);
		part = rest - HEADER < size ? rest - HEADER : size;
		r = message_size(p, h->before + part, &want);
		if (r < 0)
			return r;
		if (want && h->before + part >= want) {
			*ret_size = want;
			return 1;
		}
		if (part < size)
			return 0;
		h->before += size;
		h->record += HEADER + size;
	}
}

int tls_hello_look(struct tls_hello *h, const void *p, size_t n)
{
	size_t size = 0;
	int r = collect(h, p, n < TLS_HELLO_MAX ? n : TLS_HELLO_MAX, &size);
	struct cursor c = { .p = p, .left = size };

	if (r == 0 && n >= TLS_HELLO_MAX)
		return -E2BIG;
	if (r <= 0)
		return r;
	take(&c, NULL, MESSAGE_HEADER);
	if (take_hello(h, &c))
		return 1;
	h->name[0] = h->protocols[0] = '\0';
	return -EBADMSG;
}
