// SPDX-License-Identifier: Apache-2.0
// Settings that this browser stores. Storage may be missing or lose them; then the defaults apply.
const name = (key: string): string => `maglev-${key}`;

/** The stored value; empty if there is none. */
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
		// storage is full or forbidden
	}
}
