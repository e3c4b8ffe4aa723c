/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/history.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/* Adds a folder to the path and makes it, as private as the specification wants it. */
static int enter(struct buf *path, const char *folder)
{
	buf_printf(path, "%s%s", path->n ? "/" : "", folder);
	return mkdir(buf_cstr(path), 0700) == 0 || errno == EEXIST ? 0 : -errno;
}

/* A variable that is not an absolute path is ignored, as the specification wants it. */
static const char *folder_of(const char *variable)
{
	const char *folder = getenv(variable);

	return folder && *folder == '/' ? folder : NULL;
}

int history_place(struct buf *path)
{
	static const char *const below_home[] = { ".local", "state" };
	const char *state = folder_of("XDG_STATE_HOME"), *home = folder_of("HOME");
	_cleanup_(buf_free) struct buf made = { 0 };
	int r = 0;

	assert(path);

	if (!state && !home)
		return -ENOENT;
	if (state)
		r = enter(&made, state);
	else
		buf_adds(&made, home);
	for (size_t i = 0; !state && r == 0 && i < ARRAY_SIZE(below_home); i++)
		r = enter(&made, below_home[i]);
	if (r == 0)
		r = enter(&made, "maglevc");
	if (r < 0)
		return r;
	buf_printf(path, "%s/history", buf_cstr(&made));
	return 0;
}
