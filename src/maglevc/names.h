/* SPDX-License-Identifier: Apache-2.0 */
/* names: asks the server for the names of its frontends, backends and so on, for completion. */
#pragma once

#include "src/maglevc/complete.h"
#include "src/maglevc/session.h"

/*
 * A names_fn; session is a struct session. Connects if needed, and runs the loop for up to one
 * second until the server has answered. If it does not answer, nothing is added. Complaints about
 * flags go to the session.
 */
void names_ask(enum node_kind kind, const struct command *c, struct candidates *out, void *session);
