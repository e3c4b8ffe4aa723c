// SPDX-License-Identifier: Apache-2.0
// The dialogs of /admin/: each says what will happen to flows before the act is carried out.
import {
	type Component,
	createMemo,
	createResource,
	createSignal,
	For,
	Show,
	untrack,
} from 'solid-js';
import {
	type Act,
	actOnBackend,
	actOnMany,
	checkConfig,
	drainVip,
	reloadConfig,
	rollBack,
	setWeight,
	sync,
	undrainVip,
} from '../api/client.ts';
import type { CheckAnswer, Frontend, Pool } from '../api/types.ts';
import { type Entry, ofDrain } from '../model/announcements.ts';
import { type Consequences, ofAct, ofWeight } from '../model/consequences.ts';
import { plural } from '../model/format.ts';
import {
	type Answered,
	doneText,
	type Part,
	partsOf,
	type Selection,
	type Sum,
	sumOf,
	titleOf,
	unreachedOf,
} from '../model/many.ts';
import { lastingOf } from '../model/overrides.ts';
import { ofRollback } from '../model/routers.ts';
import type { ServerView } from '../model/state.ts';
import { allServers, announcers, now, routers, serverNamed } from '../store.ts';
import { Dialog } from './Dialog.tsx';
import { VerdictIcon } from './Icons.tsx';

const said = (error: unknown): string => (error instanceof Error ? error.message : String(error));

interface Closing {
	onClose: () => void;
	onDone: (text: string) => void;
}

const Effects: Component<{ of: Consequences }> = (props) => (
	<div class="effects" classList={{ fatal: props.of.fatal }}>
		<p>
			<b>New flows.</b> {props.of.newFlows}
		</p>
		<p>
			<b>Existing flows.</b> {props.of.existing}
		</p>
		<Show when={props.of.frontends.length}>
			<ul>
				<For each={props.of.frontends}>{(text) => <li>{text}</li>}</For>
			</ul>
		</Show>
		<Show when={props.of.fatal}>
			<p class="fatal-note">
				<VerdictIcon verdict="critical" /> This takes the last server away from a frontend.
			</p>
		</Show>
	</div>
);

const TITLES: Record<Act, string> = {
	pause: 'Pause',
	resume: 'Resume',
	enable: 'Enable',
	disable: 'Disable',
};

const ENDS: [string, number][] = [
	['when somebody ends it', 0],
	['after 10 minutes', 600],
	['after 1 hour', 3600],
	['after 8 hours', 28_800],
];

/** The reason, for everybody who looks, and the end of an override. */
const ReasonAndEnd: Component<{
	reason: string;
	onReason: (text: string) => void;
	until: number;
	onUntil: (seconds: number) => void;
}> = (props) => (
	<>
		<label class="field">
			Reason, for everybody who looks
			<input
				type="text"
				maxlength="120"
				value={props.reason}
				onInput={(event) => props.onReason(event.currentTarget.value)}
			/>
		</label>
		<label class="field">
			Ends
			<select
				value={props.until}
				onChange={(event) => props.onUntil(Number(event.currentTarget.value))}
			>
				<For each={ENDS}>{([label, seconds]) => <option value={seconds}>{label}</option>}</For>
			</select>
		</label>
	</>
);

/** Unix time of an end so many seconds after the begin; 0: none. */
const endIn = (seconds: number, begin = now() / 1000): number =>
	seconds ? Math.round(begin) + seconds : 0;

/** When a pause begins; empty: at once. */
const Begin: Component<{ value: string; onValue: (text: string) => void }> = (props) => (
	<label class="field">
		Begins (empty: now)
		<input
			type="datetime-local"
			name="begin"
			value={props.value}
			onInput={(event) => props.onValue(event.currentTarget.value)}
		/>
	</label>
);

/** Unix time of a local date and time; 0 if there is none. */
const secondsOf = (text: string): number => Math.round((Date.parse(text) || 0) / 1000);

const isHolding = (act: Act): boolean => act === 'pause' || act === 'disable';

