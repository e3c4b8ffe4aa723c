/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube-tool: lib/k8s as a program, for the stories.
 *
 *	kube-tool PART [ARGUMENT...] [--kubeconfig=FILE] [--context=NAME] [--pod=FOLDER]
 *		[--rate=N] [--burst=N]
 *
 * It prints JSON lines and obeys words on its input; the end of the input ends it. The parts are
 * in the files of their names.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "lib/json/json.h"
#include "tests/support/k8s/tool.h"

/* The input. */
struct input {
	struct tool *tool;
	ev_io io;
	struct buf text;
};

void tool_print(struct buf *line)
{
	printf("{%s}\n", buf_cstr(line));
	fflush(stdout);
	buf_free(line);
}

static void add_key(struct buf *b, const char *key)
{
	if (b->n)
		buf_addc(b, ',');
	json_write_string(b, key, strlen(key));
	buf_addc(b, ':');
}

void tool_text(struct buf *b, const char *key, const char *value)
{
	add_key(b, key);
	json_write_string(b, value, strlen(value));
}

void tool_number(struct buf *b, const char *key, long long value)
{
	add_key(b, key);
	buf_printf(b, "%lld", value);
}

const char *tool_option(const struct tool *t, const char *name)
{
	size_t n = strlen(name);

	for (int i = 0; i < t->n_args; i++) {
		const char *arg = t->args[i];

		if (strncmp(arg, "--", 2) != 0 || strncmp(arg + 2, name, n) != 0)
			continue;
		if (arg[2 + n] == '=')
			return arg + 3 + n;
		if (arg[2 + n] == '\0')
			return "";
	}
	return NULL;
}

long long tool_option_number(const struct tool *t, const char *name, long long otherwise)
{
	const char *value = tool_option(t, name);

	return value ? strtoll(value, NULL, 10) : otherwise;
}

void tool_end(struct tool *t)
{
	ev_break(t->loop, EVBREAK_ALL);
}

static void on_input(struct ev_loop *loop, ev_io *w, int events)
{
	struct input *in = container_of(w, struct input, io);
	char bytes[4096], *end;
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	(void)events;
	if (n <= 0) {
		ev_io_stop(loop, w);
		tool_end(in->tool);
		return;
	}
	buf_add(&in->text, bytes, (size_t)n);
	while ((end = memchr(in->text.p, '\n', in->text.n))) {
		size_t length = (size_t)(end - in->text.p);

		*end = '\0';
		if (in->tool->obey)
			in->tool->obey(in->tool, in->text.p);
		buf_consume(&in->text, length + 1);
	}
}

static bool may_write(void *user)
{
	struct tool *t = user;

	return t->gate ? t->gate(t) : t->may_write;
}

static int load(struct tool *t)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const char *pod = tool_option(t, "pod");
	int r = pod ? k8s_config_in_pod(pod, &t->config, &errors)
		    : k8s_config_load(tool_option(t, "kubeconfig"), tool_option(t, "context"),
				      &t->config, &errors);

	for (size_t i = 0; r < 0 && i < errors.n; i++)
		puts(errors.items[i].text);
	return r;
}

static const struct {
	const char *name;
	int (*run)(struct tool *t);
} parts[] = {
	{ "watch", tool_watch },       { "do", tool_do },
	{ "lead", tool_lead },	       { "events", tool_events },
	{ "discover", tool_discover }, { "count", tool_count },
	{ "operate", tool_operate },
};

static int run(struct tool *t, const char *part)
{
	struct k8s_client_options options = {
		.user_agent = "kube-tool",
		.rate = (unsigned)tool_option_number(t, "rate", 0),
		.burst = (unsigned)tool_option_number(t, "burst", 0),
		.may_write = may_write,
		.user = t,
	};
	struct input in = { .tool = t };
	int r = 2;

	t->client = k8s_client_new(t->loop, t->config, &options);
	ev_io_init(&in.io, on_input, STDIN_FILENO, EV_READ);
	ev_io_start(t->loop, &in.io);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(parts[i].name, part) == 0)
			r = parts[i].run(t);
	ev_io_stop(t->loop, &in.io);
	k8s_client_free(t->client);
	buf_free(&in.text);
	return r;
}

int main(int argc, char **argv)
{
	struct tool t = { .loop = EV_DEFAULT, .may_write = true };
	int r;

	if (argc < 2)
		return 2;
	t.args = argv + 2;
	t.n_args = argc - 2;
	if (load(&t) < 0)
		return 1;
	r = run(&t, argv[1]);
	k8s_config_free(t.config);
	ev_loop_destroy(t.loop);
	return r;
}
