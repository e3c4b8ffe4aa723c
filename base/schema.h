/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema: tables that describe a configuration: its keys, how each is written, how it is stored.
 *
 * A row (struct schema_field) gives the place of a value in two structs: in the document, as it
 * was written (base/doc.h), and in the configuration, after validation. All code that treats
 * every key alike follows the rows: the reader of the file (lib/config/document.h), the
 * comparison of two configurations, and copies. None of them can miss a new key.
 *
 * The tables are declared here and not in lib/config because they describe structs of core, and
 * core may include nothing but base.
 *
 * The rows of one mapping are written once, as a list of macro calls. Both the members of the
 * document's struct and the table are generated from it:
 *
 *	#define DOOR_KEYS(X)                                              \
 *		X("width", INT, width, schema_uint, size.width)           \
 *		X("opens", DURATION, opens, schema_duration, opens)
 *
 *	struct doc_door { struct place at; DOOR_KEYS(SCHEMA_MEMBER) };
 *
 *	#define DOOR(...) SCHEMA_ROW(doc_door, door, __VA_ARGS__)
 *	static const struct schema_field door_fields[] = { DOOR_KEYS(DOOR) };
 *
 * Tables are constant and live as long as the program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/str.h"

/* How a value is written in the document, and the type of the member that receives it. */
enum schema_shape {
	SCHEMA_TEXT,	 /* struct doc_text */
	SCHEMA_WORD,	 /* struct doc_text: a name or free words, which may look like a number */
	SCHEMA_INT,	 /* struct doc_int */
	SCHEMA_BOOL,	 /* struct doc_bool */
	SCHEMA_DURATION, /* struct doc_duration */
	SCHEMA_WORDS,	 /* struct doc_words: a list of words */
	SCHEMA_PAIRS,	 /* struct doc_pairs: a mapping from free names to words */
	SCHEMA_SECTION,	 /* a mapping with keys of its own */
	SCHEMA_NAMED,	 /* a mapping from names to sections: an array of structs */
	SCHEMA_LIST,	 /* a list of sections: an array of structs */
};

/* How a value is stored in the configuration: its size, and the operations on it. */
struct schema_kind {
	size_t size;
	bool (*equal)(const void *a, const void *b); /* NULL: equal bytes are equal values */
	/* Prints one line of valid UTF-8 for every possible value. */
	void (*print)(const struct schema_kind *kind, const void *value, struct buf *out);
	/* Replaces what *value points to by copies in arena; NULL if the value holds no pointer. */
	void (*copy)(void *value, struct arena *arena);
	const char *const *words; /* of an enum, by value */
	size_t n_words;
};

/* The value of schema_texts: n strings in the arena of the configuration. */
struct schema_texts {
	const char *const *items;
	size_t n;
};

extern const struct schema_kind schema_text;	 /* const char *; NULL: none */
extern const struct schema_kind schema_texts;	 /* struct schema_texts */
extern const struct schema_kind schema_bool;	 /* bool */
extern const struct schema_kind schema_uint;	 /* unsigned */
extern const struct schema_kind schema_u16;	 /* uint16_t */
extern const struct schema_kind schema_duration; /* int64_t, ns */
extern const struct schema_kind schema_addr;	 /* struct addr; none: not set */

/* The kind of an enum whose values are the indices of a list of words. */
#define SCHEMA_ENUM(list)                                                                          \
	{                                                                                          \
		.size = sizeof(int), .print = schema_print_word, .words = (list),                  \
		.n_words = sizeof(list) / sizeof((list)[0]),                                       \
	}

/* The print operation of SCHEMA_ENUM kinds. */
void schema_print_word(const struct schema_kind *kind, const void *value, struct buf *out);

struct schema_section;

/* One key of a mapping. */
struct schema_field {
	const char *key;
	enum schema_shape shape;
	/* offset in the document's struct: of the value, or of the pointer to the array */
	size_t offset;
	size_t count; /* offset of the array's length (SCHEMA_NAMED, SCHEMA_LIST) */
	const struct schema_section *section;
	bool vital; /* a lenient reader needs this key, too */
	/*
	 * offset and size in the configuration's struct; a field without a kind has no value
	 * there
	 */
	const struct schema_kind *kind;
	size_t at, size;
};

