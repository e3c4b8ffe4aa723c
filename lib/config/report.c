/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/config/report.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "lib/config/files.h"
#include "lib/log/log.h"

static void log_warnings(const struct errs *list, const char *path)
{
	for (size_t i = 0; i < list->n; i++)
		log_warn("config-warning", LOG_S("file", errs_file(list, list->items[i].at, path)),
			 LOG_U("line", list->items[i].at.line),
			 LOG_U("column", list->items[i].at.column),
			 LOG_S("key", list->items[i].key), LOG_S("error", list->items[i].text));
}

static void log_errors(const struct errs *list, const char *path)
{
	for (size_t i = 0; i < list->n; i++)
		log_error("config-error", LOG_S("file", errs_file(list, list->items[i].at, path)),
			  LOG_U("line", list->items[i].at.line),
			  LOG_U("column", list->items[i].at.column),
			  LOG_S("key", list->items[i].key), LOG_S("error", list->items[i].text));
}

void config_report(const struct config_load *load, const char *path, bool again)
{
	log_warnings(&load->warnings, path);
	log_errors(&load->errors, path);
	if (load->result != CONFIG_OK)
		log_error(again ? "config-reload-failed" : "config-load-failed",
			  LOG_S("file", path),
			  LOG_S("phase", load->result == CONFIG_PARSE_ERROR ? "parse" : "semantic"),
			  LOG_U("errors", load->errors.n + load->errors.dropped),
			  LOG_S("error", load->errors.n ? load->errors.items[0].text : ""));
}

void config_first_error(const struct config_load *load, const char *path, struct buf *out)
{
	struct errs first = load->errors;

	first.n = first.n ? 1 : 0;
	first.dropped = 0;
	errs_print(&first, path, out);
	if (out->n && out->p[out->n - 1] == '\n')
		out->n--;
}

int config_check(const struct config_source *source)
{
	struct config_load *load = config_load(source);
	enum config_result result = load->result;
	_cleanup_(buf_free) struct buf text = { 0 };

	errs_print(&load->errors, config_shown_path(source->path), &text);
	for (size_t i = 0; i < load->warnings.n; i++)
		load->warnings.items[i].text =
			arena_printf(load->arena, "warning: %s", load->warnings.items[i].text);
	errs_print(&load->warnings, config_shown_path(source->path), &text);
	fputs(buf_cstr(&text), stderr);
	if (result == CONFIG_OK)
		printf("%s: ok\n", config_shown_path(source->path));
	config_load_free(load);
	return (int)result;
}
