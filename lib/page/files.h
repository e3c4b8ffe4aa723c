/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files: the files of a web application, inside the program.
 *
 * The table is generated from a built application by tools/embed-web; without Node the program
 * has a page in its place that says how to build it. Files are sent from the table: a slow client
 * costs no copy.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct http_exchange;
struct http_request;

struct page_file {
	const char *path; /* "index.html", "assets/app-4f2a.js" */
	const char *content_type;
	const unsigned char *bytes;
	size_t n;
	const unsigned char *gzip; /* the same, compressed; NULL if that saves nothing */
	size_t n_gzip;
};

struct page_files {
	const struct page_file *items;
	size_t n;
};

/* Of the program that links the generated table. */
extern const struct page_files page_files;

/*
 * Replies with the file of that path, or with 404; the empty path is index.html. Files below
 * assets/ have a hash of their content in their name, so they may be cached forever; all others
 * must be revalidated. page_file_fresh() adds no header about caches: the server has one for all.
 */
void page_file(struct http_exchange *x, const struct http_request *request,
	       const struct page_files *files, struct str path);
void page_file_fresh(struct http_exchange *x, const struct http_request *request,
		     const struct page_files *files, struct str path);
