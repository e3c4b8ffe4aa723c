/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the screen. */
#pragma once

#include "base/str.h"
#include "lib/tui/tui.h"
#include "src/maglevt/filter.h"
#include "src/maglevt/resolver.h"
#include "src/maglevt/tester.h"

enum label { LABEL_ADDRESS, LABEL_DNS, LABEL_NAME };

struct screen {
	struct tester *tester;
	struct tui *tui;
	struct resolver *resolver;
	ev_timer frame;
	ev_io keys;
	ev_signal signals[6];
	enum label label;
	bool lifetime, headers, worst_first, help;
	struct filter filter;
	struct vip **list; /* the VIPs that match the filter, in the order shown */
	size_t n;
	size_t first, page; /* index of the top row; how many fitted on the screen */
	size_t label_columns;
};

struct screen_key {
	int key;
	const char *word; /* in the bar: "q quit" */
	const char *help; /* at most 17 columns */
	void (*act)(struct screen *s);
};

extern const struct screen_key screen__keys[];
extern const size_t screen__n_keys;

void screen__write_label(const struct screen *s, const struct vip *v, struct buf *out);
/*
 * Draws titles and VIPs from this row on; returns the row after the last, which is at most end.
 */
size_t screen__draw_list(struct screen *s, size_t row, size_t end);
void screen__draw(struct screen *s);
