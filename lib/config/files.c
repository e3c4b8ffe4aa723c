/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files: finds and reads the files of a configuration. Their bytes are kept until the document was
 * read; their names are in the arena of the complaints, which outlives them. A file is recognized
 * by device and inode, so that a symbolic link to it is the same file.
 */
#include "lib/config/files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/yaml/yaml.h"
#include "lib/yaml/yaml_file.h"

#define STDIN_NAME "standard input"
#define WILDCARDS "*?["

struct file {
	struct buf bytes;
	struct place at; /* of the word that includes it; its file is the one that has the word */
	dev_t device;
	ino_t inode; /* 0: standard input */
};

struct config_files {
	struct config_sources sources;
	struct errs *errors, *warnings;
	struct file files[CONFIG_FILES_MAX];
	const char **names; /* by number, in the arena */
	unsigned n;
	size_t bytes; /* of all files */
	const char **words;
	size_t n_words;
};

bool config_is_stdin(const char *path)
{
	return strcmp(path, "-") == 0;
}

const char *config_shown_path(const char *path)
{
	return config_is_stdin(path) ? STDIN_NAME : path;
}

static void complain(struct config_files *f, struct place at, const char *text)
{
	errs_add_coded(f->errors, NULL, at, CONFIG_INCLUDE, text);
}

static const char *show(const struct config_files *f, struct place at)
{
	return arena_printf(f->errors->arena, "%s:%u:%u", f->names[at.file], at.line, at.column);
}

/* ---- one file ---- */

static int read_stdin(struct buf *ret, struct errs *errors)
{
	ssize_t got;

	do {
		buf_reserve(ret, (size_t)64 * 1024);
		got = read(STDIN_FILENO, ret->p + ret->n, ret->cap - ret->n);
		ret->n += got > 0 ? (size_t)got : 0;
	} while ((got > 0 && ret->n <= YAML_MAX_BYTES) || (got < 0 && errno == EINTR));
	if (got >= 0 && ret->n <= YAML_MAX_BYTES)
		return 0;
	errs_add(errors, (struct place){ 0 }, "", got < 0 ? "cannot be read: %s" : "is too large%s",
		 got < 0 ? strerror(errno) : "");
	return got < 0 ? -errno : -EFBIG;
}

/* A complaint about an included file has the place of the word, and the name of the file. */
static void move_complaint(struct config_files *f, size_t before, const char *path, struct place at)
{
	struct err *e;

	if (f->errors->n == before)
		return; /* it was dropped */
	e = &f->errors->items[before];
	e->at = at;
	e->key = CONFIG_INCLUDE;
	e->text = arena_printf(f->errors->arena, "%s: %s", path, e->text);
}

/* Adds a file that was read. The names in both lists of complaints grow with it. */
static void add_file(struct config_files *f, const char *path, const struct file *file)
{
	f->names[f->n] = arena_strdup(f->errors->arena, config_shown_path(path));
	f->files[f->n++] = *file;
	f->bytes += file->bytes.n;
	f->errors->files = f->warnings->files = f->names;
	f->errors->n_files = f->warnings->n_files = f->n;
}

static const struct file *find_file(const struct config_files *f, const struct stat *st)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->files[i].inode == st->st_ino && f->files[i].device == st->st_dev)
			return &f->files[i];
	return NULL;
}

/* Whether file number `from` was included by `other`, directly or not, or is it. */
static bool is_within(const struct config_files *f, unsigned from, unsigned other)
{
	while (from && from != other)
		from = f->files[from].at.file;
	return from == other;
}

static void refuse_again(struct config_files *f, const char *path, struct place at,
			 const struct file *first)
{
	unsigned number = (unsigned)(first - f->files);
	const char *where = number ? show(f, first->at) : "the command line";
	bool cycle = is_within(f, at.file, number);

	complain(f, at,
		 arena_printf(f->errors->arena,
			      cycle ? "%s includes itself; it was named at %s"
				    : "%s is included twice, first at %s",
			      path, where));
}

static bool has_room(struct config_files *f, struct place at)
{
	if (f->n < CONFIG_FILES_MAX && f->bytes < CONFIG_BYTES_MAX)
		return true;
	complain(f, at,
		 f->n == CONFIG_FILES_MAX ? "there are more than 256 files"
					  : "the files have more than 16 MiB");
	return false;
}

