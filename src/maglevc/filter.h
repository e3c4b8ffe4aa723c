/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter: the entries of a list that a command asks for by state and name, as in
 * "show backends state down name web*". The list of any answer is filtered alike, so that text and
 * JSON have the same entries. Pure.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "src/maglevc/command.h"

/*
 * The answer with only the entries of its list that match SLOT_FILTER_STATE and SLOT_FILTER_NAME:
 * the message itself if the command has neither, else a copy in arena that borrows the entries.
 * The list is the first repeated message of the answer. The name of an entry is its first field;
 * its state is the field "state", or the boolean "up" for the words up and down.
 */
const ProtobufCMessage *filter_answer(const ProtobufCMessage *message, const struct command *c,
				      struct arena *arena);
