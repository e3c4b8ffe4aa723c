/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/pipe.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/regex/regex.h"
#include "src/maglevc/words.h"

const struct pipe_word pipe_words[] = {
	[PIPE_MATCH] = { "match", "only lines that match", true },
	[PIPE_EXCEPT] = { "except", "only lines that do not match", true },
	[PIPE_COUNT] = { "count", "how many lines there are", false },
	{ NULL, NULL, false },
};

/* The words differ in their first letter, so a short form is never ambiguous. */
static int find(const char *word)
{
	for (int i = 0; pipe_words[i].word; i++)
		if (*word && strncmp(pipe_words[i].word, word, strlen(word)) == 0)
			return i;
	return -EINVAL;
}

static int compile(struct pipe_stage *stage, const char *pattern, struct buf *why)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	char reason[REGEX_REASON_SIZE];

	buf_printf(&text, "(?i)%s", pattern);
	if (regex_compile(buf_cstr(&text), &stage->re, reason, sizeof(reason)) == 0)
		return 0;
	buf_printf(why, "\"%s\" is not a regular expression: %s", pattern, reason);
	return -EINVAL;
}

/* One stage from its n words. */
static int add_stage(struct pipe *p, const char *const *words, size_t n, struct buf *why)
{
	int kind = n ? find(words[0]) : -EINVAL;
	struct pipe_stage *stage = &p->stages[p->n];

	if (p->n && p->stages[p->n - 1].kind == PIPE_COUNT) {
		buf_adds(why, "nothing can follow count");
	} else if (kind < 0) {
		buf_printf(why, "unknown word \"%s\" after \"|\"; possible: match, except, count",
			   n ? words[0] : "");
	} else if (p->n == PIPE_STAGES) {
		buf_printf(why, "at most %d filters", PIPE_STAGES);
	} else if (pipe_words[kind].takes_text && n < 2) {
		buf_printf(why, "\"%s\" needs a text", pipe_words[kind].word);
	} else if (n > (pipe_words[kind].takes_text ? 2u : 1u)) {
		buf_printf(why, "unexpected word \"%s\" after \"%s\": quote a text with spaces",
			   words[n - 1], pipe_words[kind].word);
	} else {
		stage->kind = (enum pipe_kind)kind;
		if (pipe_words[kind].takes_text && compile(stage, words[1], why) < 0)
			return -EINVAL;
		p->n++;
		return 0;
	}
	return -EINVAL;
}

int pipe_parse(struct pipe *p, const char *const *words, size_t n, struct buf *why)
{
	size_t begin = 0;

	*p = (struct pipe){ 0 };
	for (size_t i = 0; i <= n; i++) {
		if (i < n && words[i] != words_bar)
			continue;
		if (add_stage(p, words + begin, i - begin, why) < 0) {
			pipe_free(p);
			return -EINVAL;
		}
		begin = i + 1;
	}
	return 0;
}

void pipe_free(struct pipe *p)
{
	for (size_t i = 0; i < p->n; i++)
		regex_free(p->stages[i].re);
	*p = (struct pipe){ 0 };
}

static bool passes(struct pipe *p, struct str line)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct pipe_stage *stage = &p->stages[i];

		if (stage->kind == PIPE_COUNT) {
			p->counted++;
			return false;
		}
		if ((regex_match(stage->re, line.p, line.n) == REGEX_MATCH) !=
		    (stage->kind == PIPE_MATCH))
			return false;
	}
	return true;
}

void pipe_feed(struct pipe *p, struct str text, struct buf *out)
{
	struct str line;

	while (text.n && str_cut(&text, '\n', &line))
		if (passes(p, line)) {
			buf_add(out, line.p, line.n);
			buf_addc(out, '\n');
		}
}

void pipe_end(struct pipe *p, struct buf *out)
{
	p->told = true;
	if (p->n && p->stages[p->n - 1].kind == PIPE_COUNT)
		buf_printf(out, "%zu line%s\n", p->counted, p->counted == 1 ? "" : "s");
	p->counted = 0;
}
