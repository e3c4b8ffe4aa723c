// SPDX-License-Identifier: Apache-2.0
// Components that all pages use, and that need no data of a server.
import {
	type Component,
	createEffect,
	For,
	type JSX,
	type ParentComponent,
	Show,
	untrack,
} from 'solid-js';
import { isFolded, toggleFold } from '../folds.ts';
import { setTheme, THEMES, type Theme, theme } from '../theme.ts';

const still = matchMedia('(prefers-reduced-motion: reduce)');

/** A short animation from a first appearance to the normal one. */
export function pulse(element: HTMLElement | undefined, from: Keyframe, duration: number): void {
	if (!still.matches) element?.animate([from, {}], { duration, easing: 'ease-out' });
}

const FLASH: Keyframe = { backgroundColor: 'var(--flash)', boxShadow: '0 0 0 4px var(--flash)' };

/** Runs when a value changes: not for the first value, nor when the same value is set again. */
export function onChange<T>(value: () => T, run: () => void): void {
	let before = untrack(value);
	createEffect(() => {
		const after = value();
		if (after !== before) untrack(run);
		before = after;
	});
}

/** Lights up when its value changes, but not when it first appears. */
export const Flash: ParentComponent<{ on: unknown; class?: string }> = (props) => {
	let element: HTMLSpanElement | undefined;
	onChange(
		() => props.on,
		() => pulse(element, FLASH, 2400),
	);
	return (
		<span ref={element} class={`flash ${props.class ?? ''}`}>
			{props.children}
		</span>
	);
};

/** A heading that folds the content below it; the state is stored by title. */
export const FoldButton: Component<{ title: string }> = (props) => (
	<button
		type="button"
		class="fold"
		aria-expanded={!isFolded(props.title)}
		onClick={() => toggleFold(props.title)}
	>
		<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
			<path d="m4 6 4 4 4-4" class="icon-line" />
		</svg>
		{props.title}
	</button>
);

interface PanelProps {
	title: string;
	/** Stays visible when folded. */
	aside?: JSX.Element;
}

export const Panel: ParentComponent<PanelProps> = (props) => (
	<section class="panel" classList={{ folded: isFolded(props.title) }}>
		<div class="panel-head">
			<h2>
				<FoldButton title={props.title} />
			</h2>
			<Show when={props.aside}>
				<div class="panel-aside">{props.aside}</div>
			</Show>
		</div>
		<Show when={!isFolded(props.title)}>{props.children}</Show>
	</section>
);

/** A term and its description in a description list. */
export const Fact: ParentComponent<{ term: string }> = (props) => (
	<div class="fact">
		<dt>{props.term}</dt>
		<dd>{props.children}</dd>
	</div>
);

export const Logo: Component = () => (
	<svg viewBox="0 0 32 32" aria-hidden="true" class="logo">
		<path d="M7 16C15 16 15 8 25 8M7 16H25" class="logo-on" />
		<path d="M7 16C15 16 15 24 25 24" class="logo-off" />
		<circle cx="7" cy="16" r="3.4" class="logo-vip" />
	</svg>
);

const LINKS = { connecting: 'connecting', live: 'live', lost: 'no contact' };
export type Link = keyof typeof LINKS;

/** Whether what is shown is current. */
export const LinkState: Component<{ link: Link; error: string }> = (props) => (
	<span class={`link link-${props.link}`} role="status" title={props.error} data-link={props.link}>
		<span class="link-dot" aria-hidden="true" />
		{LINKS[props.link]}
	</span>
);

export const ThemeChoice: Component = () => (
	<label class="theme">
		<span class="sr-only">Colours</span>
		<select value={theme()} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
			<For each={THEMES}>{(one) => <option value={one}>{one}</option>}</For>
		</select>
	</label>
);
