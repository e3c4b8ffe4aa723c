/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/testing/random.h"

/* The form, "" if it is refused. */
static const char *form(const char *path, enum l7_paths policy, struct buf *out)
{
	out->n = 0;
	if (l7_path_normalize(str_of(path), policy, out) < 0)
		assert_int_equal(out->n, 0);
	return buf_cstr(out);
}

static const struct {
	const char *path, *normalize, *strict;
} rows[] = {
	{ "/", "/", "/" },
	{ "/a/b", "/a/b", "/a/b" },
	{ "/a/b/", "/a/b/", "/a/b/" },
	{ "/.well-known/x", "/.well-known/x", "/.well-known/x" },
	{ "/a/...", "/a/...", "/a/..." },
	{ "/a..b/c", "/a..b/c", "/a..b/c" },
	/* dots */
	{ "/a/../admin", "/admin", "/admin" },
	{ "/a/./b", "/a/b", "/a/b" },
	{ "/a/b/..", "/a/", "/a/" },
	{ "/a/b/.", "/a/b/", "/a/b/" },
	{ "/..", "/", "" },
	{ "/../admin", "/admin", "" },
	{ "/a/../../admin", "/admin", "" },
	{ "/%2e%2E/admin", "/admin", "" },
	{ "/a/.%2e/admin", "/admin", "/admin" },
	{ "/a//../b", "/b", "/b" },
	/* slashes */
	{ "//admin", "/admin", "/admin" },
	{ "///", "/", "/" },
	{ "/a//b///c//", "/a/b/c/", "/a/b/c/" },
	/* escapes */
	{ "/%61dmin", "/admin", "/admin" },
	{ "/a%20b%c3%a9", "/a%20b%C3%A9", "/a%20b%C3%A9" },
	{ "/%7Euser", "/~user", "/~user" },
	{ "/a%2fb", "/a%2Fb", "" },
	{ "/a%5cb", "/a%5Cb", "" },
	{ "/a\\b", "/a\\b", "" },
	{ "/a%0ab", "/a%0Ab", "" },
	{ "/a%c0%ae", "/a%C0%AE", "" },
	{ "/%2561", "/%2561", "/%2561" },
	{ "/a%00b", "", "" },
	{ "/a%", "", "" },
	{ "/a%2", "", "" },
	{ "/a%zz", "", "" },
	{ "/a%2/", "", "" },
	/* dots for some servers */
	{ "/a/..%2fadmin", "", "" },
	{ "/a%2f..%2fadmin", "", "" },
	{ "/a%2F..", "", "" },
	{ "/a/..\\admin", "", "" },
	{ "/a\\..\\admin", "", "" },
	{ "/a/..%5Cadmin", "", "" },
	{ "/a/..;/admin", "", "" },
	{ "/a/.;x=y/admin", "", "" },
	{ "/a/%2e.;x/admin", "", "" },
	{ "/a/..%3bx/admin", "", "" },
	{ "/a;v=1/b", "/a;v=1/b", "/a;v=1/b" },
	{ "/a%2F.b", "/a%2F.b", "" },
	{ "/group%2Fproject/files", "/group%2Fproject/files", "" },
};

static void paths_get_one_form(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_string_equal(form(rows[i].path, L7_PATHS_NORMALIZE, &out),
				    rows[i].normalize);
		assert_string_equal(form(rows[i].path, L7_PATHS_STRICT, &out), rows[i].strict);
		assert_string_equal(form(rows[i].path, L7_PATHS_AS_IS, &out), rows[i].path);
	}
}

static void what_is_plain_is_its_own_form(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	size_t plain = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!l7_path_is_plain(str_of(rows[i].path)))
			continue;
		plain++;
		assert_string_equal(form(rows[i].path, L7_PATHS_STRICT, &out), rows[i].path);
	}
	assert_true(plain >= 4);
}

static void the_form_is_appended(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	buf_adds(&out, "/x/y");
	assert_int_equal(l7_path_normalize(STR("/../a"), L7_PATHS_NORMALIZE, &out), 0);
	assert_string_equal(buf_cstr(&out), "/x/y/a");
	assert_true(l7_path_normalize(STR("/a/b%"), L7_PATHS_NORMALIZE, &out) < 0);
	assert_string_equal(buf_cstr(&out), "/x/y/a");
}

/* ---- a model: all escapes first, then a stack of segments ---- */

#define PARTS 64

