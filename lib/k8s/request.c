/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request: verbs as HTTP requests, and Status objects as codes.
 */
#include "lib/k8s/request.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "lib/json/cursor.h"
#include "lib/json/json.h"
#include "lib/k8s/url.h"

static const struct verb {
	const char *method, *content_type;
	bool named; /* has a name in its path */
} verbs[] = {
	[K8S_VERB_GET] = { "GET", NULL, true },
	[K8S_VERB_LIST] = { "GET", NULL, false },
	[K8S_VERB_CREATE] = { "POST", "application/json", false },
	[K8S_VERB_UPDATE] = { "PUT", "application/json", true },
	[K8S_VERB_DELETE] = { "DELETE", "application/json", true },
	[K8S_VERB_MERGE_PATCH] = { "PATCH", "application/merge-patch+json", true },
	[K8S_VERB_JSON_PATCH] = { "PATCH", "application/json-patch+json", true },
	[K8S_VERB_APPLY] = { "PATCH", "application/apply-patch+yaml", true },
};

static void add_part(struct buf *out, const char *part)
{
	buf_addc(out, '/');
	k8s__url_escape(out, part);
}

void k8s_path(struct buf *out, const struct k8s_resource *r, const char *namespace,
	      const char *name, const char *subresource)
{
	buf_adds(out, r->group[0] ? "/apis" : "/api");
	if (r->group[0])
		add_part(out, r->group);
	add_part(out, r->version);
	if (namespace && namespace[0]) {
		buf_adds(out, "/namespaces");
		add_part(out, namespace);
	}
	add_part(out, r->plural);
	if (name)
		add_part(out, name);
	if (subresource)
		add_part(out, subresource);
}

static void add_query(struct k8s__request *r, const struct k8s_call_config *c)
{
	bool write = c->verb != K8S_VERB_GET && c->verb != K8S_VERB_LIST;

	if (c->query && c->query[0]) {
		buf_addc(&r->target, '?');
		buf_adds(&r->target, c->query);
	}
	if (write && c->verb != K8S_VERB_DELETE)
		k8s__url_query(&r->target, "fieldManager", c->manager);
	if (c->verb == K8S_VERB_APPLY && c->force)
		k8s__url_query(&r->target, "force", "true");
	if (write && c->dry_run && c->verb != K8S_VERB_DELETE)
		k8s__url_query(&r->target, "dryRun", "All");
}

static void add_text(struct buf *out, const char *key, const char *value)
{
	buf_printf(out, ",\"%s\":", key);
	json_write_string(out, value, strlen(value));
}

/* DeleteOptions. With a body the server ignores the query, so a dry run must be said here. */
static void write_delete(struct buf *out, const struct k8s_call_config *c)
{
	buf_adds(out, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\"");
	if (c->propagation)
		add_text(out, "propagationPolicy", c->propagation);
	if (c->dry_run)
		buf_adds(out, ",\"dryRun\":[\"All\"]");
	if (c->uid || c->version) {
		buf_adds(out, ",\"preconditions\":{");
		if (c->uid) {
			buf_adds(out, "\"uid\":");
			json_write_string(out, c->uid, strlen(c->uid));
		}
		if (c->version)
			buf_printf(out, "%s\"resourceVersion\":\"%llu\"", c->uid ? "," : "",
				   (unsigned long long)c->version);
		buf_addc(out, '}');
	}
	buf_addc(out, '}');
}

static bool is_fine(const struct k8s_call_config *c)
{
	const struct verb *v = &verbs[c->verb];

	if (!c->path && !c->resource)
		return false;
	if (c->resource && !c->path && v->named && !(c->name && c->name[0]))
		return false;
	if (c->verb == K8S_VERB_APPLY && !c->manager)
		return false;
	return !v->content_type || c->verb == K8S_VERB_DELETE || c->body.n;
}

int k8s__request_make(struct k8s__request *r, const char *prefix, const struct k8s_call_config *c)
{
	const struct verb *v = &verbs[c->verb];

	if (!is_fine(c))
		return -EINVAL;
	r->method = v->method;
	r->content_type = v->content_type;
	buf_adds(&r->target, prefix);
	if (c->path)
		buf_adds(&r->target, c->path);
	else
		k8s_path(&r->target, c->resource, c->namespace, v->named ? c->name : NULL,
			 c->subresource);
	add_query(r, c);
	if (c->verb == K8S_VERB_DELETE)
		write_delete(&r->body, c);
	else if (v->content_type)
		buf_add(&r->body, c->body.p, c->body.n);
	return 0;
}

void k8s__request_free(struct k8s__request *r)
{
	buf_free(&r->target);
	buf_free(&r->body);
}

/* ---- bad answers ---- */

