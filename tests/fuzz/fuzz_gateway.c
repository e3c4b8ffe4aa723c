/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of the Gateway API that may say anything: each line is the letter of a kind, the digit of
 * a name, and the members of the object after its metadata; '-' instead of members deletes it.
 * Whatever they say, a router accepts the document, and a status that was made is complete.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/k8s/feed.h"
#include "src/gateway/kinds.h"
#include "src/gateway/translate.h"
#include "wire/router_doc.h"

#define NAMES 4

struct fuzzing {
	struct gw *gw;
	struct k8s_kind *kinds[GW_KINDS];
	struct k8s_object *objects[GW_KINDS][NAMES];
	struct k8s_object *read;
	enum gw_kind kind;
	int64_t generation;
};

static const struct l7_regex *compile(const char *pattern, char *reason, size_t size, void *user)
{
	(void)user;
	if (!strchr(pattern, '('))
		return (const void *)pattern;
	snprintf(reason, size, "bracket");
	return NULL;
}

static const char *check_pair(const char *certificate, const char *key, void *user)
{
	(void)user;
	return strstr(certificate, "BAD") || strstr(key, "BAD") ? "bad" : NULL;
}

static const char *check_ca(const char *text, void *user)
{
	return check_pair(text, text, user);
}

static bool on_object(const struct k8s_feed_event *event, void *user)
{
	struct fuzzing *f = user;

	k8s_object_unref(f->kinds[f->kind], f->read);
	f->read = k8s_object_keep(f->kinds[f->kind], event->object);
	return true;
}

/* NULL if the line is not an object. */
static struct k8s_object *read_object(struct fuzzing *f, enum gw_kind kind, unsigned name,
				      struct str members)
{
	struct k8s_feed *feed = k8s_feed_new(f->kinds[kind], K8S_FEED_OBJECT, on_object, f);
	_cleanup_(buf_free) struct buf text = { 0 };

	f->kind = kind;
	f->read = NULL;
	f->generation++;
	buf_printf(&text,
		   "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"n%u\",\"uid\":\"u\","
		   "\"resourceVersion\":\"1\",\"generation\":%lld,\"labels\":{\"" GW_SERVICE_LABEL
		   "\":\"n%u\"}}",
		   gw_kinds[kind].namespaced ? "d" : "", name, (long long)f->generation, name);
	if (members.n)
		buf_addc(&text, ',');
	buf_add(&text, members.p, members.n);
	buf_addc(&text, '}');
	if (k8s_feed_take(feed, text.p, text.n) < 0 || k8s_feed_end(feed) < 0) {
		k8s_object_unref(f->kinds[kind], f->read);
		f->read = NULL;
	}
	k8s_feed_free(feed);
	return f->read;
}

static void take_line(struct fuzzing *f, struct str line)
{
	struct k8s_object *old, *new = NULL;
	unsigned kind, name;

	if (line.n < 2)
		return;
	kind = (unsigned char)line.p[0] % GW_KINDS;
	name = (unsigned char)line.p[1] % NAMES;
	line = (struct str){ line.p + 2, line.n - 2 };
	old = f->objects[kind][name];
	if (!str_eq(line, STR("-"))) {
		new = read_object(f, (enum gw_kind)kind, name, line);
		/* what an object is called is not for a line to say */
		if (!new || new->name[0] != 'n' || strlen(new->name) != 2 ||
		    new->name[1] - '0' != (int)name ||
		    strcmp(new->namespace, gw_kinds[kind].namespaced ? "d" : "") != 0) {
			k8s_object_unref(f->kinds[kind], new);
			return;
		}
	}
	if (!old && !new)
		return;
	gw_changed(f->gw, (enum gw_kind)kind, old, new);
	f->objects[kind][name] = new;
	k8s_object_unref(f->kinds[kind], old);
}

static void check_document(const struct gw *g)
{
	static const struct l7_calls calls = { compile, NULL };
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 }, complaints = { 0 };
	struct errs errors = { .arena = arena }, warnings = { .arena = arena };
	struct l7_config config;
	struct l7_doc doc;

	gw_document(g, &text);
	if (router_doc_parse((struct str){ text.p, text.n }, ROUTER_JSON, arena, &doc, &errors) ==
		    0 &&
	    l7_config_build(&doc, arena, &calls, &config, &errors, &warnings) == 0)
		return;
	errs_print(&errors, "document", &complaints);
	fprintf(stderr, "%s%s\n", buf_cstr(&complaints), buf_cstr(&text));
	abort();
}

static void finish(struct fuzzing *f)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct gw_status status;

	while (gw_work(f->gw, 16))
		continue;
	check_document(f->gw);
	while (gw_take_status(f->gw, "2026-01-01T00:00:00Z", &status, &text)) {
		if (text.n < 2 || text.p[text.n - 1] != '}')
			abort();
		text.n = 0;
	}
	for (unsigned kind = GW_HTTP_ROUTE; kind <= GW_UDP_ROUTE; kind++)
		for (unsigned i = 0; i < NAMES; i++)
			if (f->objects[kind][i])
				gw_explain(f->gw, (enum gw_kind)kind, "d",
					   f->objects[kind][i]->name, NULL, &text);
}

static void start(struct fuzzing *f, struct k8s_names *names)
{
	const struct gw_settings settings = { .calls = { .regex = { compile, NULL },
							 .check_pair = check_pair,
							 .check_ca = check_ca } };

	f->gw = gw_new(&settings);
	for (size_t i = 0; i < GW_KINDS; i++)
		f->kinds[i] = k8s_kind_new(gw_kinds[i].layout, names);
	for (unsigned i = 0; i < NAMES; i++) {
		struct addr address;
		char text[16], name[4];

		snprintf(text, sizeof(text), "192.0.2.%u", i + 1);
		snprintf(name, sizeof(name), "n%u", i);
		if (addr_parse(text, &address) < 0)
			abort();
		gw_set_addresses(f->gw, "d", name,
				 &(struct gw_addresses){ &address, 1, GW_ADDRESS_OK, NULL });
	}
}

static void end(struct fuzzing *f)
{
	gw_free(f->gw);
	for (size_t k = 0; k < GW_KINDS; k++) {
		for (size_t i = 0; i < NAMES; i++)
			k8s_object_unref(f->kinds[k], f->objects[k][i]);
		k8s_kind_free(f->kinds[k]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size }, line;
	struct k8s_names *names = k8s_names_new();
	struct fuzzing f = { 0 };

	start(&f, names);
	while (rest.n && str_cut(&rest, '\n', &line))
		take_line(&f, line);
	finish(&f);
	end(&f);
	k8s_names_free(names);
	return 0;
}
