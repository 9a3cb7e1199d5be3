import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { imageSize } from './image-size.ts';

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))));
const ZEROS = Array<number>(16).fill(0);

const FILES: readonly [string, Buffer][] = [
  ['PNG', bytes([0x89], 'PNG\r\n\x1a\n', [0, 0, 0, 13], 'IHDR', [0, 0, 2, 128, 0, 0, 1, 224])],
  ['GIF 87', bytes('GIF87a', [0x80, 2, 0xe0, 1])],
  ['GIF 89', bytes('GIF89a', [0x80, 2, 0xe0, 1])],
  ['WebP lossy', bytes('RIFF', [0, 0, 0, 0], 'WEBPVP8 ', [0, 0, 0, 0, 0, 0, 0, 0x9d, 1, 0x2a, 0x80, 2, 0xe0, 1])],
  ['WebP lossless', bytes('RIFF', [0, 0, 0, 0], 'WEBPVP8L', [0, 0, 0, 0, 0x2f, 0x7f, 0xc2, 0x77, 0], ZEROS)],
  ['WebP extended', bytes('RIFF', [0, 0, 0, 0], 'WEBPVP8X', [10, 0, 0, 0, 0, 0, 0, 0, 0x7f, 2, 0, 0xdf, 1, 0])],
  ['JPEG', bytes([0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 1, 0xff, 0xff, 0xc0, 0, 17, 8, 1, 0xe0, 2, 0x80, 3, 0])],
  [
    'JPEG with its tables first',
    bytes([0xff, 0xd8, 0xff, 0xc4, 0, 9, 1, 1, 1, 1, 1, 1, 1, 0xff, 0xc2, 0, 17, 8, 1, 0xe0, 2, 0x80, 3, 0]),
  ],
];

describe('imageSize', () => {
  it.each(FILES)('%s is 640 x 480', (_, file) => expect(imageSize(file)).toEqual({ width: 640, height: 480 }));

  it('is undefined for anything else', () => {
    for (const file of [bytes(''), bytes('BM', ZEROS, ZEROS), bytes('<svg>'), bytes('RIFF', ZEROS, ZEROS)]) {
      expect(imageSize(file)).toBeUndefined();
    }
    expect(imageSize(bytes('GIF89a', [0, 0, 1, 0]))).toBeUndefined();
  });

  it('reads nothing behind the end, and ends, for cut and damaged files', () => {
    fc.assert(
      fc.property(fc.constantFrom(...FILES), fc.nat(64), fc.uint8Array({ maxLength: 40 }), ([, file], cut, tail) => {
        const size = imageSize(Buffer.concat([file.subarray(0, cut), tail]));
        expect(size === undefined || (size.width > 0 && size.height > 0)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});
