/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query: the calls that read the state of a server.
 *
 * A table of its kind says which method each query calls and what is done with the answer. The
 * queries of one round are made together. When all of them have been answered and read, changes
 * are published, and the pace of the round decides when it begins again: lists only when an event,
 * or the end of an event stream, makes that necessary; the others, for which there are no events,
 * periodically.
 *
 * A server that refuses lists is treated as lost. So is one that does not answer the lists, or the
 * query that checks whether it is alive, in time.
 *
 * Parsing ten thousand backends at once would block the loop for too long. Therefore an answer is
 * kept as bytes and parsed piece by piece, over several turns of the loop.
 */
#include <assert.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/pb/pb.h"
#include "src/frontend/members.h"
#include "src/frontend/upstream_private.h"

#define TIMEOUT (5 * NSEC_PER_SEC) /* for each query */

/*
 * A server must not take the memory of the dashboard, whatever it sends. An encoded answer has at
 * most 16 MiB (lib/grpc), a message that is decoded whole is bounded here, and so is the text that
 * is made of an answer, which grows with each piece: an empty piece has two bytes, its text
 * hundreds. An honest answer reaches the first bound before the last.
 */
#define ANSWER_MAX ((size_t)64 * 1024 * 1024)
#define PIECE_COST ((size_t)64) /* of a piece besides its text */

const struct pb_bounds upstream__bounds = { .memory = (size_t)16 * 1024 * 1024,
					    .text = (size_t)1024 * 1024 };

/* ---- lists ---- */

const char *const upstream__keys[UPSTREAM_LISTS] = {
	[UPSTREAM_FRONTENDS] = "frontends",
	[UPSTREAM_BACKENDS] = "backends",
	[UPSTREAM_HEALTHCHECKS] = "healthchecks",
	[UPSTREAM_ANNOUNCEMENTS] = "announcements",
	[UPSTREAM_SESSIONS] = "sessions",
	[UPSTREAM_LISTENERS] = "listeners",
	[UPSTREAM_ROUTES] = "routes",
	[UPSTREAM_POOLS] = "pools",
};

void upstream__add_key(struct buf *out, const char *key)
{
	buf_addc(out, out->n ? ',' : '{');
	buf_printf(out, "\"%s\":", key);
}

/*
 * A changed list is published whole ("refresh") or as differences ("update"); see listing_end().
 */
static void end_list(struct upstream *u, enum upstream_list list)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	enum listing_change change = listing_end(&u->view.lists[list], &text);
	struct buf *updates = change == LISTING_ALL ? &u->all_updates : &u->updates;

	if (change == LISTING_SAME)
		return;
	upstream__add_key(updates, upstream__keys[list]);
	buf_add(updates, text.p, text.n);
}

/* ---- texts ---- */

bool upstream__replace(struct buf *kept, struct buf *text)
{
	struct buf old = *kept;

	if (str_eq((struct str){ old.p, old.n }, (struct str){ text->p, text->n }))
		return false;
	*kept = *text;
	*text = old;
	return true;
}

void upstream__add_or_null(struct buf *out, const struct buf *json)
{
	if (json->n)
		buf_add(out, json->p, json->n);
	else
		buf_add_lit(out, "null");
}

/* ---- a round ---- */

static void tell_lists(struct upstream *u, const char *type, struct buf *updates)
{
	if (!updates->n)
		return;
	buf_addc(updates, '}');
	upstream__tell(u, type, loop_realtime(), (struct str){ updates->p, updates->n });
	updates->n = 0;
}

static void end_lists(struct upstream *u)
{
	u->view.refreshed = loop_realtime();
	upstream__set_connected(u, true, upstream__no_stream(u));
	tell_lists(u, "refresh", &u->all_updates);
	tell_lists(u, "update", &u->updates);
	buf_free(&u->all_updates); /* large and rarely used */
	upstream__take_late(u);
}

/* The server has answered, so everything that events have said up to now is current. */
static void end_live(struct upstream *u)
{
	if (!u->view.connected)
		return; /* the end of the first lists says so */
	u->view.refreshed = loop_realtime();
	upstream__set_connected(u, true, upstream__no_stream(u));
}

static void end_round(struct upstream *u, enum upstream__round round)
{
	if (round == UPSTREAM__LISTS)
		end_lists(u);
	else if (round == UPSTREAM__LIVE)
		end_live(u);
	pace_end(&u->rounds[round]);
}

