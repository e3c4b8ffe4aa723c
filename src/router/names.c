/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/names.h"

#include <assert.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

struct names {
	struct map by_text;
	VEC(uint32_t) spare; /* numbers */
	uint32_t bound;	     /* numbers are below this */
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
	vec_free(&s->spare);
	free(s);
}

static struct name *make(struct names *s, const char *text)
{
	struct name *name = mem_zalloc(sizeof(*name));

	name->number = s->spare.n ? s->spare.items[--s->spare.n] : s->bound++;
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
	vec_push(&s->spare, name->number);
	free(name->text);
	free(name);
	return user;
}

uint32_t names_bound(const struct names *s)
{
	return s->bound;
}
