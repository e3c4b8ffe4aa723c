// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	core "k8s.io/api/core/v1"
)

// program is what runs in place of an image.
type program struct {
	path string
	args []string
}

func imageOf(container core.Container) string {
	name, _, _ := strings.Cut(path.Base(container.Image), ":")
	return name
}

func (a *agent) programOf(container core.Container) (program, error) {
	switch imageOf(container) {
	case "echo-basic":
		return program{path: a.echo}, nil
	case "coredns":
		self, err := os.Executable()
		return program{path: self, args: []string{"dns"}}, err
	}
	return program{}, fmt.Errorf("no program for the image %s", container.Image)
}

// opening is a port that the echo program opens in one of its modes, unless a variable that it needs is missing.
type opening struct {
	mode, variable, port string
	protocol             string
	needs                []string
}

var openings = []opening{
	{"GRPC_ECHO_SERVER", "HTTP_PORT", "3000", "tcp", nil},
	{"GRPC_ECHO_SERVER", "HTTPS_PORT", "8443", "tcp", []string{"TLS_SERVER_CERT", "TLS_SERVER_PRIV_KEY"}},
	{"TCP_ECHO_SERVER", "TCP_PORT", "3000", "tcp", nil},
	{"TCP_ECHO_SERVER", "TLS_PORT", "8443", "tcp", []string{"TLS_SERVER_CERT", "TLS_SERVER_PRIV_KEY"}},
	{"UDP_ECHO_SERVER", "UDP_PORT", "8080", "udp", nil},
	{"", "HTTP_PORT", "3000", "tcp", nil},
	{"", "H2C_PORT", "3001", "tcp", nil},
	{"", "HTTPS_PORT", "8443", "tcp", []string{"TLS_SERVER_CERT", "TLS_SERVER_PRIVKEY"}},
}

// port is a number with its protocol, such as tcp 3000.
type port struct {
	protocol string
	number   int
}

// portsOf lists the ports that the program of a container opens. The ports that the container declares say nothing about that:
// a test declares one which its program leaves closed.
func portsOf(container core.Container, environment []string) []port {
	if imageOf(container) == "coredns" {
		return []port{{"udp", 53}}
	}
	set := map[string]string{}
	for _, row := range environment {
		name, value, _ := strings.Cut(row, "=")
		set[name] = value
	}
	mode := ""
	for _, row := range openings {
		if mode == "" && row.mode != "" && set[row.mode] != "" {
			mode = row.mode
		}
	}
	var found []port
	for _, row := range openings {
		if row.mode == mode && hasAll(set, row.needs) {
			found = append(found, port{row.protocol, numberOf(set[row.variable], row.port)})
		}
	}
	return found
}

func hasAll(set map[string]string, names []string) bool {
	for _, name := range names {
		if set[name] == "" {
			return false
		}
	}
	return true
}

func numberOf(texts ...string) int {
	for _, text := range texts {
		if number, err := strconv.Atoi(text); err == nil {
			return number
		}
	}
	return 0
}
