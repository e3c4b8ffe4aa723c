/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli: parsing flags.
 *
 * There are two passes. The first walks argv and then the table, and collects settings: an option
 * and its parsed value. Only if all of that succeeds, the second pass writes the values to the
 * program's variables, so that a usage error leaves nothing half set. The texts (help, version,
 * the nearest flag) are in help.c and nearest.c.
 */
#include "lib/cli/cli.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "lib/cli/cli_internal.h"

union value {
	const char *string;
	bool boolean;
	int64_t duration;
	enum log_level level;
	size_t count;
};

/* A value that is parsed but not yet stored. */
struct setting {
	const struct cli_option *option;
	union value value;
	bool fallback; /* from the table, not from the user */
};

/* The state of one cli_parse(). */
struct reader {
	const struct cli_program *program;
	struct buf *out;
	VEC(struct setting) settings;
	VEC(const char *) words;
};

const struct cli_option cli__builtins[CLI__BUILTINS] = {
	{ .name = "help", .kind = CLI_BOOL, .help = "show this text and exit" },
	{ .name = "version", .kind = CLI_BOOL, .help = "show the version and exit" },
};

static int parse_string(const struct cli_option *o, const char *text, union value *ret)
{
	ret->string = text;
	return 0;
}

static int parse_choice(const struct cli_option *o, const char *text, union value *ret)
{
	for (size_t i = 0; o->choices[i]; i++)
		if (strcmp(text, o->choices[i]) == 0) {
			ret->string = text;
			return 0;
		}
	return -EINVAL;
}

/* The words of Go's strconv.ParseBool: false at even indexes, true at odd ones. */
static int parse_bool(const struct cli_option *o, const char *text, union value *ret)
{
	static const char *const words[] = { "0",     "1",    "f",     "t",    "F",	"T",
					     "FALSE", "TRUE", "false", "true", "False", "True" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(text, words[i]) == 0) {
			ret->boolean = i % 2;
			return 0;
		}
	return -EINVAL;
}

static int parse_duration(const struct cli_option *o, const char *text, union value *ret)
{
	return duration_parse(text, &ret->duration);
}

static int parse_level(const struct cli_option *o, const char *text, union value *ret)
{
	return log_level_parse(text, &ret->level);
}

/* Digits only: strtoul() would also accept a sign and blanks. */
static int parse_count(const struct cli_option *o, const char *text, union value *ret)
{
	size_t n = strspn(text, "0123456789");
	unsigned long count = n < 10 ? strtoul(text, NULL, 10) : 0;

	if (text[n] || count < 1 || count > CLI_COUNT_MAX)
		return -EINVAL;
	ret->count = count;
	return 0;
}

static const struct kind {
	int (*parse)(const struct cli_option *o, const char *text, union value *ret);
	const char *argument;
	const char *expected; /* completes "... is not ..."; NULL: the list of choices */
	bool empty_is_set;    /* an empty environment variable counts as a value */
} kinds[] = {
	[CLI_STRING] = { parse_string, "TEXT", "a string", true },
	[CLI_CHOICE] = { parse_choice, "TEXT", NULL, false },
	[CLI_LIST] = { parse_string, "TEXT,...", "a list", true },
	[CLI_BOOL] = { parse_bool, NULL, "true or false", false },
	[CLI_DURATION] = { parse_duration, "DURATION", "a duration such as 1m30s or 200ms", false },
	[CLI_LEVEL] = { parse_level, "LEVEL", "a level (debug, info, warn, error)", false },
	[CLI_COUNT] = { parse_count, "N", "a number from 1 to 1000000", false },
};

const char *cli__argument(const struct cli_option *o)
{
	return o->argument ? o->argument : kinds[o->kind].argument;
}

void cli_list_free(struct cli_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->items[i]);
	vec_free(l);
}

/* Empty parts are dropped, so that "a,,b" and a trailing comma are harmless. */
static void append(struct cli_list *l, const char *text)
{
	struct str rest = str_of(text), part;

	while (str_cut(&rest, ',', &part)) {
		char *item;

		if (!part.n)
			continue;
		item = mem_zalloc(part.n + 1);
		memcpy(item, part.p, part.n);
		vec_push(l, item);
	}
}

