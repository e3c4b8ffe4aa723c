/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion: maglevc as bash, zsh and fish complete it.
 *
 * What is printed for them knows no command: at each Tab it runs maglevc with COMPLETION_WORD and
 * the line up to the cursor, as it was typed, and gets lines of a word, a tab and what it is for;
 * one without a word where the name of a file is wanted. So commands and flags are those of the
 * tables, names are the server's, and what a word is (to bash a colon ends one) is the same in
 * all shells.
 */
#pragma once

#include <stdio.h>

#include "base/str.h"
#include "src/maglevc/options.h"

#define COMPLETION_WORD "__complete"

struct typing;
struct candidates;

/* The script for "bash", "zsh" or "fish"; -EINVAL for other shells. */
int completion_write(const char *shell, struct buf *out);

/* Adds the word "completion", or the shells behind it. The tree of commands has neither. */
void completion_complete(const struct typing *t, struct candidates *out);

/*
 * The lines for what the argument behind COMPLETION_WORD is the beginning of, on out. Says nothing
 * else, whatever is wrong, and takes two seconds at most.
 */
enum status completion_answer(int argc, char *const argv[], FILE *out);
