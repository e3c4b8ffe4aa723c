/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists, watches and objects of a server that may say anything. The first byte chooses the mode and
 * the size of the pieces. What is reported must not depend on how the bytes are cut.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/k8s/feed.h"
#include "lib/k8s/testkit.h"

struct run {
	struct k8s_kind *kind;
	uint64_t count, sum;
};

static bool on_event(const struct k8s_feed_event *e, void *user)
{
	struct run *r = user;
	struct k8s_object *o;

	r->count++;
	r->sum = r->sum * 31 + (uint64_t)e->type;
	if (e->type == K8S_FEED_ERROR)
		return true;
	o = k8s_object_keep(r->kind, e->object);
	r->sum = r->sum * 31 + o->version + k8s_object_size(r->kind, o);
	for (const char *p = o->name; *p; p++)
		r->sum = r->sum * 31 + (unsigned char)*p;
	k8s_object_unref(r->kind, o);
	return true;
}

static int feed(struct run *r, enum k8s_feed_mode mode, const char *p, size_t n, size_t piece)
{
	struct k8s_feed *f = k8s_feed_new(r->kind, mode, on_event, r);
	int e = 0;

	for (size_t at = 0; e == 0 && at < n; at += piece)
		e = k8s_feed_take(f, p + at, n - at < piece ? n - at : piece);
	if (e == 0)
		e = k8s_feed_end(f);
	if (e < 0 && !k8s_feed_reason(f)[0])
		abort();
	k8s_feed_free(f);
	return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct k8s_names *names;
	struct run whole = { 0 }, cut = { 0 };
	const char *text = (const char *)data + 1;
	enum k8s_feed_mode mode;

	if (size < 1)
		return 0;
	names = k8s_names_new();
	whole.kind = cut.kind = k8s_kind_new(&test_thing_layout, names);
	mode = (enum k8s_feed_mode)(data[0] % 3);
	if (feed(&whole, mode, text, size - 1, size) !=
	    feed(&cut, mode, text, size - 1, 1 + data[0] / 3))
		abort();
	if (whole.count != cut.count || whole.sum != cut.sum || k8s_names_count(names))
		abort();
	k8s_kind_free(whole.kind);
	k8s_names_free(names);
	return 0;
}
