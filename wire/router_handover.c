/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/router_handover.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define MAGIC "maglev-router"
#define VERSION "1"

struct reader {
	struct arena *arena;
	struct router_handover *into;
	VEC(struct router_handover_socket) sockets;
	VEC(struct router_handover_server) servers;
};

static const char *const kinds[] = { [ROUTER_HANDOVER_LISTENER] = "listener",
				     [ROUTER_HANDOVER_ADMIN] = "admin",
				     [ROUTER_HANDOVER_GRPC] = "grpc",
				     [ROUTER_HANDOVER_UDP] = "udp",
				     [ROUTER_HANDOVER_SESSIONS] = "sessions" };

static void write_server(const struct router_handover_server *s, struct buf *out)
{
	char text[ADDR_STRLEN];

	buf_printf(out, "server %" PRIu32 " %" PRIu32 " %s", s->pool, s->server,
		   s->down ? "down" : "-");
	for (size_t i = 0; i < s->n; i++)
		buf_printf(out, " %s", addr_format(&s->addresses[i], text));
	buf_addc(out, '\n');
}

static void write_tickets(const struct router_handover *h, struct buf *out)
{
	if (!h->n_tickets)
		return;
	buf_adds(out, "tickets ");
	for (size_t i = 0; i < h->n_tickets; i++)
		buf_printf(out, "%02x", h->tickets[i]);
	buf_addc(out, '\n');
}

void router_handover_write(const struct router_handover *h, struct buf *out)
{
	char text[ENDPOINT_STRLEN];

	buf_printf(out, MAGIC " " VERSION "\ngeneration %" PRIu64 "\nlast %" PRIu64 "\n",
		   h->generation, h->last);
	for (size_t i = 0; i < h->n; i++) {
		const struct router_handover_socket *s = &h->sockets[i];

		buf_printf(out, "%s %s\n", kinds[s->kind],
			   s->text ?: endpoint_format(&s->at, text));
	}
	write_tickets(h, out);
	for (size_t i = 0; i < h->n_servers; i++)
		write_server(&h->servers[i], out);
	buf_addc(out, '\n');
	buf_add(out, h->config.p, h->config.n);
}

static int take_version(struct reader *r, const char *value)
{
	return cstr_eq(value, VERSION) ? 0 : -EPROTONOSUPPORT;
}

static int take_generation(struct reader *r, const char *value)
{
	return str_to_u64(str_of(value), UINT64_MAX, &r->into->generation) < 0 ? -EBADMSG : 0;
}

static int take_last(struct reader *r, const char *value)
{
	return str_to_u64(str_of(value), UINT64_MAX, &r->into->last) < 0 ? -EBADMSG : 0;
}

static int take_socket(struct reader *r, struct router_handover_socket s)
{
	if (r->sockets.n >= ROUTER_HANDOVER_SOCKETS)
		return -E2BIG;
	vec_push(&r->sockets, s);
	return 0;
}

static int take_address(struct reader *r, const char *value, enum router_handover_kind kind)
{
	struct router_handover_socket s = { .kind = kind };

	return endpoint_parse(value, &s.at) < 0 ? -EBADMSG : take_socket(r, s);
}

static int take_listener(struct reader *r, const char *value)
{
	return take_address(r, value, ROUTER_HANDOVER_LISTENER);
}

static int take_udp(struct reader *r, const char *value)
{
	return take_address(r, value, ROUTER_HANDOVER_UDP);
}

static int take_admin(struct reader *r, const char *value)
{
	return take_socket(r, (struct router_handover_socket){ .kind = ROUTER_HANDOVER_ADMIN,
							       .text = value });
}

static int take_grpc(struct reader *r, const char *value)
{
	return take_socket(r, (struct router_handover_socket){ .kind = ROUTER_HANDOVER_GRPC,
							       .text = value });
}

static int take_sessions(struct reader *r, const char *value)
{
	return take_socket(r, (struct router_handover_socket){ .kind = ROUTER_HANDOVER_SESSIONS,
							       .text = value });
}

