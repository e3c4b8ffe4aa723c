/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring holds the events (newest - kept, newest]; event n is in slot n % BROKER_EVENTS_MAX.
 * Events are dropped only when one is published or a browser resumes, which is enough for the
 * bounds because nothing grows in between.
 */
#include "src/frontend/broker.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/json/json.h"

struct broker {
	int64_t epoch;
	uint64_t newest;
	size_t kept, bytes;
	struct {
		char *text;
		size_t n;
		int64_t at; /* monotonic */
	} ring[BROKER_EVENTS_MAX];
};

struct broker *broker_new(int64_t epoch)
{
	struct broker *b = mem_zalloc(sizeof(*b));

	b->epoch = epoch;
	return b;
}

static size_t slot_of(uint64_t seq)
{
	return (size_t)(seq % BROKER_EVENTS_MAX);
}

static uint64_t oldest(const struct broker *b)
{
	return b->newest - b->kept + 1;
}

static void drop_oldest(struct broker *b)
{
	size_t slot = slot_of(oldest(b));

	b->bytes -= b->ring[slot].n;
	b->kept--;
	free(TAKE_PTR(b->ring[slot].text));
}

static void drop_old(struct broker *b, int64_t now)
{
	while (b->kept && now - b->ring[slot_of(oldest(b))].at > BROKER_AGE_MAX)
		drop_oldest(b);
}

void broker_free(struct broker *b)
{
	if (!b)
		return;
	while (b->kept)
		drop_oldest(b);
	free(b);
}

int64_t broker_epoch(const struct broker *b)
{
	return b->epoch;
}

uint64_t broker_newest(const struct broker *b)
{
	return b->newest;
}

size_t broker_kept(const struct broker *b)
{
	return b->kept;
}

size_t broker_bytes(const struct broker *b)
{
	return b->bytes;
}

/*
 * The format is that of Server-Sent Events (HTML standard, section 9.2): id, data, empty line.
 */
static void write_event(const struct broker *b, uint64_t seq, const struct broker_event *e,
			struct buf *out)
{
	buf_printf(out, "id: %" PRId64 "-%" PRIu64 "\ndata: {\"%s\":", b->epoch, seq, e->kind);
	json_write_string(out, e->server.p, e->server.n);
	buf_add_lit(out, ",\"type\":");
	json_write_string(out, e->type.p, e->type.n);
	buf_printf(out, ",\"at_ns\":%" PRId64 ",\"payload\":", e->at);
	buf_add(out, e->payload.p, e->payload.n);
	buf_add_lit(out, "}\n\n");
}

void broker_publish(struct broker *b, const struct broker_event *event, int64_t now)
{
	struct buf text = { 0 };

	assert(!memchr(event->payload.p, '\n',
		       event->payload.n)); /* a newline would end the data field */
	drop_old(b, now);
	write_event(b, b->newest + 1, event, &text);
	while (b->kept && (b->kept == BROKER_EVENTS_MAX || b->bytes + text.n > BROKER_BYTES_MAX))
		drop_oldest(b);
	b->newest++;
	b->ring[slot_of(b->newest)].text = mem_copy(text.p, text.n);
	b->ring[slot_of(b->newest)].n = text.n;
	b->ring[slot_of(b->newest)].at = now;
	b->kept++;
	b->bytes += text.n;
	buf_free(&text);
}

struct str broker_event(const struct broker *b, uint64_t seq)
{
	if (seq > b->newest || seq < oldest(b))
		return (struct str){ NULL, 0 };
	return (struct str){ b->ring[slot_of(seq)].text, b->ring[slot_of(seq)].n };
}

bool broker_resume(struct broker *b, struct str id, int64_t now, uint64_t *ret_next)
{
	struct str epoch;
	uint64_t number, seq;

	str_cut(&id, '-', &epoch);
	if (str_to_u64(epoch, INT64_MAX, &number) < 0 || number != (uint64_t)b->epoch)
		return false;
	if (!id.p || str_to_u64(id, UINT64_MAX - 1, &seq) < 0 || seq > b->newest)
		return false;
	drop_old(b, now);
	if (seq + 1 < oldest(b))
		return false;
	*ret_next = seq + 1;
	return true;
}

void broker_write_resync(const struct broker *b, int64_t at, struct buf *out)
{
	const struct broker_event event = { "server", STR(""), STR("resync"), at, STR("{}") };

	write_event(b, b->newest, &event, out);
}
