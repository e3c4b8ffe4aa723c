/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tests/support/vpp/plugin.h"

/* Invalidates the table of new flows, which is built again when it is needed. */
void plugin__table_changed(struct plugin_vip *vip);
