// SPDX-License-Identifier: Apache-2.0
// The frame of the page: navigation, whether the data is current, and the view itself.
import {
	type Component,
	createEffect,
	createMemo,
	createResource,
	createSignal,
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
import {
	goToKeptScope,
	hasFilter,
	hasUser,
	isAdmin,
	keepScope,
	linkTo,
	readOnly,
	route,
	setReadOnly,
	VIEWS,
} from '../route.ts';
import {
	allServers,
	announcers,
	follow,
	link,
	loaded,
	now,
	pacedServers,
	routers,
	serverHealth,
	serverNamed,
	speakers,
} from '../store.ts';
import { Dialogs } from './Actions.tsx';
import { Announcements } from './Announcements.tsx';
import { BackendPage } from './BackendPage.tsx';
import { Backends } from './Backends.tsx';
import { LinkState, Logo, ThemeChoice } from './basics.tsx';
import { DataPlane } from './DataPlane.tsx';
import { Events } from './Events.tsx';
import { FrontendPage } from './FrontendPage.tsx';
import { Frontends } from './Frontends.tsx';
import { VerdictIcon } from './Icons.tsx';
import { Keys, onKey } from './Keys.tsx';
import { Overview } from './Overview.tsx';
import { RoutePage } from './RoutePage.tsx';
import { Routers } from './Routers.tsx';
import { Each } from './rows.tsx';
import { Search, SearchButton } from './Search.tsx';
import { WayPage } from './WayPage.tsx';

const NAMES: Record<(typeof VIEWS)[number], string> = {
	overview: 'Overview',
	frontends: 'Frontends',
	backends: 'Backends',
	dataplane: 'Data plane',
	events: 'Events',
	announcements: 'Announcements',
	routers: 'Routers',
	way: 'Way',
};

/** Without speakers there are no announcements to show, and the same with routers. */
const views = () =>
	VIEWS.filter(
		(view) =>
			(view !== 'announcements' || speakers().length > 0) &&
			(view !== 'routers' || routers().length > 0),
	);

/** The worst of all servers, speakers and routers. */
const [total, setTotal] = createSignal<Verdict>('unknown');

const worstOfAll = (): Verdict =>
	worst([
		...pacedServers().map((one) => serverHealth(one.name).verdict),
		...concernsOf(announcers(), speakers()).map((one) => one.verdict),
		...routerConcerns(routers()).map((one) => one.verdict),
	]);

const Who: Component = () => {
	const [who] = createResource(whoAmI);
	createEffect(() => setReadOnly(who.latest?.role === 'read-only'));
	return (
		<span class="who">
			<span class="chip" classList={{ 'chip-warn': !readOnly() }} data-role={who.latest?.role}>
				{readOnly() ? 'read-only' : 'admin'}
				<span class="who-name">{who.latest ? `: ${who.latest.user}` : ''}</span>
			</span>
			<a href={`/view/${location.hash}`}>only look</a>
		</span>
	);
};

/** Other parts that stay in sight stand below it. */
function followHeight(header: HTMLElement): void {
	const observer = new ResizeObserver(() =>
		document.documentElement.style.setProperty('--top-height', `${header.offsetHeight}px`),
	);
	observer.observe(header);
	onCleanup(() => observer.disconnect());
}

const Header: Component = () => (
	<header class="top" ref={followHeight}>
		<a class="brand" href={linkTo('')} aria-label="Maglev, all servers">
			<Logo />
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
		<SearchButton />
		<LinkState {...link()} />
		<time class="clock mono">{clock(now())}</time>
		<ThemeChoice />
		<Show when={hasUser()}>
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
		<Each of={allServers()} by={(one) => one.name}>
			{(server) => (
				<a
					href={linkTo(server().name, viewInScope())}
					aria-current={route().scope === server().name ? 'true' : undefined}
					onClick={() => keepScope(server().name)}
					data-server={server().name}
					data-connected={String(server().connected)}
				>
					<VerdictIcon
						verdict={serverHealth(server().name).verdict}
						label={serverHealth(server().name).verdict}
					/>{' '}
					{server().name}
				</a>
			)}
		</Each>
	</nav>
);

const Nowhere: Component<{ what: string }> = (props) => (
	<p class="nowhere">
		There is no {props.what} here. <a href={linkTo('')}>Back to the overview</a>
	</p>
);

const View: Component = () => {
	/** Pages of many items follow them a few times a second; that of one frontend or backend at once. */
	const inScope = createMemo(() => {
		const { scope } = route();
		return scope ? pacedServers().filter((one) => one.name === scope) : pacedServers();
	});
	const server = createMemo(() => serverNamed(route().scope));
	const frontend = createMemo(() => server()?.frontends.find((one) => one.name === route().name));
	const backend = createMemo(() => server()?.backends.find((one) => one.name === route().name));
	return (
		<Switch>
			<Match when={route().scope && !server()}>
				<Nowhere what={`server ${route().scope}`} />
			</Match>
			<Match when={route().view === 'overview'}>
				<Overview servers={inScope()} scope={route().scope} />
			</Match>
			<Match when={route().view === 'frontends'}>
				<Frontends servers={inScope()} />
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
			<Match when={route().view === 'way'}>
				<WayPage query={route().name} />
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
	createEffect(() => setTotal(worstOfAll()));
	createEffect(() => {
		if (loaded()) goToKeptScope(untrack(allServers).map((one) => one.name));
	});
	createEffect(() => {
		const place = (hasFilter(route().view) ? '' : route().name) || route().scope;
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
			<Search />
			<Show when={isAdmin()}>
				<Dialogs />
			</Show>
		</>
	);
};
