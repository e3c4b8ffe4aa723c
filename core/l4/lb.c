/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lb: the state of a data plane as two levels of sorted lists.
 *
 * A struct lb_state owns its VIPs, a VIP owns its ASes. Everything is found by binary search, and
 * new entries are inserted where their key belongs: a caller need not sort, and one that adds
 * entries in order pays nothing for it, because nothing has to move.
 */
#include "core/l4/lb.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/sorted.h"

static const char *const encap_names[] = {
	[LB_ENCAP_GRE4] = "gre4", [LB_ENCAP_GRE6] = "gre6", [LB_ENCAP_OTHER] = "other"
};

/* The index of key, or where it would be inserted: the first VIP that is not before it. */
static size_t vip_place(const struct lb_state *s, const struct lb_vip_key *key)
{
	return sorted_place(s->vips.n, i, lb_vip_key_cmp(&s->vips.items[i].key, key) < 0);
}

static size_t as_place(const struct lb_vip *v, const struct addr *address)
{
	return sorted_place(v->as.n, i, addr_cmp(&v->as.items[i].address, address) < 0);
}

static bool vip_is_at(const struct lb_state *s, size_t i, const struct lb_vip_key *key)
{
	return i < s->vips.n && lb_vip_key_cmp(&s->vips.items[i].key, key) == 0;
}

static bool as_is_at(const struct lb_vip *v, size_t i, const struct addr *address)
{
	return i < v->as.n && addr_cmp(&v->as.items[i].address, address) == 0;
}

const char *lb_status_name(enum lb_status s)
{
	static const char *const names[LB_STATUSES] = {
		[LB_DISCONNECTED] = "disconnected",
		[LB_DEGRADED] = "degraded",
		[LB_CONNECTED] = "connected",
	};

	assert((size_t)s < ARRAY_SIZE(names));
	return names[s];
}

enum lb_status lb_status_judge(bool connected, const struct lb_attachment *attachment)
{
	if (!connected)
		return LB_DISCONNECTED;
	for (size_t i = 0; attachment && i < attachment->n; i++)
		if (!attachment->interfaces[i].attached)
			return LB_DEGRADED;
	return LB_CONNECTED;
}

const char *lb_encap_name(enum lb_encap e)
{
	assert((size_t)e < ARRAY_SIZE(encap_names));
	return encap_names[e];
}

int lb_vip_key_cmp(const struct lb_vip_key *a, const struct lb_vip_key *b)
{
	int order = addr_cmp(&a->address, &b->address);

	if (order == 0)
		order = (a->protocol > b->protocol) - (a->protocol < b->protocol);
	if (order == 0)
		order = (a->port > b->port) - (a->port < b->port);
	return order;
}

bool lb_conf_equal(const struct lb_conf *a, const struct lb_conf *b)
{
	return addr_cmp(&a->src4, &b->src4) == 0 && addr_cmp(&a->src6, &b->src6) == 0 &&
	       a->sticky_buckets_per_core == b->sticky_buckets_per_core &&
	       a->flow_timeout_s == b->flow_timeout_s;
}

const char *lb_protocol_format(uint8_t protocol, char buf[static LB_PROTOCOL_STRLEN])
{
	if (protocol == 0 || protocol == IPPROTO_TCP || protocol == IPPROTO_UDP)
		snprintf(buf, LB_PROTOCOL_STRLEN, "%s",
			 protocol == IPPROTO_TCP   ? "tcp"
			 : protocol == IPPROTO_UDP ? "udp"
						   : "any");
	else /* never wanted, but a data plane may hold it */
		snprintf(buf, LB_PROTOCOL_STRLEN, "%u", protocol);
	return buf;
}

