// SPDX-License-Identifier: Apache-2.0
// Small components that all views use.
import { type Component, Show } from 'solid-js';
import type { Int64, Override } from '../api/types.ts';
import { age, dateTime, ms, num, span } from '../model/format.ts';
import { deedOf, scheduleOf } from '../model/overrides.ts';
import { now } from '../store.ts';
import { Flash, onChange, pulse } from './basics.tsx';
import { StateIcon } from './Icons.tsx';

export { Fact, Flash, FoldButton, onChange, Panel } from './basics.tsx';

const BEAT: Keyframe = { opacity: 1, transform: 'scale(1.9)' };

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

/** The override of an operator: who did it, why, and when it ends. */
export const OverrideNote: Component<{ override: Override | undefined }> = (props) => (
	<Show when={props.override}>
		{(it) => (
			<span class="chip chip-info" title={it().kept ? 'kept over a restart of maglevd' : undefined}>
				{deedOf(it())}
				{it().reason ? `: ${it().reason}` : ''}
				<Show when={num(it().until) > 0}>
					{' '}
					(ends in {span(Math.max(0, ms(it().until) - now()))})
				</Show>
			</span>
		)}
	</Show>
);

/** A pause that begins later. */
export const ScheduleNote: Component<{ override: Override | undefined }> = (props) => (
	<Show when={props.override}>
		{(it) => (
			<span class="chip chip-planned" data-scheduled title={dateTime(ms(it().from))}>
				{scheduleOf(it(), now())}
			</span>
		)}
	</Show>
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
