/* SPDX-License-Identifier: Apache-2.0 */
/*
 * editor: libedit, with our loop running where libedit would block.
 *
 * libedit calls on_character() for each key. That function runs the loop until the terminal is
 * readable and decodes one character. Bytes are read one at a time, so that typed-ahead input stays
 * in the kernel for the next reader. Signals are watchers of the loop. Output between two keys must
 * go through erase() or leave_line() and then make libedit draw the line again, because libedit
 * does not know that the screen has changed.
 */
#include "src/maglevc/editor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define HISTORY 1000 /* lines */
/* Marks text in the prompt that takes no columns, see EL_PROMPT_ESC in editline(3). */
#define LITERAL '\1'

struct editor {
	EditLine *el;
	History *history;
	FILE *in, *out;
	struct termios before; /* settings of the terminal before the editor */
	struct ev_loop *loop;
	struct editor_events events;
	ev_io readable;
	ev_signal signals[5];
	mbstate_t shift;   /* of a character of which not all bytes have arrived */
	struct buf prompt; /* as it is on the screen now */
	struct buf unread; /* is consumed before bytes of the terminal */
	bool ansi;	   /* the terminal understands cursor movement */
	/* reading: inside editor_read(), when libedit owns the screen */
	bool reading, has_key, interrupted, ended;
};

static struct editor *editor_of(EditLine *el)
{
	struct editor *e = NULL;

	el_get(el, EL_CLIENTDATA, &e);
	return e;
}

/* ---- the screen ---- */

size_t editor_width(struct editor *e)
{
	int width = 0;

	el_get(e->el, EL_GETTC, "co", &width, NULL);
	return width > 0 ? (size_t)width : 80;
}

size_t editor_height(struct editor *e)
{
	int height = 0;

	el_get(e->el, EL_GETTC, "li", &height, NULL);
	return height > 0 ? (size_t)height : 24;
}

/*
 * The number of columns that a text takes. Text between two LITERAL takes none, wide characters
 * take two.
 */
static size_t columns_of(const char *text, size_t n)
{
	size_t columns = 0;
	bool literal = false;

	for (size_t i = 0; i < n;) {
		size_t length = utf8_char(text + i, n - i);
		wchar_t c = 0;

		if (text[i] == LITERAL)
			literal = !literal;
		else if (!literal && mbtowc(&c, text + i, n - i) > 0 && wcwidth(c) > 0)
			columns += (size_t)wcwidth(c);
		i += length ? length : 1;
	}
	return columns;
}

/* The row of a place in the line, counted from the row of the prompt. */
static size_t row_of(struct editor *e, const char *at)
{
	const LineInfo *line = el_line(e->el);
	size_t columns = columns_of(e->prompt.p, e->prompt.n) +
			 columns_of(line->buffer, (size_t)(at - line->buffer));

	return columns / editor_width(e);
}

/* Moves to the beginning of the prompt and erases everything from there. */
static void erase(struct editor *e)
{
	for (size_t i = row_of(e, el_line(e->el)->cursor); i > 0; i--)
		fputs("\033[A", e->out);
	fputs("\r\033[J", e->out);
}

/* Moves to the first row below the line that is being edited, which may span several rows. */
static void leave_line(struct editor *e)
{
	const LineInfo *line = el_line(e->el);

	for (size_t i = row_of(e, line->cursor); i <= row_of(e, line->lastchar); i++)
		fputc('\n', e->out);
}

static void draw_again(struct editor *e)
{
	fflush(e->out);
	el_set(e->el, EL_REFRESH);
}

/* libedit keeps the pointer until the next call, so the text lives in the editor. */
static char *on_prompt(EditLine *el)
{
	struct editor *e = editor_of(el);

	e->prompt.n = 0;
	e->events.prompt(&e->prompt, e->events.user);
	buf_cstr(&e->prompt);
	return e->prompt.p;
}

/*
 * Draws the prompt again if it has changed. Erasing needs the old prompt, whose length says how
 * many rows are to be erased, so it happens before on_prompt() replaces it.
 */
static void update_prompt(struct editor *e)
{
	_cleanup_(buf_free) struct buf now = { 0 };

	e->events.prompt(&now, e->events.user);
	if (!e->ansi || strcmp(buf_cstr(&now), buf_cstr(&e->prompt)) == 0)
		return;
	erase(e);
	draw_again(e);
}

/* ---- signals ---- */

static void on_interrupt(struct ev_loop *loop, ev_signal *w, int revents)
{
	((struct editor *)w->data)->interrupted = true;
}

static void on_end(struct ev_loop *loop, ev_signal *w, int revents)
{
	((struct editor *)w->data)->ended = true;
}

static void on_resize(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct editor *e = w->data;

	if (e->reading && e->ansi)
		erase(e);
	el_resize(e->el);
	if (e->reading)
		draw_again(e);
}

/*
 * Stops the process the way the terminal would. The settings from before the editor are restored
 * first, for the shell that gets the terminal next; afterwards our settings are set again,
 * because not every shell restores them.
 */
