// SPDX-License-Identifier: Apache-2.0

// peer: what a controller with client-go does at its start: it lists Services and EndpointSlices into
// caches and watches them. It prints one JSON line when both are complete, and ends with its input.
//
//	peer KUBECONFIG [trimmed [collected]]
//
// trimmed: with a transform that drops managedFields and annotations, which is the usual advice for memory. collected:
// then returns all memory that is free to the system, which no controller does.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func trim(it interface{}) (interface{}, error) {
	if object, err := meta.Accessor(it); err == nil {
		object.SetManagedFields(nil)
		object.SetAnnotations(nil)
	}
	return it, nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	began := time.Now()
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	must(err)
	client, err := kubernetes.NewForConfig(config)
	must(err)
	factory := informers.NewSharedInformerFactory(client, 0)
	services := factory.Core().V1().Services().Informer()
	slices := factory.Discovery().V1().EndpointSlices().Informer()
	if len(os.Args) > 2 {
		must(services.SetTransform(trim))
		must(slices.SetTransform(trim))
	}
	factory.Start(context.Background().Done())
	factory.WaitForCacheSync(context.Background().Done())
	took := time.Since(began)

	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	cpu := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	fmt.Printf("{\"services\":%d,\"slices\":%d,\"ms\":%d,\"cpu_us\":%d}\n", len(services.GetStore().List()),
		len(slices.GetStore().List()), took.Milliseconds(), cpu.Microseconds())
	if len(os.Args) > 3 {
		debug.FreeOSMemory()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(factory)
}
