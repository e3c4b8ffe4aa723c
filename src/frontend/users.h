/* SPDX-License-Identifier: Apache-2.0 */
/*
 * users: the file of --users, and whether a name and a password are those of a user.
 *
 *	alice:$y$j9T$...:admin
 *	bob:$2y$05$...              # no role: read-only
 *
 * A line is a name, a hash (lib/page/password.h) and a role, admin or read-only; it may have been
 * made by htpasswd -B or by --make-user. Empty lines and lines that begin with '#' are skipped.
 *
 * A hash takes a tenth of a second, so it is computed in a child process. Browsers send the
 * password with each request; a correct one is remembered for some minutes, as a digest with a key
 * of this process. The digest includes the hash, so a changed line is not remembered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "lib/loop/loop.h"

#define USERS_MAX 1000
#define USERS_CHECKS_MAX 4 /* child processes at once */

struct user {
	const char *name, *hash;
	bool admin; /* else read-only */
};

struct users_list {
	struct arena *arena; /* owns the texts */
	struct user *items;
	size_t n;
};

/* Pure. -EINVAL with a sentence in why that names the line; *ret is untouched then. */
int users_parse(struct str text, struct users_list *ret, struct buf *why);
void users_list_free(struct users_list *list);
/* The same for a file. */
int users_read(const char *path, struct users_list *ret, struct buf *why);

struct users;

/* Reads the file. -errno with a sentence in why; *ret is untouched then. path is borrowed. */
int users_new(struct ev_loop *loop, const char *path, struct users **ret, struct buf *why);
/* No check may be under way: the HTTP server is freed before. NULL is allowed. */
void users_free(struct users *u);
/* Reads it again and logs; on failure the users stay as they were. Also done when it changes. */
void users_reload(struct users *u);
size_t users_count(const struct users *u);

enum users_answer {
	USERS_KNOWN,   /* the password is right; *ret_user is set, valid until the loop goes on */
	USERS_PENDING, /* done is called later */
	USERS_BUSY,    /* too many are being checked */
};

/* found is NULL if the name or the password is wrong. */
typedef void (*users_done_fn)(const struct user *found, void *user);

enum users_answer users_check(struct users *u, const char *name, const char *password,
			      const struct user **ret_user, users_done_fn done, void *user);
