/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/acts.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/page/reply.h"
#include "lib/pb/pb.h"
#include "proto/dashboard.pb-c.h"
#include "wire/api_methods.h"
#include "wire/router_methods.h"
#include "wire/speaker_methods.h"

/* How long a browser waits. Reading a configuration or writing a data plane takes longer. */
#define TIMEOUT (10 * NSEC_PER_SEC)
#define CONFIG_TIMEOUT (30 * NSEC_PER_SEC)

/* The largest of all requests decides how much memory is taken from the arena. */
union request {
	ProtobufCMessage base;
	Maglev__BackendRequest backend;
	Maglev__ActOnBackendsRequest many;
	Maglev__SetWeightRequest weight;
	Maglev__CheckConfigRequest check;
	Maglev__ReloadConfigRequest reload;
	Maglev__SyncVPPLBStateRequest sync;
	Maglev__DrainVIPRequest drain;
	Maglev__UndrainVIPRequest undrain;
	Maglev__RollbackRequest rollback;
};

/* Fills the request. Returns NULL, or a sentence about what is wrong with the body. */
typedef const char *(*fill_fn)(const struct acts_words *w, const ProtobufCMessage *body,
			       union request *r);

/* protobuf-c declares strings without const; requests are only read. */
static char *borrow(const char *s)
{
	return (char *)(uintptr_t)s;
}

/* Times are in seconds because JavaScript numbers cannot hold ns since the epoch exactly. */
static int64_t ns_of(int64_t seconds)
{
	return seconds < INT64_MAX / NSEC_PER_SEC ? seconds * NSEC_PER_SEC : INT64_MAX;
}

static const char bad_until[] =
	"until_s: Unix time in the future, or 0 for an override without end";
static const char bad_from[] = "from_s: Unix time in the future, or 0 for now";

static const char *fill_act(const struct acts_words *w, const ProtobufCMessage *body,
			    union request *r)
{
	const Dashboard__Act *act = (const Dashboard__Act *)body;

	if (act->until_s < 0)
		return bad_until;
	if (act->from_s < 0)
		return bad_from;
	r->backend.name = borrow(w->items[2]);
	r->backend.reason = act->reason;
	r->backend.until = ns_of(act->until_s);
	r->backend.from = ns_of(act->from_s);
	return NULL;
}

static const char *fill_many(const struct acts_words *w, const ProtobufCMessage *body,
			     union request *r)
{
	const Dashboard__ActOnMany *act = (const Dashboard__ActOnMany *)body;

	if (act->until_s < 0)
		return bad_until;
	if (act->from_s < 0)
		return bad_from;
	r->many.address = act->address;
	r->many.n_names = act->n_names;
	r->many.names = act->names;
	r->many.act = act->act;
	r->many.reason = act->reason;
	r->many.until = ns_of(act->until_s);
	r->many.from = ns_of(act->from_s);
	r->many.dry_run = act->dry_run;
	return NULL;
}

/*
 * The weight is required. It is in a oneof because proto3 would not tell a missing number from
 * 0, and a missing weight must not take a backend out.
 */
static const char *fill_weight(const struct acts_words *w, const ProtobufCMessage *body,
			       union request *r)
{
	const Dashboard__Weight *weight = (const Dashboard__Weight *)body;

	if (weight->wanted_case != DASHBOARD__WEIGHT__WANTED_WEIGHT)
		return "weight: it is missing";
	r->weight.frontend = borrow(w->items[2]);
	r->weight.pool = borrow(w->items[4]);
	r->weight.backend = borrow(w->items[6]);
	r->weight.weight = weight->weight;
	r->weight.flush = weight->flush;
	r->weight.reason = weight->reason;
	return NULL;
}

static const char *fill_nothing(const struct acts_words *w, const ProtobufCMessage *body,
				union request *r)
{
	return NULL;
}

static const char *fill_sync(const struct acts_words *w, const ProtobufCMessage *body,
			     union request *r)
{
	const Dashboard__Sync *sync = (const Dashboard__Sync *)body;

	r->sync.frontend = sync->frontend;
	r->sync.plan = sync->plan;
	return NULL;
}

static const char *fill_drain(const struct acts_words *w, const ProtobufCMessage *body,
			      union request *r)
{
	r->drain.vip = borrow(w->items[3]);
	r->drain.reason = ((const Dashboard__Drain *)body)->reason;
	return NULL;
}

static const char *fill_undrain(const struct acts_words *w, const ProtobufCMessage *body,
				union request *r)
{
	r->undrain.vip = borrow(w->items[3]);
	return NULL;
}

/* A missing number would mean the one before: which one that is can change meanwhile. */
static const char *fill_rollback(const struct acts_words *w, const ProtobufCMessage *body,
				 union request *r)
{
	r->rollback.number = ((const Dashboard__Rollback *)body)->number;
	return r->rollback.number ? NULL : "number: that of the generation, from 1 on";
}

