/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: inotify on the directories that lead to a file.
 *
 * follow() resolves the path component by component, as the kernel does. The directory of a name is
 * watched before the name is looked at, so that every later change is reported. A symbolic link is
 * replaced by its target, and the walk continues there. The result is a list of (watch, name); an
 * event that matches none of them is about another file in the same directory.
 *
 * A matching event only starts the timer. When the timer expires, the path is followed again,
 * because directories and links may have changed, and then the file is compared with the last one.
 * In this order a change in between is noticed by the comparison or by the new watches.
 *
 * A pattern is followed as a path whose last name is the pattern, and then each of the files that
 * it matches now as a path of its own, because they may be symbolic links.
 */
#include "lib/config/watch.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#define LINKS_MAX 40	  /* the kernel's limit, see path_resolution(7) */
#define READS_PER_TURN 16 /* each of up to 4 KiB of events */

/* For components before the last: created, removed or replaced. For the file: also modified. */
#define FOLDER_EVENTS (IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE)
#define FILE_EVENTS (FOLDER_EVENTS | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB)
/* Of the directory itself: it was deleted or moved, or its file system was unmounted. */
#define OWN_EVENTS (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)

/* One component of the path, and the watch of its directory. */
struct step {
	int wd;
	char *name;
	bool wild; /* the name is a pattern */
};

struct steps {
	VEC(struct step) list;
};

/* Distinguishes versions of the file; all zero if there is no file. */
struct print {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified, changed;
};

struct prints {
	VEC(struct print) list;
};

struct config_watch {
	struct ev_loop *loop;
	char *path;
	VEC(char *) more; /* further paths and patterns */
	double settle;
	config_watch_fn changed;
	void *user;
	int fd, error; /* of inotify; of the last follow() */
	struct steps steps;
	struct prints last; /* of all files at the start or at the last callback */
	ev_io events;
	ev_timer quiet;	    /* active from a change until it is reported */
	ev_tstamp patience; /* when to report even if changes continue */
};

/* ---- following the path ---- */

/* The walk: the directory reached so far, with all links resolved, and the rest of the path. */
struct walk {
	struct buf folder, rest;
	unsigned links;
	int error; /* of the last inotify_add_watch() */
	bool wild; /* the last name is a pattern */
	struct steps *steps;
};

static void free_steps(struct steps *s)
{
	for (size_t i = 0; i < s->list.n; i++)
		free(s->list.items[i].name);
	vec_free(&s->list);
}

/* Removes the first name from the rest of the path; false at its end. The caller frees *ret. */
static bool next_name(struct walk *walk, char **ret)
{
	size_t start = 0, end;

	while (start < walk->rest.n && walk->rest.p[start] == '/')
		start++;
	for (end = start; end < walk->rest.n && walk->rest.p[end] != '/';)
		end++;
	if (start == end)
		return false;
	*ret = mem_zalloc(end - start + 1);
	memcpy(*ret, walk->rest.p + start, end - start);
	buf_consume(&walk->rest, end);
	return true;
}

static bool is_last(const struct walk *walk)
{
	for (size_t i = 0; i < walk->rest.n; i++)
		if (walk->rest.p[i] != '/')
			return false;
	return true;
}

/* Puts the target of a link before the rest of the path; an absolute one restarts at the root. */
static void follow_link(struct walk *walk, const char *target, size_t n)
{
	struct buf rest = { 0 };

	if (*target == '/') {
		walk->folder.n = 0;
		buf_addc(&walk->folder, '/');
	}
	buf_add(&rest, target, n);
	buf_addc(&rest, '/');
	buf_add(&rest, walk->rest.p, walk->rest.n);
	buf_free(&walk->rest);
	walk->rest = rest;
}

/*
 * Watches the directory of one name, then looks at the name. False ends the walk. IN_MASK_ADD,
 * because one directory may be visited twice and the kernel has one watch per inode.
 */
