/* SPDX-License-Identifier: Apache-2.0 */
/* The words of both sides of a takeover. */
#pragma once

#define TAKEOVER__VARIABLE "MAGLEV_TAKEOVER" /* the number of the new process's socket */
#define TAKEOVER__FD 3
#define TAKEOVER__NUMBER "3"
#define TAKEOVER__TEXT 64 /* bytes of a message */

/* The version is that of these words; the state has its own. */
#define TAKEOVER__HELLO "hello 1"
#define TAKEOVER__STATE "state "
#define TAKEOVER__MORE "more"
#define TAKEOVER__READY "ready"
#define TAKEOVER__GO "go"
