/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns maglevd into maglevd-fake: its table of drivers has the fake data plane in place of VPP
 * and XDP. Tests inspect the plane and control its behaviour through a socket
 * (MAGLEV_FAKE_SOCKET): one line in, an answer, end of connection. "dump" answers with lines
 * that, sent one by one to another instance, give it the same state. That lets a plane outlive
 * the process that fakes it. If MAGLEV_FAKE_DOWN is set, the plane cannot be reached until the
 * command "up".
 */
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "src/maglevd/dataplane/drivers.h"
#include "src/maglevd/dataplane/fake/fake.h"

#define WORDS_MAX 12

/* One plane per process. The driver table and the commands share it. */
static struct fake_plane plane;
static ev_io listener;

struct words {
	char *w[WORDS_MAX];
	size_t n;
};

/*
 * Words 1 to 3 of a command: address, protocol number, port. Input comes from tests only, so
 * errors in it are not reported.
 */
static struct lb_vip_key key_of(const struct words *in)
{
	struct lb_vip_key key = { .protocol = (uint8_t)strtoul(in->w[2], NULL, 10),
				  .port = (uint16_t)strtoul(in->w[3], NULL, 10) };

	addr_parse(in->w[1], &key.address);
	return key;
}

static void on_conf(const struct words *in, FILE *out)
{
	plane.state.has_conf = true;
	addr_parse(in->w[1], &plane.state.conf.src4);
	addr_parse(in->w[2], &plane.state.conf.src6);
	plane.state.conf.sticky_buckets_per_core = (uint32_t)strtoul(in->w[3], NULL, 10);
	plane.state.conf.flow_timeout_s = (uint32_t)strtoul(in->w[4], NULL, 10);
}

static void on_vip(const struct words *in, FILE *out)
{
	struct lb_vip_key key = key_of(in);
	struct lb_vip *vip = lb_state_put_vip(&plane.state, &key);

	vip->encap = strcmp(in->w[4], "gre6") == 0 ? LB_ENCAP_GRE6 : LB_ENCAP_GRE4;
	vip->src_ip_sticky = strcmp(in->w[5], "1") == 0;
}

static void on_as(const struct words *in, FILE *out)
{
	struct lb_vip_key key = key_of(in);
	struct addr address = { 0 };

	addr_parse(in->w[4], &address);
	lb_vip_put_as(lb_state_put_vip(&plane.state, &key), &address)->weight =
		(uint8_t)strtoul(in->w[5], NULL, 10);
}

/* In the syntax of the commands "vip" and "as", so that a dump can be replayed. */
static void dump_vip(const struct lb_vip *vip, FILE *out)
{
	char address[ADDR_STRLEN], as[ADDR_STRLEN];

	addr_format(&vip->key.address, address);
	fprintf(out, "vip %s %u %u %s %d\n", address, vip->key.protocol, vip->key.port,
		lb_encap_name(vip->encap), vip->src_ip_sticky);
	for (size_t i = 0; i < vip->as.n; i++)
		fprintf(out, "as %s %u %u %s %u\n", address, vip->key.protocol, vip->key.port,
			addr_format(&vip->as.items[i].address, as), vip->as.items[i].weight);
}

static void on_dump(const struct words *in, FILE *out)
{
	char src4[ADDR_STRLEN], src6[ADDR_STRLEN];
	const struct lb_conf *c = &plane.state.conf;

	if (plane.state.has_conf)
		fprintf(out, "conf %s %s %u %u\n", addr_format(&c->src4, src4),
			addr_format(&c->src6, src6), c->sticky_buckets_per_core, c->flow_timeout_s);
	for (size_t i = 0; i < plane.state.vips.n; i++)
		dump_vip(&plane.state.vips.items[i], out);
}

static void on_journal(const struct words *in, FILE *out)
{
	for (size_t i = 0; i < plane.journal.n; i++)
		fprintf(out, "%s\n", plane.journal.items[i]);
}

static void on_clear_journal(const struct words *in, FILE *out)
{
	fake_plane_clear_journal(&plane);
}

