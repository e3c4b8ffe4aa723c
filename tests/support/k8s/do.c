/* SPDX-License-Identifier: Apache-2.0 */
/*
 * do: makes one request for each line of the input.
 *
 *	kube-tool do [--rate=N] [--burst=N]
 *
 * A line is "VERB KIND NAMESPACE NAME SUBRESOURCE BODY"; "-" stands for nothing. Other words:
 * "forbid" and "allow" set the answer of the gate for writes; "uid U" and "version V" set the
 * preconditions of the next request, "dry" makes it a dry run, "force" forces an apply. The answer
 * is a line with code, status, reason, message and length of the body, and with the body if it is
 * short.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "tests/support/k8s/tool.h"

static const struct {
	const char *word;
	enum k8s_verb verb;
} verbs[] = {
	{ "get", K8S_VERB_GET },	 { "list", K8S_VERB_LIST },
	{ "create", K8S_VERB_CREATE },	 { "update", K8S_VERB_UPDATE },
	{ "delete", K8S_VERB_DELETE },	 { "merge", K8S_VERB_MERGE_PATCH },
	{ "json", K8S_VERB_JSON_PATCH }, { "apply", K8S_VERB_APPLY },
};

struct doing {
	struct tool *tool;
	char *uid; /* of the next request */
	uint64_t version;
	bool dry_run, force;
};

static void on_done(const struct k8s_result *result, void *user)
{
	struct tool *t = user;
	const struct k8s_client_stats *s = k8s_client_stats(t->client);
	struct buf b = { 0 };
	char *body = mem_alloc(result->body.n + 1);

	if (result->body.n)
		memcpy(body, result->body.p, result->body.n);
	body[result->body.n] = '\0';
	tool_text(&b, "code", k8s_code_name(result->code));
	tool_number(&b, "status", result->status);
	tool_text(&b, "reason", result->reason);
	tool_text(&b, "message", result->message);
	tool_number(&b, "bytes", (long long)result->body.n);
	tool_number(&b, "repeated", (long long)s->repeated);
	tool_number(&b, "renewed", (long long)s->renewed);
	tool_number(&b, "throttled", (long long)s->throttled);
	if (result->body.n < 4096)
		tool_text(&b, "body", body);
	tool_print(&b);
	free(body);
}

static const char *word_or_null(const char *word)
{
	return word && strcmp(word, "-") != 0 ? word : NULL;
}

static void request(struct doing *d, char *line)
{
	struct k8s_call_config config = { .manager = "kube-tool",
					  .uid = d->uid,
					  .version = d->version,
					  .dry_run = d->dry_run,
					  .force = d->force,
					  .timeout = tool_option_number(d->tool, "timeout", 20000) *
						     NSEC_PER_MSEC,
					  .done = on_done,
					  .user = d->tool };
	const char *verb = strsep(&line, " "), *kind = strsep(&line, " ");
	struct k8s_call *call;
	struct buf b = { 0 };

	config.namespace = word_or_null(strsep(&line, " "));
	config.name = word_or_null(strsep(&line, " "));
	config.subresource = word_or_null(strsep(&line, " "));
	config.body = str_of(line ? line : "");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].word, verb) == 0)
			config.verb = verbs[i].verb;
	if (kind && kind[0] == '/')
		config.path = kind;
	else if (kind && tool_kind(kind))
		config.resource = &tool_kind(kind)->resource;
	if (k8s_call(d->tool->client, &config, &call) < 0) {
		tool_text(&b, "code", "not-sent");
		tool_print(&b);
	}
	free(d->uid);
	d->uid = NULL;
	d->version = 0;
	d->dry_run = d->force = false;
}

static void obey(struct tool *t, char *line)
{
	struct doing *d = t->part;

	if (strcmp(line, "forbid") == 0 || strcmp(line, "allow") == 0)
		t->may_write = line[0] == 'a';
	else if (strcmp(line, "dry") == 0)
		d->dry_run = true;
	else if (strcmp(line, "force") == 0)
		d->force = true;
	else if (strncmp(line, "uid ", 4) == 0)
		d->uid = mem_strdup(line + 4);
	else if (strncmp(line, "version ", 8) == 0)
		d->version = strtoull(line + 8, NULL, 10);
	else
		request(d, line);
}

int tool_do(struct tool *t)
{
	struct doing d = { .tool = t };

	t->part = &d;
	t->obey = obey;
	ev_run(t->loop, 0);
	free(d.uid);
	return 0;
}