static bool follow_name(struct config_watch *w, struct walk *walk, char *name)
{
	uint32_t events = is_last(walk) ? FILE_EVENTS : FOLDER_EVENTS;
	char target[PATH_MAX];
	ssize_t n;
	int wd = inotify_add_watch(w->fd, buf_cstr(&walk->folder),
				   events | OWN_EVENTS | IN_ONLYDIR | IN_MASK_ADD);

	/* an unreadable directory on the way is skipped: only the last one is essential */
	walk->error = wd < 0 ? -errno : 0;
	if (walk->error == -ENOENT || walk->error == -ENOTDIR)
		return false;
	if (wd >= 0)
		vec_push(&walk->steps->list,
			 (struct step){ wd, mem_strdup(name), walk->wild && is_last(walk) });
	buf_printf(&walk->folder, "/%s", name);
	n = readlink(buf_cstr(&walk->folder), target, sizeof(target));
	if (n <= 0 || n == sizeof(target))
		return true;
	if (++walk->links > LINKS_MAX)
		return false;
	walk->folder.n -= strlen(name) + 1;
	follow_link(walk, target, (size_t)n);
	return true;
}

static bool has_watch(const struct steps *s, int wd)
{
	for (size_t i = 0; i < s->list.n; i++)
		if (s->list.items[i].wd == wd)
			return true;
	return false;
}

/* After the new walk, so that directories on both the old and the new path stay watched. */
static void drop_watches(struct config_watch *w, const struct steps *old)
{
	for (size_t i = 0; i < old->list.n; i++)
		if (!has_watch(&w->steps, old->list.items[i].wd))
			inotify_rm_watch(w->fd, old->list.items[i].wd);
}

/* Follows one path; returns the error of its last folder. */
static int follow_path(struct config_watch *w, const char *path, bool wild, struct steps *steps)
{
	struct walk walk = { .steps = steps, .wild = wild };
	bool more = true;
	char *name;

	buf_adds(&walk.folder, *path == '/' ? "/" : ".");
	buf_adds(&walk.rest, path);
	while (more && next_name(&walk, &name)) {
		if (strcmp(name, "..") == 0)
			buf_adds(&walk.folder, "/..");
		else if (strcmp(name, ".") != 0)
			more = follow_name(w, &walk, name);
		free(name);
	}
	buf_free(&walk.folder);
	buf_free(&walk.rest);
	return walk.error == -ENOENT || walk.error == -ENOTDIR ? 0 : walk.error;
}

static bool is_pattern(const char *path)
{
	return path[strcspn(path, "*?[")];
}

/* The files of a further path, sorted; a pattern may match none. The caller calls globfree(). */
static void expand(const char *path, glob_t *ret)
{
	*ret = (glob_t){ 0 };
	if (!is_pattern(path) || glob(path, 0, NULL, ret) != 0)
		ret->gl_pathc = 0;
}

static void follow(struct config_watch *w)
{
	struct steps old = w->steps;
	glob_t found;

	w->steps = (struct steps){ 0 };
	w->error = follow_path(w, w->path, false, &w->steps);
	for (size_t i = 0; i < w->more.n; i++) {
		follow_path(w, w->more.items[i], is_pattern(w->more.items[i]), &w->steps);
		expand(w->more.items[i], &found);
		for (size_t k = 0; k < found.gl_pathc; k++)
			follow_path(w, found.gl_pathv[k], false, &w->steps);
		globfree(&found);
	}
	drop_watches(w, &old);
	free_steps(&old);
}

/* ---- changes ---- */

static struct print print_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return (struct print){ 0 };
	return (struct print){ st.st_dev, st.st_ino, st.st_size, st.st_mtim, st.st_ctim };
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_print(const struct print *a, const struct print *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       same_time(&a->modified, &b->modified) && same_time(&a->changed, &b->changed);
}

/* The first file comes first; a further path that does not exist has a print, too. */
static struct prints take_prints(const struct config_watch *w)
{
	struct prints all = { 0 };
	glob_t found;

	vec_push(&all.list, print_of(w->path));
	for (size_t i = 0; i < w->more.n; i++) {
		vec_push(&all.list, print_of(w->more.items[i]));
		expand(w->more.items[i], &found);
		for (size_t k = 0; k < found.gl_pathc; k++)
			vec_push(&all.list, print_of(found.gl_pathv[k]));
		globfree(&found);
	}
	return all;
}

static bool same_prints(const struct prints *a, const struct prints *b)
{
	for (size_t i = 0; i < a->list.n && i < b->list.n; i++)
		if (!same_print(&a->list.items[i], &b->list.items[i]))
			return false;
	return a->list.n == b->list.n;
}

