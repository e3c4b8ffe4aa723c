// SPDX-License-Identifier: Apache-2.0

// Package suite is the official conformance suite as a program; each folder beside this file has the modules of one version of it.
package suite

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
)

func TestConformance(t *testing.T) { conformance.RunConformance(t) }
