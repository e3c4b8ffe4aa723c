/* SPDX-License-Identifier: Apache-2.0 */
#include "base/who.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define MARK "unverified:"
#define VIA " via "

_Static_assert(sizeof(MARK) + WHO_PART_MAX <= WHO_NAME_SIZE, "a marked name fits");
_Static_assert(sizeof(VIA) + 2 * WHO_PART_MAX <= WHO_NAME_SIZE, "a name and its delegate fit");

/* Appends a name that came from outside: what could disturb a terminal or a log is replaced. */
static void add_part(char name[static WHO_NAME_SIZE], const char *part)
{
	_cleanup_(buf_free) struct buf safe = { 0 };
	size_t at = strlen(name), n;

	buf_add_shown(&safe, str_of(part), WHO_PART_MAX);
	n = utf8_fitting(buf_cstr(&safe), safe.n, WHO_PART_MAX);
	memcpy(name + at, safe.p, n);
	name[at + n] = '\0';
}

static void add_word(char name[static WHO_NAME_SIZE], const char *word)
{
	memcpy(name + strlen(name), word, strlen(word) + 1);
}

static bool is_given(const char *text)
{
	return text && *text;
}

struct who who_judge(const struct who_evidence *e)
{
	struct who w = { .address = e->peer };
	bool proved = is_given(e->certificate);
	bool believed = proved && e->delegate && is_given(e->says);
	struct addr said;

	if (believed) {
		add_part(w.name, e->says);
		add_word(w.name, VIA);
		add_part(w.name, e->certificate);
	} else if (proved) {
		add_part(w.name, e->certificate);
	} else if (is_given(e->says)) {
		add_word(w.name, MARK);
		add_part(w.name, e->says);
	}
	if (believed && is_given(e->says_address) && addr_parse(e->says_address, &said) == 0)
		w.address = said;
	return w;
}

void who_print(const struct who *w, struct buf *out)
{
	char text[ADDR_STRLEN];

	if (!w)
		return;
	if (*w->name)
		buf_printf(out, " by %s", w->name);
	if (addr_is_set(&w->address))
		buf_printf(out, " from %s", addr_format(&w->address, text));
}

struct who *who_dup(const struct who *w)
{
	struct who *copy;

	if (!w)
		return NULL;
	copy = mem_zalloc(sizeof(*copy));
	*copy = *w;
	return copy;
}