/** Whether a maglevd keeps overrides over a restart; each of its backends says so. */
const keptOn = (server: string): boolean =>
	serverNamed(server)?.backends.at(0)?.overrides_kept ?? false;

/** Whether the override outlives the process that keeps it. */
const Lasting: Component<{ act: Act; kept: boolean | undefined }> = (props) => (
	<Show when={isHolding(props.act)}>
		<p data-lasting={String(props.kept ?? false)}>
			<b>After a restart.</b> {lastingOf(props.act, props.kept)}
		</p>
	</Show>
);

export interface ActRequest {
	act: Act;
	server: ServerView;
	backend: string;
}

export const ActDialog: Component<ActRequest & Closing> = (props) => {
	const [reason, setReason] = createSignal('');
	const [until, setUntil] = createSignal(0);
	const server = () => serverNamed(props.server.name) ?? props.server;
	const backend = () => server().backends.find((one) => one.name === props.backend);
	const effects = createMemo(() => ofAct(props.act, props.backend, server().frontends));
	const [begin, setBegin] = createSignal('');
	const confirm = async () => {
		const from = secondsOf(begin());
		const until_s = endIn(until(), from || undefined);
		const body = { reason: reason(), until_s, ...(from ? { from_s: from } : {}) };
		await actOnBackend(props.server.name, props.backend, props.act, body);
		const where = `${props.backend} on ${props.server.name}`;
		props.onDone(from ? `Scheduled a pause of ${where}` : `${TITLES[props.act]}d ${where}`);
	};
	return (
		<Dialog
			title={`${TITLES[props.act]} ${props.backend} on ${props.server.name}?`}
			confirm={TITLES[props.act]}
			danger={effects().fatal || props.act === 'disable'}
			onConfirm={confirm}
			onClose={props.onClose}
		>
			<Effects of={effects()} />
			<Show when={props.act === 'resume' && backend()?.scheduled}>
				<p>This also cancels the pause that is scheduled.</p>
			</Show>
			<Lasting act={props.act} kept={backend()?.overrides_kept} />
			<Show when={props.act === 'pause'}>
				<Begin value={begin()} onValue={setBegin} />
			</Show>
			<Show when={props.act !== 'resume'}>
				<ReasonAndEnd reason={reason()} onReason={setReason} until={until()} onUntil={setUntil} />
			</Show>
		</Dialog>
	);
};

export interface ManyRequest {
	act: Act;
	selection: Selection;
}

const EffectsOfMany: Component<{ of: Sum; act: Act }> = (props) => (
	<div class="effects" classList={{ fatal: props.of.fatal }} data-effects={props.of.effects.length}>
		<p>
			<b>New flows.</b> {isHolding(props.act) ? FLOWS.none : FLOWS.probed}
		</p>
		<p>
			<b>Existing flows.</b> {EXISTING_OF_MANY[props.act]}
		</p>
		<For each={props.of.effects}>
			{(effect) => (
				<div data-effect={effect.kind}>
					<p classList={{ 'fatal-note': effect.kind === 'down' }}>
						<Show when={effect.kind === 'down'}>
							<VerdictIcon verdict="critical" />{' '}
						</Show>
						<b>{effect.title}.</b>
					</p>
					<ul>
						<For each={effect.lines}>{(text) => <li>{text}</li>}</For>
						<Show when={effect.left > 0}>
							<li class="muted">and {effect.left} more</li>
						</Show>
					</ul>
				</div>
			)}
		</For>
		<Show when={props.of.effects.length === 0}>
			<p>No frontend loses a server.</p>
		</Show>
		<Show when={props.of.unaffected + props.of.unchanged > 0}>
			<p class="muted">
				{props.of.unaffected > 0
					? `${plural(props.of.unaffected, 'frontend keeps its servers', 'frontends keep all their servers')}. `
					: ''}
				{props.of.unchanged > 0
					? `${plural(props.of.unchanged, 'backend is', 'backends are')} so already.`
					: ''}
			</p>
		</Show>
	</div>
);

