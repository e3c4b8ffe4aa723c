/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on structs that are known only by their table. Each function is the same walk over
 * the rows of a section and of the mappings nested in it, which share its struct. Arrays of
 * sections have structs of their own and are not entered.
 */
#include "base/schema.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

const struct schema_field *schema_find(const struct schema_section *s, const char *key)
{
	for (size_t i = 0; i < s->n_fields; i++)
		if (strcmp(s->fields[i].key, key) == 0)
			return &s->fields[i];
	return NULL;
}

const struct doc_any *schema_written(const struct schema_field *f, const void *doc)
{
	assert(f->shape < SCHEMA_SECTION);
	return (const struct doc_any *)((const char *)doc + f->offset);
}

/* A kind without an equal operation is compared as memory; it must not have padding. */
bool schema_field_equal(const struct schema_field *f, const void *a, const void *b)
{
	const void *x = (const char *)a + f->at, *y = (const char *)b + f->at;

	return f->kind->equal ? f->kind->equal(x, y) : memcmp(x, y, f->kind->size) == 0;
}

static bool is_mapping(const struct schema_field *f)
{
	return f->shape == SCHEMA_SECTION;
}

bool schema_equal(const struct schema_section *s, const void *a, const void *b)
{
	for (size_t i = 0; i < s->n_fields; i++) {
		const struct schema_field *f = &s->fields[i];

		if (is_mapping(f) && !schema_equal(f->section, a, b))
			return false;
		if (f->kind && !schema_field_equal(f, a, b))
			return false;
	}
	return true;
}

/* Copies each value as memory, then lets its kind replace the pointers in the copy. */
static void copy_fields(const struct schema_section *s, char *to, const char *from,
			struct arena *arena)
{
	for (size_t i = 0; i < s->n_fields; i++) {
		const struct schema_field *f = &s->fields[i];

		if (is_mapping(f))
			copy_fields(f->section, to, from, arena);
		if (!f->kind)
			continue;
		memcpy(to + f->at, from + f->at, f->size);
		if (f->kind->copy)
			f->kind->copy(to + f->at, arena);
	}
}

void schema_copy(const struct schema_section *s, void *to, const void *from, struct arena *arena)
{
	assert(s->config_size && schema_gap(s) == s->config_size);

	memset(to, 0, s->config_size);
	if (s->has_config_name) {
		memcpy((char *)to + s->config_name, (const char *)from + s->config_name,
		       schema_text.size);
		schema_text.copy((char *)to + s->config_name, arena);
	}
	copy_fields(s, to, from, arena);
}

/*
 * Whether any row covers a byte of the word at offset. A pointer is aligned and fills a whole
 * word, so a word that is partly covered by a smaller value holds no pointer.
 */
static bool describes(const struct schema_section *s, size_t offset)
{
	for (size_t i = 0; i < s->n_fields; i++) {
		const struct schema_field *f = &s->fields[i];

		if (is_mapping(f) && describes(f->section, offset))
			return true;
		if (f->kind && f->size == f->kind->size && f->at < offset + sizeof(void *) &&
		    f->at + f->size > offset)
			return true;
	}
	return false;
}

/* A row whose size differs from its kind's is not counted: copying it by kind would miss a part. */
size_t schema_gap(const struct schema_section *s)
{
	for (size_t at = 0; at + sizeof(void *) <= s->config_size; at += sizeof(void *)) {
		bool is_name = s->has_config_name && at == s->config_name;

		if (!is_name && !describes(s, at))
			return at;
	}
	return s->config_size;
}