/* Reads a file that is included at a place. False if it was refused, with a complaint. */
static bool include_file(struct config_files *f, const char *path, struct place at)
{
	struct file file = { .at = at };
	size_t before = f->errors->n;
	const struct file *first;
	struct stat st;

	if (!has_room(f, at))
		return false;
	if (yaml_read_file(path, &file.bytes, f->errors) < 0 || stat(path, &st) < 0) {
		move_complaint(f, before, path, at);
		buf_free(&file.bytes);
		return false;
	}
	first = find_file(f, &st);
	if (first) {
		refuse_again(f, path, at, first);
		buf_free(&file.bytes);
		return false;
	}
	file.device = st.st_dev;
	file.inode = st.st_ino;
	add_file(f, path, &file);
	return true;
}

/* ---- what a word names ---- */

/* The word as a path: relative to the folder of the file that has it. In the arena. */
static const char *path_of(const struct config_files *f, const char *word, unsigned from)
{
	const char *base = f->names[from], *slash = strrchr(base, '/');

	if (*word == '/' || !slash || !f->files[from].inode)
		return arena_strdup(f->errors->arena, word);
	return arena_printf(f->errors->arena, "%.*s/%s", (int)(slash - base), base, word);
}

/* Kept also if nothing is found there: a file may be created later. */
static void note_word(struct config_files *f, const char *path)
{
	if (!f->words)
		f->words = arena_array_of(f->errors->arena, CONFIG_FILES_MAX, const char *);
	if (f->n_words < CONFIG_FILES_MAX)
		f->words[f->n_words++] = path;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* glob() itself sorts by the rules of the language. */
static void include_all(struct config_files *f, const char *path, struct place at)
{
	glob_t found = { 0 };
	int r = glob(path, GLOB_NOSORT | GLOB_ERR, NULL, &found);

	if (r == GLOB_NOMATCH)
		errs_add(f->warnings, at, CONFIG_INCLUDE, "no file matches %s",
			 err_shown(path, f->warnings->arena));
	else if (r)
		complain(f, at,
			 arena_printf(f->errors->arena, "%s: the folder cannot be read", path));
	else
		qsort(found.gl_pathv, found.gl_pathc, sizeof(char *), by_name);
	for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
		if (!include_file(f, found.gl_pathv[i], at) && f->n == CONFIG_FILES_MAX)
			break;
	globfree(&found);
}

/* Only the last part of a path may have wildcards, so that one folder has to be watched. */
static unsigned on_include(void *user, const char *word, struct place at, unsigned *ret_first)
{
	struct config_files *f = user;
	const char *path = path_of(f, word, at.file), *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t wild = strcspn(path, WILDCARDS);

	*ret_first = f->n;
	if (!*name || !yaml_printable(path) || strlen(path) >= PATH_MAX)
		complain(f, at, "is not the path of a file");
	else if (path + wild < name)
		complain(f, at, "only the name of the file may have wildcards, not its folder");
	else if (note_word(f, path), !path[wild])
		include_file(f, path, at);
	else
		include_all(f, path, at);
	return f->n - *ret_first;
}

static struct str on_bytes(void *user, unsigned file)
{
	const struct config_files *f = user;

	assert(file < f->n);
	return (struct str){ f->files[file].bytes.p, f->files[file].bytes.n };
}

/* ---- the whole ---- */

int config_files_open(const char *path, struct errs *errors, struct errs *warnings,
		      struct config_files **ret)
{
	struct config_files *f = mem_zalloc(sizeof(*f));
	struct file first = { 0 };
	struct stat st;
	int r;

	f->sources = (struct config_sources){ .bytes = on_bytes, .include = on_include, .user = f };
	f->errors = errors;
	f->warnings = warnings;
	f->names = arena_array_of(errors->arena, CONFIG_FILES_MAX, const char *);
	*ret = f;
	r = config_is_stdin(path) ? read_stdin(&first.bytes, errors)
				  : yaml_read_file(path, &first.bytes, errors);
	if (r == 0 && !config_is_stdin(path) && stat(path, &st) == 0) {
		first.device = st.st_dev;
		first.inode = st.st_ino;
	}
	if (r < 0)
		buf_free(&first.bytes);
	else
		add_file(f, path, &first);
	return r;
}

void config_files_free(struct config_files *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->n; i++)
		buf_free(&f->files[i].bytes);
	free(f);
}

void config_files_freep(struct config_files **f)
{
	config_files_free(*f);
}

const struct config_sources *config_files_sources(const struct config_files *f)
{
	return &f->sources;
}

struct str config_files_bytes(const struct config_files *f)
{
	return on_bytes((void *)(uintptr_t)f, 0);
}

const char *const *config_files_included(const struct config_files *f, size_t *ret_n)
{
	*ret_n = f->n_words;
	return f->words;
}
