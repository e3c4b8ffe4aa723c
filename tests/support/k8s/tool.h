/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of kube-tool. Each writes JSON lines and obeys the words of its input. */
#pragma once

#include "lib/k8s/client.h"
#include "lib/k8s/informer.h"

struct tool {
	struct ev_loop *loop;
	struct k8s_config *config;
	struct k8s_client *client;
	char **args;
	int n_args;
	/* A line of the input; may be NULL. */
	void (*obey)(struct tool *t, char *line);
	void *part;
	bool may_write;		      /* answer of the client's gate */
	bool (*gate)(struct tool *t); /* instead, if set */
};

/* Prints one line. */
void tool_print(struct buf *line);
/* Appends "key":"value" with a comma before it if needed. */
void tool_text(struct buf *b, const char *key, const char *value);
void tool_number(struct buf *b, const char *key, long long value);
/* The argument --NAME=VALUE; NULL if it is not there. */
const char *tool_option(const struct tool *t, const char *name);
long long tool_option_number(const struct tool *t, const char *name, long long otherwise);
void tool_end(struct tool *t);

int tool_watch(struct tool *t);
int tool_do(struct tool *t);
int tool_lead(struct tool *t);
int tool_events(struct tool *t);
int tool_discover(struct tool *t);
int tool_count(struct tool *t);
int tool_operate(struct tool *t);

/* kinds.c: what the tool keeps of objects. */
struct tool_kind {
	const char *name;
	struct k8s_resource resource;
	const struct k8s_layout *layout;
	/* What is shown of an object; "" if nothing. */
	void (*show)(struct buf *out, const struct k8s_object *o);
};
const struct tool_kind *tool_kind(const char *name);
