/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assets: the files of the web application, inside the program.
 *
 * The table is generated from the built application by tools/embed-web; without Node there is a
 * page in its place that says how to build it (assets_none.c). They are sent from where they are:
 * a client that is slow to take one costs no copy of it.
 */
#pragma once

#include <stddef.h>

struct asset {
	const char *path; /* below /view/ and /admin/: "index.html", "assets/app-4f2a.js" */
	const char *content_type;
	const unsigned char *bytes;
	size_t n;
	const unsigned char *gzip; /* NULL where it saves nothing */
	size_t n_gzip;
};

extern const struct asset assets[];
extern const size_t n_assets;
