/* SPDX-License-Identifier: Apache-2.0 */
/*
 * more: the smaller parts.
 *
 *	kube-tool events [--series=MS] [--burst-each=N] [--kept=N]
 *		a line "NAMESPACE NAME UID REASON NOTE..." emits an event about a ConfigMap; "stats"
 *	kube-tool discover
 *		prints which version of widgets (v2, v1) and of leases (v1) is installed
 *	kube-tool count NAMESPACE NAME TIMES
 *		adds 1 to the value of a ConfigMap, so many times, beside others that do the same
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "lib/k8s/discovery.h"
#include "lib/k8s/events.h"
#include "lib/k8s/update.h"
#include "tests/support/k8s/tool.h"

/* ---- events ---- */

static void on_trouble(enum k8s_code code, const char *message, void *user)
{
	struct buf b = { 0 };

	(void)user;
	tool_text(&b, "trouble", k8s_code_name(code));
	tool_text(&b, "message", message);
	tool_print(&b);
}

static void print_stats(const struct k8s_events_stats *s)
{
	struct buf b = { 0 };

	tool_number(&b, "stats", 1);
	tool_number(&b, "created", (long long)s->created);
	tool_number(&b, "counted", (long long)s->counted);
	tool_number(&b, "repeated", (long long)s->repeated);
	tool_number(&b, "dropped", (long long)s->dropped);
	tool_number(&b, "kept", (long long)s->kept);
	tool_print(&b);
}

static void obey_events(struct tool *t, char *line)
{
	struct k8s_event event = { .regarding = { .api_version = "v1", .kind = "ConfigMap" },
				   .warning = true,
				   .action = "Testing" };

	if (strcmp(line, "stats") == 0) {
		print_stats(k8s_events_stats(t->part));
		return;
	}
	event.regarding.namespace = strsep(&line, " ");
	event.regarding.name = strsep(&line, " ");
	event.regarding.uid = strsep(&line, " ");
	event.reason = strsep(&line, " ");
	event.note = line;
	k8s_events_emit(t->part, &event);
}

int tool_events(struct tool *t)
{
	t->part = k8s_events_new(&(struct k8s_events_config){
		.client = t->client,
		.controller = "maglev.example/kube-tool",
		.instance = "story",
		.series = tool_option_number(t, "series", 0) * NSEC_PER_MSEC,
		.burst = (unsigned)tool_option_number(t, "burst-each", 0),
		.max_kept = (size_t)tool_option_number(t, "kept", 0),
		.trouble = on_trouble });
	t->obey = obey_events;
	ev_run(t->loop, 0);
	k8s_events_free(t->part);
	return 0;
}

/* ---- discovery ---- */

static const struct k8s_wanted wanted[] = {
	{ "maglev.example", "widgets", { "v2", "v1" } },
	{ "coordination.k8s.io", "leases", { "v1" } },
	{ "", "services", { "v1" } },
};

static void on_version(size_t kind, const char *version, void *user)
{
	struct buf b = { 0 };

	(void)user;
	tool_text(&b, "discovered", wanted[kind].plural);
	tool_text(&b, "version", version ? version : "none");
	tool_print(&b);
}

static void on_synced(void *user)
{
	struct buf b = { 0 };

	(void)user;
	tool_text(&b, "synced", "discovery");
	tool_print(&b);
}

int tool_discover(struct tool *t)
{
	struct k8s_discovery *d = k8s_discovery_new(&(struct k8s_discovery_config){
		.client = t->client,
		.wanted = wanted,
		.n_wanted = sizeof(wanted) / sizeof(wanted[0]),
		.period = tool_option_number(t, "period", 0) * NSEC_PER_MSEC,
		.changed = on_version,
		.synced = on_synced });

	ev_run(t->loop, 0);
	k8s_discovery_free(d);
	return 0;
}

/* ---- updates ---- */

static void count_once(struct tool *t);

static bool on_change(const struct json_node *current, const char *version, struct buf *patch,
		      void *user)
{
	const struct json_node *value = json_find(json_find(current, "data"), "value");

	(void)user;
	buf_printf(patch,
		   "{\"metadata\":{\"resourceVersion\":\"%s\"},\"data\":{\"value\":\"%lld\"}}",
		   version, (value ? strtoll(value->text, NULL, 10) : 0) + 1);
	return true;
}

static void on_counted(const struct k8s_result *result, void *user)
{
	struct tool *t = user;
	long *left = t->part;
	struct buf b = { 0 };

	if (result->code == K8S_OK && --*left > 0) {
		count_once(t);
		return;
	}
	if (result->code == K8S_CONFLICT) {
		count_once(t); /* its tries are used up; the work is not */
		return;
	}
	tool_text(&b, "counted", k8s_code_name(result->code));
	tool_print(&b);
}

static void count_once(struct tool *t)
{
	static const struct k8s_resource maps = { "", "v1", "configmaps" };
	struct k8s_update *u;

	k8s_update(&(struct k8s_update_config){ .client = t->client,
						.resource = &maps,
						.namespace = t->args[0],
						.name = t->args[1],
						.change = on_change,
						.done = on_counted,
						.user = t },
		   &u);
}

int tool_count(struct tool *t)
{
	long left = strtol(t->args[2], NULL, 10);

	t->part = &left;
	count_once(t);
	ev_run(t->loop, 0);
	return 0;
}
