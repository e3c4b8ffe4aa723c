// SPDX-License-Identifier: Apache-2.0
// The frame of the page: navigation, whether the data is current, and the view itself.
import {
	type Component,
	createEffect,
	createMemo,
	createResource,
	For,
	Match,
	onCleanup,
	onMount,
	Show,
	Switch,
	untrack,
} from 'solid-js';
import { getVersion, whoAmI } from '../api/client.ts';
import { concernsOf } from '../model/announcements.ts';
import { clock } from '../model/format.ts';
import { type Verdict, worst } from '../model/health.ts';
import { placeOf, routerConcerns } from '../model/routers.ts';
import { goToKeptScope, isAdmin, keepScope, linkTo, route, VIEWS } from '../route.ts';
import {
	allServers,
	announcers,
	follow,
	link,
	loaded,
	now,
	routers,
	serverHealth,
	serverNamed,
	speakers,
} from '../store.ts';
import { setTheme, THEMES, theme } from '../theme.ts';
import { Dialogs } from './Actions.tsx';
import { Announcements } from './Announcements.tsx';
import { BackendPage } from './BackendPage.tsx';
import { Backends } from './Backends.tsx';
import { DataPlane } from './DataPlane.tsx';
import { Events } from './Events.tsx';
import { FrontendPage } from './FrontendPage.tsx';
import { VerdictIcon } from './Icons.tsx';
import { Keys, onKey } from './Keys.tsx';
import { Overview } from './Overview.tsx';
import { RoutePage } from './RoutePage.tsx';
import { Routers } from './Routers.tsx';

const NAMES: Record<(typeof VIEWS)[number], string> = {
	overview: 'Overview',
	backends: 'Backends',
	dataplane: 'Data plane',
	events: 'Events',
	announcements: 'Announcements',
	routers: 'Routers',
};

const LINKS = { connecting: 'connecting', live: 'live', lost: 'no contact' };

/** Without speakers there are no announcements to show, and the same with routers. */
const views = () =>
	VIEWS.filter(
		(view) =>
			(view !== 'announcements' || speakers().length > 0) &&
			(view !== 'routers' || routers().length > 0),
	);

/** The worst of all servers, speakers and routers. */
const total = (): Verdict =>
	worst([
		...allServers().map((one) => serverHealth(one.name).verdict),
		...concernsOf(announcers(), speakers()).map((one) => one.verdict),
		...routerConcerns(routers()).map((one) => one.verdict),
	]);

const LinkState: Component = () => (
	<span
		class={`link link-${link().link}`}
		role="status"
		title={link().error}
		data-link={link().link}
	>
		<span class="link-dot" aria-hidden="true" />
		{LINKS[link().link]}
	</span>
);

const Who: Component = () => {
	const [who] = createResource(whoAmI);
	return (
		<span class="who">
			<span class="chip chip-warn">
				admin<span class="who-name">{who.latest ? `: ${who.latest.user}` : ''}</span>
			</span>
			<a href={`/view/${location.hash}`}>only look</a>
		</span>
	);
};

const Header: Component = () => (
	<header class="top">
		<a class="brand" href={linkTo('')} aria-label="Maglev, all servers">
			<svg viewBox="0 0 32 32" aria-hidden="true" class="logo">
				<path d="M7 16C15 16 15 8 25 8M7 16H25" class="logo-on" />
				<path d="M7 16C15 16 15 24 25 24" class="logo-off" />
				<circle cx="7" cy="16" r="3.4" class="logo-vip" />
			</svg>
			<span class="brand-name">Maglev</span>
		</a>
		<nav aria-label="Views" class="views">
			<For each={views()}>
				{(view) => (
					<a
						href={linkTo(route().scope, view)}
						aria-current={route().view === view ? 'page' : undefined}
					>
						{NAMES[view]}
					</a>
				)}
			</For>
		</nav>
		<span class="spacer" />
		<LinkState />
		<time class="clock mono">{clock(now())}</time>
		<label class="theme">
			<span class="sr-only">Colours</span>
			<select
				value={theme()}
				onChange={(event) =>
					setTheme(event.currentTarget.value as typeof theme extends () => infer T ? T : never)
				}
			>
				<For each={THEMES}>{(one) => <option value={one}>{one}</option>}</For>
			</select>
		</label>
		<Show when={isAdmin()}>
			<Who />
		</Show>
	</header>
);

/** A change of the scope keeps the view, but not a single frontend or backend, which is of one server. */
const viewInScope = () => {
	const { view } = route();
	if (view === 'route') return 'routers';
	return view === 'frontend' || view === 'backend' ? 'overview' : view;
};

