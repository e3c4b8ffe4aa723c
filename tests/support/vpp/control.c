/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/vpp/control.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

#define WORDS_MAX 8
#define LINE_MAX_LEN 4096

struct words {
	char *w[WORDS_MAX];
	size_t n;
};

static const char *const personalities[] = { [PERSONALITY_NEW] = "new",
					     [PERSONALITY_OLD] = "old",
					     [PERSONALITY_NO_PLUGIN] = "none",
					     [PERSONALITY_OTHER_CRC] = "crc" };

static const char *const stats_modes[] = {
	[SERVER_STATS_GOOD] = "good",	[SERVER_STATS_HANG] = "hang",
	[SERVER_STATS_CLOSE] = "close", [SERVER_STATS_EMPTY] = "empty",
	[SERVER_STATS_SHORT] = "short", [SERVER_STATS_PIPE] = "pipe",
};

static bool find_word(const char *word, const char *const *words, size_t n, size_t *ret)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, words[i]) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

bool control_personality(const char *word, enum personality *ret)
{
	size_t i;

	if (!find_word(word, personalities, ARRAY_SIZE(personalities), &i))
		return false;
	*ret = (enum personality)i;
	return true;
}

static bool is_on(const char *word)
{
	return strcmp(word, "1") == 0;
}

static uint64_t number(const char *word)
{
	return strtoull(word, NULL, 0);
}

/* ---- inspection ---- */

static bool on_info(struct server *s, const struct words *in, struct buf *out)
{
	struct segment_header *h = segment_header(&s->segment);

	buf_printf(out, "pid %u boottime %" PRIu64 " epoch %" PRIu64 " now %u\n", s->machine.pid,
		   s->stats.boot_time, h->epoch, server__now(s));
	return true;
}

static bool on_conf(struct server *s, const struct words *in, struct buf *out)
{
	const struct plugin *p = &s->machine.plugin;
	struct addr src4 = { .family = AF_INET }, src6 = { .family = AF_INET6 };
	char text4[ADDR_STRLEN], text6[ADDR_STRLEN];

	memcpy(src4.bytes, p->src4, sizeof(p->src4));
	memcpy(src6.bytes, p->src6, sizeof(p->src6));
	buf_printf(out, "%s %s %u %u\n", addr_format(&src4, text4), addr_format(&src6, text6),
		   p->buckets, p->flow_timeout);
	return true;
}

static bool on_log(struct server *s, const struct words *in, struct buf *out)
{
	for (size_t i = 0; i < s->log.n; i++) {
		const struct log_line *line = &s->log.items[i];

		buf_printf(out, "%u %s ", line->connection, table_msg_name(line->kind));
		for (size_t j = 0; j < line->bytes.n; j++)
			buf_printf(out, "%02x", (uint8_t)line->bytes.p[j]);
		buf_addc(out, '\n');
	}
	return true;
}

static bool on_clear_log(struct server *s, const struct words *in, struct buf *out)
{
	server_clear_log(s);
	return true;
}

static bool on_clients(struct server *s, const struct words *in, struct buf *out)
{
	for (size_t i = 0; i < s->connections.n; i++)
		if (s->connections.items[i])
			buf_printf(out, "%zu %s\n", i,
				   server__client_name(s->connections.items[i]));
	return true;
}

static bool on_misuse(struct server *s, const struct words *in, struct buf *out)
{
	for (size_t i = 0; i < s->machine.plugin.misuse.n; i++)
		buf_printf(out, "%s\n", s->machine.plugin.misuse.items[i]);
	return true;
}

/* Finds the place of the entry with that name in the segment. */
static bool find_entry(struct server *s, const char *name, struct buf *out)
{
	struct segment_header *h = segment_header(&s->segment);

	for (size_t i = 0; i < s->stats.entries.n; i++)
		if (strcmp(s->stats.entries.items[i].name, name) == 0) {
			buf_printf(out, "%" PRIu64 "\n",
				   h->directory - h->base + i * SEGMENT_ENTRY_LEN);
			return true;
		}
	return false;
}

