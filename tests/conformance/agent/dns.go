// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"

	"golang.org/x/net/dns/dnsmessage"
)

// serveDNS stands for CoreDNS in the one pod that has it: each question for an address is answered with that of the asker, as CoreDNS's
// plugin whoami does, which the pod's Corefile configures.
func serveDNS() error {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{Port: 53})
	if err != nil {
		return err
	}
	fmt.Println("listening on port 53 (udp)")
	question := make([]byte, 4096)
	for {
		size, from, err := socket.ReadFromUDP(question)
		if err != nil {
			return err
		}
		if answer, err := answerOf(question[:size], from.IP); err == nil {
			socket.WriteToUDP(answer, from)
		}
	}
}

func answerOf(question []byte, from net.IP) ([]byte, error) {
	var message dnsmessage.Message
	if err := message.Unpack(question); err != nil || len(message.Questions) != 1 {
		return nil, fmt.Errorf("no question: %v", err)
	}
	message.Response, message.Authoritative = true, true
	message.Answers, message.Authorities, message.Additionals = nil, nil, nil
	if four := from.To4(); four != nil {
		message.Additionals = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: message.Questions[0].Name, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.AResource{A: [4]byte(four)},
		}}
	}
	return message.Pack()
}
