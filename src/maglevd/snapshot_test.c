/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/str.h"
#include "src/maglevd/snapshot.h"
#include "src/maglevd/testing.h"

#define GOOD                                                                                       \
	"maglev:\n  dataplane: none\n  backends: { a: { address: 10.0.0.1 } }\n"                   \
	"  frontends: { f: { address: 192.0.2.1, pools: [{ name: p, backends: { a: {} } }] } }\n"

struct fixture {
	char path[64];
	struct snapshot_input input;
	struct config_source source;
	struct ev_loop *loop;
	struct config_loader *loader;
	unsigned calls;
	struct config_load *load;
	char reason[128];
};

static void on_ended(const struct config_reading *reading, void *user)
{
	struct fixture *f = user;

	f->calls++;
	f->load = reading->load;
	snprintf(f->reason, sizeof(f->reason), "%s", reading->reason ? reading->reason : "");
	config_loader_answer(f->loader, NULL);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct config_loader_calls calls = { .ended = on_ended, .user = f };
	int fd;

	snprintf(f->path, sizeof(f->path), "%s", "/tmp/maglev-snapshot-XXXXXX");
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	close(fd);
	f->loop = ev_default_loop(0);
	f->source = snapshot_source(f->path, &f->input);
	f->loader = config_loader_new(f->loop, &f->source, &calls);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	config_loader_free(f->loader);
	config_load_free(f->load);
	unlink(f->path);
	free(f);
	return 0;
}

static void put(const struct fixture *f, const char *text)
{
	FILE *file = fopen(f->path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static bool was_called(void *user)
{
	return ((struct fixture *)user)->calls > 0;
}

static void start(struct fixture *f)
{
	assert_int_equal(config_loader_ask(f->loader, CONFIG_CHECK, NULL, NULL), 0);
}

static void load_in_child(struct fixture *f)
{
	start(f);
	assert_true(testing_wait(f->loop, was_called, f));
}

static void a_child_hands_over_the_whole_configuration(void **state)
{
	struct fixture *f = *state;
	struct snapshot *s;

	put(f, GOOD);
	load_in_child(f);
	assert_non_null(f->load);
	assert_int_equal(f->load->result, CONFIG_OK);
	s = snapshot_take(f->load);
	f->load = NULL;
	assert_string_equal(s->config.backends[0].name, "a");
	assert_string_equal(s->config.frontends[0].pools[0].name, "p");
	assert_int_equal(s->config.backends[s->config.frontends[0].pools[0].members[0].backend]
				 .address.bytes[3],
			 1);
	snapshot_free(s);
}

/* FR-5.2: the phases are distinguished, and each error has its place */
static void a_child_hands_over_the_errors(void **state)
{
	struct fixture *f = *state;

	put(f, "maglev:\n  backends: { a: { address: nowhere } }\n  dataplane: none\n");
	load_in_child(f);
	assert_int_equal(f->load->result, CONFIG_SEMANTIC_ERROR);
	assert_int_equal(f->load->errors.n, 1);
	assert_int_equal(f->load->errors.items[0].at.line, 2);
	assert_string_equal(f->load->errors.items[0].key, "maglev.backends.a.address");
	config_load_free(f->load);

	f->calls = 0;
	put(f, "maglev: [\n");
	load_in_child(f);
	assert_int_equal(f->load->result, CONFIG_PARSE_ERROR);
}

static void on_kill(struct ev_loop *loop, ev_timer *w, int events)
{
	pid_t *pid = w->data;

	kill(*pid, SIGKILL);
}

/* A file that is so large that the child is still reading when it is killed. */
static void put_large(const struct fixture *f)
{
	struct buf big = { 0 };

	buf_adds(&big, "maglev:\n  dataplane: none\n  backends:\n");
	for (int i = 0; i < 20000; i++)
		buf_printf(&big, "    b%d: { address: 10.%d.%d.1 }\n", i, i / 200, i % 200);
	put(f, buf_cstr(&big));
	buf_free(&big);
}

static void a_child_that_dies_is_a_reason_and_no_configuration(void **state)
{
	struct fixture *f = *state;
	char command[64];
	pid_t pid = 0;
	ev_timer timer;
	FILE *p;

	put_large(f);
	start(f);
	snprintf(command, sizeof(command), "/proc/self/task/%d/children", getpid());
	p = fopen(command, "r");
	assert_non_null(p);
	assert_int_equal(fscanf(p, "%d", &pid), 1);
	fclose(p);
	ev_timer_init(&timer, on_kill, 0., 0.);
	timer.data = &pid;
	ev_timer_start(f->loop, &timer);
	assert_true(testing_wait(f->loop, was_called, f));
	assert_null(f->load);
	assert_string_equal(f->reason, "reading the configuration ended by signal 9");
}

static void a_child_that_takes_too_long_is_ended_and_told_so(void **state)
{
	struct fixture *f = *state;

	f->source.limit = 0.001;
	put_large(f);
	start(f);
	assert_true(testing_wait(f->loop, was_called, f));
	assert_null(f->load);
	assert_string_equal(f->reason, "reading the configuration took too long");
}

static void a_loader_is_freed_with_its_child_under_way(void **state)
{
	struct fixture *f = *state;

	put(f, GOOD);
	start(f);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_child_hands_over_the_whole_configuration),
		T(a_child_hands_over_the_errors),
		T(a_child_that_dies_is_a_reason_and_no_configuration),
		T(a_child_that_takes_too_long_is_ended_and_told_so),
		T(a_loader_is_freed_with_its_child_under_way),
	};

	return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
