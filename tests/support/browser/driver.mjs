// SPDX-License-Identifier: Apache-2.0
// Controls Chromium: a line of JSON in, a line of JSON out. tests/support/lab/browser.py is the other
// end. All network requests and console messages of a page are kept and returned by "told".
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(new URL('../../../web/package.json', import.meta.url));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const FLAGS = [
	'--no-sandbox',
	'--disable-gpu',
	'--no-first-run',
	'--disable-background-networking',
	'--disable-component-update',
	'--disable-sync',
];
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS });
const pages = [];

async function open({ url, scheme, motion, width, height, user, password }) {
	const context = await browser.newContext({
		colorScheme: scheme,
		reducedMotion: motion,
		viewport: { width, height },
		...(user ? { httpCredentials: { username: user, password } } : {}),
	});
	const page = await context.newPage();
	const told = { requests: [], complaints: [] };
	page.on('request', (request) => told.requests.push(request.url()));
	page.on('pageerror', (error) => told.complaints.push(String(error)));
	page.on('console', (message) => {
		if (message.type() === 'error') told.complaints.push(message.text());
	});
	const answer = await page.goto(url);
	pages.push({ page, told });
	return { page: pages.length - 1, status: answer.status() };
}

/** Commands by name; each gets the page and the arguments of the command. */
const orders = {
	close: (page) => page.context().close(),
	goto: (page, { url }) => page.goto(url).then(() => null),
	wait: (page, { selector, state, timeout }) =>
		page.waitForSelector(selector, { state, timeout }).then(() => null),
	click: (page, { selector, timeout }) => page.click(selector, { timeout }),
	fill: (page, { selector, text }) => page.fill(selector, text),
	choose: (page, { selector, value }) => page.selectOption(selector, value).then(() => null),
	press: (page, { key }) => page.keyboard.press(key),
	text: (page, { selector }) => page.innerText(selector),
	count: (page, { selector }) => page.locator(selector).count(),
	evaluate: (page, { expression }) => page.evaluate(expression),
	shot: (page, { path }) => page.screenshot({ path, fullPage: true }).then(() => null),
	axe: async (page) => {
		await page.evaluate(axe);
		const { violations } = await page.evaluate(() => globalThis.axe.run());
		return violations.map(({ id, impact, nodes }) => ({ id, impact, at: nodes.map((n) => n.html) }));
	},
};

async function carryOut({ order, page, ...more }) {
	if (order === 'open') return open(more);
	if (order === 'told') return pages[page].told;
	return orders[order](pages[page].page, more);
}

for await (const line of createInterface({ input: process.stdin })) {
	const answer = await carryOut(JSON.parse(line)).then(
		(result) => ({ result }),
		(error) => ({ error: String(error) }),
	);
	console.log(JSON.stringify(answer));
}
await browser.close();
