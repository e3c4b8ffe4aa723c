/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kind: which fields of a kind of objects a program keeps, and objects that have only these.
 *
 * A program declares a struct that begins with struct k8s_object, and a table that says which value
 * of the JSON goes to which member:
 *
 *	struct port    { const char *name; int64_t port; };
 *	struct service { struct k8s_object object; const char *class; struct k8s_list ports; };
 *
 *	static const struct k8s_field port_fields[] = {
 *		K8S_FIELD("name", K8S_STRING, struct port, name),
 *		K8S_FIELD("port", K8S_INT, struct port, port),
 *	};
 *	static const struct k8s_layout port_layout = K8S_LAYOUT(struct port, port_fields);
 *	static const struct k8s_field service_fields[] = {
 *		K8S_FIELD("spec.loadBalancerClass", K8S_NAME, struct service, class),
 *		K8S_FIELD("spec.ports", K8S_LIST, struct service, ports, .of = &port_layout),
 *	};
 *
 * k8s_kind_new() compiles the table to a tree of keys. The decoder (feed.h) walks that tree beside
 * the tokens of the JSON; everything that the table does not name is skipped and costs no memory.
 *
 * A kept object is one immutable block of memory with a count of references. Strings of the type
 * K8S_NAME are shared by all objects of the same struct k8s_names.
 *
 * A value of another type than the table says counts as absent, and the object is marked as odd: an
 * API server checks types, so this happens only with custom resources without a schema, and one bad
 * value must not hide the object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum k8s_type {
	K8S_STRING,  /* const char *; NULL if absent, as for all pointers below */
	K8S_NAME,    /* const char *, shared: for values that many objects have */
	K8S_TEXT,    /* const char *: a string, number or bool as written (IntOrString) */
	K8S_JSON,    /* const char *: the text of any value, without white space */
	K8S_INT,     /* int64_t; `absent` of the field if absent */
	K8S_BOOL,    /* uint8_t: enum k8s_bool */
	K8S_PRESENT, /* uint8_t: K8S_YES if there is a value; may have fields below it */
	K8S_STRINGS, /* struct k8s_list of const char * */
	K8S_MAP,     /* struct k8s_list of struct k8s_pair, sorted by key; only keys of `keep` */
	K8S_LIST,    /* struct k8s_list of structs of the layout `of` */
};

enum k8s_bool { K8S_UNSET, K8S_NO, K8S_YES };

struct k8s_list {
	const void *items;
	uint32_t n;
};

struct k8s_pair {
	const char *key, *value;
};

struct k8s_layout;

struct k8s_field {
	const char *path; /* keys with dots between them; relative to the element in a list */
	enum k8s_type type;
	size_t offset;
	const struct k8s_layout *of;
	/*
	 * K8S_MAP: ends with NULL; a pattern with * at its end stands for all that begin so. NULL:
	 * all
	 */
	const char *const *keep;
	int64_t absent;
};

struct k8s_layout {
	size_t size;
	const struct k8s_field *fields;
	size_t n_fields;
};

/* K8S_FIELD("spec.ports", K8S_LIST, struct service, ports, .of = &port_layout) */
#define K8S_FIELD(where, what, owner, member, ...)                                                 \
	{                                                                                          \
		.path = (where), .type = (what), .offset = offsetof(owner, member), __VA_ARGS__    \
	}

#define K8S_LAYOUT(type, table)                                                                    \
	{                                                                                          \
		.size = sizeof(type), .fields = (table),                                           \
		.n_fields = sizeof(table) / sizeof((table)[0])                                     \
	}

/* The first member of every struct of a program. All strings are "" if absent. */
struct k8s_object {
	const char *namespace; /* "" for objects of the cluster */
	const char *name, *uid;
	uint64_t version; /* resourceVersion */
	int64_t generation;
	uint32_t refs;
	uint32_t round;	  /* of the cache: the list that has seen it last */
	uint8_t deleting; /* K8S_YES: it has a deletionTimestamp */
	bool odd;	  /* a value was of another type than expected */
};

struct k8s_kind;
struct k8s_names;

/* The strings that objects share. It must outlive the objects. */
struct k8s_names *k8s_names_new(void);
/* All objects must be gone. NULL is allowed. */
void k8s_names_free(struct k8s_names *n);
size_t k8s_names_count(const struct k8s_names *n);

/* The layout is borrowed for the life of the kind; names must outlive it. */
struct k8s_kind *k8s_kind_new(const struct k8s_layout *layout, struct k8s_names *names);
/* NULL is allowed. Objects of the kind must be gone. */
void k8s_kind_free(struct k8s_kind *k);

/* A copy in one block, with one reference, for the caller. */
struct k8s_object *k8s_object_keep(const struct k8s_kind *k, const struct k8s_object *scratch);
struct k8s_object *k8s_object_ref(const struct k8s_object *o);
/* NULL is allowed. */
void k8s_object_unref(const struct k8s_kind *k, const struct k8s_object *o);
/* Bytes of a block. */
size_t k8s_object_size(const struct k8s_kind *k, const struct k8s_object *o);

/* The value of a key of a K8S_MAP; NULL if there is none. */
const char *k8s_map_get(const struct k8s_list *map, const char *key);
/* Item i of a K8S_STRINGS. */
static inline const char *k8s_string_at(const struct k8s_list *list, size_t i)
{
	return ((const char *const *)list->items)[i];
}