/* One of the queries of the round has been answered or read. */
static void count_down(struct upstream *u, enum upstream__round round)
{
	if (--u->pending[round] == 0)
		end_round(u, round);
}

/* ---- reading ---- */

static void stop_reading(struct upstream__asking *a)
{
	pb_pieces_free(&a->pieces);
	buf_free(&a->bytes);
	for (size_t i = 0; i < UPSTREAM__FIELDS; i++)
		buf_free(&a->arrays[i]);
	a->reading = false;
}

/* Continues in the next turn of the loop. */
static void read_later(struct upstream *u)
{
	task_wake(&u->reading);
}

/*
 * The round waits for two things per query: the status of the call, and the end of the reading,
 * which is counted here.
 */
static void on_content(struct str bytes, void *user)
{
	struct upstream__asking *a = user;
	const struct upstream__query *q = a->query;
	struct upstream *u = a->upstream;

	assert(!a->reading && q->method->response->n_fields <= UPSTREAM__FIELDS);
	a->reading = true;
	buf_add(&a->bytes, bytes.p, bytes.n);
	a->pieces = (struct pb_pieces){ .type = q->method->response,
					.bytes = { a->bytes.p, a->bytes.n },
					.bounds = &upstream__bounds };
	a->cost = 0;
	if (q->list != UPSTREAM_LISTS)
		listing_begin(&u->view.lists[q->list]);
	u->pending[q->round]++;
	read_later(u);
}

/* Returns the bytes of its text. */
static size_t keep_piece(struct upstream__asking *a, const ProtobufCFieldDescriptor *field,
			 const ProtobufCMessage *piece)
{
	const struct upstream__query *q = a->query;
	struct buf *array = &a->arrays[field - q->method->response->fields];
	size_t before = array->n;

	if (q->list != UPSTREAM_LISTS)
		return listing_put(&a->upstream->view.lists[q->list], piece);
	buf_addc(array, array->n ? ',' : '[');
	pb_json_write(piece, PB_JSON_SHOWN, array);
	return array->n - before;
}

static int take_piece(struct upstream__asking *a, const ProtobufCFieldDescriptor *field,
		      const ProtobufCMessage *piece)
{
	a->cost += keep_piece(a, field, piece) + PIECE_COST;
	return a->cost <= ANSWER_MAX ? 1 : -E2BIG;
}

/* The JSON array of the pieces of a field; empty if there were none. key has quotes. */
static struct str array_of(struct upstream__asking *a, struct str key)
{
	const ProtobufCMessageDescriptor *type = a->query->method->response;
	struct str name = { key.p + 1, key.n - 2 };

	for (size_t i = 0; i < type->n_fields; i++)
		if (a->arrays[i].n && str_eq(name, str_of(type->fields[i].name)))
			return (struct str){ a->arrays[i].p, a->arrays[i].n };
	return (struct str){ 0 };
}

/*
 * Writes the message as JSON: the fields that are not repeated messages were parsed at once
 * (others), and its arrays, which are empty there, are replaced by those of the pieces.
 */
static void write_text(struct upstream__asking *a, const ProtobufCMessage *others, struct buf *out)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct members members;

	for (size_t i = 0; i < UPSTREAM__FIELDS; i++)
		if (a->arrays[i].n)
			buf_addc(&a->arrays[i], ']');
	pb_json_write(others, PB_JSON_SHOWN, &text);
	members_split(&members, (struct str){ text.p, text.n });
	buf_addc(out, '{');
	for (size_t i = 0; i < members.n; i++) {
		const struct member *m = &members.items[i];
		struct str array = array_of(a, m->key);

		members_add(out, m->key, array.n ? array : m->value);
	}
	buf_addc(out, '}');
}

static int end_reading(struct upstream__asking *a)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	const struct upstream__query *q = a->query;
	struct upstream *u = a->upstream;
	ProtobufCMessage *others;
	int r = pb_pieces_others(&a->pieces, u->scratch, &others);

	if (r < 0)
		return r;
	if (q->list != UPSTREAM_LISTS) {
		end_list(u, q->list);
	} else {
		write_text(a, others, &text);
		q->keep(u, &text, "");
	}
	stop_reading(a);
	count_down(u, q->round);
	return 0;
}

