/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed: what is around objects: the members of a list, the events of a watch.
 *
 * The states below say where in the outer JSON the reader is. The object itself belongs to
 * decode.c. "type" of an event may come before or after its object, so an event is reported at the
 * end of its document, an item of a list at its own end.
 */
#include "lib/k8s/feed.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/k8s/feed_private.h"

/* Bytes of text in which nothing was reported: an object, and what may be around it. */
#define SILENCE_MAX (2 * K8S_OBJECT_BYTES)
#define DEPTH 512

enum state {
	AT_START,	/* of a document */
	AT_MEMBER,	/* of the outer object: a key, or its end */
	AT_TYPE,	/* the value of "type" */
	AT_OBJECT,	/* the value of "object" */
	AT_ITEMS,	/* the value of "items" */
	AT_ITEM,	/* an item, or the end of them */
	AT_METADATA,	/* of a list */
	AT_METADATA_IN, /* a key, or its end */
	AT_VERSION,
	AT_CONTINUE,
	IN_OBJECT,
	AT_END, /* of a document */
};

struct k8s_feed {
	enum k8s_feed_mode mode;
	enum state state;
	k8s_feed_fn fn;
	void *user;
	struct json_reader *reader;
	struct k8s__decoder decoder;
	enum k8s_feed_type type;
	bool has_type, has_object, has_document;
	struct k8s_feed_list list;
	char *more, *version;
	size_t silent; /* bytes since the last report */
	uint64_t count;
	int error;
	char reason[160];
};

static int fail(struct k8s_feed *f, const char *reason)
{
	snprintf(f->reason, sizeof(f->reason), "%s", reason);
	return -EBADMSG;
}

/* ---- reports ---- */

static int take_version(struct k8s_feed *f, const char *text, uint64_t *ret)
{
	if (str_to_u64(str_of(text), UINT64_MAX, ret) < 0)
		return fail(f, "a resourceVersion is not a number");
	return 0;
}

static int check_object(struct k8s_feed *f)
{
	struct k8s_object *o = f->decoder.object;

	if (f->type == K8S_FEED_ERROR)
		return 0;
	if (f->type != K8S_FEED_BOOKMARK && !o->name[0])
		return fail(f, "an object has no name");
	return take_version(f, f->decoder.aside.version, &o->version);
}

static int report(struct k8s_feed *f)
{
	const struct k8s__decoder *d = &f->decoder;
	struct k8s_feed_event event = {
		.type = f->type,
		.object = d->object,
		.initial_end = f->type == K8S_FEED_BOOKMARK && d->initial_end,
		.code = d->aside.code,
		.reason = d->aside.reason,
		.message = d->aside.message,
	};
	int r = check_object(f);

	if (r < 0)
		return r;
	f->silent = 0;
	f->count++;
	return f->fn(&event, f->user) ? 0 : -ECANCELED;
}

/* ---- documents ---- */

static int unexpected(struct k8s_feed *f)
{
	return fail(f, f->mode == K8S_FEED_LIST ? "that is not a list" : "that is not an event");
}

static const struct {
	const char *name;
	enum k8s_feed_type type;
} types[] = {
	{ "ADDED", K8S_FEED_ADDED },	 { "MODIFIED", K8S_FEED_MODIFIED },
	{ "DELETED", K8S_FEED_DELETED }, { "BOOKMARK", K8S_FEED_BOOKMARK },
	{ "ERROR", K8S_FEED_ERROR },
};

static int take_type(struct k8s_feed *f, const struct json_token *t)
{
	for (size_t i = 0; t->kind == JSON_TOKEN_STRING && i < ARRAY_SIZE(types); i++)
		if (str_eq(t->text, str_of(types[i].name))) {
			f->type = types[i].type;
			f->has_type = true;
			f->state = AT_MEMBER;
			return 0;
		}
	return fail(f, "an event has no type that is known");
}

static int begin_object(struct k8s_feed *f, const struct json_token *t)
{
	if (t->kind != JSON_TOKEN_OBJECT)
		return fail(f, "an object is not one");
	k8s__decode_begin(&f->decoder);
	f->state = IN_OBJECT;
	return 0;
}

static int step_start(struct k8s_feed *f, const struct json_token *t)
{
	f->has_type = f->has_object = false;
	f->has_document = true;
	if (t->kind != JSON_TOKEN_OBJECT)
		return unexpected(f);
	if (f->mode == K8S_FEED_OBJECT)
		return begin_object(f, t);
	f->state = AT_MEMBER;
	return 0;
}

static const struct {
	enum k8s_feed_mode mode;
	const char *key;
	enum state state;
} members[] = {
	{ K8S_FEED_WATCH, "type", AT_TYPE },
	{ K8S_FEED_WATCH, "object", AT_OBJECT },
	{ K8S_FEED_LIST, "items", AT_ITEMS },
	{ K8S_FEED_LIST, "metadata", AT_METADATA },
};

