import { describe, expect, it } from 'vitest';
import { finish } from '../../fairness/steps.ts';
import { imageSource } from './media-source.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** `literal` is what stands between the quotes in the body. */
function sourceOf(literal: string) {
  const bytes = Buffer.from(`"${literal}"`);
  return finish(imageSource(bytes, { start: 1, end: bytes.length - 1 }));
}

describe('imageSource', () => {
  it.each([
    `data:image/png;base64,${PIXEL}`,
    `DATA:IMAGE/PNG;BASE64,${PIXEL}`,
    `data:image/png;charset=utf-8;base64,${PIXEL}`,
    `data:image\\/png;base64,${PIXEL.replaceAll('/', '\\/')}`,
    `data:\\u0069mage/png;base64,${PIXEL}`,
    'data:image/svg+xml;base64,QQ==',
    'data:image/png;base64,QUI=',
    'data:image/png;base64,QUI',
    'data:image/png;base64,QQ',
  ])('%s is inline', (literal) => expect(sourceOf(literal).kind).toBe('inline'));

  it.each([
    'http://a.test/x.png',
    'https://a.test',
    'HTTP://A.TEST',
    '  https://a.test',
    '\\n\\thttps://a.test',
    'https:a',
    '\\u0068ttp://a.test',
  ])('%s is remote', (literal) => expect(sourceOf(literal).kind).toBe('remote'));

  it.each([
    '',
    'a.png',
    'ftp://a.test/x.png',
    'file:///etc/passwd',
    'data:',
    'data:image/png',
    'data:image/png;base64',
    'data:image/png;base64,',
    'data:image/png;base64,=',
    'data:image/png;base64,Q',
    'data:image/png;base64,QQ=',
    'data:image/png;base64,QQ===',
    'data:image/png;base64,QQ==QQ==',
    'data:image/png;base64,QU JD',
    'data:image/png;base64,QU\\nJD',
    'data:image/png;base64,QU-_',
    'data:image/png;base64,QUJé',
    'data:image/png,QUJD',
    'data:text/plain;base64,QUJD',
    'data:;base64,QUJD',
    'data:application/pdf;base64,QUJD',
    ' data:image/png;base64,QUJD',
    `data:image/${'x'.repeat(300)};base64,QUJD`,
  ])('%s is invalid', (literal) => expect(sourceOf(literal).kind).toBe('invalid'));

  it('reads the size from the data, even behind the metadata of a photograph', () => {
    expect(sourceOf(`data:image/png;base64,${PIXEL}`)).toEqual({ kind: 'inline', size: { width: 1, height: 1 } });
    const segment = Buffer.concat([Buffer.from([0xff, 0xe1, 0xff, 0xff]), Buffer.alloc(0xfffd, 7)]);
    const frame = Buffer.from([0xff, 0xc2, 0, 17, 8, 0x0b, 0xb8, 0x0f, 0xa0, 3, 0, 0]);
    const photo = Buffer.concat([Buffer.from([0xff, 0xd8]), segment, segment, frame]).toString('base64');
    expect(sourceOf(`data:image/jpeg;base64,${photo}`)).toEqual({
      kind: 'inline',
      size: { width: 4000, height: 3000 },
    });
    const drawing = Buffer.from(PIXEL, 'base64');
    const prompt = Buffer.concat([Buffer.from([0, 10, 0, 0]), Buffer.from('tEXt'), Buffer.alloc(0xa0004)]);
    const metadata = Buffer.concat([drawing.subarray(0, 33), prompt, drawing.subarray(33)]).toString('base64');
    for (const data of [metadata, metadata.replaceAll('/', '\\/')]) {
      expect(sourceOf(`data:image/png;base64,${data}`)).toEqual({ kind: 'inline', size: { width: 1, height: 1 } });
    }
    expect(sourceOf('data:image/tiff;base64,SUkqAAgAAAA=')).toEqual({ kind: 'inline', size: undefined });
  });
});
