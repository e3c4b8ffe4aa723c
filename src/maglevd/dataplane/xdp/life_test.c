/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What outlives a maglevd, and what other programs do to it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "src/maglevd/dataplane/drivers.h"
#include "src/maglevd/dataplane/xdp/loader.h"
#include "src/maglevd/dataplane/xdp/testkit.h"
#include "src/maglevd/testing.h"

static const struct world_config usual;

static void start(struct world *w)
{
	world_start(w, &usual);
	world_wait_up(w);
}

static void start_with_www(struct world *w)
{
	start(w);
	world_make_www(w);
}

static const char *path_of(const struct world *w, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", w->pin, name);
	return path;
}

static uint32_t program_on(const char *interface)
{
	struct xdp_device_state state;

	assert_int_equal(xdp_device_state(if_nametoindex(interface), &state), 0);
	return state.program;
}

/* ---- restarts ---- */

static void a_restart_loses_nothing(void **state)
{
	struct world *w = *state;
	const struct lb_op drain = op_as(LB_OP_AS_WEIGHT, WORLD_VIP, 80, "10.0.0.1", 0);
	unsigned flow;

	start_with_www(w);
	flow = world_open_flow(w);
	world_do(w, &drain, 1);
	world_stop(w);
	assert_int_not_equal(program_on("d0"), 0);
	assert_int_equal(world_flow_server(w, flow), 1);
	start(w);
	assert_true(world_logged(
		w, "\"interface\":\"d0\",\"mode\":\"native\",\"queues\":1,\"adopted\":true"));
	world_observe(w);
	assert_int_equal(w->state.vips.n, 1);
	assert_int_equal(w->state.vips.items[0].as.items[0].weight, 0);
	assert_int_equal(w->state.vips.items[0].as.items[1].weight, 100);
	assert_int_equal(world_flow_server(w, flow), 1);
}

/* The link stays; its program becomes that of the new process. */
static void an_upgrade_replaces_the_program_in_its_place(void **state)
{
	struct world *w = *state;
	uint32_t before;

	start_with_www(w);
	before = program_on("d0");
	world_stop(w);
	start(w);
	assert_int_not_equal(program_on("d0"), 0);
	assert_int_not_equal(program_on("d0"), before);
}

/* Applies forever until it is killed; writes a byte into the pipe for each request. */
static void work_until_killed(struct world *w, int pipe)
{
	start(w);
	for (unsigned weight = 1;; weight++) {
		const struct lb_op ops[] = {
			op_as(LB_OP_AS_WEIGHT, WORLD_VIP, 80, "10.0.0.1", weight % 101),
			op_as(LB_OP_AS_WEIGHT, WORLD_VIP, 80, "10.0.0.2", weight % 7),
			op_as(LB_OP_AS_ADD, WORLD_VIP, 80, "10.0.0.3", 50),
		};
		const struct lb_op del = op_as(LB_OP_AS_DEL, WORLD_VIP, 80, "10.0.0.3", 0);

		world_apply(w, ops, ARRAY_SIZE(ops));
		world_apply(w, &del, 1);
		if (write(pipe, "", 1) != 1)
			_exit(1);
	}
}

