/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state: allocations.json, read strictly and written in one order.
 *
 * What is read decides who owns a port, so a text of another shape than expected is refused as a
 * whole: a claim that was skipped would be a port that is given to somebody else. Unknown keys are
 * the only thing that is ignored.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/json/cursor.h"
#include "lib/json/json.h"
#include "lib/k8s/rfc3339.h"
#include "src/mux/state.h"

static const char *const protocols[MUX_PROTOCOLS] = { "TCP", "UDP", "SCTP" };

int mux_protocol_parse(const char *text, enum mux_protocol *ret)
{
	if (!text)
		text = "TCP";
	for (size_t i = 0; i < MUX_PROTOCOLS; i++)
		if (strcmp(text, protocols[i]) == 0) {
			*ret = (enum mux_protocol)i;
			return 0;
		}
	return -EINVAL;
}

const char *mux_protocol_name(enum mux_protocol p)
{
	return protocols[p];
}

int mux_claim_cmp(const struct mux_claim *a, const struct mux_claim *b)
{
	int r = strcmp(protocols[a->protocol], protocols[b->protocol]);

	if (r == 0)
		r = strcmp(a->namespace, b->namespace);
	if (r == 0)
		r = strcmp(a->service, b->service);
	return r ? r : strcmp(a->port_name, b->port_name);
}

/* A text that must be there and must not be empty. */
static int need_text(const struct json_cursor *claim, const char *key, const char **ret)
{
	struct json_cursor c = json_member(claim, key);
	int r = json_require(&c);

	if (r == 0 && json_get_string(&c, ret) < 0)
		r = -EINVAL;
	if (r == 0 && !**ret)
		r = json_complain(&c, "a name");
	return r;
}

static int read_protocol(const struct json_cursor *claim, enum mux_protocol *ret)
{
	struct json_cursor c = json_member(claim, "protocol");
	const char *text = NULL;

	if (json_get_string(&c, &text) < 0)
		return -EINVAL;
	if (mux_protocol_parse(text, ret) < 0)
		return json_complain(&c, "TCP, UDP or SCTP");
	return 0;
}

static int read_source(const struct json_cursor *claim, bool *ret_automatic)
{
	struct json_cursor c = json_member(claim, "source");
	const char *text = "auto";

	if (json_get_string(&c, &text) < 0)
		return -EINVAL;
	if (strcmp(text, "auto") != 0 && strcmp(text, "static") != 0)
		return json_complain(&c, "auto or static");
	*ret_automatic = strcmp(text, "auto") == 0;
	return 0;
}

/* muxPort, or port in older texts. */
static int read_numbers(const struct json_cursor *claim, struct mux_claim *ret)
{
	struct json_cursor mux = json_member(claim, "muxPort");
	struct json_cursor port = json_member(claim, "port");
	struct json_cursor channel = json_member(claim, "channelPort");
	uint64_t number = 0, of_channel = 0;
	int r = json_get_u64(&mux, 1, 65535, &number);

	if (r == 0)
		r = json_get_u64(&port, 1, 65535, &number);
	if (r == 0)
		return json_complain(claim, "a claim with muxPort");
	if (r < 0 || json_get_u64(&channel, 0, 65535, &of_channel) < 0)
		return -EINVAL;
	ret->mux_port = (uint16_t)number;
	ret->channel_port = (uint16_t)of_channel;
	return 0;
}

static int read_released(const struct json_cursor *claim, int64_t *ret)
{
	struct json_cursor c = json_member(claim, "releasedAt");
	const char *text;
	int r = json_require(&c);

	if (r == 0 && json_get_string(&c, &text) < 0)
		r = -EINVAL;
	if (r == 0 && k8s_time_parse(str_of(text), ret) < 0)
		r = json_complain(&c, "a time");
	return r;
}

