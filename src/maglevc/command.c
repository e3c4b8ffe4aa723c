/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command: the walk of words through the tree.
 *
 * The walk keeps its path and a small stack of option groups. A node with options opens a group.
 * After a finished option, the unused options of the innermost group may follow, then those of the
 * groups around it. Taking an option of an outer group closes the inner groups. A node whose
 * children are not options must be followed by one of them, unless a command may end there.
 */
#include "src/maglevc/command.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "src/maglevc/when.h"

void walk_start(struct walk *w, bool shell)
{
	assert(w);
	*w = (struct walk){ .shell = shell };
}

/* The node that was taken last; NULL before the first word. */
static const struct node *here(const struct walk *w)
{
	return w->n_path ? w->path[w->n_path - 1] : NULL;
}

/* An output array that is being filled; bounded by WALK_NEXT_MAX. */
struct candidates {
	const struct node **nodes;
	size_t n;
};

/*
 * Adds the children that are not marked in used. Nodes of the shell are skipped outside of it, and
 * those that stand alone after any other.
 */
static void add_children(const struct walk *w, const struct node *children, uint32_t used,
			 struct candidates *c)
{
	for (size_t i = 0; children && children[i].word; i++) {
		if (used & (1U << i) || (children[i].shell_only && !w->shell) ||
		    (used && children[i].alone))
			continue;
		assert(c->n < WALK_NEXT_MAX);
		c->nodes[c->n++] = &children[i];
	}
}

size_t walk_next(const struct walk *w, const struct node *ret[WALK_NEXT_MAX])
{
	struct candidates c = { .nodes = ret };
	const struct node *at = here(w);

	if (!at)
		add_children(w, command_tree, 0, &c);
	else if (!at->options)
		add_children(w, at->children, 0, &c);
	if (!walk_is_complete(w))
		return c.n;
	for (size_t i = w->n_groups; i > 0; i--)
		add_children(w, w->groups[i - 1].owner->children, w->groups[i - 1].used, &c);
	return c.n;
}

/*
 * Either the node itself ends a command, or it ends an option of a command: inside a group, a
 * node that has only optional children or none.
 */
bool walk_is_complete(const struct walk *w)
{
	const struct node *at = here(w);

	if (!at)
		return false;
	return at->act || (w->n_groups && (at->options || !at->children));
}

/* ---- one word ---- */

/* Moves the shortest of the nodes to the front; true if all others begin with its word. */
static bool begins_all(const struct node *nodes[], size_t n)
{
	const struct node *first;
	size_t shortest = 0;

	for (size_t i = 1; i < n; i++)
		if (strlen(nodes[i]->word) < strlen(nodes[shortest]->word))
			shortest = i;
	first = nodes[shortest];
	for (size_t i = 0; i < n; i++)
		if (strncmp(nodes[i]->word, first->word, strlen(first->word)) != 0)
			return false;
	nodes[shortest] = nodes[0];
	nodes[0] = first;
	return true;
}

size_t command_matches(const struct node *nodes[], size_t n, const char *word)
{
	size_t kept = 0, length = strlen(word);

	if (!length)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (nodes[i]->kind == NODE_KEYWORD && strncmp(nodes[i]->word, word, length) == 0)
			nodes[kept++] = nodes[i];
	return kept > 1 && begins_all(nodes, kept) ? 1 : kept;
}

/* Returns the choice that word equals or abbreviates; NULL if there is none or several. */
static const char *choose(const struct node *node, const char *word)
{
	const char *found = NULL;
	size_t length = strlen(word), n = 0;

	for (size_t i = 0; length && node->choices[i]; i++) {
		if (strcmp(node->choices[i], word) == 0)
			return node->choices[i];
		if (strncmp(node->choices[i], word, length) == 0) {
			found = node->choices[i];
			n++;
		}
	}
	return n == 1 ? found : NULL;
}

static bool is_number(const struct node *node, const char *word)
{
	uint64_t v;

	return str_to_u64(str_of(word), node->max, &v) == 0 && v >= node->min;
}

/* Zero is refused: an override that ends at once would do nothing. */
static bool is_duration(const char *word)
{
	int64_t ns;

	return duration_parse(word, &ns) == 0 && ns > 0;
}

