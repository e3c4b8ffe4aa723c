/* SPDX-License-Identifier: Apache-2.0 */
/* who: the operator of an act (base/who.h) as fields of a log line. */
#pragma once

#include "base/who.h"
#include "lib/log/log.h"

/* NULL, which leaves the field out, if it is not known. */
static inline const char *log_who_name(const struct who *w)
{
	return w && *w->name ? w->name : NULL;
}

static inline const char *log_who_address(const struct who *w, char text[static ADDR_STRLEN])
{
	return w && addr_is_set(&w->address) ? addr_format(&w->address, text) : NULL;
}

/* Two fields. w may be NULL; text is a char[ADDR_STRLEN] that lives as long as the line. */
#define LOG_WHO(w, text)                                                                           \
	LOG_S("operator", log_who_name(w)), LOG_S("operator_address", log_who_address(w, text))