static int read_claim(const struct json_cursor *claim, bool released, struct mux_claim *ret)
{
	if (json_get_kind(claim, JSON_KIND_OBJECT) <= 0)
		return json_complain(claim, "a claim");
	if (need_text(claim, "namespace", &ret->namespace) < 0 ||
	    need_text(claim, "service", &ret->service) < 0 ||
	    need_text(claim, "portName", &ret->port_name) < 0 ||
	    read_protocol(claim, &ret->protocol) < 0 || read_source(claim, &ret->automatic) < 0 ||
	    read_numbers(claim, ret) < 0)
		return -EINVAL;
	return released ? read_released(claim, &ret->released) : 0;
}

/* 1 with the list, 0 if there is none. */
static int read_list(const struct json_cursor *root, const char *key, struct arena *arena,
		     const struct mux_claim **ret, size_t *ret_n)
{
	struct json_cursor list = json_member(root, key);
	int r = json_get_kind(&list, JSON_KIND_ARRAY);
	struct mux_claim *claims;

	if (r <= 0)
		return r;
	claims = arena_array_of(arena, list.node->n, struct mux_claim);
	for (size_t i = 0; i < list.node->n; i++) {
		struct json_cursor item = json_item(&list, i);

		if (read_claim(&item, strcmp(key, "released") == 0, &claims[i]) < 0)
			return -EINVAL;
	}
	*ret = claims;
	*ret_n = list.node->n;
	return 1;
}

static int read_root(const struct json_cursor *root, struct arena *arena, struct mux_state *s)
{
	struct json_cursor mux = json_member(root, "mux");
	struct json_cursor namespace = json_member(&mux, "namespace");
	struct json_cursor name = json_member(&mux, "name");
	int claims;

	if (json_get_kind(root, JSON_KIND_OBJECT) <= 0)
		return json_complain(root, "an object");
	if (json_get_kind(&mux, JSON_KIND_OBJECT) < 0 ||
	    json_get_string(&namespace, &s->namespace) < 0 || json_get_string(&name, &s->name) < 0)
		return -EINVAL;
	claims = read_list(root, "portClaims", arena, &s->claims, &s->n_claims);
	if (claims == 0) {
		s->migrated = true;
		claims = read_list(root, "allocations", arena, &s->claims, &s->n_claims);
	}
	if (claims < 0)
		return -EINVAL;
	return read_list(root, "released", arena, &s->released, &s->n_released) < 0 ? -EINVAL : 0;
}

static const char *first_error(const struct errs *errors, struct arena *arena)
{
	const struct err *e = &errors->items[0];

	return arena_printf(arena, "%u:%u: %s%s%s", e->at.line, e->at.column, e->key,
			    *e->key ? ": " : "", e->text);
}

int mux_state_parse(const char *text, struct arena *arena, struct mux_state *ret,
		    const char **ret_why)
{
	struct errs errors = { .arena = arena };
	struct mux_state s = { 0 };
	const struct json_node *tree;
	struct json_cursor root;

	if (!text || !str_trim(str_of(text)).n) {
		*ret = s;
		return 0;
	}
	if (json_parse(str_of(text), NULL, arena, &tree, &errors) < 0) {
		*ret_why = first_error(&errors, arena);
		return -EINVAL;
	}
	root = json_cursor_of(tree, &errors);
	if (read_root(&root, arena, &s) < 0) {
		*ret_why = first_error(&errors, arena);
		return -EINVAL;
	}
	*ret = s;
	return 0;
}

/* How a value begins: a new line and indentation, or nothing. */
static void new_line(struct buf *out, bool compact, unsigned level)
{
	if (compact)
		return;
	buf_addc(out, '\n');
	for (unsigned i = 0; i < level; i++)
		buf_add_lit(out, "  ");
}

static void add_key(struct buf *out, bool compact, const char *key)
{
	buf_addc(out, '"');
	buf_adds(out, key);
	buf_adds(out, compact ? "\":" : "\": ");
}

static void add_text(struct buf *out, bool compact, const char *key, const char *value)
{
	add_key(out, compact, key);
	json_write_string(out, value, strlen(value));
	buf_addc(out, ',');
}

static void add_number(struct buf *out, bool compact, const char *key, unsigned value)
{
	add_key(out, compact, key);
	buf_addu(out, value);
	buf_addc(out, ',');
}

