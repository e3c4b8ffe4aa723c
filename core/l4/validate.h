/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate: the semantic phase of the configuration (FR-5.2): from a parsed document to a checked
 * and resolved configuration.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/l4/config.h"
#include "core/l4/doc.h"

struct l4_rules {
	/*
	 * Whether pattern compiles; if not, writes the reason. Passed in, because core may not
	 * include the library that compiles patterns.
	 */
	bool (*regexp_ok)(const char *pattern, char *reason, size_t reason_size);
	/*
	 * Reads a file of authorities and stores its text, in arena, if they can be used; if not,
	 * writes the reason and returns false. NULL: no file is read, and the text is empty.
	 */
	bool (*read_ca)(const char *path, struct arena *arena, const char **ret, char *reason,
			size_t reason_size);
	/*
	 * The program runs without a data plane (--vpp-api-addr ""): the rules and the result are
	 * those of L4_DATAPLANE_NONE, whatever the file says.
	 */
	bool no_dataplane;
};

/*
 * Builds *ret in arena from doc. Every broken rule is added to errors, every doubt that does not
 * stop the program to warnings; both lists are sorted by place. Returns -EINVAL, with *ret
 * untouched, if there was any error; warnings are looked for only if there is none. The document
 * may be freed afterwards. Does not block.
 */
int l4_config_build(const struct l4_doc *doc, const struct l4_rules *rules, struct arena *arena,
		    struct l4_config *ret, struct errs *errors, struct errs *warnings);
