/* SPDX-License-Identifier: Apache-2.0 */
/* testing: command lines for the tests of programs that use cli; no program includes it. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define CLI_ARGS_MAX 16
#define CLI_ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Copies args into argv, which like main()'s is not const, and returns the number of words. */
static inline int cli_copy_args(const char *const args[], char *argv[static CLI_ARGS_MAX])
{
	int argc = 0;

	while (args[argc])
		argc++;
	assert(argc < CLI_ARGS_MAX);
	memcpy(argv, args, ((size_t)argc + 1) * sizeof(argv[0]));
	return argc;
}
