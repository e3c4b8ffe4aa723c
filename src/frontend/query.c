/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query: what is read from a maglevd, over and over.
 *
 * A table says how each question is asked and what becomes of its answer. Questions of one round
 * are asked together; when all have been answered, the round tells what changed, and its pace says
 * when it begins again. Lists have to be answered: a server that refuses them is of no use. The
 * data plane may have nothing to say, which is then shown as such.
 */
#include <assert.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/json/json.h"
#include "lib/pb/pb.h"
#include "src/frontend/upstream_private.h"

#define TIMEOUT (5 * NSEC_PER_SEC)

/* ---- lists ---- */

static const char *const keys[UPSTREAM_LISTS] = {
	[UPSTREAM_FRONTENDS] = "frontends",
	[UPSTREAM_BACKENDS] = "backends",
	[UPSTREAM_HEALTHCHECKS] = "healthchecks",
};

/* Opens the member of an object that is being written. */
static void add_key(struct buf *out, const char *key)
{
	buf_addc(out, out->n ? ',' : '{');
	buf_printf(out, "\"%s\":", key);
}

static void take_list(struct upstream *u, enum upstream_list list, ProtobufCMessage *const *items,
		      size_t n)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	enum listing_change change = listing_take(&u->view.lists[list], items, n, &text);
	struct buf *news = change == LISTING_ALL ? &u->all_news : &u->news;

	if (change == LISTING_SAME)
		return;
	add_key(news, keys[list]);
	buf_add(news, text.p, text.n);
}

static void take_frontends(struct upstream *u, const ProtobufCMessage *message)
{
	const Maglev__ListFrontendsResponse *m = (const Maglev__ListFrontendsResponse *)message;

	take_list(u, UPSTREAM_FRONTENDS, (ProtobufCMessage *const *)m->frontends, m->n_frontends);
}

static void take_backends(struct upstream *u, const ProtobufCMessage *message)
{
	const Maglev__ListBackendsResponse *m = (const Maglev__ListBackendsResponse *)message;

	take_list(u, UPSTREAM_BACKENDS, (ProtobufCMessage *const *)m->backends, m->n_backends);
}

static void take_healthchecks(struct upstream *u, const ProtobufCMessage *message)
{
	const Maglev__ListHealthChecksResponse *m =
		(const Maglev__ListHealthChecksResponse *)message;

	take_list(u, UPSTREAM_HEALTHCHECKS, (ProtobufCMessage *const *)m->healthchecks,
		  m->n_healthchecks);
}

/* ---- the data plane ---- */

/* True when the text is not what it was. */
static bool replace(struct buf *kept, struct buf *text)
{
	struct buf old = *kept;

	if (str_eq((struct str){ old.p, old.n }, (struct str){ text->p, text->n }))
		return false;
	*kept = *text;
	*text = old;
	return true;
}

static bool keep_message(struct buf *kept, const ProtobufCMessage *message)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	if (message)
		pb_json_write(message, PB_JSON_COMPACT, &text);
	return replace(kept, &text);
}

static void add_or_null(struct buf *out, const struct buf *json)
{
	if (json->n)
		buf_add(out, json->p, json->n);
	else
		buf_add_lit(out, "null");
}

static void take_vpp(struct upstream *u, const ProtobufCMessage *message)
{
	if (!keep_message(&u->view.vpp, message))
		return;
	add_key(&u->news, "vpp");
	add_or_null(&u->news, &u->view.vpp);
}

static void refuse_vpp(struct upstream *u, const char *text)
{
	take_vpp(u, NULL);
}

static void tell_lb(struct upstream *u)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	buf_add_lit(&out, "{\"lb\":");
	add_or_null(&out, &u->view.lb);
	buf_add_lit(&out, ",\"lb_error\":");
	json_write_string(&out, u->view.lb_error.p, u->view.lb_error.n);
	buf_addc(&out, '}');
	upstream__tell(u, "lb", loop_realtime(), (struct str){ out.p, out.n });
}

static void keep_lb(struct upstream *u, const ProtobufCMessage *message, const char *error)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	bool news = keep_message(&u->view.lb, message);

	buf_adds(&text, error);
	news |= replace(&u->view.lb_error, &text);
	if (news)
		tell_lb(u);
}

static void take_lb(struct upstream *u, const ProtobufCMessage *message)
{
	keep_lb(u, message, "");
}

static void refuse_lb(struct upstream *u, const char *text)
{
	keep_lb(u, NULL, text);
}

