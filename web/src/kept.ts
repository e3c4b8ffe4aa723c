// SPDX-License-Identifier: Apache-2.0
// The little that this browser keeps for whoever uses it. One that keeps nothing, or forgets, is as good: all
// that is lost is a choice.
const name = (key: string): string => `maglev-${key}`;

/** What was kept; empty: nothing. */
export function recall(key: string): string {
	try {
		return localStorage.getItem(name(key)) ?? '';
	} catch {
		return '';
	}
}

export function keep(key: string, text: string): void {
	try {
		localStorage.setItem(name(key), text);
	} catch {
		// no room, or not allowed
	}
}
