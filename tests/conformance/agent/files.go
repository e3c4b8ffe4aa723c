// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// makeRoot makes the folder that the process sees as /: the program, and the volumes where they are mounted.
func (p *pod) makeRoot(ctx context.Context, container core.Container, program string) error {
	if err := os.MkdirAll(p.root, 0o755); err != nil {
		return err
	}
	if err := place(program, filepath.Join(p.root, "program")); err != nil {
		return err
	}
	volumes := map[string]core.Volume{}
	for _, volume := range p.it.Spec.Volumes {
		volumes[volume.Name] = volume
	}
	for _, mount := range container.VolumeMounts {
		if err := p.mount(ctx, volumes[mount.Name], filepath.Join(p.root, mount.MountPath)); err != nil {
			return err
		}
	}
	return nil
}

// place makes a second name of a file, or a copy where that is on another file system.
func place(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// mount writes the files of a volume, for which it waits: a Secret may be made after the pod. Volumes of other kinds, such as the
// token that the API server adds to each pod, are used by no program here.
func (p *pod) mount(ctx context.Context, volume core.Volume, folder string) error {
	if volume.Secret == nil && volume.ConfigMap == nil {
		return nil
	}
	for {
		content, items, err := p.read(ctx, volume)
		if err == nil {
			return writeFiles(folder, content, items)
		}
		select {
		case <-p.over:
			return fmt.Errorf("deleted")
		case <-time.After(10 * look):
		}
	}
}

func (p *pod) read(ctx context.Context, volume core.Volume) (map[string][]byte, []core.KeyToPath, error) {
	api, content := p.a.client.CoreV1(), map[string][]byte{}
	if from := volume.Secret; from != nil {
		secret, err := api.Secrets(p.it.Namespace).Get(ctx, from.SecretName, meta.GetOptions{})
		if err != nil {
			return nil, nil, err
		}
		return secret.Data, from.Items, nil
	}
	from := volume.ConfigMap
	config, err := api.ConfigMaps(p.it.Namespace).Get(ctx, from.Name, meta.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	for key, text := range config.Data {
		content[key] = []byte(text)
	}
	for key, bytes := range config.BinaryData {
		content[key] = bytes
	}
	return content, from.Items, nil
}

func writeFiles(folder string, content map[string][]byte, items []core.KeyToPath) error {
	if items == nil {
		for key := range content {
			items = append(items, core.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		bytes, there := content[item.Key]
		if !there {
			return fmt.Errorf("the volume has no key %s", item.Key)
		}
		path := filepath.Join(folder, item.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, bytes, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// environment lists the variables of a container.
func (p *pod) environment(container core.Container) []string {
	fields := map[string]string{"metadata.name": p.it.Name, "metadata.namespace": p.it.Namespace, "metadata.uid": string(p.it.UID),
		"spec.nodeName": p.a.node, "status.podIP": p.address.String(), "status.hostIP": p.a.net.host.String()}
	rows := []string{}
	for _, variable := range container.Env {
		value := variable.Value
		if from := variable.ValueFrom; from != nil && from.FieldRef != nil {
			value = fields[from.FieldRef.FieldPath]
		}
		rows = append(rows, variable.Name+"="+value)
	}
	return rows
}
