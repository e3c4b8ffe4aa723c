/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate: the semantic phase of the configuration (FR-5.2): from what was written to what is
 * meant.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/l4/config.h"
#include "core/l4/doc.h"

struct l4_rules {
	/*
	 * Whether pattern compiles; if not, says why in reason. Passed in, since the library that
	 * knows lives elsewhere.
	 */
	bool (*regexp_ok)(const char *pattern, char *reason, size_t reason_size);
	/*
	 * The program was told to use no data plane (--vpp-api-addr ""): the rules and the result
	 * are those of L4_DATAPLANE_NONE, whatever the file says.
	 */
	bool no_dataplane;
};

/*
 * Builds *ret in arena from doc. Every broken rule is added to errors, every doubt that does not
 * stop the program to warnings; both lists are sorted by place. -EINVAL and *ret untouched when
 * there was any error; warnings are looked for only when there is none. The document may be freed
 * afterwards.
 */
int l4_config_build(const struct l4_doc *doc, const struct l4_rules *rules, struct arena *arena,
		    struct l4_config *ret, struct errs *errors, struct errs *warnings);
