/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/settings.h"

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/config/document.h"
#include "lib/config/file.h"
#include "lib/config/report.h"
#include "lib/log/log.h"

#define KEY_BYTES 4096 /* of a file with a key */
#define HOST_BYTES 256

static int read_key(const char *path, struct arena *arena, struct bgp_key_file *ret)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	int r = file_read(path, KEY_BYTES, &text);
	struct stat st;

	if (r < 0)
		return r;
	if (stat(path, &st) < 0)
		return -errno;
	ret->bytes = (struct str){ arena_strndup(arena, text.p, text.n), text.n };
	ret->is_public = st.st_mode & S_IROTH;
	return 0;
}

/* At a reload it runs in a child process. */
static enum config_result build(struct str bytes, struct config_load *load, const void *user)
{
	_cleanup_(arena_freep) struct arena *document = arena_new();
	struct settings *s = arena_new_of(load->arena, struct settings);
	struct bgp_doc doc = { 0 };
	char host[HOST_BYTES] = "";
	const struct bgp_machine machine = { host, read_key };

	gethostname(host, sizeof(host) - 1);
	s->arena = load->arena;
	if (config_document_load(load->sources, CONFIG_STRICT, &bgp_schema, document, &doc,
				 &load->errors) < 0)
		return CONFIG_PARSE_ERROR;
	if (bgp_config_build(&doc, &machine, load->arena, &s->config, &load->errors,
			     &load->warnings) < 0)
		return CONFIG_SEMANTIC_ERROR;
	load->config = s;
	return CONFIG_OK;
}

struct config_source settings_source(const char *path)
{
	return (struct config_source){ .path = path, .build = build };
}

struct settings *settings_take(struct config_load *load)
{
	assert(load->result == CONFIG_OK);
	return load->config;
}

void settings_free(struct settings *s)
{
	if (s)
		arena_free(s->arena);
}

void settings_log(const struct config_load *load, const char *path, bool again)
{
	const struct settings *s = load->config;

	config_report(load, path, again);
	if (s)
		log_info("config-loaded", LOG_S("file", path), LOG_U("peers", s->config.n_peers),
			 LOG_U("maglevds", s->config.n_maglevds), LOG_U("vips", s->config.n_vips),
			 LOG_U("warnings", load->warnings.n));
}
