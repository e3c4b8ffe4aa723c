/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "lib/vty/vty.h"

#define EVERY 1. /* s */
#define ANSWER_TIMEOUT (3 * NSEC_PER_SEC)

struct sessions {
	struct ev_loop *loop;
	struct vty *bgpd, *bfdd;
	const struct bgp_config *config;
	struct session *list;
	size_t n;
	char **names; /* of the peers, which survive a change of the configuration */
	char *problem;
	bool asked;
	uint64_t connections; /* to bgpd, at the last answer */
	void (*again)(void *user);
	void *user;
	ev_timer timer;
};

/* ---- changes ---- */

static void set_up(struct sessions *s, size_t i, bool up)
{
	struct session *one = &s->list[i];

	if (one->up == up && one->since)
		return;
	if (up)
		log_info("session-up", LOG_S("peer", s->names[i]));
	else if (one->since)
		log_warn("session-down", LOG_S("peer", s->names[i]), LOG_S("state", one->state),
			 LOG_S("reason", *s->problem ? s->problem : one->last_error));
	one->up = up;
	one->since = loop_monotonic();
}

/* ---- answers ---- */

/* "" without an answer: then no peer is known. */
static struct str text_of(const struct vty_answer *answer)
{
	return answer->error == 0 ? answer->text : STR("");
}

static void set_problem(struct sessions *s, const char *problem)
{
	free(s->problem);
	s->problem = mem_strdup(problem);
}

static void on_neighbors(const struct vty_answer *answer, void *user)
{
	struct sessions *s = user;
	uint64_t before = s->connections;
	int r = answers_bgp(text_of(answer), s->config, s->list);

	s->asked = true;
	for (size_t i = 0; i < s->n; i++)
		set_up(s, i, strcmp(s->list[i].state, SESSION_ESTABLISHED) == 0);
	set_problem(s, answer->error < 0 ? answer->reason
		       : r < 0		 ? "bgpd's answer is not JSON"
					 : "");
	if (answer->error < 0)
		return;
	s->connections = vty_connections(s->bgpd);
	if (before && before != s->connections)
		s->again(s->user);
}

static void on_bfd(const struct vty_answer *answer, void *user)
{
	struct sessions *s = user;

	answers_bfd(text_of(answer), s->config, s->list);
}

static void on_bfd_counters(const struct vty_answer *answer, void *user)
{
	struct sessions *s = user;

	if (answer->error == 0)
		answers_bfd_counters(answer->text, s->config, s->list);
}

/* ---- the timer ---- */

static bool uses_bfd(const struct sessions *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->config->peers[i].frr.bfd)
			return true;
	return false;
}

/* A daemon that is slow is not asked twice at once. */
static void on_timer(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct sessions *s = container_of(timer, struct sessions, timer);

	if (!vty_waiting(s->bgpd))
		vty_ask(s->bgpd, STR("show bgp vrf all neighbors json"), on_neighbors, s);
	if (!vty_waiting(s->bfdd) && uses_bfd(s)) {
		/* counts first: they are there when a session becomes known */
		vty_ask(s->bfdd, STR("show bfd peers counters json"), on_bfd_counters, s);
		vty_ask(s->bfdd, STR("show bfd peers json"), on_bfd, s);
	}
}

/* ---- the door ---- */

static struct vty *open_vty(struct ev_loop *loop, const char *folder, const char *name)
{
	_cleanup_(buf_free) struct buf path = { 0 };

	buf_printf(&path, "%s/%s.vty", folder, name);
	return vty_new(loop,
		       &(struct vty_config){ .path = buf_cstr(&path), .timeout = ANSWER_TIMEOUT });
}

struct sessions *sessions_new(struct ev_loop *loop, const char *vty_dir, void (*again)(void *user),
			      void *user)
{
	struct sessions *s = mem_zalloc(sizeof(*s));

	s->loop = loop;
	s->again = again;
	s->user = user;
	s->problem = mem_strdup("");
	s->bgpd = open_vty(loop, vty_dir, "bgpd");
	s->bfdd = open_vty(loop, vty_dir, "bfdd");
	ev_timer_init(&s->timer, on_timer, 0., EVERY);
	return s;
}

void sessions_start(struct sessions *s)
{
	set_problem(s, "bgpd has not answered yet");
	ev_timer_start(s->loop, &s->timer);
}

static void free_list(struct sessions *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->names[i]);
	free(s->names);
	free(s->list);
}

void sessions_free(struct sessions *s)
{
	if (!s)
		return;
	ev_timer_stop(s->loop, &s->timer);
	vty_free(s->bgpd);
	vty_free(s->bfdd);
	free_list(s);
	free(s->problem);
	free(s);
}

void sessions_configure(struct sessions *s, const struct bgp_config *config)
{
	struct session *list = mem_zalloc((config->n_peers + 1) * sizeof(*list));
	char **names = mem_zalloc((config->n_peers + 1) * sizeof(*names));

	for (size_t i = 0; i < config->n_peers; i++) {
		names[i] = mem_strdup(config->peers[i].frr.name);
		for (size_t k = 0; k < s->n; k++)
			if (strcmp(s->names[k], names[i]) == 0)
				list[i] = s->list[k];
	}
	free_list(s);
	s->list = list;
	s->names = names;
	s->n = config->n_peers;
	s->config = config;
}

const struct session *sessions_list(const struct sessions *s)
{
	return s->list;
}

bool sessions_asked(const struct sessions *s)
{
	return s->asked;
}

const char *sessions_problem(const struct sessions *s)
{
	return s->problem;
}
