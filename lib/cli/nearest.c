/* SPDX-License-Identifier: Apache-2.0 */
/* nearest: suggests a flag for a mistyped one. */
#include "base/near.h"
#include "lib/cli/cli_internal.h"

/* One edit, plus one for every four characters; single letters resemble everything. */
const char *cli__nearest(const struct cli_program *p, struct str name)
{
	struct near near = { .wanted = name, .limit = 1 + name.n / 4, .max = 1 };

	if (name.n < 2)
		return NULL;
	for (size_t i = 0; i < p->n_options; i++)
		near_consider(&near, p->options[i].name);
	for (size_t i = 0; i < CLI__BUILTINS; i++)
		near_consider(&near, cli__builtins[i].name);
	return near.n ? near.found[0].name : NULL;
}
