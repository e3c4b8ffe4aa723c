/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/l2/port.h"

#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "lib/net/privilege.h"

static bool set_name(struct ifreq *request, const char *name)
{
	size_t n = strlen(name);

	if (!n || n >= sizeof(request->ifr_name))
		return false;
	*request = (struct ifreq){ 0 };
	memcpy(request->ifr_name, name, n);
	return true;
}

int l2_port_read(int fd, const char *name, struct l2_port *ret)
{
	struct l2_port p = { 0 };
	struct ifreq request;

	if (!set_name(&request, name))
		return -ENODEV;
	if (ioctl(fd, SIOCGIFINDEX, &request) < 0)
		return -errno;
	p.index = (unsigned)request.ifr_ifindex;
	if (ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return -errno;
	p.is_up = (request.ifr_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
	if (ioctl(fd, SIOCGIFHWADDR, &request) < 0)
		return -errno;
	if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return -EOPNOTSUPP;
	memcpy(p.mac, request.ifr_hwaddr.sa_data, L2_MAC);
	*ret = p;
	return 0;
}

/* Kernels before 5.7 require the capability. */
int l2_port_bind(int fd, const char *name)
{
	int raised = privilege_raise(CAP_NET_RAW);
	int r = setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name) + 1);
	int err = errno;

	if (raised > 0)
		privilege_lower(CAP_NET_RAW);
	return r < 0 ? -err : 0;
}
