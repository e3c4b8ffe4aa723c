/* SPDX-License-Identifier: Apache-2.0 */
/* The version of this build. In a file of its own, because each commit compiles it again. */
#include "lib/cli/version.h"
#include "lib/cli/cli.h"

const struct cli_version cli_version = { CLI_VERSION };
