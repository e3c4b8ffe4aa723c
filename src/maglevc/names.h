/* SPDX-License-Identifier: Apache-2.0 */
/* names: what things of the server are called, for completion. */
#pragma once

#include "src/maglevc/complete.h"
#include "src/maglevc/session.h"

/*
 * A names_fn; session is a struct session. Asks over its connection and waits a second for the
 * answer; nothing is added, and nothing said, when there is none.
 */
void names_ask(enum node_kind kind, const struct command *c, struct candidates *out, void *session);
