/* SPDX-License-Identifier: Apache-2.0 */
/*
 * References from one object to another: ReferenceGrants, Secrets with certificates, ConfigMaps
 * with authorities, and rules about namespaces.
 *
 * A reference to another namespace is first checked for permission: whether the object exists is
 * nobody's business without one.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "core/l7/hash.h"
#include "src/gateway/model.h"

/* ---- ReferenceGrants ---- */

static bool covers_from(const struct gw_grant *grant, const struct gw__from *from)
{
	const struct gw_ref *list = grant->from.items;

	for (size_t i = 0; i < grant->from.n; i++)
		if (strcmp(gw__text(list[i].group), GW_GROUP) == 0 &&
		    strcmp(gw__text(list[i].kind), from->kind) == 0 &&
		    strcmp(gw__text(list[i].namespace), from->namespace) == 0)
			return true;
	return false;
}

static bool covers_to(const struct gw_grant *grant, const char *group, const char *kind,
		      const char *name)
{
	const struct gw_ref *list = grant->to.items;

	for (size_t i = 0; i < grant->to.n; i++)
		if (strcmp(gw__text(list[i].group), group) == 0 &&
		    strcmp(gw__text(list[i].kind), kind) == 0 &&
		    (!list[i].name || !*list[i].name || strcmp(list[i].name, name) == 0))
			return true;
	return false;
}

bool gw__permitted(struct gw *g, const struct gw__from *from, const char *group, const char *kind,
		   const char *namespace, const char *name)
{
	const struct gw__node *grants;

	if (strcmp(from->namespace, namespace) == 0)
		return true;
	grants = gw__need(g, GW__GRANTS, namespace);
	for (size_t i = 0; i < grants->members.n; i++) {
		const struct gw_grant *grant = (const void *)grants->members.items[i]->object;

		if (covers_from(grant, from) && covers_to(grant, group, kind, name))
			return true;
	}
	return false;
}

/* ---- namespaces ---- */

static const char *const *copy_values(const struct labels_requirement *r, struct arena *arena)
{
	const char **values = arena_array_of(arena, r->n_values, const char *);

	for (size_t i = 0; i < r->n_values; i++)
		values[i] = arena_strdup(arena, r->values[i]);
	return values;
}

struct gw__scope gw__scope_of(const struct gw_namespaces *rule, const char *fallback,
			      struct arena *arena)
{
	struct gw__scope scope = { .from = arena_strdup(arena, gw__or(rule->from, fallback)),
				   .has_selector = rule->selector.present == K8S_YES };
	struct labels_requirement *items;

	if (!scope.has_selector)
		return scope;
	scope.selector = wire_selector(&rule->selector, arena);
	items = arena_array_of(arena, scope.selector.n, struct labels_requirement);
	for (size_t i = 0; i < scope.selector.n; i++) {
		items[i] = scope.selector.items[i];
		items[i].key = arena_strdup(arena, gw__text(items[i].key));
		items[i].word = arena_strdup(arena, gw__text(items[i].word));
		items[i].values = copy_values(&scope.selector.items[i], arena);
	}
	scope.selector.items = items;
	return scope;
}

bool gw__allows(struct gw *g, const struct gw__scope *scope, const char *own, const char *other)
{
	const struct gw_namespace *object;
	struct labels labels;

	if (strcmp(scope->from, "All") == 0)
		return true;
	if (strcmp(scope->from, "Same") == 0)
		return strcmp(own, other) == 0;
	if (strcmp(scope->from, "Selector") != 0 || !scope->has_selector)
		return false;
	object = (const void *)gw__need_object(g, GW_NAMESPACE, "", other)->object;
	if (!object)
		return false;
	labels = wire_labels(&object->labels);
	return labels_match(&scope->selector, &labels);
}

/* ---- certificates ---- */

/*
 * PEM begins with its first mark. A router takes any other text for the path of a file, so it must
 * never get one that comes from an object.
 */
static const char *pem(const char *text)
{
	return text ? strstr(text, "-----BEGIN") : NULL;
}

static const char *secret_value(struct gw *g, const struct gw_secret *s, const char *key)
{
	const char *text = k8s_map_get(&s->data, key);
	size_t n = text ? strlen(text) : 0;
	char *value;
	ssize_t size;

	if (!n)
		return NULL;
	value = arena_alloc(g->scratch, n + 1);
	size = base64_decode((struct str){ text, n }, value);
	if (size <= 0 || memchr(value, '\0', (size_t)size))
		return NULL;
	value[size] = '\0';
	return pem(value);
}

