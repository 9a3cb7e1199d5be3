import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { imageSize } from './image-size.ts';

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))));
const ZEROS = Array<number>(16).fill(0);

const PNG_MAGIC = bytes([0x89], 'PNG\r\n\x1a\n');
/** Their checksums are wrong, which nothing here reads. */
const chunk = (type: string, data: number[]) => bytes([0, 0, 0, data.length], type, data, [0, 0, 0, 0]);
const header = (...size: number[]) => chunk('IHDR', [0, 0, ...size.slice(0, 2), 0, 0, ...size.slice(2), 8, 2, 0, 0, 0]);
const png = (...chunks: Buffer[]) => Buffer.concat([PNG_MAGIC, ...chunks, chunk('IDAT', [])]);
const PNG_HEADER = header(2, 128, 1, 224);

const GIF_FRAME = [0x2c, 0, 0, 0, 0, 0x80, 2, 0xe0, 1, 0, 2, 0];
const TINY_FRAME = [0x2c, 0, 0, 0, 0, 1, 0, 1, 0, ...ZEROS, ...ZEROS, ...ZEROS];
/** The control of a frame and a comment come before it. */
const GIF_EXTENSIONS = [0x21, 0xf9, 4, 0, 0, 0, 0, 0, 0x21, 0xfe, 2, 0x2c, 0x2c, 1, 0, 0];
const gif = (screen: number[], ...blocks: number[][]) =>
  bytes('GIF89a', screen, [0x80, 0, 0, 1, 1, 1, 2, 2, 2], ...blocks);

const riff = (type: string, data: Buffer) => {
  const length = [data.length & 0xff, data.length >> 8, 0, 0];
  return Buffer.concat([bytes(type, length), data, Buffer.alloc(data.length % 2)]);
};
const LOSSY = riff('VP8 ', bytes([0, 0, 0, 0x9d, 1, 0x2a, 0x80, 2, 0xe0, 1]));
const LOSSLESS = riff('VP8L', bytes([0x2f, 0x7f, 0xc2, 0x77, 0], ZEROS));
const ALPHA = riff('ALPH', bytes([1, 2, 3]));
const PROFILE = riff('ICCP', bytes([1, 2, 3]));
const FRAMES = Buffer.concat([riff('ANIM', bytes(ZEROS.slice(10))), riff('ANMF', bytes(ZEROS))]);
const canvas = (flags: number, ...size: number[]) =>
  riff('VP8X', bytes([flags, 0, 0, 0, ...size.slice(0, 2), 0, ...size.slice(2), 0]));
const CANVAS = canvas(0, 0x7f, 2, 0xdf, 1);
const ANIMATED = canvas(2, 0x7f, 2, 0xdf, 1);
const SMALL_CANVAS = canvas(0, 27, 0, 27, 0);
const SMALL_FRAME = riff('VP8 ', bytes([0, 0, 0, 0x9d, 1, 0x2a, 28, 0, 28, 0]));
const webp = (...chunks: Buffer[]) => riff('RIFF', Buffer.concat([bytes('WEBP'), ...chunks]));

const JPEG_START = [0xff, 0xd8];
const JPEG_FRAME = [0xff, 0xc0, 0, 17, 8, 1, 0xe0, 2, 0x80, 3, ...ZEROS.slice(7)];

