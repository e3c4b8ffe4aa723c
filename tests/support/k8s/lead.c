/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lead: stands for election and writes into a ConfigMap while it leads.
 *
 *	kube-tool lead NAMESPACE NAME IDENTITY [--duration=MS] [--renew=MS] [--retry=MS]
 *		[--write=MS]
 *
 * With --write it patches the ConfigMap NAME every so often, through the gate of the client, and
 * prints the result of each write and how many others are under way. Words of the input: release
 * (gives the lease back), ask (whether it is held).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/k8s/lease.h"
#include "tests/support/k8s/tool.h"

struct lead {
	struct tool *tool;
	struct k8s_lease *lease;
	ev_timer write;
	uint64_t writes, written;
};

static void print(const char *key, const char *value)
{
	struct buf b = { 0 };

	tool_text(&b, key, value);
	tool_number(&b, "ms", loop_realtime() / NSEC_PER_MSEC);
	tool_print(&b);
}

static void on_changed(bool leads, void *user)
{
	(void)user;
	print("leads", leads ? "yes" : "no");
}

static void on_observed(const char *holder, void *user)
{
	(void)user;
	print("holder", holder);
}

static void on_trouble(enum k8s_code code, const char *message, void *user)
{
	(void)user;
	(void)message;
	print("trouble", k8s_code_name(code));
}

static void on_written(const struct k8s_result *result, void *user)
{
	struct lead *l = user;
	struct buf b = { 0 };

	l->written++;
	tool_text(&b, "wrote", k8s_code_name(result->code));
	tool_number(&b, "under-way", (int64_t)(l->writes - l->written));
	tool_print(&b);
}

static void on_write(struct ev_loop *loop, ev_timer *w, int events)
{
	static const struct k8s_resource maps = { "", "v1", "configmaps" };
	struct lead *l = container_of(w, struct lead, write);
	struct buf body = { 0 };
	struct k8s_call *call;

	(void)loop;
	(void)events;
	buf_printf(&body, "{\"data\":{\"value\":\"%s %llu\"}}", l->tool->args[2],
		   (unsigned long long)l->writes++);
	k8s_call(l->tool->client,
		 &(struct k8s_call_config){ .verb = K8S_VERB_MERGE_PATCH,
					    .resource = &maps,
					    .namespace = l->tool->args[0],
					    .name = l->tool->args[1],
					    .body = { body.p, body.n },
					    .done = on_written,
					    .user = l },
		 &call);
	buf_free(&body);
}

static bool gate(struct tool *t)
{
	return k8s_lease_is_held(((struct lead *)t->part)->lease);
}

static void on_released(void *user)
{
	(void)user;
	print("released", "yes");
}

static void obey(struct tool *t, char *line)
{
	struct lead *l = t->part;

	if (strcmp(line, "release") == 0)
		k8s_lease_release(l->lease, on_released);
	else if (strcmp(line, "ask") == 0)
		print("held", k8s_lease_is_held(l->lease) ? "yes" : "no");
}

int tool_lead(struct tool *t)
{
	struct lead l = { .tool = t };
	double period = (double)tool_option_number(t, "write", 0) / 1000;

	t->part = &l;
	t->obey = obey;
	t->gate = gate;
	l.lease = k8s_lease_new(&(struct k8s_lease_config){
		.client = t->client,
		.namespace = t->args[0],
		.name = t->args[1],
		.identity = t->args[2],
		.duration = tool_option_number(t, "duration", 0) * NSEC_PER_MSEC,
		.renew = tool_option_number(t, "renew", 0) * NSEC_PER_MSEC,
		.retry = tool_option_number(t, "retry", 0) * NSEC_PER_MSEC,
		.changed = on_changed,
		.observed = on_observed,
		.trouble = on_trouble,
		.user = &l });
	k8s_lease_start(l.lease);
	ev_timer_init(&l.write, on_write, period, period);
	if (period > 0)
		ev_timer_start(t->loop, &l.write);
	ev_run(t->loop, 0);
	ev_timer_stop(t->loop, &l.write);
	k8s_lease_free(l.lease);
	return 0;
}
