/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"

#define SHOWN_MAX 64 /* bytes of foreign text in one complaint */

/*
 * The array is allocated at its full size with the first complaint: arena memory cannot grow in
 * place, and documents without mistakes pay nothing. text is in the arena of the list.
 */
static void add(struct errs *e, const char *code, struct place at, const char *key,
		const char *text)
{
	if (!e->items)
		e->items = arena_array_of(e->arena, ERRS_MAX, struct err);
	e->items[e->n++] = (struct err){
		.at = at,
		.key = arena_strdup(e->arena, key),
		.text = text,
		.code = code,
	};
}

/* Whether a further complaint is only counted. */
static bool is_dropped(struct errs *e)
{
	assert(e->arena);
	e->dropped += e->n == ERRS_MAX;
	return e->n == ERRS_MAX;
}

void errs_add(struct errs *e, struct place at, const char *key, const char *fmt, ...)
{
	va_list ap;

	assert(key);
	if (is_dropped(e))
		return;
	va_start(ap, fmt);
	add(e, NULL, at, key, arena_vprintf(e->arena, fmt, ap));
	va_end(ap);
}

void errs_add_coded(struct errs *e, const char *code, struct place at, const char *key,
		    const char *text)
{
	assert(key && text);
	if (!is_dropped(e))
		add(e, code, at, key, arena_strdup(e->arena, text));
}

const char *errs_file(const struct errs *e, struct place at, const char *file)
{
	return at.file && at.file < e->n_files ? e->files[at.file] : file;
}

static int place_cmp(struct place a, struct place b)
{
	if (a.file != b.file)
		return a.file < b.file ? -1 : 1;
	if (a.line != b.line)
		return a.line < b.line ? -1 : 1;
	return a.column < b.column ? -1 : a.column > b.column;
}

/* Insertion sort: the list is short, and equal places must keep their order. */
void errs_sort(struct errs *e)
{
	for (size_t i = 1; i < e->n; i++) {
		struct err moving = e->items[i];
		size_t j = i;

		for (; j && place_cmp(e->items[j - 1].at, moving.at) > 0; j--)
			e->items[j] = e->items[j - 1];
		e->items[j] = moving;
	}
}

void errs_print(const struct errs *e, const char *file, struct buf *out)
{
	for (size_t i = 0; i < e->n; i++) {
		const struct err *err = &e->items[i];

		buf_adds(out, errs_file(e, err->at, file));
		if (err->at.line)
			buf_printf(out, ":%u", err->at.line);
		if (err->at.line && err->at.column)
			buf_printf(out, ":%u", err->at.column);
		buf_adds(out, ": ");
		if (*err->key)
			buf_printf(out, "%s: ", err->key);
		buf_printf(out, "%s\n", err->text);
	}
	if (e->dropped)
		buf_printf(out, "%s: and %zu more\n", file, e->dropped);
}

const char *err_shown(const char *text, struct arena *arena)
{
	_cleanup_(buf_free) struct buf shown = { 0 };

	buf_add_shown(&shown, str_of(text), SHOWN_MAX);
	return arena_strndup(arena, shown.p, shown.n);
}
