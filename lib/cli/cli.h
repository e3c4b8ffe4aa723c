/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli: flags, their environment variables and their help texts, from one table per program.
 *
 *	static const struct cli_option options[] = {
 *		{ .name = "metrics-addr", .kind = CLI_STRING, .env = "MAGLEV_METRICS_ADDR",
 *		  .fallback = ":9091", .help = "where to serve metrics", .string = &metrics_addr },
 *	};
 *
 * Flags are --x v or --x=v, with one dash or two; booleans are --x or --x=BOOL, never two words.
 * The value of a letter may follow it at once: -ojson.
 * "--" and the first word that is not a flag end the flags, unless the program accepts flags
 * between its words. If a flag is given twice the last one counts, unless it is a list. A flag
 * takes precedence over its environment variable, and the variable over the fallback. An empty
 * variable counts as set for strings and lists, and as absent for the other kinds. Every program
 * has --help (-h) and --version.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "lib/log/log.h"

enum cli_kind {
	CLI_STRING,
	CLI_CHOICE,   /* a string that is one of the choices */
	CLI_LIST,     /* of strings: may be repeated, and each value is split at commas */
	CLI_BOOL,     /* 1 t T TRUE true True, 0 f F FALSE false False */
	CLI_DURATION, /* as in Go: 1m30s */
	CLI_LEVEL,    /* debug, info, warn, error */
	CLI_COUNT     /* a whole number from 1 to CLI_COUNT_MAX */
};

#define CLI_COUNT_MAX 1000000

/* Owned by the program, which frees it with cli_list_free(); starts zeroed. */
struct cli_list {
	char **items;
	size_t n, cap;
};

void cli_list_free(struct cli_list *l);

/* One flag. The table and its strings must live as long as the parse. */
struct cli_option {
	const char *name; /* without dashes */
	char letter;	  /* short form -x; 0: none */
	enum cli_kind kind;
	const char *env;      /* NULL: none */
	const char *fallback; /* as a user would write it; NULL: the value is left unchanged */
	const char *argument; /* name of the value in --help; NULL: a word for the kind */
	const char *help;
	const char *const *choices; /* NULL-terminated; for CLI_CHOICE only */
	bool *given; /* set to true if a flag or the variable gave the value; may be NULL */
	union {	     /* the destination, by kind; strings are borrowed from argv or environ */
		const char **string;
		struct cli_list *list;
		bool *boolean;
		int64_t *duration; /* ns */
		enum log_level *level;
		size_t *count;
	};
};

struct cli_program {
	const char *name;
	const char *operands; /* as shown in the usage line; NULL: none are accepted */
	const char *about;    /* one paragraph for --help */
	const char *more;     /* printed verbatim after the flags; NULL: nothing */
	struct cli_list
		*words; /* receives the operands; flags may stand between them; may be NULL */
	const struct cli_option *options;
	size_t n_options;
};

struct cli_version {
	const char *version, *commit, *date; /* "unknown" where it is not known */
};

extern const struct cli_version cli_version;

enum cli_verdict {
	CLI_OK,
	CLI_EXIT_OK,   /* print the text on stdout, exit 0 */
	CLI_EXIT_USAGE /* print the text on stderr, exit CLI_STATUS_USAGE */
};

#define CLI_STATUS_USAGE 64 /* EX_USAGE; 1 and 2 are used for errors in a configuration */

/*
 * Parses argv and the environment. With CLI_OK every option has its value and *ret_rest is the
 * index of the first operand (argc if there is none or if the program has words). Otherwise only
 * out is changed.
 */
enum cli_verdict cli_parse(const struct cli_program *p, int argc, char *const argv[], int *ret_rest,
			   struct buf *out);
/*
 * Prints the text of a verdict other than CLI_OK to stdout or stderr. Returns the exit status: 0,
 * or EXIT_FAILURE if the text could not be written (a full disk), or usage after a usage error.
 */
int cli_tell(enum cli_verdict v, struct buf *text, int usage);
/*
 * For main(): parses; prints and exits if the verdict is not CLI_OK, otherwise returns the index
 * of the first operand.
 */
int cli_parse_or_exit(const struct cli_program *p, int argc, char *const argv[]);
