/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/log: what a log line costs the thread that logs it.
 *
 * Two threads with loops of their own log in bursts, one each millisecond, as data threads do; the
 * main thread collects the lines with lib/daemon and writes them to a pipe whose reader discards
 * them. Beside it the main thread alone, which writes each line at once. Time is processor time of
 * the calling thread.
 */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/daemon/daemon.h"

#define THREADS 2
#define BURSTS 3000 /* one each millisecond */

struct work {
	const char *name;
	unsigned burst; /* lines of one thread in a millisecond */
	size_t extra;	/* bytes of a long value in each line */
};

static const struct work works[] = {
	{ "access lines, 100,000/s", 50, 0 },
	{ "access lines, 400,000/s", 200, 0 },
	{ "lines of 8 KiB, 4,000/s", 2, 3900 },
};

struct thread {
	pthread_t id;
	const struct work *work;
	struct ev_loop *loop;
	unsigned bursts;
	int64_t spent; /* ns */
};

static _Atomic unsigned running;
static char filler[4096];
static struct ev_loop *main_loop;
static ev_async ended;
static FILE *table; /* standard output is the log */

static int64_t processor_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static void log_access(const struct work *w, unsigned n)
{
	log_info("request", LOG_S("listener", "http"), LOG_S("client", "192.0.2.17:51234"),
		 LOG_S("method", "GET"), LOG_S("host", "www.example.net"),
		 LOG_S("path", "/api/v1/things/1234?page=2"), LOG_S("protocol", "HTTP/1.1"),
		 LOG_U("status", 200), LOG_U("bytes_in", 512), LOG_U("bytes_out", 1024 + n),
		 LOG_S("route", "things"), LOG_S("server", "10.0.0.11:8080"),
		 LOG_T("took", 1234567 + n), LOG_SN("extra", w->extra ? filler : NULL, w->extra),
		 LOG_SN("more", w->extra ? filler : NULL, w->extra));
}

static void on_burst(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct thread *t = w->data;
	int64_t began = processor_time();

	for (unsigned i = 0; i < t->work->burst; i++)
		log_access(t->work, i);
	t->spent += processor_time() - began;
	if (++t->bursts == BURSTS)
		ev_break(loop, EVBREAK_ALL);
}

static void *run_thread(void *user)
{
	struct thread *t = user;
	ev_timer timer;

	log_thread_start();
	ev_timer_init(&timer, on_burst, 0.001, 0.001);
	timer.data = t;
	ev_timer_start(t->loop, &timer);
	ev_run(t->loop, 0);
	log_thread_end();
	ev_loop_destroy(t->loop);
	if (atomic_fetch_sub(&running, 1) == 1)
		ev_async_send(main_loop, &ended);
	return NULL;
}

static void on_ended(struct ev_loop *loop, ev_async *w, int revents)
{
	ev_break(loop, EVBREAK_ALL);
}

static void show(const char *name, const char *who, int64_t ns, uint64_t lines, uint64_t lost)
{
	fprintf(table, "| %s | %s | %lld | %llu | %llu |\n", name, who,
		(long long)(ns / (int64_t)lines), (unsigned long long)lines,
		(unsigned long long)lost);
}

static void run_threads(const struct work *w)
{
	struct thread threads[THREADS];
	uint64_t lost = log_dropped();
	int64_t spent = 0;

	atomic_store(&running, THREADS);
	for (size_t i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){ .work = w, .loop = ev_loop_new(EVFLAG_AUTO) };
		if (pthread_create(&threads[i].id, NULL, run_thread, &threads[i]) != 0)
			abort();
	}
	ev_run(main_loop, 0);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i].id, NULL);
		spent += threads[i].spent;
	}
	while (log_collect())
		;
	show(w->name, "another thread", spent, (uint64_t)THREADS * BURSTS * w->burst,
	     log_dropped() - lost);
}

static void run_here(const struct work *w)
{
	uint64_t lost = log_dropped();
	int64_t began = processor_time();

	for (unsigned i = 0; i < 100000; i++)
		log_access(w, i);
	show(w->name, "main thread", processor_time() - began, 100000, log_dropped() - lost);
}

static void on_stop(int signo, void *user)
{
	ev_break(main_loop, EVBREAK_ALL);
}

static void *discard(void *user)
{
	static char nowhere[1 << 16];
	const int *fd = user;

	while (read(*fd, nowhere, sizeof(nowhere)) > 0)
		;
	return NULL;
}

int main(void)
{
	const struct daemon_calls calls = { on_stop, NULL, NULL, NSEC_PER_SEC, NULL };
	struct daemon daemon;
	pthread_t reader;
	int ends[2];

	memset(filler, 'x', sizeof(filler));
	if (pipe2(ends, O_CLOEXEC) < 0 || pthread_create(&reader, NULL, discard, &ends[0]) != 0)
		return EXIT_FAILURE;
	table = fdopen(dup(STDOUT_FILENO), "w");
	if (!table || dup2(ends[1], STDOUT_FILENO) < 0)
		return EXIT_FAILURE;
	main_loop = ev_default_loop(0);
	log_to_fd(STDOUT_FILENO, LOG_INFO);
	daemon_start(&daemon, main_loop, &calls);
	daemon_accept_threads(&daemon);
	ev_async_init(&ended, on_ended);
	ev_async_start(main_loop, &ended);
	fprintf(table, "| what | logged by | ns a line | lines | lost |\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_SIZE(works); i++) {
		run_threads(&works[i]);
		if (i != 1)
			run_here(&works[i]);
	}
	daemon_end(&daemon);
	return fclose(table) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
