/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor: reads names from the wire format of descriptor.proto.
 *
 * A scan goes over the fields of one encoded message. The table places[] says which fields of which
 * message hold something with a name; the name is recorded, and nested messages are scanned as
 * well. Reflection needs nothing else of descriptor.proto.
 */
#include "lib/grpc/descriptor.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "proto/grpc/descriptors.h"

#define DEPTH_MAX 32 /* of nested messages; bounds the recursion */

struct grpc__descriptors {
	struct arena *arena;
	struct grpc__file **files; /* in the arena; copied for each new file, there are few */
	size_t n;
	size_t mark;		/* number of the current walk */
	struct symbol *symbols; /* a list: lookups are rare, they come from people */
};

struct symbol {
	const char *name;
	struct grpc__file *file;
	struct symbol *next;
};

struct field {
	unsigned number, type; /* type: the wire type, 2 is length-delimited */
	struct str bytes;      /* the value; not set for varints */
};

/* At most ten bytes: a varint of protobuf has 64 bits. */
static int get_varint(struct str *in, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && in->n; shift += 7) {
		unsigned char c = (unsigned char)*in->p;

		in->p++;
		in->n--;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80)) {
			*ret = v;
			return 0;
		}
	}
	return -EBADMSG;
}

static int get_bytes(struct str *in, uint64_t n, struct str *ret)
{
	if (n > in->n)
		return -EBADMSG;
	*ret = (struct str){ in->p, (size_t)n };
	in->p += n;
	in->n -= (size_t)n;
	return 0;
}

/* Returns 1 with a field, 0 at the end. Descriptors use no groups (wire types 3 and 4). */
static int get_field(struct str *in, struct field *ret)
{
	uint64_t key, n;
	int r;

	if (!in->n)
		return 0;
	if (get_varint(in, &key) < 0)
		return -EBADMSG;
	*ret = (struct field){ .number = (unsigned)(key >> 3), .type = key & 7 };
	switch (ret->type) {
	case 0:
		r = get_varint(in, &n);
		break;
	case 1:
		r = get_bytes(in, 8, &ret->bytes);
		break;
	case 2:
		r = get_varint(in, &n);
		if (r == 0)
			r = get_bytes(in, n, &ret->bytes);
		break;
	case 5:
		r = get_bytes(in, 4, &ret->bytes);
		break;
	default:
		r = -EBADMSG;
	}
	return r < 0 ? r : 1;
}

/* The value of a string field, empty if it is absent. The last one wins, as in protobuf. */
static struct str string_field(struct str in, unsigned number)
{
	struct str found = { "", 0 };
	struct field f;

	while (get_field(&in, &f) > 0)
		if (f.number == number && f.type == 2)
			found = f.bytes;
	return found;
}

enum kind { FILE_KIND, MESSAGE, ENUM, SERVICE, LEAF };

/* Field numbers of descriptor.proto that hold something with a name. */
static const struct {
	enum kind in;
	unsigned number;
	enum kind has;
} places[] = {
	{ FILE_KIND, 4, MESSAGE }, { FILE_KIND, 5, ENUM },
	{ FILE_KIND, 6, SERVICE }, { FILE_KIND, 7, LEAF }, /* extension */
	{ MESSAGE, 2, LEAF },				   /* field */
	{ MESSAGE, 3, MESSAGE },   { MESSAGE, 4, ENUM },
	{ MESSAGE, 6, LEAF },	   { MESSAGE, 8, LEAF }, /* oneof */
	{ SERVICE, 2, LEAF },				 /* method */
};

struct scan {
	struct grpc__descriptors *d;
	struct grpc__file *file;
	int depth;
};

static int scan_names(struct scan *scan, enum kind kind, struct str in, const char *prefix);

/* Full names are the names of all enclosing messages and the package, joined by dots. */
static int add_symbol(struct scan *scan, enum kind kind, struct str bytes, const char *prefix)
{
	struct symbol *symbol = arena_new_of(scan->d->arena, struct symbol);
	struct str name = string_field(bytes, 1);
	int r;

	symbol->name = arena_printf(scan->d->arena, "%s%s%.*s", prefix, *prefix ? "." : "",
				    (int)name.n, name.p);
	symbol->file = scan->file;
	symbol->next = scan->d->symbols;
	scan->d->symbols = symbol;
	if (kind == LEAF)
		return 0;
	if (++scan->depth > DEPTH_MAX)
		return -EBADMSG;
	r = scan_names(scan, kind, bytes, symbol->name);
	scan->depth--;
	return r;
}

