/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of lib/cli share. */
#pragma once

#include "lib/cli/cli.h"

/* --help and --version, which every table is read as if it had them. */
#define CLI__BUILTINS 2
extern const struct cli_option cli__builtins[CLI__BUILTINS];

/* What --help calls a value of this kind when the table does not say; NULL: it takes none. */
const char *cli__argument(const struct cli_option *o);

void cli__write_help(const struct cli_program *p, struct buf *out);
void cli__write_version(const struct cli_program *p, struct buf *out);

/* The known flag that looks most like name, or NULL when none is near. */
const char *cli__nearest(const struct cli_program *p, struct str name);