/* Keys in the order of the alphabet. */
static void write_claim(struct buf *out, bool compact, const struct mux_claim *c)
{
	char time[K8S_MICRO_TIME];

	buf_addc(out, '{');
	new_line(out, compact, 3);
	add_number(out, compact, "channelPort", c->channel_port);
	new_line(out, compact, 3);
	add_number(out, compact, "muxPort", c->mux_port);
	new_line(out, compact, 3);
	add_text(out, compact, "namespace", c->namespace);
	new_line(out, compact, 3);
	add_number(out, compact, "port", c->mux_port);
	new_line(out, compact, 3);
	add_text(out, compact, "portName", c->port_name);
	new_line(out, compact, 3);
	add_text(out, compact, "protocol", protocols[c->protocol]);
	new_line(out, compact, 3);
	if (c->released) {
		add_text(out, compact, "releasedAt", k8s_micro_time(c->released, time));
		new_line(out, compact, 3);
	}
	add_text(out, compact, "service", c->service);
	new_line(out, compact, 3);
	add_text(out, compact, "source", c->automatic ? "auto" : "static");
	out->n--; /* the last comma */
	new_line(out, compact, 2);
	buf_addc(out, '}');
}

static void write_list(struct buf *out, bool compact, const struct mux_claim *claims, size_t n,
		       bool automatic_only)
{
	size_t written = 0;

	buf_addc(out, '[');
	for (size_t i = 0; i < n; i++) {
		if (automatic_only && !claims[i].automatic)
			continue;
		if (written++)
			buf_addc(out, ',');
		new_line(out, compact, 2);
		write_claim(out, compact, &claims[i]);
	}
	if (written)
		new_line(out, compact, 1);
	buf_addc(out, ']');
}

static void write_mux(const struct mux_state *s, struct buf *out, bool compact)
{
	add_key(out, compact, "mux");
	buf_addc(out, '{');
	new_line(out, compact, 2);
	add_text(out, compact, "name", s->name);
	new_line(out, compact, 2);
	add_text(out, compact, "namespace", s->namespace);
	out->n--;
	new_line(out, compact, 1);
	buf_addc(out, '}');
	buf_addc(out, ',');
}

static void write_form(const struct mux_state *s, struct buf *out, bool compact, bool allocations)
{
	buf_addc(out, '{');
	if (allocations) {
		new_line(out, compact, 1);
		add_key(out, compact, "allocations");
		write_list(out, compact, s->claims, s->n_claims, true);
		buf_addc(out, ',');
	}
	new_line(out, compact, 1);
	write_mux(s, out, compact);
	new_line(out, compact, 1);
	add_key(out, compact, "portClaims");
	write_list(out, compact, s->claims, s->n_claims, false);
	buf_addc(out, ',');
	if (s->n_released) {
		new_line(out, compact, 1);
		add_key(out, compact, "released");
		write_list(out, compact, s->released, s->n_released, false);
		buf_addc(out, ',');
	}
	new_line(out, compact, 1);
	add_number(out, compact, "schemaVersion", 1);
	out->n--;
	new_line(out, compact, 0);
	buf_addc(out, '}');
}

size_t mux_claim_size(const struct mux_claim *c)
{
	/* the keys, the quotes, three numbers of five digits, the longest protocol and source */
	static const char frame[] =
		"{\"channelPort\":00000,\"muxPort\":00000,\"namespace\":\"\",\"port\":00000,"
		"\"portName\":\"\",\"protocol\":\"SCTP\",\"service\":\"\",\"source\":\"static\"},";
	static const char time[] = "\"releasedAt\":\"2026-11-17T12:00:00.000000Z\",";

	return sizeof(frame) - 1 + strlen(c->namespace) + strlen(c->service) +
	       strlen(c->port_name) + (c->released ? sizeof(time) - 1 : 0);
}

void mux_state_write(const struct mux_state *s, struct buf *out)
{
	static const struct {
		bool compact, allocations;
	} forms[] = { { false, true }, { true, true }, { true, false } };
	size_t start = out->n;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		out->n = start;
		write_form(s, out, forms[i].compact, forms[i].allocations);
		if (out->n - start <= MUX_STATE_MAX)
			return;
	}
}
