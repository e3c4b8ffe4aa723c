/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command: the command tree, and the walk of words through it.
 *
 * The tree is one constant table. Parsing, help and completion share the same walk: walk_next()
 * lists the nodes that may follow the words so far, and walk_step() consumes one word. A keyword
 * may be abbreviated as long as it stays unique; an exact match always wins. Where a value is
 * possible too, keywords must be written in full, and every other word is taken as the value.
 *
 * Pure: the server is not asked, so names of backends and the like are accepted unchecked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum node_kind {
	NODE_KEYWORD,
	NODE_FRONTEND, /* these seven are names that the server knows, for completion */
	NODE_BACKEND,
	NODE_HEALTHCHECK,
	NODE_POOL,
	NODE_VIP,
	NODE_ROUTE,
	NODE_ROUTER_POOL,
	NODE_NUMBER,
	NODE_CHOICE,
	NODE_DURATION,
	NODE_TIME, /* a point in time, see when.h */
	NODE_ADDRESS,
	NODE_TEXT,
	NODE_REST, /* takes all remaining words */
};

/*
 * Index of an argument in struct command. The walk stores values here; a keyword with a slot is
 * an option, and its own word is stored to mark it as given.
 */
enum slot {
	SLOT_NONE,
	SLOT_FRONTEND,
	SLOT_BACKEND,
	SLOT_HEALTHCHECK,
	SLOT_POOL,
	SLOT_VIP,
	SLOT_ROUTE,
	SLOT_ROUTER_POOL,
	SLOT_GENERATION,
	SLOT_METHOD,
	SLOT_HOST,
	SLOT_PATH,
	SLOT_HEADER,
	SLOT_LISTENER,
	SLOT_RATES,
	SLOT_WAY,
	SLOT_WEIGHT,
	SLOT_FLUSH,
	SLOT_REASON,
	SLOT_FOR,
	SLOT_UNTIL,
	SLOT_FROM,
	SLOT_WAIT,
	SLOT_WAIT_TIME,
	SLOT_PLAN,
	SLOT_COUNT,
	SLOT_LOG,
	SLOT_LEVEL,
	SLOT_WATCH_BACKEND,
	SLOT_WATCH_FRONTEND,
	SLOT_WATCH_CONFIG,
	SLOT_WATCH_DATAPLANE,
	SLOT_WATCH_INFO,
	SLOT_WATCH_PROBES,
	SLOT_DAY,
	SLOT_FILTER_STATE, /* see filter.h */
	SLOT_FILTER_NAME,
	SLOT_ADDRESS, /* of the backends to act on */
	SLOT_NAMES,   /* a pattern for them */
	SLOT_ACT,     /* what to do with them */
	SLOTS,
};

/* What a command does. Acts with a row in action.c need the server. */
enum act {
	ACT_NONE, /* no command ends here */
	ACT_VERSION,
	ACT_FRONTENDS,
	ACT_FRONTEND,
	ACT_BACKENDS,
	ACT_BACKEND,
	ACT_HEALTHCHECKS,
	ACT_HEALTHCHECK,
	ACT_VPP_INFO,
	ACT_LB_STATE,
	ACT_LB_COUNTERS,
	ACT_HISTORY,
	ACT_SYNC,
	ACT_PAUSE,
	ACT_RESUME,
	ACT_ENABLE,
	ACT_DISABLE,
	ACT_MANY, /* pause, resume, enable or disable several backends */
	ACT_OVERRIDES,
	ACT_WEIGHT,
	ACT_WATCH,
	ACT_CONFIG,
	ACT_CONFIG_CHECK,
	ACT_CONFIG_RELOAD,
	ACT_SPEAKER,
	ACT_ANNOUNCEMENTS,
	ACT_ANNOUNCEMENT,
	ACT_SESSIONS,
	ACT_DRAIN,
	ACT_UNDRAIN,
	ACT_WATCH_SPEAKER,
	ACT_ROUTER,
	ACT_LISTENERS,
	ACT_ROUTES,
	ACT_ROUTE,
	ACT_STREAMS,
	ACT_POOLS,
	ACT_ROUTER_POOL,
	ACT_GENERATIONS,
	ACT_GENERATION,
	ACT_ROUTE_FOR,
	ACT_ROLLBACK,
	ACT_WATCH_ROUTER,
	ACT_EXPLAIN,
	ACT_HELP,
	ACT_EXIT,
	ACTS,
};

