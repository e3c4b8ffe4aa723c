/* SPDX-License-Identifier: Apache-2.0 */
/* Checks with a question and an answer: over tcp, tls and udp, and of dns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/l4/validate_fixture.h"

#define CONN_KEY "maglev.healthchecks.conn."
#define CONN_PARAMS CONN_KEY "params."

/* The check `conn` becomes one of another type, with the least that it needs. */
static void be(struct fixture *f, const char *type)
{
	set_text(f, &f->check[CONN].type, type);
}

static void be_udp(struct fixture *f)
{
	be(f, "udp");
	set_text(f, &f->check[CONN].params.send, "ping");
}

static void be_tls(struct fixture *f)
{
	be(f, "tls");
}

static void be_dns(struct fixture *f)
{
	be(f, "dns");
	set_text(f, &f->check[CONN].params.query_name, "www.example.net");
}

static void be_dns_of_mail(struct fixture *f)
{
	be_dns(f);
	set_text(f, &f->check[CONN].params.query_type, "MX");
}

static void be_dns_without_name(struct fixture *f)
{
	be_dns(f);
	set_text(f, &f->check[CONN].params.expect_rcode, "NXDOMAIN");
}

static void send_both(struct fixture *f)
{
	set_text(f, &f->check[CONN].params.send, "a");
}

static void answers_of_tcp_tls_and_udp(void **state)
{
	static const struct row bad[] = {
		SET_TEXT(NULL, check[CONN].params.send, "", CONN_PARAMS "send",
			 "must be 1 to 4096 bytes"),
		SET_TEXT(NULL, check[CONN].params.expect, "", CONN_PARAMS "expect",
			 "must be 1 to 4096 bytes"),
		SET_TEXT(NULL, check[CONN].params.expect_regexp, "(a", CONN_PARAMS "expect-regexp",
			 "does not compile: missing closing parenthesis"),
		SET_TEXT(NULL, check[CONN].params.send_hex, "", CONN_PARAMS "send-hex",
			 "pairs of hexadecimal digits"),
		SET_TEXT(NULL, check[CONN].params.send_hex, "0g", CONN_PARAMS "send-hex",
			 "pairs of hexadecimal digits"),
		SET_TEXT(NULL, check[CONN].params.send_hex, "012", CONN_PARAMS "send-hex",
			 "pairs of hexadecimal digits"),
		SET_TEXT(send_both, check[CONN].params.send_hex, "00", CONN_PARAMS "send-hex",
			 "is given beside send"),
		LEAVE_OUT(be_udp, check[CONN].params.send, check[CONN].at, CONN_PARAMS "send",
			  "is required for udp"),
		SET_TEXT(be_tls, check[CONN].params.path, "/", CONN_PARAMS "path",
			 "is only for http and https, not for tls"),
		SET_FLAG(be_udp, check[CONN].keep_alive, true, CONN_KEY "keep-alive",
			 "is only for http and https, not for udp"),
		SET_TEXT(be_udp, check[CONN].params.query_name, "a", CONN_PARAMS "query-name",
			 "is only for dns, not for udp"),
		SET_TEXT(be_udp, check[CONN].params.server_name, "a", CONN_PARAMS "server-name",
			 "is only for https and tls, not for udp"),
		SET_TEXT(NULL, check[PING].params.send, "a", "maglev.healthchecks.ping.params.send",
			 "is only for tcp, tls and udp, not for icmp"),
		SET_TEXT(NULL, check[WEB].params.expect, "a", PARAMS_KEY "expect",
			 "is only for tcp, tls and udp, not for https"),
		LEAVE_OUT(be_udp, check[CONN].port, check[CONN].at, CONN_KEY "port",
			  "is required for udp"),
	};
	static const struct row good[] = {
		SET_TEXT(NULL, check[CONN].params.send, "QUIT\r\n", NULL, NULL),
		SET_TEXT(NULL, check[CONN].params.expect, "220", NULL, NULL),
		SET_TEXT(be_tls, check[CONN].params.expect, "220", NULL, NULL),
		SET_TEXT(be_tls, check[CONN].params.server_name, "mail.example.net", NULL, NULL),
		SET_FLAG(be_tls, check[CONN].params.insecure_skip_verify, true, NULL, NULL),
		SET_TEXT(be_udp, check[CONN].params.expect_regexp, "^pong", NULL, NULL),
		SET_TEXT(NULL, check[CONN].params.send_hex, "00fFaA", NULL, NULL),
		JUST(be_tls, NULL, NULL),
	};

	EACH(bad, assert_refused);
	EACH(good, assert_accepted);
}

