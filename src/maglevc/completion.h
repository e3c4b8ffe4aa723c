/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion: maglevc as bash, zsh and fish complete it.
 *
 * What is printed for them knows no command: at each Tab it runs maglevc with COMPLETION_WORD, the
 * words so far and the beginning of the next one, and gets lines of a word, a tab and what it is
 * for. Words may be given as they are typed, with their quotes. So commands and flags are those of
 * the tables, and names are the server's.
 */
#pragma once

#include <stdio.h>

#include "base/str.h"
#include "src/maglevc/options.h"

#define COMPLETION_WORD "__complete"

/* The script for "bash", "zsh" or "fish"; -EINVAL for other shells. */
int completion_write(const char *shell, struct buf *out);

/*
 * The lines for what the arguments behind COMPLETION_WORD are the beginning of, on out. Says
 * nothing else, whatever is wrong, and takes two seconds at most.
 */
enum status completion_answer(int argc, char *const argv[], FILE *out);
