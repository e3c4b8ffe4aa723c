/* SPDX-License-Identifier: Apache-2.0 */
/* Which code an outcome becomes. */
#include "wire/outcome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void the_highest_layer_that_was_checked_passes(void **state)
{
	static const struct {
		enum probe_kind kind;
		bool answered;
		enum health_code code;
	} rows[] = {
		{ PROBE_ICMP, false, CODE_L4OK }, { PROBE_TCP, false, CODE_L4OK },
		{ PROBE_TCP, true, CODE_L7OK },	  { PROBE_UDP, false, CODE_L4OK },
		{ PROBE_UDP, true, CODE_L7OK },	  { PROBE_TLS, false, CODE_L6OK },
		{ PROBE_TLS, true, CODE_L7OK },	  { PROBE_DNS, true, CODE_L7OK },
		{ PROBE_HTTP, false, CODE_L7OK }, { PROBE_HTTPS, false, CODE_L7OK },
		{ PROBE_GRPC, false, CODE_L7OK },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct probe_outcome o = { .stage = PROBE_STAGE_DONE,
					   .answered = rows[i].answered };

		assert_int_equal(outcome_code(rows[i].kind, &o), rows[i].code);
		assert_true(health_code_is_pass(rows[i].code));
	}
}

static void a_failure_has_the_layer_of_its_stage(void **state)
{
	static const struct {
		enum probe_stage stage;
		enum probe_error error;
		enum health_code code;
	} rows[] = {
		{ PROBE_STAGE_CONNECT, PROBE_ERR_TIMEOUT, CODE_L4TOUT },
		{ PROBE_STAGE_CONNECT, PROBE_ERR_REFUSED, CODE_L4CON },
		{ PROBE_STAGE_TLS, PROBE_ERR_TIMEOUT, CODE_L6TOUT },
		{ PROBE_STAGE_TLS, PROBE_ERR_RESET, CODE_L6RSP },
		{ PROBE_STAGE_HTTP, PROBE_ERR_TIMEOUT, CODE_L7TOUT },
		{ PROBE_STAGE_HTTP, PROBE_ERR_RESET, CODE_L7RSP },
		{ PROBE_STAGE_HTTP, PROBE_ERR_STATUS, CODE_L7STS },
		{ PROBE_STAGE_LOCAL, PROBE_ERR_SOCKET, CODE_SOCKERR },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct probe_outcome o = { .stage = rows[i].stage, .error = rows[i].error };

		assert_int_equal(outcome_code(PROBE_TCP, &o), rows[i].code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_highest_layer_that_was_checked_passes),
		cmocka_unit_test(a_failure_has_the_layer_of_its_stage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
