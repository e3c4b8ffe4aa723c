/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor: which file of a FileDescriptorSet has what.
 *
 * The files stay the bytes that they are; only names are read out of them.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

struct grpc__descriptors;

struct grpc__file {
	const char *name;
	struct str bytes; /* a FileDescriptorProto */
	const char **imports;
	size_t n_imports;
	size_t mark; /* of the last walk that has been here */
};

/* Lives in arena. */
struct grpc__descriptors *grpc__descriptors_new(struct arena *arena);
/* set must outlive it. -EBADMSG when it is no FileDescriptorSet; what was read before stays. */
int grpc__descriptors_add(struct grpc__descriptors *d, struct str set);
/* The descriptors of health and of reflection itself. */
void grpc__descriptors_add_own(struct grpc__descriptors *d);

/* NULL when there is none. Symbols are packages' messages, enums, services, methods and fields. */
struct grpc__file *grpc__file_by_name(struct grpc__descriptors *d, const char *name);
struct grpc__file *grpc__file_of_symbol(struct grpc__descriptors *d, const char *symbol);
/* Calls visit for the file and, once each, for all that it imports, directly or not. */
void grpc__file_walk(struct grpc__descriptors *d, struct grpc__file *f,
		     void (*visit)(const struct grpc__file *f, void *arg), void *arg);
