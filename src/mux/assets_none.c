/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a program built without Node: a page that says so. */
#include "base/cleanup.h"
#include "lib/page/files.h"

static const unsigned char page[] =
	"<!doctype html>\n"
	"<html lang=\"en\">\n"
	"<meta charset=\"utf-8\">\n"
	"<title>maglev-mux</title>\n"
	"<h1>maglev-mux</h1>\n"
	"<p>This program was built without its page. Build it where npm is installed, with "
	"<code>meson configure -Dweb=enabled</code>.</p>\n"
	"<p>The data is at <a href=\"/api/state\">/api/state</a> and "
	"<a href=\"/api/topology\">/api/topology</a>.</p>\n";

static const struct page_file files[] = {
	{ "mux.html", "text/html; charset=utf-8", page, sizeof(page) - 1, NULL, 0 },
};
const struct page_files page_files = { files, ARRAY_SIZE(files) };
