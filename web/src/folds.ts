// SPDX-License-Identifier: Apache-2.0
// What is folded: panels by their title, alike on all pages, and servers by their name. Kept in this browser.
import { createSignal } from 'solid-js';
import { keep, recall } from './kept.ts';

const KEY = 'folded';
/** Those folded longest ago are forgotten beyond this: servers come and go. */
export const MOST = 50;

export const toggled = (folded: string[], title: string): string[] =>
	folded.includes(title) ? folded.filter((one) => one !== title) : [...folded, title].slice(-MOST);

/** A title has no line break, so a list of them is lines. */
const [folded, setFolded] = createSignal(recall(KEY).split('\n').filter(Boolean).slice(-MOST));

export const isFolded = (title: string): boolean => folded().includes(title);

export function toggleFold(title: string): void {
	keep(KEY, setFolded(toggled(folded(), title)).join('\n'));
}
