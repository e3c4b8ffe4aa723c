/* SPDX-License-Identifier: Apache-2.0 */
/*
 * items: applies events about single items of lists.
 *
 * An item in an event replaces the one that is kept, and browsers are sent the difference. Changes
 * within a short time are sent together, because a reload or an outage changes many items at once.
 *
 * While lists are being read, the answer can be older or newer than an event that arrives before
 * it. Therefore events are queued until the lists are complete and are applied after them. Every
 * change is followed by an event with the state at that time, so the last one applied is right.
 */
#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/pb/pb.h"
#include "src/frontend/upstream_private.h"

#define TELL_AFTER 0.01			 /* s during which changes are collected */
#define TELL_BYTES ((size_t)1024 * 1024) /* more are published at once: they are copied for that */
/*
 * Bound of the events that wait for lists. Beyond it all of them are dropped and the lists are
 * read again.
 */
#define LATE_BYTES_MAX ((size_t)16 * 1024 * 1024)
/*
 * Bound of what events add to a list. Its items are bounded as a whole when the list is read, so
 * beyond this it is read again, and events about it are dropped until then.
 */
#define GROWN_MAX ((size_t)16 * 1024 * 1024)

static void forget_late(struct upstream *u)
{
	for (size_t i = 0; i < u->late.n; i++) {
		free(u->late.items[i].name);
		buf_free(&u->late.items[i].json);
	}
	vec_free(&u->late);
	u->late_bytes = 0;
}

static void apply(struct upstream *u, enum upstream_list list, const struct listing_update *update)
{
	if (u->view.lists[list].grown > GROWN_MAX) {
		upstream__want(u, UPSTREAM__LISTS);
		return;
	}
	if (!listing_apply(&u->view.lists[list], update, &u->changed[list]))
		return;
	if (u->changed[list].n > TELL_BYTES) {
		upstream__tell_items(u);
		return;
	}
	if (ev_is_active(&u->tell))
		return;
	ev_timer_set(&u->tell, TELL_AFTER, 0.);
	ev_timer_start(u->loop, &u->tell);
}

/* Queues an event until the lists have been read. Takes the text over. */
static void keep(struct upstream *u, enum upstream_list list, const struct listing_update *update,
		 struct buf *json)
{
	const struct upstream__late late = { list, update->whole, mem_strdup(update->name), *json };

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
	struct listing_update update = { .name = listing_name(item), .whole = whole };

	pb_json_write(item, PB_JSON_SHOWN, &json);
	update.json = (struct str){ json.p, json.n };
	if (u->pending[UPSTREAM__LISTS])
		keep(u, list, &update, &json);
	else
		apply(u, list, &update);
}

void upstream__take_late(struct upstream *u)
{
	for (size_t i = 0; i < u->late.n; i++) {
		const struct upstream__late *l = &u->late.items[i];

		apply(u, l->list,
		      &(struct listing_update){ l->name, { l->json.p, l->json.n }, l->whole });
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

/* Changes that were not sent yet are lost to browsers, so the next list must be sent whole. */
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