static bool run_cli(struct server *s, const char *line, struct buf *out)
{
	machine_advance(&s->machine, server__now(s));
	machine_cli(&s->machine, line, out);
	server_changed(s);
	return true;
}

/* ---- events of a VPP ---- */

static bool on_restart(struct server *s, const struct words *in, struct buf *out)
{
	enum personality who;

	if (!control_personality(in->w[1], &who))
		return false;
	server_down(s);
	server_up(s, who);
	return true;
}

static bool on_down(struct server *s, const struct words *in, struct buf *out)
{
	server_down(s);
	return true;
}

static bool on_advance(struct server *s, const struct words *in, struct buf *out)
{
	server_skip(s, (uint32_t)number(in->w[1]));
	return true;
}

/* packets TO PROTOCOL PORT FIRST-FLOW FLOWS LENGTH: sends one packet of each flow */
static bool on_packets(struct server *s, const struct words *in, struct buf *out)
{
	struct plugin_packet packet = { .protocol = (uint8_t)number(in->w[2]),
					.port = (uint16_t)number(in->w[3]),
					.flow = (uint32_t)number(in->w[4]),
					.length = (uint32_t)number(in->w[6]) };
	struct addr to;

	if (addr_parse(in->w[1], &to) < 0)
		return false;
	packet.to = ip46_of(&to);
	for (uint64_t n = number(in->w[5]); n; n--, packet.flow++)
		plugin_packet(&s->machine.plugin, server__now(s), &packet);
	server_changed(s);
	return true;
}

/* ---- faults ---- */

static bool on_hang(struct server *s, const struct words *in, struct buf *out)
{
	server_hang(s, is_on(in->w[1]));
	return true;
}

static bool on_delay(struct server *s, const struct words *in, struct buf *out)
{
	s->delay = strtod(in->w[1], NULL);
	return true;
}

static bool on_split(struct server *s, const struct words *in, struct buf *out)
{
	s->split = number(in->w[1]);
	return true;
}

static struct manners *manners_of(struct server *s, const char *name)
{
	enum msg kind = table_msg_of(name);

	return kind == MSG_KNOWN ? NULL : &s->manners[kind];
}

/* drop, cut or garbage, then MESSAGE and TIMES */
static bool on_manner(struct server *s, const struct words *in, struct buf *out)
{
	struct manners *m = manners_of(s, in->w[1]);
	unsigned n = (unsigned)number(in->w[2]);

	if (!m)
		return false;
	if (strcmp(in->w[0], "drop") == 0)
		m->drop = n;
	else if (strcmp(in->w[0], "cut") == 0)
		m->cut = n;
	else
		m->garbage = n;
	return true;
}

static bool on_fail(struct server *s, const struct words *in, struct buf *out)
{
	struct manners *m = manners_of(s, in->w[1]);

	if (!m)
		return false;
	m->retval = (int)strtol(in->w[2], NULL, 10);
	m->fail = (unsigned)number(in->w[3]);
	return true;
}

static bool on_stats(struct server *s, const struct words *in, struct buf *out)
{
	size_t mode;

	if (!find_word(in->w[1], stats_modes, ARRAY_SIZE(stats_modes), &mode))
		return false;
	s->stats_mode = (enum server_stats)mode;
	return true;
}

static bool on_busy(struct server *s, const struct words *in, struct buf *out)
{
	segment_header(&s->segment)->in_progress = is_on(in->w[1]);
	return true;
}

static bool on_spin(struct server *s, const struct words *in, struct buf *out)
{
	server_spin(s, is_on(in->w[1]));
	return true;
}

static bool on_freeze(struct server *s, const struct words *in, struct buf *out)
{
	s->freeze = is_on(in->w[1]);
	return true;
}

static bool on_move(struct server *s, const struct words *in, struct buf *out)
{
	s->stats.links++;
	stats_collect(&s->stats, &s->machine);
	segment_move(&s->segment, s->stats.entries.items, s->stats.entries.n);
	return true;
}

