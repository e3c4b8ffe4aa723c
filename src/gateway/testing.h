/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testing: a cluster for tests of the translation: objects come as JSON, with ' for ", results are
 * looked at as text. What is not as a test says ends the program with a line that says so.
 *
 *	put(&w, GW_SERVICE, "default/web", "'spec':{'ports':[{'port':80}]}");
 *	settle(&w);
 *	assert_entry(&w, GW_POOLS, "default/web:80", "'upstreams':[]");
 */
#pragma once

#include "src/gateway/kinds.h"
#include "src/gateway/translate.h"

struct held {
	enum gw_kind kind;
	char *key, *body, *created;
	int64_t generation;
	struct k8s_object *object;
};

struct world {
	struct gw *gw;
	struct k8s_names *names;
	struct k8s_kind *kinds[GW_KINDS];
	struct held *held;
	size_t n_held;
	uint64_t version;
	int age;	   /* seconds of the next creationTimestamp */
	struct buf wanted; /* "+ConfigMap a/b\n" */
};

void world_make(struct world *w);
void world_free(struct world *w);
/* Another translator that is told of all objects at once, in the order of their keys. */
struct gw *world_again(struct world *w);

/* Makes or changes an object. body is what follows the metadata; it may have a status. */
void put(struct world *w, enum gw_kind kind, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The same, with a generation and further metadata. */
void put_meta(struct world *w, enum gw_kind kind, const char *key, const char *meta,
	      const char *body);
void drop(struct world *w, enum gw_kind kind, const char *key);
void settle(struct world *w);

/* The JSON text of an entry; NULL: there is none. Valid until the next call. */
const char *entry(struct world *w, enum gw_entry_kind kind, const char *name);
/* part is with ' for ". */
void assert_entry(struct world *w, enum gw_entry_kind kind, const char *name, const char *part);
void assert_no_entry(struct world *w, enum gw_entry_kind kind, const char *name);

/* The patch of an object's status, "" if there is none; takes all statuses. */
const char *status_of(struct world *w, enum gw_kind kind, const char *key);
/* The same, and the status of the object is that of the patch afterwards. */
void write_statuses(struct world *w);
void assert_status(struct world *w, enum gw_kind kind, const char *key, const char *part);
/* "Accepted False NoMatchingParent" must be in the status. */
void assert_condition(struct world *w, enum gw_kind kind, const char *key, const char *condition);
/*
 * The entries that gw_take() tells: "+routes NAME\n", "-pools NAME\n", "~pools NAME\n" (servers).
 */
const char *changes(struct world *w);

/*
 * A class, a Gateway with the address 192.0.2.1 and an HTTP listener, and a Service with a server.
 */
void usual(struct world *w);
#define NOW "2026-01-02T03:04:05Z"