const char *lb_vip_key_format(const struct lb_vip_key *k, char buf[static LB_VIP_KEY_STRLEN])
{
	struct endpoint where = { k->address, k->port };
	char text[ENDPOINT_STRLEN], protocol[LB_PROTOCOL_STRLEN];

	lb_protocol_format(k->protocol, protocol);
	if (k->protocol == 0)
		snprintf(buf, LB_VIP_KEY_STRLEN, "%s any", addr_format(&k->address, text));
	else
		snprintf(buf, LB_VIP_KEY_STRLEN, "%s/%s", endpoint_format(&where, text), protocol);
	return buf;
}

static void clear_memory(struct lb_as *as)
{
	as->flush = as->hold = false;
	as->idle_since = 0;
}

void lb_state_copy(const struct lb_state *from, struct lb_state *ret)
{
	assert(!ret->vips.n);
	ret->has_conf = from->has_conf;
	ret->conf = from->conf;
	for (size_t i = 0; i < from->vips.n; i++) {
		struct lb_vip copy = from->vips.items[i];

		copy.as.items = mem_copy(copy.as.items, copy.as.n * sizeof(*copy.as.items));
		copy.as.cap = copy.as.n;
		for (size_t j = 0; j < copy.as.n; j++)
			clear_memory(&copy.as.items[j]);
		vec_push(&ret->vips, copy);
	}
}

void lb_state_free(struct lb_state *s)
{
	for (size_t i = 0; i < s->vips.n; i++)
		lb_vip_free(&s->vips.items[i]);
	vec_free(&s->vips);
	s->has_conf = false;
}

void lb_vip_free(struct lb_vip *v)
{
	vec_free(&v->as);
}

struct lb_vip *lb_state_vip(const struct lb_state *s, const struct lb_vip_key *key)
{
	size_t i = vip_place(s, key);

	return vip_is_at(s, i, key) ? &s->vips.items[i] : NULL;
}

struct lb_vip *lb_state_put_vip(struct lb_state *s, const struct lb_vip_key *key)
{
	size_t i = vip_place(s, key);

	if (!vip_is_at(s, i, key)) {
		struct lb_vip fresh = { .key = *key }; /* key may point into the array that grows */

		vec_insert_at(&s->vips, i);
		s->vips.items[i] = fresh;
	}
	return &s->vips.items[i];
}

bool lb_state_remove_vip(struct lb_state *s, const struct lb_vip_key *key)
{
	size_t i = vip_place(s, key);

	if (!vip_is_at(s, i, key))
		return false;
	lb_vip_free(&s->vips.items[i]);
	vec_remove_at(&s->vips, i);
	return true;
}

struct lb_as *lb_vip_as(const struct lb_vip *v, const struct addr *address)
{
	size_t i = as_place(v, address);

	return as_is_at(v, i, address) ? &v->as.items[i] : NULL;
}

struct lb_as *lb_vip_put_as(struct lb_vip *v, const struct addr *address)
{
	size_t i = as_place(v, address);

	if (!as_is_at(v, i, address)) {
		struct lb_as fresh = { .address = *address };

		vec_insert_at(&v->as, i);
		v->as.items[i] = fresh;
	}
	return &v->as.items[i];
}

bool lb_vip_remove_as(struct lb_vip *v, const struct addr *address)
{
	size_t i = as_place(v, address);

	if (!as_is_at(v, i, address))
		return false;
	vec_remove_at(&v->as, i);
	return true;
}

void lb_as_note_idle(struct lb_as *as, int64_t since, int64_t now)
{
	as->idle_since = as->weight ? 0 : since ? since : now;
}

void lb_state_note_idle(struct lb_state *s, const struct lb_state *before, int64_t now)
{
	for (size_t i = 0; i < s->vips.n; i++) {
		struct lb_vip *vip = &s->vips.items[i];
		const struct lb_vip *old = lb_state_vip(before, &vip->key);

		for (size_t j = 0; j < vip->as.n; j++) {
			struct lb_as *as = &vip->as.items[j];
			const struct lb_as *was = old ? lb_vip_as(old, &as->address) : NULL;

			lb_as_note_idle(as, was ? was->idle_since : 0, now);
		}
	}
}
