/* SPDX-License-Identifier: Apache-2.0 */
/*
 * items: what events say of single backends and frontends.
 *
 * An item that an event tells of replaces the one that is kept, and browsers are sent what is not as
 * it was. Changes that come within a moment are told together: a reload or an outage changes many
 * items at once, and browsers have to keep up.
 *
 * While lists are being read, the answer may be older than an event that comes before it, or newer.
 * So events wait until the lists are there and are applied after them. Every change is followed by
 * an event with the state as it is then, so the last one that is applied is always right.
 */
#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/pb/pb.h"
#include "src/frontend/upstream_private.h"

#define TELL_AFTER 0.01 /* s */
/* What waits for lists; beyond it, all of it is dropped and lists are read once more. */
#define LATE_BYTES_MAX ((size_t)16 * 1024 * 1024)

static void forget_late(struct upstream *u)
{
	for (size_t i = 0; i < u->late.n; i++) {
		free(u->late.items[i].name);
		buf_free(&u->late.items[i].json);
	}
	vec_free(&u->late);
	u->late_bytes = 0;
}

static void apply(struct upstream *u, enum upstream_list list, const struct listing_news *news)
{
	if (!listing_apply(&u->view.lists[list], news, &u->changed[list]))
		return;
	if (ev_is_active(&u->tell))
		return;
	ev_timer_set(&u->tell, TELL_AFTER, 0.);
	ev_timer_start(u->loop, &u->tell);
}

/* Takes the text over. */
static void keep(struct upstream *u, enum upstream_list list, const struct listing_news *news,
		 struct buf *json)
{
	const struct upstream__late late = { list, news->whole, mem_strdup(news->name), *json };

	*json = (struct buf){ 0 };
	vec_push(&u->late, late);
	u->late_bytes += sizeof(late) + late.json.n;
	if (u->late_bytes < LATE_BYTES_MAX)
		return;
	forget_late(u);
	upstream__want(u, UPSTREAM__LISTS);
}

void upstream__take_item(struct upstream *u, enum upstream_list list, const ProtobufCMessage *item,
			 bool whole)
{
	_cleanup_(buf_free) struct buf json = { 0 };
	struct listing_news news = { .name = listing_name(item), .whole = whole };

	pb_json_write(item, PB_JSON_COMPACT, &json);
	news.json = (struct str){ json.p, json.n };
	if (u->pending[UPSTREAM__LISTS])
		keep(u, list, &news, &json);
	else
		apply(u, list, &news);
}

void upstream__take_late(struct upstream *u)
{
	for (size_t i = 0; i < u->late.n; i++) {
		const struct upstream__late *l = &u->late.items[i];

		apply(u, l->list,
		      &(struct listing_news){ l->name, { l->json.p, l->json.n }, l->whole });
	}
	forget_late(u);
}

void upstream__tell_items(struct upstream *u)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	ev_timer_stop(u->loop, &u->tell);
	for (size_t i = 0; i < UPSTREAM_LISTS; i++) {
		struct buf *changed = &u->changed[i];

		if (!changed->n)
			continue;
		upstream__add_key(&out, upstream__keys[i]);
		buf_add(&out, changed->p, changed->n);
		buf_addc(&out, ']');
		buf_free(changed);
	}
	if (!out.n)
		return;
	buf_addc(&out, '}');
	upstream__tell(u, "update", loop_realtime(), (struct str){ out.p, out.n });
}

void upstream__on_tell(struct ev_loop *loop, ev_timer *w, int revents)
{
	upstream__tell_items(container_of(w, struct upstream, tell));
}

void upstream__forget_items(struct upstream *u)
{
	ev_timer_stop(u->loop, &u->tell);
	for (size_t i = 0; i < UPSTREAM_LISTS; i++) {
		if (u->changed[i].n)
			listing_doubt(&u->view.lists[i]);
		buf_free(&u->changed[i]);
	}
	forget_late(u);
}