static void replace_prints(struct config_watch *w, const struct prints *now)
{
	vec_free(&w->last.list);
	w->last = *now;
}

static void on_quiet(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct config_watch *w = timer->data;
	struct prints now;

	follow(w);
	now = take_prints(w);
	if (!now.list.items[0].inode || same_prints(&now, &w->last)) {
		vec_free(&now.list);
		return;
	}
	replace_prints(w, &now);
	w->changed(w->user);
}

/* Each event postpones the callback, but not beyond patience. */
static void note_change(struct config_watch *w)
{
	ev_tstamp now = ev_now(w->loop), wait = w->settle;

	if (!ev_is_active(&w->quiet))
		w->patience = now + w->settle * CONFIG_WATCH_PATIENCE;
	if (now + wait > w->patience)
		wait = w->patience > now ? w->patience - now : 0.;
	ev_timer_stop(w->loop, &w->quiet);
	ev_timer_set(&w->quiet, wait, 0.);
	ev_timer_start(w->loop, &w->quiet);
}

/* After an overflow events are lost, so the file must be compared in any case. */
static bool concerns(const struct config_watch *w, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW)
		return true;
	for (size_t i = 0; i < w->steps.list.n; i++) {
		const struct step *s = &w->steps.list.items[i];

		if (s->wd != event->wd)
			continue;
		if (!event->len || strcmp(event->name, s->name) == 0 ||
		    (s->wild && fnmatch(s->name, event->name, 0) == 0))
			return true; /* no name: the event is about the directory itself */
	}
	return false;
}

/* False if there was nothing to read. */
static bool read_events(struct config_watch *w)
{
	_Alignas(struct inotify_event) char bytes[4096];
	ssize_t n = read(w->fd, bytes, sizeof(bytes));
	const struct inotify_event *event;

	for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof(*event) + event->len)) {
		event = (const struct inotify_event *)(bytes + at);
		if (concerns(w, event))
			note_change(w);
	}
	return n > 0;
}

static void on_events(struct ev_loop *loop, ev_io *io, int events)
{
	for (int i = 0; i < READS_PER_TURN && read_events(io->data); i++)
		;
}

/* ---- beginning and end ---- */

int config_watch_new(struct ev_loop *loop, const char *path, double settle, config_watch_fn changed,
		     void *user, struct config_watch **ret)
{
	struct config_watch *w;
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), error;

	assert(*path && settle >= 0. && changed);
	if (fd < 0)
		return -errno;
	w = mem_zalloc(sizeof(*w));
	*w = (struct config_watch){ .loop = loop,
				    .path = mem_strdup(path),
				    .settle = settle,
				    .changed = changed,
				    .user = user,
				    .fd = fd };
	ev_io_init(&w->events, on_events, fd, EV_READ);
	ev_init(&w->quiet, on_quiet);
	w->events.data = w->quiet.data = w;
	ev_io_start(loop, &w->events);
	follow(w);
	w->last = take_prints(w);
	error = w->error;
	if (error < 0)
		config_watch_free(w);
	else
		*ret = w;
	return error;
}

static void free_more(struct config_watch *w)
{
	for (size_t i = 0; i < w->more.n; i++)
		free(w->more.items[i]);
	vec_free(&w->more);
}

static bool same_more(const struct config_watch *w, const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n && i < w->more.n; i++)
		if (strcmp(paths[i], w->more.items[i]) != 0)
			return false;
	return n == w->more.n;
}

/* The print of the first file stays the old one, so that no change of it is missed. */
void config_watch_follow(struct config_watch *w, const char *const *paths, size_t n)
{
	struct prints now;

	if (same_more(w, paths, n))
		return;
	free_more(w);
	for (size_t i = 0; i < n; i++)
		vec_push(&w->more, mem_strdup(paths[i]));
	follow(w);
	now = take_prints(w);
	now.list.items[0] = w->last.list.items[0];
	replace_prints(w, &now);
}

void config_watch_free(struct config_watch *w)
{
	if (!w)
		return;
	ev_io_stop(w->loop, &w->events);
	ev_timer_stop(w->loop, &w->quiet);
	close(w->fd);
	free_steps(&w->steps);
	free_more(w);
	vec_free(&w->last.list);
	free(w->path);
	free(w);
}

int config_watch_error(const struct config_watch *w)
{
	return w->error;
}
