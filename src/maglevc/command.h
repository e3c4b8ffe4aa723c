/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command: the command tree, and the walk of words through it.
 *
 * The tree is one constant table. Parsing, help and completion all take the same walk: from where
 * the words so far have led, walk_next() says what may come, and walk_step() takes one word. A
 * keyword may be shortened as long as it stays unique; one that is written out always wins. Where a
 * value may stand beside keywords, a keyword has to be written out: the rest are values.
 *
 * Pure: nothing is asked of the server, names are taken as they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum node_kind {
	NODE_KEYWORD,
	NODE_FRONTEND, /* names of things of the server, for completion */
	NODE_BACKEND,
	NODE_HEALTHCHECK,
	NODE_POOL,
	NODE_NUMBER,
	NODE_CHOICE,
	NODE_DURATION,
	NODE_TEXT,
	NODE_REST, /* all words that are left */
};

/* Where the walk puts a value; keywords that are options leave their word there. */
enum slot {
	SLOT_NONE,
	SLOT_FRONTEND,
	SLOT_BACKEND,
	SLOT_HEALTHCHECK,
	SLOT_POOL,
	SLOT_WEIGHT,
	SLOT_FLUSH,
	SLOT_REASON,
	SLOT_FOR,
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
	SLOTS,
};

/* What a command does. */
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
	ACT_SYNC,
	ACT_PAUSE,
	ACT_RESUME,
	ACT_ENABLE,
	ACT_DISABLE,
	ACT_WEIGHT,
	ACT_WATCH,
	ACT_CONFIG_CHECK,
	ACT_CONFIG_RELOAD,
	ACT_HELP,
	ACT_EXIT,
	ACTS,
};

struct node {
	const char *word; /* of a keyword; else what help calls the value */
	const char *help;
	enum node_kind kind;
	enum slot slot;
	enum act act;		     /* a command may end here */
	const struct node *children; /* up to one without a word; NULL: none */
	bool options;		     /* the children may follow in any order, each once, or not */
	bool shell_only;
	uint64_t min, max;	    /* of a number */
	const char *const *choices; /* up to NULL */
};

/* The first level. */
extern const struct node command_tree[];

struct command {
	enum act act;
	const char *args[SLOTS];  /* NULL: not given; borrowed from the words or the tree */
	const char *const *words; /* of NODE_REST */
	size_t n_words;
};

#define WALK_DEPTH 16
#define WALK_GROUPS 3
#define WALK_NEXT_MAX 32

/* A node whose options are being read. */
struct walk_group {
	const struct node *owner;
	uint32_t used; /* bit i: its child i */
};

struct walk {
	bool shell;
	const struct node *path[WALK_DEPTH]; /* the last one is where we are */
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
/* What may come next, in the order of the tree; innermost options first. */
size_t walk_next(const struct walk *w, const struct node *ret[WALK_NEXT_MAX]);
/* word is borrowed. Untouched unless WALK_OK. */
enum walk_result walk_step(struct walk *w, const char *word);
/*
 * As many steps as there are words. -EINVAL with a sentence in why (no newline) when one leads
 * nowhere.
 */
int walk_words(struct walk *w, const char *const *words, size_t n, struct buf *why);
/* Whether a command may end here. */
bool walk_is_complete(const struct walk *w);

/* Of the n nodes the keywords that word may be short for; returns how many are left. */
size_t command_matches(const struct node *nodes[], size_t n, const char *word);
/* "show", "<name>", "<0-100>" */
void command_write_word(const struct node *node, struct buf *out);

/* -EINVAL with a sentence in why; *ret untouched then. Borrows the words. */
int command_parse(const char *const *words, size_t n, bool shell, struct command *ret,
		  struct buf *why);

/*
 * What can be said from where the words lead: what each command does, in two columns of 80, and
 * of a single command its options, too. -EINVAL with a sentence in why when they lead nowhere.
 */
int command_help(const char *const *words, size_t n, bool shell, struct buf *out, struct buf *why);
