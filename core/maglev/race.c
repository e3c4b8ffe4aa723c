/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The race: which walker gets which slot.
 *
 * The order of steps is planned for one period, in which a walker of weight w makes w steps
 * (divided by the common divisor of all weights), and is repeated. Walkers that have reached
 * their quota are removed from the order from time to time. Random draws would need very long to
 * hit the last few free slots, so these are settled the other way round: each of them picks a
 * walker.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/maglev/race.h"

static unsigned common_divisor(unsigned a, unsigned b)
{
	return b ? common_divisor(b, a % b) : a;
}

/*
 * How often the walkers of a group step in one period: the smallest integers with the
 * ratio of the weights.
 */
static size_t steps_of(const struct maglev_race *r, size_t group)
{
	unsigned unit = 0;

	for (size_t i = 0; i < r->n_groups; i++)
		unit = common_divisor(unit, r->groups[i].weight);
	assert(unit > 0);
	return r->groups[group].weight / unit;
}

/* Adds one step for each walker of the group. */
static void append(struct maglev_course *c, const struct maglev_group *g)
{
	for (size_t i = 0; i < g->n; i++)
		c->order[c->n++] = (uint16_t)(g->first + i);
}

/*
 * Spreads the steps of each walker evenly over the period: every turn all groups earn their
 * weight, and a group that has earned as much as the heaviest weighs pays that and steps.
 */
static void plan(const struct maglev_race *r, struct maglev_course *c)
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

/*
 * Takes the drawn slot if it is free and the walker's quota is not used up. Returns false when
 * only few slots are left.
 */
static inline bool look(struct maglev_race *r, struct maglev_course *c, struct maglev_walker *w,
			uint32_t draw)
{
	uint16_t *slot = &r->table[((uint64_t)draw * r->size) >> 32];

	if (*slot != MAGLEV_NONE || w->quota == 0)
		return true;
	*slot = w->index;
	r->under_way -= --w->quota == 0;
	return --c->n_free > c->few;
}

/* Moves the walker on and returns where it was; each half of it draws a slot. */
static inline uint64_t move(struct maglev_walker *w)
{
	uint64_t path = w->path;

	w->path = path * 6364136223846793005u + 1442695040888963407u;
	return path;
}

/* Like look(), but without a branch; 1 if it takes the slot. */
static inline uint32_t look_blindly(uint16_t *slot, uint16_t walker, uint32_t quota)
{
	uint16_t was = *slot;
	uint32_t takes = (was == MAGLEV_NONE) & (quota > 0);

	*slot = takes ? walker : was;
	return takes;
}

/* Makes the steps from..to without a branch. More slots are free than the steps can take. */
static void step_blindly(struct maglev_race *r, struct maglev_course *c, size_t from, size_t to)
{
	const uint64_t size = r->size;
	uint16_t *table = r->table;
	size_t taken = 0, done = 0;

	for (size_t i = from; i < to; i++) {
		struct maglev_walker *w = &r->walkers[c->order[i]];
		uint64_t path = move(w);
		uint32_t quota = w->quota, left = quota;

		left -= look_blindly(&table[(path >> 32) * size >> 32], w->index, left);
		left -= look_blindly(&table[(path & UINT32_MAX) * size >> 32], w->index, left);
		w->quota = left;
		taken += quota - left;
		done += (quota > 0) & (left == 0);
	}
	c->n_free -= taken;
	r->under_way -= done;
}

/*
 * While many slots are free, the processor guesses wrongly too often whether the next one is, and
 * steps without branches are faster. They are not with few walkers, as each step then waits for an
 * earlier one of the same walker, nor in a table too large for the cache, as they write every slot
 * that they look at.
 */
#define MANY(size) ((size) / 16)
#define WALKERS_MIN 32
#define CACHED_MAX 262144

/* Makes steps while more than MANY slots are sure to be free. Returns the next step. */
static size_t walk_blindly(struct maglev_race *r, struct maglev_course *c, size_t from, size_t to)
{
	size_t many = MANY(r->size) > c->few ? MANY(r->size) : c->few, i = from;

	while (i < to && c->n_free > many + 1) {
		size_t n = (c->n_free - many) / 2;

		n = n < to - i ? n : to - i;
		step_blindly(r, c, i, i + n);
		i += n;
	}
	return i;
}

