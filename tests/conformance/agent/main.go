// SPDX-License-Identifier: Apache-2.0

// agent is the node of the conformance tests: a kubelet without containers.
//
// It binds every pod to its one node and runs the program that the pod's image stands for (programs.go) as a child process
// with a network namespace and a root folder of its own, which holds the program and the Secret and ConfigMap volumes (files.go).
// All pods hang on one bridge (network.go). A pod is ready when the ports that its environment implies are open, and it
// is deleted as soon as its process has ended (pod.go). The log of a pod is served as a kubelet serves it (logs.go).
//
// One goroutine owns one pod from its binding to its deletion; the map of pods below is the only shared state.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const kubeletPort = 10250

type agent struct {
	client kubernetes.Interface
	node   string
	folder string // of the pods' root folders
	echo   string // the echo program of the suite
	net    *network

	mutex sync.Mutex
	pods  map[types.UID]*pod
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "dns" {
		log.Fatal(serveDNS())
	}
	a := &agent{pods: map[types.UID]*pod{}}
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	address := flag.String("address", "10.244.0.1/16", "the node's address, and the network of the pods")
	certificate := flag.String("certificate", "", "of the server that serves the logs")
	key := flag.String("key", "", "of that certificate")
	flag.StringVar(&a.node, "node", "node-0", "name of the node")
	flag.StringVar(&a.folder, "folder", "", "for the files of the pods")
	flag.StringVar(&a.echo, "echo", "", "the echo program")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := a.run(ctx, *kubeconfig, *address, *certificate, *key); err != nil {
		log.Fatal(err)
	}
}

func (a *agent) run(ctx context.Context, kubeconfig, address, certificate, key string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 500, 1000
	if a.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if a.net, err = newNetwork(address); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- a.serveLogs(certificate, key) }()
	if err := a.register(ctx); err != nil {
		return err
	}
	a.watch(ctx)
	log.Printf("node %s is ready", a.node)
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	a.stopAll()
	return err
}

// register makes the Node, which the API server asks for the address of the logs.
func (a *agent) register(ctx context.Context) error {
	nodes := a.client.CoreV1().Nodes()
	node := &core.Node{ObjectMeta: meta.ObjectMeta{Name: a.node}}
	if _, err := nodes.Create(ctx, node, meta.CreateOptions{}); err != nil && !errors.IsAlreadyExists(err) {
		return err
	}
	node, err := nodes.Get(ctx, a.node, meta.GetOptions{})
	if err != nil {
		return err
	}
	node.Status.Addresses = []core.NodeAddress{{Type: core.NodeInternalIP, Address: a.net.host.String()}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = kubeletPort
	node.Status.Conditions = []core.NodeCondition{{Type: core.NodeReady, Status: core.ConditionTrue,
		Reason: "AgentReady", LastTransitionTime: meta.Now(), LastHeartbeatTime: meta.Now()}}
	_, err = nodes.UpdateStatus(ctx, node, meta.UpdateOptions{})
	return err
}

func (a *agent) watch(ctx context.Context) {
	factory := informers.NewSharedInformerFactory(a.client, 0)
	factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(it any) { a.see(ctx, it.(*core.Pod)) },
		UpdateFunc: func(_, it any) { a.see(ctx, it.(*core.Pod)) },
		DeleteFunc: func(it any) {
			if last, ok := it.(cache.DeletedFinalStateUnknown); ok {
				it = last.Obj
			}
			a.end(it.(*core.Pod).UID)
		},
	})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
}

func (a *agent) see(ctx context.Context, it *core.Pod) {
	switch {
	case it.DeletionTimestamp != nil:
		if !a.end(it.UID) && (it.Spec.NodeName == a.node || it.Spec.NodeName == "") {
			go a.forget(it)
		}
	case it.Spec.NodeName == "":
		go a.bind(ctx, it)
	case it.Spec.NodeName == a.node && it.Status.Phase == core.PodPending:
		a.begin(ctx, it)
	}
}

// bind does a scheduler's work. A pod that is gone meanwhile needs none.
func (a *agent) bind(ctx context.Context, it *core.Pod) {
	err := a.client.CoreV1().Pods(it.Namespace).Bind(ctx, &core.Binding{
		ObjectMeta: meta.ObjectMeta{Name: it.Name, Namespace: it.Namespace, UID: it.UID},
		Target:     core.ObjectReference{Kind: "Node", Name: a.node},
	}, meta.CreateOptions{})
	if err != nil && !errors.IsNotFound(err) && !errors.IsConflict(err) {
		log.Printf("%s/%s is not bound: %v", it.Namespace, it.Name, err)
	}
}

func (a *agent) begin(ctx context.Context, it *core.Pod) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.pods[it.UID] != nil {
		return
	}
	p := newPod(a, it)
	a.pods[it.UID] = p
	go func() {
		p.live(ctx)
		a.mutex.Lock()
		delete(a.pods, it.UID)
		a.mutex.Unlock()
		a.forget(it)
	}()
}

// end tells the owner of a pod that it is to end; false if there is none.
func (a *agent) end(uid types.UID) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	p := a.pods[uid]
	if p != nil {
		p.stop()
	}
	return p != nil
}

// forget deletes a pod that has no process: the API server keeps it until the node says so.
func (a *agent) forget(it *core.Pod) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	now := int64(0)
	err := a.client.CoreV1().Pods(it.Namespace).Delete(ctx, it.Name,
		meta.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &meta.Preconditions{UID: &it.UID}})
	if err != nil && !errors.IsNotFound(err) && !errors.IsConflict(err) {
		log.Printf("%s/%s is not deleted: %v", it.Namespace, it.Name, err)
	}
}

func (a *agent) stopAll() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, p := range a.pods {
		p.stop()
	}
}

func (a *agent) find(namespace, name string) (*pod, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, p := range a.pods {
		if p.it.Namespace == namespace && p.it.Name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no pod %s/%s on this node", namespace, name)
}