static const struct {
	unsigned http;
	const char *reason; /* NULL: any */
	enum k8s_code code;
} codes[] = {
	{ 400, NULL, K8S_BAD_REQUEST },	      { 401, NULL, K8S_UNAUTHORIZED },
	{ 403, NULL, K8S_FORBIDDEN },	      { 404, NULL, K8S_NOT_FOUND },
	{ 409, "AlreadyExists", K8S_EXISTS }, { 409, NULL, K8S_CONFLICT },
	{ 410, NULL, K8S_EXPIRED },	      { 422, NULL, K8S_INVALID },
	{ 429, NULL, K8S_THROTTLED },
};

static enum k8s_code code_of(unsigned http, const char *reason)
{
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i].http == http &&
		    (!codes[i].reason || strcmp(codes[i].reason, reason) == 0))
			return codes[i].code;
	return http >= 500 ? K8S_SERVER : K8S_REFUSED;
}

static void show(char *to, size_t size, const char *text)
{
	struct buf b = { 0 };

	buf_add_shown(&b, str_of(text), size - 8);
	snprintf(to, size, "%s", buf_cstr(&b));
	buf_free(&b);
}

static bool has_cause(const struct json_cursor *root, const char *wanted)
{
	struct json_cursor details = json_member(root, "details");
	struct json_cursor causes = json_member(&details, "causes");
	const char *reason;

	for (size_t i = 0;
	     causes.node && causes.node->kind == JSON_KIND_ARRAY && i < causes.node->n; i++) {
		struct json_cursor cause = json_item(&causes, i);
		struct json_cursor said = json_member(&cause, "reason");

		if (json_get_string(&said, &reason) > 0 && strcmp(reason, wanted) == 0)
			return true;
	}
	return false;
}

static void take_status(const struct json_node *tree, struct errs *errors, unsigned http,
			struct k8s_status *ret)
{
	struct json_cursor root = json_cursor_of(tree, errors);
	struct json_cursor reason = json_member(&root, "reason");
	struct json_cursor message = json_member(&root, "message");
	const char *text;

	if (json_get_string(&reason, &text) > 0)
		show(ret->reason, sizeof(ret->reason), text);
	if (json_get_string(&message, &text) > 0)
		show(ret->message, sizeof(ret->message), text);
	ret->code = code_of(http, ret->reason);
	if (has_cause(&root, "ResourceVersionTooLarge"))
		ret->code = K8S_TOO_NEW;
}

void k8s_status_parse(unsigned http, struct str body, struct k8s_status *ret)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct json_node *tree;

	*ret = (struct k8s_status){ .code = code_of(http, "") };
	if (body.n && json_parse(body, NULL, arena, &tree, &errors) == 0)
		take_status(tree, &errors, http, ret);
	if (!ret->message[0])
		snprintf(ret->message, sizeof(ret->message), "the server answers %u", http);
}

static const char *const names[] = {
	[K8S_OK] = "ok",
	[K8S_BAD_REQUEST] = "bad-request",
	[K8S_UNAUTHORIZED] = "unauthorized",
	[K8S_FORBIDDEN] = "forbidden",
	[K8S_NOT_FOUND] = "not-found",
	[K8S_CONFLICT] = "conflict",
	[K8S_EXISTS] = "exists",
	[K8S_EXPIRED] = "expired",
	[K8S_INVALID] = "invalid",
	[K8S_THROTTLED] = "throttled",
	[K8S_TOO_NEW] = "too-new",
	[K8S_REFUSED] = "refused",
	[K8S_SERVER] = "server-error",
	[K8S_NETWORK] = "network",
	[K8S_MALFORMED] = "malformed",
	[K8S_TOO_LARGE] = "too-large",
	[K8S_NO_IDENTITY] = "no-identity",
	[K8S_NOT_ALLOWED] = "not-allowed",
};

const char *k8s_code_name(enum k8s_code code)
{
	assert(code < K8S_CODES);
	return names[code];
}

/* 401 and 403 pass, too: credentials are renewed, and a server that starts has no rules yet. */
bool k8s_code_is_passing(enum k8s_code code)
{
	switch (code) {
	case K8S_OK:
	case K8S_BAD_REQUEST:
	case K8S_NOT_FOUND:
	case K8S_EXISTS:
	case K8S_INVALID:
	case K8S_REFUSED:
	case K8S_NOT_ALLOWED:
		return false;
	case K8S_UNAUTHORIZED:
	case K8S_FORBIDDEN:
	case K8S_CONFLICT:
	case K8S_EXPIRED:
	case K8S_THROTTLED:
	case K8S_TOO_NEW:
	case K8S_SERVER:
	case K8S_NETWORK:
	case K8S_MALFORMED:
	case K8S_TOO_LARGE:
	case K8S_NO_IDENTITY:
	case K8S_CODES:
		break;
	}
	return true;
}