static void suspend(struct editor *e)
{
	int fd = fileno(e->in);
	struct termios now;

	if (e->reading)
		el_set(e->el, EL_PREP_TERM, 0);
	tcgetattr(fd, &now);
	tcsetattr(fd, TCSADRAIN, &e->before);
	kill(getpid(), SIGSTOP);
	tcsetattr(fd, TCSADRAIN, &now);
	if (!e->reading)
		return;
	el_set(e->el, EL_PREP_TERM, 1);
	draw_again(e);
}

static void on_suspend(struct ev_loop *loop, ev_signal *w, int revents)
{
	suspend(w->data);
}

/* The watchers are unreferenced so that they alone do not keep ev_run() from returning. */
static void watch_signals(struct editor *e)
{
	static const struct {
		int number;
		void (*happened)(struct ev_loop *loop, ev_signal *w, int revents);
	} table[] = {
		{ SIGINT, on_interrupt }, { SIGTERM, on_end },	   { SIGHUP, on_end },
		{ SIGWINCH, on_resize },  { SIGTSTP, on_suspend },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		ev_signal_init(&e->signals[i], table[i].happened, table[i].number);
		e->signals[i].data = e;
		ev_signal_start(e->loop, &e->signals[i]);
		ev_unref(e->loop);
	}
}

static void ignore_signals(struct editor *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(e->signals); i++) {
		ev_ref(e->loop);
		ev_signal_stop(e->loop, &e->signals[i]);
	}
}

/* ---- keys ---- */

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	container_of(w, struct editor, readable)->has_key = true;
}

void editor_unread(struct editor *e, struct buf *bytes)
{
	buf_add(&e->unread, bytes->p, bytes->n);
	bytes->n = 0;
}

/* Reads one byte like read(), from the unread bytes first. */
static ssize_t take_byte(struct editor *e, char *ret)
{
	if (!e->unread.n)
		return read(fileno(e->in), ret, 1);
	*ret = e->unread.p[0];
	memmove(e->unread.p, e->unread.p + 1, --e->unread.n);
	return 1;
}

static void wait_for_key(struct editor *e)
{
	e->has_key = e->unread.n > 0;
	ev_io_start(e->loop, &e->readable);
	while (!e->has_key && !e->interrupted && !e->ended) {
		ev_run(e->loop, EVRUN_ONCE);
		update_prompt(e);
	}
	ev_io_stop(e->loop, &e->readable);
}

/*
 * Ctrl-C and Ctrl-Z are read as bytes (ISIG is off while a line is edited), so that they take
 * effect in order with the keys around them. A signal would overtake keys that are not yet read.
 */
static bool is_signal(struct editor *e, char byte)
{
	if (byte == ('C' & 31))
		e->interrupted = true;
	else if (byte == ('Z' & 31))
		suspend(e);
	else
		return false;
	return true;
}

/* Waits for one byte. Returns 1, 0 at the end of the input, or -EINTR after Ctrl-C. */
static int read_byte(struct editor *e, char *ret)
{
	ssize_t n;

	do {
		wait_for_key(e);
		if (e->interrupted)
			return -EINTR;
		n = e->ended ? 0 : take_byte(e, ret);
	} while ((n < 0 && (errno == EINTR || errno == EAGAIN)) || (n > 0 && is_signal(e, *ret)));
	if (n <= 0)
		e->ended = true;
	return n > 0;
}

/*
 * EL_GETCFN of libedit: returns 1 with a character, 0 at the end of the input, -1 after Ctrl-C.
 * Bytes that are not a valid character are dropped.
 */
static int on_character(EditLine *el, wchar_t *ret)
{
	struct editor *e = editor_of(el);

	for (;;) {
		char byte;
		size_t n;
		int r = read_byte(e, &byte);

		if (r <= 0) {
			errno = r ? EINTR : 0;
			return r ? -1 : 0;
		}
		n = mbrtowc(ret, &byte, 1, &e->shift);
		if (n <= 1)
			return 1;
		if (n == (size_t)-1)
			e->shift = (mbstate_t){ 0 };
	}
}

static unsigned char on_tab(EditLine *el, int key)
{
	struct editor *e = editor_of(el);

	e->events.tab(e, e->events.user);
	return CC_REFRESH;
}

static unsigned char on_help(EditLine *el, int key)
{
	struct editor *e = editor_of(el);

	if (!e->events.help(e, e->events.user))
		el_insertstr(el, "?");
	return CC_REFRESH;
}

/* ---- for the keys ---- */

struct str editor_before_cursor(struct editor *e)
{
	const LineInfo *line = el_line(e->el);

	return (struct str){ line->buffer, (size_t)(line->cursor - line->buffer) };
}

struct str editor_behind_cursor(struct editor *e)
{
	const LineInfo *line = el_line(e->el);

	return (struct str){ line->cursor, (size_t)(line->lastchar - line->cursor) };
}

/* libedit deletes and moves by characters, our offsets are bytes. */
static int characters_of(const char *text, size_t n)
{
	int characters = 0;

	for (size_t i = 0; i < n; i++)
		characters += ((unsigned char)text[i] & 0xc0) != 0x80;
	return characters;
}

