/* SPDX-License-Identifier: Apache-2.0 */
#include "base/who.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static struct addr address(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

static void assert_who(const struct who_evidence *e, const char *expected)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct who w = who_judge(e);

	who_print(&w, &text);
	assert_string_equal(buf_cstr(&text), expected);
}

static void a_certificate_proves_a_name(void **state)
{
	const struct who_evidence e = { .certificate = "alice", .peer = address("192.0.2.7") };

	assert_who(&e, " by alice from 192.0.2.7");
}

/* A client without a certificate cannot look like one with a certificate. */
static void what_anybody_says_is_marked(void **state)
{
	struct who_evidence e = { .says = "alice",
				  .says_address = "203.0.113.1",
				  .peer = address("192.0.2.7") };

	assert_who(&e, " by unverified:alice from 192.0.2.7");
	e.delegate = true; /* without a certificate nothing is a delegate */
	assert_who(&e, " by unverified:alice from 192.0.2.7");
	e.says = NULL;
	assert_who(&e, " from 192.0.2.7");
	e.certificate = "";
	e.says = "alice";
	assert_who(&e, " by unverified:alice from 192.0.2.7");
}

static void a_certificate_is_stronger_than_what_its_owner_says(void **state)
{
	const struct who_evidence e = { .certificate = "bob",
					.says = "alice",
					.says_address = "203.0.113.1",
					.peer = address("192.0.2.7") };

	assert_who(&e, " by bob from 192.0.2.7");
}

static void a_delegate_is_believed(void **state)
{
	struct who_evidence e = { .certificate = "dash",
				  .delegate = true,
				  .says = "alice",
				  .says_address = "2001:db8::1",
				  .peer = address("192.0.2.7") };

	assert_who(&e, " by alice via dash from 2001:db8::1");
	e.says_address = "nonsense";
	assert_who(&e, " by alice via dash from 192.0.2.7");
	e.says = "";
	assert_who(&e, " by dash from 192.0.2.7");
}

static void names_are_bounded_and_safe_to_print(void **state)
{
	char name[300];
	struct who_evidence e = { .certificate = name, .delegate = true, .says = name };
	struct who w;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	w = who_judge(&e);
	assert_int_equal(strlen(w.name), 2 * WHO_PART_MAX + strlen(" via "));
	e = (struct who_evidence){ .says = "a\x1b[2J\nb" };
	w = who_judge(&e);
	assert_string_equal(w.name, "unverified:a\\x1b[2J\\x0ab");
}

static void a_copy_is_a_copy(void **state)
{
	struct who w = who_judge(&(struct who_evidence){ .certificate = "alice" });
	struct who *copy = who_dup(&w);

	w.name[0] = 'A';
	assert_string_equal(copy->name, "alice");
	assert_null(who_dup(NULL));
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_certificate_proves_a_name),
		cmocka_unit_test(what_anybody_says_is_marked),
		cmocka_unit_test(a_certificate_is_stronger_than_what_its_owner_says),
		cmocka_unit_test(a_delegate_is_believed),
		cmocka_unit_test(names_are_bounded_and_safe_to_print),
		cmocka_unit_test(a_copy_is_a_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
