/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The YAML 1.2 core schema (section 10.3): the type of a plain scalar follows from its text
 * alone.
 *
 * An explicit tag of the schema is obeyed if the text is valid for it. Every other tag is
 * refused, because no code here knows what it means.
 */
#include "lib/yaml/yaml_build.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

#define TAG_PREFIX "tag:yaml.org,2002:"
#define DIGITS "0123456789"

static bool is_one_of(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[0] == words[i][0] && strcmp(text, words[i]) == 0)
			return true;
	return false;
}

static bool reads_null(const char *text)
{
	static const char *const words[] = { "", "~", "null", "Null", "NULL" };

	return is_one_of(text, words, ARRAY_SIZE(words));
}

static bool reads_bool(const char *text)
{
	static const char *const words[] = { "true", "True", "TRUE", "false", "False", "FALSE" };

	return is_one_of(text, words, ARRAY_SIZE(words));
}

/* One or more characters of the set, and nothing else. */
static bool is_all(const char *text, const char *set)
{
	size_t n = strspn(text, set);

	return n && !text[n];
}

static const char *skip_sign(const char *text)
{
	return *text == '-' || *text == '+' ? text + 1 : text;
}

/*
 * Only the decimal form takes a sign in the core schema. The range is checked when it is
 * converted.
 */
static bool reads_int(const char *text)
{
	if (strncmp(text, "0o", 2) == 0)
		return is_all(text + 2, "01234567");
	if (strncmp(text, "0x", 2) == 0)
		return is_all(text + 2, DIGITS "abcdefABCDEF");
	return is_all(skip_sign(text), DIGITS);
}

static bool reads_exponent(const char *text)
{
	if (!*text)
		return true;
	return (*text == 'e' || *text == 'E') && is_all(skip_sign(text + 1), DIGITS);
}

/*
 * [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? as in section 10.3.2: there must be a digit
 * before or after the point.
 */
static bool reads_float(const char *text)
{
	static const char *const nan[] = { ".nan", ".NaN", ".NAN" };
	static const char *const inf[] = { ".inf", ".Inf", ".INF" };
	const char *p = skip_sign(text);
	size_t before, after = 0;

	if (is_one_of(text, nan, ARRAY_SIZE(nan)) || is_one_of(p, inf, ARRAY_SIZE(inf)))
		return true;
	before = strspn(p, DIGITS);
	p += before;
	if (*p == '.') {
		after = strspn(++p, DIGITS);
		p += after;
	}
	return before + after && reads_exponent(p);
}

static bool reads_text(const char *text)
{
	return true;
}

/* In the order in which the types of a plain scalar are tried; text accepts everything. */
static const struct {
	enum yaml_type type;
	const char *tag;
	bool (*reads)(const char *text);
} types[] = {
	{ YAML_NULL, TAG_PREFIX "null", reads_null },
	{ YAML_BOOL, TAG_PREFIX "bool", reads_bool },
	{ YAML_INT, TAG_PREFIX "int", reads_int },
	{ YAML_FLOAT, TAG_PREFIX "float", reads_float },
	{ YAML_TEXT, TAG_PREFIX "str", reads_text },
};

/* -ENOENT for an unknown tag, -EINVAL for text that the tag does not allow. */
static int type_of_tag(const char *text, const char *tag, enum yaml_type *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strcmp(tag, types[i].tag) != 0)
			continue;
		if (!types[i].reads(text))
			return -EINVAL;
		*ret = types[i].type;
		return 0;
	}
	return -ENOENT;
}

static enum yaml_type type_of_plain(const char *text)
{
	size_t i = 0;

	while (!types[i].reads(text))
		i++;
	return types[i].type;
}

/* The non-specific tag "!" makes even a plain scalar text (YAML 1.2, section 6.9.1). */
int yaml__scalar_type(const char *text, bool plain, const char *tag, enum yaml_type *ret)
{
	assert(text && ret);

	if (tag && strcmp(tag, "!") != 0)
		return type_of_tag(text, tag, ret);
	*ret = plain && !tag ? type_of_plain(text) : YAML_TEXT;
	return 0;
}
