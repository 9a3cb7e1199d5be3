import type { z } from 'zod';
import { matching, readText, section } from './schema-fields.ts';

const MAX_LOGO_BYTES = 64 * 1024;
/** Contrast at which white text on the colour, and the colour on white, is readable (WCAG AA). */
const LEAST_CONTRAST = 4.5;

/** Name, logo and colour of the operator, in the page, its titles and its mails. */
export const brand = section({
  name: matching(/^[^\p{Cc}<>]{1,40}$/u, '1 to 40 characters, without < and >').optional(),
  logo: readText(
    'the text of an SVG file, or a data: URL of a PNG or SVG in base64, of at most 64 KiB',
    parseLogo,
  ).optional(),
  accent: readText('a colour such as #0b6e4f, dark enough for white text (a contrast of 4.5)', (text) =>
    /^#[0-9a-f]{6}$/i.test(text) && contrastWithWhite(text) >= LEAST_CONTRAST ? text.toLowerCase() : undefined,
  ).optional(),
});

export type BrandConfig = Readonly<z.output<typeof brand>>;

function parseLogo(text: string): { readonly type: string; readonly bytes: Uint8Array } | undefined {
  const [, type, base64] = /^data:(image\/(?:png|svg\+xml));base64,([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  const isText = /^\s*(?:<\?xml[^>]*>\s*)?<svg[\s>]/.test(text);
  const bytes = base64 === undefined ? Buffer.from(isText ? text : '') : Buffer.from(base64, 'base64');
  if (bytes.length === 0 || bytes.length > MAX_LOGO_BYTES) return undefined;
  return { type: type ?? 'image/svg+xml', bytes };
}

function contrastWithWhite(colour: string): number {
  const [red = 0, green = 0, blue = 0] = (colour.match(/[0-9a-f]{2}/gi) ?? []).map((part) =>
    linear(parseInt(part, 16)),
  );
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
}

function linear(part: number): number {
  const share = part / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}
