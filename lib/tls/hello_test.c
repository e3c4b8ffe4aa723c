/* SPDX-License-Identifier: Apache-2.0 */
/* The first message of clients, in every cut. */
#include "lib/tls/hello.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/ssl.h>

#include "base/str.h"

/* ---- messages ---- */

static void add16(struct buf *b, size_t v)
{
	buf_addc(b, (char)(v >> 8));
	buf_addc(b, (char)v);
}

static void add_bytes(struct buf *b, const char *p, size_t n)
{
	add16(b, n);
	buf_add(b, p, n);
}

static void add_extension(struct buf *b, unsigned type, const char *p, size_t n)
{
	add16(b, type);
	add_bytes(b, p, n);
}

static void add_name(struct buf *b, const char *name)
{
	struct buf list = { 0 }, all = { 0 };

	buf_addc(&list, 0);
	add_bytes(&list, name, strlen(name));
	add_bytes(&all, list.p, list.n);
	add_extension(b, 0, all.p, all.n);
	buf_free(&list);
	buf_free(&all);
}

/* A message with these extensions, without records. */
static struct buf message(const struct buf *extensions)
{
	struct buf body = { 0 }, m = { 0 };

	add16(&body, 0x0303);
	for (int i = 0; i < 32; i++)
		buf_addc(&body, (char)i);
	buf_addc(&body, 0);
	add_bytes(&body, "\x13\x01", 2);
	buf_addc(&body, 1);
	buf_addc(&body, 0);
	if (extensions)
		add_bytes(&body, extensions->p, extensions->n);
	buf_addc(&m, 1);
	buf_addc(&m, 0);
	add_bytes(&m, body.p, body.n);
	buf_free(&body);
	return m;
}

/* In records of at most that many bytes. */
static struct buf records(const struct buf *m, size_t most)
{
	struct buf out = { 0 };

	for (size_t at = 0; at < m->n;) {
		size_t n = m->n - at < most ? m->n - at : most;

		buf_add(&out, "\x16\x03\x01", 3);
		add_bytes(&out, m->p + at, n);
		at += n;
	}
	return out;
}

/* Memory of exactly that size, so that a read past its end is seen. */
static int look(struct tls_hello *h, const char *p, size_t n)
{
	char *copy = malloc(n ?: 1);
	int r;

	assert_non_null(copy);
	if (n)
		memcpy(copy, p, n);
	r = tls_hello_look(h, copy, n);
	free(copy);
	return r;
}

static int look_whole(const struct buf *b, struct tls_hello *h)
{
	*h = (struct tls_hello){ 0 };
	return look(h, b->p, b->n);
}

/* What a real client sends. */
static struct buf real_hello(const char *name, bool old)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
	SSL *ssl = SSL_new(context);
	struct buf b = { 0 };
	char *p;
	long n;

	SSL_set_bio(ssl, in, out);
	if (old)
		SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
	SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
		 (void *)(uintptr_t)name);
	SSL_set_alpn_protos(ssl, (const uint8_t *)"\x02h2\x08http/1.1", 12);
	assert_int_equal(SSL_connect(ssl), -1);
	n = BIO_get_mem_data(out, &p);
	if (n <= 5) /* not even the head of its record */
		abort();
	buf_add(&b, p, (size_t)n);
	SSL_free(ssl);
	SSL_CTX_free(context);
	return b;
}

static void assert_real(const struct tls_hello *h, unsigned version)
{
	assert_string_equal(h->name, "www.example.com");
	assert_string_equal(h->protocols, "h2,http/1.1");
	assert_int_equal(h->version, version);
}

/* ---- tests ---- */

static void name_protocols_and_version_of_a_real_client_are_found(void **state)
{
	struct buf new = real_hello("WWW.Example.com", false),
		   old = real_hello("www.example.com", true);
	struct tls_hello h;

	assert_int_equal(look_whole(&new, &h), 1);
	assert_real(&h, 0x0304);
	assert_int_equal(look_whole(&old, &h), 1);
	assert_real(&h, 0x0303);
	buf_free(&new);
	buf_free(&old);
}

/* Whatever pieces it comes in: before the last byte more is wanted, then it is complete. */
static void every_cut_gives_the_same(void **state)
{
	struct buf b = real_hello("www.example.com", false);

	for (size_t cut = 0; cut < b.n; cut++) {
		struct tls_hello h = { 0 };

		assert_int_equal(look(&h, b.p, cut), 0);
		assert_int_equal(look(&h, b.p, b.n), 1);
		assert_real(&h, 0x0304);
	}
	buf_free(&b);
}

