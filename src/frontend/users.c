/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/users.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/config/file.h"
#include "lib/config/watch.h"
#include "lib/log/log.h"
#include "lib/loop/job.h"
#include "lib/page/password.h"
#include "lib/tls/digest.h"
#include "src/frontend/users.h"

#define FILE_MAX ((size_t)1024 * 1024)
#define NAME_MAX_BYTES 64
#define KNOWN_MAX 64
#define KNOWN_FOR (600 * NSEC_PER_SEC)
#define WAITING_MAX 64 /* requests that wait for one check */
#define CHECK_TIMEOUT (10 * NSEC_PER_SEC)

/* A correct password of late. */
struct known {
	uint8_t digest[TLS_SHA256];
	int64_t until; /* monotonic ns; 0: unused entry */
};

struct waiting {
	users_done_fn done;
	void *user;
};

/* A password that is being checked, for all requests that have sent it. */
struct check {
	TAILQ_ENTRY(check) all;
	struct users *users;
	struct job *job;
	uint8_t digest[TLS_SHA256];
	char *name, *password, *hash;
	bool stranger; /* there is no such user: the hash is another one's, for the time it takes */
	struct waiting waiting[WAITING_MAX];
	size_t n_waiting;
};

struct users {
	struct ev_loop *loop;
	const char *path;
	struct users_list list;
	struct config_watch *watch; /* NULL: changes are not noticed */
	uint8_t key[TLS_SHA256];
	struct known known[KNOWN_MAX];
	TAILQ_HEAD(, check) checks;
	size_t n_checks;
};

/* ---- the text ---- */

/* A name is sent in a header and shown in one line; a space would look like the next word. */
static bool is_name(struct str name)
{
	if (!name.n || name.n > NAME_MAX_BYTES || !utf8_valid(name.p, name.n))
		return false;
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] <= ' ' || name.p[i] == 0x7f)
			return false;
	return true;
}

static const char *read_role(struct str role, bool *ret)
{
	*ret = str_eq(role, STR("admin"));
	return *ret || !role.n || str_eq(role, STR("read-only")) ? NULL
								 : "the role is admin or read-only";
}

static bool is_taken(const struct users_list *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i].name, name) == 0)
			return true;
	return false;
}

/* Returns NULL, or what is wrong with the line. */
static const char *read_line(struct str line, struct users_list *list)
{
	struct user *user = &list->items[list->n];
	struct str name, hash;
	const char *wrong;

	if (list->n == USERS_MAX)
		return "there are more than 1000 users";
	if (!str_cut(&line, ':', &name) || !is_name(name))
		return "it has to begin with a name without spaces, and a colon";
	if (!str_cut(&line, ':', &hash))
		return "there is no hash of a password after the name";
	user->name = arena_strndup(list->arena, name.p, name.n);
	user->hash = arena_strndup(list->arena, hash.p, hash.n);
	wrong = read_role(line, &user->admin);
	if (!wrong && !page_password_is_hash(user->hash))
		wrong = "this is not a strong hash of a password: see --make-user, or htpasswd -B";
	if (!wrong && is_taken(list, user->name))
		wrong = "a user of this name is in the file already";
	list->n += !wrong;
	return wrong;
}

int users_parse(struct str text, struct users_list *ret, struct buf *why)
{
	struct users_list list = { .arena = arena_new() };
	struct str line;

	list.items = arena_array_of(list.arena, USERS_MAX, struct user);
	for (unsigned number = 1; str_cut(&text, '\n', &line); number++) {
		const char *wrong;

		line = str_trim(line);
		if (!line.n || line.p[0] == '#')
			continue;
		wrong = read_line(line, &list);
		if (!wrong)
			continue;
		buf_printf(why, "line %u: %s", number, wrong);
		users_list_free(&list);
		return -EINVAL;
	}
	*ret = list;
	return 0;
}

void users_list_free(struct users_list *list)
{
	arena_free(list->arena);
	*list = (struct users_list){ 0 };
}

/* ---- the file ---- */

int users_read(const char *path, struct users_list *ret, struct buf *why)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	int r = file_read(path, FILE_MAX, &text);

	if (r < 0) {
		buf_adds(why, strerror(-r));
		return r;
	}
	return users_parse((struct str){ text.p, text.n }, ret, why);
}

void users_reload(struct users *u)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	struct users_list list;

	if (users_read(u->path, &list, &why) < 0) {
		log_error("users-not-read", LOG_S("file", u->path), LOG_S("error", buf_cstr(&why)),
			  LOG_S("reason", "the users stay as they were"));
		return;
	}
	users_list_free(&u->list);
	u->list = list;
	log_info("users-read", LOG_S("file", u->path), LOG_U("users", list.n));
}

static void on_changed(void *user)
{
	users_reload(user);
}

int users_new(struct ev_loop *loop, const char *path, struct users **ret, struct buf *why)
{
	struct users *u = mem_zalloc(sizeof(*u));
	int r = users_read(path, &u->list, why);

	if (r < 0) {
		free(u);
		return r;
	}
	u->loop = loop;
	u->path = path;
	TAILQ_INIT(&u->checks);
	if (getrandom(u->key, sizeof(u->key), 0) != sizeof(u->key))
		abort(); /* getrandom(2): up to 256 bytes are never cut short */
	r = config_watch_new(loop, path, CONFIG_WATCH_SETTLE, on_changed, u, &u->watch);
	if (r < 0)
		log_warn("users-not-watched", LOG_S("file", path), LOG_S("error", strerror(-r)));
	log_info("users-read", LOG_S("file", path), LOG_U("users", u->list.n));
	*ret = u;
	return 0;
}

