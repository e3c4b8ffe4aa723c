/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text: lines of words. A VIP begins with its type, and is followed by its own lines:
 *
 *	 ip4-gre4 [3] 192.0.2.10/32 src_ip_sticky
 *	  new_size:1024
 *	  protocol:17 port:443
 *	  counters: ...
 *	    10.0.0.1 weight:100 buckets:512 flows:11 dpo:17 used
 */
#include "src/maglevd/dataplane/vpp/text.h"

#include <stdlib.h>

#include "core/l4/config.h"

/* the longest word that can be an address */
#define WORD_SIZE 64

/* The rest of a line, from which words are taken. */
struct line {
	struct str rest;
};

static bool next_word(struct line *l, struct str *ret)
{
	while (str_cut(&l->rest, ' ', ret))
		if (ret->n)
			return true;
	return false;
}

/* "name:5" */
static bool has_number(struct str word, const char *name, uint64_t max, uint64_t *ret)
{
	size_t n = strlen(name);

	return word.n > n && memcmp(word.p, name, n) == 0 &&
	       str_to_u64((struct str){ word.p + n, word.n - n }, max, ret) == 0;
}

static bool parse_address(struct str word, struct addr *ret)
{
	char text[WORD_SIZE];

	if (word.n >= sizeof(text))
		return false;
	memcpy(text, word.p, word.n);
	text[word.n] = '\0';
	return addr_parse(text, ret) == 0;
}

/* "192.0.2.10/32": only single addresses are of interest. */
static bool parse_host(struct str word, struct addr *ret)
{
	struct str address;
	uint64_t length;
	struct addr a;

	if (!str_cut(&word, '/', &address) || str_to_u64(word, 128, &length) < 0 ||
	    !parse_address(address, &a) || length != (a.family == AF_INET6 ? 128 : 32))
		return false;
	*ret = a;
	return true;
}

/* "ip4-gre4", "ip6-nat6" ...: encapsulations that we do not use begin a VIP too. */
static bool is_type(struct str word)
{
	return word.n >= 8 && (memcmp(word.p, "ip4-", 4) == 0 || memcmp(word.p, "ip6-", 4) == 0);
}

/* "[3]" */
static bool parse_index(struct str word, uint32_t *ret)
{
	uint64_t index;

	if (word.n < 3 || word.p[0] != '[' || word.p[word.n - 1] != ']' ||
	    str_to_u64((struct str){ word.p + 1, word.n - 2 }, UINT32_MAX - 1, &index) < 0)
		return false;
	*ret = (uint32_t)index;
	return true;
}

/* Parses what follows the type. False when the VIP is not of interest. */
static bool parse_vip(struct line *l, struct vpplb_text_vip *ret)
{
	struct str word;

	*ret = (struct vpplb_text_vip){ .key.protocol = L4_PROTOCOL_ANY, .sticky_told = true };
	if (!next_word(l, &word) || !parse_index(word, &ret->index) || !next_word(l, &word) ||
	    !parse_host(word, &ret->key.address))
		return false;
	while (next_word(l, &word)) {
		if (str_eq(word, STR("removed")))
			return false;
		if (str_eq(word, STR("src_ip_sticky")))
			ret->src_ip_sticky = true;
		else
			ret->sticky_told = false; /* an unknown word may mean that it is sticky */
	}
	return true;
}

/* Parses what follows the address. False when it is no server, or a removed one. */
static bool parse_as(struct line *l, struct vpplb_text_as *ret)
{
	bool has_buckets = false, used = false;
	struct str word;
	uint64_t number;

	while (next_word(l, &word)) {
		if (has_number(word, "buckets:", UINT32_MAX, &number)) {
			ret->buckets = (uint32_t)number;
			has_buckets = true;
		} else if (has_number(word, "flows:", UINT32_MAX, &number)) {
			ret->flows = (uint32_t)number;
		} else if (str_eq(word, STR("used"))) {
			used = true;
		}
	}
	return has_buckets && used;
}

/* Parses a line of a VIP; word is its first word. */
static void parse_inner(struct vpplb_text *t, struct vpplb_text_vip *vip, struct str word,
			struct line *l)
{
	struct vpplb_text_as as = { 0 };
	uint64_t number;

	if (has_number(word, "new_size:", UINT32_MAX, &number)) {
		vip->buckets = (uint32_t)number;
	} else if (has_number(word, "protocol:", UINT8_MAX, &number)) {
		vip->key.protocol = (uint8_t)number;
		if (next_word(l, &word) && has_number(word, "port:", UINT16_MAX, &number))
			vip->key.port = (uint16_t)number;
	} else if (parse_address(word, &as.address) && parse_as(l, &as)) {
		vec_push(&t->as, as);
		vip->n_as++;
	}
}

static int vip_cmp(const void *a, const void *b)
{
	const struct vpplb_text_vip *x = a, *y = b;

	return lb_vip_key_cmp(&x->key, &y->key);
}

static int as_cmp(const void *a, const void *b)
{
	const struct vpplb_text_as *x = a, *y = b;

	return addr_cmp(&x->address, &y->address);
}

/*
 * VPP prints in the order of its own pools. Duplicates are dropped within the range of the VIP;
 * the freed places at its end stay unused.
 */
static void sort_servers(struct vpplb_text *t, struct vpplb_text_vip *vip)
{
	struct vpplb_text_as *as;
	size_t kept = 0;

	if (!vip->n_as)
		return;
	as = t->as.items + vip->as_first;
	qsort(as, vip->n_as, sizeof(*as), as_cmp);
	for (size_t i = 0; i < vip->n_as; i++)
		if (i == 0 || as_cmp(&as[kept - 1], &as[i]) != 0)
			as[kept++] = as[i];
	vip->n_as = kept;
}

static void sort(struct vpplb_text *t)
{
	size_t kept = 0;

	if (!t->vips.n)
		return;
	qsort(t->vips.items, t->vips.n, sizeof(*t->vips.items), vip_cmp);
	for (size_t i = 0; i < t->vips.n; i++)
		if (i == 0 || vip_cmp(&t->vips.items[kept - 1], &t->vips.items[i]) != 0)
			t->vips.items[kept++] = t->vips.items[i];
	t->vips.n = kept;
	for (size_t i = 0; i < kept; i++)
		sort_servers(t, &t->vips.items[i]);
}

void vpplb_text_parse(struct str text, struct vpplb_text *ret)
{
	bool inside = false; /* the lines belong to a VIP of interest */
	struct vpplb_text_vip vip;
	struct line l;
	struct str word;

	while (str_cut(&text, '\n', &l.rest)) {
		if (!next_word(&l, &word))
			continue;
		if (is_type(word)) {
			inside = parse_vip(&l, &vip);
			vip.as_first = ret->as.n;
			if (inside)
				vec_push(&ret->vips, vip);
		} else if (inside) {
			parse_inner(ret, &ret->vips.items[ret->vips.n - 1], word, &l);
		}
	}
	sort(ret);
}

void vpplb_text_free(struct vpplb_text *t)
{
	vec_free(&t->vips);
	vec_free(&t->as);
}

const struct vpplb_text_vip *vpplb_text_find(const struct vpplb_text *t,
					     const struct lb_vip_key *key)
{
	const struct vpplb_text_vip wanted = { .key = *key };

	return t->vips.n ? bsearch(&wanted, t->vips.items, t->vips.n, sizeof(wanted), vip_cmp)
			 : NULL;
}