static void every_size_of_records_gives_the_same_byte_by_byte(void **state)
{
	struct buf b = real_hello("www.example.com", false);
	struct buf m = { 0 };

	buf_add(&m, b.p + 5, b.n - 5);
	for (size_t most = 1; most <= m.n; most++) {
		struct buf r = records(&m, most);
		struct tls_hello h = { 0 };

		for (size_t n = 0; n < r.n; n++)
			assert_int_equal(look(&h, r.p, n), 0);
		assert_int_equal(look(&h, r.p, r.n), 1);
		assert_real(&h, 0x0304);
		buf_free(&r);
	}
	buf_free(&m);
	buf_free(&b);
}

static void bytes_after_it_are_not_looked_at(void **state)
{
	struct buf b = real_hello("www.example.com", false);
	struct tls_hello h;

	buf_adds(&b, "GET / HTTP/1.1\r\n");
	assert_int_equal(look_whole(&b, &h), 1);
	assert_real(&h, 0x0304);
	buf_free(&b);
}

static void a_client_may_name_nothing(void **state)
{
	struct buf none = message(NULL), empty = message(&(struct buf){ 0 });
	struct buf a = records(&none, 100), b = records(&empty, 100);
	struct tls_hello h;

	assert_int_equal(look_whole(&a, &h), 1);
	assert_string_equal(h.name, "");
	assert_int_equal(h.version, 0x0303);
	assert_int_equal(look_whole(&b, &h), 1);
	assert_string_equal(h.protocols, "");
	buf_free(&none);
	buf_free(&empty);
	buf_free(&a);
	buf_free(&b);
}

static void other_protocols_are_known_by_their_first_bytes(void **state)
{
	static const char *const texts[] = { "G",
					     "GET / HTTP/1.1\r\n\r\n",
					     "SSH-2.0-x",
					     "\x80\x2e\x01\x03\x01",
					     "PRI * HTTP/2.0",
					     "\x16\x02",
					     "\x17\x03\x03",
					     "\x15\x03\x03" };
	struct tls_hello h;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		h = (struct tls_hello){ 0 };
		assert_int_equal(look(&h, texts[i], strlen(texts[i])), -EPROTO);
	}
	h = (struct tls_hello){ 0 };
	assert_int_equal(look(&h, "\x16\x03\x01\x00\x00", 5), -EPROTO); /* an empty record */
	h = (struct tls_hello){ 0 };
	assert_int_equal(look(&h, "\x16\x03\x01\x40\x01", 5),
			 -EPROTO); /* a record that is too long */
}

static void another_message_is_no_hello(void **state)
{
	struct tls_hello h = { 0 };

	assert_int_equal(look(&h, "\x16\x03\x01\x00\x04\x02", 6), -EBADMSG);
}

static void a_record_of_another_kind_must_not_be_between(void **state)
{
	struct buf m = message(NULL), b = { 0 };
	struct tls_hello h;

	buf_add(&b, "\x16\x03\x01\x00\x04", 5);
	buf_add(&b, m.p, 4);
	buf_addc(&b, 0x17);
	assert_int_equal(look_whole(&b, &h), -EBADMSG);
	buf_free(&m);
	buf_free(&b);
}

static int look_with(const struct buf *extensions, struct tls_hello *h)
{
	struct buf m = message(extensions), b = records(&m, 50);
	int r = look_whole(&b, h);

	buf_free(&m);
	buf_free(&b);
	return r;
}

static void names_that_no_host_has_are_malformed(void **state)
{
	static const char *const names[] = { "a b", "\x01", "a\xc3\xa4", "" };
	struct tls_hello h;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct buf e = { 0 };

		add_name(&e, names[i]);
		assert_int_equal(look_with(&e, &h), -EBADMSG);
		assert_string_equal(h.name, "");
		buf_free(&e);
	}
}

