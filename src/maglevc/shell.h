/* SPDX-License-Identifier: Apache-2.0 */
/* shell: many commands in one session, from a terminal or from a file. */
#pragma once

#include "src/maglevc/session.h"

/*
 * Somebody types; ends with exit, quit, Ctrl-D, SIGTERM or SIGHUP. Only what keeps it from starting
 * is not 0.
 */
enum status shell_run(struct session *s);
/*
 * One command a line, up to the end, to the first that fails, whose status is returned, or to one
 * that a signal ends. # begins a comment.
 */
enum status shell_run_script(struct session *s, FILE *in);
