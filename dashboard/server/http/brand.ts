import { gzipSync } from 'node:zlib';
import type { BrandConfig } from '#core/config/brand.ts';
import { fileOf, type StaticFile } from './static-files.ts';

/** The name in the built page. */
const NAME = 'Inference Gateway';
const ICON = 'href="/favicon.svg" type="image/svg+xml"';
const LOGO = '/brand/logo';
const COLOURS = '/brand/colours.css';

export function brandFile(path: string, { logo, accent }: BrandConfig): StaticFile | undefined {
  if (path === LOGO && logo !== undefined) return fileOf(logo.type, logo.bytes);
  if (path === COLOURS && accent !== undefined) return fileOf('text/css; charset=utf-8', coloursOf(accent));
  return undefined;
}

/**
 * Pages by brand. They are cached, because anybody may request one, and making it takes up to 1 ms.
 * A reload creates another brand object, and the old one's pages are collected with it.
 */
const made = new WeakMap<BrandConfig, Map<StaticFile, StaticFile>>();

/** A page or document with the operator's name, logo and colours for scripts and styles. */
export function brandedPage(page: StaticFile, brand: BrandConfig): StaticFile {
  const pages = made.get(brand) ?? new Map<StaticFile, StaticFile>();
  made.set(brand, pages);
  const branded = pages.get(page) ?? withBrand(page, brand);
  pages.set(page, branded);
  return branded;
}

function withBrand(page: StaticFile, { name = NAME, logo, accent }: BrandConfig): StaticFile {
  const escaped = name.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  const head = [
    `<meta name="application-name" content="${escaped}" />`,
    ...(accent === undefined ? [] : [`<link rel="stylesheet" href="${COLOURS}" />`]),
  ];
  const html = page.plain
    .toString()
    .replace(`${NAME}</title>`, () => `${escaped}</title>`)
    .replace(ICON, logo === undefined ? ICON : `href="${LOGO}"`)
    .replace('</head>', () => `${head.join('')}</head>`);
  const file = fileOf(page.type, html);
  return { ...file, gzip: gzipSync(file.plain) };
}

/** Derives all tones from one accent, which is dark enough for white text. */
function coloursOf(accent: string): string {
  const light = `oklch(from ${accent} min(l, 0.5) c h)`;
  const pale = `oklch(from ${accent} 0.8 min(c, 0.11) h)`;
  return `:root:root {
  --accent: ${accent};
  --accent-hover: color-mix(in oklab, ${accent} 86%, black);
  --accent-text: light-dark(${light}, ${pale});
  --surface-selected: light-dark(color-mix(in oklab, ${accent} 10%, white), color-mix(in oklab, ${accent} 24%, #131316));
}
`;
}
