/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell: reads lines and runs them; completion and help come from the command tree.
 *
 * The prompt shows the servers and whether they can be reached. A link checks that in the
 * background, so the prompt changes without a key being pressed, and a lost connection is made
 * again before the next command needs it. Names are requested only from servers that answer, so
 * that Tab does not hang.
 */
#include "src/maglevc/shell.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "src/maglevc/complete.h"
#include "src/maglevc/editor.h"
#include "src/maglevc/history.h"
#include "src/maglevc/link.h"
#include "src/maglevc/names.h"
#include "src/maglevc/pipe.h"
#include "src/maglevc/text.h"
#include "src/maglevc/words.h"

#define FIRST_ANSWER 1. /* s that the first prompt waits for the server */

struct shell {
	struct session *session;
	struct link link;
	struct editor *editor;
	struct buf history; /* path of its file; empty: none */
	bool over;	    /* exit or quit */
};

/* ---- one line ---- */

/* Runs a command, its lines through the pipe. */
static enum status run_piped(struct session *s, const struct command *c, struct pipe *pipe)
{
	_cleanup_(buf_free) struct buf end = { 0 };
	enum status status;

	if (!pipe->n)
		return session_run(s, c);
	s->pipe = pipe;
	status = session_run(s, c);
	s->pipe = NULL;
	if (!pipe->told)
		pipe_end(pipe, &end);
	if (session_print(s, &end) != STATUS_DONE)
		return STATUS_REFUSED;
	return status;
}

/*
 * Parses and runs one command. Complains about words that are not a command. *ret_over is set by
 * exit and quit; it is unchanged if the words are not a command.
 */
static enum status run_words(struct session *s, const struct words *w, bool *ret_over)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	size_t n = words_command(w);
	struct pipe pipe = { 0 };
	struct command c;
	enum status status;

	if (w->quote) {
		session_complain(s, "there is no closing %c", w->quote);
		return STATUS_USAGE;
	}
	if (!w->n)
		return STATUS_DONE;
	if (command_parse(w->items, n, true, &c, &why) < 0 ||
	    (n < w->n && pipe_parse(&pipe, w->items + n + 1, w->n - n - 1, &why) < 0)) {
		session_complain(s, "%s", buf_cstr(&why));
		return STATUS_USAGE;
	}
	*ret_over = c.act == ACT_EXIT;
	status = *ret_over ? STATUS_DONE : run_piped(s, &c, &pipe);
	pipe_free(&pipe);
	return status;
}

static enum status run_line(struct session *s, struct str line, bool *ret_over)
{
	struct words w;
	enum status status;

	words_split(&w, line);
	status = run_words(s, &w, ret_over);
	words_free(&w);
	return status;
}

/* ---- the prompt ---- */

static void write_prompt(struct buf *out, void *user)
{
	static const struct {
		const char *color, *text;
	} words[] = {
		[LINK_REACHABLE] = { "32", "" },
		[LINK_CONNECTING] = { "33", " (connecting)" },
		[LINK_SILENT] = { "31", " (no answer)" },
		[LINK_UNREACHABLE] = { "31", " (unreachable)" },
	};
	const struct shell *sh = user;
	const struct options *o = sh->session->options;
	enum link_state state = link_state(&sh->link);
	size_t lost = link_lost(&sh->link);

	if (o->color)
		buf_printf(out, "\1\033[%sm\1", words[state].color);
	text_add_clean(out, str_of(o->servers[SERVER_MAGLEVD]));
	if (lost && sh->link.n > 1)
		buf_printf(out, " (%zu of %zu unreachable)", lost, sh->link.n);
	else
		buf_adds(out, words[state].text);
	buf_adds(out, o->color ? "\1\033[0m\1> " : "> ");
}

/* ---- Tab and ? ---- */

