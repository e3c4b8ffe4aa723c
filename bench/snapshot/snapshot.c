/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/snapshot: what publishing, reading and holding an object cost.
 *
 * Two threads read without a pause while the main thread publishes; the rest is measured in one
 * thread. Time is processor time.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/units.h"
#include "lib/snapshot/snapshot.h"

#define READERS 2
#define PUBLISHED 10000
#define ROUNDS 10000000

static struct snapshot *snapshot;
static _Atomic bool over;

static int64_t processor_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static void on_destroy(void *object, void *user)
{
	free(object);
}

static void publish(uint64_t number)
{
	uint64_t *o = mem_zalloc(sizeof(*o));

	*o = number;
	snapshot_publish(snapshot, o);
}

static uint64_t read_number(void)
{
	return *(const uint64_t *)snapshot_read(snapshot);
}

static void *read_without_pause(void *user)
{
	struct snapshot_thread t;
	uint64_t last = 0;

	snapshot_thread_start(&t, NULL, *(const unsigned *)user);
	while (!atomic_load(&over)) {
		for (int i = 0; i < 100; i++) {
			if (read_number() < last)
				abort();
			last = read_number();
		}
		snapshot_quiescent();
	}
	snapshot_thread_end(&t);
	return NULL;
}

static void show(const char *what, double mean, double longest)
{
	printf("| %s | %.1f |", what, mean);
	if (longest > 0)
		printf(" %.0f |\n", longest);
	else
		printf(" |\n");
}

static void measure_publish(struct ev_loop *loop)
{
	static const unsigned numbers[READERS] = { 0, 1 };
	int64_t sum = 0, longest = 0;
	pthread_t readers[READERS];

	for (size_t i = 0; i < READERS; i++)
		if (pthread_create(&readers[i], NULL, read_without_pause,
				   (void *)(uintptr_t)&numbers[i]) != 0)
			abort();
	for (uint64_t i = 1; i <= PUBLISHED; i++) {
		int64_t took = -processor_time();

		publish(i);
		took += processor_time();
		sum += took;
		longest = took > longest ? took : longest;
		ev_run(loop, EVRUN_NOWAIT);
	}
	atomic_store(&over, true);
	for (size_t i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	show("publish", (double)sum / PUBLISHED, (double)longest);
}

static uint64_t do_read(struct snapshot_thread *t)
{
	return read_number();
}

static uint64_t do_hold(struct snapshot_thread *t)
{
	snapshot_release(snapshot_hold(snapshot, t), t);
	return 0;
}

static uint64_t do_rest(struct snapshot_thread *t)
{
	snapshot_quiescent();
	return 0;
}

static void measure(const char *what, uint64_t (*one)(struct snapshot_thread *t))
{
	struct snapshot_thread t;
	uint64_t sum = 0;
	int64_t took;

	snapshot_thread_start(&t, NULL, 0);
	took = -processor_time();
	for (int i = 0; i < ROUNDS; i++)
		sum += one(&t);
	took += processor_time();
	snapshot_thread_end(&t);
	if (sum == 1) /* never; keeps the compiler from removing the work */
		abort();
	show(what, (double)took / ROUNDS, 0);
}

int main(void)
{
	struct ev_loop *loop = ev_default_loop(0);

	snapshot = snapshot_new(loop, READERS, on_destroy, NULL);
	publish(0);
	printf("| what | ns | longest |\n|---|---|---|\n");
	measure_publish(loop);
	measure("read", do_read);
	measure("hold and release", do_hold);
	measure("quiescent state", do_rest);
	snapshot_free(snapshot);
	return 0;
}
