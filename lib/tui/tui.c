/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tui: what we use of ncurses. Texts are UTF-8 and are cut by columns, not by bytes. Colours come
 * from the terminal's own palette on its own background; on a terminal without colours the
 * attributes and the words carry the meaning.
 */
#include "lib/tui/tui.h"

#include <assert.h>
#include <errno.h>
#include <locale.h>
#include <ncursesw/curses.h>
#include <ncursesw/term.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

struct tui {
	SCREEN *screen;
	attr_t styles[TUI_BAR + 1]; /* by enum tui_style */
	short pairs[TUI_BAR + 1];   /* colour pairs, 0 for none */
};

/*
 * use_default_colors() makes -1 the terminal's own colour; pair 0 cannot be changed and means
 * none.
 */
static void make_styles(struct tui *t)
{
	static const struct {
		attr_t attributes;
		short color;
	} wanted[] = {
		[TUI_STRONG] = { A_BOLD, -1 },
		[TUI_FAINT] = { A_DIM, -1 },
		[TUI_GOOD] = { A_NORMAL, COLOR_GREEN },
		[TUI_BAD] = { A_BOLD, COLOR_RED },
		[TUI_DOUBT] = { A_NORMAL, COLOR_YELLOW },
		[TUI_BAR] = { A_REVERSE, -1 },
	};
	bool colors = has_colors() && start_color() == OK && use_default_colors() == OK;

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		t->styles[i] = wanted[i].attributes;
		if (colors && wanted[i].color > 0 && init_pair((short)i, wanted[i].color, -1) == OK)
			t->pairs[i] = (short)i;
	}
}

/*
 * ncurses needs a locale with UTF-8 for characters beyond ASCII. If the user's locale has
 * single-byte characters (LANG=C over ssh), C.UTF-8 is used instead.
 */
static void set_characters(void)
{
	setlocale(LC_CTYPE, "");
	if (MB_CUR_MAX == 1)
		setlocale(LC_CTYPE, "C.UTF-8");
}

/* Whether the terminal can position the cursor; a full screen is of no use without (TERM=dumb). */
static bool can_move(void)
{
	int error;
	bool can;

	if (setupterm(NULL, STDOUT_FILENO, &error) != OK)
		return false;
	can = tigetstr("cup") != NULL;
	del_curterm(cur_term);
	return can;
}

/* Sequences of function keys begin with ESC; after 50 ms an ESC alone counts as the Escape key. */
int tui_new(struct tui **ret)
{
	struct tui *t;
	SCREEN *screen;

	assert(ret);

	set_characters();
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !can_move())
		return -ENOTTY;
	set_escdelay(50);
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return -ENOTTY;
	t = mem_zalloc(sizeof(*t));
	t->screen = screen;
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	make_styles(t);
	*ret = t;
	return 0;
}

void tui_free(struct tui *t)
{
	endwin();
	delscreen(t->screen);
	free(t);
}

void tui_suspend(struct tui *t)
{
	endwin();
}

/* clearok() makes the next refresh() repaint everything instead of the difference. */
void tui_resume(struct tui *t)
{
	reset_prog_mode();
	tui_resized(t);
	clearok(curscr, TRUE);
}

void tui_resized(struct tui *t)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
}

size_t tui_columns(const struct tui *t)
{
	return (size_t)getmaxx(stdscr);
}

size_t tui_rows(const struct tui *t)
{
	return (size_t)getmaxy(stdscr);
}

/*
 * Decodes the character at p; a question mark replaces invalid bytes and characters without
 * width, which control characters are. Returns the bytes consumed, at least 1.
 */
static size_t take(const char *p, size_t n, wchar_t *ret)
{
	size_t length = utf8_char(p, n);
	mbstate_t shift = { 0 };

	if (!length || mbrtowc(ret, p, length, &shift) != length || wcwidth(*ret) < 1)
		*ret = L'?';
	return length ? length : 1;
}

size_t tui_width(const char *text)
{
	size_t n = strlen(text), width = 0;

	for (size_t i = 0; i < n;) {
		wchar_t c;

		i += take(text + i, n - i, &c);
		width += (size_t)wcwidth(c);
	}
	return width;
}

void tui_begin(struct tui *t)
{
	erase();
}

/* The columns that may be used at a place; 0 if it is outside the screen. */
static size_t room_at(const struct tui *t, struct tui_place at)
{
	size_t room;

	if (at.row >= tui_rows(t) || at.column >= tui_columns(t))
		return 0;
	room = tui_columns(t) - at.column;
	return at.width < room ? at.width : room;
}

/*
 * Writes as much of the text as fits, and returns the columns used. A wide character that would
 * straddle the border is left out.
 */
static size_t write_within(const char *text, size_t room)
{
	size_t n = strlen(text), used = 0;

	for (size_t i = 0; i < n;) {
		wchar_t c;

		i += take(text + i, n - i, &c);
		if (used + (size_t)wcwidth(c) > room)
			break;
		addnwstr(&c, 1);
		used += (size_t)wcwidth(c);
	}
	return used;
}

/* The ellipsis takes the last column, so the text is cut one column earlier. */
size_t tui_put(struct tui *t, struct tui_place at, enum tui_style style, const char *fmt, ...)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	size_t room = room_at(t, at), used;
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	if (!room)
		return at.column;
	move((int)at.row, (int)at.column);
	attr_set(t->styles[style], t->pairs[style], NULL);
	if (tui_width(buf_cstr(&text)) <= room)
		used = write_within(buf_cstr(&text), room);
	else
		used = write_within(buf_cstr(&text), room - 1) + write_within("…", 1);
	attr_set(A_NORMAL, 0, NULL);
	return at.column + used;
}

void tui_end(struct tui *t)
{
	refresh();
}

/*
 * A closed terminal is always readable and never has a key; without this check the program would
 * spin.
 */
static bool is_gone(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&in, 1, 0) == 1 && (in.revents & (POLLHUP | POLLERR | POLLNVAL));
}

/* Maps ncurses' codes to ours; 0 for a function key that has no use here. */
static int key_of(wint_t code, bool is_function)
{
	static const struct {
		wint_t code;
		bool is_function;
		enum tui_key key;
	} keys[] = {
		{ KEY_UP, true, TUI_KEY_UP },	      { KEY_DOWN, true, TUI_KEY_DOWN },
		{ KEY_PPAGE, true, TUI_KEY_PAGE_UP }, { KEY_NPAGE, true, TUI_KEY_PAGE_DOWN },
		{ KEY_HOME, true, TUI_KEY_HOME },     { KEY_END, true, TUI_KEY_END },
		{ KEY_ENTER, true, TUI_KEY_ENTER },   { KEY_BACKSPACE, true, TUI_KEY_BACKSPACE },
		{ '\r', false, TUI_KEY_ENTER },	      { '\n', false, TUI_KEY_ENTER },
		{ '\b', false, TUI_KEY_BACKSPACE },   { 0x7f, false, TUI_KEY_BACKSPACE },
		{ 0x1b, false, TUI_KEY_ESCAPE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].code == code && keys[i].is_function == is_function)
			return (int)keys[i].key;
	return is_function ? 0 : (int)code;
}

/* get_wch() returns ERR both without input and after a hangup; is_gone() tells them apart. */
int tui_key(struct tui *t)
{
	int key, r;
	wint_t c;

	do {
		r = get_wch(&c);
		if (r == ERR)
			return is_gone() ? TUI_KEY_GONE : TUI_NO_KEY;
		key = key_of(c, r == KEY_CODE_YES);
	} while (!key);
	return key;
}
