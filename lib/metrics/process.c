/* SPDX-License-Identifier: Apache-2.0 */
/* process: the process_* families, named as the Prometheus client libraries name them. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/metrics/metrics.h"

/* Fields of /proc/self/stat after the name, counted from 0; proc(5) counts them from 3. */
enum { STAT_UTIME = 11, STAT_STIME = 12, STAT_START = 19, STAT_VSIZE = 20, STAT_RSS = 21, STAT_N };

/* Files in /proc report size 0, so this reads until the end. */
static int read_file(const char *path, struct buf *out)
{
	_cleanup_(cleanup_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		buf_reserve(out, 4096);
		n = read(fd, out->p + out->n, out->cap - out->n);
		if (n < 0)
			return -errno;
		out->n += (size_t)n;
	} while (n > 0);
	return 0;
}

/* The process name is in parentheses and may itself contain them, so the last ')' ends it. */
static bool parse_stat(struct str text, uint64_t ret[static STAT_N])
{
	const char *name_end = text.n ? memrchr(text.p, ')', text.n) : NULL;
	struct str rest, field;
	size_t i;

	if (!name_end || (size_t)(name_end - text.p) + 2 > text.n)
		return false;
	rest = (struct str){ name_end + 2, text.n - (size_t)(name_end + 2 - text.p) };
	for (i = 0; i < STAT_N && str_cut(&rest, ' ', &field); i++)
		if (str_to_u64(field, UINT64_MAX, &ret[i]) < 0)
			ret[i] = 0; /* the state letter or a negative number: not used here */
	return i == STAT_N;
}

static bool read_stat(uint64_t ret[static STAT_N])
{
	struct buf text = { 0 };
	bool fine = read_file("/proc/self/stat", &text) == 0 &&
		    parse_stat((struct str){ text.p, text.n }, ret);

	buf_free(&text);
	return fine;
}

/* The boot time in seconds since the Unix epoch; 0 if it is not known. */
static uint64_t boot_time(void)
{
	struct buf text = { 0 };
	struct str rest, line;
	uint64_t t = 0;

	if (read_file("/proc/stat", &text) == 0) {
		rest = (struct str){ text.p, text.n };
		while (!t && str_cut(&rest, '\n', &line))
			if (line.n > 6 && memcmp(line.p, "btime ", 6) == 0)
				str_to_u64((struct str){ line.p + 6, line.n - 6 }, INT64_MAX, &t);
	}
	buf_free(&text);
	return t;
}

/*
 * Since Linux 6.2 the size of /proc/self/fd is the number of open descriptors; older kernels
 * report 0 and the directory is counted. Returns 0 if it is not known.
 */
static uint64_t count_descriptors(void)
{
	struct stat st;
	uint64_t n = 0;
	DIR *dir;

	if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0)
		return (uint64_t)st.st_size;
	dir = opendir("/proc/self/fd");
	if (!dir)
		return 0;
	for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
		n += e->d_name[0] != '.';
	closedir(dir);
	return n - 1; /* without the descriptor of the directory itself */
}

static void add(struct buf *out, const char *name, enum metrics_type type, const char *help,
		double value)
{
	metrics_family(out, name, type, help);
	metrics_double(out, name, NULL, 0, value);
}

/* utime, stime and the start time are in clock ticks, the resident size is in pages (proc(5)). */
static void add_stat(struct buf *out, const uint64_t stat[static STAT_N])
{
	double tick = (double)sysconf(_SC_CLK_TCK);
	double page = (double)sysconf(_SC_PAGESIZE);
	uint64_t boot = boot_time();

	add(out, "process_cpu_seconds_total", METRICS_COUNTER,
	    "Total user and system CPU time spent in seconds.",
	    (double)(stat[STAT_UTIME] + stat[STAT_STIME]) / tick);
	add(out, "process_resident_memory_bytes", METRICS_GAUGE, "Resident memory size in bytes.",
	    (double)stat[STAT_RSS] * page);
	add(out, "process_virtual_memory_bytes", METRICS_GAUGE, "Virtual memory size in bytes.",
	    (double)stat[STAT_VSIZE]);
	if (boot)
		add(out, "process_start_time_seconds", METRICS_GAUGE,
		    "Start time of the process since unix epoch in seconds.",
		    (double)boot + (double)stat[STAT_START] / tick);
}

void metrics_process(struct buf *out)
{
	uint64_t stat[STAT_N];
	uint64_t open_fds = count_descriptors();
	struct rlimit limit;

	assert(out);
	if (read_stat(stat))
		add_stat(out, stat);
	if (open_fds)
		add(out, "process_open_fds", METRICS_GAUGE, "Number of open file descriptors.",
		    (double)open_fds);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		add(out, "process_max_fds", METRICS_GAUGE,
		    "Maximum number of open file descriptors.", (double)limit.rlim_cur);
}
