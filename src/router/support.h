/* SPDX-License-Identifier: Apache-2.0 */
/*
 * support: refuses what a configuration can say and this version does not do, so that nothing is
 * ignored silently.
 */
#pragma once

#include "core/l7/doc.h"

/* -EINVAL if anything was added to errors, sorted by place, with the code "NotSupported". */
int support_check(const struct l7_doc *doc, struct errs *errors);
