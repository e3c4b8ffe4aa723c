/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/overrides.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/config/file.h"
#include "lib/json/cursor.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "src/maglevd/engine.h"

struct overrides {
	struct engine *engine;
	const char *path;
	struct store *store;
	struct engine_observer observer;
};

/* ---- the text ---- */

static void add_text(struct buf *out, const char *key, const char *value)
{
	_cleanup_(buf_free) struct buf valid = { 0 };

	buf_add_utf8(&valid, value, strlen(value));
	buf_printf(out, "\"%s\": ", key);
	json_write_string(out, buf_cstr(&valid), valid.n);
	buf_adds(out, ", ");
}

static void add_one(const struct l4_kept *k, struct buf *out)
{
	char address[ADDR_STRLEN];

	add_text(out, "act", l4_kept_kind_name(k->kind));
	add_text(out, "backend", k->backend);
	if (k->kind == L4_KEPT_WEIGHT) {
		add_text(out, "frontend", k->frontend);
		add_text(out, "pool", k->pool);
		buf_printf(out, "\"weight\": %u, ", k->weight);
	}
	add_text(out, "reason", k->reason);
	add_text(out, "operator", k->who ? k->who->name : "");
	add_text(out, "operator_address",
		 k->who && addr_is_set(&k->who->address) ? addr_format(&k->who->address, address)
							 : "");
	if (k->kind == L4_KEPT_SCHEDULED)
		buf_printf(out, "\"from\": %" PRId64 ", ", k->from);
	buf_printf(out, "\"at\": %" PRId64 ", \"until\": %" PRId64, k->at, k->until);
}

void overrides_format(const struct l4_kept_list *list, struct buf *out)
{
	buf_adds(out, "{\n  \"overrides\": [");
	for (size_t i = 0; i < list->n; i++) {
		buf_adds(out, i ? ",\n    {" : "\n    {");
		add_one(&list->items[i], out);
		buf_addc(out, '}');
	}
	buf_adds(out, list->n ? "\n  ]\n}\n" : "]\n}\n");
}

static int read_text(const struct json_cursor *of, const char *key, const char **ret)
{
	struct json_cursor c = json_member(of, key);
	int r = json_require(&c);

	return r < 0 ? r : json_get_string(&c, ret);
}

static int read_time(const struct json_cursor *of, const char *key, int64_t least, int64_t *ret)
{
	struct json_cursor c = json_member(of, key);
	int r = json_require(&c);

	return r < 0 ? r : json_get_i64(&c, least, INT64_MAX, ret);
}

/* The operator is not judged again: the name was when it was written. */
static int read_who(const struct json_cursor *of, struct arena *arena, const struct who **ret)
{
	struct json_cursor at = json_member(of, "operator_address");
	const char *name = "", *address = "";
	struct who *w = arena_new_of(arena, struct who);

	if (read_text(of, "operator", &name) < 0 || read_text(of, "operator_address", &address) < 0)
		return -EINVAL;
	if (*address && addr_parse(address, &w->address) < 0)
		return json_complain(&at, "\"%s\" is not an address", address);
	memcpy(w->name, name, utf8_fitting(name, strlen(name), sizeof(w->name) - 1));
	*ret = *name || *address ? w : NULL;
	return 0;
}

static int read_weight(const struct json_cursor *of, struct l4_kept *ret)
{
	int64_t weight = 0;
	struct json_cursor c = json_member(of, "weight");

	if (read_text(of, "frontend", &ret->frontend) < 0 ||
	    read_text(of, "pool", &ret->pool) < 0 || json_require(&c) < 0 ||
	    json_get_i64(&c, 0, 100, &weight) < 0)
		return -EINVAL;
	ret->weight = (unsigned)weight;
	return 0;
}

static int read_one(const struct json_cursor *of, struct arena *arena, struct l4_kept *ret)
{
	struct json_cursor act = json_member(of, "act");
	const char *name = "";

	if (read_text(of, "act", &name) < 0)
		return -EINVAL;
	if (!l4_kept_kind_parse(name, &ret->kind))
		return json_complain(&act, "\"%s\" is not an override", name);
	if (read_text(of, "backend", &ret->backend) < 0 ||
	    read_text(of, "reason", &ret->reason) < 0 || read_who(of, arena, &ret->who) < 0 ||
	    read_time(of, "at", 0, &ret->at) < 0 || read_time(of, "until", 0, &ret->until) < 0)
		return -EINVAL;
	if (ret->kind == L4_KEPT_SCHEDULED)
		return read_time(of, "from", 1, &ret->from);
	return ret->kind == L4_KEPT_WEIGHT ? read_weight(of, ret) : 0;
}

int overrides_parse(struct str text, struct arena *arena, struct l4_kept_list *ret,
		    struct errs *errors)
{
	const struct json_node *tree;
	struct json_cursor root, all;
	struct l4_kept_list list = { 0 };
	int r = json_parse(text, NULL, arena, &tree, errors);

