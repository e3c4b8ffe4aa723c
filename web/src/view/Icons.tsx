// SPDX-License-Identifier: Apache-2.0
// States as shapes, which can be told apart without colour.
import { type Component, createMemo, type JSX, Show } from 'solid-js';
import type { Verdict } from '../model/health.ts';

const STATES: Record<string, () => JSX.Element> = {
	up: () => <circle cx="8" cy="8" r="5.5" fill="currentColor" />,
	down: () => <path d="m3.4 3.4 9.2 9.2m0-9.2-9.2 9.2" class="icon-line icon-bold" />,
	paused: () => <path d="M4.2 3h2.6v10H4.2zM9.2 3h2.6v10H9.2z" fill="currentColor" />,
	disabled: () => (
		<path d="M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM4.2 11.8l7.6-7.6" class="icon-line" />
	),
	unknown: () => <circle cx="8" cy="8" r="5.3" class="icon-line icon-dashed" />,
};

const VERDICTS: Record<Verdict, () => JSX.Element> = {
	ok: () => (
		<>
			<circle cx="8" cy="8" r="7" fill="currentColor" />
			<path d="m4.8 8.2 2.2 2.3 4.3-4.8" class="icon-cut" />
		</>
	),
	degraded: () => (
		<>
			<circle cx="8" cy="8" r="6.2" class="icon-line" />
			<path d="M8 1.8a6.2 6.2 0 0 1 0 12.4Z" fill="currentColor" />
		</>
	),
	warning: () => (
		<>
			<path d="M8 1 15.4 14.4H.6Z" fill="currentColor" />
			<path d="M8 5.8v4M8 12v.2" class="icon-cut" />
		</>
	),
	critical: () => (
		<>
			<path d="M4.9.9h6.2l4 4v6.2l-4 4H4.9l-4-4V4.9Z" fill="currentColor" />
			<path d="m5.4 5.4 5.2 5.2m0-5.2-5.2 5.2" class="icon-cut" />
		</>
	),
	unknown: () => (
		<>
			<circle cx="8" cy="8" r="6.2" class="icon-line icon-dashed" />
			<path d="M8 10.9v.2M6.3 6.4C6.5 4.4 9.7 4.5 9.7 6.5 9.7 7.8 8 7.7 8 9.1" class="icon-line" />
		</>
	),
};

interface IconProps {
	/** For screen readers; without it the icon stands beside its text and is hidden from them. */
	label?: string;
	class?: string;
	body: JSX.Element;
}

const Icon: Component<IconProps> = (props) => (
	<Show
		when={props.label}
		fallback={
			<svg class={`icon ${props.class ?? ''}`} viewBox="0 0 16 16" aria-hidden="true">
				{props.body}
			</svg>
		}
	>
		<svg
			class={`icon ${props.class ?? ''}`}
			viewBox="0 0 16 16"
			role="img"
			aria-label={props.label}
		>
			<title>{props.label}</title>
			{props.body}
		</svg>
	</Show>
);

const known = (state: string): string => (state in STATES ? state : 'unknown');

/** The shape is drawn again only if the state differs, not with every object that has it. */
export const StateIcon: Component<{ state: string; label?: string }> = (props) => {
	const state = createMemo(() => known(props.state));
	return (
		<Icon
			class={`state-${state()}`}
			body={STATES[state()]?.()}
			{...(props.label ? { label: props.label } : {})}
		/>
	);
};

export const VerdictIcon: Component<{ verdict: Verdict; label?: string }> = (props) => {
	const verdict = createMemo(() => props.verdict);
	return (
		<Icon
			class={`verdict-${verdict()}`}
			body={VERDICTS[verdict()]()}
			{...(props.label ? { label: props.label } : {})}
		/>
	);
};