static void ask_names(enum node_kind kind, const struct command *c, struct candidates *out,
		      void *user)
{
	struct shell *sh = user;

	/*
	 * speakers and routers have no link; a Tab waits for them, but not longer than names_ask()
	 * does
	 */
	if (kind == NODE_VIP || kind == NODE_ROUTE || kind == NODE_ROUTER_POOL ||
	    link_lost(&sh->link) < sh->link.n)
		names_ask(kind, c, out, sh->session);
}

/* Splits off the last word if the cursor touches it, since it may be unfinished. */
static struct typing typing_of(const struct words *w)
{
	bool open = w->n && w->touching;

	return (struct typing){ .words = w->items,
				.n = open ? w->n - 1 : w->n,
				.begin = open ? w->items[w->n - 1] : "",
				.shell = true };
}

/*
 * Leaves two lines free, so that a list pushes neither the edited line nor its own beginning off
 * the screen.
 */
static struct area area_of(struct editor *e)
{
	size_t height = editor_height(e);

	return (struct area){ .width = editor_width(e), .height = height > 4 ? height - 2 : 2 };
}

/*
 * Number of bytes after the cursor that equal the text to be added. They are replaced, so that
 * Tab in the middle of a word does not write its end twice. If the word is finished, a closing
 * quote and a space after it are included.
 */
static size_t overlap(struct str behind, const char *added, char quote, bool finished)
{
	size_t n = 0;

	while (n < behind.n && added[n] && behind.p[n] == added[n])
		n++;
	/* do not cut a UTF-8 character in two */
	while (n && n < behind.n && ((unsigned char)behind.p[n] & 0xc0) == 0x80)
		n--;
	if (!finished || added[n])
		return n;
	if (quote && n < behind.n && behind.p[n] == quote)
		n++;
	return n < behind.n && behind.p[n] == ' ' ? n + 1 : n;
}

/*
 * Adds the common part of the candidates to the line. If that adds nothing and there are
 * several, lists them.
 */
static void offer(struct editor *e, const struct words *w, const struct candidates *c)
{
	_cleanup_(buf_free) struct buf text = { 0 }, lines = { 0 };
	_cleanup_(cleanup_free) char *common = strndup(c->items[0].word, complete_common(c));
	size_t typed = w->n && w->touching ? editor_before_cursor(e).n - w->last : 0;
	struct typing t = typing_of(w);

	if (c->n == 1 || strlen(common) > strlen(t.begin)) {
		words_add_typed(&text, common, w->quote, c->n == 1);
		if (c->n == 1)
			buf_addc(&text, ' ');
		editor_replace(e, typed,
			       overlap(editor_behind_cursor(e), common + strlen(t.begin), w->quote,
				       c->n == 1),
			       buf_cstr(&text));
		return;
	}
	complete_list(c, area_of(e), &lines);
	editor_show(e, buf_cstr(&lines));
}

static void on_tab(struct editor *e, void *user)
{
	struct candidates c;
	struct typing t;
	struct words w;

	words_split(&w, editor_before_cursor(e));
	t = typing_of(&w);
	complete(&t, ask_names, user, &c);
	if (c.n && !w.comment)
		offer(e, &w, &c);
	else
		editor_beep(e);
	candidates_free(&c);
	words_free(&w);
}

/* Inside quotes and comments a "?" is an ordinary character. */
static bool on_help(struct editor *e, void *user)
{
	_cleanup_(buf_free) struct buf lines = { 0 };
	struct words w;
	bool literal;

	words_split(&w, editor_before_cursor(e));
	literal = w.quote || w.comment;
	if (!literal) {
		struct typing t = typing_of(&w);

		complete_explain(&t, ask_names, user, area_of(e), &lines);
		editor_show(e, buf_cstr(&lines));
	}
	words_free(&w);
	return !literal;
}

/* ---- the shell ---- */

static void on_enough(struct ev_loop *loop, ev_timer *w, int revents)
{
	ev_break(loop, EVBREAK_ONE);
}

/*
 * Waits a moment for the first check. A server that is up mostly answers within milliseconds, so
 * the first prompt need not say "connecting".
 */
