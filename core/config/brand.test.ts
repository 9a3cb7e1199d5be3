import { expect, it } from 'vitest';
import { brand } from './brand.ts';

const PNG = `data:image/png;base64,${Buffer.from('png').toString('base64')}`;
const accepted = (value: object) => brand.safeParse(value);

it('accepts the text of an SVG, and a picture as a data: URL', () => {
  const svg = '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>';
  expect(accepted({ logo: svg }).data?.logo).toEqual({ type: 'image/svg+xml', bytes: Buffer.from(svg) });
  expect(accepted({ logo: PNG }).data?.logo).toEqual({ type: 'image/png', bytes: Buffer.from('png') });
});

it.each([
  `<svg>${'x'.repeat(64 * 1024)}</svg>`,
  'data:text/html;base64,AAAA',
  '<html><svg/></html>',
  'data:image/png;base64,',
])('refuses the logo %#', (logo) => expect(accepted({ logo }).success).toBe(false));

it.each([
  ['#0b6e4f', true],
  ['#767676', true],
  ['#777777', false],
  ['#ffcc00', false],
  ['red', false],
])('the accent %s bears white text: %s', (accent, bears) => {
  expect(accepted({ accent }).success).toBe(bears);
});
