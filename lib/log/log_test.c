/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"

static size_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	allocations++;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	allocations++;
	return __real_realloc(p, size);
}

/* The fixture: a pipe whose writing end is the logger's descriptor, and thus does not block. */
struct ends {
	int reader, writer;
};

static int open_pipe(void **state)
{
	struct ends *e;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0)
		return -1;
	e = calloc(1, sizeof(*e));
	*e = (struct ends){ fds[0], fds[1] };
	*state = e;
	log_to_fd(e->writer, LOG_INFO);
	return 0;
}

static int close_pipe(void **state)
{
	struct ends *e = *state;

	log_to_fd(-1, LOG_INFO);
	if (e->reader >= 0)
		close(e->reader);
	close(e->writer);
	free(e);
	return 0;
}

/* Reads everything from the pipe, flushing the lines that wait for it. */
static struct buf drain(int fd)
{
	struct buf all = { 0 };
	char chunk[4096];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) > 0 || log_pending()) {
		buf_add(&all, chunk, n > 0 ? (size_t)n : 0);
		log_flush();
	}
	return all;
}

/* Parses the text, which must be one line, with another JSON parser; NULL if that refuses it. */
static json_t *parse_line(struct str text)
{
	if (!text.n || memchr(text.p, '\n', text.n) != text.p + text.n - 1)
		return NULL;
	return json_loadb(text.p, text.n - 1, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
}

static json_t *read_line(int fd)
{
	_cleanup_(buf_free) struct buf all = drain(fd);
	json_t *parsed = parse_line((struct str){ all.p, all.n });

	assert_non_null(parsed);
	return parsed;
}

static size_t count_lines(int fd)
{
	_cleanup_(buf_free) struct buf all = drain(fd);
	struct str rest = { all.p, all.n }, line;
	size_t n = 0;

	while (rest.n && str_cut(&rest, '\n', &line)) {
		json_t *parsed = json_loadb(line.p, line.n, 0, NULL);

		assert_non_null(parsed);
		json_decref(parsed);
		n++;
	}
	return n;
}

static void assert_text(json_t *object, const char *key, const char *want)
{
	assert_string_equal(json_string_value(json_object_get(object, key)), want);
}

/* FR-6.1: the format of Go's slog. */
static void a_line_has_time_level_msg_and_then_the_fields_in_order(void **state)
{
	struct ends *e = *state;
	_cleanup_(buf_free) struct buf all = { 0 };
	const char *tail;

	log_info("starting", LOG_S("version", "1.0"), LOG_I("minus", -5), LOG_U("max", UINT64_MAX),
		 LOG_D("rtt", 0.25), LOG_B("ok", true), LOG_T("took", 1500000000),
		 LOG_SN("part", "abcdef", 3), LOG_I("min", INT64_MIN), LOG_S("none", NULL));
	all = drain(e->reader);
	assert_memory_equal(all.p, "{\"time\":\"20", 11);
	tail = strchr(buf_cstr(&all), 'Z');
	assert_non_null(tail);
	assert_int_equal(tail - all.p, strlen("{\"time\":\"2026-04-15T09:30:00.123456789"));
	assert_string_equal(tail, "Z\",\"level\":\"INFO\",\"msg\":\"starting\",\"version\":\"1.0\","
				  "\"minus\":-5,\"max\":18446744073709551615,\"rtt\":0.25,\"ok\":"
				  "true,\"took\":\"1.5s\",\"part\":\"abc\","
				  "\"min\":-9223372036854775808}\n"); /* none: left out */
}

/* The part after the time. */
static const char *after_time(struct buf *line)
{
	assert_true(line->n > strlen("2026-04-15T09:30:00.123Z "));
	assert_memory_equal(line->p + 10, "T", 1);
	assert_memory_equal(line->p + 23, "Z ", 2);
	return buf_cstr(line) + 25;
}

static void a_line_for_people_has_the_same_in_the_same_order(void **state)
{
	struct ends *e = *state;
	_cleanup_(buf_free) struct buf all = { 0 }, second = { 0 };

	log_set_format(LOG_TEXT);
	log_info("starting", LOG_S("version", "1.0"), LOG_I("minus", -5), LOG_B("ok", true),
		 LOG_T("took", 1500000000), LOG_S("empty", ""), LOG_S("why", "status 404"),
		 LOG_S("said", "\"a=b\\\""), LOG_S("raw", "\x1b[2J\n"), LOG_S("odd key", "x"));
	all = drain(e->reader);
	log_error("broken");
	second = drain(e->reader);
	log_set_format(LOG_JSON);
	assert_string_equal(after_time(&all),
			    "INFO  starting version=1.0 minus=-5 ok=true took=1.5s empty=\"\" "
			    "why=\"status 404\" said=\"\\\"a=b\\\\\\\"\" "
			    "raw=\"\\u001b[2J\\n\" \"odd key\"=x\n");
	assert_string_equal(after_time(&second), "ERROR broken\n");
}

static void a_line_without_fields_is_complete(void **state)
{
	struct ends *e = *state;
	json_t *line;

	log_error("stopped");
	line = read_line(e->reader);
	assert_int_equal(json_object_size(line), 3);
	assert_text(line, "level", "ERROR");
	json_decref(line);

	log_write(LOG_WARN, "bare", NULL);
	line = read_line(e->reader);
	assert_text(line, "msg", "bare");
	json_decref(line);
}

static void lines_below_the_level_are_not_written(void **state)
{
	struct ends *e = *state;

	assert_false(log_wants(LOG_DEBUG));
	log_debug("probe-start");
	log_write(LOG_DEBUG, "probe-done", NULL);
	assert_int_equal(count_lines(e->reader), 0);

	log_to_fd(e->writer, LOG_DEBUG);
	log_debug("probe-start");
	assert_int_equal(count_lines(e->reader), 1);
}

static void the_level_can_change_at_any_time(void **state)
{
	struct ends *e = *state;

	assert_int_equal(log_get_level(), LOG_INFO);
	log_set_level(LOG_DEBUG);
	assert_int_equal(log_get_level(), LOG_DEBUG);
	log_debug("probe-start");
	assert_int_equal(count_lines(e->reader), 1);
	log_set_level(LOG_ERROR);
	log_warn("server-lost");
	assert_false(log_wants(LOG_WARN));
	assert_int_equal(count_lines(e->reader), 0);
}

static void whatever_bytes_a_value_holds_the_line_is_valid(void **state)
{
	struct ends *e = *state;

	srandom(1);
	for (int round = 0; round < 3000; round++) {
		char bytes[64], key[9];
		json_t *line;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (char)random();
		for (size_t i = 0; i < sizeof(key); i++)
			key[i] = (char)random();
		key[sizeof(key) - 1] = '\0';
		key[0] = 'k';
		log_info("noise", LOG_SN("value", bytes, sizeof(bytes)), LOG_I(key, 1));
		line = read_line(e->reader);
		assert_int_equal(json_object_size(line), 5);
		json_decref(line);
	}
}

static void a_long_value_is_cut_between_characters(void **state)
{
	struct ends *e = *state;

	for (size_t lead = 0; lead < 4; lead++) {
		_cleanup_(buf_free) struct buf text = { 0 };
		json_t *line;
		const char *value;
		size_t n;

		for (size_t i = 0; i < lead; i++)
			buf_addc(&text, 'x');
		while (text.n < LOG_VALUE_MAX + 100)
			buf_adds(&text, "\xf0\x9f\x99\x82");
		log_info("long", LOG_SN("value", text.p, text.n));
		line = read_line(e->reader);
		value = json_string_value(json_object_get(line, "value"));
		n = strlen(value);
		assert_in_range(n, LOG_VALUE_MAX - 3 + 3, LOG_VALUE_MAX + 3);
		assert_string_equal(value + n - 3, "\xe2\x80\xa6");
		assert_memory_equal(value, text.p, n - 3);
		assert_null(strstr(value, "\xef\xbf\xbd"));
		json_decref(line);
	}
}

static void a_value_of_the_largest_size_is_not_cut(void **state)
{
	struct ends *e = *state;
	char text[LOG_VALUE_MAX];
	json_t *line;

	memset(text, 'y', sizeof(text));
	log_info("full", LOG_SN("value", text, sizeof(text)));
	line = read_line(e->reader);
	assert_int_equal(json_string_length(json_object_get(line, "value")), sizeof(text));
	json_decref(line);
}

static void a_warm_logger_does_not_allocate(void **state)
{
	struct ends *e = *state;
	char text[2 * LOG_VALUE_MAX];
	size_t before;

	memset(text, 1, sizeof(text));
	log_info("warm", LOG_SN("value", text, sizeof(text)), LOG_T("took", 1));
	before = allocations;
	for (int i = 0; i < 100; i++)
		log_info("warm", LOG_S("value", "x"), LOG_T("took", i), LOG_D("rtt", 0.1 * i));
	log_info("warm", LOG_SN("value", text, sizeof(text)), LOG_T("took", 1));
	assert_int_equal(allocations, before);
	assert_true(allocations > 0);
	assert_int_equal(count_lines(e->reader), 102);
}

static void what_a_pipe_does_not_take_at_once_waits(void **state)
{
	struct ends *e = *state;
	uint64_t before = log_dropped();

	for (unsigned i = 0; i < 10000; i++)
		log_info("backend-transition", LOG_U("n", i));
	assert_true(log_pending());
	assert_int_equal(count_lines(e->reader), 10000);
	assert_int_equal(log_dropped() - before, 0);
}

static size_t unread(int fd)
{
	int n;

	assert_int_equal(ioctl(fd, FIONREAD, &n), 0);
	return (size_t)n;
}

static void lines_that_are_held_are_written_together(void **state)
{
	struct ends *e = *state;
	unsigned n;

	log_hold();
	log_info("first");
	log_info("second");
	assert_int_equal(unread(e->reader), 0);
	log_release();
	assert_int_equal(count_lines(e->reader), 2);

	log_hold();
	for (n = 0; !unread(e->reader); n++)
		log_info("filler");
	assert_true(n > 100);
	log_release();
	assert_int_equal(count_lines(e->reader), n);
	log_info("at once");
	assert_true(unread(e->reader) > 0);
}

static void what_waits_is_bounded_and_lines_beyond_are_dropped_whole_and_counted(void **state)
{
	struct ends *e = *state;
	uint64_t before = log_dropped();
	size_t sent = 0, arrived;

	while (log_dropped() - before < 10) {
		log_info("filler", LOG_U("n", sent));
		sent++;
		assert_true(sent < LOG_REST_MAX);
	}
	arrived = count_lines(e->reader);
	assert_int_equal(arrived, sent - 10);
	log_info("room again");
	assert_int_equal(count_lines(e->reader), 1);
	assert_int_equal(log_dropped() - before, 10);
}

static void a_reader_that_leaves_costs_all_that_waits(void **state)
{
	struct ends *e = *state;
	uint64_t before = log_dropped();

	while (!log_pending())
		log_info("filler");
	log_info("one more");
	close(e->reader);
	e->reader = -1;
	log_flush();
	assert_false(log_pending());
	assert_int_equal(log_dropped() - before, 2);
}

/* Longer than PIPE_BUF, so that the kernel may accept only a part of it. */
static void a_line_that_was_begun_is_finished_before_the_next(void **state)
{
	struct ends *e = *state;
	_cleanup_(buf_free) struct buf all = { 0 };
	char text[LOG_VALUE_MAX];
	struct str rest, line;

	memset(text, 1, sizeof(text));
	while (!log_pending())
		log_info("long", LOG_SN("value", text, sizeof(text)));
	log_info("next");
	all = drain(e->reader);
	for (rest = (struct str){ all.p, all.n }; str_cut(&rest, '\n', &line) && rest.p;) {
		json_t *parsed = json_loadb(line.p, line.n, 0, NULL);

		assert_non_null(parsed);
		json_decref(parsed);
	}
	assert_int_equal(line.n, 0);
	assert_non_null(memmem(all.p, all.n, "\"next\"}\n", 8));
}

static void a_reader_that_left_costs_only_the_line(void **state)
{
	struct ends *e = *state;
	uint64_t before = log_dropped();

	close(e->reader);
	e->reader = -1;
	errno = ENOENT;
	log_info("into the void");
	assert_int_equal(errno, ENOENT);
	assert_int_equal(log_dropped() - before, 1);
}

/* The limit is that of a file's size: what does not fit fails, as on a full disk. */
static void limit_files_to(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/*
 * Logs "first", loses "second" with only the first `room` bytes of it written, then logs "third".
 * Returns what the file contains in the end.
 */
static struct buf fill_the_disk(size_t room, bool hold)
{
	struct buf all = { 0 };
	FILE *file = tmpfile();
	uint64_t before = log_dropped();

	assert_non_null(file);
	log_to_fd(fileno(file), LOG_INFO);
	log_info("first");
	log_take_gap(); /* of earlier tests */
	limit_files_to((rlim_t)lseek(fileno(file), 0, SEEK_CUR) + room);
	if (hold)
		log_hold();
	log_info("second");
	log_release();
	assert_int_equal(log_dropped() - before, 1);
	assert_int_equal(log_take_gap(), 0);
	limit_files_to(RLIM_INFINITY);
	if (hold)
		log_hold();
	log_info("third");
	log_release();
	assert_int_equal(log_dropped() - before, 1);
	assert_int_equal(log_take_gap(), 1);
	assert_int_equal(log_take_gap(), 0);
	log_to_fd(-1, LOG_INFO);
	buf_reserve(&all, 4096);
	all.n = (size_t)pread(fileno(file), all.p, 4095, 0);
	fclose(file);
	return all;
}

static void a_line_that_a_full_disk_cut_is_not_continued_by_the_next(void **state)
{
	static const size_t rooms[] = { 0, 1, 40 };

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rooms); i++) {
		size_t room = rooms[i / 2];
		_cleanup_(buf_free) struct buf all = fill_the_disk(room, i % 2);
		struct str rest = { all.p, all.n }, line;

		assert_true(str_cut(&rest, '\n', &line));
		assert_non_null(memmem(line.p, line.n, "\"first\"}", 8));
		if (room) {
			assert_true(str_cut(&rest, '\n', &line));
			assert_int_equal(line.n, room);
		}
		assert_true(str_cut(&rest, '\n', &line));
		assert_memory_equal(line.p, "{\"time\":", 8);
		assert_non_null(memmem(line.p, line.n, "\"third\"}", 8));
		assert_int_equal(rest.n, 0);
	}
}