static enum cli_verdict complain(struct reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static enum cli_verdict complain(struct reader *r, const char *fmt, ...)
{
	va_list ap;

	buf_printf(r->out, "%s: ", r->program->name);
	va_start(ap, fmt);
	buf_vprintf(r->out, fmt, ap);
	va_end(ap);
	buf_printf(r->out, "\nTry '%s --help'.\n", r->program->name);
	return CLI_EXIT_USAGE;
}

/* Writes "a, b or c" for choices, otherwise the kind's text. */
static void write_expected(const struct cli_option *o, struct buf *out)
{
	if (kinds[o->kind].expected) {
		buf_adds(out, kinds[o->kind].expected);
		return;
	}
	for (size_t i = 0; o->choices[i]; i++) {
		if (i)
			buf_adds(out, o->choices[i + 1] ? ", " : " or ");
		buf_adds(out, o->choices[i]);
	}
}

/*
 * Parses one value for an option. dashes and origin name it in a complaint: "--" and "config", or
 * "" and the environment variable.
 */
static enum cli_verdict collect(struct reader *r, const struct cli_option *o, const char *dashes,
				const char *origin, const char *text)
{
	_cleanup_(buf_free) struct buf expected = { 0 };
	struct setting s = { .option = o };

	if (kinds[o->kind].parse(o, text, &s.value) < 0) {
		write_expected(o, &expected);
		return complain(r, "%s%s: \"%s\" is not %s", dashes, origin, text,
				buf_cstr(&expected));
	}
	vec_push(&r->settings, s);
	return CLI_OK;
}

static const struct cli_option *find_in(const struct cli_option *options, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(str_of(options[i].name), name) ||
		    (name.n == 1 && options[i].letter && *name.p == options[i].letter))
			return &options[i];
	return NULL;
}

/* The program's own options come first: it may use -h for something else. */
static const struct cli_option *find(const struct cli_program *p, struct str name)
{
	const struct cli_option *o = find_in(p->options, p->n_options, name);

	if (o)
		return o;
	return find_in(cli__builtins, CLI__BUILTINS, str_eq(name, STR("h")) ? STR("help") : name);
}

static enum cli_verdict refuse_unknown(struct reader *r, struct str name)
{
	const char *nearest = cli__nearest(r->program, name);

	if (!nearest)
		return complain(r, "unknown flag --%.*s", (int)name.n, name.p);
	return complain(r, "unknown flag --%.*s; did you mean --%s?", (int)name.n, name.p, nearest);
}

/*
 * Handles --help or --version, which was just collected; --help=false is allowed and does
 * nothing.
 */
static enum cli_verdict obey_builtin(struct reader *r)
{
	const struct setting *last = &r->settings.items[r->settings.n - 1];

	if (!last->value.boolean)
		return CLI_OK;
	if (last->option == &cli__builtins[0])
		cli__write_help(r->program, r->out);
	else
		cli__write_version(r->program, r->out);
	return CLI_EXIT_OK;
}

static bool is_builtin(const struct cli_option *o)
{
	return o >= cli__builtins && o < cli__builtins + CLI__BUILTINS;
}

/*
 * The flag of a letter whose value follows without a space, as in -ojson; NULL if the word is none.
 * A long name of that spelling goes first.
 */
static const struct cli_option *find_glued(const struct cli_program *p, const char *word)
{
	const struct cli_option *o;

	if (word[0] != '-' || word[1] == '-' || !word[1] || !word[2] || word[2] == '=')
		return NULL;
	o = find_in(p->options, p->n_options, (struct str){ word + 1, 1 });
	return o && o->kind != CLI_BOOL ? o : NULL;
}

/* Parses the flag at argv[*at]; moves *at past it and its value. */
static enum cli_verdict read_flag(struct reader *r, int argc, char *const argv[], int *at)
{
	const char *text = argv[*at] + (argv[*at][1] == '-' ? 2 : 1);
	const char *equals = strchr(text, '=');
	struct str name = { text, equals ? (size_t)(equals - text) : strlen(text) };
	const struct cli_option *o = find(r->program, name);
	const struct cli_option *glued = o ? NULL : find_glued(r->program, argv[*at]);
	enum cli_verdict v;

	if (glued)
		return collect(r, glued, "--", glued->name, argv[(*at)++] + 2);
	if (!o)
		return refuse_unknown(r, name);
	(*at)++;
	if (equals)
		text = equals + 1;
	else if (o->kind == CLI_BOOL)
		text = "true";
	else if (*at < argc)
		text = argv[(*at)++];
	else
		return complain(r, "--%s needs a value", o->name);
	v = collect(r, o, "--", o->name, text);
	return v == CLI_OK && is_builtin(o) ? obey_builtin(r) : v;
}

/* A single "-" is an operand; by convention it names standard input. */
static bool is_flag(const char *word)
{
	return word[0] == '-' && word[1];
}

/*
 * Parses flags up to the first operand; if the program has words, all flags and the words between
 * them.
 */
static enum cli_verdict read_flags(struct reader *r, int argc, char *const argv[], int *at)
{
	enum cli_verdict v = CLI_OK;

