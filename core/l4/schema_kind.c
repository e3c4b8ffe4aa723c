/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of values that only this configuration has; see base/schema_kind.c for the others. */
#include <string.h>

#include "core/l4/config.h"
#include "core/l4/schema.h"

#define AS(type, value) (*(type const *)(value))

static const char *const check_types[] = {
	[L4_CHECK_ICMP] = "icmp",   [L4_CHECK_TCP] = "tcp", [L4_CHECK_HTTP] = "http",
	[L4_CHECK_HTTPS] = "https", [L4_CHECK_TLS] = "tls", [L4_CHECK_UDP] = "udp",
	[L4_CHECK_DNS] = "dns",
};

const struct schema_kind l4_kind_check_type = SCHEMA_ENUM(check_types);

static const char *const check_ports[] = {
	[L4_PORTS_GIVEN] = "given",
	[L4_PORTS_VIP] = "vip",
};

const struct schema_kind l4_kind_check_ports = SCHEMA_ENUM(check_ports);

static const char *const dns_types[] = {
	[L4_DNS_A] = "A",     [L4_DNS_AAAA] = "AAAA", [L4_DNS_CNAME] = "CNAME",
	[L4_DNS_MX] = "MX",   [L4_DNS_NS] = "NS",     [L4_DNS_PTR] = "PTR",
	[L4_DNS_SOA] = "SOA", [L4_DNS_SRV] = "SRV",   [L4_DNS_TXT] = "TXT",
};

const struct schema_kind l4_kind_dns_type = SCHEMA_ENUM(dns_types);

static const char *const dns_rcodes[] = {
	[L4_DNS_NOERROR] = "NOERROR",	[L4_DNS_FORMERR] = "FORMERR",
	[L4_DNS_SERVFAIL] = "SERVFAIL", [L4_DNS_NXDOMAIN] = "NXDOMAIN",
	[L4_DNS_NOTIMP] = "NOTIMP",	[L4_DNS_REFUSED] = "REFUSED",
};

const struct schema_kind l4_kind_dns_rcode = SCHEMA_ENUM(dns_rcodes);

static const char *const dataplanes[] = {
	[L4_DATAPLANE_VPP] = "vpp",
	[L4_DATAPLANE_XDP] = "xdp",
	[L4_DATAPLANE_NONE] = "none",
};

const struct schema_kind l4_kind_dataplane = SCHEMA_ENUM(dataplanes);

static const char *const xdp_modes[] = {
	[L4_XDP_AUTO] = "auto",
	[L4_XDP_NATIVE] = "native",
	[L4_XDP_GENERIC] = "generic",
};

const struct schema_kind l4_kind_xdp_mode = SCHEMA_ENUM(xdp_modes);

static const char *const xdp_transmits[] = {
	[L4_XDP_REDIRECT] = "redirect",
	[L4_XDP_TX] = "tx",
};

const struct schema_kind l4_kind_xdp_transmit = SCHEMA_ENUM(xdp_transmits);

/* A range is two 16-bit numbers without padding, so ranges can be compared as memory. */
static bool codes_equal(const void *a, const void *b)
{
	const struct l4_codes *x = a, *y = b;

	return x->n == y->n && (!x->n || memcmp(x->items, y->items, x->n * sizeof(*x->items)) == 0);
}

static void codes_print(const struct schema_kind *kind, const void *value, struct buf *out)
{
	const struct l4_codes *codes = value;

	if (!codes->n)
		buf_adds(out, "none");
	else
		l4_codes_print(codes, out);
}

static void codes_copy(void *value, struct arena *arena)
{
	struct l4_codes *codes = value;

	codes->items = arena_copy(arena, codes->items, codes->n * sizeof(*codes->items));
}

const struct schema_kind l4_kind_codes = {
	.size = sizeof(struct l4_codes),
	.equal = codes_equal,
	.print = codes_print,
	.copy = codes_copy,
};

/* A file of the same name with another content is another value. */
static bool ca_equal(const void *a, const void *b)
{
	const struct l4_ca *x = a, *y = b;

	return cstr_eq(x->file, y->file) && cstr_eq(x->pem, y->pem);
}

/* FNV-1a, so that a file that changed prints differently; nothing depends on it. */
static unsigned short_hash(const char *text)
{
	uint32_t hash = 2166136261U;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 16777619U;
	return hash;
}

static void ca_print(const struct schema_kind *kind, const void *value, struct buf *out)
{
	const struct l4_ca *ca = value;

	schema_text.print(&schema_text, &ca->file, out);
	if (ca->file)
		buf_printf(out, " (%08x)", short_hash(ca->pem));
}

static void ca_copy(void *value, struct arena *arena)
{
	struct l4_ca *ca = value;

	ca->file = ca->file ? arena_strdup(arena, ca->file) : NULL;
	ca->pem = ca->pem ? arena_strdup(arena, ca->pem) : NULL;
}

const struct schema_kind l4_kind_ca = {
	.size = sizeof(struct l4_ca),
	.equal = ca_equal,
	.print = ca_print,
	.copy = ca_copy,
};

/* References of two configurations are equal if the names are: the pointers always differ. */
static const char *check_name(const void *value)
{
	const struct l4_check *check = AS(struct l4_check *, value);

	return check ? check->name : NULL;
}

static bool check_equal(const void *a, const void *b)
{
	return cstr_eq(check_name(a), check_name(b));
}

static void check_print(const struct schema_kind *kind, const void *value, struct buf *out)
{
	const char *name = check_name(value);

	buf_adds(out, name ? name : "none");
}

/*
 * The check belongs to its configuration; a copied pointer would outlive it, so the copy is NULL.
 */
static void check_forget(void *value, struct arena *arena)
{
	*(const struct l4_check **)value = NULL;
}

const struct schema_kind l4_kind_check = {
	.size = sizeof(const struct l4_check *),
	.equal = check_equal,
	.print = check_print,
	.copy = check_forget,
};

static void protocol_print(const struct schema_kind *kind, const void *value, struct buf *out)
{
	buf_adds(out, l4_protocol_name(AS(uint8_t, value)));
}

const struct schema_kind l4_kind_protocol = { .size = sizeof(uint8_t), .print = protocol_print };
