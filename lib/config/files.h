/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files: the files of a configuration: the one that was named, and those that it includes.
 *
 * A file includes others by the key `include` (document.h). The word is a path, relative to the
 * folder of the file that has it. Its last part may have wildcards (glob(7)); the files are then
 * read in the order of their names, byte by byte, and names that begin with a dot are left out.
 * Each file is read once: one that is included again, or that includes itself, is an error with
 * both places.
 *
 * "-" is standard input, which is read to its end. What it includes is relative to the current
 * folder.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "lib/config/document.h"

#define CONFIG_FILES_MAX 256			    /* of one configuration */
#define CONFIG_BYTES_MAX ((size_t)16 * 1024 * 1024) /* of all of its files */

struct config_files;

/* Whether the path stands for standard input. */
bool config_is_stdin(const char *path);
/* How messages call it: "standard input", or the path itself. */
const char *config_shown_path(const char *path);

/*
 * Reads the first file, and may block for the disk. Complaints, also those about files that are
 * included later, are added to errors and warnings, which get the names of the files. -errno if the
 * file cannot be read. *ret is valid in any case; the caller frees it with config_files_free().
 * Names and words stay in the arena of errors.
 */
int config_files_open(const char *path, struct errs *errors, struct errs *warnings,
		      struct config_files **ret);
void config_files_free(struct config_files *f);
void config_files_freep(struct config_files **f); /* for _cleanup_ */

/* For config_document_load(); lives as long as f. */
const struct config_sources *config_files_sources(const struct config_files *f);
/* The bytes of the first file. */
struct str config_files_bytes(const struct config_files *f);
/* What was included so far: paths, of which the last parts may have wildcards; in the arena. */
const char *const *config_files_included(const struct config_files *f, size_t *ret_n);
