// SPDX-License-Identifier: Apache-2.0
// Small components that all views use.
import {
	type Component,
	createEffect,
	type JSX,
	type ParentComponent,
	Show,
	untrack,
} from 'solid-js';
import type { Int64, Override } from '../api/types.ts';
import { isFolded, toggleFold } from '../folds.ts';
import { age, dateTime, ms, num, span } from '../model/format.ts';
import { now } from '../store.ts';
import { StateIcon } from './Icons.tsx';

const still = matchMedia('(prefers-reduced-motion: reduce)');

/** A short animation from a first appearance to the normal one. */
function pulse(element: HTMLElement | undefined, from: Keyframe, duration: number): void {
	if (!still.matches) element?.animate([from, {}], { duration, easing: 'ease-out' });
}

const FLASH: Keyframe = { backgroundColor: 'var(--flash)', boxShadow: '0 0 0 4px var(--flash)' };
const BEAT: Keyframe = { opacity: 1, transform: 'scale(1.9)' };

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

/** A dot that pulses with every probe; no dot if there are no probes. */
export const Heartbeat: Component<{ beat: Int64 }> = (props) => {
	let element: HTMLSpanElement | undefined;
	onChange(
		() => num(props.beat),
		() => pulse(element, BEAT, 700),
	);
	return (
		<Show when={num(props.beat) > 0}>
			<span ref={element} class="heartbeat" aria-hidden="true" />
		</Show>
	);
};

/** The time since an event, updated live; the title is the time itself. */
export const Age: Component<{ of: Int64 }> = (props) => (
	<Show when={num(props.of) > 0} fallback={<span class="muted">–</span>}>
		<time datetime={new Date(ms(props.of)).toISOString()} title={dateTime(ms(props.of))}>
			{age(props.of, now())}
		</time>
	</Show>
);

/** The same as a sentence. */
export const Ago: Component<{ of: Int64 }> = (props) => (
	<span>
		<Age of={props.of} />
		{num(props.of) > 0 && now() - ms(props.of) >= 1000 ? ' ago' : ''}
	</span>
);

export const StateWord: Component<{ state: string }> = (props) => (
	<Flash on={props.state} class="state-word">
		<StateIcon state={props.state} />
		<span class={`state-${props.state}`}>{props.state}</span>
	</Flash>
);

/**
 * For an item of a server without contact: its last known state, and how long ago that was. It follows the
 * present state, which is not known.
 */
export const LastKnown: Component<{ was: string | undefined; since: Int64 }> = (props) => (
	<Show when={props.was}>
		<span class="muted" data-last-known={props.was}>
			· last known: {props.was}, <Ago of={props.since} />
		</span>
	</Show>
);

/** The override of an operator: reason and end. */
export const OverrideNote: Component<{ override: Override | undefined }> = (props) => (
	<Show when={props.override}>
		{(it) => (
			<span class="chip chip-info">
				{it().act} by hand
				{it().reason ? `: ${it().reason}` : ''}
				<Show when={num(it().until) > 0}>
					{' '}
					(ends in {span(Math.max(0, ms(it().until) - now()))})
				</Show>
			</span>
		)}
	</Show>
);

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

interface Reached {
	name: string;
	address: string;
	connected: boolean;
	since_ns: Int64;
	cut?: boolean;
}

/** The first two cells of a program that the dashboard follows: its name, and whether it answers. */
export const ContactCells: Component<{ of: Reached }> = (props) => {
	const contact = () => (props.of.connected ? 'up' : props.of.cut ? 'unknown' : 'down');
	return (
		<>
			<th scope="row">
				{props.of.name} <span class="beside muted mono">{props.of.address}</span>
			</th>
			<td>
				<Flash on={props.of.connected} class="state-word">
					<StateIcon state={contact()} />
					<span class={`state-${contact()}`}>
						{props.of.connected ? 'connected' : 'no contact'}
					</span>
				</Flash>{' '}
				<span class="muted">
					<Age of={props.of.since_ns} />
				</span>
			</td>
		</>
	);
};
