/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: the names that maglev-mux reads and makes: references to a mux, names of ports, of slices
 * and of ConfigMaps. Pure.
 */
#pragma once

#include "src/mux/plan.h"

/* A key of an annotation, "<prefix>/<what>", in the arena. */
const char *mux_key(const struct mux_settings *settings, const char *what, struct arena *arena);
/* The value of <prefix>/<what>; NULL if there is none. */
const char *mux_note(const struct mux_settings *settings, const struct k8s_list *annotations,
		     const char *what);
/* Whether <prefix>/<what> is exactly "true". */
bool mux_note_is_true(const struct mux_settings *settings, const struct mux_service *service,
		      const char *what);

/* [a-z0-9]([-a-z0-9]*[a-z0-9])?, 1 to 63 characters. */
bool mux_is_label(struct str s);
/* Whether the class begins with "<prefix>/". class may be NULL. */
bool mux_class_is_ours(const struct mux_settings *settings, const char *class);
/* -EINVAL with *ret_why in the arena if the class, which is ours, names no mux. */
int mux_class_parse(const struct mux_settings *settings, const char *class, struct arena *arena,
		    struct mux_reference *ret, const char **ret_why);

#define MUX_NAME_MIN 7 /* characters of the name of a mux port */
#define MUX_NAME_MAX 63

/* SHA-256 of "namespace/service/port name" as hexadecimal digits, MUX_NAME_MAX of them. */
void mux_port_hash(const struct mux_settings *settings, const char *namespace, const char *service,
		   const char *port_name, char ret[static MUX_NAME_MAX + 1]);
/* The name of the slice of a mux that is made from a group of endpoints of a channel. */
const char *mux_slice_name(const struct mux_settings *settings, const char *mux,
			   const char *channel_namespace, const char *channel, const char *source,
			   struct arena *arena);
