/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor: finds files and symbols in a FileDescriptorSet, for reflection.
 *
 * The files are kept as encoded bytes, because reflection sends them unchanged; only the names are
 * read.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

struct grpc__descriptors;

struct grpc__file {
	const char *name;
	struct str bytes; /* an encoded FileDescriptorProto, borrowed from the set */
	const char **imports;
	size_t n_imports;
	size_t mark; /* number of the last walk that visited this file */
};

/* Allocated in arena, like all that is added. */
struct grpc__descriptors *grpc__descriptors_new(struct arena *arena);
/*
 * set is borrowed. A file whose name is already known is skipped. -EBADMSG if set is not a
 * FileDescriptorSet; the files read before the error stay.
 */
int grpc__descriptors_add(struct grpc__descriptors *d, struct str set);
/* Adds the descriptors of health and of reflection itself. */
void grpc__descriptors_add_own(struct grpc__descriptors *d);

/*
 * NULL if there is none. A symbol is the full name of a message, enum, service, method, field,
 * oneof or extension.
 */
struct grpc__file *grpc__file_by_name(struct grpc__descriptors *d, const char *name);
struct grpc__file *grpc__file_of_symbol(struct grpc__descriptors *d, const char *symbol);
/* Calls visit once for the file and for each file that it imports, directly or indirectly. */
void grpc__file_walk(struct grpc__descriptors *d, struct grpc__file *f,
		     void (*visit)(const struct grpc__file *f, void *arg), void *arg);
