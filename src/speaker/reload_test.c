/* SPDX-License-Identifier: Apache-2.0 */
/* Against a reloader in the same loop: an HTTP server, or a handler of SIGHUP. */
#include "src/speaker/reload.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/http/testkit.h"

enum mood { SUCCEEDS, FAILS, ANSWERS_ANOTHER, ANSWERS_NONSENSE, REFUSES, HOLDS };

struct world {
	struct kit kit;
	char folder[64];
	char file[96], socket[96], pid_file[96], status_file[96];
	struct reload *reload;
	/* the reloader */
	enum mood mood;
	struct http_exchange *held;
	int64_t id;
	ev_signal hangup;
	const char *status; /* that is written after SIGHUP; NULL: none */
	unsigned requests;
	char seen[64]; /* the file at the last request */
	/* the caller */
	unsigned done;
	struct reload_result result;
	char error[512];
	const char *then; /* applied in the next done() */
};

/* ---- the reloader ---- */

static void read_file(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, size - 1, f) : 0;

	text[n] = '\0';
	if (f)
		fclose(f);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void answer(struct http_exchange *x, int64_t id, bool success)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"id\":%" PRId64 ",\"result\":%s%s}\n", id,
		 success ? "true" : "false", success ? "" : ",\"error\":\"FRR refused it\"");
	http_reply(x, 200, "application/json", str_of(body));
}

static void on_gone(void *user)
{
	struct world *w = user;

	w->held = NULL;
}

static void on_request(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct world *w = user;
	char body[64];

	assert_true(request->body.n < sizeof(body));
	memcpy(body, request->body.p, request->body.n);
	body[request->body.n] = '\0';
	assert_int_equal(sscanf(body, "{\"action\":\"reload\",\"id\":%" SCNd64 "}", &w->id), 1);
	w->requests++;
	read_file(w->file, w->seen, sizeof(w->seen));
	switch (w->mood) {
	case SUCCEEDS:
	case FAILS:
		answer(x, w->id, w->mood == SUCCEEDS);
		break;
	case ANSWERS_ANOTHER:
		answer(x, w->id + 1, true);
		break;
	case ANSWERS_NONSENSE:
		http_reply(x, 200, "application/json", STR("{\"id\":\"one\"}"));
		break;
	case REFUSES:
		http_reply_status(x, 503);
		break;
	case HOLDS:
		w->held = x;
		http_reply_later(x, on_gone, w);
		break;
	}
}

static const struct http_route routes[] = { { HTTP_POST, "/", on_request } };

static void start_server(struct world *w)
{
	const struct http_server_config config = {
		.path = w->socket, .routes = routes, .n_routes = ARRAY_SIZE(routes), .user = w
	};

	assert_int_equal(http_server_new(w->kit.loop, &config, &w->kit.server), 0);
}

static void stop_server(struct world *w)
{
	http_server_free(w->kit.server);
	w->kit.server = NULL;
}

static void on_hangup(struct ev_loop *loop, ev_signal *s, int revents)
{
	struct world *w = s->data;

	w->requests++;
	read_file(w->file, w->seen, sizeof(w->seen));
	if (w->status)
		write_file(w->status_file, w->status);
}

static void listen_to_hangups(struct world *w)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	write_file(w->pid_file, pid);
	ev_signal_init(&w->hangup, on_hangup, SIGHUP);
	w->hangup.data = w;
	ev_signal_start(w->kit.loop, &w->hangup);
}

/* ---- the caller ---- */

static void on_done(const struct reload_result *result, void *user)
{
	struct world *w = user;

	w->done++;
	w->result = *result;
	snprintf(w->error, sizeof(w->error), "%s", result->error);
	if (w->then)
		reload_apply(w->reload, str_of(w->then));
	w->then = NULL;
}

static void apply(struct world *w, const char *text)
{
	unsigned before = w->done;

	reload_apply(w->reload, str_of(text));
	assert_int_equal(w->done, before); /* never from within */
}

static struct {
	struct world *w;
	unsigned n;
} awaited;

static bool is_done(void *arg)
{
	return awaited.w->done >= awaited.n;
}

static bool is_requested(void *arg)
{
	return awaited.w->requests >= awaited.n;
}

static bool is_current(void *arg)
{
	return reload_is_current(awaited.w->reload);
}

static void await(struct world *w, bool (*cond)(void *), unsigned n)
{
	awaited.w = w;
	awaited.n = n;
	kit_wait(&w->kit, cond, NULL);
}

static void start_with(struct world *w, struct reload_config config)
{
	config.file = w->file;
	config.done = on_done;
	config.user = w;
	w->reload = reload_new(w->kit.loop, &config);
}

static void start(struct world *w)
{
	start_with(w, (struct reload_config){ .socket = w->socket, .retry = 20 * NSEC_PER_MSEC });
}

