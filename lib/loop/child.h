/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child: a forked process, known by a descriptor. A default loop reaps every child as soon as it is
 * gone, whosever it is, and its number may then be another's: who kills by number kills a stranger.
 */
#pragma once

/*
 * Returns 0 in the child, as fork() does. In the parent 1, and *ret is its descriptor until
 * child_end(); or a negative errno, and there is no child.
 */
int child_fork(int *ret);
/* It may be gone already. */
void child_kill(int child);
/* Kills it, waits until it is gone, and closes the descriptor. */
void child_end(int child);