const FLOWS = {
	none: 'They get no new flows and are not probed.',
	probed: 'They are probed at once. The first result decides whether they get new flows.',
};

const EXISTING_OF_MANY: Record<Act, string> = {
	pause: 'They stay with these backends and go on until they end by themselves.',
	disable: 'They are cut: their next packet goes to another backend.',
	resume: 'Those on other backends stay where they are.',
	enable: 'Those on other backends stay where they are.',
};

/** Each server says what the act would do there; the sum is shown before anything is done. */
export const ManyDialog: Component<ManyRequest & Closing> = (props) => {
	const [reason, setReason] = createSignal('');
	const [until, setUntil] = createSignal(0);
	/** Those of the moment at which the question was asked: what is confirmed is what was shown. */
	const parts = untrack(() => partsOf(props.selection, allServers()));
	const missing = untrack(() => unreachedOf(props.selection, allServers()));
	const kept = () => parts.every((part) => keptOn(part.server));
	const ask = async (part: Part, dry: boolean): Promise<Answered> => {
		const { server, count: _, ...which } = part;
		const body = { act: props.act, reason: reason(), until_s: endIn(until()), dry_run: dry };
		return { part, answer: await actOnMany(server, { ...which, ...body }) };
	};
	const [plan] = createResource(() => Promise.all(parts.map((one) => ask(one, true))));
	const sum = createMemo(() => (plan.error || !plan.latest ? null : sumOf(plan.latest)));
	const confirm = async () => {
		const answers = await Promise.allSettled(parts.map((one) => ask(one, false)));
		const done = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
		const failed = answers.flatMap((one, index) =>
			one.status === 'rejected' ? [`${parts[index]?.server}: ${said(one.reason)}`] : [],
		);
		if (done.length > 0) props.onDone(doneText(props.act, done));
		if (failed.length > 0)
			throw new Error(
				[...failed, done.length ? `${doneText(props.act, done)}.` : 'Nothing was done.'].join('\n'),
			);
	};
	return (
		<Dialog
			title={`${TITLES[props.act]} ${titleOf(props.selection, parts)}?`}
			confirm={TITLES[props.act]}
			danger={(sum()?.fatal ?? false) || props.act === 'disable'}
			waiting={!sum()}
			onConfirm={confirm}
			onClose={props.onClose}
		>
			<Show when={plan.loading}>
				<p class="muted">Asking {plural(parts.length, 'server')} what it would do…</p>
			</Show>
			<Show when={plan.error}>
				<p class="dialog-error">{said(plan.error)}</p>
			</Show>
			<Show when={sum()}>{(it) => <EffectsOfMany of={it()} act={props.act} />}</Show>
			<Show when={missing.length > 0}>
				<p class="fatal-note">Without contact, and left as it is: {missing.join(', ')}.</p>
			</Show>
			<Lasting act={props.act} kept={kept()} />
			<Show when={isHolding(props.act)}>
				<ReasonAndEnd reason={reason()} onReason={setReason} until={until()} onUntil={setUntil} />
			</Show>
		</Dialog>
	);
};

export interface RollbackRequest {
	router: string;
	number: string;
}

/** The consequences follow the state while the question is open. */
export const RollbackDialog: Component<RollbackRequest & Closing> = (props) => {
	const router = () => routers().find((one) => one.name === props.router);
	const confirm = async () => {
		const after = await rollBack(props.router, props.number);
		props.onDone(`${props.router}: generation ${after.generation} is in force`);
	};
	return (
		<Dialog
			title={`Return to generation ${props.number} on ${props.router}?`}
			confirm="Return"
			danger={false}
			onConfirm={confirm}
			onClose={props.onClose}
		>
			<div class="effects">
				<p>
					<Show when={router()} fallback="This router is no longer shown.">
						{(it) => ofRollback(it(), props.number)}
					</Show>
				</p>
				<p class="muted">A later change of its file, or by its admin API, replaces it again.</p>
			</div>
		</Dialog>
	);
};

export interface DrainRequest {
	speaker: string;
	vip: string;
	address: string;
	undrain: boolean;
}

