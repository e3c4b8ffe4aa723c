# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# A client and two servers, each in a network namespace; the machine itself is the balancer between them.
#
#     client eth0 ---- c0 machine s1 ---- eth0 web1      198.51.100.10 is on loopback of both servers, which
#       10.9.0.2          10.9.0.1 s2 ---- eth0 web2     remove GRE with the program of the package

# connect NAMESPACE DEVICE NETWORK: the machine has .1 of the network, the namespace .2 and a route to all else.
connect()
{
	ip netns add "$1"
	ip link add "$2" type veth peer name eth0 netns "$1"
	ip addr add "$3.1/24" dev "$2"
	ip link set "$2" up
	ip -n "$1" addr add "$3.2/24" dev eth0
	ip -n "$1" link set lo up
	ip -n "$1" link set eth0 up
	ip -n "$1" route add default via "$3.1"
}

make_network()
{
	modprobe veth
	sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
	connect client c0 10.9.0
	# checksums must be filled in before XDP sees the packet (docs/guide/xdp.md)
	ip netns exec client ethtool -K eth0 tx off >/dev/null
	for n in 1 2; do
		connect "web$n" "s$n" "10.9.$n"
		ip -n "web$n" addr add 198.51.100.10/32 dev lo
		ip -n "web$n" link set dev eth0 xdp obj /usr/lib/maglev/decap.bpf.o sec xdp
		ip netns exec "web$n" python3 /package/echo.py "web$n" &
	done
}

# xdp_program: the id of that on c0.
xdp_program()
{
	ip link show c0 | sed -n 's/.*prog\/xdp id \([0-9]*\).*/\1/p'
}

# write_config WEIGHT: maglevd balances between the two servers; the weight is that of web1. An emulated machine may be so slow that a
# connection has no packet for longer than the usual 40s.
write_config()
{
	cat >/etc/maglev/maglev.yaml <<-END
		# mine
		maglev:
		  dataplane: xdp
		  xdp: { interfaces: [c0] }
		  lb: { ipv4-src-address: 10.9.0.1, startup-min-delay: 1s, flow-timeout: 120s }
		  healthchecks: { port80: { type: tcp, port: 80, interval: 1s, timeout: 900ms } }
		  backends: { web1: { address: 10.9.1.2, healthcheck: port80 }, web2: { address: 10.9.2.2, healthcheck: port80 } }
		  frontends:
		    www:
		      address: 198.51.100.10
		      protocol: tcp
		      port: 80
		      pools: [ { name: all, backends: { web1: { weight: $1 }, web2: { weight: 100 } } } ]
	END
}

# A router in the namespace of the client: bgpd alone, which puts its routes into no kernel. zebra of the machine must not be its own.
make_router()
{
	install -d -o frr -g frr /tmp/router
	cat >/tmp/router/bgpd.conf <<-END
		router bgp 64513
		 bgp router-id 10.9.0.2
		 no bgp ebgp-requires-policy
		 neighbor 10.9.0.1 remote-as 64512
		 neighbor 10.9.0.1 timers connect 1
	END
	ip netns exec client /usr/lib/frr/bgpd -d -Z -z /tmp/router/none -P 0 -f /tmp/router/bgpd.conf -i /tmp/router/bgpd.pid --vty_socket /tmp/router
}

# routes: those of the router, in which version. Any change of them, even one that was taken back, makes another version.
routes()
{
	vtysh --vty_socket /tmp/router -d bgpd -c 'show bgp ipv4 unicast json' | grep -oE '"tableVersion": *[0-9]+|"network": *"[^"]*"' | tr '\n' ' '
}

# FRR as its package has it, with bgpd; what the speaker announces to the router.
configure_speaker()
{
	sed -i 's/^bgpd=no/bgpd=yes/' /etc/frr/daemons
	systemctl restart frr
	cat >/etc/maglev/speaker.yaml <<-END
		speaker:
		  router: { asn: 64512, router-id: 10.9.0.1 }
		  peers: { client: { address: 10.9.0.2, asn: 64513, connect-time: 1s } }
		  advertisements: { default: {} }
		  maglevds: { local: { address: "127.0.0.1:9090" } }
		  vips: { www: { address: 198.51.100.10, frontends: [local/www] } }
	END
}
