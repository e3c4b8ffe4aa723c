// SPDX-License-Identifier: Apache-2.0

// A client of frr-reloader with Go's own HTTP: one request after the other, each with an id of its
// own that the answer must repeat, and 30 seconds for each. It ends with 1 at the first failure.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

type reloadRequest struct {
	Action string `json:"action"`
	ID     int    `json:"id"`
}

type reloadResponse struct {
	ID     int  `json:"id"`
	Result bool `json:"result"`
}

var counter atomic.Int64

func reload(socket string) error {
	client := &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", socket)
			},
		},
		Timeout: 30 * time.Second,
	}
	defer client.CloseIdleConnections()
	request := reloadRequest{Action: "reload", ID: int(counter.Add(1))}
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	answer, err := client.Post("http://unix/", "application/json", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	var response reloadResponse
	if err := json.NewDecoder(answer.Body).Decode(&response); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	if response.ID != request.ID {
		return fmt.Errorf("asked as %d, answered as %d", request.ID, response.ID)
	}
	if !response.Result {
		return fmt.Errorf("FRR reload failed")
	}
	return nil
}

func main() {
	n, err := strconv.Atoi(os.Args[1])
	for i := 0; err == nil && i < n; i++ {
		err = reload(os.Getenv("FRR_RELOADER_SOCKET"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d reloads\n", n)
}
