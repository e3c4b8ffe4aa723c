/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete: keywords come from the tree, names from the callback. After "help" the walk starts
 * again from the root, because the words that may follow "help" are those of any command.
 */
#include "src/maglevc/complete.h"

#include <assert.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "src/maglevc/columns.h"
#include "src/maglevc/pipe.h"
#include "src/maglevc/text.h"
#include "src/maglevc/words.h"

void candidates_add(struct candidates *c, const char *word, const char *help)
{
	if (!c->arena)
		c->arena = arena_new();
	vec_push(c, (struct candidate){ .word = arena_strdup(c->arena, word), .help = help });
}

void candidates_free(struct candidates *c)
{
	vec_free(c);
	arena_free(c->arena);
	c->arena = NULL;
}

/* Kinds whose possible values only the server knows. */
static bool has_names(enum node_kind kind)
{
	return kind == NODE_FRONTEND || kind == NODE_BACKEND || kind == NODE_HEALTHCHECK ||
	       kind == NODE_POOL || kind == NODE_VIP || kind == NODE_ROUTE ||
	       kind == NODE_ROUTER_POOL;
}

/* A name with control characters or invalid UTF-8 cannot be typed, so it is not offered. */
static bool is_typable(const char *name)
{
	_cleanup_(buf_free) struct buf clean = { 0 };

	text_add_clean(&clean, str_of(name));
	return *name && strcmp(buf_cstr(&clean), name) == 0;
}

/* One request for completion: the line, and where to get names. */
struct asking {
	const struct typing *typing;
	names_fn names;
	void *user;
};

static void add_names(const struct asking *a, const struct walk *w, enum node_kind kind,
		      struct candidates *out)
{
	struct candidates all = { 0 };

	a->names(kind, &w->command, &all, a->user);
	for (size_t i = 0; i < all.n; i++)
		if (str_starts(str_of(all.items[i].word), str_of(a->typing->begin)) &&
		    is_typable(all.items[i].word))
			candidates_add(out, all.items[i].word, "");
	candidates_free(&all);
}

static void add_node(const struct asking *a, const struct walk *w, const struct node *node,
		     struct candidates *out)
{
	if (node->kind == NODE_KEYWORD && str_starts(str_of(node->word), str_of(a->typing->begin)))
		candidates_add(out, node->word, node->help);
	for (size_t i = 0; node->kind == NODE_CHOICE && node->choices[i]; i++)
		if (str_starts(str_of(node->choices[i]), str_of(a->typing->begin)))
			candidates_add(out, node->choices[i], "");
	if (has_names(node->kind))
		add_names(a, w, node->kind, out);
}

/*
 * Walks the finished words and lists the nodes that may follow; -EINVAL with a sentence in why.
 * After "help" *t is replaced by the rest of the line, and the walk starts again from the root.
 */
static int reach(struct typing *t, struct walk *w, const struct node *nodes[WALK_NEXT_MAX],
		 size_t *ret_n, struct buf *why)
{
	size_t n;
	int r;

	walk_start(w, t->shell);
	r = walk_words(w, t->words, t->n, why);
	if (r < 0)
		return r;
	n = walk_next(w, nodes);
	if (w->command.words || (n && nodes[0]->kind == NODE_REST)) {
		t->words = w->command.words;
		t->n = w->command.n_words;
		return reach(t, w, nodes, ret_n, why);
	}
	*ret_n = n;
	return 0;
}

/*
 * What may come behind a bar: one of the words of pipe.h, if none is there yet. Returns false if
 * there is no bar.
 */
static bool is_behind_bar(const struct typing *t, bool *ret_word)
{
	for (size_t i = t->n; i > 0; i--)
		if (t->words[i - 1] == words_bar) {
			*ret_word = i == t->n;
			return true;
		}
	return false;
}

static void add_pipe_words(const struct typing *t, struct candidates *out)
{
	for (size_t i = 0; pipe_words[i].word; i++)
		if (str_starts(str_of(pipe_words[i].word), str_of(t->begin)))
			candidates_add(out, pipe_words[i].word, pipe_words[i].help);
}

void complete(const struct typing *t, names_fn names, void *user, struct candidates *ret)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	const struct node *nodes[WALK_NEXT_MAX];
	struct typing rest = *t;
	const struct asking a = { .typing = &rest, .names = names, .user = user };
	struct walk w;
	size_t n = 0;
	bool word;

	assert(t && t->begin && names && ret);

	*ret = (struct candidates){ 0 };
	if (is_behind_bar(t, &word)) {
		if (word)
			add_pipe_words(t, ret);
		return;
	}
	if (reach(&rest, &w, nodes, &n, &why) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		add_node(&a, &w, nodes[i], ret);
}

size_t complete_common(const struct candidates *c)
{
	size_t n;

	assert(c->n);
	n = strlen(c->items[0].word);
	for (size_t i = 1; i < c->n; i++) {
		size_t same = 0;

		while (same < n && c->items[i].word[same] == c->items[0].word[same])
			same++;
		n = same;
	}
	/* do not cut a UTF-8 character in two */
	while (n && ((unsigned char)c->items[0].word[n] & 0xc0) == 0x80)
		n--;
	return n;
}

/* ---- what is shown ---- */

static size_t width_of(const char *word)
{
	size_t n = 0;

	for (; *word; word++)
		n += ((unsigned char)*word & 0xc0) != 0x80;
	return n;
}

