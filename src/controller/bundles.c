/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificates of the webhooks in the cluster: the Secret, and the authority in the objects
 * that make the API server call us. One turn of the leader looks at all of it, once a minute and
 * after the Secret has changed, since somebody may have applied these objects again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/json/json.h"
#include "src/controller/certificates.h"
#include "src/controller/private.h"

#define PERIOD 60. /* s */

static const struct k8s_resource hooks = { "admissionregistration.k8s.io", "v1",
					   "validatingwebhookconfigurations" };
static const struct k8s_resource definitions = { "apiextensions.k8s.io", "v1",
						 "customresourcedefinitions" };
#define CONVERTED "bgppeers." WIRE_METAL_GROUP

const struct secret *bundles__secret(const struct controller *c)
{
	return (const struct secret *)k8s_cache_get(operator_cache(c->op, KIND_SECRETS),
						    operator_namespace(c->op),
						    c->options->webhook_secret);
}

const char *bundles__server(const struct controller *c, struct arena *arena)
{
	return arena_printf(arena, "%s.%s.svc", c->options->webhook_service,
			    operator_namespace(c->op));
}

/* ---- what is written ---- */

static const struct json_node *at(const struct json_node *node, const char *const *path)
{
	for (; node && *path; path++)
		node = node->kind == JSON_KIND_OBJECT ? json_find(node, *path) : NULL;
	return node;
}

static bool is_bundle(const struct json_node *value, const char *bundle)
{
	return value && value->kind == JSON_KIND_STRING && strcmp(value->text, bundle) == 0;
}

/* Writes an object with another value of one member. value is JSON. */
static void write_with(struct buf *out, const struct json_node *of, const char *key,
		       struct str value)
{
	buf_addc(out, '{');
	for (size_t i = 0; i < of->n; i++) {
		const struct json_member *m = &of->members[i];

		if (strcmp(m->key, key) == 0)
			continue;
		json_write_string(out, m->key, strlen(m->key));
		buf_addc(out, ':');
		json_write_tree(out, &m->value);
		buf_addc(out, ',');
	}
	buf_printf(out, "\"%s\":", key);
	buf_add(out, value.p, value.n);
	buf_addc(out, '}');
}

static void write_hook(struct buf *out, const struct json_node *hook, const char *bundle)
{
	_cleanup_(buf_free) struct buf quoted = { 0 }, config = { 0 };
	const struct json_node *client = json_find(hook, "clientConfig");

	json_write_string(&quoted, bundle, strlen(bundle));
	write_with(&config, client, "caBundle", (struct str){ quoted.p, quoted.n });
	write_with(out, hook, "clientConfig", (struct str){ config.p, config.n });
}

static bool change_hooks(const struct json_node *now, const char *version, struct buf *patch,
			 void *user)
{
	static const char *const to_bundle[] = { "clientConfig", "caBundle", NULL };
	const struct json_node *list = json_find(now, "webhooks");
	const struct controller *c = ((struct key *)user)->of;
	bool same = true;

	if (!list || list->kind != JSON_KIND_ARRAY)
		return false;
	buf_printf(patch, "{\"metadata\":{\"resourceVersion\":\"%s\"},\"webhooks\":[", version);
	for (size_t i = 0; i < list->n; i++) {
		if (i)
			buf_addc(patch, ',');
		same = same && is_bundle(at(&list->items[i], to_bundle), c->bundle);
		write_hook(patch, &list->items[i], c->bundle);
	}
	buf_adds(patch, "]}");
	return !same;
}

static bool change_definition(const struct json_node *now, const char *version, struct buf *patch,
			      void *user)
{
	static const char *const to_config[] = { "spec", "conversion", "webhook", "clientConfig",
						 NULL };
	static const char *const to_bundle[] = { "caBundle", NULL };
	const struct json_node *config = at(now, to_config);
	const struct controller *c = ((struct key *)user)->of;

	if (!config || is_bundle(at(config, to_bundle), c->bundle))
		return false;
	buf_printf(
		patch,
		"{\"metadata\":{\"resourceVersion\":\"%s\"},\"spec\":{\"conversion\":{\"webhook\":"
		"{\"clientConfig\":{\"caBundle\":",
		version);
	json_write_string(patch, c->bundle, strlen(c->bundle));
	buf_adds(patch, "}}}}}");
	return true;
}

