/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/many.h"

#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "src/maglevc/calls.h"
#include "src/maglevc/keys.h"
#include "src/maglevc/text.h"

#define SIGNALS 2

/* A question on the terminal. */
struct question {
	struct session *session;
	struct keys keys;
	ev_signal signals[SIGNALS];
	bool over;
};

static void end(struct question *q)
{
	q->over = true;
	ev_break(q->session->loop, EVBREAK_ONE);
}

static void on_key(void *user)
{
	end(user);
}

/* Outside the shell a signal ends the program, but the terminal has to be restored first. */
static void on_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct question *q = w->data;

	if (w->signum != SIGINT || !q->session->keys)
		q->session->ended = true;
	end(q);
}

/*
 * One key is the answer; only y is a yes. Keys that were typed before the question do not count.
 * The echo is off before it is shown.
 */
static bool agrees(struct session *s, const char *question)
{
	static const int numbers[SIGNALS] = { SIGINT, SIGTERM };
	struct question q = { .session = s };
	bool yes;

	tcflush(STDIN_FILENO, TCIFLUSH);
	keys_start(&q.keys, s->loop, STDIN_FILENO, on_key, &q);
	fprintf(s->out, "%s [y/N] ", question);
	fflush(s->out);
	for (size_t i = 0; i < SIGNALS; i++) {
		ev_signal_init(&q.signals[i], on_signal, numbers[i]);
		q.signals[i].data = &q;
		ev_signal_start(s->loop, &q.signals[i]);
	}
	while (!q.over)
		ev_run(s->loop, 0);
	keys_stop(&q.keys);
	for (size_t i = 0; i < SIGNALS; i++)
		ev_signal_stop(s->loop, &q.signals[i]);
	yes = q.keys.n == 1 && (q.keys.key[0] == 'y' || q.keys.key[0] == 'Y');
	fputs(yes ? "yes\n" : "no\n", s->out);
	fflush(s->out);
	return yes;
}

/* "Pause 6 backends on 2 servers; frontends: 1 goes down?" */
static void write_question(const struct command *c, const struct many_sum *sum, struct buf *out)
{
	const char *act = c->args[SLOT_ACT];

	buf_printf(out, "%c%s ", act[0] - 'a' + 'A', act + 1);
	many_describe(sum, out);
	buf_addc(out, '?');
}

/*
 * Shows what the act would do and asks. A server that does not answer, or refuses, is complained
 * about and does not keep the others from it. Returns STATUS_DONE with *ret_yes set, or why there
 * is nothing to ask.
 */
static enum status ask_first(struct session *s, const struct command *c, const struct action *a,
			     bool *ret_yes)
{
	_cleanup_(buf_free) struct buf question = { 0 };
	struct many_sum sum = { 0 };
	struct answers answers;
	enum status status;

	calls_ask(s, c, a, &(struct calls_extra){ .dry_run = true, .sum = &sum }, &answers);
	status = answers_print(s, &answers);
	*ret_yes = false;
	if (sum.servers && !answers.interrupted) {
		write_question(c, &sum, &question);
		*ret_yes = agrees(s, buf_cstr(&question));
		status = *ret_yes ? STATUS_DONE : STATUS_REFUSED;
		if (!*ret_yes)
			session_complain(s, "nothing was changed");
	}
	answers_free(&answers);
	return status;
}

enum status many_run(struct session *s, const struct command *c, const struct action *a)
{
	bool ask = s->asks && !s->options->yes && !s->options->json && !c->args[SLOT_PLAN];
	bool yes = true;
	struct many_sum sum = { .brief = ask };
	enum status status = ask ? ask_first(s, c, a, &yes) : STATUS_DONE;
	struct answers answers;

	if (!yes || status != STATUS_DONE)
		return status;
	calls_ask(s, c, a, &(struct calls_extra){ .sum = &sum }, &answers);
	status = answers_print(s, &answers);
	answers_free(&answers);
	return status;
}
