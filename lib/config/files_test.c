/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of several files, in a folder that the test makes. */
#include "lib/config/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/schema.h"

/* ---- a small schema: every way in which files are joined ---- */

struct doc_room {
	const char *name;
	struct place at;
	struct doc_int area;
};

struct doc_key {
	struct place at;
	struct doc_text name;
};

struct doc_house {
	const struct doc_room *rooms;
	size_t n_rooms;
	const struct doc_key *keys;
	size_t n_keys;
	struct doc_text owner;
	struct doc_words guests;
	struct {
		struct doc_text north, south;
	} walls;
};

#define FIELD(key_, shape_, doc_, member_)                                                         \
	{                                                                                          \
		.key = (key_), .shape = (shape_), .offset = offsetof(struct doc_, member_)         \
	}

static const struct schema_field room_fields[] = { FIELD("area", SCHEMA_INT, doc_room, area) };
static const struct schema_section room = { SCHEMA_FIELDS(room_fields),
					    .doc_size = sizeof(struct doc_room),
					    .doc_name = offsetof(struct doc_room, name),
					    .has_at = true,
					    .doc_at = offsetof(struct doc_room, at) };
static const struct schema_field key_fields[] = { FIELD("name", SCHEMA_WORD, doc_key, name) };
static const struct schema_section key = { SCHEMA_FIELDS(key_fields),
					   .doc_size = sizeof(struct doc_key), .has_at = true,
					   .doc_at = offsetof(struct doc_key, at) };
static const struct schema_field walls_fields[] = {
	FIELD("north", SCHEMA_TEXT, doc_house, walls.north),
	FIELD("south", SCHEMA_TEXT, doc_house, walls.south),
};
static const struct schema_section walls = { SCHEMA_FIELDS(walls_fields) };
static const struct schema_field house_fields[] = {
	SCHEMA_ARRAY("rooms", NAMED, doc_house, rooms, room),
	SCHEMA_ARRAY("keys", LIST, doc_house, keys, key),
	FIELD("owner", SCHEMA_TEXT, doc_house, owner),
	FIELD("guests", SCHEMA_WORDS, doc_house, guests),
	{ .key = "walls", .shape = SCHEMA_SECTION, .section = &walls },
};
static const struct schema_section house = { SCHEMA_FIELDS(house_fields), .needs_first = true };

/* ---- the folder ---- */

struct fixture {
	char folder[64];
	struct arena *arena;
	struct errs errors, warnings;
	struct doc_house doc;
	struct config_files *files;
};

