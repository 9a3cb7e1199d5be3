import type { Steps } from '../../fairness/steps.ts';
import type { Span } from '../json/json-cursor.ts';
import { characterEnd, textUpTo } from '../json/json-text.ts';
import { Base64Text } from './base64-text.ts';
import { type ImageSize, imageSize } from './image-size.ts';

interface Invalid {
  readonly kind: 'invalid';
  readonly requirement: string;
}

export type ImageSource =
  | { readonly kind: 'inline'; readonly size: ImageSize | undefined }
  | { readonly kind: 'remote' }
  | Invalid;

export type FileSource = { readonly kind: 'inline'; readonly bytes: number } | Invalid;

/**
 * `data:image/png;base64,`, possibly with parameters. A media type has at most 255 characters, so
 * this bounds everything before the data.
 */
const IMAGE_URI = /^data:image\/[a-z0-9.+-]{1,100}(?:;[a-z0-9!#$&^_.+-]{1,50}=[a-z0-9!#$&^_.+-]{1,50})*;base64,/i;
const PDF_URI = /^data:application\/pdf(?:;[a-z0-9!#$&^_.+-]{1,50}=[a-z0-9!#$&^_.+-]{1,50})*;base64,/i;
const LONGEST_HEAD = 255;
const REMOTE = /^\s*https?:/i;

const INLINE_IMAGE_ONLY = 'must be a data: URI with an image media type and base64 data';
const INLINE_PDF_ONLY = 'must be a data: URI with the media type application/pdf and base64 data';
const NOT_BASE64: Invalid = { kind: 'invalid', requirement: 'has data that is not base64' };

const STEP_BYTES = 1024 * 1024;

/** Reads an image from its `url`, the text between the quotes at `start` and `end`. */
export function* imageSource(bytes: Buffer, { start, end }: Span): Steps<ImageSource> {
  const head = textUpTo(LONGEST_HEAD, bytes, start, end);
  const uri = IMAGE_URI.exec(head);
  if (!uri) return REMOTE.test(head) ? { kind: 'remote' } : { kind: 'invalid', requirement: INLINE_IMAGE_ONLY };
  const dataStart = characterEnd(bytes, start, uri[0].length);
  if (!(yield* isBase64(bytes, dataStart, end))) return NOT_BASE64;
  return { kind: 'inline', size: sizeOf(bytes, dataStart, end) };
}

/** Reads the source of a file from its `file_data`, in the same way. */
export function* fileSource(bytes: Buffer, { start, end }: Span): Steps<FileSource> {
  const uri = PDF_URI.exec(textUpTo(LONGEST_HEAD, bytes, start, end));
  if (!uri) return { kind: 'invalid', requirement: INLINE_PDF_ONLY };
  const dataStart = characterEnd(bytes, start, uri[0].length);
  if (!(yield* isBase64(bytes, dataStart, end))) return NOT_BASE64;
  return { kind: 'inline', bytes: Math.ceil(((end - dataStart) * 3) / 4) };
}

function* isBase64(bytes: Buffer, start: number, end: number): Steps<boolean> {
  const data = new Base64Text();
  for (let pos = start; pos < end; ) {
    pos = data.read(bytes, pos, Math.min(end, pos + STEP_BYTES));
    if (pos < end) yield;
  }
  return data.isWhole;
}

/** Text of an image that is decoded: metadata may precede its size. Divisible by four. */
const HEAD_BYTES = 1024 * 1024;

function sizeOf(bytes: Buffer, start: number, end: number): ImageSize | undefined {
  const head = textUpTo(HEAD_BYTES, bytes, start, Math.min(end, start + HEAD_BYTES));
  return imageSize(Buffer.from(head, 'base64'));
}