static void questions_of_dns(void **state)
{
	static const struct row bad[] = {
		LEAVE_OUT(be_dns, check[CONN].params.query_name, check[CONN].at,
			  CONN_PARAMS "query-name", "is required for dns"),
		SET_TEXT(be_dns, check[CONN].params.query_name, "a..b", CONN_PARAMS "query-name",
			 "\"a..b\" is not a name of DNS"),
		SET_TEXT(be_dns, check[CONN].params.query_name, ".", CONN_PARAMS "query-name",
			 "is not a name of DNS"),
		SET_TEXT(be_dns, check[CONN].params.query_name, "a b", CONN_PARAMS "query-name",
			 "holds a space"),
		SET_TEXT(be_dns, check[CONN].params.query_type, "a", CONN_PARAMS "query-type",
			 "AAAA"),
		SET_TEXT(be_dns, check[CONN].params.expect_rcode, "OK", CONN_PARAMS "expect-rcode",
			 "SERVFAIL"),
		SET_TEXT(be_dns, check[CONN].params.expect_address, "2001:db8::1",
			 CONN_PARAMS "expect-address", "IPv4"),
		SET_TEXT(be_dns_of_mail, check[CONN].params.expect_address, "192.0.2.1",
			 CONN_PARAMS "expect-address", "is only for query-type A and AAAA"),
		SET_TEXT(be_dns_without_name, check[CONN].params.expect_address, "192.0.2.1",
			 CONN_PARAMS "expect-address", "cannot come with expect-rcode NXDOMAIN"),
		SET_TEXT(be_dns, check[CONN].params.expect, "x", CONN_PARAMS "expect",
			 "is only for tcp, tls and udp, not for dns"),
	};
	static const struct row good[] = {
		SET_TEXT(be_dns, check[CONN].params.query_name, "example.net.", NULL, NULL),
		SET_TEXT(be_dns, check[CONN].params.expect_address, "192.0.2.1", NULL, NULL),
		SET_TEXT(be_dns, check[CONN].params.expect_rcode, "REFUSED", NULL, NULL),
		JUST(be_dns_of_mail, NULL, NULL),
		LEAVE_OUT(be_dns, check[CONN].port, check[CONN].at, NULL, NULL),
	};

	EACH(bad, assert_refused);
	EACH(good, assert_accepted);
}

/* the longest label and the longest name, and one byte more */
static void names_of_dns_have_bounds(void **state)
{
	static const struct {
		size_t label, labels;
		bool good;
	} rows[] = { { 63, 1, true }, { 64, 1, false }, { 62, 4, true }, { 63, 4, false } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_free) struct buf name = { 0 };
		struct fixture f;

		for (size_t k = 0; k < rows[i].labels; k++)
			buf_printf(&name, "%s%s", k ? "." : "", repeat('x', rows[i].label));
		fixture_begin(&f);
		be_dns(&f);
		set_text(&f, &f.check[CONN].params.query_name, buf_cstr(&name));
		assert_int_equal(fixture_build(&f) == 0, rows[i].good);
		fixture_end(&f);
	}
}

static void a_dns_check_has_its_defaults(void **state)
{
	const struct l4_check *c;
	struct fixture f;

	fixture_begin(&f);
	be_dns(&f);
	f.check[CONN].port.set = false;
	assert_clean(&f);
	c = l4_config_check(&f.config, "conn");
	assert_int_equal(c->type, L4_CHECK_DNS);
	assert_int_equal(c->port, 53);
	assert_string_equal(c->dns.name, "www.example.net");
	assert_int_equal(l4_dns_type_number(c->dns.type), 1);
	assert_int_equal(c->dns.rcode, L4_DNS_NOERROR);
	assert_false(addr_is_set(&c->dns.address));
	fixture_end(&f);
}

/* what a file of authorities has is up to the program */
static bool read_ca(const char *path, struct arena *arena, const char **ret, char *reason,
		    size_t reason_size)
{
	if (strcmp(path, "/good.pem") == 0) {
		*ret = "text";
		return true;
	}
	snprintf(reason, reason_size, "no certificate in it");
	return false;
}

static void use_files(struct fixture *f)
{
	f->rules.read_ca = read_ca;
	f->check[WEB].params.insecure_skip_verify.set = false;
}

static void skip_verify(struct fixture *f)
{
	use_files(f);
	set_flag(f, &f->check[WEB].params.insecure_skip_verify, true);
}

static void authorities_of_a_check(void **state)
{
	static const struct row bad[] = {
		SET_TEXT(use_files, check[WEB].params.ca_file, "/bad.pem", PARAMS_KEY "ca-file",
			 "\"/bad.pem\" cannot be used: no certificate in it"),
		SET_TEXT(use_files, check[WEB].params.ca_file, "good.pem", PARAMS_KEY "ca-file",
			 "is not an absolute path"),
		SET_TEXT(use_files, check[CONN].params.ca_file, "/good.pem", CONN_PARAMS "ca-file",
			 "is only for https and tls, not for tcp"),
	};
	static const struct row doubtful[] = {
		SET_TEXT(skip_verify, check[WEB].params.ca_file, "/good.pem", PARAMS_KEY "ca-file",
			 "is ignored: insecure-skip-verify"),
	};
	struct fixture f;

	EACH(bad, assert_refused);
	EACH(doubtful, assert_doubted);
	fixture_begin(&f);
	use_files(&f);
	set_text(&f, &f.check[WEB].params.ca_file, "/good.pem");
	assert_clean(&f);
	assert_string_equal(l4_config_check(&f.config, "web")->http.ca.file, "/good.pem");
	assert_string_equal(l4_config_check(&f.config, "web")->http.ca.pem, "text");
	fixture_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(authorities_of_a_check),
		cmocka_unit_test(answers_of_tcp_tls_and_udp),
		cmocka_unit_test(questions_of_dns),
		cmocka_unit_test(names_of_dns_have_bounds),
		cmocka_unit_test(a_dns_check_has_its_defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
