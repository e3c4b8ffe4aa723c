// SPDX-License-Identifier: Apache-2.0
// What needs attention: causes with the number of frontends that suffer from each, the worst first; then what
// operators did on purpose.
import { type Component, createMemo, createSignal, createUniqueId, For, Show } from 'solid-js';
import { type Announcers, concernsOf as speakerConcerns } from '../model/announcements.ts';
import { type Affected, type Cause, causesOf } from '../model/causes.ts';
import { num, plural } from '../model/format.ts';
import { VERDICTS, type Verdict } from '../model/health.ts';
import { routerConcerns } from '../model/routers.ts';
import type { ServerView } from '../model/state.ts';
import { linkTo } from '../route.ts';
import { announcers, routers, serverHealth, speakers } from '../store.ts';
import { VerdictIcon } from './Icons.tsx';
import { Age } from './parts.tsx';
import { bounded, Each, ShowMore } from './rows.tsx';

/** Lines that are drawn at first. */
const LINES = 12;
/** Frontends of a cause that are named without asking. */
const NAMED = 3;

/** A line: a cause, or what a speaker or a router has. */
interface Concern {
	key: string;
	verdict: Verdict;
	title: string;
	notes: string;
	sum: string;
	href: string;
	since: number | string;
	affected: Affected[];
}

const ofCause = (one: Cause): Concern => ({
	...one,
	href: linkTo(one.place.scope, one.place.view, one.place.filter),
});

const plain = (
	one: { verdict: Verdict; title: string; notes: string; since: number | string },
	href: string,
): Concern => ({ ...one, key: `${href} ${one.title} ${one.notes}`, sum: '', href, affected: [] });

/** Only the VIPs of these servers' frontends. */
function announcersIn(servers: ServerView[]): Announcers {
	const own = new Set(servers.flatMap((one) => one.frontends.map((it) => it.address)));
	return new Map([...announcers()].filter(([address]) => own.has(address)));
}

/** With one server in the scope: its VIPs, but not what is wrong with speakers. */
const ofAnnouncements = (servers: ServerView[], scope: string): Concern[] =>
	(scope
		? speakerConcerns(announcersIn(servers), [])
		: speakerConcerns(announcers(), speakers())
	).map((one) => plain(one, linkTo(scope, 'announcements')));

/** Routers belong to no server. */
const ofRouters = (scope: string): Concern[] =>
	scope ? [] : routerConcerns(routers()).map((one) => plain(one, linkTo(scope, 'routers')));

/** Those that suffer from a cause: a few are named, the others when asked for. */
const Sufferers: Component<{ of: Affected[]; scope: string }> = (props) => {
	const [open, setOpen] = createSignal(false);
	const id = createUniqueId();
	const shown = () => (open() ? props.of : props.of.slice(0, NAMED));
	return (
		<span class="sufferers">
			<span id={id}>
				<For each={shown()}>
					{(one, index) => (
						<>
							{index() > 0 ? ', ' : ''}
							<a href={linkTo(one.server, 'frontend', one.frontend)}>
								{one.frontend}
								{props.scope ? '' : ` on ${one.server}`}
							</a>
						</>
					)}
				</For>
			</span>
			<Show when={props.of.length > NAMED}>
				{' '}
				<button
					type="button"
					class="link-button"
					aria-expanded={open()}
					aria-controls={id}
					onClick={() => setOpen(!open())}
				>
					{open() ? 'fewer' : `and ${props.of.length - NAMED} more`}
				</button>
			</Show>
		</span>
	);
};

const Line: Component<{ of: Concern; scope: string }> = (props) => (
	<li class={`concern concern-${props.of.verdict}`} data-cause={props.of.key}>
		<a href={props.of.href} class="concern-head">
			<VerdictIcon verdict={props.of.verdict} label={props.of.verdict} />
			<b>{props.of.title}</b>
			<span class="concern-notes">{props.of.notes}</span>
		</a>
		<span class="concern-sum">{props.of.sum}</span>
		<Show when={num(props.of.since) > 0}>
			<span class="muted">
				for <Age of={props.of.since} />
			</span>
		</Show>
		<Show when={props.of.affected.length > 0}>
			<Sufferers of={props.of.affected} scope={props.scope} />
		</Show>
	</li>
);

const Lines: Component<{ of: Concern[]; scope: string }> = (props) => {
	const lines = bounded(() => props.of, LINES);
	return (
		<>
			<ul>
				<Each of={lines.shown()} by={(one) => one.key}>
					{(one) => <Line of={one()} scope={props.scope} />}
				</Each>
			</ul>
			<ShowMore left={lines.left()} total={props.of.length} what="lines" onMore={lines.showMore} />
		</>
	);
};

/** The servers of the scope, a little late: this goes over all their backends. */
export const Attention: Component<{ servers: ServerView[]; scope: string }> = (props) => {
	const causes = createMemo(() => causesOf(props.servers, serverHealth));
	/** What follows from a frontend that is down stands below the causes of the same gravity. */
	const faults = createMemo(() =>
		[
			...causes().faults.map(ofCause),
			...ofAnnouncements(props.servers, props.scope),
			...ofRouters(props.scope),
		].sort((a, b) => VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict)),
	);
	const operators = createMemo(() => causes().operators.map(ofCause));
	const frontends = () => props.servers.reduce((sum, one) => sum + one.frontends.length, 0);
	const isQuiet = () => operators().every((one) => one.verdict === 'ok');
	return (
		<>
			<section class="attention" aria-label="Needs attention" aria-live="polite">
				<Show
					when={faults().length > 0}
					fallback={
						<p class="quiet">
							<VerdictIcon verdict="ok" /> {isQuiet() ? 'All is well' : 'No fault is known'}:{' '}
							{plural(frontends(), 'frontend')} on {plural(props.servers.length, 'server')}.
						</p>
					}
				>
					<Lines of={faults()} scope={props.scope} />
				</Show>
			</section>
			<Show when={operators().length > 0}>
				<section class="deeds" aria-label="By operators">
					<h2>By operators</h2>
					<Lines of={operators()} scope={props.scope} />
				</section>
			</Show>
		</>
	);
};
