import type { Steps } from '../../turns/steps.ts';
import type { Span } from '../json/json-cursor.ts';
import { characterEnd, textUpTo } from '../json/json-text.ts';
import { Base64Text } from './base64-text.ts';
import { type ImageSize, imageSize, isJpeg } from './image-size.ts';

export type ImageSource =
  | { readonly kind: 'inline'; readonly size: ImageSize | undefined }
  | { readonly kind: 'remote' }
  | { readonly kind: 'invalid'; readonly requirement: string };

/**
 * `data:image/png;base64,` with any parameters between. A media type has at most 255 characters, so
 * this bounds everything before the data.
 */
const DATA_URI = /^data:image\/[a-z0-9.+-]{1,100}(?:;[a-z0-9!#$&^_.+-]{1,50}=[a-z0-9!#$&^_.+-]{1,50})*;base64,/i;
const LONGEST_HEAD = 255;
const REMOTE = /^\s*https?:/i;

const INLINE_ONLY = 'must be a data: URI with an image media type and base64 data';

const STEP_BYTES = 1024 * 1024;

/**
 * Reads the source of an image from its `url`, the text between the quotes at `start` and `end`.
 */
export function* imageSource(bytes: Buffer, { start, end }: Span): Steps<ImageSource> {
  const head = textUpTo(LONGEST_HEAD, bytes, start, end);
  const uri = DATA_URI.exec(head);
  if (!uri) return REMOTE.test(head) ? { kind: 'remote' } : { kind: 'invalid', requirement: INLINE_ONLY };
  const data = new Base64Text();
  const dataStart = characterEnd(bytes, start, uri[0].length);
  for (let pos = dataStart; pos < end; ) {
    pos = data.read(bytes, pos, Math.min(end, pos + STEP_BYTES));
    if (pos < end) yield;
  }
  if (!data.isWhole) return { kind: 'invalid', requirement: 'has data that is not base64' };
  return { kind: 'inline', size: sizeOf(bytes, dataStart, end) };
}

/**
 * Base64 characters to decode: a header, or as much metadata as cameras put before a JPEG's frame
 * header. Multiples of four.
 */
const HEADER_CHARACTERS = 64;
const JPEG_CHARACTERS = 262_144;

function sizeOf(bytes: Buffer, start: number, end: number): ImageSize | undefined {
  const header = decode(HEADER_CHARACTERS, bytes, start, end);
  return imageSize(isJpeg(header) ? decode(JPEG_CHARACTERS, bytes, start, end) : header);
}

function decode(characters: number, bytes: Buffer, start: number, end: number): Buffer {
  return Buffer.from(textUpTo(characters, bytes, start, end), 'base64');
}