static int take_number(struct str *rest, uint32_t *ret)
{
	struct str word;
	uint64_t number;

	if (!str_cut(rest, ' ', &word) || str_to_u64(word, UINT32_MAX, &number) < 0)
		return -EBADMSG;
	*ret = (uint32_t)number;
	return 0;
}

static int take_addresses(struct reader *r, struct str rest, struct router_handover_server *s)
{
	struct addr list[ROUTER_HANDOVER_ADDRESSES];
	struct str word;

	while (str_cut(&rest, ' ', &word)) {
		if (s->n == ARRAY_SIZE(list))
			return -E2BIG;
		if (addr_parse(arena_strndup(r->arena, word.p, word.n), &list[s->n]) < 0)
			return -EBADMSG;
		s->n++;
	}
	s->addresses = arena_copy(r->arena, list, s->n * sizeof(*list));
	return 0;
}

static int take_server(struct reader *r, const char *value)
{
	struct str rest = str_of(value), state;
	struct router_handover_server s = { 0 };
	int error = take_number(&rest, &s.pool);

	if (error == 0)
		error = take_number(&rest, &s.server);
	if (error < 0 || !str_cut(&rest, ' ', &state))
		return -EBADMSG;
	s.down = str_eq(state, STR("down"));
	error = take_addresses(r, rest, &s);
	if (error == 0 && r->servers.n >= ROUTER_HANDOVER_SERVERS)
		error = -E2BIG;
	if (error == 0)
		vec_push(&r->servers, s);
	return error;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int take_tickets(struct reader *r, const char *value)
{
	size_t n = strlen(value);
	uint8_t *bytes = arena_alloc(r->arena, n / 2 + 1);

	if (n % 2)
		return -EBADMSG;
	for (size_t i = 0; i < n; i += 2) {
		int high = digit(value[i]), low = digit(value[i + 1]);

		if (high < 0 || low < 0)
			return -EBADMSG;
		bytes[i / 2] = (uint8_t)(high << 4 | low);
	}
	r->into->tickets = bytes;
	r->into->n_tickets = n / 2;
	return 0;
}

static const struct {
	const char *word;
	int (*take)(struct reader *r, const char *value);
} words[] = { { MAGIC, take_version },	     { "generation", take_generation },
	      { "last", take_last },	     { "listener", take_listener },
	      { "admin", take_admin },	     { "grpc", take_grpc },
	      { "server", take_server },     { "udp", take_udp },
	      { "sessions", take_sessions }, { "tickets", take_tickets } };

static int take_line(struct reader *r, struct str line)
{
	struct str word;

	if (line.n > ROUTER_HANDOVER_LINE)
		return -E2BIG;
	str_cut(&line, ' ', &word);
	if (!line.p || memchr(line.p, '\0', line.n))
		return -EBADMSG;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_eq(word, str_of(words[i].word)))
			return words[i].take(r, arena_strndup(r->arena, line.p, line.n));
	return 0;
}

/* The first line says what it is; the empty one ends the head. */
static int take_head(struct reader *r, struct str *rest)
{
	struct str line;
	int error = 0;

	if (!str_starts(*rest, STR(MAGIC " ")))
		return -EBADMSG;
	while (error == 0 && str_cut(rest, '\n', &line)) {
		if (!rest->p)
			return -EBADMSG; /* a line without its end */
		if (!line.n)
			return 0;
		error = take_line(r, line);
	}
	return error < 0 ? error : -EBADMSG;
}

int router_handover_parse(struct str text, struct arena *arena, struct router_handover *ret)
{
	struct router_handover h = { 0 };
	struct reader r = { .arena = arena, .into = &h };
	int error = take_head(&r, &text);

	if (error == 0) {
		h.sockets =
			arena_copy(arena, r.sockets.items, r.sockets.n * sizeof(*r.sockets.items));
		h.n = r.sockets.n;
		h.servers =
			arena_copy(arena, r.servers.items, r.servers.n * sizeof(*r.servers.items));
		h.n_servers = r.servers.n;
		h.config = text;
		*ret = h;
	}
	vec_free(&r.sockets);
	vec_free(&r.servers);
	return error;
}