/*
 * Makes the steps from..to of the order. The path is Knuth's linear congruential generator from
 * MMIX; both halves of its state are used, so a step draws two slots. Returns false when few
 * slots are left.
 */
static bool walk(struct maglev_race *r, struct maglev_course *c, size_t from, size_t to)
{
	bool blindly = r->under_way >= WALKERS_MIN && r->size <= CACHED_MAX;
	size_t i = blindly ? walk_blindly(r, c, from, to) : from;

	if (c->n_free <= c->few)
		return false;
	for (; i < to; i++) {
		struct maglev_walker *w = &r->walkers[c->order[i]];
		uint64_t path = move(w);

		if (!look(r, c, w, (uint32_t)(path >> 32)) || !look(r, c, w, (uint32_t)path))
			return false;
	}
	return true;
}

/* Removes walkers without quota from the order. Returns the new index of the step `at`. */
static size_t close_ranks(const struct maglev_race *r, struct maglev_course *c, size_t at)
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
 * The period of many heavy members is longer than the whole race. So the order is also compacted
 * when half of its walkers are done, which is checked every so many steps.
 */
#define STEPS 65536

/*
 * Walks to the end of the period, but at most STEPS steps; returns how many. The points at which
 * the order is compacted do not affect the table: a walker without quota takes nothing anyway.
 */
static size_t walk_stretch(struct maglev_race *r)
{
	struct maglev_course *c = &r->course;
	size_t from = c->at, end = c->n - c->at < STEPS ? c->n : c->at + STEPS;

	c->walked = r->under_way <= 1 || !walk(r, c, from, end);
	if (c->walked)
		return 0;
	c->at = end < c->n ? end : 0;
	if (r->under_way <= c->listed / 2 || (c->at == 0 && r->under_way < c->listed))
		c->at = close_ranks(r, c, c->at);
	return end - from;
}

/* One step of the public interface, about STEPS steps of the race. */
static void walk_on(struct maglev_race *r)
{
	for (size_t steps = 0; steps < STEPS && !r->course.walked;)
		steps += walk_stretch(r);
}

/*
 * Weighted rendezvous hashing: the walker with the smallest draw / weight. The comparison
 * multiplies crosswise to stay in integers; draws have 32 bits, so nothing overflows.
 */
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

/* Compacts the walkers to those that still have quota, in their order. */
static void rally(struct maglev_race *r)
{
	struct maglev_course *c = &r->course;
	size_t n = 0;

	for (size_t i = 0; i < c->n_walkers; i++)
		if (r->walkers[i].quota > 0)
			r->walkers[n++] = r->walkers[i];
	c->n_walkers = n;
}

/*
 * Settles the slots that are still free, in ascending order, for about half a millisecond per
 * call.
 */
#define LOOKS 131072

static void settle_on(struct maglev_race *r)
{
	struct maglev_course *c = &r->course;
	struct maglev_walker *w = r->walkers;

	for (size_t looks = 0; c->slot < r->size && c->n_walkers > 0 && looks < LOOKS; c->slot++) {
		size_t i;

		looks++;
		if (r->table[c->slot] != MAGLEV_NONE)
			continue;
		i = pick(w, c->n_walkers, c->slot);
		looks += c->n_walkers;
		r->table[c->slot] = w[i].index;
		if (--w[i].quota == 0)
			w[i] = w[--c->n_walkers];
	}
}

void maglev__start(struct maglev_race *r)
{
	struct maglev_course *c = &r->course;

	*c = (struct maglev_course){ .listed = r->under_way,
				     .n_walkers = r->under_way,
				     .n_free = r->size };
	/*
	 * Walking ends when about half the square root of the size is free: up to there, draws hit
	 * often enough, and the rest is few enough for rendezvous, which looks at every walker.
	 */
	while (4 * c->few * c->few < r->size)
		c->few++;
	plan(r, c);
}

bool maglev__go_on(struct maglev_race *r)
{
	struct maglev_course *c = &r->course;

	if (c->walked) {
		settle_on(r);
		return c->slot == r->size || c->n_walkers == 0;
	}
	walk_on(r);
	if (c->walked)
		rally(r);
	return false;
}

void maglev__end(struct maglev_race *r)
{
	free(r->course.order);
	r->course.order = NULL;
}