/** The consequences follow the state while the question is open. */
export const DrainDialog: Component<DrainRequest & Closing> = (props) => {
	const [reason, setReason] = createSignal('');
	const entries = (): Entry[] => announcers().get(props.address) ?? [];
	const effects = () => {
		const entry = entries().find((one) => one.speaker.name === props.speaker);
		return entry && !props.undrain ? ofDrain(entry, entries()) : null;
	};
	const title = () => (props.undrain ? 'Undrain' : 'Drain');
	const confirm = async () => {
		if (props.undrain) await undrainVip(props.speaker, props.vip);
		else await drainVip(props.speaker, props.vip, reason());
		props.onDone(`${title()}ed ${props.vip} on ${props.speaker}`);
	};
	return (
		<Dialog
			title={`${title()} ${props.vip} on ${props.speaker}?`}
			confirm={title()}
			danger={effects()?.fatal ?? false}
			onConfirm={confirm}
			onClose={props.onClose}
		>
			<Show
				when={effects()}
				fallback={
					<div class="effects">
						<p>
							It follows its frontends again: {props.speaker} announces {props.address} if they are
							up.
						</p>
					</div>
				}
			>
				{(it) => (
					<div class="effects" classList={{ fatal: it().fatal }}>
						<p>
							<b>Here.</b> {it().here} The drain survives a restart and ends by hand.
						</p>
						<p classList={{ 'fatal-note': it().fatal }}>
							<Show when={it().fatal}>
								<VerdictIcon verdict="critical" />{' '}
							</Show>
							<b>Clients.</b> {it().elsewhere}
						</p>
					</div>
				)}
			</Show>
			<Show when={!props.undrain}>
				<label class="field">
					Reason, for everybody who looks
					<input
						type="text"
						maxlength="120"
						value={reason()}
						onInput={(event) => setReason(event.currentTarget.value)}
					/>
				</label>
			</Show>
		</Dialog>
	);
};

export interface WeightRequest {
	server: ServerView;
	frontend: Frontend;
	pool: Pool;
	backend: string;
}

export const WeightDialog: Component<WeightRequest & Closing> = (props) => {
	/** As it is now: the question follows the state while it is open. */
	const frontend = () =>
		serverNamed(props.server.name)?.frontends.find((one) => one.name === props.frontend.name) ??
		props.frontend;
	const pool = () => frontend().pools.find((one) => one.name === props.pool.name) ?? props.pool;
	const inPool = () => pool().backends.find((one) => one.name === props.backend);
	const kept = () => inPool()?.weight_override?.kept ?? keptOn(props.server.name);
	const [weight, setValue] = createSignal(inPool()?.weight ?? 100);
	const [flush, setFlush] = createSignal(false);
	const effects = () =>
		ofWeight(frontend(), pool(), props.backend, { weight: weight(), flush: flush() });
	const take = (text: string) => {
		const value = Math.round(Number(text));
		if (text !== '' && value >= 0 && value <= 100) setValue(value);
	};
	const confirm = async () => {
		const where = { frontend: props.frontend.name, pool: props.pool.name, backend: props.backend };
		await setWeight(props.server.name, where, { weight: weight(), flush: flush() });
		props.onDone(`Weight of ${props.backend} in ${props.frontend.name} is ${weight()}`);
	};
	return (
		<Dialog
			title={`Weight of ${props.backend} in pool ${props.pool.name} of ${props.frontend.name}`}
			confirm="Set weight"
			danger={effects().fatal || flush()}
			onConfirm={confirm}
			onClose={props.onClose}
		>
			<div class="weight">
				<input
					type="range"
					min="0"
					max="100"
					aria-label="Weight, slider"
					value={weight()}
					onInput={(event) => take(event.currentTarget.value)}
				/>
				<input
					type="number"
					name="weight"
					min="0"
					max="100"
					aria-label="Weight"
					value={weight()}
					onInput={(event) => take(event.currentTarget.value)}
				/>
			</div>
			<p class="muted">
				Now {inPool()?.weight}; the file says {inPool()?.configured_weight}. A weight set here lasts
				until the file says the same{kept() ? '' : ' or maglevd ends'}.
			</p>
			<label class="check">
				<input
					type="checkbox"
					checked={flush()}
					onChange={(event) => setFlush(event.currentTarget.checked)}
				/>
				also cut the existing flows of this backend
			</label>
			<Effects of={effects()} />
		</Dialog>
	);
};

