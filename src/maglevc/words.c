/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/words.h"

#include <assert.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/vec.h"

const char words_bar[] = "|";

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/*
 * Moves one character of the word at *at to text; false if the word ends there. Quotes may begin
 * and end anywhere in a word.
 */
static bool take(struct words *w, struct str line, size_t *at, struct buf *text)
{
	char c = line.p[*at];

	if (!w->quote && is_space(c))
		return false;
	if (w->quote && c == w->quote) {
		w->quote = 0;
	} else if (!w->quote && (c == '"' || c == '\'')) {
		w->quote = c;
	} else if (c == '\\' && w->quote != '\'' && *at + 1 < line.n) {
		buf_addc(text, line.p[++*at]);
	} else {
		buf_addc(text, c);
	}
	(*at)++;
	return true;
}

static void read_word(struct words *w, struct str line, size_t *at)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	w->last = *at;
	while (*at < line.n && take(w, line, at, &text))
		;
	w->touching = *at == line.n;
	vec_push(w, arena_strdup(w->arena, buf_cstr(&text)));
}

void words_split(struct words *w, struct str line)
{
	size_t at = 0;

	assert(w && (line.p || !line.n));

	*w = (struct words){ .arena = arena_new() };
	while (at < line.n) {
		if (is_space(line.p[at])) {
			at++;
		} else if (line.p[at] == '#') {
			w->comment = true;
			return;
		} else if (line.p[at] == '|') {
			w->last = at++;
			w->touching = false;
			vec_push(w, words_bar);
		} else {
			read_word(w, line, &at);
		}
	}
}

size_t words_command(const struct words *w)
{
	size_t n = 0;

	while (n < w->n && w->items[n] != words_bar)
		n++;
	return n;
}

void words_free(struct words *w)
{
	vec_free(w);
	arena_free(w->arena);
	w->arena = NULL;
}

/* ---- the way back ---- */

/*
 * Whether a word can be typed without quotes. A "?" needs them because the shell would take it
 * as the help key.
 */
static bool is_plain(const char *word)
{
	if (!*word || *word == '#' || *word == '|')
		return false;
	for (const char *p = word; *p; p++)
		if (is_space(*p) || *p == '"' || *p == '\'' || *p == '\\' || *p == '?')
			return false;
	return true;
}

void words_add_typed(struct buf *out, const char *word, char quote, bool finished)
{
	bool plain = !quote && is_plain(word);

	assert(quote == 0 || quote == '"' || quote == '\'');
	/* inside '...' there is no escape, so a word with that quote needs the other kind */
	if (quote == '\'' && strchr(word, '\''))
		quote = '"';
	if (!quote)
		quote = '"';
	if (plain) {
		buf_adds(out, word);
		return;
	}
	buf_addc(out, quote);
	for (const char *p = word; *p; p++) {
		if (quote == '"' && (*p == '"' || *p == '\\'))
			buf_addc(out, '\\');
		buf_addc(out, *p);
	}
	if (finished)
		buf_addc(out, quote);
}
