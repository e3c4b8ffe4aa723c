/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of values that every configuration has. Those without an equal operation have no
 * padding and are compared as memory; those without a copy operation hold no pointers.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/addr.h"
#include "base/schema.h"
#include "base/units.h"

#define TEXT_SHOWN 80 /* bytes of a text that are printed */

/* Reads the value that a row's offset points to. */
#define AS(type, value) (*(type const *)(value))

static void print_quoted(const char *text, struct buf *out)
{
	buf_addc(out, '"');
	buf_add_shown(out, str_of(text), TEXT_SHOWN);
	buf_addc(out, '"');
}

static bool text_equal(const void *a, const void *b)
{
	return cstr_eq(AS(char *, a), AS(char *, b));
}

static void text_print(const struct schema_kind *kind, const void *value, struct buf *out)
{
	const char *text = AS(char *, value);

	if (text)
		print_quoted(text, out);
	else
		buf_adds(out, "none");
}

static void text_copy(void *value, struct arena *arena)
{
	const char **text = value;

	if (*text)
		*text = arena_strdup(arena, *text);
}

const struct schema_kind schema_text = {
	.size = sizeof(const char *),
	.equal = text_equal,
	.print = text_print,
	.copy = text_copy,
};

static bool texts_equal(const void *a, const void *b)
{
	const struct schema_texts *x = a, *y = b;

	if (x->n != y->n)
		return false;
	for (size_t i = 0; i < x->n; i++)
		if (strcmp(x->items[i], y->items[i]) != 0)
			return false;
	return true;
}

/* The words are from a fixed vocabulary or interface names, which need no quotes. */
static void texts_print(const struct schema_kind *kind, const void *value, struct buf *out)
{
	const struct schema_texts *list = value;

	if (!list->n)
		buf_adds(out, "none");
	for (size_t i = 0; i < list->n; i++)
		buf_printf(out, "%s%s", i ? "," : "", list->items[i]);
}

static void texts_copy(void *value, struct arena *arena)
{
	struct schema_texts *list = value;
	const char **items = arena_array_of(arena, list->n, const char *);

	for (size_t i = 0; i < list->n; i++)
		items[i] = arena_strdup(arena, list->items[i]);
	list->items = items;
}

const struct schema_kind schema_texts = {
	.size = sizeof(struct schema_texts),
	.equal = texts_equal,
	.print = texts_print,
	.copy = texts_copy,
};

static void bool_print(const struct schema_kind *kind, const void *value, struct buf *out)
{
	buf_adds(out, AS(bool, value) ? "true" : "false");
}

const struct schema_kind schema_bool = { .size = sizeof(bool), .print = bool_print };

static void uint_print(const struct schema_kind *kind, const void *value, struct buf *out)
{
	buf_addu(out, AS(unsigned, value));
}

const struct schema_kind schema_uint = { .size = sizeof(unsigned), .print = uint_print };

static void u16_print(const struct schema_kind *kind, const void *value, struct buf *out)
{
	buf_addu(out, AS(uint16_t, value));
}

const struct schema_kind schema_u16 = { .size = sizeof(uint16_t), .print = u16_print };

static void duration_print(const struct schema_kind *kind, const void *value, struct buf *out)
{
	char text[DURATION_STRLEN];

	buf_adds(out, duration_format(AS(int64_t, value), text));
}

const struct schema_kind schema_duration = { .size = sizeof(int64_t), .print = duration_print };

/* Not as memory: the comparison is that of addr.h, whatever the struct looks like. */
static bool addr_equal(const void *a, const void *b)
{
	return addr_cmp(a, b) == 0;
}

static void addr_print(const struct schema_kind *kind, const void *value, struct buf *out)
{
	const struct addr *a = value;
	char text[ADDR_STRLEN];

	buf_adds(out, addr_is_set(a) ? addr_format(a, text) : "none");
}

const struct schema_kind schema_addr = {
	.size = sizeof(struct addr),
	.equal = addr_equal,
	.print = addr_print,
};

void schema_print_word(const struct schema_kind *kind, const void *value, struct buf *out)
{
	int i = AS(int, value);

	assert(i >= 0 && (size_t)i < kind->n_words);
	buf_adds(out, kind->words[i]);
}