static void put(const struct fixture *f, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", f->folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->folder, sizeof(f->folder), "/tmp/maglev-files-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	assert_int_equal(chdir(f->folder), 0);
	assert_int_equal(mkdir("conf.d", 0700), 0);
	f->arena = arena_new();
	f->errors.arena = f->warnings.arena = f->arena;
	*state = f;
	return 0;
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	return remove(path);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	config_files_free(f->files);
	arena_free(f->arena);
	assert_int_equal(chdir("/"), 0);
	nftw(f->folder, drop, 8, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

/* Reads the file main; the result of the document. */
static int load(struct fixture *f, const char *path)
{
	int r = config_files_open(path, &f->errors, &f->warnings, &f->files);

	if (r < 0)
		return r;
	return config_document_load(config_files_sources(f->files), CONFIG_STRICT, &house, f->arena,
				    &f->doc, &f->errors);
}

static void assert_told(const struct errs *list, const char *want)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	errs_print(list, "main", &text);
	assert_string_equal(buf_cstr(&text), want);
}

/* ---- stories ---- */

static void files_are_joined_in_the_order_of_their_names(void **state)
{
	struct fixture *f = *state;

	put(f, "main",
	    "include: conf.d/*.yaml\nowner: me\nrooms: {hall: {area: 9}}\nkeys: [{name: 1}]\n");
	put(f, "conf.d/b.yaml",
	    "rooms: {attic: {area: 3}}\nkeys: [{name: 3}]\nwalls: {south: x}\n");
	put(f, "conf.d/a.yaml", "keys: [{name: 2}]\nwalls: {north: y}\n");
	put(f, "conf.d/c.yaml", "# switched off\n\n");
	put(f, "conf.d/.hidden.yaml", "nonsense: 1\n");
	put(f, "conf.d/other.txt", "nonsense: 1\n");
	assert_int_equal(load(f, "main"), 0);
	assert_told(&f->errors, "");
	assert_told(&f->warnings, "");
	assert_int_equal(f->doc.n_rooms, 2);
	assert_string_equal(f->doc.rooms[0].name, "hall");
	assert_string_equal(f->doc.rooms[1].name, "attic");
	assert_int_equal(f->doc.rooms[1].area.at.file, 2);
	assert_int_equal(f->doc.rooms[1].area.at.line, 1);
	assert_string_equal(f->doc.walls.north.v, "y");
	assert_string_equal(f->doc.walls.south.v, "x");
	assert_int_equal(f->doc.n_keys, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(f->doc.keys[i].name.v[0], (int)('1' + i));
}

/* the first key of the root may be in any of them */
static void a_file_may_only_include_others(void **state)
{
	struct fixture *f = *state;

	put(f, "main", "include: [sub/one.yaml, two.yaml]\n");
	assert_int_equal(mkdir("sub", 0700), 0);
	put(f, "sub/one.yaml", "include: three.yaml\n"); /* relative to its own folder */
	put(f, "sub/three.yaml", "rooms: {a: {}}\n");
	put(f, "two.yaml", "rooms: {b: {}}\n");
	assert_int_equal(load(f, "./main"), 0);
	assert_int_equal(f->doc.n_rooms, 2);
	assert_string_equal(f->doc.rooms[0].name, "a");
}

struct row {
	const char *main, *a, *b; /* NULL: no such file */
	const char *errors, *warnings;
};

static const struct row rows[] = {
	{ "include: a\nrooms: {x: {}}\nowner: me\n", "owner: you\nrooms: {y: {}, x: {}}\n", NULL,
	  "a:1:8: owner: is given twice, first at main:3:8\n"
	  "a:2:16: rooms.x: occurs twice, first at main:2:9\n",
	  "" },
	{ "include: [a, b]\nrooms:\nguests: [g]\n", "guests: [h]\n",
	  "walls: {north: x, nroth: y}\n",
	  "a:1:9: guests: is given twice, first at main:3:9\n"
	  "b:1:19: walls.nroth: unknown key; did you mean 'north'?\n",
	  "" },
	{ "include: a\nrooms: {x: {area: many}}\n", "rooms: {y: {area: [}}\n", NULL,
	  "main:2:19: rooms.x.area: must be a whole number, not text\n"
	  "a:1:20: did not find expected node content while parsing a flow node that began at "
	  "line 1\n",
	  "" },
	{ "include: [a, a]\nrooms:\n", "rooms:\n", NULL,
	  "main:1:14: include: a is included twice, first at main:1:11\n", "" },
	{ "include: a\nrooms:\n", "include: b\n", "include: a\n",
	  "b:1:10: include: a includes itself; it was named at main:1:10\n", "" },
	{ "include: main\nrooms:\n", NULL, NULL,
	  "main:1:10: include: main includes itself; it was named at the command line\n", "" },
	{ "include: a\nrooms:\n", NULL, NULL,
	  "main:1:10: include: a: cannot be opened: No such file or directory\n", "" },
	{ "include: conf.d\nrooms:\n", NULL, NULL,
	  "main:1:10: include: conf.d: is a directory, not a regular file\n", "" },
	{ "include: conf.d/*.yaml\nrooms:\n", NULL, NULL, "",
	  "main:1:10: include: no file matches conf.d/*.yaml\n" },
	{ "include: '*/x.yaml'\nrooms:\n", NULL, NULL,
	  "main:1:10: include: only the name of the file may have wildcards, not its folder\n",
	  "" },
	{ "include: ''\nrooms:\n", NULL, NULL, "main:1:10: include: is not the path of a file\n",
	  "" },
	{ "include: {a: b}\nrooms:\n", NULL, NULL,
	  "main:1:10: include: must be text, not a mapping\n", "" },
	{ "include:\nrooms:\n", NULL, NULL,
	  "main:1:9: include: has no value; write text, or leave the key out\n", "" },
	{ "include: a\n", "owner: me\n", NULL, "main:1:1: the key 'rooms' is missing\n", "" },
	{ "rooms: {include: {area: x}}\n", NULL, NULL,
	  "main:1:25: rooms.include.area: must be a whole number, not text\n", "" },
};

static void mistakes_name_their_file(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fixture *f;

		assert_int_equal(setup((void **)&f), 0);
		put(f, "main", rows[i].main);
		if (rows[i].a)
			put(f, "a", rows[i].a);
		if (rows[i].b)
			put(f, "b", rows[i].b);
		assert_int_equal(load(f, "main"), *rows[i].errors ? -EINVAL : 0);
		assert_told(&f->errors, rows[i].errors);
		assert_told(&f->warnings, rows[i].warnings);
		teardown((void **)&f);
	}
}

/* another name for the same file */
static void a_link_to_a_file_is_that_file(void **state)
{
	struct fixture *f = *state;

	put(f, "main", "include: [a, link]\nrooms:\n");
	put(f, "a", "rooms: {x: {}}\n");
	assert_int_equal(symlink("a", "link"), 0);
	assert_int_equal(load(f, "main"), -EINVAL);
	assert_told(&f->errors, "main:1:14: include: link is included twice, first at main:1:11\n");
}

static void the_number_of_files_is_bounded(void **state)
{
	struct fixture *f = *state;

	put(f, "main", "include: conf.d/*.yaml\nrooms:\n");
	for (unsigned i = 0; i < CONFIG_FILES_MAX + 10; i++) {
		char name[64], text[64];

		snprintf(name, sizeof(name), "conf.d/%04u.yaml", i);
		snprintf(text, sizeof(text), "rooms: {r%u: {}}\n", i);
		put(f, name, text);
	}
	assert_int_equal(load(f, "main"), -EINVAL);
	assert_told(&f->errors, "main:1:10: include: there are more than 256 files\n");
	assert_int_equal(f->doc.n_rooms, CONFIG_FILES_MAX - 1);
}

static void what_is_included_is_known_afterwards(void **state)
{
	struct fixture *f = *state;
	const char *const *words;
	size_t n;

	put(f, "main", "include: ['conf.d/*.yaml', a]\nrooms:\n");
	load(f, "main");
	words = config_files_included(f->files, &n);
	assert_int_equal(n, 2);
	assert_string_equal(words[0], "conf.d/*.yaml");
	assert_string_equal(words[1], "a");
}

static void standard_input_is_read_to_its_end(void **state)
{
	struct fixture *f = *state;
	int kept = dup(STDIN_FILENO), ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "rooms: {a: {area: x}}\n", 22), 22);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	assert_int_equal(load(f, "-"), -EINVAL);
	dup2(kept, STDIN_FILENO);
	close(kept);
	assert_true(config_is_stdin("-") && !config_is_stdin("./-"));
	assert_string_equal(config_shown_path("-"), "standard input");
	assert_int_equal(f->errors.n, 1);
	assert_string_equal(errs_file(&f->errors, f->errors.items[0].at, "x"), "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(files_are_joined_in_the_order_of_their_names),
		CASE(a_file_may_only_include_others),
		cmocka_unit_test(mistakes_name_their_file),
		CASE(a_link_to_a_file_is_that_file),
		CASE(the_number_of_files_is_bounded),
		CASE(what_is_included_is_known_afterwards),
		CASE(standard_input_is_read_to_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
