/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevt/filter.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "lib/regex/regex.h"
#include "lib/tui/tui.h"

#define CTRL_U ('U' & 31)

void filter_clear(struct filter *f)
{
	regex_free(f->re);
	*f = (struct filter){ 0 };
}

/* Called when the text has changed. On error the compiled expression is kept. */
static void compile(struct filter *f)
{
	char pattern[FILTER_SIZE + sizeof("(?i)")], reason[REGEX_REASON_SIZE];
	struct regex *re = NULL;

	snprintf(pattern, sizeof(pattern), "(?i)%s", f->text);
	f->broken = *f->text && regex_compile(pattern, &re, reason, sizeof(reason)) < 0;
	if (f->broken)
		return;
	regex_free(f->re);
	f->re = re;
}

/* Appends a character. Characters that do not fit or cannot be shown are ignored. */
static void append(struct filter *f, int key)
{
	size_t n = strlen(f->text), more;
	char bytes[MB_LEN_MAX];
	mbstate_t shift = { 0 };

	if (!iswprint((wint_t)key))
		return;
	more = wcrtomb(bytes, (wchar_t)key, &shift);
	if (more == (size_t)-1 || n + more >= sizeof(f->text))
		return;
	memcpy(f->text + n, bytes, more);
	f->text[n + more] = '\0';
}

/* Removes the last character, which may have several bytes. */
static void drop_last(struct filter *f)
{
	size_t n = strlen(f->text);

	while (n && ((unsigned char)f->text[n - 1] & 0xc0) == 0x80)
		n--;
	f->text[n ? n - 1 : 0] = '\0';
}

void filter_key(struct filter *f, int key)
{
	switch (key) {
	case TUI_KEY_ENTER:
		f->typing = f->broken; /* a broken text cannot be kept */
		return;
	case TUI_KEY_ESCAPE:
		filter_clear(f);
		return;
	case TUI_KEY_BACKSPACE:
		drop_last(f);
		break;
	case CTRL_U:
		f->text[0] = '\0';
		break;
	default:
		append(f, key);
		break;
	}
	compile(f);
}

bool filter_takes(const struct filter *f, const char *text)
{
	return !f->re || regex_match(f->re, text, strlen(text)) == REGEX_MATCH;
}
