// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const keep = 100000 // lines of one pod

// lines is the output of a pod, with the time of each line.
type lines struct {
	mutex sync.Mutex
	part  []byte // of a line that has not ended
	at    []time.Time
	text  []string
}

func (l *lines) Write(data []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := time.Now()
	l.part = append(l.part, data...)
	for {
		end := bytes.IndexByte(l.part, '\n')
		if end < 0 {
			break
		}
		l.at, l.text = append(l.at, now), append(l.text, string(l.part[:end]))
		l.part = l.part[end+1:]
	}
	if more := len(l.at) - keep; more > 0 {
		l.at, l.text = append([]time.Time{}, l.at[more:]...), append([]string{}, l.text[more:]...)
	}
	return len(data), nil
}

// since lists the lines from a time on, at most the last n of them.
func (l *lines) since(from time.Time, n int) []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	first := 0
	for first < len(l.at) && l.at[first].Before(from) {
		first++
	}
	return append([]string{}, l.text[max(first, len(l.text)-n):]...)
}

// serveLogs serves GET /containerLogs/NAMESPACE/POD/CONTAINER, where the API server sends those who ask it for a pod's log.
func (a *agent) serveLogs(certificate, key string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", a.showLog)
	server := &http.Server{Addr: fmt.Sprintf("%v:%d", a.net.host, kubeletPort), Handler: mux}
	return server.ListenAndServeTLS(certificate, key)
}

func (a *agent) showLog(w http.ResponseWriter, r *http.Request) {
	p, err := a.find(r.PathValue("namespace"), r.PathValue("pod"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if name := r.PathValue("container"); name != p.it.Spec.Containers[0].Name {
		http.Error(w, "no container "+name, http.StatusNotFound)
		return
	}
	from, count, err := rangeOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, line := range p.log.since(from, count) {
		fmt.Fprintln(w, line)
	}
}

func rangeOf(r *http.Request) (from time.Time, count int, err error) {
	count = keep
	if text := r.FormValue("sinceTime"); text != "" {
		from, err = time.Parse(time.RFC3339, text)
	}
	if text := r.FormValue("sinceSeconds"); text != "" && err == nil {
		var seconds int
		seconds, err = strconv.Atoi(text)
		from = time.Now().Add(-time.Duration(seconds) * time.Second)
	}
	if text := r.FormValue("tailLines"); text != "" && err == nil {
		count, err = strconv.Atoi(text)
	}
	return from, count, err
}