bool gw__pair_of(struct gw *g, const struct gw__from *from, const struct gw_ref *ref,
		 const char *bad, struct gw__pair *ret, struct gw__verdict *verdict)
{
	const char *namespace = gw__or(ref->namespace, from->namespace);
	const char *name = gw__text(ref->name), *why;
	const struct gw_secret *secret;
	struct gw__pair pair;

	if (strcmp(gw__text(ref->group), "") != 0 ||
	    strcmp(gw__or(ref->kind, "Secret"), "Secret") != 0) {
		gw__fail(verdict, bad, "%s %s is not supported as a certificate",
			 gw__text(ref->kind), name);
		return false;
	}
	if (!gw__permitted(g, from, "", "Secret", namespace, name)) {
		gw__fail(verdict, "RefNotPermitted", "no ReferenceGrant permits Secret %s/%s",
			 namespace, name);
		return false;
	}
	secret = (const void *)gw__need_object(g, GW_SECRET, namespace, name)->object;
	if (!secret) {
		gw__fail(verdict, bad, "Secret %s/%s does not exist", namespace, name);
		return false;
	}
	pair.certificate = secret_value(g, secret, "tls.crt");
	pair.key = secret_value(g, secret, "tls.key");
	if (!pair.certificate || !pair.key) {
		gw__fail(verdict, bad, "Secret %s/%s has no usable tls.crt and tls.key", namespace,
			 name);
		return false;
	}
	why = g->settings.calls.check_pair(pair.certificate, pair.key, g->settings.calls.user);
	if (why) {
		gw__fail(verdict, bad, "Secret %s/%s: %s", namespace, name, why);
		return false;
	}
	*ret = pair;
	return true;
}

/* The text of one authority; NULL with a verdict. */
static const char *authority(struct gw *g, const struct gw__from *from, const struct gw_ref *ref,
			     const struct gw__ca_words *words, struct gw__verdict *verdict)
{
	const char *namespace = gw__or(ref->namespace, from->namespace);
	const char *name = gw__text(ref->name), *text, *why;
	const struct gw_config_map *map;

	if (strcmp(gw__text(ref->group), "") != 0 ||
	    strcmp(gw__text(ref->kind), "ConfigMap") != 0) {
		gw__fail(verdict, words->bad_kind,
			 "%s %s is not supported; authorities are in a ConfigMap",
			 gw__text(ref->kind), name);
		return NULL;
	}
	if (!gw__permitted(g, from, "", "ConfigMap", namespace, name)) {
		gw__fail(verdict, "RefNotPermitted", "no ReferenceGrant permits ConfigMap %s/%s",
			 namespace, name);
		return NULL;
	}
	map = (const void *)gw__need_object(g, GW_CONFIG_MAP, namespace, name)->object;
	text = map ? pem(k8s_map_get(&map->data, "ca.crt")) : NULL;
	if (!text) {
		gw__fail(verdict, words->not_found, "ConfigMap %s/%s %s", namespace, name,
			 map ? "has no usable ca.crt" : "does not exist");
		return NULL;
	}
	why = g->settings.calls.check_ca(text, g->settings.calls.user);
	if (why)
		gw__fail(verdict, words->not_found, "ConfigMap %s/%s: %s", namespace, name, why);
	return why ? NULL : text;
}

const char *gw__authorities(struct gw *g, const struct gw__from *from, const struct k8s_list *refs,
			    const struct gw__ca_words *words, struct gw__verdict *verdict)
{
	const struct gw_ref *list = refs->items;
	const char *all = NULL;

	for (size_t i = 0; i < refs->n; i++) {
		const char *text = authority(g, from, &list[i], words, verdict);

		if (text)
			all = arena_printf(g->scratch, "%s%s%s", gw__text(all), text,
					   text[0] && text[strlen(text) - 1] == '\n' ? "" : "\n");
	}
	return all;
}

/* ---- names ---- */

uint64_t gw__digest(const char *text)
{
	uint64_t hash = l7_hash_start(0);

	for (; *text; text++)
		hash = l7_hash_add(hash, *text);
	return l7_hash_end(hash);
}

const char *gw__short_name(struct arena *arena, const char *name)
{
	if (strlen(name) <= L7_NAME_MAX)
		return name;
	return arena_printf(arena, "%.*s~%016" PRIx64, L7_NAME_MAX - 17, name, gw__digest(name));
}