struct heard {
	size_t n;
	int id;
	char msg[32], backend[32];
	enum log_level level;
	bool leave;
};

static void on_line(const struct log_line *line, void *user)
{
	struct heard *h = user;
	json_t *parsed = parse_line(line->json);

	assert_non_null(parsed);
	json_decref(parsed);
	assert_true(line->at > 1700000000000000000);
	h->n++;
	h->level = line->level;
	snprintf(h->msg, sizeof(h->msg), "%s", line->msg);
	if (line->fields[0].kind == LOG_KIND_STR)
		snprintf(h->backend, sizeof(h->backend), "%s", line->fields[0].s.p);
	if (h->leave)
		log_remove_sink(h->id);
}

static void a_sink_gets_the_parts_and_has_its_own_level(void **state)
{
	struct ends *e = *state;
	struct heard h = { 0 };

	h.id = log_add_sink(LOG_DEBUG, on_line, &h);
	assert_true(h.id >= 0);
	log_debug("probe-done", LOG_S("backend", "web1"));
	assert_int_equal(h.n, 1);
	assert_int_equal(h.level, LOG_DEBUG);
	assert_string_equal(h.msg, "probe-done");
	assert_string_equal(h.backend, "web1");
	assert_int_equal(count_lines(e->reader), 0);

	log_set_sink_level(h.id, LOG_ERROR);
	assert_false(log_wants(LOG_DEBUG));
	log_warn("not for the sink");
	assert_int_equal(h.n, 1);
	assert_int_equal(count_lines(e->reader), 1);

	log_remove_sink(h.id);
	log_error("nobody listens");
	assert_int_equal(h.n, 1);
}