static void wait_for_link(struct shell *sh)
{
	struct session *s = sh->session;
	ev_timer enough;

	ev_timer_init(&enough, on_enough, FIRST_ANSWER, 0.);
	ev_timer_start(s->loop, &enough);
	while (link_state(&sh->link) == LINK_CONNECTING && ev_is_active(&enough))
		ev_run(s->loop, EVRUN_ONCE);
	ev_timer_stop(s->loop, &enough);
	for (size_t i = 0; i < sh->link.n; i++)
		if (sh->link.checks[i].why.n)
			session_complain(s, "%s", buf_cstr(&sh->link.checks[i].why));
}

/*
 * The terminal may have sent more than one key during a watch; those bytes go back to the
 * editor.
 */
static void read_lines(struct shell *sh)
{
	_cleanup_(buf_free) struct buf line = { 0 };
	struct session *s = sh->session;
	enum editor_result r;

	while (!sh->over && !s->ended && (r = editor_read(sh->editor, &line)) != EDITOR_END) {
		if (r == EDITOR_INTERRUPTED)
			continue;
		if (str_trim((struct str){ line.p, line.n }).n)
			editor_remember(sh->editor, buf_cstr(&line));
		run_line(s, (struct str){ line.p, line.n }, &sh->over);
		editor_unread(sh->editor, &s->typed);
	}
}

/*
 * A bad history that was asked for is an error at the start, because saving it would overwrite a
 * file that is not ours. Without a place for the default one, it is kept in memory only.
 */
static enum status load_history(struct shell *sh)
{
	const struct options *o = sh->session->options;
	int r;

	if (o->history_given)
		buf_adds(&sh->history, o->history);
	else if (history_place(&sh->history) < 0)
		return STATUS_DONE;
	r = sh->history.n ? editor_load(sh->editor, buf_cstr(&sh->history)) : 0;
	if (r == 0)
		return STATUS_DONE;
	sh->history.n = 0;
	if (!o->history_given)
		return STATUS_DONE;
	session_complain(sh->session, "--history: %s: %s", o->history,
			 r == -EINVAL ? "not a history" : strerror(-r));
	return STATUS_USAGE;
}

static void save_history(struct shell *sh)
{
	if (sh->history.n && editor_save(sh->editor, buf_cstr(&sh->history)) < 0)
		session_complain(sh->session, "--history: %s: cannot be written",
				 buf_cstr(&sh->history));
}

static enum status converse(struct shell *sh)
{
	const struct editor_events events = {
		.prompt = write_prompt, .tab = on_tab, .help = on_help, .user = sh
	};
	struct session *s = sh->session;
	enum status status;

	sh->editor = editor_new(s->loop, stdin, s->out, &events);
	if (!sh->editor) {
		session_complain(s, "the terminal cannot be used");
		return STATUS_USAGE;
	}
	status = load_history(sh);
	if (status == STATUS_DONE) {
		fprintf(s->out, "maglevc %s. Tab completes, ? helps, Ctrl-D leaves.\n",
			cli_version.version);
		wait_for_link(sh);
		read_lines(sh);
		save_history(sh);
	}
	editor_free(sh->editor);
	return status;
}

enum status shell_run(struct session *s)
{
	struct shell sh = { .session = s };
	enum status status;

	assert(s && s->shell);

	status = session_connect(s, SERVER_MAGLEVD);
	if (status != STATUS_DONE)
		return status;
	link_start(&sh.link, s);
	status = converse(&sh);
	link_stop(&sh.link);
	buf_free(&sh.history);
	return status;
}

enum status shell_run_script(struct session *s, FILE *in)
{
	_cleanup_(cleanup_free) char *line = NULL;
	enum status status = STATUS_DONE;
	bool over = false;
	size_t size = 0;
	ssize_t n;

	assert(s && in);

	while (status == STATUS_DONE && !over && !s->ended &&
	       (n = getline(&line, &size, in)) >= 0) {
		s->line++;
		status = run_line(s, (struct str){ line, (size_t)n }, &over);
	}
	return status;
}
