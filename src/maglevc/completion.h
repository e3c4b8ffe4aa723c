/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion: scripts that let bash, zsh and fish complete maglevc.
 *
 * The scripts contain no commands. At each Tab they run maglevc with COMPLETION_WORD and the line
 * up to the cursor, unparsed. The answer is one line per candidate: the word, a tab and its help.
 * A line with an empty word asks the shell to complete file names. This way commands and flags
 * come from our tables, names come from the server, and lines are split into words by the same
 * rules in all shells (bash, for example, would split words at colons).
 */
#pragma once

#include <stdio.h>

#include "base/str.h"
#include "src/maglevc/options.h"

#define COMPLETION_WORD "__complete"

struct typing;
struct candidates;

/*
 * Appends the script for "bash", "zsh" or "fish"; -EINVAL for other shells, and out is
 * untouched.
 */
int completion_write(const char *shell, struct buf *out);

/*
 * Adds the word "completion", or the names of the shells after it. Neither is in the command
 * tree.
 */
void completion_complete(const struct typing *t, struct candidates *out);

/*
 * Prints the candidates for the line that follows COMPLETION_WORD on out. Prints nothing else,
 * even on errors, since a message would disturb the line being typed. Ends the process after two
 * seconds at the latest.
 */
enum status completion_answer(int argc, char *const argv[], FILE *out);