static void a_sink_may_remove_itself_and_others_still_hear(void **state)
{
	struct heard first = { .leave = true }, second = { 0 };

	first.id = log_add_sink(LOG_INFO, on_line, &first);
	second.id = log_add_sink(LOG_INFO, on_line, &second);
	log_info("one");
	log_info("two");
	assert_int_equal(first.n, 1);
	assert_int_equal(second.n, 2);
	log_remove_sink(second.id);
}

struct talker {
	size_t heard;
	bool wants_debug;
	char json[256];
};

static void on_line_log_again(const struct log_line *line, void *user)
{
	struct talker *t = user;

	t->heard++;
	log_error("a sink that talks", LOG_S("of", line->msg));
	t->wants_debug = log_wants(LOG_DEBUG);
	log_debug("below the descriptor's level");
	snprintf(t->json, sizeof(t->json), "%.*s", (int)line->json.n, line->json.p);
}

/*
 * Both lines reach the descriptor, whole; a sink is not called for the line that it logged
 * itself.
 */
static void what_a_sink_logs_is_written_and_told_to_no_sink(void **state)
{
	struct ends *e = *state;
	uint64_t before = log_dropped();
	struct talker talker = { 0 };
	int id = log_add_sink(LOG_DEBUG, on_line_log_again, &talker);

	log_info("one");
	log_info("two");
	log_remove_sink(id);
	assert_int_equal(talker.heard, 2);
	assert_false(talker.wants_debug);
	assert_non_null(strstr(talker.json, "\"msg\":\"two\"}\n"));
	assert_int_equal(log_dropped() - before, 0);
	assert_int_equal(count_lines(e->reader), 4);
}

