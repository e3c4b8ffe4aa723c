/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/names.h"

#include <assert.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

struct names {
	struct map by_text;
	VEC(struct name *) all; /* by number; NULL: free */
	VEC(uint32_t) spare;	/* free numbers */
	uint64_t last_id;
};

struct names *names_new(void)
{
	return mem_zalloc(sizeof(struct names));
}

void names_free(struct names *s)
{
	if (!s)
		return;
	assert(s->by_text.n == 0);
	map_free(&s->by_text);
	vec_free(&s->all);
	vec_free(&s->spare);
	free(s);
}

static uint32_t take_number(struct names *s)
{
	if (s->spare.n)
		return s->spare.items[--s->spare.n];
	vec_push(&s->all, NULL);
	return (uint32_t)s->all.n - 1;
}

static struct name *make(struct names *s, const char *text)
{
	struct name *name = mem_zalloc(sizeof(*name));

	name->number = take_number(s);
	s->all.items[name->number] = name;
	name->id = ++s->last_id;
	name->text = mem_strdup(text);
	name->of = s;
	map_put(&s->by_text, name->text, name);
	return name;
}

struct name *names_take(struct names *s, const char *text)
{
	struct name *name = map_get(&s->by_text, text);

	if (!name)
		name = make(s, text);
	name->references++;
	return name;
}

void *names_release(struct name *name)
{
	struct names *s = name->of;
	void *user = name->user;

	if (--name->references)
		return NULL;
	map_remove(&s->by_text, name->text);
	s->all.items[name->number] = NULL;
	vec_push(&s->spare, name->number);
	free(name->text);
	free(name);
	return user;
}

struct name *names_at(const struct names *s, uint32_t number)
{
	return number < s->all.n ? s->all.items[number] : NULL;
}

uint32_t names_bound(const struct names *s)
{
	return (uint32_t)s->all.n;
}