/* One mapping of the document: its keys and the structs that they fill. */
struct schema_section {
	const struct schema_field *fields;
	size_t n_fields;
	/* the document's struct that this section fills */
	size_t doc_size;
	size_t doc_at;	 /* offset of its struct place, if has_at */
	size_t doc_name; /* SCHEMA_NAMED: offset of its name, a const char * */
	size_t doc_set;	 /* offset of its presence bit, if has_set */
	bool has_set, has_at;
	bool needs_first; /* for the whole document: the first key must be present */
	/*
	 * the size of the configuration's struct that holds the values of this section and of the
	 * mappings nested in it; 0 for a section that has no struct of its own there
	 */
	size_t config_size;
	size_t config_name; /* offset of its name, a const char *, if has_config_name */
	bool has_config_name;
};

#define SCHEMA_FIELDS(table) .fields = (table), .n_fields = sizeof(table) / sizeof((table)[0])

/* Expands a row to the member of the document's struct. */
#define SCHEMA_MEMBER(key_, shape_, member_, ...) SCHEMA_DOC_##shape_ member_;
#define SCHEMA_DOC_TEXT struct doc_text
#define SCHEMA_DOC_WORD struct doc_text
#define SCHEMA_DOC_INT struct doc_int
#define SCHEMA_DOC_BOOL struct doc_bool
#define SCHEMA_DOC_DURATION struct doc_duration
#define SCHEMA_DOC_WORDS struct doc_words
#define SCHEMA_DOC_PAIRS struct doc_pairs

/* Expands a row to its entry in the table; further designators (".vital = true") may follow. */
#define SCHEMA_ROW(doc_, config_, key_, shape_, member_, kind_, at_, ...)                          \
	{ .key = key_,                                                                             \
	  .shape = SCHEMA_##shape_,                                                                \
	  .offset = offsetof(struct doc_, member_),                                                \
	  .kind = &(kind_),                                                                        \
	  .at = offsetof(struct config_, at_),                                                     \
	  .size = sizeof(((struct config_ *)0)->at_),                                              \
	  __VA_ARGS__ },

/* Rows without a value of their own: a nested mapping, and an array whose length is in n_member. */
#define SCHEMA_NESTED(key_, doc_, member_, section_)                                               \
	{                                                                                          \
		.key = (key_), .shape = SCHEMA_SECTION, .offset = offsetof(struct doc_, member_),  \
		.section = &(section_)                                                             \
	}
#define SCHEMA_ARRAY(key_, shape_, doc_, member_, section_, ...)                                   \
	{                                                                                          \
		.key = (key_), .shape = SCHEMA_##shape_, .offset = offsetof(struct doc_, member_), \
		.count = offsetof(struct doc_, n_##member_), .section = &(section_), ##__VA_ARGS__ \
	}

/*
 * Whether the value of a field is the same in two structs of the configuration. The field
 * must have a kind.
 */
bool schema_field_equal(const struct schema_field *f, const void *a, const void *b);
/* The field of this key; NULL if there is none. */
const struct schema_field *schema_find(const struct schema_section *s, const char *key);
/* Whether and where the value of a field was written. Not for sections and arrays of sections. */
const struct doc_any *schema_written(const struct schema_field *f, const void *doc);

/*
 * The functions below act on one struct of the configuration: on the values of section s, which
 * has such a struct, and of the mappings nested in it, but not on its arrays of sections.
 * schema_equal() ignores the name of the section.
 */
bool schema_equal(const struct schema_section *s, const void *a, const void *b);
/*
 * Makes *to a copy of *from that points to nothing outside of arena. References to other parts of
 * the configuration are NULL in the copy. A member that no row describes is zero there instead of
 * a stale pointer; the function asserts that schema_gap() finds no such member.
 */
void schema_copy(const struct schema_section *s, void *to, const void *from, struct arena *arena);
/*
 * The offset of the first pointer-sized word of the struct that no row describes, or config_size
 * if there is none. A row whose kind does not have the size of its member describes nothing.
 */
size_t schema_gap(const struct schema_section *s);