const mistakes = (answer: CheckAnswer): string =>
	[answer.parse_error, answer.semantic_error, answer.reload_error].filter(Boolean).join('\n');

const Lines: Component<{ title: string; lines: string[]; none: string }> = (props) => (
	<Show
		when={props.lines.length}
		fallback={
			<Show when={props.none}>
				<p>{props.none}</p>
			</Show>
		}
	>
		<h3>{props.title}</h3>
		<ul class="lines mono">
			<For each={props.lines}>{(line) => <li>{line}</li>}</For>
		</ul>
	</Show>
);

export const ReloadDialog: Component<{ server: ServerView } & Closing> = (props) => {
	const [answer] = createResource(() => checkConfig(props.server.name));
	const confirm = async () => {
		const done = await reloadConfig(props.server.name);
		if (!done.ok) throw new Error(mistakes(done));
		props.onDone(`Reloaded ${props.server.name}: ${plural(done.changes.length, 'change')}`);
	};
	return (
		<Dialog
			title={`Reload the configuration of ${props.server.name}?`}
			confirm="Reload"
			danger={false}
			waiting={!answer.latest?.ok}
			onConfirm={confirm}
			onClose={props.onClose}
		>
			<Show when={answer.loading}>
				<p class="muted">Checking the file…</p>
			</Show>
			<Show when={answer.error}>
				<p class="dialog-error">{said(answer.error)}</p>
			</Show>
			<Show when={!answer.error && answer.latest}>
				{(it) => (
					<Show
						when={it().ok}
						fallback={
							<>
								<p>The file has mistakes. It cannot be taken; nothing that runs is changed.</p>
								<pre class="mistakes">{mistakes(it())}</pre>
							</>
						}
					>
						<Lines
							title="What changes"
							lines={it().changes}
							none="The file says what is running: nothing changes."
						/>
						<Lines title="Warnings" lines={it().warnings} none="" />
						<p>
							<b>Existing flows.</b> Those of backends that stay go on. A backend that leaves the
							file is removed and its flows are cut.
						</p>
					</Show>
				)}
			</Show>
		</Dialog>
	);
};

export const SyncDialog: Component<{ server: ServerView } & Closing> = (props) => {
	const [plan] = createResource(() => sync(props.server.name, '', true));
	const flushes = () => plan.latest?.operations.filter((one) => / flush\b/.test(one)).length ?? 0;
	const confirm = async () => {
		const done = await sync(props.server.name, '', false);
		props.onDone(`Synced ${props.server.name}: ${plural(done.operations.length, 'operation')}`);
	};
	return (
		<Dialog
			title={`Write the plan to the data plane of ${props.server.name}?`}
			confirm="Sync"
			danger={flushes() > 0}
			waiting={!plan.latest}
			onConfirm={confirm}
			onClose={props.onClose}
		>
			<Show when={plan.loading}>
				<p class="muted">Comparing…</p>
			</Show>
			<Show when={plan.error}>
				<p class="dialog-error">{said(plan.error)}</p>
			</Show>
			<Show when={!plan.error && plan.latest}>
				{(it) => (
					<>
						<Lines
							title="Operations"
							lines={it().operations}
							none="The data plane is as it should be: nothing to write."
						/>
						<Lines title="Left alone" lines={it().withheld} none="" />
						<p>
							<b>Existing flows.</b>{' '}
							{flushes()
								? `${plural(flushes(), 'operation')} with "flush" cut flows; the others keep them.`
								: 'No flow is cut.'}
						</p>
					</>
				)}
			</Show>
		</Dialog>
	);
};