static bool is_time(const char *word)
{
	int64_t at;

	return when_parse(word, 0, &at) == 0;
}

static bool is_address(const char *word)
{
	struct addr a;

	return addr_parse(word, &a) == 0;
}

/*
 * Returns the value to store for word, or NULL if the node does not accept it. Text that is not
 * UTF-8 is refused here because protobuf strings must be UTF-8.
 */
static const char *take_value(const struct node *node, const char *word)
{
	if (!utf8_valid(word, strlen(word)))
		return NULL;
	switch (node->kind) {
	case NODE_FRONTEND:
	case NODE_BACKEND:
	case NODE_HEALTHCHECK:
	case NODE_POOL:
	case NODE_VIP:
	case NODE_ROUTE:
	case NODE_ROUTER_POOL:
		return *word ? word : NULL;
	case NODE_NUMBER:
		return is_number(node, word) ? word : NULL;
	case NODE_CHOICE:
		return choose(node, word);
	case NODE_DURATION:
		return is_duration(word) ? word : NULL;
	case NODE_TIME:
		return is_time(word) ? word : NULL;
	case NODE_ADDRESS:
		return is_address(word) ? word : NULL;
	case NODE_KEYWORD:
	case NODE_TEXT:
	case NODE_REST:
		break;
	}
	return word;
}

/*
 * If the node is an option, marks it as used in its group and closes the groups inside that one.
 */
static void leave_groups(struct walk *w, const struct node *node)
{
	while (w->n_groups) {
		struct walk_group *g = &w->groups[w->n_groups - 1];

		for (size_t i = 0; g->owner->children[i].word; i++)
			if (&g->owner->children[i] == node) {
				g->used |= 1U << i;
				return;
			}
		w->n_groups--;
	}
}

/* True if node is a mandatory child of at. Any other node that can be entered is an option. */
static bool must_follow(const struct node *at, const struct node *node)
{
	for (size_t i = 0; at && !at->options && at->children && at->children[i].word; i++)
		if (&at->children[i] == node)
			return true;
	return false;
}

/*
 * Makes node the current one. The last act on the path wins, so "show frontends NAME" is the act
 * of NAME.
 */
static void enter(struct walk *w, const struct node *node, const char *value)
{
	if (!must_follow(here(w), node))
		leave_groups(w, node);
	assert(w->n_path < WALK_DEPTH);
	w->path[w->n_path++] = node;
	if (node->act)
		w->command.act = node->act;
	if (node->slot)
		w->command.args[node->slot] = value;
	if (node->alone)
		w->n_groups--;
	if (node->options) {
		assert(w->n_groups < WALK_GROUPS);
		w->groups[w->n_groups++] = (struct walk_group){ .owner = node };
	}
}

/* The node that takes a value here, or NULL. The tree never offers more than one. */
static const struct node *value_node(const struct node *const nodes[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (nodes[i]->kind != NODE_KEYWORD)
			return nodes[i];
	return NULL;
}

static const struct node *exact_keyword(const struct node *const nodes[], size_t n,
					const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (nodes[i]->kind == NODE_KEYWORD && strcmp(nodes[i]->word, word) == 0)
			return nodes[i];
	return NULL;
}

/*
 * Exact keywords come first, then a value, then abbreviations. An abbreviation is never tried
 * where a value may stand: a backend named "we" must not be read as "weight".
 */
enum walk_result walk_step(struct walk *w, const char *word)
{
	const struct node *nodes[WALK_NEXT_MAX];
	size_t n = walk_next(w, nodes);
	const struct node *node = exact_keyword(nodes, n, word);
	const char *value = word;

	if (!n)
		return WALK_TRAILING;
	if (!node) {
		node = value_node(nodes, n);
		value = node ? take_value(node, word) : word;
	}
	if (!value)
		return WALK_BAD_VALUE;
	if (!node) {
		n = command_matches(nodes, n, word);
		if (n != 1)
			return n ? WALK_AMBIGUOUS : WALK_UNKNOWN;
		node = nodes[0];
	}
	enter(w, node, node->kind == NODE_KEYWORD ? node->word : value);
	return WALK_OK;
}

/* ---- complaints ---- */

void command_write_word(const struct node *node, struct buf *out)
{
	buf_printf(out, node->kind == NODE_KEYWORD ? "%s" : "<%s>", node->word);
}

static void write_choices(const struct node *node, struct buf *out)
{
	for (size_t i = 0; node->choices[i]; i++) {
		const char *between = node->choices[i + 1] ? ", " : " or ";

		buf_printf(out, "%s%s", i ? between : "", node->choices[i]);
	}
}

static void write_possible(const struct node *const nodes[], size_t n, struct buf *out)
{
	buf_adds(out, "; possible: ");
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? ", " : "");
		command_write_word(nodes[i], out);
	}
}

