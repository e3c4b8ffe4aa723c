// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	look    = 10 * time.Millisecond // between two looks at something that has no event
	patient = 60 * time.Second      // for a port to be opened
	polite  = 2 * time.Second       // between SIGTERM and SIGKILL
)

// pod is one pod of the node. Its container is one process.
type pod struct {
	a       *agent
	it      *core.Pod
	address netip.Addr
	root    string
	log     lines

	once sync.Once
	over chan struct{} // closed when it is to end
}

func newPod(a *agent, it *core.Pod) *pod {
	return &pod{a: a, it: it, address: a.net.next(), root: filepath.Join(a.folder, string(it.UID)), over: make(chan struct{})}
}

func (p *pod) stop() { p.once.Do(func() { close(p.over) }) }

func (p *pod) isOver() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// live starts the process, reports the pod, and returns when the process has ended and the pod is to be deleted.
//
// The thread is kept, because the process is killed when the thread ends that started it.
func (p *pod) live(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer os.RemoveAll(p.root)
	process, err := p.start(ctx)
	if err == nil {
		defer process.end()
		err = p.settle(ctx, process)
	}
	if err == nil {
		err = p.report(ctx, core.PodRunning, "")
	}
	if err == nil {
		select {
		case <-p.over:
			return
		case err = <-process.ended:
		}
	}
	if !p.isOver() {
		log.Printf("%s/%s: %v", p.it.Namespace, p.it.Name, err)
		p.report(ctx, core.PodFailed, err.Error())
		<-p.over
	}
}

type process struct {
	*exec.Cmd
	ended chan error
}

func (p *pod) start(ctx context.Context) (*process, error) {
	container := p.it.Spec.Containers[0]
	program, err := p.a.programOf(container)
	if err != nil {
		return nil, err
	}
	if err := p.makeRoot(ctx, container, program.path); err != nil {
		return nil, err
	}
	command := exec.Command("/program", program.args...)
	command.Dir = "/"
	command.Env = p.environment(container)
	command.Stdout, command.Stderr = &p.log, &p.log
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: p.root, Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return nil, err
	}
	started := &process{command, make(chan error, 1)}
	go func() {
		err := command.Wait()
		started.ended <- fmt.Errorf("the program ended: %v", err)
	}()
	return started, nil
}

// settle connects the pod and waits for its ports.
func (p *pod) settle(ctx context.Context, process *process) error {
	if err := p.a.net.connect(process.Process.Pid, p.address); err != nil {
		return err
	}
	wanted := portsOf(p.it.Spec.Containers[0], p.environment(p.it.Spec.Containers[0]))
	deadline := time.Now().Add(patient)
	for !allOpen(process.Process.Pid, wanted) {
		select {
		case <-p.over:
			return fmt.Errorf("deleted")
		case err := <-process.ended:
			return err
		case <-time.After(look):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not all of the ports %v are open after %v", wanted, patient)
		}
	}
	return nil
}

// end ends the process if it has not ended by itself.
func (p *process) end() {
	p.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(polite):
		p.Process.Kill()
	}
}

func (p *pod) report(ctx context.Context, phase core.PodPhase, why string) error {
	now, ready := meta.Now(), core.ConditionFalse
	container := p.it.Spec.Containers[0]
	state := core.ContainerState{Terminated: &core.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: why}}
	if phase == core.PodRunning {
		ready, state = core.ConditionTrue, core.ContainerState{Running: &core.ContainerStateRunning{StartedAt: now}}
	}
	isReady := phase == core.PodRunning
	status := core.PodStatus{
		Phase: phase, Message: why, HostIP: p.a.net.host.String(), PodIP: p.address.String(), StartTime: &now,
		PodIPs: []core.PodIP{{IP: p.address.String()}},
		ContainerStatuses: []core.ContainerStatus{{Name: container.Name, Image: container.Image, ImageID: container.Image,
			Ready: isReady, Started: &isReady, State: state}},
	}
	for _, kind := range []core.PodConditionType{core.PodScheduled, core.PodInitialized} {
		status.Conditions = append(status.Conditions, core.PodCondition{Type: kind, Status: core.ConditionTrue, LastTransitionTime: now})
	}
	for _, kind := range []core.PodConditionType{core.ContainersReady, core.PodReady} {
		status.Conditions = append(status.Conditions, core.PodCondition{Type: kind, Status: ready, LastTransitionTime: now})
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.it.UID}, "status": status})
	if err != nil {
		return err
	}
	_, err = p.a.client.CoreV1().Pods(p.it.Namespace).Patch(ctx, p.it.Name, types.MergePatchType, patch, meta.PatchOptions{}, "status")
	return err
}