static const char *const pieces[] = { "/",   "/",   "/",   "/",	   "a",	  "b",	 ".",	"..",
				      "%2e", "%2E", "%61", "%2f",  "%5c", "\\",	 ";",	"%3b",
				      "%7e", "%25", "%20", "%00",  "%",	  "%0a", "%c0", "...",
				      "x=y", "~",   "../", "/../", "/./", "//",	 "%zz", "%2" };

static const char letters[] = "-._~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* Decodes what must be decoded; false if it is refused. */
static bool model_decode(const char *in, bool strict, struct buf *out)
{
	for (; *in; in++) {
		char hex[3] = { 0 }, *end;
		long c;

		if (*in == '\\' && strict)
			return false;
		if (*in != '%') {
			buf_addc(out, *in);
			continue;
		}
		memcpy(hex, in + 1, strnlen(in + 1, 2));
		c = strtol(hex, &end, 16);
		if (strlen(hex) != 2 || *end || c == 0)
			return false;
		if (strict && (c < 32 || memchr("/\\\x7f\xc0\xc1", (int)c, 5)))
			return false;
		if (strchr(letters, (int)c))
			buf_addc(out, (char)c);
		else
			buf_printf(out, "%%%02lX", c);
		in += 2;
	}
	return true;
}

static bool model_is_dots(const char *s)
{
	return strcmp(s, ".") == 0 || strcmp(s, "..") == 0;
}

/* Whether a segment has a part that is dots, between all that may separate parts. */
static bool model_hides(const char *segment)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	char *at, *part;
	int parts = 0, dots = 0;

	buf_adds(&text, segment);
	at = (char *)(uintptr_t)buf_cstr(&text);
	for (char *p;
	     (p = strstr(at, "%2F")) || (p = strstr(at, "%5C")) || (p = strstr(at, "%3B"));)
		memcpy(p, ";;;", 3);
	while ((part = strsep(&at, ";\\"))) {
		parts++;
		dots += model_is_dots(part);
	}
	return parts > 1 && dots;
}

static bool model(const char *path, bool strict, struct buf *out)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	char *at, *part, *parts[PARTS];
	size_t n = 0;
	bool slash = false;

	out->n = 0;
	if (!model_decode(path, strict, &text))
		return false;
	at = (char *)(uintptr_t)buf_cstr(&text) + 1;
	while ((part = strsep(&at, "/"))) {
		bool up = strcmp(part, "..") == 0;

		slash = !*part || model_is_dots(part);
		if (model_hides(part) || (up && !n && strict))
			return false;
		if (up && n)
			n--;
		if (!slash)
			parts[n++] = part;
	}
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "/%s", parts[i]);
	if (slash || !n)
		buf_addc(out, '/');
	return true;
}

static void roll_path(struct dice *d, struct buf *out)
{
	size_t n = dice_roll(d, 12);

	out->n = 0;
	buf_addc(out, '/');
	for (size_t i = 0; i < n; i++)
		buf_adds(out, pieces[dice_roll(d, ARRAY_SIZE(pieces))]);
}

/* Returns whether the path was taken. */
static bool compare(const char *path, enum l7_paths policy)
{
	_cleanup_(buf_free) struct buf out = { 0 }, again = { 0 }, want = { 0 };

	if (!model(path, policy == L7_PATHS_STRICT, &want))
		want.n = 0;
	assert_string_equal(form(path, policy, &out), buf_cstr(&want));
	if (!want.n)
		return false;
	assert_true(out.n <= strlen(path));
	assert_string_equal(form(buf_cstr(&want), policy, &again), buf_cstr(&want));
	if (l7_path_is_plain(str_of(path)))
		assert_string_equal(path, buf_cstr(&want));
	return true;
}

static void random_paths_agree_with_the_model(void **state)
{
	_cleanup_(buf_free) struct buf path = { 0 };
	size_t taken = 0;

	for (unsigned run = 0; run < DICE_RUNS; run++) {
		struct dice d = dice_of_run(run);

		print_message("seed %llu\n", (unsigned long long)d.seed);
		for (int i = 0; i < 20000; i++) {
			enum l7_paths policy =
				dice_roll(&d, 2) ? L7_PATHS_STRICT : L7_PATHS_NORMALIZE;

			roll_path(&d, &path);
			taken += compare(buf_cstr(&path), policy);
		}
	}
	assert_true(taken > 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_get_one_form),
		cmocka_unit_test(what_is_plain_is_its_own_form),
		cmocka_unit_test(the_form_is_appended),
		cmocka_unit_test(random_paths_agree_with_the_model),
	};

	return cmocka_run_group_tests_name("core/l7/path", tests, NULL, NULL);
}