void editor_replace(struct editor *e, size_t before, size_t behind, const char *text)
{
	struct str left = editor_before_cursor(e), right = editor_behind_cursor(e);
	int over, all;

	assert(before <= left.n && behind <= right.n);
	over = characters_of(right.p, behind);
	all = over + characters_of(left.p + left.n - before, before);
	el_cursor(e->el, over);
	if (all)
		el_deletestr(e->el, all);
	el_insertstr(e->el, text);
}

void editor_show(struct editor *e, const char *lines)
{
	leave_line(e);
	fputs(lines, e->out);
	draw_again(e);
}

void editor_beep(struct editor *e)
{
	el_beep(e->el);
}

/* ---- life ---- */

/*
 * Keys known from other shells. ~/.editrc is read in between, so it may change these, but not
 * Tab and "?".
 */
static void bind_keys(EditLine *el)
{
	static const char *const keys[][2] = {
		{ "^W", "ed-delete-prev-word" },     { "^R", "em-inc-search-prev" },
		{ "\\e[3~", "ed-delete-next-char" }, { "\\e[1;5D", "ed-prev-word" },
		{ "\\e[1;5C", "em-next-word" },	     { "\\e[1~", "ed-move-to-beg" },
		{ "\\e[4~", "ed-move-to-end" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		el_set(el, EL_BIND, keys[i][0], keys[i][1], NULL);
	el_source(el, NULL);
	el_wset(el, EL_ADDFN, L"maglev-tab", L"complete the word", on_tab);
	el_wset(el, EL_ADDFN, L"maglev-help", L"show what can come next", on_help);
	el_set(el, EL_BIND, "^I", "maglev-tab", NULL);
	el_set(el, EL_BIND, "?", "maglev-help", NULL);
}

static bool can_move(void)
{
	const char *term = getenv("TERM");

	return term && *term && strcmp(term, "dumb") != 0;
}

struct editor *editor_new(struct ev_loop *loop, FILE *in, FILE *out,
			  const struct editor_events *events)
{
	struct editor *e;
	EditLine *el;
	HistEvent event;
	struct termios before;

	assert(loop && in && out && events && events->prompt && events->tab && events->help);

	if (tcgetattr(fileno(in), &before) < 0)
		return NULL;
	el = el_init("maglevc", in, out, stderr);
	if (!el)
		return NULL;
	e = mem_zalloc(sizeof(*e));
	*e = (struct editor){ .el = el, .in = in, .out = out, .loop = loop, .events = *events };
	e->before = before;
	e->ansi = can_move();
	e->history = history_init();
	history(e->history, &event, H_SETSIZE, HISTORY);
	history(e->history, &event, H_SETUNIQUE, 1);
	el_set(el, EL_CLIENTDATA, e);
	el_set(el, EL_EDITOR, "emacs");
	el_set(el, EL_PROMPT_ESC, on_prompt, LITERAL);
	el_set(el, EL_HIST, history, e->history);
	el_set(el, EL_GETCFN, on_character);
	el_set(el, EL_SETTY, "-d", "-isig", NULL); /* while a line is edited, see is_signal() */
	/* while a command runs: typed-ahead keys are kept unchanged and echoed once, by libedit */
	el_set(el, EL_SETTY, "-x", "-echo", "-icanon", NULL);
	bind_keys(el);
	ev_io_init(&e->readable, on_readable, fileno(in), EV_READ);
	watch_signals(e);
	return e;
}

void editor_free(struct editor *e)
{
	ignore_signals(e);
	el_end(e->el);
	history_end(e->history);
	buf_free(&e->prompt);
	buf_free(&e->unread);
	free(e);
}

enum editor_result editor_read(struct editor *e, struct buf *line)
{
	const char *text;
	int n = 0;

	e->interrupted = false;
	e->reading = true;
	el_set(e->el, EL_PREP_TERM,
	       1); /* before the prompt is drawn: else early keys are echoed twice */
	text = el_gets(e->el, &n);
	e->reading = false;
	if (text && n > 0 && !e->interrupted) {
		line->n = 0;
		buf_adds(line, text);
		while (line->n && (line->p[line->n - 1] == '\n' || line->p[line->n - 1] == '\r'))
			line->n--;
		return EDITOR_LINE;
	}
	if (e->interrupted)
		fputs("^C", e->out);
	leave_line(e);
	fflush(e->out);
	return e->interrupted ? EDITOR_INTERRUPTED : EDITOR_END;
}

/* ---- history ---- */

void editor_remember(struct editor *e, const char *line)
{
	HistEvent event;

	history(e->history, &event, H_ENTER, line);
}

/*
 * Opens the file first, to create it with mode 0600, and because libedit refuses to load an
 * empty file, which is a valid history here.
 */
int editor_load(struct editor *e, const char *path)
{
	_cleanup_(cleanup_fd) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct stat st;
	HistEvent event;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size > 0 && history(e->history, &event, H_LOAD, path) < 0)
		return -EINVAL;
	return 0;
}

int editor_save(struct editor *e, const char *path)
{
	HistEvent event;

	return history(e->history, &event, H_SAVE, path) < 0 ? -EIO : 0;
}
