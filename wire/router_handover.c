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
};

static const char *const kinds[] = { [ROUTER_HANDOVER_LISTENER] = "listener",
				     [ROUTER_HANDOVER_ADMIN] = "admin",
				     [ROUTER_HANDOVER_GRPC] = "grpc" };

void router_handover_write(const struct router_handover *h, struct buf *out)
{
	char text[ENDPOINT_STRLEN];

	buf_printf(out, MAGIC " " VERSION "\ngeneration %" PRIu64 "\n", h->generation);
	for (size_t i = 0; i < h->n; i++) {
		const struct router_handover_socket *s = &h->sockets[i];

		buf_printf(out, "%s %s\n", kinds[s->kind],
			   s->kind ? s->text : endpoint_format(&s->at, text));
	}
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

static int take_socket(struct reader *r, struct router_handover_socket s)
{
	if (r->sockets.n >= ROUTER_HANDOVER_SOCKETS)
		return -E2BIG;
	vec_push(&r->sockets, s);
	return 0;
}

static int take_listener(struct reader *r, const char *value)
{
	struct router_handover_socket s = { .kind = ROUTER_HANDOVER_LISTENER };

	return endpoint_parse(value, &s.at) < 0 ? -EBADMSG : take_socket(r, s);
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

static const struct {
	const char *word;
	int (*take)(struct reader *r, const char *value);
} words[] = { { MAGIC, take_version },
	      { "generation", take_generation },
	      { "listener", take_listener },
	      { "admin", take_admin },
	      { "grpc", take_grpc } };

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
		h.config = text;
		*ret = h;
	}
	vec_free(&r.sockets);
	return error;
}
