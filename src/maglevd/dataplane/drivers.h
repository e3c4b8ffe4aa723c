/* SPDX-License-Identifier: Apache-2.0 */
/* drivers: which driver serves which data plane in this program. */
#pragma once

#include "src/maglevd/dataplane/dataplane.h"

extern const struct dataplane_driver dataplane_none, dataplane_xdp;

/* Every data plane has one. Test programs bring their own table. */
const struct dataplane_driver *dataplane_find(enum l4_dataplane kind);