size_t users_count(const struct users *u)
{
	return u->list.n;
}

/* ---- passwords ---- */

static const struct user *find(const struct users *u, const char *name)
{
	for (size_t i = 0; i < u->list.n; i++)
		if (strcmp(u->list.items[i].name, name) == 0)
			return &u->list.items[i];
	return NULL;
}

static void digest_of(const struct users *u, const struct check *c, uint8_t ret[static TLS_SHA256])
{
	_cleanup_(buf_free) struct buf text = { 0 };

	buf_add(&text, c->name, strlen(c->name) + 1);
	buf_add(&text, c->password, strlen(c->password) + 1);
	buf_adds(&text, c->hash);
	tls_hmac_sha256(u->key, sizeof(u->key), text.p, text.n, ret);
	explicit_bzero(text.p, text.n);
}

static bool is_known(const struct users *u, const uint8_t digest[static TLS_SHA256])
{
	bool found = false;

	for (size_t i = 0; i < KNOWN_MAX; i++)
		found |= tls_same(u->known[i].digest, digest, TLS_SHA256) &&
			 u->known[i].until > loop_monotonic();
	return found;
}

/* Replaces the entry that expires first. */
static void remember(struct users *u, const uint8_t digest[static TLS_SHA256])
{
	struct known *place = &u->known[0];

	for (size_t i = 0; i < KNOWN_MAX; i++)
		if (u->known[i].until < place->until)
			place = &u->known[i];
	memcpy(place->digest, digest, TLS_SHA256);
	place->until = loop_monotonic() + KNOWN_FOR;
}

static void check_free(struct check *c)
{
	job_cancel(c->job);
	TAILQ_REMOVE(&c->users->checks, c, all);
	c->users->n_checks--;
	explicit_bzero(c->password, strlen(c->password));
	free(c->password);
	free(c->name);
	free(c->hash);
	free(c);
}

/* In the child. */
static int compare(int out, void *user)
{
	const struct check *c = user;

	return page_password_matches(c->password, c->hash) ? 0 : 1;
}

/* The file may have changed meanwhile: only the hash that was checked counts. */
static void on_compared(const struct job_result *result, void *user)
{
	struct check *c = user;
	struct users *u = c->users;
	const struct user *is = find(u, c->name);
	bool right =
		result->end == JOB_DONE && !c->stranger && is && strcmp(is->hash, c->hash) == 0;

	c->job = NULL;
	if (result->end != JOB_DONE && result->end != JOB_EXIT)
		log_error("password-not-checked", LOG_S("reason", result->reason));
	if (right)
		remember(u, c->digest);
	for (size_t i = 0; i < c->n_waiting; i++)
		c->waiting[i].done(right ? is : NULL, c->waiting[i].user);
	check_free(c);
}

static bool wait_for(struct check *c, users_done_fn done, void *user)
{
	if (c->n_waiting == WAITING_MAX)
		return false;
	c->waiting[c->n_waiting++] = (struct waiting){ done, user };
	return true;
}

static struct check *find_check(struct users *u, const uint8_t digest[static TLS_SHA256])
{
	struct check *c;

	for (c = TAILQ_FIRST(&u->checks); c; c = TAILQ_NEXT(c, all))
		if (tls_same(c->digest, digest, TLS_SHA256))
			return c;
	return NULL;
}

/* An unknown name takes as long as a known one: the time must not tell which names exist. */
static struct check *check_new(struct users *u, const char *name, const char *password)
{
	const struct user *is = find(u, name);
	struct check *c = mem_zalloc(sizeof(*c));

	c->users = u;
	c->stranger = !is;
	c->name = mem_strdup(name);
	c->password = mem_strdup(password);
	c->hash = mem_strdup(is ? is->hash : u->list.n ? u->list.items[0].hash : "*");
	digest_of(u, c, c->digest);
	TAILQ_INSERT_TAIL(&u->checks, c, all);
	u->n_checks++;
	return c;
}

static enum users_answer begin(struct check *c, users_done_fn done, void *user)
{
	const struct job_spec spec = {
		.work = compare, .done = on_compared, .user = c, .timeout = CHECK_TIMEOUT
	};

	if (c->users->n_checks > USERS_CHECKS_MAX ||
	    job_start(c->users->loop, &spec, &c->job) < 0) {
		check_free(c);
		return USERS_BUSY;
	}
	wait_for(c, done, user);
	return USERS_PENDING;
}

enum users_answer users_check(struct users *u, const char *name, const char *password,
			      const struct user **ret_user, users_done_fn done, void *user)
{
	struct check *fresh = check_new(u, name, password), *other;

	if (!fresh->stranger && is_known(u, fresh->digest)) {
		check_free(fresh);
		*ret_user = find(u, name);
		return USERS_KNOWN;
	}
	other = find_check(u, fresh->digest);
	if (other == fresh)
		return begin(fresh, done, user);
	check_free(fresh);
	return wait_for(other, done, user) ? USERS_PENDING : USERS_BUSY;
}

void users_free(struct users *u)
{
	struct check *c;

	if (!u)
		return;
	while ((c = TAILQ_FIRST(&u->checks)))
		check_free(c);
	config_watch_free(u->watch);
	users_list_free(&u->list);
	free(u);
}
