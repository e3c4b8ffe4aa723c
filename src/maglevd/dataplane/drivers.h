/* SPDX-License-Identifier: Apache-2.0 */
/* drivers: which driver serves which data plane in this program. */
#pragma once

#include "src/maglevd/dataplane/dataplane.h"

extern const struct dataplane_driver dataplane_none, dataplane_xdp;

/* The driver of a data plane; never NULL. Test programs link a table of their own instead. */
const struct dataplane_driver *dataplane_find(enum l4_dataplane kind);