static void start_old(struct world *w)
{
	start_with(w, (struct reload_config){ .pid_file = w->pid_file,
					      .status_file = w->status_file,
					      .retry = 20 * NSEC_PER_MSEC });
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	snprintf(w->folder, sizeof(w->folder), "/tmp/reload_test.XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	snprintf(w->file, sizeof(w->file), "%s/frr.conf", w->folder);
	snprintf(w->socket, sizeof(w->socket), "%s/socket", w->folder);
	snprintf(w->pid_file, sizeof(w->pid_file), "%s/reloader.pid", w->folder);
	snprintf(w->status_file, sizeof(w->status_file), "%s/.status", w->folder);
	w->kit.loop = ev_loop_new(EVFLAG_AUTO);
	start_server(w);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	reload_free(w->reload);
	ev_signal_stop(w->kit.loop, &w->hangup);
	kit_stop(&w->kit);
	unlink(w->file);
	unlink(w->pid_file);
	unlink(w->status_file);
	assert_int_equal(rmdir(w->folder), 0); /* nothing else is left in it */
	free(w);
	return 0;
}

/* ---- over the socket ---- */

static void a_text_is_written_and_loaded(void **state)
{
	struct world *w = *state;
	const struct reload_stats *s;
	struct stat st;

	start(w);
	assert_false(reload_is_current(w->reload));
	apply(w, "one\n");
	await(w, is_done, 1);
	assert_true(w->result.success);
	assert_string_equal(w->error, "");
	assert_string_equal(w->seen, "one\n");
	assert_int_equal(w->id, 1);
	assert_int_equal(stat(w->file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true(reload_is_current(w->reload));
	s = reload_stats(w->reload);
	assert_int_equal(s->applies, 1);
	assert_int_equal(s->failures, 0);
	assert_true(s->succeeded && s->last_at > 0 && s->duration.sum > 0);
}

static void the_same_text_is_not_loaded_again_unless_asked_for(void **state)
{
	struct world *w = *state;

	start(w);
	reload_repeat(w->reload); /* there is nothing to repeat */
	apply(w, "one\n");
	await(w, is_done, 1);
	apply(w, "one\n");
	assert_int_equal(reload_state(w->reload), DEBOUNCE_IDLE);
	reload_repeat(w->reload);
	await(w, is_done, 2);
	assert_int_equal(w->requests, 2);
}

static void a_failure_is_retried_with_the_same_text(void **state)
{
	struct world *w = *state;

	w->mood = FAILS;
	start(w);
	apply(w, "one\n");
	await(w, is_done, 1);
	assert_false(w->result.success);
	assert_string_equal(w->error, "FRR refused it");
	assert_string_equal(reload_stats(w->reload)->last_error, "FRR refused it");
	assert_int_equal(reload_state(w->reload), DEBOUNCE_WAITING);
	w->mood = SUCCEEDS;
	await(w, is_current, 0);
	assert_string_equal(w->seen, "one\n");
	assert_int_equal(w->id, w->requests);
	assert_string_equal(reload_stats(w->reload)->last_error, "");
}

static void a_newer_text_does_not_wait_for_the_retry(void **state)
{
	struct world *w = *state;

	w->mood = FAILS;
	start_with(w, (struct reload_config){ .socket = w->socket, .retry = 3600 * NSEC_PER_SEC });
	apply(w, "bad\n");
	await(w, is_done, 1);
	w->mood = SUCCEEDS;
	apply(w, "good\n");
	await(w, is_done, 2);
	assert_true(w->result.success);
	assert_string_equal(w->seen, "good\n");
	assert_int_equal(reload_stats(w->reload)->failures, 1);
}

static void texts_that_come_meanwhile_replace_each_other(void **state)
{
	struct world *w = *state;
	char text[64];

	w->mood = HOLDS;
	start(w);
	apply(w, "one\n");
	await(w, is_requested, 1);
	apply(w, "two\n");
	apply(w, "three\n");
	read_file(w->file, text, sizeof(text));
	assert_string_equal(text, "one\n"); /* what is being loaded stays in place */
	w->mood = SUCCEEDS;
	answer(w->held, w->id, true);
	await(w, is_done, 2);
	assert_string_equal(w->seen, "three\n");
	assert_int_equal(w->requests, 2);
	assert_int_equal(w->result.batch, 2);
	assert_int_equal(reload_stats(w->reload)->batched, 1);
	assert_true(reload_is_current(w->reload));
}

static void done_may_apply_another_one(void **state)
{
	struct world *w = *state;

	start(w);
	w->then = "two\n";
	apply(w, "one\n");
	await(w, is_done, 2);
	assert_string_equal(w->seen, "two\n");
	assert_int_equal(w->requests, 2);
}

static void an_absent_reloader_gets_the_latest_when_it_comes(void **state)
{
	struct world *w = *state;

	stop_server(w);
	start(w);
	apply(w, "one\n");
	await(w, is_done, 1);
	assert_false(w->result.success);
	assert_non_null(strstr(w->error, w->socket));
	apply(w, "two\n");
	await(w, is_done, 3);
	start_server(w);
	await(w, is_current, 0);
	assert_int_equal(w->requests, 1);
	assert_string_equal(w->seen, "two\n");
}

static void a_restart_of_the_reloader_costs_no_failure(void **state)
{
	struct world *w = *state;

	start(w);
	apply(w, "one\n");
	await(w, is_done, 1);
	stop_server(w);
	start_server(w);
	apply(w, "two\n");
	await(w, is_done, 2);
	assert_true(w->result.success);
}

static void what_is_no_answer_is_a_failure(void **state)
{
	static const struct {
		enum mood mood;
		const char *error;
	} cases[] = {
		{ ANSWERS_ANOTHER, "answered with id 2 instead of 1" },
		{ ANSWERS_NONSENSE, "answer of frr-reloader:" },
		{ REFUSES, "answered with status 503" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		w->mood = cases[i].mood;
		w->done = 0;
		start(w);
		apply(w, "one\n");
		await(w, is_done, 1);
		assert_false(w->result.success);
		if (!strstr(w->error, cases[i].error))
			fail_msg("\"%s\" is not in \"%s\"", cases[i].error, w->error);
		reload_free(w->reload);
		w->reload = NULL;
	}
}

static void a_reloader_that_takes_too_long_has_failed(void **state)
{
	struct world *w = *state;

	w->mood = HOLDS;
	start_with(w, (struct reload_config){ .socket = w->socket,
					      .retry = 20 * NSEC_PER_MSEC,
					      .timeout = 50 * NSEC_PER_MSEC });
	apply(w, "one\n");
	await(w, is_done, 1);
	assert_false(w->result.success);
	w->mood = SUCCEEDS;
	await(w, is_current, 0);
}

static void a_file_that_cannot_be_written_is_a_failure(void **state)
{
	struct world *w = *state;
	char file[96];

	memcpy(file, w->file, sizeof(file));
	snprintf(w->file, sizeof(w->file), "%s/none/frr.conf", w->folder);
	start(w);
	apply(w, "one\n");
	await(w, is_done, 2);
	assert_false(w->result.success);
	assert_non_null(strstr(w->error, w->file));
	assert_int_equal(w->requests, 0);
	memcpy(w->file, file, sizeof(file));
}

static void it_may_be_freed_while_one_is_under_way(void **state)
{
	struct world *w = *state;

	w->mood = HOLDS;
	start(w);
	apply(w, "one\n");
	await(w, is_requested, 1);
	reload_free(w->reload);
	w->reload = NULL;
	assert_int_equal(w->done, 0);
}

/* ---- the older protocol ---- */

static void without_a_socket_the_reloader_gets_a_signal(void **state)
{
	struct world *w = *state;

	listen_to_hangups(w);
	write_file(w->status_file, "1699999999 failure"); /* of an earlier one */
	w->status = "1700000000 success";
	start_old(w);
	apply(w, "one\n");
	await(w, is_done, 1);
	assert_true(w->result.success);
	assert_string_equal(w->seen, "one\n");
}

static void a_failure_in_the_status_file_is_retried(void **state)
{
	struct world *w = *state;

	listen_to_hangups(w);
	w->status = "1700000000 failure";
	start_old(w);
	apply(w, "one\n");
	await(w, is_done, 1);
	assert_false(w->result.success);
	w->status = "1700000000 success";
	await(w, is_current, 0);
	assert_int_equal(w->requests, 2);
}

static void a_result_that_does_not_come_is_a_failure(void **state)
{
	struct world *w = *state;

	listen_to_hangups(w);
	write_file(w->status_file, "1700000000 success"); /* of an earlier one */
	start_with(w, (struct reload_config){ .pid_file = w->pid_file,
					      .status_file = w->status_file,
					      .retry = 3600 * NSEC_PER_SEC,
					      .timeout = 150 * NSEC_PER_MSEC });
	apply(w, "one\n");
	await(w, is_done, 1);
	assert_false(w->result.success);
	assert_int_equal(w->requests, 1);
}

static void a_pid_file_without_a_process_is_a_failure(void **state)
{
	static const char *const texts[] = { NULL, "",	 "one",		"0",
					     "1",  "-1", "99999999999", "2147483647" };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (texts[i])
			write_file(w->pid_file, texts[i]);
		w->done = 0;
		start_old(w);
		apply(w, "one\n");
		await(w, is_done, 1);
		assert_false(w->result.success);
		reload_free(w->reload);
		w->reload = NULL;
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_text_is_written_and_loaded),
		TEST(the_same_text_is_not_loaded_again_unless_asked_for),
		TEST(a_failure_is_retried_with_the_same_text),
		TEST(a_newer_text_does_not_wait_for_the_retry),
		TEST(texts_that_come_meanwhile_replace_each_other),
		TEST(done_may_apply_another_one),
		TEST(an_absent_reloader_gets_the_latest_when_it_comes),
		TEST(a_restart_of_the_reloader_costs_no_failure),
		TEST(what_is_no_answer_is_a_failure),
		TEST(a_reloader_that_takes_too_long_has_failed),
		TEST(a_file_that_cannot_be_written_is_a_failure),
		TEST(it_may_be_freed_while_one_is_under_way),
		TEST(without_a_socket_the_reloader_gets_a_signal),
		TEST(a_failure_in_the_status_file_is_retried),
		TEST(a_result_that_does_not_come_is_a_failure),
		TEST(a_pid_file_without_a_process_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