const Scopes: Component = () => (
	<nav aria-label="Servers" class="scopes">
		<a
			href={linkTo('', viewInScope())}
			aria-current={route().scope === '' ? 'true' : undefined}
			onClick={() => keepScope('')}
		>
			<VerdictIcon verdict={total()} label={total()} /> all servers
		</a>
		<For each={allServers()}>
			{(server) => (
				<a
					href={linkTo(server.name, viewInScope())}
					aria-current={route().scope === server.name ? 'true' : undefined}
					onClick={() => keepScope(server.name)}
					data-server={server.name}
					data-connected={String(server.connected)}
				>
					<VerdictIcon
						verdict={serverHealth(server.name).verdict}
						label={serverHealth(server.name).verdict}
					/>{' '}
					{server.name}
				</a>
			)}
		</For>
	</nav>
);

const Nowhere: Component<{ what: string }> = (props) => (
	<p class="nowhere">
		There is no {props.what} here. <a href={linkTo('')}>Back to the overview</a>
	</p>
);

const View: Component = () => {
	const inScope = createMemo(() => {
		const { scope } = route();
		return scope ? allServers().filter((one) => one.name === scope) : allServers();
	});
	const server = () => serverNamed(route().scope);
	const frontend = () => server()?.frontends.find((one) => one.name === route().name);
	const backend = () => server()?.backends.find((one) => one.name === route().name);
	return (
		<Switch>
			<Match when={route().scope && !server()}>
				<Nowhere what={`server ${route().scope}`} />
			</Match>
			<Match when={route().view === 'overview'}>
				<Overview servers={inScope()} scope={route().scope} />
			</Match>
			<Match when={route().view === 'backends'}>
				<Backends servers={inScope()} />
			</Match>
			<Match when={route().view === 'dataplane'}>
				<DataPlane servers={inScope()} />
			</Match>
			<Match when={route().view === 'events'}>
				<Events scope={route().scope} many={inScope().length > 1} />
			</Match>
			<Match when={route().view === 'announcements'}>
				<Announcements servers={inScope()} scope={route().scope} />
			</Match>
			<Match when={route().view === 'routers'}>
				<Routers />
			</Match>
			<Match when={route().view === 'route'}>
				<Show when={placeOf(routers(), route().name)} fallback={<Nowhere what="such route" />}>
					{(it) => <RoutePage router={it().router} route={it().route} />}
				</Show>
			</Match>
			<Match when={route().view === 'frontend'}>
				<Show when={frontend()} fallback={<Nowhere what={`frontend ${route().name}`} />}>
					{(it) => <FrontendPage server={server() as never} frontend={it()} />}
				</Show>
			</Match>
			<Match when={route().view === 'backend'}>
				<Show when={backend()} fallback={<Nowhere what={`backend ${route().name}`} />}>
					{(it) => <BackendPage server={server() as never} backend={it()} />}
				</Show>
			</Match>
		</Switch>
	);
};

const Footer: Component = () => {
	const [version] = createResource(getVersion);
	return (
		<footer class="foot muted">
			<Show when={version.latest}>
				{(it) => (
					<span>
						maglevd-frontend {it().version} <span class="mono">{it().commit}</span>
					</span>
				)}
			</Show>
			<Keys />
		</footer>
	);
};

/** The title shows the health, so that the tab does as well. */
const SIGNS: Record<Verdict, string> = {
	critical: '✕ ',
	warning: '! ',
	degraded: '◑ ',
	unknown: '',
	ok: '',
};

export const App: Component = () => {
	onMount(() => {
		onCleanup(follow());
		window.addEventListener('keydown', onKey);
		onCleanup(() => window.removeEventListener('keydown', onKey));
	});
	createEffect(() => {
		if (loaded()) goToKeptScope(untrack(allServers).map((one) => one.name));
	});
	createEffect(() => {
		const place = route().name || route().scope;
		const sign = link().link === 'lost' ? '? ' : SIGNS[total()];
		document.title = `${sign}${place ? `${place} · ` : ''}Maglev`;
	});
	return (
		<>
			<button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
				Skip to the content
			</button>
			<Header />
			<Show when={allServers().length > 1}>
				<Scopes />
			</Show>
			<Show when={link().link === 'lost'}>
				<p class="banner" role="alert">
					No contact with maglevd-frontend ({link().error}). What is shown is as it was; trying
					again.
				</p>
			</Show>
			<main id="main" tabindex="-1" classList={{ stale: link().link === 'lost' }}>
				<Show when={loaded()} fallback={<p class="nowhere">Fetching the state…</p>}>
					<View />
				</Show>
			</main>
			<Footer />
			<Show when={isAdmin()}>
				<Dialogs />
			</Show>
		</>
	);
};
