// SPDX-License-Identifier: Apache-2.0
// Two applications, each with only what it needs: `vite build` makes the dashboard, `vite build --mode mux`
// the debug page of maglev-mux. All addresses are relative, since the dashboard is served as /view/ and
// /admin/, and nothing is inlined, since the Content-Security-Policy allows neither inline scripts nor
// inline styles.
import solid from 'vite-plugin-solid';
import { defineConfig } from 'vitest/config';

const PAGES: Record<string, string> = { mux: 'mux.html' };

export default defineConfig(({ mode }) => ({
	base: './',
	plugins: [solid()],
	build: {
		outDir: `dist/${mode in PAGES ? mode : 'dashboard'}`,
		rollupOptions: { input: PAGES[mode] ?? 'index.html' },
		target: 'es2022',
		assetsInlineLimit: 0,
		modulePreload: { polyfill: false },
		reportCompressedSize: false,
	},
	test: { environment: 'node', include: ['src/**/*.test.ts'], pool: 'threads', isolate: false },
}));
