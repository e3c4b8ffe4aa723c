/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings: the file of the speaker, read and checked (lib/config/loader.h, core/bgp).
 */
#pragma once

#include "core/bgp/config.h"
#include "lib/config/loader.h"

/* A configuration and the arena that holds it. */
struct settings {
	struct arena *arena;
	struct bgp_config config;
};

/* path is borrowed. */
struct config_source settings_source(const char *path);
/* Of a load without errors, which the settings then own. */
struct settings *settings_take(struct config_load *load);
void settings_free(struct settings *s);
/* Logs the result of a load (lib/config/report.h), or "config-loaded". */
void settings_log(const struct config_load *load, const char *path, bool again);