/*
 * Reads one piece, or finishes at the end. -E2BIG if the answer exceeds the bounds, another
 * negative errno if the bytes are not such a message.
 */
static int read_on(struct upstream__asking *a)
{
	struct arena *arena = a->upstream->scratch;
	const ProtobufCFieldDescriptor *field;
	ProtobufCMessage *piece;
	int r = pb_pieces_next(&a->pieces, arena, &field, &piece);

	if (r > 0)
		r = take_piece(a, field, piece);
	else if (r == 0)
		r = end_reading(a);
	arena_reset(arena);
	return r;
}

/* Step of a task: returns true to be called again in the next turn. */
bool upstream__read_step(struct task *t)
{
	struct upstream *u = container_of(t, struct upstream, reading);

	for (unsigned i = 0; i < u->config.kind->n_queries; i++) {
		while (u->asking[i].reading) {
			int r;

			if (!task_has_time(u->loop))
				return true;
			r = read_on(&u->asking[i]);
			if (r < 0) {
				upstream__lose(u, r == -E2BIG ? "its answer is too large"
							      : "its answer is invalid");
				return false;
			}
		}
	}
	return false;
}

/* News that were not published are lost to browsers, so the next lists are sent whole. */
void upstream__forget(struct upstream *u)
{
	task_cancel(&u->reading);
	for (unsigned i = 0; i < u->config.kind->n_queries; i++) {
		stop_reading(&u->asking[i]);
		u->asking[i].under_way = false;
	}
	for (enum upstream__round i = 0; i < UPSTREAM__ROUNDS; i++)
		u->pending[i] = 0;
	for (size_t i = 0; i < UPSTREAM_LISTS; i++)
		listing_stop(&u->view.lists[i]);
	for (size_t i = 0; (u->updates.n || u->all_updates.n) && i < UPSTREAM_LISTS; i++)
		listing_doubt(&u->view.lists[i]);
	u->updates.n = u->all_updates.n = 0;
	upstream__forget_items(u);
}

/* ---- asking ---- */

/*
 * Whether a status means that the connection is of no use. While it is open, UNAVAILABLE is the
 * own answer of the server.
 */
static bool is_lost(const struct upstream *u, const struct upstream__query *q,
		    enum grpc_status status)
{
	if (status == GRPC_UNAVAILABLE && !u->open)
		return true;
	if (status == GRPC_DEADLINE_EXCEEDED && q->round == UPSTREAM__LIVE)
		return true;
	return status != GRPC_OK && !q->keep;
}

static void on_done(enum grpc_status status, const char *text, void *user)
{
	_cleanup_(buf_free) struct buf nothing = { 0 };
	struct upstream__asking *a = user;
	struct upstream *u = a->upstream;
	const struct upstream__query *q = a->query;

	if (status == GRPC_DEADLINE_EXCEEDED)
		text = "it does not answer";
	a->under_way = false;
	u->stats.refusals += status != GRPC_OK;
	if (is_lost(u, q, status)) {
		upstream__lose(u, text);
		return;
	}
	if (status != GRPC_OK) {
		u->pending[q->round] -=
			a->reading; /* an answer before an error status is dropped */
		stop_reading(a);
		q->keep(u, &nothing, text);
	}
	count_down(u, q->round);
}

void upstream__init_request(const struct grpc_method *method, union upstream__request *request)
{
	assert(method->request->sizeof_message <= sizeof(*request));
	protobuf_c_message_init(method->request, request);
}

/* All requests are empty. */
static void ask(struct upstream *u, struct upstream__asking *a, const struct upstream__query *q)
{
	const struct grpc_client_events events = { .done = on_done,
						   .content = on_content,
						   .user = a };
	union upstream__request request;

	assert(!a->under_way && !a->reading);
	upstream__init_request(q->method, &request);
	a->upstream = u;
	a->query = q;
	a->under_way = true;
	u->pending[q->round]++;
	u->stats.calls++;
	grpc_client_call(u->client, q->method, &request.base, TIMEOUT, &events);
}

void upstream__begin(struct upstream *u, enum upstream__round round)
{
	const struct upstream_kind *kind = u->config.kind;

	assert(u->client && !u->pending[round] && kind->n_queries <= UPSTREAM__QUERIES);
	for (unsigned i = 0; i < kind->n_queries; i++)
		if (kind->queries[i].round == round)
			ask(u, &u->asking[i], &kind->queries[i]);
}