static int step_member(struct k8s_feed *f, const struct json_token *t)
{
	if (t->kind == JSON_TOKEN_OBJECT_END) {
		f->state = AT_END;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (members[i].mode == f->mode && str_eq(t->text, str_of(members[i].key))) {
			f->state = members[i].state;
			return 0;
		}
	json_skip(f->reader);
	return 0;
}

static int end_object(struct k8s_feed *f)
{
	f->has_object = true;
	f->state = f->mode == K8S_FEED_LIST    ? AT_ITEM
		   : f->mode == K8S_FEED_WATCH ? AT_MEMBER
					       : AT_END;
	if (f->mode == K8S_FEED_WATCH)
		return 0;
	f->type = K8S_FEED_ITEM;
	return report(f);
}

static int step_in_object(struct k8s_feed *f, const struct json_token *t)
{
	int r = k8s__decode(&f->decoder, f->reader, t);

	if (r < 0)
		return fail(f, "an object is too large");
	return r > 0 ? end_object(f) : 0;
}

static int step_items(struct k8s_feed *f, const struct json_token *t)
{
	f->has_object = true;
	if (t->kind == JSON_TOKEN_NULL)
		f->state = AT_MEMBER;
	else if (t->kind == JSON_TOKEN_ARRAY)
		f->state = AT_ITEM;
	else
		return unexpected(f);
	return 0;
}

static int step_item(struct k8s_feed *f, const struct json_token *t)
{
	if (t->kind != JSON_TOKEN_ARRAY_END)
		return begin_object(f, t);
	f->state = AT_MEMBER;
	return 0;
}

static int step_metadata(struct k8s_feed *f, const struct json_token *t)
{
	if (t->kind != JSON_TOKEN_OBJECT)
		return unexpected(f);
	f->state = AT_METADATA_IN;
	return 0;
}

static int step_metadata_in(struct k8s_feed *f, const struct json_token *t)
{
	if (t->kind == JSON_TOKEN_OBJECT_END)
		f->state = AT_MEMBER;
	else if (str_eq(t->text, STR("resourceVersion")))
		f->state = AT_VERSION;
	else if (str_eq(t->text, STR("continue")))
		f->state = AT_CONTINUE;
	else
		json_skip(f->reader);
	return 0;
}

static int step_text(struct k8s_feed *f, const struct json_token *t)
{
	char **to = f->state == AT_VERSION ? &f->version : &f->more;

	if (t->kind != JSON_TOKEN_STRING)
		return unexpected(f);
	free(*to);
	*to = mem_alloc(t->text.n + 1);
	memcpy(*to, t->text.p, t->text.n);
	(*to)[t->text.n] = '\0';
	f->state = AT_METADATA_IN;
	return 0;
}

static int step_end(struct k8s_feed *f, const struct json_token *t)
{
	assert(t->kind == JSON_TOKEN_DOCUMENT_END);
	f->state = AT_START;
	if (f->mode != K8S_FEED_WATCH)
		return 0;
	if (!f->has_type || !f->has_object)
		return unexpected(f);
	return report(f);
}

static int (*const steps[])(struct k8s_feed *, const struct json_token *) = {
	[AT_START] = step_start,       [AT_MEMBER] = step_member,
	[AT_TYPE] = take_type,	       [AT_OBJECT] = begin_object,
	[AT_ITEMS] = step_items,       [AT_ITEM] = step_item,
	[AT_METADATA] = step_metadata, [AT_METADATA_IN] = step_metadata_in,
	[AT_VERSION] = step_text,      [AT_CONTINUE] = step_text,
	[IN_OBJECT] = step_in_object,  [AT_END] = step_end,
};

/* ---- bytes ---- */

static int run(struct k8s_feed *f)
{
	struct json_token t;
	int r;

	while ((r = json_next(f->reader, &t)) > 0) {
		r = steps[f->state](f, &t);
		if (r < 0)
			return r;
	}
	if (r < 0) {
		const struct err *e = json_error(f->reader);

		snprintf(f->reason, sizeof(f->reason), "byte %u of line %u: %s", e->at.column,
			 e->at.line, e->text);
		return -EBADMSG;
	}
	return f->silent > SILENCE_MAX ? fail(f, "an object is too large") : 0;
}

int k8s_feed_take(struct k8s_feed *f, const char *p, size_t n)
{
	if (f->error)
		return f->error;
	f->silent += n;
	json_feed(f->reader, p, n);
	return f->error = run(f);
}

int k8s_feed_end(struct k8s_feed *f)
{
	if (f->error)
		return f->error;
	json_end(f->reader);
	f->error = run(f);
	if (f->error == 0 && f->mode != K8S_FEED_WATCH && !(f->has_document && f->has_object))
		f->error = unexpected(f);
	if (f->error == 0 && f->mode == K8S_FEED_LIST) {
		f->error = take_version(f, f->version ? f->version : "", &f->list.version);
		f->list.more = f->more ? f->more : "";
	}
	return f->error;
}

struct k8s_feed *k8s_feed_new(const struct k8s_kind *kind, enum k8s_feed_mode mode, k8s_feed_fn fn,
			      void *user)
{
	struct json_options options = {
		.limits = { .bytes = SIZE_MAX / 4,
			    .string = K8S_OBJECT_BYTES,
			    .members = UINT32_MAX - 1,
			    .depth = DEPTH },
		.stream = mode == K8S_FEED_WATCH,
		.no_nul = true,
	};
	struct k8s_feed *f = mem_zalloc(sizeof(*f));

	assert(kind && fn);
	f->mode = mode;
	f->fn = fn;
	f->user = user;
	f->reader = json_reader_new(&options);
	f->decoder.kind = kind;
	f->decoder.arena = arena_new();
	return f;
}

void k8s_feed_free(struct k8s_feed *f)
{
	if (!f)
		return;
	json_reader_free(f->reader);
	arena_free(f->decoder.arena);
	buf_free(&f->decoder.json);
	free(f->more);
	free(f->version);
	free(f);
}

const char *k8s_feed_reason(const struct k8s_feed *f)
{
	return f->reason;
}

const struct k8s_feed_list *k8s_feed_list(const struct k8s_feed *f)
{
	return &f->list;
}

uint64_t k8s_feed_count(const struct k8s_feed *f)
{
	return f->count;
}
