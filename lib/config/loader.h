/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader: a daemon's configuration file, read at the start and again whenever somebody asks.
 *
 * Parsing and checking a large file takes longer than a loop may stand still. So a running daemon
 * reads it in a child process, which builds the result in memory that both share and then exits:
 * the parent gets it whole, at the same address, without copying. Whatever the file makes the
 * parser do, the daemon that is running is not harmed.
 *
 * The program says how bytes become a configuration (struct config_source), and what is done with a
 * reading that ended (config_loader_calls). The rest is here: one reading at a time, a deadline,
 * callers that wait for the outcome, SIGHUP, and changes of the file if they are to be watched.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "lib/loop/loop.h"

enum config_result {
	CONFIG_OK,
	CONFIG_PARSE_ERROR,    /* not to be read; exit code 1 of --check */
	CONFIG_SEMANTIC_ERROR, /* a rule is broken; exit code 2 */
};

/* What came of reading a file. Everything in it lives in arena. */
struct config_load {
	struct arena *arena;
	enum config_result result;
	void *config; /* what build() made: set if and only if the result is CONFIG_OK */
	struct errs errors, warnings;
};

struct config_source {
	const char *path;
	/*
	 * Makes the configuration of the bytes: fills load->config, load->errors and
	 * load->warnings. All that it leaves lives in load->arena. It runs in a child process, so
	 * it must be pure: no log, no loop, no descriptor, and nothing that it changes elsewhere
	 * reaches the parent.
	 */
	enum config_result (*build)(struct str bytes, struct config_load *load, const void *user);
	const void *user;
	double limit; /* s that a child may take; 0: CONFIG_LOAD_LIMIT */
};

#define CONFIG_LOAD_LIMIT 30. /* ten thousand backends take a tenth of a second */

/*
 * Reads and builds in this process; blocks. A file that cannot be read is a CONFIG_PARSE_ERROR. For
 * the start and for --check, where there is nothing yet that could be held up.
 */
struct config_load *config_load(const struct config_source *source);
/* Frees it, and the configuration in it unless somebody took the arena. */
void config_load_free(struct config_load *load);

/* A reading that ended, and what its callers want. */
struct config_reading {
	struct config_load *load; /* the program's from now on; NULL: it came to no end */
	const char *reason;	  /* why there is no load */
	bool take;   /* somebody wants the configuration to be taken, not only checked */
	bool detail; /* somebody wants to know what it changes */
};

struct config_loader;

/* report is what the program gave to config_loader_answer(); gone when the callback returns. */
typedef void (*config_done_fn)(const void *report, void *user);

struct config_loader_calls {
	/*
	 * A reading ended. Takes or frees the load, and calls config_loader_answer() once, while
	 * its report is valid.
	 */
	void (*ended)(const struct config_reading *reading, void *user);
	void *user;
};

#define CONFIG_WAITING_MAX 64

/* source is borrowed. The loop should be the default one (lib/loop/job.h). */
struct config_loader *config_loader_new(struct ev_loop *loop, const struct config_source *source,
					const struct config_loader_calls *calls);
/* Callers that still wait are not told any more. NULL is fine. */
void config_loader_free(struct config_loader *l);

enum config_wish {
	CONFIG_CHECK = 0,
	CONFIG_TAKE = 1,   /* not only check */
	CONFIG_DETAIL = 2, /* say what it changes */
};

/*
 * Asks for a reading. wishes: a set of enum config_wish. done (may be NULL) is called with the
 * report of a reading that began after this call: a caller that comes while one is under way is
 * served by the next, so the last state of the file always counts, and a hundred that ask at once
 * cost one reading. If one caller of a reading wants it taken, it is taken for all.
 *
 * -EBUSY when CONFIG_WAITING_MAX wait already.
 */
int config_loader_ask(struct config_loader *l, unsigned wishes, config_done_fn done, void *user);
/*
 * CONFIG_TAKE that is never refused, for SIGHUP and for changes of the file: all with this done and
 * user until the next reading are one.
 */
void config_loader_hangup(struct config_loader *l, config_done_fn done, void *user);
/* The callers of this user are not told any more; what they asked for still happens. */
void config_loader_forget(struct config_loader *l, const void *user);
/* For calls.ended: answers all callers of the reading, each once. */
void config_loader_answer(struct config_loader *l, const void *report);

/*
 * From now on a change of the file is a config_loader_hangup() with this done and user. Off unless
 * called; once per loader. -errno as config_watch_new().
 */
int config_loader_watch(struct config_loader *l, double settle, config_done_fn done, void *user);
