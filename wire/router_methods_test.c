/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "wire/router_methods.h"

static const ProtobufCServiceDescriptor *const service = &maglev__router__descriptor;

static void the_list_is_that_of_the_proto_file(void **state)
{
	assert_int_equal(ROUTER_METHODS, service->n_methods);
	for (unsigned i = 0; i < service->n_methods; i++) {
		char path[128];

		snprintf(path, sizeof(path), "/%s/%s", service->name, service->methods[i].name);
		assert_string_equal(router_methods[i].path, path);
		assert_ptr_equal(router_methods[i].request, service->methods[i].input);
		assert_ptr_equal(router_methods[i].response, service->methods[i].output);
	}
}

static void what_gives_events_is_a_stream(void **state)
{
	for (unsigned i = 0; i < ROUTER_METHODS; i++)
		assert_int_equal(router_methods[i].server_streaming,
				 router_methods[i].response == &maglev__router_event__descriptor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_list_is_that_of_the_proto_file),
		cmocka_unit_test(what_gives_events_is_a_stream),
	};

	return cmocka_run_group_tests_name("wire/router_methods", tests, NULL, NULL);
}