/* Width of the widest of the first n candidates. */
static size_t widest_of(const struct candidates *c, size_t n)
{
	size_t widest = 0;

	for (size_t i = 0; i < n && i < c->n; i++)
		if (width_of(c->items[i].word) > widest)
			widest = width_of(c->items[i].word);
	return widest;
}

/*
 * How many columns fit. Only the candidates that will be shown count: a long name beyond the
 * last line must not make the columns wider. The shortest column is one character and a gap of
 * two.
 */
static size_t words_per_line(const struct candidates *c, struct area area)
{
	size_t n = area.width / 3;

	while (n > 1 && n * (widest_of(c, n * area.height) + 2) > area.width)
		n--;
	return n ? n : 1;
}

static void list_line(const struct candidate *words, size_t n, size_t each, struct buf *out)
{
	for (size_t i = 0; i + 1 < n; i++)
		buf_printf(out, "%s%*s", words[i].word, (int)(each - width_of(words[i].word)), "");
	buf_printf(out, "%s\n", words[n - 1].word);
}

/*
 * Writes a list of words that fits the area. If there are more words than lines, the last line
 * is kept for the number of those left out.
 */
static void list_words(const struct candidates *c, size_t indent, struct area area, struct buf *out)
{
	size_t per_line, each, n = c->n;

	assert(area.height);
	if (!n)
		return;
	area.width = area.width > indent ? area.width - indent : 0;
	per_line = words_per_line(c, area);
	if ((n + per_line - 1) / per_line > area.height)
		n = (area.height - 1) * per_line;
	each = widest_of(c, n) + 2;
	for (size_t i = 0; i < n; i += per_line) {
		buf_printf(out, "%*s", (int)indent, "");
		list_line(c->items + i, n - i < per_line ? n - i : per_line, each, out);
	}
	if (c->n > n)
		buf_printf(out, "%*s... and %zu more\n", (int)indent, "", c->n - n);
}

void complete_list(const struct candidates *c, struct area area, struct buf *out)
{
	assert(c && out);

	list_words(c, 0, area, out);
}

static void add_row(struct columns *rows, const char *word, const char *help)
{
	columns_cell(rows, TINT_NONE, "%s", word);
	columns_cell(rows, TINT_NONE, "%s", help);
	columns_end_row(rows);
}

/*
 * Adds a row for each node that matches the beginning; true if there was one. Values always
 * match.
 */
static bool add_rows(struct columns *rows, const struct node *const nodes[], size_t n,
		     const char *begin)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		_cleanup_(buf_free) struct buf word = { 0 };

		if (nodes[i]->kind == NODE_KEYWORD &&
		    !str_starts(str_of(nodes[i]->word), str_of(begin)))
			continue;
		command_write_word(nodes[i], &word);
		add_row(rows, buf_cstr(&word), nodes[i]->help);
		any = true;
	}
	return any;
}

static void add_all_names(const struct asking *a, const struct walk *w,
			  const struct node *const nodes[], size_t n, struct candidates *out)
{
	for (size_t i = 0; i < n; i++)
		if (has_names(nodes[i]->kind))
			add_names(a, w, nodes[i]->kind, out);
}

/* The part of the area that is left below the text; at least one line. */
static struct area below(struct area area, const struct buf *text)
{
	size_t lines = 0;

	for (size_t i = 0; i < text->n; i++)
		lines += text->p[i] == '\n';
	area.height = area.height > lines ? area.height - lines : 1;
	return area;
}

/* Behind a bar: its words, or what the last one takes. */
static void explain_pipe(const struct typing *t, bool word, struct columns *rows)
{
	struct candidates found = { 0 };

	if (word)
		add_pipe_words(t, &found);
	else
		add_row(rows, "<text>", "a regular expression; case does not matter");
	for (size_t i = 0; i < found.n; i++)
		add_row(rows, found.items[i].word, found.items[i].help);
	if (word && !found.n)
		columns_line(rows, TINT_NONE, "nothing here begins with \"%s\"", t->begin);
	candidates_free(&found);
}

void complete_explain(const struct typing *t, names_fn names, void *user, struct area area,
		      struct buf *out)
{
	_cleanup_(columns_freep) struct columns *rows = columns_new(false);
	_cleanup_(buf_free) struct buf why = { 0 };
	const struct node *nodes[WALK_NEXT_MAX];
	struct typing rest = *t;
	const struct asking a = { .typing = &rest, .names = names, .user = user };
	struct candidates found = { 0 };
	struct walk w;
	size_t n = 0;
	bool any, word;

	if (is_behind_bar(t, &word)) {
		explain_pipe(t, word, rows);
		columns_write(rows, 2, out);
		return;
	}
	if (reach(&rest, &w, nodes, &n, &why) < 0) {
		text_add_lines(out, "  ", buf_cstr(&why));
		return;
	}
	any = add_rows(rows, nodes, n, rest.begin);
	if (!*rest.begin && walk_is_complete(&w)) {
		add_row(rows, "<Enter>",
			w.path[w.n_path - 1]->act ? w.path[w.n_path - 1]->help : "");
		if (rest.shell && w.command.act != ACT_EXIT)
			add_row(rows, "|", "only some of the lines, or their number");
		any = true;
	}
	if (!any)
		columns_line(rows, TINT_NONE, "nothing here begins with \"%s\"", rest.begin);
	columns_write(rows, 2, out);
	add_all_names(&a, &w, nodes, n, &found);
	list_words(&found, 4, below(area, out), out);
	candidates_free(&found);
}