static int scan_names(struct scan *scan, enum kind kind, struct str in, const char *prefix)
{
	struct field f;
	int r;

	while ((r = get_field(&in, &f)) > 0)
		for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
			if (places[i].in != kind || places[i].number != f.number || f.type != 2)
				continue;
			r = add_symbol(scan, places[i].has, f.bytes, prefix);
			if (r < 0)
				return r;
		}
	return r;
}

static void read_imports(struct grpc__descriptors *d, struct grpc__file *file)
{
	struct str in = file->bytes;
	struct field f;
	VEC(const char *) found = { 0 };

	while (get_field(&in, &f) > 0)
		if (f.number == 3 && f.type == 2)
			vec_push(&found, arena_strndup(d->arena, f.bytes.p, f.bytes.n));
	file->imports = arena_copy(d->arena, found.items, found.n * sizeof(found.items[0]));
	file->n_imports = found.n;
	vec_free(&found);
}

static void remember(struct grpc__descriptors *d, struct grpc__file *file)
{
	struct grpc__file **grown = arena_array_of(d->arena, d->n + 1, struct grpc__file *);

	if (d->n)
		memcpy(grown, d->files, d->n * sizeof(d->files[0]));
	grown[d->n++] = file;
	d->files = grown;
}

/* Several sets may contain the same file, such as health.proto; the first one is kept. */
static int add_file(struct grpc__descriptors *d, struct str bytes)
{
	struct grpc__file *file = arena_new_of(d->arena, struct grpc__file);
	struct scan scan = { d, file, 0 };
	struct str name = string_field(bytes, 1);
	struct str package = string_field(bytes, 2);

	file->name = arena_strndup(d->arena, name.p, name.n);
	file->bytes = bytes;
	if (grpc__file_by_name(d, file->name))
		return 0;
	read_imports(d, file);
	remember(d, file);
	return scan_names(&scan, FILE_KIND, bytes, arena_strndup(d->arena, package.p, package.n));
}

struct grpc__descriptors *grpc__descriptors_new(struct arena *arena)
{
	struct grpc__descriptors *d = arena_new_of(arena, struct grpc__descriptors);

	d->arena = arena;
	return d;
}

int grpc__descriptors_add(struct grpc__descriptors *d, struct str set)
{
	struct field f;
	int r;

	while ((r = get_field(&set, &f)) > 0) {
		if (f.number != 1 || f.type != 2)
			continue;
		r = add_file(d, f.bytes);
		if (r < 0)
			return r;
	}
	return r;
}

void grpc__descriptors_add_own(struct grpc__descriptors *d)
{
	const struct str own = { (const char *)grpc_descriptors, grpc_descriptors_size };
	int r = grpc__descriptors_add(d, own);

	assert(r == 0);
}

struct grpc__file *grpc__file_by_name(struct grpc__descriptors *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (strcmp(d->files[i]->name, name) == 0)
			return d->files[i];
	return NULL;
}

struct grpc__file *grpc__file_of_symbol(struct grpc__descriptors *d, const char *symbol)
{
	for (struct symbol *s = d->symbols; s; s = s->next)
		if (strcmp(s->name, symbol) == 0)
			return s->file;
	return NULL;
}

/* The mark also ends the recursion if files import each other. */
static void walk(struct grpc__descriptors *d, struct grpc__file *f,
		 void (*visit)(const struct grpc__file *f, void *arg), void *arg)
{
	if (!f || f->mark == d->mark)
		return;
	f->mark = d->mark;
	visit(f, arg);
	for (size_t i = 0; i < f->n_imports; i++)
		walk(d, grpc__file_by_name(d, f->imports[i]), visit, arg);
}

void grpc__file_walk(struct grpc__descriptors *d, struct grpc__file *f,
		     void (*visit)(const struct grpc__file *f, void *arg), void *arg)
{
	d->mark++;
	walk(d, f, visit, arg);
}
