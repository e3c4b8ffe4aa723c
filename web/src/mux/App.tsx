// SPDX-License-Identifier: Apache-2.0
// The frame of the debug page.
import {
	type Component,
	createEffect,
	For,
	Match,
	onCleanup,
	onMount,
	type ParentComponent,
	Show,
	Switch,
} from 'solid-js';
import { clock } from '../model/format.ts';
import { worst } from '../model/health.ts';
import { LinkState, Logo, ThemeChoice } from '../view/basics.tsx';
import { ChannelPage } from './ChannelPage.tsx';
import { Events } from './Events.tsx';
import { MuxPage } from './MuxPage.tsx';
import { channelsOf, portRows, roleOf } from './model.ts';
import { Overview } from './Overview.tsx';
import { Ports } from './Ports.tsx';
import { linkTo, place, VIEWS } from './place.ts';
import { concerns, follow, link, now, state } from './store.ts';
import type { State } from './types.ts';

const NAMES: Record<(typeof VIEWS)[number], string> = {
	overview: 'Overview',
	channels: 'Channels',
	events: 'Events',
};

const Header: Component = () => (
	<header class="top">
		<a class="brand" href={linkTo('overview')} aria-label="maglev-mux, overview">
			<Logo />
			<span class="brand-name">maglev-mux</span>
		</a>
		<nav aria-label="Views" class="views">
			<For each={VIEWS}>
				{(view) => (
					<a href={linkTo(view)} aria-current={place().view === view ? 'page' : undefined}>
						{NAMES[view]}
					</a>
				)}
			</For>
		</nav>
		<span class="spacer" />
		<LinkState {...link()} />
		<time class="clock mono">{clock(now())}</time>
		<ThemeChoice />
	</header>
);

const Nowhere: ParentComponent = (props) => (
	<p class="nowhere">
		{props.children} <a href={linkTo('overview')}>Back to the overview</a>
	</p>
);

const View: Component<{ state: State }> = (props) => {
	const key = () => place().key;
	const isMux = () =>
		key() in props.state.mux_services || channelsOf(props.state, key()).length > 0;
	return (
		<Switch>
			<Match when={place().view === 'overview'}>
				<Overview state={props.state} />
			</Match>
			<Match when={place().view === 'channels'}>
				<h1 class="sr-only">Channels</h1>
				<Ports
					rows={portRows(props.state, Object.values(props.state.channel_services))}
					label="Ports of all channels"
					ingress={null}
				/>
			</Match>
			<Match when={place().view === 'events'}>
				<Events events={props.state.events} />
			</Match>
			<Match when={place().view === 'mux'}>
				<Show when={isMux()} fallback={<Nowhere>There is no mux {key()} here.</Nowhere>}>
					<MuxPage name={key()} state={props.state} />
				</Show>
			</Match>
			<Match when={place().view === 'channel'}>
				<Show
					when={props.state.channel_services[key()]}
					fallback={<Nowhere>There is no channel {key()} here.</Nowhere>}
				>
					{(it) => <ChannelPage name={key()} channel={it()} state={props.state} />}
				</Show>
			</Match>
		</Switch>
	);
};

const Footer: Component<{ state: State }> = (props) => (
	<footer class="foot muted">
		<span>
			maglev-mux {props.state.controller.version}{' '}
			<span class="mono">{props.state.controller.commit}</span>
		</span>
		<span>
			annotations <span class="mono">{props.state.controller.api_prefix}/…</span> · API server{' '}
			<span class="mono">{props.state.controller.server}</span>
		</span>
	</footer>
);

/** The title shows whether something needs attention, so that the tab does as well. */
const SIGNS: Record<string, string> = { critical: '✕ ', warning: '! ', degraded: '◑ ' };

export const App: Component = () => {
	onMount(() => onCleanup(follow()));
	createEffect(() => {
		const it = state();
		const sign = SIGNS[worst(concerns().map((one) => one.verdict))] ?? '';
		const role = it ? ` · ${roleOf(it).word}` : '';
		document.title = `${link().link === 'lost' ? '? ' : sign}maglev-mux${role}`;
	});
	return (
		<>
			<button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
				Skip to the content
			</button>
			<Header />
			<Show when={link().link === 'lost'}>
				<p class="banner" role="alert">
					No contact with maglev-mux ({link().error}). What is shown is as it was; trying again.
				</p>
			</Show>
			<main id="main" tabindex="-1" classList={{ stale: link().link === 'lost' }}>
				<Show when={state()} fallback={<p class="nowhere">Fetching the state…</p>}>
					{(it) => <View state={it()} />}
				</Show>
			</main>
			<Show when={state()}>{(it) => <Footer state={it()} />}</Show>
		</>
	);
};