static void the_table_of_sinks_is_bounded(void **state)
{
	struct heard h = { 0 };
	int ids[LOG_SINKS_MAX];

	for (size_t i = 0; i < LOG_SINKS_MAX; i++) {
		ids[i] = log_add_sink(LOG_INFO, on_line, &h);
		assert_true(ids[i] >= 0);
	}
	assert_int_equal(log_add_sink(LOG_INFO, on_line, &h), -ENOSPC);
	log_info("to all");
	assert_int_equal(h.n, LOG_SINKS_MAX);
	for (size_t i = 0; i < LOG_SINKS_MAX; i++)
		log_remove_sink(ids[i]);
}

static void levels_are_read_in_any_case(void **state)
{
	enum log_level level = LOG_ERROR;

	assert_int_equal(log_level_parse("debug", &level), 0);
	assert_int_equal(level, LOG_DEBUG);
	assert_int_equal(log_level_parse("WARN", &level), 0);
	assert_int_equal(level, LOG_WARN);
	assert_int_equal(log_level_parse("Error", &level), 0);
	assert_int_equal(level, LOG_ERROR);
	assert_int_equal(log_level_parse("warning", &level), -EINVAL);
	assert_int_equal(log_level_parse("", &level), -EINVAL);
	assert_int_equal(level, LOG_ERROR);
	assert_int_equal(log_level_parse(log_level_word(LOG_INFO), &level), 0);
	assert_int_equal(level, LOG_INFO);
}

