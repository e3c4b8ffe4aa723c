/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/l2/beat.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>

#include "lib/tls/digest.h"

#define VERSION 1
#define OWNER 1
#define PREEMPTS 2
#define VIP_HEAD 5 /* family, flags, priority, claims */

struct head {
	char magic[4];
	uint8_t version, name_len, n_vips, zero;
	uint32_t group, wait_ms;
	uint64_t boot, sequence;
} __attribute__((packed));

_Static_assert(sizeof(struct head) == 32, "as beat.h says");
_Static_assert(sizeof(struct head) + L2_BEAT_NAME + L2_BEAT_VIPS * (VIP_HEAD + 16) + TLS_SHA256 <=
		       L2_BEAT_MAX,
	       "the largest heartbeat fits");

static const char magic[4] = { 'M', 'G', 'L', '2' };

static size_t address_len(const struct addr *a)
{
	return a->family == AF_INET ? 4 : 16;
}

static bool is_wait(uint32_t ms)
{
	return ms >= L2_BEAT_WAIT_MIN && ms <= L2_BEAT_WAIT_MAX;
}

/* ---- writing ---- */

static uint8_t *put_vip(uint8_t *p, const struct l2_beat_vip *v)
{
	size_t len = address_len(&v->vip);

	*p++ = v->vip.family == AF_INET ? 4 : 6;
	*p++ = (uint8_t)((v->owner ? OWNER : 0) | (v->preempt ? PREEMPTS : 0));
	*p++ = v->priority;
	*p++ = (uint8_t)(v->claims >> 8);
	*p++ = (uint8_t)v->claims;
	memcpy(p, v->vip.bytes, len);
	return p + len;
}

size_t l2_beat_encode(const struct l2_beat *b, struct str key, uint8_t out[static L2_BEAT_MAX])
{
	size_t name_len = strlen(b->name);
	const struct head head = {
		.magic = { magic[0], magic[1], magic[2], magic[3] },
		.version = VERSION,
		.name_len = (uint8_t)name_len,
		.n_vips = (uint8_t)b->n,
		.group = htobe32(b->group),
		.wait_ms = htobe32(b->wait_ms),
		.boot = htobe64(b->boot),
		.sequence = htobe64(b->sequence),
	};
	uint8_t *p = out;

	assert(name_len > 0 && b->n <= L2_BEAT_VIPS && is_wait(b->wait_ms));
	memcpy(p, &head, sizeof(head));
	p += sizeof(head);
	memcpy(p, b->name, name_len);
	p += name_len;
	for (size_t i = 0; i < b->n; i++)
		p = put_vip(p, &b->vips[i]);
	tls_hmac_sha256(key.p, key.n, out, (size_t)(p - out), p);
	return (size_t)(p - out) + TLS_SHA256;
}

/* ---- reading ---- */

static const uint8_t *take(struct str *rest, size_t n)
{
	const char *p = rest->p;

	if (rest->n < n)
		return NULL;
	rest->p += n;
	rest->n -= n;
	return (const uint8_t *)p;
}

/* A flag that is not known is an error: a new one needs a new version. */
static bool take_vip(struct str *rest, struct l2_beat_vip *ret)
{
	const uint8_t *head = take(rest, VIP_HEAD), *address;

	if (!head || (head[0] != 4 && head[0] != 6) || (head[1] & ~(OWNER | PREEMPTS)))
		return false;
	*ret = (struct l2_beat_vip){ .vip.family = head[0] == 4 ? AF_INET : AF_INET6,
				     .owner = head[1] & OWNER,
				     .preempt = head[1] & PREEMPTS,
				     .priority = head[2],
				     .claims = (uint16_t)(head[3] << 8 | head[4]) };
	address = take(rest, address_len(&ret->vip));
	if (!address)
		return false;
	memcpy(ret->vip.bytes, address, address_len(&ret->vip));
	return true;
}

static bool take_name(struct str *rest, size_t len, char ret[static L2_BEAT_NAME + 1])
{
	const char *p = (const char *)take(rest, len);

	if (!p || !len || len > L2_BEAT_NAME || utf8_printable_run(p, len) != len)
		return false;
	memcpy(ret, p, len);
	return true;
}

static int parse(struct str rest, struct l2_beat *ret)
{
	struct l2_beat b = { 0 };
	struct head head;

	memcpy(&head, take(&rest, sizeof(head)), sizeof(head));
	b.group = be32toh(head.group);
	b.wait_ms = be32toh(head.wait_ms);
	b.boot = be64toh(head.boot);
	b.sequence = be64toh(head.sequence);
	b.n = head.n_vips;
	if (head.zero || b.n > L2_BEAT_VIPS || !is_wait(b.wait_ms) ||
	    !take_name(&rest, head.name_len, b.name))
		return -EPROTO;
	for (size_t i = 0; i < b.n; i++)
		if (!take_vip(&rest, &b.vips[i]))
			return -EPROTO;
	if (rest.n)
		return -EPROTO;
	*ret = b;
	return 0;
}

int l2_beat_decode(struct str bytes, struct str key, struct l2_beat *ret)
{
	uint8_t expected[TLS_SHA256];
	size_t signed_len;

	if (bytes.n < sizeof(struct head) + TLS_SHA256 || bytes.n > L2_BEAT_MAX ||
	    memcmp(bytes.p, magic, sizeof(magic)) != 0)
		return -EPROTO;
	if (bytes.p[offsetof(struct head, version)] != VERSION)
		return -EPROTONOSUPPORT;
	signed_len = bytes.n - TLS_SHA256;
	tls_hmac_sha256(key.p, key.n, bytes.p, signed_len, expected);
	if (!tls_same(expected, bytes.p + signed_len, TLS_SHA256))
		return -EKEYREJECTED;
	return parse((struct str){ bytes.p, signed_len }, ret);
}

/* ---- against replays ---- */

bool l2_beat_is_fresh(struct l2_beat_guard *g, const struct l2_beat *b)
{
	size_t i = 0;

	while (i < g->n && strcmp(g->senders[i].name, b->name) != 0)
		i++;
	if (i < g->n && (b->boot < g->senders[i].boot ||
			 (b->boot == g->senders[i].boot && b->sequence <= g->senders[i].sequence)))
		return false;
	if (i == g->n && g->n < L2_BEAT_SENDERS)
		g->n++;
	if (i == L2_BEAT_SENDERS)
		i--;
	memmove(&g->senders[1], &g->senders[0], i * sizeof(g->senders[0]));
	memcpy(g->senders[0].name, b->name, sizeof(b->name));
	g->senders[0].boot = b->boot;
	g->senders[0].sequence = b->sequence;
	return true;
}
