import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { documentPages, OPENAPI } from './documents/documents.ts';

/** Dashboard server for development: `DASHBOARD_URL=http://127.0.0.1:8081 vite dashboard/web`. */
const server = process.env.DASHBOARD_URL;

const LIBRARIES = /\/node_modules\/(?:react|react-dom|scheduler|@tanstack|@base-ui\/react\/csp-provider)\//;

/** Modules of most pages, in one chunk, without those that are loaded later or have dialogs. */
const SHARED =
  /\/(?:core\/field-bounds|contract\/(?:define|explore)-search|dashboard\/web\/(?:api|format|components|search|shell|forms\/(?:choices|filter-bar|form)|overlays\/(?:hint-layer|menu)))(?:\/|\.)(?!sidebar-drawer|organization-(?:finder|picker)|front-door|palette)/;

/** Modules that are loaded with the first dialog. */
const DIALOGS =
  /\/dashboard\/web\/(?:forms\/(?:form-dialog|form-prompts)|overlays\/dialog|explore\/view-dialog)\.tsx?$/;

const COMPRESSIBLE = /\.(?:html|js|css|svg|md|yaml|webmanifest)$/;

/**
 * Writes NAME.br and NAME.gz next to each text file. If the dashboard's server compressed them at
 * its start, it would need 0.1 s of CPU for larger files, and keep 46 MB that the compressor used
 * (measured).
 */
const compressed: Plugin = {
  name: 'compressed-files',
  writeBundle({ dir }) {
    if (dir === undefined) throw new Error('the build has no folder');
    for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !COMPRESSIBLE.test(entry.name)) continue;
      const path = join(entry.parentPath, entry.name);
      const plain = readFileSync(path);
      for (const [ending, bytes] of [
        ['br', brotliCompressSync(plain)],
        ['gz', gzipSync(plain)],
      ] as const) {
        if (bytes.length < plain.length) writeFileSync(`${path}.${ending}`, bytes);
      }
    }
  },
};

const WEB = import.meta.dirname;
const DOCS = join(WEB, '../../docs');
const read = (path: string) => readFileSync(path, 'utf8');

/** Adds the documents as separate pages, with the dashboard's styles but without its code. */
const documents: Plugin = {
  name: 'documents',
  generateBundle(_, bundle) {
    const font = Object.keys(bundle).find((name) => /\/inter-latin[^/]*\.woff2$/.test(name));
    const styles = ['styles/tokens.css', 'styles/elements.css', 'styles/classes.css', 'documents/documents.css'].map(
      (name) => read(join(WEB, name)),
    );
    const source = styles.join('\n').replace('./inter-latin.woff2', `/${font}`);
    const stylesheet = this.emitFile({ type: 'asset', name: 'documents.css', source });
    const pages = documentPages((name) => read(join(DOCS, name)), `/${this.getFileName(stylesheet)}`);
    for (const [fileName, html] of pages) this.emitFile({ type: 'asset', fileName, source: html });
    this.emitFile({ type: 'asset', fileName: `docs/${OPENAPI}`, source: read(join(DOCS, OPENAPI)) });
  },
};

const config = defineConfig({
  root: WEB,
  plugins: [react(), documents, compressed],
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    // Read by test/page-size.test.ts.
    manifest: true,
    // The policy forbids `data:` for scripts, styles and fonts. Also, inlined assets cannot be
    // cached on their own.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The first versions with light-dark(), nesting and :has().
    target: ['chrome125', 'firefox128', 'safari17.5'],
    rolldownOptions: {
      // Disables a warning about the two seconds for compression.
      checks: { pluginTimings: false },
      output: {
        // Otherwise the shared modules would become fifty chunks of one kilobyte, each with its own
        // request.
        codeSplitting: {
          groups: [
            { name: 'libraries', test: LIBRARIES, priority: 2 },
            { name: 'shared', test: SHARED, priority: 1 },
            { name: 'dialogs', test: DIALOGS },
          ],
        },
      },
    },
    sourcemap: false,
    reportCompressedSize: false,
  },
  server: server === undefined ? {} : { proxy: { '/api': { target: server } } },
});

// Vite needs a default export.
export { config as default };
