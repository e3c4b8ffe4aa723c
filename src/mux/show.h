/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show: what the debug page and its API say about the program.
 *
 * Nothing is copied: muxes, channels and endpoints are read from the views and caches of the
 * program when somebody asks, through the callbacks of struct show_source. Only events are kept
 * here, the newest SHOW_EVENTS_MAX, because nothing else remembers them.
 *
 * A document is written in parts (show_read()), between which the program goes on. A reader
 * remembers the names where it stopped, not places in memory, so that anything may change
 * meanwhile; what it writes is a document in any case, of states some milliseconds apart.
 */
#pragma once

#include "src/mux/plan.h"

#define SHOW_EVENTS_MAX 100
/* Bytes of a message of an event; a longer one is cut, and says how much is missing. */
#define SHOW_MESSAGE_MAX 2000
/* Addresses of one channel that the document has; the numbers of addresses are always right. */
#define SHOW_ADDRESSES_MAX 100

/* What is known beside the views; texts are borrowed until the loop turns. */
struct show_state {
	bool synced; /* all caches are complete */
	bool active; /* this process writes, or would in a dry run */
	bool elects; /* there is a leader election */
	bool dry_run;
	const char *identity; /* of this process in the election; "": none */
	const char *leader;   /* the holder of the lease; "": not known */
	const char *prefix;   /* of annotations */
	const char *server;   /* URL of the API server */
};

struct show_source {
	/*
	 * The first view after (namespace, name) in that order, or the first of all for two empty
	 * names; NULL: no more. Muxes that only channels name count.
	 */
	const struct mux_view *(*next)(const char *namespace, const char *name, void *user);
	/* As in struct mux_facts; also for the Service of a mux. */
	void (*look)(const char *namespace, const char *name, struct mux_sight *ret, void *user);
	void (*state)(struct show_state *ret, void *user);
	void *user;
};

struct show;

/* *source is copied. now, in ns since the epoch, tells versions of different processes apart. */
struct show *show_new(const struct show_source *source, int64_t now);
void show_free(struct show *s); /* NULL is allowed */

/*
 * To be called where a Kubernetes Event is made, also in a dry run. One that is equal to an earlier
 * one in type, object and text is counted with it and becomes the newest.
 */
void show_event(struct show *s, const struct mux_event *event, int64_t now);
/* To be called when what the callbacks return may differ. Cheap. */
void show_changed(struct show *s);
/* Appends a text that is another one after each change, for ETag. */
void show_version(const struct show *s, struct buf *out);

enum show_document { SHOW_STATE, SHOW_TOPOLOGY };

struct show_place {
	char namespace[64], name[64]; /* both empty: before the first */
};

struct show_reader {
	const struct show *show;
	enum show_document document;
	size_t section;
	bool opened, more;	   /* the section is open; it has a row */
	bool inside;		   /* the row of a mux is open */
	struct show_place before;  /* the last mux that is complete */
	struct show_place mux;	   /* the mux that is not; empty: none */
	struct show_place channel; /* the last one of it that was written */
};

void show_read_start(struct show_reader *r, const struct show *s, enum show_document document);
/* Appends the next part, a few hundred bytes as a rule. False: it was the last. */
bool show_read(struct show_reader *r, struct buf *out);

/* An address and port that the page may test; texts are borrowed until the loop turns. */
struct show_target {
	const char *namespace, *name; /* of the Service that it belongs to */
};

/*
 * Whether this is an address of a mux with one of its TCP ports, or an endpoint of a channel with
 * one of its. host: an address or a host name as it is written there. -ENOENT if it is neither.
 */
int show_find_target(const struct show *s, const char *host, uint16_t port,
		     struct show_target *ret);