struct node {
	const char *word; /* the keyword; for a value, its placeholder in help */
	const char *help;
	enum node_kind kind;
	enum slot slot;
	enum act act;		     /* not ACT_NONE: a command may end here */
	const struct node *children; /* ends with a node without word; NULL: none */
	bool options; /* each child is optional and may be given once, in any order */
	bool alone;   /* an option that stands alone: neither after others nor before them */
	bool shell_only;
	uint64_t min, max;	    /* inclusive bounds of a NODE_NUMBER */
	const char *const *choices; /* of a NODE_CHOICE, ends with NULL */
};

/* The first level of the tree, defined in tree.c; ends with a node without word. */
extern const struct node command_tree[];

struct command {
	enum act act;
	const char *args[SLOTS];  /* NULL: not given; borrowed from the words or the tree */
	const char *const *words; /* those taken by NODE_REST; borrowed */
	size_t n_words;
};

/* Bounds of the walk. They follow from the shape of tree.c and are asserted, never truncated. */
#define WALK_DEPTH 16
#define WALK_GROUPS 3
#define WALK_NEXT_MAX 32

/* A node whose options are being read. The bit mask limits a node to 32 options. */
struct walk_group {
	const struct node *owner;
	uint32_t used; /* bit i: child i was given already */
};

struct walk {
	bool shell;
	const struct node
		*path[WALK_DEPTH]; /* the nodes taken so far; the last is the current one */
	size_t n_path;
	struct walk_group groups[WALK_GROUPS]; /* innermost last */
	size_t n_groups;
	struct command command;
};

enum walk_result {
	WALK_OK,
	WALK_UNKNOWN,
	WALK_AMBIGUOUS,
	WALK_BAD_VALUE,
	WALK_TRAILING, /* nothing may follow */
};

void walk_start(struct walk *w, bool shell);
/*
 * Fills ret with the nodes that may follow and returns their number. They are in the order of
 * the tree, options of the innermost group first.
 */
size_t walk_next(const struct walk *w, const struct node *ret[WALK_NEXT_MAX]);
/*
 * Takes one word, which is borrowed until the command is no longer used. The walk is unchanged
 * unless the result is WALK_OK.
 */
enum walk_result walk_step(struct walk *w, const char *word);
/*
 * Takes all n words. Stops at the first word that does not fit and returns -EINVAL with a
 * sentence (no newline) appended to why. NODE_REST swallows the remaining words.
 */
int walk_words(struct walk *w, const char *const *words, size_t n, struct buf *why);
/* Whether the words so far are a complete command. */
bool walk_is_complete(const struct walk *w);

/*
 * Moves the keywords that start with word to the front of nodes and returns how many there are.
 * An empty word matches none. If one of them is the beginning of all others, as "backend" is of
 * "backends", it is the only one.
 */
size_t command_matches(const struct node *nodes[], size_t n, const char *word);
/* Appends a node as help writes it: "show", "<name>", "<0-100>". */
void command_write_word(const struct node *node, struct buf *out);

/*
 * Parses a whole command. The result borrows the words. On failure returns -EINVAL with a
 * sentence in why and leaves *ret untouched.
 */
int command_parse(const char *const *words, size_t n, bool shell, struct command *ret,
		  struct buf *why);

/*
 * Writes the help for all commands that begin with the words: one entry each, in two columns
 * that fit 80. For a single command its options are listed as well. Returns -EINVAL with a
 * sentence in why if no command begins that way; out is untouched then.
 */
int command_help(const char *const *words, size_t n, bool shell, struct buf *out, struct buf *why);
