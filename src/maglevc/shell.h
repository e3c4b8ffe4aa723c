/* SPDX-License-Identifier: Apache-2.0 */
/* shell: runs many commands in one session, from a terminal or from a script. */
#pragma once

#include "src/maglevc/session.h"

/*
 * Reads commands from the terminal until exit, quit, Ctrl-D, SIGTERM or SIGHUP. Failed commands
 * do not count: the result is not 0 only if the shell could not start.
 */
enum status shell_run(struct session *s);
/*
 * Runs one command per line until the end of the file, the first command that fails, whose
 * status is returned, or a signal. # begins a comment.
 */
enum status shell_run_script(struct session *s, FILE *in);
