// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
)

// network is a bridge in the agent's namespace, to which a veth device of each pod is connected.
type network struct {
	host   netip.Addr
	prefix netip.Prefix
	count  atomic.Uint32
}

func newNetwork(address string) (*network, error) {
	prefix, err := netip.ParsePrefix(address)
	if err != nil {
		return nil, err
	}
	n := &network{host: prefix.Addr(), prefix: prefix}
	return n, ip(nil, "link add pods type bridge", "addr add "+address+" dev pods", "link set pods up")
}

// ip runs commands of the program ip in one batch, after the words of prefix.
func ip(prefix []string, lines ...string) error {
	words := append(append([]string{}, prefix...), "ip", "-batch", "-")
	command := exec.Command(words[0], words[1:]...)
	command.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %s", lines, said)
	}
	return nil
}

// next returns an address that no pod had before.
func (n *network) next() netip.Addr {
	bytes, count := n.host.As4(), n.count.Add(1)
	at := uint32(bytes[2])<<8 | uint32(bytes[3]) + count
	bytes[2], bytes[3] = byte(at>>8), byte(at)
	return netip.AddrFrom4(bytes)
}

// connect gives the namespace of a process its device and address. The device goes with the namespace.
func (n *network) connect(pid int, address netip.Addr) error {
	device := fmt.Sprintf("pod%d", pid)
	err := ip(nil, fmt.Sprintf("link add %s type veth peer name eth0 netns %d", device, pid),
		fmt.Sprintf("link set %s master pods up", device))
	if err != nil {
		return err
	}
	return ip([]string{"nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", pid)}, "link set lo up",
		fmt.Sprintf("addr add %v/%d dev eth0", address, n.prefix.Bits()), "link set eth0 up", "route add default via "+n.host.String())
}

// allOpen looks into the socket tables of a process's namespace.
func allOpen(pid int, wanted []port) bool {
	for _, one := range wanted {
		if !isOpen(pid, one) {
			return false
		}
	}
	return true
}

func isOpen(pid int, wanted port) bool {
	states := map[string]string{"tcp": "0A", "udp": "07"}
	for _, family := range []string{"", "6"} {
		file, err := os.Open(fmt.Sprintf("/proc/%d/net/%s%s", pid, wanted.protocol, family))
		if err != nil {
			continue
		}
		defer file.Close()
		for rows := bufio.NewScanner(file); rows.Scan(); {
			fields := strings.Fields(rows.Text())
			if len(fields) < 4 || fields[3] != states[wanted.protocol] {
				continue
			}
			_, digits, _ := strings.Cut(fields[1], ":")
			if number, err := strconv.ParseUint(digits, 16, 16); err == nil && int(number) == wanted.number {
				return true
			}
		}
	}
	return false
}
