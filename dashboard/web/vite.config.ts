import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Dashboard server for development: `DASHBOARD_URL=http://127.0.0.1:8081 vite dashboard/web`. */
const server = process.env.DASHBOARD_URL;

const LIBRARIES = /\/node_modules\/(?:react|react-dom|scheduler|@tanstack)\//;

/**
 * Modules of most pages in one chunk. Excludes those that are loaded on demand or bring dialogs
 * along.
 */
const SHARED =
  /\/dashboard\/web\/(?:api|format|components|search|shell|table|forms\/(?:choices|field|filter-bar|form|input|select|text-input)|overlays\/(?:hint-layer|menu))(?:\/|\.)(?!sidebar-drawer|organization-(?:finder|picker)|front-door)/;

const config = defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    // test/page-size.test.ts reads it.
    manifest: true,
    // The policy forbids `data:` for scripts, styles and fonts, and inlined assets cannot be cached
    // alone.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // These browsers know light-dark(), nesting and :has().
    target: ['chrome125', 'firefox128', 'safari17.5'],
    rolldownOptions: {
      output: {
        // Otherwise the shared modules become fifty chunks of a kilobyte, each with its own
        // request.
        codeSplitting: {
          groups: [
            { name: 'libraries', test: LIBRARIES, priority: 2 },
            { name: 'shared', test: SHARED, priority: 1 },
          ],
        },
      },
    },
    sourcemap: false,
    reportCompressedSize: false,
  },
  server: server === undefined ? {} : { proxy: { '/api': { target: server } } },
});

// Vite asks for a default export.
export { config as default };
