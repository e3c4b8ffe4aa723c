/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operate: a small controller on lib/operator: each ConfigMap gets an annotation with its value.
 *
 *	kube-tool operate NAMESPACE [--lease=NAME] [--duration=MS] [--dry-run] [--parallel=N]
 *
 * Prints synced, active, holder, each turn, and how each write ended. Words of the input: drain
 * (the orderly end, after which it ends), stats (the page of metrics).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/json/json.h"
#include "lib/operator/operator.h"
#include "tests/support/k8s/tool.h"

#define ECHO "maglev.example/echo"

struct map {
	struct k8s_object object;
	struct k8s_list annotations, data;
};

static const char *const echo_only[] = { ECHO, NULL };
static const char *const value_only[] = { "value", NULL };
static const struct k8s_field map_fields[] = {
	K8S_FIELD("metadata.annotations", K8S_MAP, struct map, annotations, .keep = echo_only),
	K8S_FIELD("data", K8S_MAP, struct map, data, .keep = value_only),
};
static const struct k8s_layout map_layout = K8S_LAYOUT(struct map, map_fields);
static const struct k8s_resource maps = { "", "v1", "configmaps" };

/* One ConfigMap, for ever. */
struct key {
	LIST_ENTRY(key) next;
	struct operate *of;
	char *name;
	struct queue_item item;
	struct operator_mark mark;
	struct k8s_call *call;
};

struct operate {
	struct tool *tool;
	const char *namespace;
	struct operator_options options;
	struct operator_frame *op;
	LIST_HEAD(keys, key) keys;
};

static void print(const char *what, const char *value)
{
	struct buf b = { 0 };

	tool_text(&b, what, value);
	tool_number(&b, "ms", loop_realtime() / NSEC_PER_MSEC);
	tool_print(&b);
}

static struct key *key_of(struct operate *o, const char *name)
{
	struct key *k;

	LIST_FOREACH(k, &o->keys, next)
	if (strcmp(k->name, name) == 0)
		return k;
	k = mem_zalloc(sizeof(*k));
	k->of = o;
	k->name = mem_strdup(name);
	LIST_INSERT_HEAD(&o->keys, k, next);
	return k;
}

static void on_changed(enum k8s_change change, const struct k8s_object *old,
		       const struct k8s_object *new, void *user)
{
	struct operate *o = user;

	operator_add(o->op, &key_of(o, (new ? new : old)->name)->item, 0);
}

static void on_written(const struct k8s_result *result, void *user)
{
	struct key *k = user;

	k->call = NULL;
	k->mark = operator_mark(k->of->op, 0, result);
	print("wrote", k8s_code_name(result->code));
	operator_done(k->of->op, &k->item, result->code == K8S_OK ? QUEUE_DONE : QUEUE_FAILED);
}

static enum queue_result write_echo(struct key *k, const char *value)
{
	_cleanup_(buf_free) struct buf body = { 0 };
	int r;

	buf_adds(&body, "{\"metadata\":{\"annotations\":{\"" ECHO "\":");
	json_write_string(&body, value, strlen(value));
	buf_adds(&body, "}}}");
	r = operator_call(k->of->op,
			  &(struct k8s_call_config){ .verb = K8S_VERB_MERGE_PATCH,
						     .resource = &maps,
						     .namespace = k->of->namespace,
						     .name = k->name,
						     .body = { body.p, body.n },
						     .done = on_written,
						     .user = k },
			  &k->call);
	return r < 0 ? QUEUE_FAILED : QUEUE_PENDING;
}

static enum queue_result on_step(struct queue_item *item, void *user)
{
	struct key *k = container_of(item, struct key, item);
	struct operate *o = user;
	const struct map *m;
	const char *value, *echo;

	if (!operator_seen(o->op, 0, k->mark))
		return QUEUE_FAILED;
	m = (const struct map *)k8s_cache_get(operator_cache(o->op, 0), o->namespace, k->name);
	value = m ? k8s_map_get(&m->data, "value") : NULL;
	echo = m ? k8s_map_get(&m->annotations, ECHO) : NULL;
	if (!value || (echo && strcmp(echo, value) == 0))
		return QUEUE_DONE;
	print("turn", k->name);
	operator_emit(o->op, &(struct k8s_event){ .regarding = { .api_version = "v1",
								 .kind = "ConfigMap",
								 .namespace = o->namespace,
								 .name = k->name,
								 .uid = m->object.uid },
						  .reason = "Echo",
						  .action = "Echo",
						  .note = value });
	return write_echo(k, value);
}

static void on_synced(void *user)
{
	print("synced", "yes");
}

static void on_active(bool active, void *user)
{
	struct operate *o = user;
	struct key *k;

	print("active", active ? "yes" : "no");
	if (!active)
		return;
	LIST_FOREACH(k, &o->keys, next)
	operator_add(o->op, &k->item, 0);
}

static void on_holder(const char *holder, void *user)
{
	print("holder", holder);
}

static void on_trouble(const struct operator_trouble *t, void *user)
{
	struct buf b = { 0 };

	tool_text(&b, "trouble", k8s_code_name(t->code));
	tool_text(&b, "doing", t->doing);
	tool_text(&b, "what", t->what);
	tool_text(&b, "message", t->message);
	tool_print(&b);
}

static void on_drained(void *user)
{
	struct operate *o = user;

	print("drained", "yes");
	tool_end(o->tool);
}

static void obey(struct tool *t, char *line)
{
	struct operate *o = t->part;
	struct buf page = { 0 };

	if (strcmp(line, "drain") == 0)
		operator_drain(o->op, on_drained, o);
	if (strcmp(line, "stats") == 0) {
		operator_metrics(o->op, &page, "tool_");
		print("metrics", buf_cstr(&page));
	}
	buf_free(&page);
}

static void forget(struct operate *o)
{
	struct key *k;

	while ((k = LIST_FIRST(&o->keys))) {
		LIST_REMOVE(k, next);
		k8s_call_cancel(k->call);
		operator_forget(o->op, &k->item);
		free(k->name);
		free(k);
	}
}

static int run(struct operate *o)
{
	const struct operator_kind kinds[] = {
		{ .resource = maps,
		  .layout = &map_layout,
		  .namespace = o->namespace,
		  .changed = on_changed },
	};
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct operator_config config = {
		.loop = o->tool->loop,
		.options = &o->options,
		.name = "kube-tool",
		.controller = "maglev.example/kube-tool",
		.kinds = kinds,
		.n_kinds = ARRAY_SIZE(kinds),
		.step = on_step,
		.parallel = (size_t)tool_option_number(o->tool, "parallel", 1),
		.synced = on_synced,
		.active = on_active,
		.holder = on_holder,
		.trouble = on_trouble,
		.user = o,
	};

	if (operator_new(&config, &o->op, &errors) < 0)
		return 1;
	operator_start(o->op);
	ev_run(o->tool->loop, 0);
	forget(o);
	operator_free(o->op);
	return 0;
}

int tool_operate(struct tool *t)
{
	const char *lease = tool_option(t, "lease");
	struct operate o = { .tool = t,
			     .namespace = t->args[0],
			     .options = { .kubeconfig = tool_option(t, "kubeconfig"),
					  .namespace = t->args[0],
					  .api_rate = 50,
					  .leader_elect = lease,
					  .lease_name = lease,
					  .lease_duration =
						  tool_option_number(t, "duration", 3000) *
						  NSEC_PER_MSEC,
					  .dry_run = tool_option(t, "dry-run") } };

	LIST_INIT(&o.keys);
	t->part = &o;
	t->obey = obey;
	return run(&o);
}