const FILES: readonly [string, Buffer][] = [
  ['PNG', png(PNG_HEADER)],
  ['PNG with a profile first', png(PNG_HEADER, chunk('iCCP', [1, 2, 3]))],
  ['GIF 87', bytes('GIF87a', [0x80, 2, 0xe0, 1, 0, 0, 0], GIF_FRAME)],
  ['GIF 89', gif([0x80, 2, 0xe0, 1], GIF_EXTENSIONS, GIF_FRAME)],
  ['GIF with a smaller frame', gif([0x80, 2, 0xe0, 1], [0x2c, 9, 0, 9, 0, 1, 0, 1, 0, 0, 2, 0])],
  ['GIF with a larger frame', gif([1, 0, 1, 0], GIF_EXTENSIONS, GIF_FRAME)],
  ['GIF with a frame that leaves its screen', gif([1, 0, 1, 0], [0x2c, 0x7f, 2, 0xdf, 1, 1, 0, 1, 0, 0, 2, 0])],
  ['WebP lossy', webp(LOSSY)],
  ['WebP lossless', webp(LOSSLESS)],
  ['WebP extended', webp(CANVAS, PROFILE, ALPHA, LOSSY, riff('EXIF', bytes(ZEROS)))],
  ['WebP extended lossless', webp(CANVAS, PROFILE, LOSSLESS)],
  ['WebP with a larger frame', webp(SMALL_CANVAS, PROFILE, LOSSY)],
  ['WebP with a smaller frame', webp(CANVAS, SMALL_FRAME)],
  ['WebP animated', webp(ANIMATED, PROFILE, FRAMES)],
  ['WebP animated with a larger frame outside', webp(canvas(2, 27, 0, 27, 0), FRAMES, LOSSLESS)],
  ['JPEG', bytes(JPEG_START, [0xff, 0xe0, 0, 4, 1, 1], JPEG_FRAME)],
  [
    'JPEG with its tables first',
    bytes([0xff, 0xd8, 0xff, 0xc4, 0, 9, 1, 1, 1, 1, 1, 1, 1, 0xff, 0xc2, 0, 17, 8, 1, 0xe0, 2, 0x80, 3], ZEROS),
  ],
];

/** Decoders open them in another size than the one that stands at the usual place. */
const AMBIGUOUS: readonly [string, Buffer][] = [
  ['PNG whose header is not its first chunk', png(chunk('prVt', [0, 0, 0, 1, 0, 0, 0, 1]), PNG_HEADER)],
  ['PNG with two headers', png(header(0, 1, 0, 1), PNG_HEADER)],
  ['PNG with a header of another length', png(chunk('IHDR', [0, 0, 0, 1, 0, 0, 0, 1]), PNG_HEADER)],
  ...[0x00, 0x01, 0x02, 0xd0, 0xd7, 0xd8, 0xd9, 0xda, 0xdc, 0xf0].map((marker): [string, Buffer] => {
    // A decoder skips the marker alone; read as a length, the next bytes lead to the second frame.
    const hidden = [...JPEG_FRAME, ...Array<number>(0xffc0 - JPEG_FRAME.length).fill(0)];
    const small = [0xff, 0xc0, 0, 17, 8, 0, 1, 0, 1, 3, 0];
    return [`JPEG with the marker ${marker.toString(16)} first`, bytes(JPEG_START, [0xff, marker], hidden, small)];
  }),
  ['GIF with something else before its frame', gif([1, 0, 1, 0], [0x3c], GIF_FRAME)],
  // Behind the end of an extension without data Pillow skips as many bytes as the next one says.
  ['GIF with an application without data', gif([1, 0, 1, 0], [0x21, 0xff, 1, 65, 0], TINY_FRAME, GIF_FRAME)],
  ['GIF with a longer control', gif([1, 0, 1, 0], [0x21, 0xf9, 5, 0, 0, 0, 0, 0, 0], TINY_FRAME, GIF_FRAME)],
  ['GIF whose frame is out of reach', gif([1, 0, 1, 0], GIF_EXTENSIONS)],
  ['WebP whose frame is out of reach', webp(CANVAS, PROFILE)],
  ['WebP whose frame is cut', webp(SMALL_CANVAS, LOSSLESS).subarray(0, 40)],
  ['WebP animated that goes on out of reach', webp(ANIMATED, FRAMES, LOSSY).subarray(0, -LOSSY.length)],
  ['WebP with a canvas of another length', webp(riff('VP8X', bytes(ZEROS)), LOSSY)],
];

describe('imageSize', () => {
  it.each(FILES)('%s is 640 x 480', (_, file) => expect(imageSize(file)).toEqual({ width: 640, height: 480 }));

  it.each(AMBIGUOUS)('%s has no size', (_, file) => expect(imageSize(file)).toBeUndefined());

  it('is undefined for anything else', () => {
    for (const file of [bytes(''), bytes('BM', ZEROS, ZEROS), bytes('<svg>'), bytes('RIFF', ZEROS, ZEROS)]) {
      expect(imageSize(file)).toBeUndefined();
    }
    expect(imageSize(gif([0, 0, 1, 0], [0x2c, ...Array<number>(9).fill(0)]))).toBeUndefined();
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