static void the_longest_name_fits_and_no_longer_one(void **state)
{
	char name[TLS_HELLO_NAME + 2];
	struct buf e = { 0 };
	struct tls_hello h;

	memset(name, 'a', sizeof(name));
	name[TLS_HELLO_NAME] = '\0';
	add_name(&e, name);
	assert_int_equal(look_with(&e, &h), 1);
	assert_string_equal(h.name, name);
	name[TLS_HELLO_NAME] = 'a';
	name[TLS_HELLO_NAME + 1] = '\0';
	e.n = 0;
	add_name(&e, name);
	assert_int_equal(look_with(&e, &h), -EBADMSG);
	buf_free(&e);
}

static void two_names_are_malformed(void **state)
{
	struct buf e = { 0 };
	struct tls_hello h;

	add_name(&e, "a");
	add_name(&e, "b");
	assert_int_equal(look_with(&e, &h), -EBADMSG);
	buf_free(&e);
}

/* Each length in the message is made one larger or smaller in turn: nothing is read outside. */
static void wrong_lengths_are_malformed_or_harmless(void **state)
{
	struct buf e = { 0 }, m, b;
	struct tls_hello h;

	add_name(&e, "a.example.com");
	add_extension(&e, 16, "\x00\x03\x02h2", 5);
	add_extension(&e, 43, "\x02\x03\x04", 3);
	m = message(&e);
	for (size_t i = 4; i < m.n; i++)
		for (int by = -1; by <= 1; by += 2) {
			m.p[i] = (char)(m.p[i] + by);
			b = records(&m, 30);
			look_whole(&b, &h);
			assert_true(strlen(h.name) <= TLS_HELLO_NAME);
			buf_free(&b);
			m.p[i] = (char)(m.p[i] - by);
		}
	b = records(&m, 30);
	assert_int_equal(look_whole(&b, &h), 1);
	assert_string_equal(h.name, "a.example.com");
	assert_int_equal(h.version, 0x0304);
	buf_free(&b);
	buf_free(&m);
	buf_free(&e);
}

static void protocols_that_do_not_fit_or_cannot_be_shown_are_left_out(void **state)
{
	struct buf list = { 0 }, e = { 0 };
	struct tls_hello h;
	char text[201];

	memset(text, 'x', 200);
	text[200] = '\0';
	buf_addc(&list, 2);
	buf_add(&list, "\x0a\x0a", 2);
	buf_addc(&list, (char)200);
	buf_adds(&list, text);
	buf_addc(&list, 2);
	buf_adds(&list, "h2");
	add16(&e, 16);
	add16(&e, list.n + 2);
	add_bytes(&e, list.p, list.n);
	assert_int_equal(look_with(&e, &h), 1);
	assert_string_equal(h.protocols, "h2");
	buf_free(&list);
	buf_free(&e);
}

static void what_is_too_large_is_given_up_early(void **state)
{
	struct buf e = { 0 }, m, b;
	struct tls_hello h = { 0 };
	char *zeros = calloc(1, 16000);

	assert_non_null(zeros);
	/* a length in the header alone is enough */
	assert_int_equal(look(&h, "\x16\x03\x01\x00\x04\x01\x01\x00\x00", 9), -E2BIG);
	add_extension(&e, 21, zeros, 16000);
	m = message(&e);
	b = records(&m, 16384);
	assert_int_equal(look_whole(&b, &h), 1);
	buf_free(&b);
	/* the headers of records count, too */
	b = records(&m, 10);
	assert_int_equal(look_whole(&b, &h), -E2BIG);
	buf_free(&b);
	buf_free(&m);
	buf_free(&e);
	free(zeros);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_protocols_and_version_of_a_real_client_are_found),
		cmocka_unit_test(every_cut_gives_the_same),
		cmocka_unit_test(every_size_of_records_gives_the_same_byte_by_byte),
		cmocka_unit_test(bytes_after_it_are_not_looked_at),
		cmocka_unit_test(a_client_may_name_nothing),
		cmocka_unit_test(other_protocols_are_known_by_their_first_bytes),
		cmocka_unit_test(another_message_is_no_hello),
		cmocka_unit_test(a_record_of_another_kind_must_not_be_between),
		cmocka_unit_test(names_that_no_host_has_are_malformed),
		cmocka_unit_test(the_longest_name_fits_and_no_longer_one),
		cmocka_unit_test(two_names_are_malformed),
		cmocka_unit_test(wrong_lengths_are_malformed_or_harmless),
		cmocka_unit_test(protocols_that_do_not_fit_or_cannot_be_shown_are_left_out),
		cmocka_unit_test(what_is_too_large_is_given_up_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
