/* SPDX-License-Identifier: Apache-2.0 */
/* version: the versions of maglevc and of its servers. */
#pragma once

#include "src/maglevc/session.h"

/*
 * Asks the servers whose flags are given, or the maglevd of the default, and prints. That of
 * maglevc is printed in any case; the exit code is that of the first server that failed.
 */
enum status version_show(struct session *s, const struct command *c);
