/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the screen share. */
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
	struct vip **list; /* those that the filter takes, in the order of the screen */
	size_t n;
	size_t first, page; /* of them: at the top, and how many there was room for */
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
/* Titles and VIPs, from this row on; the row behind the last, which is end at most. */
size_t screen__draw_list(struct screen *s, size_t row, size_t end);
void screen__draw(struct screen *s);
