/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of lib/cli. */
#pragma once

#include "lib/cli/cli.h"

/* --help and --version, which are part of every program's table. */
#define CLI__BUILTINS 2
extern const struct cli_option cli__builtins[CLI__BUILTINS];

/* The name of an option's value in --help; NULL if the option takes none. */
const char *cli__argument(const struct cli_option *o);

void cli__write_help(const struct cli_program *p, struct buf *out);
void cli__write_version(const struct cli_program *p, struct buf *out);

/* The known flag most similar to name; NULL if none is similar enough. */
const char *cli__nearest(const struct cli_program *p, struct str name);