#define PIPED(f) cmocka_unit_test_setup_teardown(f, open_pipe, close_pipe)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PIPED(a_line_has_time_level_msg_and_then_the_fields_in_order),
		PIPED(a_line_for_people_has_the_same_in_the_same_order),
		PIPED(a_line_without_fields_is_complete),
		PIPED(lines_below_the_level_are_not_written),
		PIPED(the_level_can_change_at_any_time),
		PIPED(whatever_bytes_a_value_holds_the_line_is_valid),
		PIPED(a_long_value_is_cut_between_characters),
		PIPED(a_value_of_the_largest_size_is_not_cut),
		PIPED(a_warm_logger_does_not_allocate),
		PIPED(what_a_pipe_does_not_take_at_once_waits),
		PIPED(lines_that_are_held_are_written_together),
		PIPED(what_waits_is_bounded_and_lines_beyond_are_dropped_whole_and_counted),
		PIPED(a_reader_that_leaves_costs_all_that_waits),
		PIPED(a_line_that_was_begun_is_finished_before_the_next),
		PIPED(a_reader_that_left_costs_only_the_line),
		cmocka_unit_test(a_line_that_a_full_disk_cut_is_not_continued_by_the_next),
		PIPED(a_sink_gets_the_parts_and_has_its_own_level),
		PIPED(a_sink_may_remove_itself_and_others_still_hear),
		PIPED(what_a_sink_logs_is_written_and_told_to_no_sink),
		PIPED(the_table_of_sinks_is_bounded),
		cmocka_unit_test(levels_are_read_in_any_case),
	};

	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	sigaction(SIGXFSZ, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