/* poke OFFSET NUMBER BYTES: writes a little-endian number into the segment */
static bool on_poke(struct server *s, const struct words *in, struct buf *out)
{
	uint64_t at = number(in->w[1]), value = number(in->w[2]), n = number(in->w[3]);

	if (n > 8 || at > s->segment.size - n)
		return false;
	for (uint64_t i = 0; i < n; i++)
		s->segment.map[at + i] = (uint8_t)(value >> 8 * i);
	return true;
}

static const struct {
	const char *name;
	size_t n_words;
	bool needs_vpp;
	bool (*run)(struct server *s, const struct words *in, struct buf *out);
} commands[] = {
	{ "info", 1, true, on_info },	     { "conf", 1, true, on_conf },
	{ "log", 1, false, on_log },	     { "clear-log", 1, false, on_clear_log },
	{ "clients", 1, false, on_clients }, { "misuse", 1, true, on_misuse },
	{ "restart", 2, false, on_restart }, { "down", 1, false, on_down },
	{ "advance", 2, true, on_advance },  { "packets", 7, true, on_packets },
	{ "hang", 2, true, on_hang },	     { "delay", 2, false, on_delay },
	{ "split", 2, false, on_split },     { "drop", 3, false, on_manner },
	{ "cut", 3, false, on_manner },	     { "garbage", 3, false, on_manner },
	{ "fail", 4, false, on_fail },	     { "stats", 2, false, on_stats },
	{ "busy", 2, true, on_busy },	     { "spin", 2, true, on_spin },
	{ "freeze", 2, true, on_freeze },    { "move", 1, true, on_move },
	{ "poke", 4, true, on_poke },
};

static void split(char *line, struct words *in)
{
	struct str rest = str_of(line), word;

	while (in->n < WORDS_MAX && str_cut(&rest, ' ', &word)) {
		in->w[in->n++] = line + (word.p - line);
		line[word.p - line + (ptrdiff_t)word.n] = '\0';
	}
}

/* Commands that take the rest of the line unchanged. */
static const struct {
	const char *name;
	bool (*run)(struct server *s, const char *rest, struct buf *out);
} phrases[] = {
	{ "cli ", run_cli },
	{ "where ", find_entry },
};

static bool run(struct server *s, char *line, struct buf *out)
{
	struct words in = { 0 };
	bool is_there = s->api.fd >= 0;

	for (size_t i = 0; i < ARRAY_SIZE(phrases); i++) {
		size_t n = strlen(phrases[i].name);

		if (strncmp(line, phrases[i].name, n) == 0)
			return is_there && phrases[i].run(s, line + n, out);
	}
	split(line, &in);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (in.n && in.n == commands[i].n_words && strcmp(in.w[0], commands[i].name) == 0)
			return (is_there || !commands[i].needs_vpp) && commands[i].run(s, &in, out);
	return false;
}

/* Reads blocking. That is acceptable because a test sends its line before it waits. */
static void on_connection(struct ev_loop *loop, ev_io *w, int events)
{
	struct control *c = w->data;
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC);
	_cleanup_(buf_free) struct buf out = { 0 };
	char line[LINE_MAX_LEN];
	FILE *f;

	if (fd < 0)
		return;
	f = fdopen(fd, "r+");
	if (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!run(c->server, line, &out))
			buf_adds(&out, "what?\n");
		fflush(f);
		fwrite(out.p, 1, out.n, f);
	}
	if (f)
		fclose(f);
}

void control_start(struct control *c, struct server *s, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 16) < 0) {
		perror(path);
		exit(1);
	}
	c->server = s;
	ev_io_init(&c->listener, on_connection, fd, EV_READ);
	c->listener.data = c;
	ev_io_start(s->loop, &c->listener);
}

void control_stop(struct control *c)
{
	ev_io_stop(c->server->loop, &c->listener);
	close(c->listener.fd);
}
