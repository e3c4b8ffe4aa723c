/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A member with a rank is in two lists: that of its rank, of remote or of local members, and that
 * of its rank within its source. Both are in the order of age, so a victim is found in constant
 * time, whatever a flood of connections looks like. Local members have no source, because there is
 * no bound for them.
 */
#include "lib/stream/crowd.h"

#include <assert.h>

#include "base/cleanup.h"
#include "lib/stream/source.h"

#define SHARE_OF_A_SOURCE 4 /* by default 1/4 of all connections */
#define SHARE_OF_LOCALS 64  /* 1/64 is reserved */

struct stream__crowd_source {
	struct stream__source source;
	struct stream_members ranks[STREAM_RANKS];
};

struct stream_limits stream_limits(size_t max, size_t per_source)
{
	size_t share = max / SHARE_OF_A_SOURCE;

	return (struct stream_limits){
		.max = max,
		.per_source = per_source ? per_source
			      : share	 ? share
					 : 1,
		.reserve = max / SHARE_OF_LOCALS,
	};
}

enum stream_room stream_decide(const struct stream_limits *limits,
			       const struct stream_situation *now)
{
	bool full = now->remote + now->local >= limits->max;

	if (now->is_local)
		return full ? STREAM_ROOM_OF_ANYONE : STREAM_ROOM;
	if (now->of_source >= limits->per_source)
		return STREAM_ROOM_OF_SOURCE;
	if (full || now->remote + limits->reserve >= limits->max)
		return STREAM_ROOM_OF_REMOTE;
	return STREAM_ROOM;
}

static bool is_local(const struct endpoint *peer)
{
	return !addr_is_set(&peer->addr) || addr_is_loopback(&peer->addr);
}

static struct stream__crowd_source *source_of(const struct stream_crowd *crowd,
					      const struct endpoint *peer)
{
	if (is_local(peer))
		return NULL;
	return (struct stream__crowd_source *)stream__source_find(&crowd->sources, peer);
}

static void begin_lists(struct stream_members lists[static STREAM_RANKS])
{
	for (unsigned rank = 0; rank < STREAM_RANKS; rank++)
		TAILQ_INIT(&lists[rank]);
}

void stream_crowd_init(struct stream_crowd *crowd, const struct stream_limits *limits)
{
	assert(limits->max > limits->reserve && limits->per_source);
	*crowd = (struct stream_crowd){ .limits = *limits };
	begin_lists(crowd->ranks[false]);
	begin_lists(crowd->ranks[true]);
}

void stream_crowd_end(struct stream_crowd *crowd)
{
	assert(!crowd->remote && !crowd->local && !crowd->sources);
}

/* The oldest of the lowest rank in the lists of a source. */
static struct stream_member *least_of_source(const struct stream__crowd_source *source,
					     const struct stream_member *but)
{
	struct stream_member *m = NULL;

	for (unsigned rank = 0; !m && rank < STREAM_RANKS; rank++) {
		m = TAILQ_FIRST(&source->ranks[rank]);
		if (m && m == but)
			m = TAILQ_NEXT(m, of_source);
	}
	return m;
}

/* The same of all remote or all local members. */
static struct stream_member *least_of(const struct stream_crowd *crowd, bool local,
				      const struct stream_member *but)
{
	struct stream_member *m = NULL;

	for (unsigned rank = 0; !m && rank < STREAM_RANKS; rank++) {
		m = TAILQ_FIRST(&crowd->ranks[local][rank]);
		if (m && m == but)
			m = TAILQ_NEXT(m, ranked);
	}
	return m;
}

struct stream_member *stream_crowd_least(const struct stream_crowd *crowd,
					 const struct stream_member *but)
{
	struct stream_member *remote = least_of(crowd, false, but);

	return remote ? remote : least_of(crowd, true, but);
}

bool stream_crowd_admit(const struct stream_crowd *crowd, const struct endpoint *peer,
			const struct stream_member *but, struct stream_member **ret_victim)
{
	const struct stream__crowd_source *source = source_of(crowd, peer);
	const struct stream_situation now = { .remote = crowd->remote,
					      .local = crowd->local,
					      .of_source = source ? source->source.n : 0,
					      .is_local = is_local(peer) };
	enum stream_room room = stream_decide(&crowd->limits, &now);
	struct stream_member *victim = NULL;

	switch (room) {
	case STREAM_ROOM:
		break;
	case STREAM_ROOM_OF_SOURCE:
		assert(source);
		victim = least_of_source(source, but);
		break;
	case STREAM_ROOM_OF_REMOTE:
		victim = least_of(crowd, false, but);
		break;
	case STREAM_ROOM_OF_ANYONE:
		victim = stream_crowd_least(crowd, but);
		break;
	}
	if (room != STREAM_ROOM && !victim)
		return false;
	*ret_victim = victim;
	return true;
}

void stream_crowd_join(struct stream_crowd *crowd, struct stream_member *m,
		       const struct endpoint *peer)
{
	assert(!m->joined);
	*m = (struct stream_member){ .joined = true, .local = is_local(peer), .rank = STREAM_KEPT };
	if (m->local) {
		crowd->local++;
		return;
	}
	crowd->remote++;
	m->source = (struct stream__crowd_source *)stream__source_add(&crowd->sources, peer,
								      sizeof(*m->source));
	if (m->source->source.n == 1)
		begin_lists(m->source->ranks);
}

void stream_crowd_rank(struct stream_crowd *crowd, struct stream_member *m, unsigned rank)
{
	assert(rank <= STREAM_KEPT);
	if (!m->joined)
		return;
	if (m->rank < STREAM_KEPT) {
		TAILQ_REMOVE(&crowd->ranks[m->local][m->rank], m, ranked);
		if (m->source)
			TAILQ_REMOVE(&m->source->ranks[m->rank], m, of_source);
	}
	m->rank = rank;
	if (rank == STREAM_KEPT)
		return;
	TAILQ_INSERT_TAIL(&crowd->ranks[m->local][rank], m, ranked);
	if (m->source)
		TAILQ_INSERT_TAIL(&m->source->ranks[rank], m, of_source);
}

void stream_crowd_leave(struct stream_crowd *crowd, struct stream_member *m)
{
	if (!m->joined)
		return;
	stream_crowd_rank(crowd, m, STREAM_KEPT);
	if (m->source)
		stream__source_remove(&crowd->sources, &m->source->source);
	if (m->local)
		crowd->local--;
	else
		crowd->remote--;
	m->joined = false;
	m->source = NULL;
}
