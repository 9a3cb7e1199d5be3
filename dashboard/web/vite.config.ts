import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Where a server of the dashboard listens while the page is being worked on: `DASHBOARD_URL=http://127.0.0.1:8081 vite dashboard/web`. */
const server = process.env.DASHBOARD_URL;

const LIBRARIES = /\/node_modules\/(?:react|react-dom|scheduler|@tanstack)\//;

/** What most pages use. Not what is loaded when it is opened, and not what brings dialogs along: they would come with the first page. */
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
    // The policy has no `data:` for scripts, styles and fonts, and an inlined asset cannot be cached by itself.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // They know light-dark(), nesting and :has(), which stay as they are written.
    target: ['chrome125', 'firefox128', 'safari17.5'],
    rolldownOptions: {
      output: {
        // Without these, what pages share comes in fifty files of a kilobyte each, and every one is a request of its own.
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
