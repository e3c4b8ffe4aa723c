/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tests/support/vpp/plugin.h"

/* The table of new flows is built again when it is asked for. */
void plugin__table_changed(struct plugin_vip *vip);
