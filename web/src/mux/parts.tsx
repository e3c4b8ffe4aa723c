// SPDX-License-Identifier: Apache-2.0
// Small components of the debug page.
import { type Component, createSignal, For, Show } from 'solid-js';
import { dateTime, span } from '../model/format.ts';
import { Flash } from '../view/basics.tsx';
import { StateIcon } from '../view/Icons.tsx';
import { testTcp } from './api.ts';
import { linkTo } from './place.ts';
import { actions, now } from './store.ts';
import type { TestResult } from './types.ts';

/** The shape and colour of the states of channels. */
const SHAPES: Record<string, string> = { served: 'up', refused: 'down', disabled: 'disabled' };

export const ChannelState: Component<{ state: string }> = (props) => (
	<Flash on={props.state} class="state-word">
		<StateIcon state={SHAPES[props.state] ?? 'unknown'} />
		<span class={`state-${SHAPES[props.state] ?? 'unknown'}`}>{props.state}</span>
	</Flash>
);

export const ChannelLink: Component<{ of: string }> = (props) => (
	<a href={linkTo('channel', props.of)}>{props.of}</a>
);

/** "3 ready, 1 not ready" */
export const Ready: Component<{ ready: number; notReady: number }> = (props) => (
	<Flash on={`${props.ready}/${props.notReady}`} class="state-word">
		<StateIcon state={props.ready > 0 ? 'up' : 'down'} />
		<span>
			{props.ready} ready{props.notReady > 0 ? `, ${props.notReady} not ready` : ''}
		</span>
	</Flash>
);

/** The time since an event, updated live; the title is the time itself. */
export const Since: Component<{ time: string }> = (props) => (
	<time datetime={props.time} title={dateTime(Date.parse(props.time))}>
		{span(now() - Date.parse(props.time))}
	</time>
);

/** A button that connects to an address from inside the cluster; nothing if actions are off. */
export const TestButton: Component<{ host: string; port: number }> = (props) => {
	const [result, setResult] = createSignal<TestResult | null>(null);
	const [busy, setBusy] = createSignal(false);
	const run = async () => {
		setBusy(true);
		const failed = (error: unknown): TestResult => ({ success: false, error: String(error) });
		setResult(await testTcp(props.host, props.port).catch(failed));
		setBusy(false);
	};
	return (
		<Show when={actions()}>
			<button
				type="button"
				disabled={busy()}
				onClick={run}
				aria-label={`Test the connection to ${props.host}:${props.port}`}
			>
				{busy() ? 'testing…' : 'test'}
			</button>{' '}
			<Show when={result()}>
				{(it) => (
					<span
						class={`chip ${it().success ? 'chip-ok' : 'chip-bad'}`}
						role="status"
						data-result={String(it().success)}
					>
						{it().message ?? it().error}
					</span>
				)}
			</Show>
		</Show>
	);
};

export const Search: Component<{
	value: string;
	label: string;
	onInput: (text: string) => void;
}> = (props) => (
	<input
		type="search"
		data-search
		placeholder="search"
		aria-label={props.label}
		value={props.value}
		onInput={(event) => props.onInput(event.currentTarget.value)}
	/>
);

/** Texts in a row, a dash for none. */
export const Texts: Component<{ of: string[] }> = (props) => (
	<For each={props.of} fallback={<span class="muted">–</span>}>
		{(one, index) => (
			<span class="mono">
				{index() > 0 ? ', ' : ''}
				{one}
			</span>
		)}
	</For>
);
