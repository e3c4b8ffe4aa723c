/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf: a configuration of FRR, parsed from its text.
 *
 * FRR has no model of its configuration that all daemons share: there is only text, in files and
 * as the answer to "show running-config". Both are parsed here. Lines of the kinds that are known
 * (enum frr_kind) become statements; all other lines are foreign: they are kept in order and only
 * compared. diff.h turns two configurations into commands.
 *
 * A statement has a key, which says what it is about, and a line, which says all of it. Two
 * statements with the same context and key replace each other: "network 192.0.2.1/32 route-map A"
 * and "network 192.0.2.1/32 route-map B" have the key "network 192.0.2.1/32".
 *
 * FRR prints some lines in another form than it reads them. Where that is known the line is
 * brought into the form that FRR prints: addresses, prefixes without host bits, sequence numbers
 * of lists, names of well-known communities.
 *
 * Pure. Everything that a configuration points to is in its arena.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

/*
 * Also the order in which additions are made: what is used comes before what uses it. A peer of
 * bfdd's own configuration counts as a profile.
 */
enum frr_kind {
	FRR_BFD_PROFILE,
	FRR_BFD_LINE, /* of a profile or peer */
	FRR_LIST,     /* an entry of a prefix list or of a community list */
	FRR_MAP,      /* an entry of a route map: "route-map NAME permit 10" */
	FRR_MAP_LINE, /* match, set and others, inside an entry */
	FRR_NEIGHBOR, /* "neighbor X remote-as N": with it the neighbour exists */
	FRR_OPTION,   /* any other line of a neighbour, also inside an address family */
	FRR_NETWORK,
	FRR_KINDS
};

/* The process that owns a kind. */
enum frr_daemon { FRR_BGPD, FRR_BFDD, FRR_DAEMONS };

/* Texts are NUL-terminated. */
struct frr_statement {
	enum frr_kind kind;
	/*
	 * The commands that lead to it from "configure terminal", one per line: "" or
	 * "router bgp 64512\naddress-family ipv4 unicast".
	 */
	const char *context;
	const char *key;     /* unique within its context */
	const char *line;    /* the command that creates it, in the form that FRR prints */
	const char *undo;    /* the command that removes it */
	const char *subject; /* neighbours and options: the neighbour; else "" */
	size_t order;	     /* number of the line in the text */
	bool drops;	     /* a change of it ends BGP sessions */
};

struct frr_conf {
	struct arena *arena;
	VEC(struct frr_statement) statements; /* sorted by context, then key; no duplicates */
	VEC(const char *) foreign;	      /* "context: line", in the order of the text */
};

#define FRR_CONF_MAX ((size_t)64 * 1024 * 1024) /* bytes of text */
#define FRR_LINE_MAX ((size_t)4096)

/*
 * Parses text into *ret, which the caller frees with frr_conf_free(). -E2BIG if text is too long,
 * -EMSGSIZE if a line is, -EINVAL if it contains a NUL byte; *ret is untouched then. Unknown lines
 * are no error, because FRR decides about them.
 */
int frr_conf_parse(struct str text, struct frr_conf *ret);
void frr_conf_free(struct frr_conf *c);

/* Drops the statements of other daemons. */
void frr_conf_keep(struct frr_conf *c, enum frr_daemon owner);
/* Adds copies of the statements of one daemon; foreign lines are not added. */
void frr_conf_add_from(struct frr_conf *c, const struct frr_conf *from, enum frr_daemon owner);

/* The statement with this context and key, or NULL. */
const struct frr_statement *frr_conf_find(const struct frr_conf *c, const char *context,
					  const char *key);
/* Whether there are statements or foreign lines in a "router bgp" with this opening line. */
bool frr_conf_has_router(const struct frr_conf *c, const char *router);

const char *frr_kind_name(enum frr_kind k);	/* "network", "neighbor", ... */
const char *frr_daemon_name(enum frr_daemon d); /* "bgpd", "bfdd" */
enum frr_daemon frr_kind_owner(enum frr_kind k);
