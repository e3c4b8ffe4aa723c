/* SPDX-License-Identifier: Apache-2.0 */
/* What this build is. Apart from the rest, since a new commit compiles this file again. */
#include "lib/cli/version.h"
#include "lib/cli/cli.h"

const struct cli_version cli_version = { CLI_VERSION };
