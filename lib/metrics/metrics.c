/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics: families, samples, labels and histograms as text.
 *
 * A page has up to some hundred thousand samples, all written during one scrape. So digits are
 * written without printf, and text is copied in runs up to the next byte that needs escaping.
 * Apart from process.c there is no state and no I/O: the caller owns the buffer and the numbers.
 */
#include "lib/metrics/metrics.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

static const char *const type_names[] = {
	[METRICS_COUNTER] = "counter",
	[METRICS_GAUGE] = "gauge",
	[METRICS_HISTOGRAM] = "histogram",
};

/* [a-zA-Z_:][a-zA-Z0-9_:]*, the metric names of the data model. */
static bool is_name(const char *s)
{
	for (const char *p = s; *p; p++) {
		bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' ||
			      *p == ':';

		if (!letter && !(p > s && *p >= '0' && *p <= '9'))
			return false;
	}
	return *s;
}

/*
 * Bytes that cannot be copied as they are: those to escape, and non-ASCII, which may be invalid.
 * The format escapes a double quote in label values but not in help texts.
 */
enum { IN_HELP = 1 << 0, IN_LABEL = 1 << 1 };

static const uint8_t needs_care[256] = {
	['\n'] = IN_HELP | IN_LABEL,
	['"'] = IN_LABEL,
	['\\'] = IN_HELP | IN_LABEL,
	[0x80 ... 0xff] = IN_HELP | IN_LABEL,
};

/*
 * Writes the character at the start of s, escaped, or U+FFFD for one invalid byte. Returns the
 * number of bytes consumed.
 */
static size_t add_char(struct buf *out, struct str s)
{
	size_t len = utf8_char(s.p, s.n);

	if (!len) {
		buf_add_lit(out, "\xef\xbf\xbd");
		return 1;
	}
	if (*s.p == '\n')
		buf_add_lit(out, "\\n");
	else if (*s.p == '\\' || *s.p == '"')
		buf_add(out, (char[]){ '\\', *s.p }, 2);
	else
		buf_add(out, s.p, len);
	return len;
}

static void add_escaped(struct buf *out, struct str s, uint8_t where)
{
	while (s.n) {
		size_t n = 0;

		while (n < s.n && !(needs_care[(uint8_t)s.p[n]] & where))
			n++;
		buf_add(out, s.p, n);
		if (n < s.n)
			n += add_char(out, (struct str){ s.p + n, s.n - n });
		s.p += n;
		s.n -= n;
	}
}

void metrics_family(struct buf *out, const char *name, enum metrics_type type, const char *help)
{
	assert(out && is_name(name) && help);

	buf_add_lit(out, "# HELP ");
	buf_adds(out, name);
	buf_addc(out, ' ');
	add_escaped(out, str_of(help), IN_HELP);
	buf_add_lit(out, "\n# TYPE ");
	buf_adds(out, name);
	buf_addc(out, ' ');
	buf_adds(out, type_names[type]);
	buf_addc(out, '\n');
}

/* Writes {name="value" for the first label and ,name="value" for the others. */
static void add_label(struct buf *out, bool first, const struct metrics_label *label)
{
	assert(is_name(label->name));
	buf_addc(out, first ? '{' : ',');
	buf_adds(out, label->name);
	buf_add_lit(out, "=\"");
	add_escaped(out, label->value, IN_LABEL);
	buf_addc(out, '"');
}

/* Writes everything before the value of a sample. le is one more label, or NULL. */
static void open_sample(struct buf *out, const char *name, const char *suffix,
			const struct metrics_label *labels, size_t n, const struct str *le)
{
	assert(out && name && (labels || !n));

	buf_adds(out, name);
	buf_adds(out, suffix);
	for (size_t i = 0; i < n; i++)
		add_label(out, i == 0, &labels[i]);
	if (le)
		add_label(out, n == 0, &(struct metrics_label){ "le", *le });
	if (n || le)
		buf_addc(out, '}');
	buf_addc(out, ' ');
}

void metrics_u64(struct buf *out, const char *name, const struct metrics_label *labels, size_t n,
		 uint64_t value)
{
	open_sample(out, name, "", labels, n, NULL);
	buf_addu(out, value);
	buf_addc(out, '\n');
}

void metrics_double(struct buf *out, const char *name, const struct metrics_label *labels, size_t n,
		    double value)
{
	open_sample(out, name, "", labels, n, NULL);
	metrics_add_double(out, value);
	buf_addc(out, '\n');
}

void metrics_histogram_init(struct metrics_histogram *h, const struct metrics_bounds *bounds)
{
	assert(h && bounds->n <= METRICS_BOUNDS_MAX);
	for (size_t i = 1; i < bounds->n; i++)
		assert(bounds->le[i - 1] < bounds->le[i]);

	*h = (struct metrics_histogram){ .bounds = bounds };
}

void metrics_observe(struct metrics_histogram *h, double value)
{
	size_t i = 0;

	assert(!isnan(value));
	while (i < h->bounds->n && value > h->bounds->le[i])
		i++;
	h->buckets[i]++;
	h->sum += value;
}

/* The format wants cumulative buckets, and +Inf's equals the count. */
void metrics_histogram(struct buf *out, const char *name, const struct metrics_label *labels,
		       size_t n, const struct metrics_histogram *h)
{
	struct buf le = { 0 };
	uint64_t count = 0;

	for (size_t i = 0; i <= h->bounds->n; i++) {
		count += h->buckets[i];
		le.n = 0;
		metrics_add_double(&le, i < h->bounds->n ? h->bounds->le[i] : INFINITY);
		open_sample(out, name, "_bucket", labels, n, &(struct str){ le.p, le.n });
		buf_addu(out, count);
		buf_addc(out, '\n');
	}
	open_sample(out, name, "_sum", labels, n, NULL);
	metrics_add_double(out, h->sum);
	buf_addc(out, '\n');
	open_sample(out, name, "_count", labels, n, NULL);
	buf_addu(out, count);
	buf_addc(out, '\n');
	buf_free(&le);
}
