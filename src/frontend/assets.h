/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assets: the files of the web application, inside the program.
 *
 * The table is generated from the built application by tools/embed-web. Without Node it holds a
 * page that says how to build the application (assets_none.c). Files are sent from the table in
 * place: a slow client costs no copy.
 */
#pragma once

#include <stddef.h>

struct asset {
	const char *path; /* below /view/ and /admin/: "index.html", "assets/app-4f2a.js" */
	const char *content_type;
	const unsigned char *bytes;
	size_t n;
	const unsigned char *gzip; /* the same, compressed; NULL if that saves nothing */
	size_t n_gzip;
};

extern const struct asset assets[];
extern const size_t n_assets;
