// SPDX-License-Identifier: Apache-2.0
// The folded panels (by title, on all pages alike) and servers (by name). Stored in this browser.
import { createSignal } from 'solid-js';
import { keep, recall } from './kept.ts';

const KEY = 'folded';
/** Bound of the list; the oldest entries are dropped, because servers come and go. */
export const MOST = 50;

export const toggled = (folded: string[], title: string): string[] =>
	folded.includes(title) ? folded.filter((one) => one !== title) : [...folded, title].slice(-MOST);

/** Stored as lines, since a title has no line break. */
const [folded, setFolded] = createSignal(recall(KEY).split('\n').filter(Boolean).slice(-MOST));

export const isFolded = (title: string): boolean => folded().includes(title);

export function toggleFold(title: string): void {
	keep(KEY, setFolded(toggled(folded(), title)).join('\n'));
}