/* Empties the plane behind the back of maglevd, as a restart of VPP would. */
static void on_empty(const struct words *in, FILE *out)
{
	lb_state_free(&plane.state);
	plane.state = (struct lb_state){ 0 };
}

static void on_up(const struct words *in, FILE *out)
{
	fake_plane_set_up(&plane, true);
}

static void on_down(const struct words *in, FILE *out)
{
	fake_plane_set_up(&plane, false);
}

static void on_lag(const struct words *in, FILE *out)
{
	plane.lag = strtod(in->w[1], NULL);
}

static void on_hang(const struct words *in, FILE *out)
{
	plane.hang = strcmp(in->w[1], "1") == 0;
}

static void on_fail_applies(const struct words *in, FILE *out)
{
	plane.fail_applies = (unsigned)strtoul(in->w[1], NULL, 10);
}

static void on_fail_observes(const struct words *in, FILE *out)
{
	plane.fail_observes = (unsigned)strtoul(in->w[1], NULL, 10);
}

/* ---- counters, and information about the plane ---- */

static uint64_t number(const struct words *in, size_t i)
{
	return strtoull(in->w[i], NULL, 10);
}

/* "-" stands for the empty text, and "_" for a space. */
static const char *text(const struct words *in, size_t i)
{
	char *word = in->w[i];

	if (strcmp(word, "-") == 0)
		return "";
	for (char *p = word; *p; p++)
		*p = *p == '_' ? ' ' : *p;
	return fake_plane_keep(&plane, word);
}

/* Drops all counters; from now on the plane has counters, with these figures. */
static void on_counters(const struct words *in, FILE *out)
{
	lb_counters_free(&plane.counters);
	plane.counters.has = (unsigned)number(in, 1);
	plane.counters.at = loop_realtime();
	plane.counters.flows_since = loop_monotonic();
	plane.counts = true;
}

static void on_count_vip(const struct words *in, FILE *out)
{
	struct lb_vip_key key = key_of(in);
	struct lb_vip_counters *v = lb_counters_put_vip(&plane.counters, &key);

	for (size_t kind = 0; kind < LB_PACKETS_KINDS; kind++)
		v->packets[kind] = number(in, 4 + kind);
	v->bytes = number(in, 8);
	v->buckets = (uint32_t)number(in, 9);
}

static void on_count_as(const struct words *in, FILE *out)
{
	struct lb_vip_key key = key_of(in);
	struct addr address = { 0 };

	addr_parse(in->w[4], &address);
	*lb_counters_put_as(lb_counters_put_vip(&plane.counters, &key), &address) =
		(struct lb_as_counters){ address, number(in, 5), number(in, 6),
					 (uint32_t)number(in, 7), (uint32_t)number(in, 8) };
}

static void on_count_server(const struct words *in, FILE *out)
{
	struct addr address = { 0 };

	addr_parse(in->w[1], &address);
	*lb_counters_put_server(&plane.counters, &address) =
		(struct lb_server_counters){ address, number(in, 2), number(in, 3) };
}

static void on_count_event(const struct words *in, FILE *out)
{
	vec_push(&plane.counters.events, (struct lb_event_counter){ text(in, 1), number(in, 2) });
}

/* Replaces all counters: n VIPs on 203.0.113.1 from port 1 on, with that many servers each. */
static void on_count_many(const struct words *in, FILE *out)
{
	struct lb_vip_key key = { .protocol = IPPROTO_TCP };

	addr_parse("203.0.113.1", &key.address);
	lb_counters_free(&plane.counters);
	for (uint64_t v = 1; v <= number(in, 1); v++) {
		struct lb_vip_counters *vip;

		key.port = (uint16_t)v;
		vip = lb_counters_put_vip(&plane.counters, &key);
		for (uint64_t i = 0; i < number(in, 2); i++) {
			struct addr address = {
				AF_INET, { 10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i }
			};

			lb_counters_put_as(vip, &address)->packets = i;
		}
	}
}

