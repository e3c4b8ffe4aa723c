// SPDX-License-Identifier: Apache-2.0
// The theme: dark, light, or the setting of the system. The choice is stored in this browser.
import { createSignal } from 'solid-js';
import { keep, recall } from './kept.ts';

export const THEMES = ['system', 'dark', 'light'] as const;
export type Theme = (typeof THEMES)[number];
const KEY = 'theme';

const [theme, setSignal] = createSignal<Theme>(
	THEMES.find((one) => one === recall(KEY)) ?? 'system',
);
export { theme };

/** Counts changes of the colours, by the user or the system: canvases do not follow CSS and must be painted again. */
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
