/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help: the command tree as text. Every node where a command may end is one entry: its syntax
 * with options in brackets, and its help. The help moves to the next line if the syntax is too
 * long for the first column.
 */
#include <assert.h>
#include <errno.h>

#include "base/cleanup.h"
#include "src/maglevc/columns.h"
#include "src/maglevc/command.h"

#define NARROW 28 /* width of the first column: with the longest help the line fits 80 */

struct help {
	struct columns *columns;
	bool shell;
};

static void add_entry(struct help *h, struct buf *syntax, const char *text)
{
	if (syntax->n > NARROW) {
		columns_line(h->columns, TINT_NONE, "%s", buf_cstr(syntax));
		columns_cell(h->columns, TINT_NONE, "%*s", NARROW, "");
	} else {
		columns_cell(h->columns, TINT_NONE, "%-*s", NARROW, buf_cstr(syntax));
	}
	columns_cell(h->columns, TINT_NONE, "%s", text);
	columns_end_row(h->columns);
}

/* write_option() and write_options() call each other: options can have options. */
static void write_option(const struct node *node, struct buf *out);

static void write_options(const struct node *children, struct buf *out)
{
	for (size_t i = 0; children && children[i].word; i++) {
		if (children[i].alone)
			continue;
		buf_adds(out, " [");
		write_option(&children[i], out);
		buf_addc(out, ']');
	}
}

/* Appends one option with its value or its own options: "num <n>", "log [level <level>]". */
static void write_option(const struct node *node, struct buf *out)
{
	command_write_word(node, out);
	if (node->options) {
		write_options(node->children, out);
	} else if (node->children) {
		buf_addc(out, ' ');
		write_option(node->children, out);
	}
}

/*
 * Adds entries for all commands that begin with path and continue with node. Options are part of
 * the entry of their command, so the recursion descends only into those that stand alone.
 */
static void add_commands(struct help *h, const char *path, const struct node *node)
{
	_cleanup_(buf_free) struct buf line = { 0 };

	if (node->shell_only && !h->shell)
		return;
	buf_printf(&line, "%s%s", path, *path ? " " : "");
	command_write_word(node, &line);
	if (node->act) {
		size_t bare = line.n;

		if (node->options)
			write_options(node->children, &line);
		add_entry(h, &line, node->help);
		line.n = bare;
	}
	for (size_t i = 0; node->children && node->children[i].word; i++)
		if (!node->options || node->children[i].alone)
			add_commands(h, buf_cstr(&line), &node->children[i]);
}

/* Adds an indented entry for each option of a command. */
static void add_options(struct help *h, const struct node *children)
{
	for (size_t i = 0; children && children[i].word; i++) {
		_cleanup_(buf_free) struct buf line = { 0 };

		if (children[i].alone)
			continue;
		buf_adds(&line, "  ");
		write_option(&children[i], &line);
		add_entry(h, &line, children[i].help);
	}
}

/*
 * Adds the help of the node that the walk has reached. If that is an option, the help is that of
 * its command, the owner of the outermost group.
 */
static void add_reached(struct help *h, const struct walk *w)
{
	_cleanup_(buf_free) struct buf path = { 0 };
	const struct node *target = w->n_groups ? w->groups[0].owner : w->path[w->n_path - 1];

	for (size_t i = 0; i < w->n_path && w->path[i] != target; i++) {
		buf_adds(&path, i ? " " : "");
		command_write_word(w->path[i], &path);
	}
	add_commands(h, buf_cstr(&path), target);
	if (target->options)
		add_options(h, target->children);
}

int command_help(const char *const *words, size_t n, bool shell, struct buf *out, struct buf *why)
{
	struct help h = { .shell = shell };
	struct walk w;
	int r;

	assert((words || !n) && out && why);

	walk_start(&w, shell);
	r = walk_words(&w, words, n, why);
	if (r < 0)
		return r;
	h.columns = columns_new(false);
	if (w.n_path)
		add_reached(&h, &w);
	for (size_t i = 0; !w.n_path && command_tree[i].word; i++)
		add_commands(&h, "", &command_tree[i]);
	columns_write(h.columns, 0, out);
	columns_free(h.columns);
	return 0;
}
