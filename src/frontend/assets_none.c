/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a program built without Node: a page that says so, and the icon. */
#include "lib/page/files.h"

#include "base/cleanup.h"

static const unsigned char page[] =
	"<!doctype html>\n"
	"<html lang=\"en\">\n"
	"<meta charset=\"utf-8\">\n"
	"<title>Maglev</title>\n"
	"<h1>Maglev</h1>\n"
	"<p>This program was built without the web application. Build it where npm is installed, "
	"with <code>meson configure -Dweb=enabled</code>.</p>\n"
	"<p>The data is at <a href=\"/view/api/state\">/view/api/state</a>, changes at "
	"<a href=\"/view/api/events\">/view/api/events</a>.</p>\n";

static const unsigned char icon[] =
	"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\">"
	"<path d=\"M2 14V2l6 7 6-7v12\" fill=\"none\" stroke=\"#2a7\" stroke-width=\"2\"/></svg>\n";

static const struct page_file files[] = {
	{ "index.html", "text/html; charset=utf-8", page, sizeof(page) - 1, NULL, 0 },
	{ "favicon.svg", "image/svg+xml", icon, sizeof(icon) - 1, NULL, 0 },
};
const struct page_files page_files = { files, ARRAY_SIZE(files) };
