/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader: reads the configuration file of a daemon, at the start and again on request.
 *
 * Parsing and checking a large file takes longer than an event loop may block. So a running daemon
 * reads it in a child process, which builds the result in shared memory and exits. The parent uses
 * the result at the same address, without copying. A crash or an endless loop in the parser does
 * not harm the running daemon.
 *
 * A configuration may consist of several files (lib/config/files.h), which are read together. "-"
 * is standard input, which can be read only once: at the start or by --check.
 *
 * The program provides a function that makes a configuration of bytes (struct config_source), and
 * one that handles a finished reading (config_loader_calls). The loader does the rest: one reading
 * at a time, its deadline, callers that wait for the result, SIGHUP, and watching the file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "lib/config/document.h"
#include "lib/loop/loop.h"

enum config_result {
	CONFIG_OK,
	CONFIG_PARSE_ERROR,    /* the file cannot be read or parsed; exit code 1 of --check */
	CONFIG_SEMANTIC_ERROR, /* a rule is violated; exit code 2 of --check */
};

/* The result of reading a file. Everything in it, and the struct itself, is in arena. */
struct config_load {
	struct arena *arena;
	enum config_result result;
	void *config; /* made by build(); not NULL if and only if the result is CONFIG_OK */
	struct errs errors, warnings;
	/* what the files include: paths, the last part maybe with wildcards */
	const char *const *included;
	size_t n_included;
	const struct config_sources *sources; /* the files; valid during build(), then NULL */
};

struct config_source {
	const char *path; /* "-": standard input */
	/*
	 * Makes the configuration from the bytes of the file, or from load->sources, which has
	 * also those of the files that it includes; both are valid during the call. Fills
	 * load->config, load->errors and load->warnings, with all memory in load->arena. It runs
	 * in a child process, so it must be pure: no log, no loop, no descriptor that stays open.
	 * Changes to other memory do not reach the parent.
	 */
	enum config_result (*build)(struct str bytes, struct config_load *load, const void *user);
	const void *user;
	/*
	 * If not NULL and true when a reading begins, the file is not read, and build() gets no
	 * bytes: it makes another configuration of what the last one was made of.
	 */
	const bool *skips_file;
	double limit; /* seconds that a child may take; 0: CONFIG_LOAD_LIMIT */
};

#define CONFIG_LOAD_LIMIT 30. /* s; ten thousand backends take about 0.1 s */

/*
 * Reads and builds in this process, and blocks. A file that cannot be read is a CONFIG_PARSE_ERROR.
 * For the start of a daemon and for --check, when no event loop runs yet. Never returns NULL.
 */
struct config_load *config_load(const struct config_source *source);
/*
 * Frees the arena, and with it the load and the configuration. A program that keeps the
 * configuration keeps the arena and does not call this. NULL is allowed.
 */
void config_load_free(struct config_load *load);

/* A finished reading, and what its callers want. */
struct config_reading {
	struct config_load *load; /* owned by the program from now on; NULL: it failed */
	const char *reason;	  /* why there is no load; NULL if there is one */
	bool take;		  /* a caller wants it to be applied, not only checked */
	bool detail;		  /* a caller wants to know what it changes */
};

struct config_loader;

/* report is the argument of config_loader_answer(), valid during the callback. */
typedef void (*config_done_fn)(const void *report, void *user);

struct config_loader_calls {
	/*
	 * A reading has ended. Must keep or free the load, and must call config_loader_answer()
	 * exactly once before it returns. May be called from within config_loader_ask() if no
	 * child process can be started.
	 */
	void (*ended)(const struct config_reading *reading, void *user);
	void *user;
};

#define CONFIG_WAITING_MAX 64 /* callers of config_loader_ask() at once */

/* source is borrowed, calls is copied. The loop should be the default one (lib/loop/job.h). */
struct config_loader *config_loader_new(struct ev_loop *loop, const struct config_source *source,
					const struct config_loader_calls *calls);
/* Ends a running child. Callers that still wait get no callback. NULL is allowed. */
void config_loader_free(struct config_loader *l);

enum config_wish {
	CONFIG_CHECK = 0,
	CONFIG_TAKE = 1,   /* apply the configuration, not only check it */
	CONFIG_DETAIL = 2, /* report what it changes */
};

/*
 * Requests a reading. wishes is a set of enum config_wish. done (may be NULL) is called with the
 * report of a reading that begins after this call. A caller that comes during a reading is served
 * by the next one, so it always sees the latest content of the file, and any number of callers at
 * the same time cost one reading. If one caller of a reading wants it to be applied, it is applied
 * for all of them.
 *
 * -EBUSY if CONFIG_WAITING_MAX callers wait already; done is not called then. If no child process
 * can be started, done is called before this returns.
 */
int config_loader_ask(struct config_loader *l, unsigned wishes, config_done_fn done, void *user);
/*
 * Requests CONFIG_TAKE and is never refused; for SIGHUP and for changes of the file. Calls with the
 * same done and user before the next reading begins are merged into one.
 */
void config_loader_hangup(struct config_loader *l, config_done_fn done, void *user);
/* Calls done() of this user no more; the readings it asked for still happen. */
void config_loader_forget(struct config_loader *l, const void *user);
/* Only from calls.ended: calls done() of all callers of the reading, each once. */
void config_loader_answer(struct config_loader *l, const void *report);

/*
 * Watches the file, and those that it includes, as of the last reading: each change calls
 * config_loader_hangup() with this done and user. At most once per loader. settle is in seconds.
 * Returns -errno of config_watch_new(); nothing is watched then. Standard input cannot be watched:
 * 0.
 */
int config_loader_watch(struct config_loader *l, double settle, config_done_fn done, void *user);
/* Watches also what this load includes: for the load of the start, which is not the loader's. */
void config_loader_follow(struct config_loader *l, const struct config_load *load);
