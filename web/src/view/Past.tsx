// SPDX-License-Identifier: Apache-2.0
// Which time the charts show, and the states of a backend over that time.
import { type Component, For, Show } from 'solid-js';
import { dateTime, span as text } from '../model/format.ts';
import type { Stretch } from '../model/series.ts';
import { type Span, setSpan, span } from '../past.ts';

const SPANS: { span: Span; label: string }[] = [
	{ span: 'hour', label: 'Last hour' },
	{ span: 'day', label: 'Last day' },
];

export const SpanSwitch: Component = () => (
	<fieldset class="spans">
		<legend class="sr-only">Time that the charts show</legend>
		<For each={SPANS}>
			{(one) => (
				<button type="button" aria-pressed={span() === one.span} onClick={() => setSpan(one.span)}>
					{one.label}
				</button>
			)}
		</For>
	</fieldset>
);

const word = (one: Stretch): string =>
	`${one.state || 'not known'} for ${text((one.to - one.from) * 1000)} from ${dateTime(one.from * 1000)}`;

/** One bar; a state takes as much of it as of the time. What is not known is empty. */
export const StateStrip: Component<{ states: Stretch[] }> = (props) => (
	<Show when={props.states.length > 0}>
		<figure class="strip">
			<figcaption class="chart-title">State</figcaption>
			<ul>
				<For each={props.states}>
					{(one) => (
						<li
							class={`strip-${one.state || 'gap'}`}
							style={{ 'flex-grow': one.to - one.from }}
							title={word(one)}
							data-state={one.state}
						>
							<span class="sr-only">{word(one)}</span>
						</li>
					)}
				</For>
			</ul>
		</figure>
	</Show>
);
