/* SPDX-License-Identifier: Apache-2.0 */
/* explain: where a request would go, as a message of the API (core/l7/explain.h). */
#pragma once

#include "src/router/info.h"

/*
 * In the arena of i. NULL if the request cannot be explained; *ret_why then says what is wrong with
 * it.
 */
Maglev__RequestExplanation *explain_of(const struct info *i,
				       const Maglev__ExplainRequestRequest *request,
				       const char **ret_why);
