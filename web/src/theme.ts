// SPDX-License-Identifier: Apache-2.0
// Dark, light, or as the system says; the choice is kept in this browser.
import { createSignal } from 'solid-js';
import { keep, recall } from './kept.ts';

export const THEMES = ['system', 'dark', 'light'] as const;
export type Theme = (typeof THEMES)[number];
const KEY = 'theme';

const [theme, setSignal] = createSignal<Theme>(
	THEMES.find((one) => one === recall(KEY)) ?? 'system',
);
export { theme };

/** Counts changes of the colours, whoever made them: canvases have to be painted again. */
const [painted, setPainted] = createSignal(0);
export { painted };

function apply(choice: Theme): void {
	if (choice === 'system') delete document.documentElement.dataset.theme;
	else document.documentElement.dataset.theme = choice;
	setPainted((count) => count + 1);
}

export function setTheme(choice: Theme): void {
	keep(KEY, choice);
	setSignal(choice);
	apply(choice);
}

export function startTheme(): void {
	apply(theme());
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => apply(theme()));
}