	if (r < 0)
		return r;
	root = json_cursor_of(tree, errors);
	all = json_member(&root, "overrides");
	if (json_require(&all) < 0 || json_get_kind(&all, JSON_KIND_ARRAY) < 0)
		return -EINVAL;
	list.items = arena_array_of(arena, all.node->n, struct l4_kept);
	for (; list.n < all.node->n; list.n++) {
		struct json_cursor one = json_item(&all, list.n);

		r = read_one(&one, arena, &list.items[list.n]);
		if (r < 0)
			return r;
	}
	*ret = list;
	return 0;
}

/* ---- the start ---- */

static void log_dropped_one(const struct overrides *o, const struct l4_kept *k, const char *why)
{
	log_warn("override-dropped", LOG_S("act", l4_kept_kind_name(k->kind)),
		 LOG_S("backend", k->backend), LOG_S("frontend", k->frontend),
		 LOG_S("pool", k->pool), LOG_S("file", o->path), LOG_S("reason", why));
}

/* Returns how many were dropped. */
static size_t restore(const struct overrides *o, const struct l4_kept_list *list)
{
	size_t dropped = 0;
	const char *why;

	for (size_t i = 0; i < list->n; i++)
		if (engine_restore(o->engine, &list->items[i], &why) < 0) {
			log_dropped_one(o, &list->items[i], why);
			dropped++;
		}
	log_info("overrides-restored", LOG_S("file", o->path), LOG_U("restored", list->n - dropped),
		 LOG_U("dropped", dropped));
	return dropped;
}

/* The name has the time, so that one that was moved away before is kept, too. */
static int move_away(const struct overrides *o, const struct errs *errors)
{
	_cleanup_(buf_free) struct buf where = { 0 }, what = { 0 };
	int r;

	buf_printf(&where, "%s.broken-%" PRId64, o->path, loop_realtime() / NSEC_PER_SEC);
	errs_print(errors, o->path, &what);
	if (what.n && what.p[what.n - 1] == '\n')
		what.n--;
	r = rename(o->path, buf_cstr(&where)) < 0 ? -errno : 0;
	log_error("overrides-not-read", LOG_S("file", o->path), LOG_S("error", buf_cstr(&what)),
		  LOG_S("moved", r < 0 ? NULL : buf_cstr(&where)),
		  LOG_S("reason", r < 0 ? "it cannot be moved away either: nothing is kept"
					: "what it kept is not in force: the file of the "
					  "configuration rules"));
	return r;
}

/* A file that does not exist is an empty one. */
static int read_file(const struct overrides *o)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 };
	struct errs errors = { .arena = arena };
	struct l4_kept_list list = { 0 };
	int r = file_read(o->path, STORE_FILE_MAX, &text);

	if (r == -ENOENT)
		return 0;
	if (r < 0) {
		log_error("overrides-not-read", LOG_S("file", o->path),
			  LOG_S("error", strerror(-r)),
			  LOG_S("reason", "nothing is kept over a restart"));
		return r;
	}
	if (overrides_parse((struct str){ text.p, text.n }, arena, &list, &errors) < 0)
		return move_away(o, &errors);
	store_has(o->store, (struct str){ text.p, text.n });
	restore(o, &list);
	return 0;
}

/* ---- the door ---- */

static void on_text(struct buf *out, void *user)
{
	const struct overrides *o = user;
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	const struct l4_kept_list list = l4_kept_list(engine_model(o->engine), arena);

	overrides_format(&list, out);
}

static void on_told(int err, void *user)
{
	const struct overrides *o = user;

	if (err < 0)
		log_error("overrides-not-kept", LOG_S("file", o->path),
			  LOG_S("error", strerror(-err)),
			  LOG_S("reason", "overrides as they are now do not survive a restart"));
	else
		log_info("overrides-kept", LOG_S("file", o->path));
}

static void on_overridden(void *user)
{
	const struct overrides *o = user;

	store_changed(o->store);
}

struct overrides *overrides_new(struct ev_loop *loop, struct engine *engine, const char *path)
{
	struct overrides *o = mem_zalloc(sizeof(*o));

	o->engine = engine;
	o->path = path;
	o->store = store_new(loop,
			     &(struct store_config){
				     .path = path, .text = on_text, .told = on_told, .user = o });
	if (read_file(o) < 0) {
		overrides_free(o);
		return NULL;
	}
	o->observer = (struct engine_observer){ .overridden = on_overridden, .user = o };
	engine_observe(engine, &o->observer);
	engine_keeps_overrides(engine);
	store_changed(o->store); /* what was dropped is no longer in the file */
	return o;
}

void overrides_free(struct overrides *o)
{
	if (!o)
		return;
	store_free(o->store);
	free(o);
}

struct store *overrides_store(struct overrides *o)
{
	return o->store;
}

const char *overrides_path(const struct overrides *o)
{
	return o->path;
}