/* ---- the turn ---- */

static enum queue_result end_part(struct controller *c, const struct k8s_result *result,
				  const char *what)
{
	if (result->code == K8S_OK || result->code == K8S_NOT_FOUND)
		return QUEUE_DONE;
	log_warn("bundle-failed", LOG_S("name", what), LOG_S("code", k8s_code_name(result->code)),
		 LOG_S("error", result->message));
	return QUEUE_FAILED;
}

static void finish(struct controller *c, enum queue_result result)
{
	struct key *k = &c->bundles;

	operator_done(c->op, &k->item, result);
	ev_timer_stop(c->loop, &k->soon);
	ev_timer_set(&k->soon, PERIOD, 0);
	ev_timer_start(c->loop, &k->soon);
}

static void on_definition(const struct k8s_result *result, void *user)
{
	struct controller *c = ((struct key *)user)->of;

	c->update = NULL;
	finish(c, end_part(c, result, CONVERTED));
}

static void on_hooks(const struct k8s_result *result, void *user)
{
	struct controller *c = ((struct key *)user)->of;
	enum queue_result r = end_part(c, result, c->options->webhook_config);

	c->update = NULL;
	if (r == QUEUE_DONE &&
	    k8s_update(&(struct k8s_update_config){ .client = operator_client(c->op),
						    .resource = &definitions,
						    .name = CONVERTED,
						    .manager = "maglev-controller",
						    .change = change_definition,
						    .done = on_definition,
						    .user = &c->bundles },
		       &c->update) == 0)
		return;
	finish(c, r == QUEUE_DONE ? QUEUE_FAILED : r);
}

static enum queue_result write_bundles(struct controller *c)
{
	int r = k8s_update(&(struct k8s_update_config){ .client = operator_client(c->op),
							.resource = &hooks,
							.name = c->options->webhook_config,
							.manager = "maglev-controller",
							.change = change_hooks,
							.done = on_hooks,
							.user = &c->bundles },
			   &c->update);

	return r < 0 ? QUEUE_FAILED : QUEUE_PENDING;
}

static enum queue_result write_secret(struct controller *c, struct key *k, const struct secret *now,
				      const struct certificates *want)
{
	_cleanup_(buf_free) struct buf body = { 0 };

	log_info("certificate-issued", LOG_S("secret", c->options->webhook_secret));
	buf_printf(&body, "{\"metadata\":{\"name\":\"%s\"", c->options->webhook_secret);
	if (now)
		buf_printf(&body, ",\"resourceVersion\":\"%llu\"",
			   (unsigned long long)now->object.version);
	buf_adds(&body, "},\"data\":");
	certificates_write(want, &body);
	buf_addc(&body, '}');
	return controller__write(
		c, k,
		&(struct k8s_call_config){ .verb = now ? K8S_VERB_MERGE_PATCH : K8S_VERB_CREATE,
					   .namespace = operator_namespace(c->op),
					   .name = now ? c->options->webhook_secret : NULL,
					   .body = { body.p, body.n } });
}

static void set_bundle(struct controller *c, const char *ca)
{
	struct buf text = { 0 };

	base64_encode(&text, str_of(ca));
	free(c->bundle);
	c->bundle = mem_strdup(buf_cstr(&text));
	buf_free(&text);
}

enum queue_result bundles__turn(struct controller *c, struct key *k)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	const struct secret *secret = bundles__secret(c);
	struct certificates have = certificates_of(secret, arena), want;
	const char *server = bundles__server(c, arena);
	int64_t now = loop_realtime() / NSEC_PER_SEC;

	if (operator_is_dry_run(c->op))
		return QUEUE_DONE;
	if (certificates_are_good(&have, server, now)) {
		set_bundle(c, have.ca);
		return write_bundles(c);
	}
	want = certificates_make(&have, server, now, arena);
	return write_secret(c, k, secret, &want);
}
