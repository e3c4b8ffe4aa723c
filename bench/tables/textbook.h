/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/maglev/maglev.h"

/* The algorithm of the Maglev paper, with weights as they are commonly added; see textbook.c. */
void textbook_build(const struct maglev_member *members, size_t n, uint16_t *table, size_t size);
