/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/yaml/yaml.h"
#include "lib/yaml/yaml_file.h"

static char folder[] = "/tmp/yaml_file_test.XXXXXX";

static const char *path_of(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int make_folder(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "good", "fifo", "socket", "large", "exact", "secret" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlink(path_of(names[i]));
	return rmdir(folder);
}

static void write_file(const char *name, off_t size, const char *begin)
{
	_cleanup_(cleanup_fd) int fd = open(path_of(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, begin, strlen(begin)), strlen(begin));
	if (size)
		assert_int_equal(ftruncate(fd, size), 0);
}

static void assert_refused(const char *path, int want, const char *part)
{
	struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	struct buf bytes = { 0 };

	assert_int_equal(yaml_read_file(path, &bytes, &errors), want);
	assert_null(bytes.p);
	assert_int_equal(errors.n, 1);
	assert_int_equal(errors.items[0].at.line, 0);
	if (!strstr(errors.items[0].text, part))
		fail_msg("'%s' has no '%s'", errors.items[0].text, part);
	arena_free(arena);
}

static void the_bytes_of_a_regular_file_are_read(void **state)
{
	struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	struct buf bytes = { 0 };

	write_file("good", 0, "a: 1\n");
	assert_int_equal(yaml_read_file(path_of("good"), &bytes, &errors), 0);
	assert_string_equal(buf_cstr(&bytes), "a: 1\n");
	assert_int_equal(errors.n, 0);
	buf_free(&bytes);
	arena_free(arena);
}

static void what_is_not_a_regular_file_is_refused_by_name(void **state)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	_cleanup_(cleanup_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
	snprintf(name.sun_path, sizeof(name.sun_path), "%.90s/socket", folder);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);

	assert_refused(folder, -EISDIR, "is a directory, not a regular file");
	assert_refused(path_of("fifo"), -EINVAL, "is a FIFO, not a regular file");
	assert_refused("/dev/null", -EINVAL, "is a device, not a regular file");
	assert_refused(path_of("socket"), -ENXIO, "cannot be opened");
	assert_refused(path_of("absent"), -ENOENT, "cannot be opened: No such file");
	assert_refused("", -ENOENT, "cannot be opened: No such file");
}

static void a_file_that_may_not_be_read_is_refused(void **state)
{
	write_file("secret", 0, "a: 1\n");
	assert_int_equal(chmod(path_of("secret"), 0), 0);
	if (geteuid() == 0 && seteuid(65534) < 0)
		fail();
	assert_refused(path_of("secret"), -EACCES, "cannot be opened: Permission denied");
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
}

static void a_file_above_the_limit_is_refused(void **state)
{
	struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	struct buf bytes = { 0 };

	write_file("large", 10 * 1024 * 1024, "");
	assert_refused(path_of("large"), -EFBIG, "too large: at most 4194304 bytes");
	write_file("exact", (off_t)YAML_MAX_BYTES, "");
	assert_int_equal(yaml_read_file(path_of("exact"), &bytes, &errors), 0);
	assert_int_equal(bytes.n, YAML_MAX_BYTES);
	buf_free(&bytes);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bytes_of_a_regular_file_are_read),
		cmocka_unit_test(what_is_not_a_regular_file_is_refused_by_name),
		cmocka_unit_test(a_file_that_may_not_be_read_is_refused),
		cmocka_unit_test(a_file_above_the_limit_is_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