static void on_info(const struct words *in, FILE *out)
{
	plane.info = (struct dataplane_info){ .version = text(in, 1),
					      .build_date = text(in, 2),
					      .build_directory = text(in, 3),
					      .pid = (uint32_t)number(in, 4),
					      .boot_time = (int64_t)number(in, 5),
					      .connect_time = (int64_t)number(in, 6),
					      .problem = text(in, 7) };
	plane.known = true;
}

static void on_interface(const struct words *in, FILE *out)
{
	const struct lb_interface interface = { .name = text(in, 1),
						.attached = number(in, 2) != 0,
						.mode = text(in, 3),
						.problem = text(in, 4) };

	fake_plane_set_interface(&plane, &interface);
}

static void on_message(const struct words *in, FILE *out)
{
	struct dataplane_messages m = { fake_plane_keep(&plane, in->w[1]), number(in, 2),
					number(in, 3), number(in, 4), number(in, 5) };

	vec_push(&plane.messages, m);
}

static const struct {
	const char *name;
	size_t n_words;
	void (*run)(const struct words *in, FILE *out);
} commands[] = {
	{ "conf", 5, on_conf },
	{ "vip", 6, on_vip },
	{ "as", 6, on_as },
	{ "dump", 1, on_dump },
	{ "journal", 1, on_journal },
	{ "clear-journal", 1, on_clear_journal },
	{ "empty", 1, on_empty },
	{ "up", 1, on_up },
	{ "down", 1, on_down },
	{ "lag", 2, on_lag },
	{ "hang", 2, on_hang },
	{ "fail-applies", 2, on_fail_applies },
	{ "fail-observes", 2, on_fail_observes },
	{ "counters", 2, on_counters },
	{ "count-vip", 10, on_count_vip },
	{ "count-as", 9, on_count_as },
	{ "count-server", 4, on_count_server },
	{ "count-event", 3, on_count_event },
	{ "count-many", 3, on_count_many },
	{ "info", 8, on_info },
	{ "message", 6, on_message },
	{ "interface", 5, on_interface },
};

static void run_line(char *line, FILE *out)
{
	struct words in = { 0 };

	for (char *p = line; *p && in.n < WORDS_MAX; p += strcspn(p, " ")) {
		p += strspn(p, " ");
		in.w[in.n++] = p;
	}
	for (size_t i = 1; i < in.n; i++)
		in.w[i][-1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (in.n && in.n == commands[i].n_words && strcmp(in.w[0], commands[i].name) == 0) {
			commands[i].run(&in, out);
			return;
		}
	fprintf(out, "what?\n");
}

/* Reads blocking. That is acceptable because a test sends its line before it waits. */
static void on_connection(struct ev_loop *loop, ev_io *w, int events)
{
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC);
	char line[512];
	FILE *f;

	if (fd < 0)
		return;
	f = fdopen(fd, "r+");
	assert(f);
	if (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		fflush(f);
		run_line(line, f);
	}
	fclose(f);
}

static void listen_for_commands(struct ev_loop *loop)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv("MAGLEV_FAKE_SOCKET");
	int fd;

	if (!path || ev_is_active(&listener))
		return;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 16) < 0) {
		perror(path);
		abort();
	}
	ev_io_init(&listener, on_connection, fd, EV_READ);
	ev_io_start(loop, &listener);
}

static struct dataplane *program_start(struct ev_loop *loop, const struct l4_config *config,
				       const struct dataplane_events *events)
{
	plane.up = !getenv("MAGLEV_FAKE_DOWN");
	fake_use(&plane);
	listen_for_commands(loop);
	return fake_driver.start(loop, config, events);
}

static void program_stop(struct dataplane *dp)
{
	fake_driver.stop(dp);
	fake_plane_free(&plane);
}

const struct dataplane_driver *dataplane_find(enum l4_dataplane kind)
{
	static struct dataplane_driver driver;

	if (kind == L4_DATAPLANE_NONE)
		return &dataplane_none;
	driver = fake_driver;
	driver.start = program_start;
	driver.stop = program_stop;
	return &driver;
}