	while (v == CLI_OK && *at < argc && strcmp(argv[*at], "--") != 0) {
		if (is_flag(argv[*at]))
			v = read_flag(r, argc, argv, at);
		else if (r->program->words)
			vec_push(&r->words, argv[(*at)++]);
		else
			return CLI_OK;
	}
	if (v == CLI_OK && *at < argc)
		(*at)++;
	return v;
}

static enum cli_verdict read_arguments(struct reader *r, int argc, char *const argv[],
				       int *ret_rest)
{
	int at = argc ? 1 : 0;
	enum cli_verdict v = read_flags(r, argc, argv, &at);

	if (v != CLI_OK)
		return v;
	if (at < argc && !r->program->operands)
		return complain(r, "unexpected argument \"%s\"", argv[at]);
	while (r->program->words && at < argc)
		vec_push(&r->words, argv[at++]);
	*ret_rest = at;
	return CLI_OK;
}

static bool is_collected(const struct reader *r, const struct cli_option *o)
{
	for (size_t i = 0; i < r->settings.n; i++)
		if (r->settings.items[i].option == o)
			return true;
	return false;
}

/* Fallbacks are parsed like user input, so a wrong one in the table is reported at every start. */
static enum cli_verdict collect_fallback(struct reader *r, const struct cli_option *o)
{
	enum cli_verdict v = collect(r, o, "--", o->name, o->fallback);

	if (v == CLI_OK)
		r->settings.items[r->settings.n - 1].fallback = true;
	return v;
}

/* Only for an option that no flag has set. */
static enum cli_verdict read_environment(struct reader *r, const struct cli_option *o)
{
	const char *text = o->env ? getenv(o->env) : NULL;

	if (text && (*text || kinds[o->kind].empty_is_set))
		return collect(r, o, "", o->env, text);
	return o->fallback ? collect_fallback(r, o) : CLI_OK;
}

static void apply(const struct setting *s)
{
	if (s->option->given && !s->fallback)
		*s->option->given = true;
	switch (s->option->kind) {
	case CLI_STRING:
	case CLI_CHOICE:
		*s->option->string = s->value.string;
		break;
	case CLI_LIST:
		append(s->option->list, s->value.string);
		break;
	case CLI_BOOL:
		*s->option->boolean = s->value.boolean;
		break;
	case CLI_DURATION:
		*s->option->duration = s->value.duration;
		break;
	case CLI_LEVEL:
		*s->option->level = s->value.level;
		break;
	case CLI_COUNT:
		*s->option->count = s->value.count;
		break;
	}
}

static enum cli_verdict read_all(struct reader *r, int argc, char *const argv[], int *ret_rest)
{
	enum cli_verdict v = read_arguments(r, argc, argv, ret_rest);

	for (size_t i = 0; v == CLI_OK && i < r->program->n_options; i++)
		if (!is_collected(r, &r->program->options[i]))
			v = read_environment(r, &r->program->options[i]);
	return v;
}

/* Nothing is written to the program's variables before everything has been parsed. */
enum cli_verdict cli_parse(const struct cli_program *p, int argc, char *const argv[], int *ret_rest,
			   struct buf *out)
{
	struct reader r = { .program = p, .out = out };
	enum cli_verdict v;
	int rest = argc;

	assert(p && p->name && p->about && (p->options || !p->n_options) && ret_rest && out);

	v = read_all(&r, argc, argv, &rest);
	if (v == CLI_OK) {
		for (size_t i = 0; i < r.settings.n; i++)
			if (!is_builtin(r.settings.items[i].option))
				apply(&r.settings.items[i]);
		for (size_t i = 0; i < r.words.n; i++)
			vec_push(p->words, mem_strdup(r.words.items[i]));
		*ret_rest = rest;
	}
	vec_free(&r.words);
	vec_free(&r.settings);
	return v;
}

int cli_tell(enum cli_verdict v, struct buf *text, int usage)
{
	FILE *to = v == CLI_EXIT_OK ? stdout : stderr;
	bool arrived;

	assert(v != CLI_OK);

	fputs(buf_cstr(text), to);
	arrived = fflush(to) == 0;
	if (v == CLI_EXIT_USAGE)
		return usage;
	return arrived ? EXIT_SUCCESS : EXIT_FAILURE;
}

int cli_parse_or_exit(const struct cli_program *p, int argc, char *const argv[])
{
	_cleanup_(buf_free) struct buf out = { 0 };
	int rest = argc;
	enum cli_verdict v = cli_parse(p, argc, argv, &rest, &out);

	if (v != CLI_OK)
		exit(cli_tell(v, &out, CLI_STATUS_USAGE));
	return rest;
}
