/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link: a descriptor of the kernel's bpf_link between a program and a device. Unlike a program
 * attached over netlink, a link has an owner, cannot be replaced by another process, and switches
 * programs atomically. A pinned link outlives the process.
 */
#include "lib/xdp/xdp.h"

#include <assert.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/xdp/internal.h"

struct xdp_link {
	int fd;
};

const char *xdp_mode_name(enum xdp_mode mode)
{
	static const char *const names[] = { "auto", "native", "generic" };

	assert(mode >= 0 && mode < ARRAY_SIZE(names));
	return names[mode];
}

static struct xdp_link *link_of(int fd)
{
	struct xdp_link *link = mem_zalloc(sizeof(*link));

	link->fd = fd;
	return link;
}

static int create(int program, unsigned ifindex, __u32 flags)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = flags);
	int fd = bpf_link_create(program, (int)ifindex, BPF_XDP, &opts);

	return fd < 0 ? -errno : fd;
}

/*
 * With -EBUSY, -EEXIST or -ENODEV generic mode would fail too, and its error would hide the
 * reason.
 */
int xdp_attach(int program, unsigned ifindex, enum xdp_mode mode, struct xdp_link **ret)
{
	int fd;

	assert(program >= 0 && ifindex > 0);
	xdp__clear_why();
	fd = create(program, ifindex,
		    mode == XDP_MODE_GENERIC ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE);
	if (fd < 0 && mode == XDP_MODE_AUTO && fd != -EBUSY && fd != -EEXIST && fd != -ENODEV)
		fd = create(program, ifindex, XDP_FLAGS_SKB_MODE);
	if (fd < 0)
		return fd;
	*ret = link_of(fd);
	return 0;
}

/* A pin may hold any kind of BPF object, so the type is checked. */
static int info_of(int fd, struct bpf_link_info *ret)
{
	struct bpf_link_info info = { 0 };
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
		return -errno;
	if (info.type != BPF_LINK_TYPE_XDP)
		return -EINVAL;
	*ret = info;
	return 0;
}

int xdp_link_open(const char *path, struct xdp_link **ret)
{
	_cleanup_(cleanup_fd) int fd = bpf_obj_get(path);
	struct bpf_link_info info = { 0 };
	int r;

	if (fd < 0)
		return -errno;
	r = info_of(fd, &info);
	if (r < 0)
		return r;
	*ret = link_of(TAKE_FD(fd));
	return 0;
}

int xdp_link_pin(const struct xdp_link *link, const char *path)
{
	return bpf_obj_pin(link->fd, path) < 0 ? -errno : 0;
}

int xdp_link_update(const struct xdp_link *link, int program)
{
	return bpf_link_update(link->fd, program, NULL) < 0 ? -errno : 0;
}

int xdp_link_detach(const struct xdp_link *link)
{
	return bpf_link_detach(link->fd) < 0 ? -errno : 0;
}

void xdp_link_free(struct xdp_link *link)
{
	if (!link)
		return;
	close(link->fd);
	free(link);
}

int xdp_link_state(const struct xdp_link *link, struct xdp_link_state *ret)
{
	struct bpf_link_info info = { 0 };
	int r = info_of(link->fd, &info);

	if (r < 0)
		return r;
	*ret = (struct xdp_link_state){ .ifindex = info.xdp.ifindex, .program = info.prog_id };
	return 0;
}

int xdp_device_state(unsigned ifindex, struct xdp_device_state *ret)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, opts);
	int r = bpf_xdp_query((int)ifindex, 0, &opts);

	if (r < 0)
		return r;
	*ret = (struct xdp_device_state){ .program = opts.prog_id,
					  .mode = opts.attach_mode == XDP_ATTACHED_SKB
							  ? XDP_MODE_GENERIC
							  : XDP_MODE_NATIVE };
	return 0;
}

/* Receive queues are separate or combined with a send queue; a device may have both kinds. */
int xdp_device_queues(const char *name, uint32_t *ret)
{
	_cleanup_(cleanup_fd) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	struct ifreq request = { .ifr_data = (char *)&channels };

	if (fd < 0)
		return -errno;
	if (strlen(name) >= sizeof(request.ifr_name))
		return -ENODEV;
	memcpy(request.ifr_name, name, strlen(name));
	if (ioctl(fd, SIOCETHTOOL, &request) < 0)
		return -errno;
	*ret = channels.rx_count + channels.combined_count;
	return 0;
}

int xdp_program_id(int program, uint32_t *ret)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(program, &info, &size) < 0)
		return -errno;
	*ret = info.id;
	return 0;
}

/* The kernel checks that data_end of a context equals the size of the frame. */
int xdp_run(int program, struct xdp_run *run)
{
	struct xdp_md context = { .data_end = run->size, .ingress_ifindex = run->ifindex };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = run->frame, .data_size_in = run->size,
		    .data_out = run->out, .data_size_out = run->out ? run->out_size : 0,
		    .repeat = (int)run->repeat);

	if (run->ifindex) {
		opts.ctx_in = &context;
		opts.ctx_size_in = sizeof(context);
	}
	if (bpf_prog_test_run_opts(program, &opts) < 0)
		return -errno;
	run->out_size = opts.data_size_out;
	run->verdict = opts.retval;
	run->ns = opts.duration;
	return 0;
}