static void write_words(const char *const *words, size_t n, struct buf *out)
{
	buf_addc(out, '"');
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s%s", i ? " " : "", words[i]);
	buf_addc(out, '"');
}

static void write_expected(const struct node *node, struct buf *out)
{
	static const char *const expected[] = {
		[NODE_FRONTEND] = "the name of a frontend",
		[NODE_BACKEND] = "the name of a backend",
		[NODE_HEALTHCHECK] = "the name of a health check",
		[NODE_POOL] = "the name of a pool",
		[NODE_VIP] = "the name of a VIP",
		[NODE_ROUTE] = "the name of a route",
		[NODE_ROUTER_POOL] = "the name of a pool",
		[NODE_DURATION] = "a duration such as 90s or 1h30m",
		[NODE_ADDRESS] = "an IP address",
		[NODE_TIME] = "a time such as 22:00 or 2026-04-15T22:00",
		[NODE_TEXT] = "text in UTF-8",
	};

	if (node->kind == NODE_NUMBER)
		buf_printf(out, "a number from %llu to %llu", (unsigned long long)node->min,
			   (unsigned long long)node->max);
	else if (node->kind == NODE_CHOICE)
		write_choices(node, out);
	else
		buf_adds(out, expected[node->kind]);
}

/* Says why words[n] was not accepted after the n words before it, and what would have been. */
static void complain(const struct walk *w, enum walk_result result, const char *const *words,
		     size_t n, struct buf *why)
{
	static const char *const kinds[] = { [WALK_UNKNOWN] = "unknown",
					     [WALK_AMBIGUOUS] = "ambiguous",
					     [WALK_BAD_VALUE] = "bad",
					     [WALK_TRAILING] = "unexpected" };
	const struct node *nodes[WALK_NEXT_MAX];
	size_t n_nodes = walk_next(w, nodes);

	buf_printf(why, "%s word \"%s\"", kinds[result], words[n]);
	if (n) {
		buf_adds(why, " after ");
		write_words(words, n, why);
	}
	if (result == WALK_BAD_VALUE) {
		buf_adds(why, ", expected ");
		write_expected(value_node(nodes, n_nodes), why);
		return;
	}
	if (result == WALK_AMBIGUOUS)
		n_nodes = command_matches(nodes, n_nodes, words[n]);
	if (n_nodes)
		write_possible(nodes, n_nodes, why);
}

int walk_words(struct walk *w, const char *const *words, size_t n, struct buf *why)
{
	for (size_t i = 0; i < n; i++) {
		enum walk_result result = walk_step(w, words[i]);

		if (result != WALK_OK) {
			complain(w, result, words, i, why);
			return -EINVAL;
		}
		if (here(w)->kind == NODE_REST) {
			w->command.words = words + i;
			w->command.n_words = n - i;
			return 0;
		}
	}
	return 0;
}

static void complain_incomplete(const struct walk *w, const char *const *words, size_t n,
				struct buf *why)
{
	const struct node *nodes[WALK_NEXT_MAX];
	size_t n_nodes = walk_next(w, nodes);

	if (n) {
		write_words(words, n, why);
		buf_adds(why, " is not complete");
	} else {
		buf_adds(why, "no command");
	}
	write_possible(nodes, n_nodes, why);
}

int command_parse(const char *const *words, size_t n, bool shell, struct command *ret,
		  struct buf *why)
{
	struct walk w;
	int r;

	assert((words || !n) && ret && why);

	walk_start(&w, shell);
	r = walk_words(&w, words, n, why);
	if (r < 0)
		return r;
	if (!walk_is_complete(&w)) {
		complain_incomplete(&w, words, n, why);
		return -EINVAL;
	}
	*ret = w.command;
	return 0;
}