static void take_counters(struct upstream *u, const ProtobufCMessage *message)
{
	if (keep_message(&u->view.counters, message) && message)
		upstream__tell(u, "counters", loop_realtime(),
			       (struct str){ u->view.counters.p, u->view.counters.n });
}

static void refuse_counters(struct upstream *u, const char *text)
{
	take_counters(u, NULL);
}

/* ---- the table ---- */

#define METHOD(name, takes, gives)                                                                 \
	{                                                                                          \
		.path = "/maglev.Maglev/" name, .request = &maglev__##takes##__descriptor,         \
		.response = &maglev__##gives##__descriptor                                         \
	}

static const struct query {
	enum upstream__round round;
	struct grpc_method method;
	void (*take)(struct upstream *u, const ProtobufCMessage *message);
	void (*refuse)(struct upstream *u, const char *text); /* NULL: it has to be answered */
} queries[] = {
	{ UPSTREAM__LISTS, METHOD("ListFrontends", list_frontends_request, list_frontends_response),
	  take_frontends, NULL },
	{ UPSTREAM__LISTS, METHOD("ListBackends", list_backends_request, list_backends_response),
	  take_backends, NULL },
	{ UPSTREAM__LISTS,
	  METHOD("ListHealthChecks", list_health_checks_request, list_health_checks_response),
	  take_healthchecks, NULL },
	{ UPSTREAM__LISTS, METHOD("GetVPPInfo", get_vppinfo_request, vppinfo), take_vpp,
	  refuse_vpp },
	{ UPSTREAM__LB, METHOD("GetVPPLBState", get_vpplbstate_request, vpplbstate), take_lb,
	  refuse_lb },
	{ UPSTREAM__COUNTERS, METHOD("GetVPPLBCounters", get_vpplbcounters_request, vpplbcounters),
	  take_counters, refuse_counters },
};

static_assert(ARRAY_SIZE(queries) == UPSTREAM__QUERIES, "one place for each");

/* ---- a round ---- */

static void tell_lists(struct upstream *u, const char *type, struct buf *news)
{
	if (!news->n)
		return;
	buf_addc(news, '}');
	upstream__tell(u, type, loop_realtime(), (struct str){ news->p, news->n });
	news->n = 0;
}

static void end_round(struct upstream *u, enum upstream__round round)
{
	if (round == UPSTREAM__LISTS) {
		u->view.refreshed = loop_realtime();
		upstream__set_connected(u, true, "");
		tell_lists(u, "refresh", &u->all_news);
		tell_lists(u, "update", &u->news);
		buf_free(&u->all_news); /* large, and rare */
	}
	pace_end(&u->rounds[round]);
}

static void on_message(const ProtobufCMessage *message, void *user)
{
	struct upstream__asking *a = user;

	queries[a->query].take(a->upstream, message);
}

/* UNAVAILABLE is the server's own word while we are connected. */
static bool is_lost(const struct upstream *u, enum grpc_status status)
{
	return status == GRPC_DEADLINE_EXCEEDED || (status == GRPC_UNAVAILABLE && !u->open);
}

static void on_done(enum grpc_status status, const char *text, void *user)
{
	struct upstream__asking *a = user;
	struct upstream *u = a->upstream;
	const struct query *q = &queries[a->query];

	a->under_way = false;
	u->stats.refusals += status != GRPC_OK;
	if (is_lost(u, status) || (status != GRPC_OK && !q->refuse)) {
		upstream__lose(u, status == GRPC_DEADLINE_EXCEEDED ? "it does not answer" : text);
		return;
	}
	if (status != GRPC_OK)
		q->refuse(u, text);
	if (--u->pending[q->round] == 0)
		end_round(u, q->round);
}

static void ask(struct upstream *u, unsigned query)
{
	_Alignas(max_align_t) char space[256] = { 0 };
	const ProtobufCMessageDescriptor *type = queries[query].method.request;
	ProtobufCMessage *request = (ProtobufCMessage *)space;
	struct upstream__asking *a = &u->asking[query];
	const struct grpc_client_events events = { on_message, on_done, a };

	assert(type->sizeof_message <= sizeof(space) && !a->under_way);
	protobuf_c_message_init(type, request);
	*a = (struct upstream__asking){ u, query, true };
	u->pending[queries[query].round]++;
	u->stats.calls++;
	grpc_client_call(u->client, &queries[query].method, request, TIMEOUT, &events);
}

void upstream__begin(struct upstream *u, enum upstream__round round)
{
	assert(u->client && !u->pending[round]);
	for (unsigned i = 0; i < ARRAY_SIZE(queries); i++)
		if (queries[i].round == round)
			ask(u, i);
}
