import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { brandedPage, brandFile } from './brand.ts';

const HTML =
  '<head><title>Inference Gateway</title><link rel="icon" href="/favicon.svg" type="image/svg+xml" /></head>';
const PAGE = {
  ...{ type: 'text/html', etag: '"a"', immutable: false, plain: Buffer.from(HTML) },
  ...{ gzip: Buffer.from('old'), brotli: Buffer.from('old') },
};
const BRAND = { name: 'A & "$&"', logo: { type: 'image/png', bytes: Buffer.from('png') }, accent: '#0b6e4f' };

it('the page has name, logo and colours, also compressed, and is made once', () => {
  const { plain, gzip, brotli, etag } = brandedPage(PAGE, BRAND);
  expect(plain.toString()).toBe(
    '<head><title>A &amp; &quot;$&amp;&quot;</title><link rel="icon" href="/brand/logo" />' +
      '<meta name="application-name" content="A &amp; &quot;$&amp;&quot;" />' +
      '<link rel="stylesheet" href="/brand/colours.css" /></head>',
  );
  expect(gunzipSync(gzip ?? '')).toEqual(plain);
  expect(brotli).toBeUndefined();
  expect(brandedPage(PAGE, BRAND)).toBe(brandedPage(PAGE, BRAND));
  expect(brandedPage(PAGE, { ...BRAND, name: 'B' }).plain.toString()).toContain('<title>B</title>');
  expect(etag).not.toBe(PAGE.etag);
});

it('a document keeps its own name in the title', () => {
  const plain = Buffer.from(HTML.replace('<title>', '<title>Errors · '));
  expect(brandedPage({ ...PAGE, plain }, { name: 'A' }).plain.toString()).toContain('<title>Errors · A</title>');
});

it('pages without a brand stay unchanged', () => {
  expect(brandedPage(PAGE, { accent: '#0b6e4f' }).plain.toString()).toContain('href="/favicon.svg"');
  expect(brandFile('/brand/logo', {})).toBeUndefined();
  expect(brandFile('/brand/colours.css', { name: 'A' })).toBeUndefined();
});

it('logo and colours are separate files, because the policy allows no inline styles', () => {
  expect(brandFile('/brand/logo', BRAND)).toMatchObject({ type: 'image/png', plain: Buffer.from('png') });
  expect(brandFile('/brand/colours.css', BRAND)?.plain.toString()).toContain('--accent: #0b6e4f;');
});
