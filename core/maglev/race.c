/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The race: who gets which slot.
 *
 * The order of steps is planned for one period, in which a walker of weight w makes w steps, and
 * gone through again and again; who has its quota leaves the order now and then. The last few slots
 * would take more looking than all before them. They are settled the other way round: each of them
 * picks a walker.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/maglev/race.h"

struct course {
	uint16_t *order; /* of steps in a period, by walker */
	size_t n;
	size_t listed; /* walkers that were under way when the order was last put right */
	size_t n_free; /* slots */
	size_t few;    /* the number of free slots at which walking ends */
};

static unsigned common_divisor(unsigned a, unsigned b)
{
	return b ? common_divisor(b, a % b) : a;
}

/* How often the walkers of a group step in a period; the smallest numbers that have the ratio. */
static size_t steps_of(const struct maglev_race *r, size_t group)
{
	unsigned unit = 0;

	for (size_t i = 0; i < r->n_groups; i++)
		unit = common_divisor(unit, r->groups[i].weight);
	assert(unit > 0);
	return r->groups[group].weight / unit;
}

static void append(struct course *c, const struct maglev_group *g)
{
	for (size_t i = 0; i < g->n; i++)
		c->order[c->n++] = (uint16_t)(g->first + i);
}

/*
 * The steps of each are spread evenly over the period: every turn all groups earn their weight, and
 * those that have earned as much as the heaviest pay that and step.
 */
static void plan(const struct maglev_race *r, struct course *c)
{
	unsigned earned[MAGLEV_WEIGHT_MAX] = { 0 }, price = r->groups[0].weight;
	size_t turns = steps_of(r, 0), n = 0;

	for (size_t i = 0; i < r->n_groups; i++)
		n += steps_of(r, i) * r->groups[i].n;
	c->order = mem_resize(NULL, n, sizeof(*c->order));
	for (size_t turn = 0; turn < turns; turn++) {
		for (size_t i = 0; i < r->n_groups; i++) {
			earned[i] += r->groups[i].weight;
			if (earned[i] < price)
				continue;
			earned[i] -= price;
			append(c, &r->groups[i]);
		}
	}
	assert(c->n == n);
}

/* Takes the slot that was drawn if it is free and the walker under way. False: few are left. */
static inline bool look(struct maglev_race *r, struct course *c, struct maglev_walker *w,
			uint32_t draw)
{
	uint16_t *slot = &r->table[((uint64_t)draw * r->size) >> 32];

	if (*slot != MAGLEV_NONE || w->quota == 0)
		return true;
	*slot = w->index;
	r->under_way -= --w->quota == 0;
	return --c->n_free > c->few;
}

/*
 * Some steps of the order. The path is Knuth's generator of MMIX; both its halves are drawn from,
 * so a step is two looks. False: few slots are left.
 */
static bool walk(struct maglev_race *r, struct course *c, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		struct maglev_walker *w = &r->walkers[c->order[i]];
		uint64_t path = w->path;

		w->path = path * 6364136223846793005u + 1442695040888963407u;
		if (!look(r, c, w, (uint32_t)(path >> 32)) || !look(r, c, w, (uint32_t)path))
			return false;
	}
	return true;
}

/* Those with a full quota leave the order. Returns where the step at is then. */
static size_t close_ranks(const struct maglev_race *r, struct course *c, size_t at)
{
	size_t n = 0, moved = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (i == at)
			moved = n;
		c->order[n] = c->order[i];
		n += r->walkers[c->order[i]].quota > 0;
	}
	c->n = n;
	c->listed = r->under_way;
	return moved < n ? moved : 0;
}

/*
 * A period of many heavy members is longer than the race: so the order is also put right when half
 * of its walkers have gone, looked at every so many steps.
 */
#define STEPS 65536

static void walk_all(struct maglev_race *r, struct course *c)
{
	size_t at = 0;

	while (r->under_way > 1) {
		size_t end = c->n - at < STEPS ? c->n : at + STEPS;

		if (!walk(r, c, at, end))
			return;
		at = end < c->n ? end : 0;
		if (r->under_way <= c->listed / 2 || (at == 0 && r->under_way < c->listed))
			at = close_ranks(r, c, at);
	}
}

/* By weighted rendezvous: the smallest draw over weight. */
static size_t pick(const struct maglev_walker *walkers, size_t n, uint64_t slot)
{
	uint64_t least = maglev__stir(walkers[0].hash ^ slot) >> 32;
	size_t best = 0;

	for (size_t i = 1; i < n; i++) {
		uint64_t draw = maglev__stir(walkers[i].hash ^ slot) >> 32;

		if (draw * walkers[best].weight >= least * walkers[i].weight)
			continue;
		least = draw;
		best = i;
	}
	return best;
}

/* All slots that are still free, from the first to the last. */
static void settle(struct maglev_race *r, size_t n_walkers)
{
	struct maglev_walker *w = r->walkers;
	size_t n = 0;

	for (size_t i = 0; i < n_walkers; i++)
		if (w[i].quota > 0)
			w[n++] = w[i];
	for (size_t slot = 0; slot < r->size && n > 0; slot++) {
		size_t i;

		if (r->table[slot] != MAGLEV_NONE)
			continue;
		i = pick(w, n, slot);
		r->table[slot] = w[i].index;
		if (--w[i].quota == 0)
			w[i] = w[--n];
	}
}

void maglev__run(struct maglev_race *r)
{
	size_t n_walkers = r->under_way;
	struct course c = { .listed = n_walkers, .n_free = r->size };

	while (4 * c.few * c.few < r->size)
		c.few++;
	plan(r, &c);
	walk_all(r, &c);
	free(c.order);
	settle(r, n_walkers);
}