#define ACT_ON_BACKEND(word, number)                                                               \
	{                                                                                          \
		{ "*", "backends", "*", word }, 4, &dashboard__act__descriptor,                    \
			&api_methods[API_##number], fill_act, TIMEOUT, ACTS_SERVER                 \
	}

struct act {
	const char *path[ACTS_WORDS_MAX]; /* "*" stands for a name */
	size_t n_path;
	const ProtobufCMessageDescriptor *body; /* of dashboard.proto: the allowed keys */
	const struct grpc_method *method;
	fill_fn fill;
	int64_t timeout; /* ns */
	enum acts_whose whose;
};

static const struct act acts[] = {
	ACT_ON_BACKEND("pause", PAUSE_BACKEND),
	ACT_ON_BACKEND("resume", RESUME_BACKEND),
	ACT_ON_BACKEND("enable", ENABLE_BACKEND),
	ACT_ON_BACKEND("disable", DISABLE_BACKEND),
	{ { "*", "frontends", "*", "pools", "*", "backends", "*", "weight" },
	  8,
	  &dashboard__weight__descriptor,
	  &api_methods[API_SET_WEIGHT],
	  fill_weight,
	  TIMEOUT,
	  ACTS_SERVER },
	{ { "*", "act" },
	  2,
	  &dashboard__act_on_many__descriptor,
	  &api_methods[API_ACT_ON_BACKENDS],
	  fill_many,
	  TIMEOUT,
	  ACTS_SERVER },
	{ { "*", "check" },
	  2,
	  &dashboard__nothing__descriptor,
	  &api_methods[API_CHECK_CONFIG],
	  fill_nothing,
	  CONFIG_TIMEOUT,
	  ACTS_SERVER },
	{ { "*", "reload" },
	  2,
	  &dashboard__nothing__descriptor,
	  &api_methods[API_RELOAD_CONFIG],
	  fill_nothing,
	  CONFIG_TIMEOUT,
	  ACTS_SERVER },
	{ { "*", "sync" },
	  2,
	  &dashboard__sync__descriptor,
	  &api_methods[API_SYNC_LB_STATE],
	  fill_sync,
	  CONFIG_TIMEOUT,
	  ACTS_SERVER },
	{ { "speakers", "*", "vips", "*", "drain" },
	  5,
	  &dashboard__drain__descriptor,
	  &speaker_methods[SPEAKER_DRAIN_VIP],
	  fill_drain,
	  TIMEOUT,
	  ACTS_SPEAKER },
	{ { "speakers", "*", "vips", "*", "undrain" },
	  5,
	  &dashboard__nothing__descriptor,
	  &speaker_methods[SPEAKER_UNDRAIN_VIP],
	  fill_undrain,
	  TIMEOUT,
	  ACTS_SPEAKER },
	{ { "routers", "*", "rollback" },
	  3,
	  &dashboard__rollback__descriptor,
	  &router_methods[ROUTER_ROLLBACK],
	  fill_rollback,
	  TIMEOUT,
	  ACTS_ROUTER },
};

static bool matches(const struct act *act, const struct acts_words *w)
{
	if (w->n != act->n_path)
		return false;
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(act->path[i], "*") != 0 && strcmp(act->path[i], w->items[i]) != 0)
			return false;
	return true;
}

int acts_split(struct str path, struct arena *arena, struct acts_words *ret)
{
	struct acts_words words = { 0 };
	struct str part;

	while (str_cut(&path, '/', &part)) {
		_cleanup_(buf_free) struct buf word = { 0 };

		if (words.n == ACTS_WORDS_MAX || page_decode(part, &word) < 0)
			return -EINVAL;
		words.items[words.n++] = arena_strdup(arena, buf_cstr(&word));
	}
	*ret = words;
	return 0;
}

const struct act *acts_find(const struct acts_words *words)
{
	for (size_t i = 0; i < ARRAY_SIZE(acts); i++)
		if (matches(&acts[i], words))
			return &acts[i];
	return NULL;
}

const struct grpc_method *act_method(const struct act *act)
{
	return act->method;
}

enum acts_whose act_whose(const struct act *act, const struct acts_words *words,
			  const char **ret_name)
{
	*ret_name = words->items[act->whose != ACTS_SERVER];
	return act->whose;
}

int64_t act_timeout(const struct act *act)
{
	return act->timeout;
}

int act_request(const struct act *act, const struct acts_words *words, struct str body,
		struct arena *arena, ProtobufCMessage **ret, struct buf *reason)
{
	union request *r = arena_alloc(arena, sizeof(*r));
	ProtobufCMessage *message;
	const char *wrong;
	char text[256];

	if (pb_json_read(act->body, body.n ? body : STR("{}"), arena, &message, text,
			 sizeof(text)) < 0) {
		buf_adds(reason, text);
		return -EINVAL;
	}
	protobuf_c_message_init(act->method->request, r);
	wrong = act->fill(words, message, r);
	if (wrong) {
		buf_adds(reason, wrong);
		return -EINVAL;
	}
	*ret = &r->base;
	return 0;
}