static void kill_at_work(struct world *w, unsigned requests)
{
	int pipes[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0)
		work_until_killed(w, pipes[1]);
	close(pipes[1]);
	for (unsigned i = 0; i < requests; i++)
		assert_int_equal(read(pipes[0], &byte, 1), 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(pipes[0]);
}

static void who_is_killed_leaves_tables_that_can_be_put_right(void **state)
{
	struct world *w = *state;

	start_with_www(w);
	world_stop(w);
	for (unsigned i = 0; i < 4; i++) {
		kill_at_work(w, 2 + i);
		start(w);
		world_observe(w);
		assert_int_equal(w->state.vips.n, 1);
		world_check_tables(w);
		world_stop(w);
	}
}

/* The state that a crash between writing weights and switching tables leaves. */
static void a_table_that_is_not_that_of_its_servers_is_built_when_observed(void **state)
{
	struct world *w = *state;

	start_with_www(w);
	world_share(w, world_www(), "10.0.0.1"); /* finds the maps */
	for (uint32_t id = 1; id < w->maps.sizes.servers; id++)
		if (w->maps.servers[id].vip)
			w->maps.servers[id].weight = (__u8)(id % 2);
	for (uint32_t vip = 1; vip < w->maps.sizes.vips; vip++)
		w->maps.vips[vip].flags |= ABI_VIP_CHANGING;
	world_observe(w);
	world_check_tables(w);
}

static void one_folder_has_one_driver(void **state)
{
	struct world *w = *state, second = { .loop = w->loop };

	start(w);
	snprintf(second.pin, sizeof(second.pin), "%s", w->pin);
	world_start(&second, &usual);
	world_wait_log(w, "another maglevd uses");
	assert_int_equal(second.ups, 0);
	world_stop(w);
	world_wait_up(&second);
	world_stop(&second);
	snapshot_free(second.snapshot);
}

/* ---- what other programs do ---- */

static void a_program_that_is_detached_comes_back(void **state)
{
	struct world *w = *state;
	struct xdp_link *link;
	unsigned flow;

	start_with_www(w);
	flow = world_open_flow(w);
	assert_int_equal(xdp_link_open(path_of(w, "link-d0"), &link), 0);
	assert_int_equal(xdp_link_detach(link), 0);
	xdp_link_free(link);
	world_forget_log(w);
	world_wait_log(w, "the program was detached from it");
	world_wait_log(w, "xdp-attach\"");
	assert_int_not_equal(program_on("d0"), 0);
	assert_int_equal(access(path_of(w, "link-d0"), F_OK), 0);
	assert_int_equal(world_flow_server(w, flow), 1);
	assert_int_equal(w->downs, 0);
}

static void pins_that_are_removed_come_back(void **state)
{
	struct world *w = *state;

	start_with_www(w);
	assert_int_equal(unlink(path_of(w, "link-d0")), 0);
	assert_int_equal(unlink(path_of(w, "maps/lb_servers")), 0);
	world_forget_log(w);
	world_wait_log(w, "\"map\":\"lb_servers\"");
	world_wait_log(w, "the pin of its link was gone");
	assert_int_equal(access(path_of(w, "maps/lb_servers"), F_OK), 0);
	assert_int_equal(access(path_of(w, "link-d0"), F_OK), 0);
	world_stop(w);
	start(w);
	world_observe(w);
	assert_int_equal(w->state.vips.items[0].as.n, 2);
}

/* Tried every second, and not logged as repaired before it is. */
static void pins_that_cannot_come_back_are_told_once(void **state)
{
	struct world *w = *state;

	start_with_www(w);
	world_share(w, world_www(), "10.0.0.1"); /* finds the maps */
	assert_int_equal(xdp_unpin(path_of(w, "maps")), 0);
	assert_int_equal(xdp_map_pin(&w->maps.map[PLANE_VIPS], path_of(w, "maps")), 0);
	world_forget_log(w);
	world_wait_log(w, "cannot pin the maps");
	world_forget_log(w);
	testing_pass(w->loop, 1.5);
	assert_int_equal(w->log.n, 0);
	assert_int_equal(w->downs, 0);
	assert_int_equal(unlink(path_of(w, "maps")), 0);
	world_wait_log(w, "its pin was gone");
	assert_null(xdplb__maps_unpinned(path_of(w, "maps")));
}

static void a_folder_that_is_removed_comes_back_with_everything(void **state)
{
	struct world *w = *state;
	unsigned flow;

	start_with_www(w);
	flow = world_open_flow(w);
	assert_int_equal(xdp_unpin(path_of(w, "maps")), 0);
	assert_int_equal(xdp_unpin(w->pin), 0);
	world_forget_log(w);
	world_wait_log(w, "the pin of its link was gone");
	world_stop(w);
	world_forget_maps(w);
	assert_int_not_equal(program_on("d0"), 0);
	start(w);
	assert_int_equal(world_flow_server(w, flow), 1);
}

static void without_an_interface_it_is_down_and_says_why(void **state)
{
	struct world *w = *state;

	start_with_www(w);
	testing_run("ip link del d0");
	world_wait_down(w);
	assert_non_null(strstr(w->why, "d0"));
	assert_non_null(strstr(w->why, "no such interface"));
	testing_run("ip link add d0 type veth peer name d1 && ip link set d0 up");
	world_wait_up(w);
	assert_int_not_equal(program_on("d0"), 0);
	world_observe(w);
	assert_int_equal(w->state.vips.n, 1);
}

/* Of the interfaces e7 and d0, the first is missing while there is a problem. */
static void check_attachment(struct world *w, const char *problem)
{
	const struct lb_attachment *a = dataplane_xdp.attachment(w->dp);

	assert_int_equal(a->n, 2);
	assert_string_equal(a->problem, problem);
	assert_string_equal(a->interfaces[0].name, "e7");
	assert_int_equal(a->interfaces[0].attached, !*problem);
	assert_string_equal(a->interfaces[0].mode, *problem ? "" : "native");
	assert_string_equal(a->interfaces[0].problem, *problem ? "there is no such interface" : "");
	assert_string_equal(a->interfaces[1].name, "d0");
	assert_true(a->interfaces[1].attached);
	assert_string_equal(a->interfaces[1].mode, "native");
	assert_string_equal(a->interfaces[1].problem, "");
}

static void one_interface_does_not_wait_for_another(void **state)
{
	struct world *w = *state;
	const struct world_config two = { .interfaces = "e7, d0" };

	world_start(w, &two);
	world_wait_up(w);
	assert_true(world_logged(w, "\"interface\":\"e7\",\"error\":\"there is no such"));
	check_attachment(w, "the program is on 1 of 2 interfaces; e7: there is no such interface");
	assert_int_equal(w->problems, 0); /* it was one when the driver went up */
	testing_run("ip link add e7 type veth peer name e8");
	world_wait_log(w, "\"interface\":\"e7\",\"mode\"");
	assert_int_not_equal(program_on("e7"), 0);
	assert_int_equal(w->downs, 0);
	check_attachment(w, "");
	assert_int_equal(w->problems, 1);
	testing_run("ip link del e7");
}

static void interfaces_come_and_go_with_the_configuration(void **state)
{
	struct world *w = *state;
	const struct world_config two = { .interfaces = "d0, d1" };

	start_with_www(w);
	world_reconfigure(w, &two);
	world_wait_log(w, "\"interface\":\"d1\",\"mode\"");
	assert_int_not_equal(program_on("d1"), 0);
	world_reconfigure(w, &usual);
	assert_int_equal(program_on("d1"), 0);
	assert_int_not_equal(program_on("d0"), 0);
	assert_int_equal(access(path_of(w, "link-d1"), F_OK), -1);
	world_stop(w);
	world_start(w, &two);
	world_wait_up(w);
	world_stop(w);
	start(w); /* the link that the maglevd before has left on d1 is not configured */
	assert_int_equal(access(path_of(w, "link-d1"), F_OK), -1);
}

static void a_name_with_a_dot_has_a_pin_too(void **state)
{
	struct world *w = *state;
	const struct world_config dotted = { .interfaces = "e.7" };

	testing_run("ip link add e.7 type veth peer name e8");
	world_start(w, &dotted);
	world_wait_up(w);
	assert_int_equal(access(path_of(w, "link-e%2e7"), F_OK), 0);
	world_stop(w);
	world_start(w, &dotted);
	world_wait_up(w);
	assert_true(world_logged(w, "\"adopted\":true"));
	testing_run("ip link del e8");
}

static void the_mode_is_as_configured(void **state)
{
	struct world *w = *state;
	const struct world_config generic = { .mode = "generic" }, native = { .mode = "native" };

	world_start(w, &generic);
	world_wait_up(w);
	assert_true(world_logged(w, "\"mode\":\"generic\""));
	world_reconfigure(w, &native);
	world_wait_log(w, "\"mode\":\"native\"");
	world_stop(w);
	world_forget_log(w);
	world_start(w, &generic);
	world_wait_log(w, "\"mode\":\"generic\"");
}

static void an_interface_that_is_taken_is_told_and_waited_for(void **state)
{
	struct world *w = *state;
	struct xdplb_maps other;
	struct xdp_link *link;
	char elsewhere[80];

	snprintf(elsewhere, sizeof(elsewhere), "%s-other", w->pin);
	assert_int_equal(mkdir(elsewhere, 0700), 0);
	testing_load(elsewhere, &other);
	assert_int_equal(xdp_attach(other.program, if_nametoindex("d0"), XDP_MODE_AUTO, &link), 0);
	world_start(w, &usual);
	world_wait_log(w, "it has another XDP program");
	assert_int_equal(w->ups, 0);
	xdp_link_detach(link);
	xdp_link_free(link);
	xdplb__maps_close(&other);
	snprintf(elsewhere, sizeof(elsewhere), "%s-other/maps", w->pin);
	assert_int_equal(xdp_unpin(elsewhere), 0);
	world_wait_up(w);
}

static void queues_that_are_new_get_the_program(void **state)
{
	struct world *w = *state;

	testing_run(
		"ip link del d0 && ip link add d0 numrxqueues 4 numtxqueues 4 type veth peer name "
		"d1 numrxqueues 4 numtxqueues 4 && ip link set d0 up && ip link set d1 up");
	testing_run("ethtool -L d1 tx 1 && ethtool -L d0 rx 1");
	start(w);
	world_forget_log(w);
	testing_run("ethtool -L d0 rx 2");
	world_wait_log(w, "another number of receive queues");
	world_forget_log(w);
	testing_pass(w->loop, 1.5);
	assert_false(world_logged(w, "queues"));
}

/* ---- maps that are not ours, or incomplete ---- */

static void a_layout_that_is_not_known_is_refused_and_left_alone(void **state)
{
	struct world *w = *state;
	uint32_t program;

	start_with_www(w);
	world_share(w, world_www(), "10.0.0.1");
	w->maps.config->layout = ABI_LAYOUT + 1;
	program = program_on("d0");
	world_stop(w);
	world_start(w, &usual);
	world_wait_log(w, "have layout 3, and this maglevd knows 2");
	assert_int_equal(w->ups, 0);
	assert_int_equal(program_on("d0"), program);
	w->maps.config->layout = ABI_LAYOUT;
	world_wait_up(w);
	world_observe(w);
	assert_int_equal(w->state.vips.n, 1);
}

static void maps_of_other_sizes_are_not_taken_for_ours(void **state)
{
	struct world *w = *state;

	start_with_www(w);
	world_share(w, world_www(), "10.0.0.1");
	w->maps.config->flow_mask = 7;
	world_stop(w);
	world_start(w, &usual);
	world_wait_log(w, "do not belong together");
	assert_int_equal(w->ups, 0);
}

static void a_map_that_is_lost_while_nobody_runs_is_the_end_of_all(void **state)
{
	struct world *w = *state;

	start_with_www(w);
	world_stop(w);
	assert_int_equal(unlink(path_of(w, "maps/lb_vips")), 0);
	start(w);
	assert_true(world_logged(w, "the pin of lb_vips is gone"));
	world_observe(w);
	assert_int_equal(w->state.vips.n, 0);
	world_forget_maps(w);
	world_make_www(w);
	world_check_tables(w);
}

static void flows_and_counters_can_be_lost_alone(void **state)
{
	struct world *w = *state;

	start_with_www(w);
	world_stop(w);
	assert_int_equal(unlink(path_of(w, "maps/lb_flows")), 0);
	assert_int_equal(unlink(path_of(w, "maps/lb_vip_counts")), 0);
	start(w);
	assert_true(world_logged(w, "\"map\":\"lb_flows\""));
	world_observe(w);
	assert_int_equal(w->state.vips.items[0].as.n, 2);
	assert_in_range(world_share(w, world_www(), "10.0.0.1"), 30, 70);
}

static void a_folder_elsewhere_is_refused_with_a_word(void **state)
{
	struct world *w = *state;
	char folder[] = "/tmp/xdp-driver-test-XXXXXX";
	struct world_config c = { .pin = folder };

	assert_non_null(mkdtemp(folder));
	world_start(w, &c);
	world_wait_log(w, "is not in a BPF file system");
	assert_int_equal(w->ups, 0);
	world_stop(w);
	assert_int_equal(rmdir(folder), 0); /* it was left: it is not maglevd's */
}

/* ---- the process that loads ---- */

static void on_loaded(void *user, const struct xdplb_report *report)
{
	struct xdplb_report *ret = user;

	*ret = *report;
}

static void answer(const void *order, struct xdplb_report *report)
{
	xdplb__explain(&report->why, "%s", (const char *)order);
}

static void die(const void *order, struct xdplb_report *report)
{
	_exit(7);
}

static void hang(const void *order, struct xdplb_report *report)
{
	pause();
}

static bool is_reported(void *user)
{
	const struct xdplb_report *report = user;

	return report->err != 1;
}

static void the_process_that_loads_reports_or_is_missed(void **state)
{
	struct world *w = *state;
	struct xdplb_report report = { .err = 1 };
	struct xdplb_loader l = { .loop = w->loop, .done = on_loaded, .user = &report };

	assert_int_equal(xdplb__loader_start(&l, answer, "done"), 0);
	assert_true(xdplb__loader_busy(&l));
	assert_true(testing_wait(w->loop, is_reported, &report));
	assert_int_equal(report.err, 0);
	assert_string_equal(report.why.text, "done");
	report.err = 1;
	assert_int_equal(xdplb__loader_start(&l, die, NULL), 0);
	assert_true(testing_wait(w->loop, is_reported, &report));
	assert_int_equal(report.err, -ECHILD);
	report.err = 1;
	assert_int_equal(xdplb__loader_start(&l, hang, NULL), 0);
	xdplb__loader_stop(&l);
	xdplb__loader_stop(&l);
	assert_false(xdplb__loader_busy(&l));
	assert_int_equal(report.err, 1);
}

static unsigned strangers_killed;

/* Replaces libc's kill(): the pid of a process that was reaped may belong to another one by now. */
int kill(pid_t pid, int number)
{
	strangers_killed += syscall(SYS_kill, pid, 0) < 0;
	return (int)syscall(SYS_kill, pid, number);
}

static void stop_loader(struct ev_loop *loop, ev_child *w, int events)
{
	xdplb__loader_stop(w->data);
}

/* The default loop reaps every child, and reports it before the report of the child is read. */
static void a_process_that_was_reaped_is_not_killed(void **state)
{
	struct xdplb_report report = { .err = 1 };
	struct xdplb_loader l = { .loop = ev_default_loop(EVFLAG_AUTO),
				  .done = on_loaded,
				  .user = &report };
	siginfo_t ended;
	ev_child gone;

	assert_int_equal(xdplb__loader_start(&l, answer, "done"), 0);
	ev_child_init(&gone, stop_loader, 0, 0);
	ev_set_priority(&gone, EV_MAXPRI);
	gone.data = &l;
	ev_child_start(l.loop, &gone);
	assert_int_equal(waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
	ev_run(l.loop, EVRUN_ONCE);
	assert_false(xdplb__loader_busy(&l));
	assert_int_equal(strangers_killed, 0);
	ev_child_stop(l.loop, &gone);
	ev_loop_destroy(l.loop);
}

/* Stopped in the middle of the load; the next maglevd finds a folder that it can use. */
static void an_end_while_loading_does_no_harm(void **state)
{
	struct world *w = *state;

	world_start(w, &usual);
	testing_pass(w->loop, 0.02);
	world_stop(w);
	start_with_www(w);
	world_stop(w);
	world_start(w, &usual);
	testing_pass(w->loop, 0.02);
	world_stop(w);
	start(w);
	world_observe(w);
	assert_int_equal(w->state.vips.n, 1);
}

/* ---- removal ---- */

static void removing_leaves_only_what_others_made(void **state)
{
	struct world *w = *state;
	struct buf out = { 0 };

	start_with_www(w);
	assert_int_equal(mkdir(path_of(w, "mine"), 0700), 0);
	assert_int_equal(dataplane_xdp.remove(&w->snapshot->config, &out), -EBUSY);
	assert_non_null(strstr(buf_cstr(&out), "stop it first"));
	assert_int_not_equal(program_on("d0"), 0);
	world_stop(w);
	out.n = 0;
	assert_int_equal(dataplane_xdp.remove(&w->snapshot->config, &out), 0);
	assert_non_null(strstr(buf_cstr(&out), "d0: detached"));
	assert_int_equal(program_on("d0"), 0);
	assert_int_equal(rmdir(path_of(w, "mine")), 0); /* it was left, as was its folder */
	assert_int_equal(dataplane_xdp.remove(&w->snapshot->config, &out), 0);
	assert_non_null(strstr(buf_cstr(&out), "nothing to remove"));
	assert_int_equal(rmdir(w->pin), 0); /* nothing else was left in it */
	buf_free(&out);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(a_restart_loses_nothing),
		IN_WORLD(an_upgrade_replaces_the_program_in_its_place),
		IN_WORLD(who_is_killed_leaves_tables_that_can_be_put_right),
		IN_WORLD(a_table_that_is_not_that_of_its_servers_is_built_when_observed),
		IN_WORLD(one_folder_has_one_driver),
		IN_WORLD(a_program_that_is_detached_comes_back),
		IN_WORLD(pins_that_are_removed_come_back),
		IN_WORLD(pins_that_cannot_come_back_are_told_once),
		IN_WORLD(a_folder_that_is_removed_comes_back_with_everything),
		IN_WORLD(without_an_interface_it_is_down_and_says_why),
		IN_WORLD(one_interface_does_not_wait_for_another),
		IN_WORLD(interfaces_come_and_go_with_the_configuration),
		IN_WORLD(a_name_with_a_dot_has_a_pin_too),
		IN_WORLD(the_mode_is_as_configured),
		IN_WORLD(an_interface_that_is_taken_is_told_and_waited_for),
		IN_WORLD(queues_that_are_new_get_the_program),
		IN_WORLD(a_layout_that_is_not_known_is_refused_and_left_alone),
		IN_WORLD(maps_of_other_sizes_are_not_taken_for_ours),
		IN_WORLD(a_map_that_is_lost_while_nobody_runs_is_the_end_of_all),
		IN_WORLD(flows_and_counters_can_be_lost_alone),
		IN_WORLD(a_folder_elsewhere_is_refused_with_a_word),
		IN_WORLD(the_process_that_loads_reports_or_is_missed),
		IN_WORLD(a_process_that_was_reaped_is_not_killed),
		IN_WORLD(an_end_while_loading_does_no_harm),
		IN_WORLD(removing_leaves_only_what_others_made),
	};
	const char *reason = testing_prepare();

	if (reason)
		return testing_skip(reason);
	return cmocka_run_group_tests_name("xdp_life", tests, NULL, NULL);
}
