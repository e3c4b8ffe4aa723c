/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/operator/options.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"

static void require(const char *program, bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "%s: %s\n", program, what);
	exit(CLI_STATUS_USAGE);
}

void operator_options_check(const struct operator_options *o, const char *program)
{
	if (!o->leader_elect)
		return;
	require(program, o->lease_name[0], "--lease-name must not be empty");
	require(program,
		o->lease_duration >= NSEC_PER_SEC && o->lease_duration <= 3600 * NSEC_PER_SEC,
		"--lease-duration must be from 1s to 1h");
}
