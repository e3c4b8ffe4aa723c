/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli: flags, their environment and the texts about them, from one table per program.
 *
 *	static const struct cli_option options[] = {
 *		{ .name = "metrics-addr", .kind = CLI_STRING, .env = "MAGLEV_METRICS_ADDR",
 *		  .fallback = ":9091", .help = "where to serve metrics", .string = &metrics_addr },
 *	};
 *
 * Flags are --x v or --x=v, with one dash or two; booleans are --x or --x=BOOL, never two words.
 * "--" and the first word that is not a flag end them, unless the program takes flags among its
 * words. A flag given twice: the last one counts, unless it is a list. A flag wins over its
 * environment variable, that over the fallback. An empty variable counts as set for strings and
 * lists; for the other kinds it counts as absent.
 * --help (-h) and --version are known to every program.
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
	CLI_LIST,     /* of strings: may be given again, and each time with commas */
	CLI_BOOL,     /* 1 t T TRUE true True, 0 f F FALSE false False */
	CLI_DURATION, /* as in Go: 1m30s */
	CLI_LEVEL     /* debug, info, warn, error */
};

/* Owned by the program; starts zeroed. */
struct cli_list {
	char **items;
	size_t n, cap;
};

void cli_list_free(struct cli_list *l);

struct cli_option {
	const char *name; /* without dashes */
	char letter;	  /* also known as -x; 0: not */
	enum cli_kind kind;
	const char *env;      /* NULL: none */
	const char *fallback; /* as one would write it; NULL: the value stays as it was */
	const char *argument; /* what --help calls the value; NULL: a word for the kind */
	const char *help;
	const char *const *choices; /* up to NULL; of a CLI_CHOICE only */
	bool *given; /* becomes true when a flag or the variable said it; NULL: nobody asks */
	union {	     /* where the value goes, by kind; strings are borrowed from argv or environ */
		const char **string;
		struct cli_list *list;
		bool *boolean;
		int64_t *duration; /* ns */
		enum log_level *level;
	};
};

struct cli_program {
	const char *name;
	const char *operands; /* as the usage line shows them; NULL: none are taken */
	const char *about;    /* one paragraph for --help */
	const char *more;     /* what --help shows behind the flags, as it is; NULL: nothing */
	struct cli_list
		*words; /* gets the operands, and flags may stand among them; NULL: not so */
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

#define CLI_STATUS_USAGE 64 /* EX_USAGE; 1 and 2 say what is wrong with a configuration */

/*
 * Reads argv and the environment. With CLI_OK every option has its value and *ret_rest is the index
 * of the first operand (argc when there is none, or when the program has words); otherwise nothing
 * is touched but out.
 */
enum cli_verdict cli_parse(const struct cli_program *p, int argc, char *const argv[], int *ret_rest,
			   struct buf *out);
/*
 * Prints the text of a verdict that is not CLI_OK where it belongs. The status to exit with: 0, or
 * EXIT_FAILURE when it did not arrive (a full disk is not a success); usage after a mistake.
 */
int cli_tell(enum cli_verdict v, struct buf *text, int usage);
/* The same for main(): prints and exits when there is reason to; else the first operand's index. */
int cli_parse_or_exit(const struct cli_program *p, int argc, char *const argv[]);
